"""Many small problems in one compiled call: the same answers as one at a time."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from maxmargin import SVC, NuSVC, OneClassSVM
from maxmargin.backends import KernelGram
from maxmargin.estimators import _run
from maxmargin.kernels import Gaussian, Laplacian
from maxmargin.problems import NuSVRProblem, SVCProblem, SVRProblem
from maxmargin.solvers import Decomposition, InteriorPoint, Status, Watch, can_solve_many, solve_many
from tests.reference_backend import get_backend

X, Y = load_digits(return_X_y=True)
X, Y = X[:600] / 16.0, Y[:600]


def problems():
    rng = np.random.default_rng(0)
    rows = [np.sort(rng.choice(len(X), size=n, replace=False)) for n in (5, 40, 120, 300)]
    return rows, rng


def solve(made, rows, threads=1, watch=None):
    gram = KernelGram(get_backend(), Gaussian(0.05), X)
    watches = [watch or Watch() for _ in made]
    return gram, solve_many(made, rows, [None] * len(made), gram, threads, watches)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["svc", "svr", "nu-svr"])
def test_a_batch_gives_what_one_at_a_time_gives(kind, threads):
    rows, rng = problems()
    if kind == "svc":
        made = [SVCProblem(np.where(Y[r] % 2, 1.0, -1.0), np.full(len(r), 3.0)) for r in rows]
    elif kind == "svr":
        made = [SVRProblem(rng.normal(size=len(r)), np.full(len(r), 3.0), 0.1) for r in rows]
    else:
        made = [NuSVRProblem(rng.normal(size=len(r)), np.full(len(r), 3.0), nu=0.4) for r in rows]
    gram, results = solve(made, rows, threads)
    for problem, own, (solution, finished) in zip(made, rows, results, strict=True):
        alone = Decomposition(get_backend()).solve(problem, gram.take(own), None, Watch())
        assert finished
        assert solution.status is Status.OPTIMAL
        assert problem.qp.infeasibility(solution.beta) <= 1e-9
        np.testing.assert_allclose(solution.f, alone.f, atol=1e-6)
        np.testing.assert_allclose(solution.f, gram.take(own).product(solution.beta), atol=1e-9)
        assert 0 < solution.entries <= len(own) ** 2
        assert solution.history == ()
        assert solution.seconds > 0


def test_a_problem_that_needs_more_steps_is_handed_back_feasible(monkeypatch):
    monkeypatch.setattr("maxmargin.solvers.many.STEPS", 0)
    rows, _ = problems()
    made = [SVCProblem(np.where(Y[r] % 2, 1.0, -1.0), np.full(len(r), 3.0)) for r in rows[2:]]
    _, results = solve(made, rows[2:])
    for problem, (solution, finished) in zip(made, results, strict=True):
        assert not finished
        assert problem.qp.infeasibility(solution.beta) <= 1e-9
    model = SVC(C=3.0, gap_tol=1e-8).fit(X, Y)  # the estimator goes on from there, one pair at a time
    assert model.fit_status_ == 0
    assert model.certificate_.relative_gap <= 1e-8


@pytest.mark.parametrize(
    "model", [SVC(C=10), SVC(kernel="linear"), NuSVC(nu=0.1), SVC(C=np.inf), SVC(fit_intercept=False)]
)
def test_a_machine_is_the_same_either_way(model, monkeypatch):
    XI, YI = load_iris(return_X_y=True)
    XI, YI = (XI[50:], YI[50:]) if model.get_params().get("C") != np.inf else (XI, YI)
    XI = np.vstack([XI, XI[:5] + 0.5])
    YI = np.append(YI, [7] * 5)  # one more class, so that there are pairs
    together = model.fit(XI, YI)
    scores = together.decision_function(XI)
    monkeypatch.setattr(_run, "can_solve_many", lambda *args: False)
    np.testing.assert_allclose(model.fit(XI, YI).decision_function(XI), scores, atol=1e-6)


def test_a_batch_is_only_for_those_who_do_not_look():
    def one(n, fit_intercept=True):
        return [SVCProblem(np.where(np.arange(n) % 2, 1.0, -1.0), np.ones(n), fit_intercept)]

    gram = KernelGram(get_backend(), Gaussian(0.05), X)
    solver = Decomposition(get_backend())
    assert can_solve_many(solver, gram, one(100), Watch())
    assert not can_solve_many(solver, gram, one(100, fit_intercept=False), Watch())
    assert not can_solve_many(solver, gram, one(solver.whole_size + 1), Watch())
    assert not can_solve_many(InteriorPoint(), gram, one(100), Watch())
    for other in (
        KernelGram(get_backend(), Laplacian(0.1), X),
        KernelGram(get_backend("numpy"), Gaussian(0.1), X),
        KernelGram(get_backend(), Gaussian(0.1), X, cache_bytes=1000),
    ):
        assert not can_solve_many(solver, other, one(100), Watch())
    for watch in (Watch(gap_tol=1e-3), Watch(max_iter=5), Watch(callback=lambda record: False)):
        assert not can_solve_many(solver, gram, one(100), watch)


@pytest.mark.parametrize("watch", [Watch(interrupted=lambda: True), Watch(deadline=0.0)])
def test_ctrl_c_and_the_clock_leave_the_rest_unsolved(watch):
    rows, _ = problems()
    made = [SVCProblem(np.where(Y[r] % 2, 1.0, -1.0), np.full(len(r), 3.0)) for r in rows]
    _, results = solve(made, rows, watch=watch)
    assert [finished for _, finished in results] == [False] * len(made)
    assert OneClassSVM().fit(X).fit_status_ == 0  # a single task takes the other way


@pytest.mark.parametrize("threads", [1, 2])
def test_folds_of_one_problem_share_their_kernel_values(threads):
    """Problems in a row on the same rows: rows of K are filled once, and the answers are those of each alone."""
    rows, _ = problems()
    made, where = [], []
    for r in rows[1:]:
        sign = np.where(Y[r] % 2, 1.0, -1.0)
        for fold in range(3):
            made.append(SVCProblem(sign, np.full(len(r), 3.0)).masked(np.arange(len(r)) % 3 == fold))
            where.append(r)
    _, results = solve(made, where, threads)
    for number, (solution, finished) in enumerate(results):
        assert finished
        _, [(alone, _)] = solve(made[number : number + 1], where[number : number + 1])
        np.testing.assert_array_equal(solution.beta, alone.beta)
        np.testing.assert_array_equal(solution.f, alone.f)
        assert solution.entries == alone.entries if number % 3 == 0 else solution.entries < 0.7 * alone.entries
