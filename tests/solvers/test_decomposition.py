"""Decomposition: what a working set holds, what its small problem is, and that blocks end where the whole does."""

from functools import cache

import numpy as np
import pytest

from maxmargin.backends import KernelGram, single_threaded_blas
from maxmargin.kernels import Gaussian, Precomputed
from maxmargin.problems import (
    FEASIBILITY_TOL,
    DualQP,
    NuSVCProblem,
    NuSVRProblem,
    OneClassProblem,
    SVCProblem,
    SVRProblem,
)
from maxmargin.solvers import Decomposition, Status, Watch, _newton
from maxmargin.solvers._precision import Subproblem, near
from maxmargin.solvers.blocks import restricted, working_set
from tests.reference_backend import get_backend

NOTHING = np.zeros(0, dtype=np.intp)
N = 200
COUNTED = range(4)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As in a fit: threads of the BLAS that wait for each other take longer than the work."""
    with single_threaded_blas():
        yield


def balanced(seed):
    """A soft-margin programme at a point with variables at both bounds, at 0 and between."""
    rng = np.random.default_rng(seed)
    sign = np.where(rng.random(N) < 0.5, 1.0, -1.0)
    qp = SVCProblem(sign, rng.uniform(0.5, 2.0, N)).qp
    share = rng.choice([0.0, 1.0, 0.3, 0.7], size=N, p=[0.5, 0.2, 0.15, 0.15])
    return qp, np.where(sign > 0, qp.upper, qp.lower) * share, rng.normal(size=N)


def with_budget(seed, is_bound=False):
    """A programme with a budget, and variables of either sign at bounds, at 0 and between."""
    rng = np.random.default_rng(seed)
    lower, upper = -rng.uniform(0.5, 2.0, N), rng.uniform(0.5, 2.0, N)
    share = rng.choice([0.0, 1.0, -1.0, 0.4, -0.4], size=N, p=[0.4, 0.1, 0.1, 0.2, 0.2])
    beta = np.where(share > 0, upper, -lower) * share
    budget = float(np.abs(beta).sum()) * (1.25 if is_bound else 1.0)
    return DualQP(np.zeros(N), lower, upper, budget=budget, budget_is_bound=is_bound), beta, rng.normal(size=N)


MAKERS = [balanced, with_budget]
EVERY_QP = pytest.mark.parametrize("make", MAKERS, ids=["balance", "budget"])


def pick(*args):
    """The working set, which is the same with every back end."""
    one, other = (working_set(get_backend(name), *args) for name in ("numpy", "numba"))
    np.testing.assert_array_equal(one, other)
    return one


def moves(qp, beta, grad):
    """(slopes, which rows make the move) of each kind of move: up and down, of each family of a budget."""
    up, down = qp.slopes(beta, grad)
    families = [np.ones(N, dtype=bool)] * 2 if qp.budget is None else [beta >= 0, beta > 0]
    kinds = [(-up, families[0]), (down, families[1])]
    if qp.budget is not None:
        kinds += [(-up, beta < 0), (down, beta <= 0)]
    return [(np.where(member & np.isfinite(slope), slope, -np.inf)) for slope, member in kinds]


@EVERY_QP
@pytest.mark.parametrize("seed", COUNTED)
def test_the_worst_violators_of_every_kind_of_move_are_chosen(make, seed):
    qp, beta, grad = make(seed)
    chosen = pick(qp, beta, grad, NOTHING, 40)
    kinds = moves(qp, beta, grad)
    assert len(chosen) == len(set(chosen.tolist())) <= 40
    for slopes in kinds:
        worst = np.argsort(-slopes)[: 40 // len(kinds)]
        assert np.isfinite(slopes[worst]).all()
        assert set(worst.tolist()) <= set(chosen.tolist())


@EVERY_QP
@pytest.mark.parametrize("seed", COUNTED)
@pytest.mark.parametrize("size", [4, 7, 40, 150, N, 3 * N])
def test_the_size_is_kept_and_nobody_comes_twice(make, seed, size):
    qp, beta, grad = make(seed)
    previous = np.sort(np.random.default_rng(seed).choice(N, size=60, replace=False))
    for last in (NOTHING, previous):
        chosen = pick(qp, beta, grad, last, size)
        assert len(chosen) <= size
        assert (np.diff(chosen) > 0).all()
        assert chosen.min(initial=0) >= 0
        assert chosen.max(initial=0) < N


@EVERY_QP
@pytest.mark.parametrize("seed", COUNTED)
def test_free_variables_of_the_last_round_stay_while_there_is_room(make, seed):
    qp, beta, grad = make(seed)
    previous = np.sort(np.random.default_rng(seed).choice(N, size=60, replace=False))
    is_free = (beta > qp.lower) & (beta < qp.upper) & (beta != 0)
    free = previous[is_free[previous]]
    assert 0 < len(free) < 60
    assert set(free.tolist()) <= set(pick(qp, beta, grad, previous, 2 * len(free) + 10).tolist())
    little = pick(qp, beta, grad, previous, 20)
    worst = pick(qp, beta, grad, NOTHING, 10)
    stayed = np.setdiff1d(little, worst)
    assert set(worst.tolist()) <= set(little.tolist())
    assert len(little) == 20
    assert set(stayed.tolist()) <= set(free.tolist())


@pytest.mark.parametrize("fraction", [0.0, 0.02, 0.98, 1.0])
def test_each_family_of_a_budget_is_represented_however_small(fraction):
    rng = np.random.default_rng(3)
    positive = rng.random(N) < fraction
    qp, _, grad = with_budget(0)
    beta = 0.5 * np.where(positive, qp.upper, qp.lower)
    chosen = pick(qp, beta, grad - 10.0 * positive, NOTHING, 40)
    for family in (positive, ~positive):
        assert np.count_nonzero(family[chosen]) >= min(10, np.count_nonzero(family))


# -- the problem of a working set --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [balanced, with_budget, lambda seed: with_budget(seed, is_bound=True)], ids=["balance", "budget", "bound"]
)
@pytest.mark.parametrize("seed", COUNTED)
def test_the_problem_of_a_working_set_is_the_whole_one_with_the_others_held(make, seed):
    qp, beta, linear = make(seed)
    qp = DualQP(linear, qp.lower, qp.upper, 0.3, qp.balance, 0.0, qp.budget, qp.budget_is_bound)
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(N, 10))
    K, index = root @ root.T, np.sort(rng.choice(N, size=30, replace=False))
    sub = restricted(qp, index, beta)
    assert sub.slack(beta[index]) == pytest.approx(qp.slack(beta), abs=1e-9)
    for other in (sub.lower, sub.upper, rng.uniform(sub.lower, sub.upper)):
        moved = beta.copy()
        moved[index] = other
        d = other - beta[index]
        block, grad = K[np.ix_(index, index)], (K @ beta)[index] + sub.linear
        sizes = sub.epsilon * (np.abs(other).sum() - np.abs(beta[index]).sum())
        change = grad @ d + 0.5 * d @ block @ d + sizes
        assert qp.objective(moved, K @ moved) - qp.objective(beta, K @ beta) == pytest.approx(change, rel=1e-9)
        if qp.budget is not None:
            assert sub.budget - np.abs(other).sum() == pytest.approx(qp.budget - np.abs(moved).sum(), abs=1e-9)
    whole = qp.slopes(beta, K @ beta + qp.linear)
    for part, all_rows in zip(sub.slopes(beta[index], (K @ beta)[index] + sub.linear), whole, strict=True):
        np.testing.assert_array_equal(part, all_rows[index])


# -- rows that matter --------------------------------------------------------------------------------------------


@EVERY_QP
@pytest.mark.parametrize("seed", COUNTED)
@pytest.mark.parametrize("width", [0.0, 0.1, 1.0])
def test_the_rows_near_the_violated_interval_are_all_found(make, seed, width):
    qp, beta, f = make(seed)
    found = set(near(Subproblem(qp, None, beta, f), width).tolist())
    kinds = moves(qp, beta, f + qp.linear)
    for rising, falling in zip(kinds[::2], kinds[1::2], strict=True):
        low, high = np.min(-rising), np.max(falling)
        must = (-rising <= max(low, high) + width) | (falling >= min(low, high) - width)
        assert set(np.flatnonzero(must).tolist()) <= found


@EVERY_QP
@pytest.mark.parametrize("seed", COUNTED)
def test_errors_of_the_other_rows_do_not_change_the_violation(make, seed):
    qp, beta, f = make(seed)
    f = 0.1 * f
    width = qp.violation(beta, f + qp.linear)
    others = np.ones(N, dtype=bool)
    others[near(Subproblem(qp, None, beta, f), 0.05)] = False
    noise = np.random.default_rng(seed).uniform(-0.05, 0.05, N)
    assert qp.violation(beta, f + others * noise + qp.linear) == width


def test_far_rows_are_left_out():
    qp = SVCProblem(np.where(np.arange(N) % 2, 1.0, -1.0), np.ones(N)).qp
    f = np.where(np.arange(N) < 20, 0.0, 5.0 * np.where(np.arange(N) % 2, 1.0, -1.0)) - qp.linear
    assert near(Subproblem(qp, None, np.zeros(N), f), 0.1).tolist() == list(range(20))


# -- blocks against the whole ------------------------------------------------------------------------------------

ROWS = 1500
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, 5))
SIGN = np.where(X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=ROWS) > 0, 1.0, -1.0)
TARGET = np.sin(2 * X[:, 0]) + 0.2 * RNG.normal(size=ROWS)
ONES = np.ones(ROWS)
PROBLEMS = {
    "svc": SVCProblem(SIGN, ONES),
    "svc at great cost": SVCProblem(SIGN, 1000 * ONES),
    "svc without intercept": SVCProblem(SIGN, 100 * ONES, fit_intercept=False),
    "nu-svc": NuSVCProblem(SIGN, ONES, 0.2),
    "svr": SVRProblem(TARGET, ONES, 0.1),
    "svr at great cost": SVRProblem(TARGET, 1000 * ONES, 0.1),
    "nu-svr": NuSVRProblem(TARGET, 10 * ONES, nu=0.3),
    "one class": OneClassProblem(ONES, 0.1),
}
WALKS = [name for name in PROBLEMS if "great" in name]


def solve(problem, whole_size, dtype, rows=X):
    gram = KernelGram(get_backend(), Gaussian(0.2), rows, dtype=dtype)
    solver = Decomposition(get_backend(), whole_size=whole_size, polish=False)
    solution = solver.solve(problem, gram, None, Watch(gap_tol=5e-7))
    f = gram.product(solution.beta)
    return solution, problem.dual(solution.beta, f), f


@cache
def value_of_the_whole(name):
    return solve(PROBLEMS[name], 2048, np.float64)[1]


@pytest.fixture
def walks(monkeypatch):
    """Every Newton walk that is taken: what of the sums is missing after it, None if it led nowhere."""
    taken, walk = [], _newton.face_step

    def noted(K, grad, beta, lower, upper, sums):
        x = walk(K, grad, beta, lower, upper, sums)
        taken.append(None if x is None else np.abs(sums @ (x - beta)).max(initial=0.0) / np.abs(beta).sum())
        return x

    monkeypatch.setattr(_newton, "face_step", noted)
    return taken


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: t.__name__)
@pytest.mark.parametrize("name", list(PROBLEMS))
def test_blocks_end_where_the_whole_ends(name, dtype, walks):
    problem, expected = PROBLEMS[name], value_of_the_whole(name)
    walks.clear()
    blocks, value, f = solve(problem, 50, dtype)
    assert blocks.status is Status.OPTIMAL
    assert value == pytest.approx(expected, rel=1e-6)
    assert problem.qp.infeasibility(blocks.beta) <= FEASIBILITY_TOL
    arrived = [missing for missing in walks if missing is not None]
    assert max(arrived, default=0.0) <= 1e-9
    assert len(arrived) > 0 or name not in WALKS
    part = Subproblem(problem.qp, None, blocks.beta, blocks.f)
    violation = problem.qp.violation(blocks.beta, blocks.f + problem.qp.linear)
    matter = np.arange(ROWS) if dtype == np.float64 else near(part, violation)
    np.testing.assert_allclose(blocks.f[matter], f[matter], atol=1e-8 * np.abs(f).max())


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_blocks_meet_the_tolerance_that_was_asked_for(name):
    problem = PROBLEMS[name]
    gram = KernelGram(get_backend(), Gaussian(0.2), X, dtype=None)
    solution = Decomposition(get_backend(), whole_size=50).solve(problem, gram, None, Watch(tol=1e-3))
    f = gram.product(solution.beta)
    violation = problem.qp.violation(solution.beta, f + problem.qp.linear) / problem.unit(solution.beta, f)
    assert solution.status is Status.OPTIMAL
    assert violation <= 1.05e-3


@pytest.mark.parametrize("cost", [1.0, 100.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: t.__name__)
def test_repeated_rows_leave_the_point_feasible(cost, dtype, walks):
    """Their Gram matrix is singular, so that a Newton walk has no unique end."""
    rows = np.vstack([X[:500]] * 3)
    problem = SVCProblem(np.concatenate([SIGN[:500]] * 3), cost * ONES)
    _, expected, _ = solve(problem, 2048, np.float64, rows)
    walks.clear()
    blocks, value, _ = solve(problem, 50, dtype, rows)
    assert problem.qp.infeasibility(blocks.beta) <= FEASIBILITY_TOL
    assert blocks.status is Status.OPTIMAL
    assert value == pytest.approx(expected, rel=1e-6)
    assert len(walks) > 0 or cost == 1.0
    assert max((missing for missing in walks if missing is not None), default=0.0) <= 1e-9


@pytest.mark.parametrize(
    "problem", [SVCProblem(SIGN[:60], np.ones(60)), NuSVCProblem(SIGN[:60], np.ones(60), 0.3)], ids=["svc", "nu-svc"]
)
def test_a_cache_for_two_rows_is_enough(problem):
    gram = KernelGram(get_backend(), Gaussian(0.2), X[:60], cache_bytes=100)
    assert gram.largest_block < 4
    assert Decomposition(get_backend()).solve(problem, gram, None, Watch(tol=1e-3)).status is Status.OPTIMAL


@pytest.mark.parametrize("rank", [30, 100])
@pytest.mark.parametrize("moved", [False, True])
def test_a_block_whose_variables_are_all_free_is_walked_through(rank, moved):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(600, rank))
    sign = np.where(np.sin(100 * A[:, 0]) + 0.3 * rng.normal(size=600) > 0, 1.0, -1.0)
    problem = SVCProblem(sign, np.full(600, 1e4))
    start = None
    if moved:
        positive = sign > 0
        start = np.where(positive, 1.0 / positive.sum(), -1.0 / (~positive).sum())
    gram = KernelGram(get_backend(), Precomputed(), A @ A.T)
    solution = Decomposition(get_backend()).solve(problem, gram, start, Watch(tol=1e-3))
    assert solution.status is Status.OPTIMAL
