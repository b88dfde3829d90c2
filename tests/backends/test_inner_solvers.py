"""One contract for the inner solvers of every back end: feasible, never worse, and solved to the tolerance."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from maxmargin.backends import BlockOptions, Box, KernelGram
from maxmargin.kernels import Gaussian, Linear
from maxmargin.problems import (
    HardMarginProblem,
    NuSVCProblem,
    NuSVRProblem,
    OneClassProblem,
    SVCProblem,
    SVDDProblem,
    SVRProblem,
)
from tests.reference_backend import get_backend

N = 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
SIGN = np.where(X[:, 0] + 0.5 * RNG.normal(size=N) > 0, 1.0, -1.0)
TARGET = X[:, 0] + 0.3 * RNG.normal(size=N)
COST = RNG.uniform(0.2, 2.0, size=N)
GRAMS = {"gaussian": Gaussian(0.5), "singular": Linear()}


def problems(kernel):
    """Every kind of constraint, by name."""
    diagonal = kernel.diag(X)
    with_intercept = {
        "soft margin": SVCProblem(SIGN, COST),
        "nu classification": NuSVCProblem(SIGN, COST, 0.4),
        "nearest points": HardMarginProblem(SIGN, float(diagonal.max())),
        "regression": SVRProblem(TARGET, COST, 0.1),
        "nu regression": NuSVRProblem(TARGET, COST, nu=0.3),
        "nu regression, budget not spent": NuSVRProblem(TARGET, 0.05 * COST, nu=1.0),
        "one class": OneClassProblem(COST, 0.3),
        "smallest ball": SVDDProblem(diagonal, np.full(N, 0.1)),
    }
    without = {
        "soft margin": SVCProblem(SIGN, COST, fit_intercept=False),
        "nu classification": NuSVCProblem(SIGN, COST, 0.4, fit_intercept=False),
        "nearest points": HardMarginProblem(SIGN, float(diagonal.max()), fit_intercept=False),
        "regression": SVRProblem(TARGET, COST, 0.1, fit_intercept=False),
        "nu regression": NuSVRProblem(TARGET, COST, nu=0.3, fit_intercept=False),
        "nu regression, budget not spent": NuSVRProblem(TARGET, 0.05 * COST, nu=1.0, fit_intercept=False),
    }
    return {(True, k): v for k, v in with_intercept.items()} | {(False, k): v for k, v in without.items()}


CASES = [(gram, *key) for gram, kernel in GRAMS.items() for key in problems(kernel)]
EVERY_CASE = pytest.mark.parametrize(("gram", "intercept", "name"), CASES)
EVERY_BACKEND = pytest.mark.parametrize("backend", ["numpy", "numba"])
EVERY_DTYPE = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: t.__name__)


def run(backend, qp, K, beta, tol=1e-5, max_steps=200_000, lazy=None, diagonal=None):
    """One call of the inner solver on the whole problem, in place; the result and the gradient."""
    grad = K.astype(np.float64) @ beta + qp.linear if lazy is None else qp.linear.copy()
    options = BlockOptions(qp.epsilon, qp.budget is not None, qp.budget_is_bound, qp.slack(beta), tol, max_steps)
    box = Box(qp.lower, qp.upper, np.diag(K).astype(np.float64) if diagonal is None else diagonal)
    engine = get_backend(backend)
    solve = engine.pair_block if qp.balance else engine.free_block
    return solve(K, grad, beta, box, options, lazy), grad


def objective(qp, K, beta):
    return qp.objective(beta, K.astype(np.float64) @ beta)


@EVERY_BACKEND
@EVERY_DTYPE
@EVERY_CASE
def test_a_working_set_is_solved_to_the_tolerance(backend, dtype, gram, intercept, name):
    qp, K = problems(GRAMS[gram])[intercept, name].qp, GRAMS[gram](X).astype(dtype)
    beta = qp.start()
    before = objective(qp, K, beta)
    result, grad = run(backend, qp, K, beta)
    assert result.violation <= 1e-5
    assert qp.violation(beta, K.astype(np.float64) @ beta + qp.linear) <= 1.1e-5
    rounding = 1e-10 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(grad, K.astype(np.float64) @ beta + qp.linear, atol=rounding)
    assert qp.infeasibility(beta) <= 1e-12
    assert objective(qp, K, beta) <= before + 1e-12
    if qp.balance:
        assert beta.sum() == pytest.approx(qp.total, abs=1e-12 * np.abs(beta).sum())
    if qp.budget is not None:
        left = qp.budget - np.abs(beta).sum()
        assert result.slack == pytest.approx(left if qp.budget_is_bound else 0.0, abs=1e-11 * qp.budget)


@EVERY_BACKEND
@EVERY_CASE
def test_no_step_makes_the_objective_worse(backend, gram, intercept, name):
    qp, K = problems(GRAMS[gram])[intercept, name].qp, GRAMS[gram](X)
    beta = qp.start()
    values = [objective(qp, K, beta)]
    for _ in range(60):
        result, _ = run(backend, qp, K, beta, max_steps=1)
        assert result.steps <= 1
        assert qp.infeasibility(beta) <= 1e-12
        values.append(objective(qp, K, beta))
    assert (np.diff(values) <= 1e-12 * (1 + np.abs(values[0]))).all()
    assert values[-1] < values[0]


@EVERY_CASE
def test_both_back_ends_reach_the_same_objective(gram, intercept, name):
    qp, K = problems(GRAMS[gram])[intercept, name].qp, GRAMS[gram](X)
    values = []
    for backend in ("numpy", "numba"):
        beta = qp.start()
        run(backend, qp, K, beta, tol=1e-7)
        values.append(objective(qp, K, beta))
    assert values[0] == pytest.approx(values[1], rel=1e-6, abs=1e-7)


@EVERY_CASE
def test_lines_filled_on_demand_lead_to_the_same_optimum(gram, intercept, name):
    qp, kernel = problems(GRAMS[gram])[intercept, name].qp, GRAMS[gram]
    matrix = KernelGram(get_backend("numba"), kernel, X)
    assert matrix.fills_rows
    beta = qp.start()
    K, lazy = matrix.lazy_matrix(np.flatnonzero(beta))
    grad = beta @ np.where(beta[:, None] != 0, K, 0.0) + qp.linear
    options = BlockOptions(qp.epsilon, qp.budget is not None, qp.budget_is_bound, qp.slack(beta), 1e-7, 200_000)
    box = Box(qp.lower, qp.upper, matrix.diagonal)
    solve = matrix.backend.pair_block if qp.balance else matrix.backend.free_block
    solve(K, grad, beta, box, options, lazy)
    exact = kernel(X)
    np.testing.assert_allclose(K[lazy.filled], exact[lazy.filled], atol=1e-12)
    assert lazy.filled[beta != 0].all()
    full = qp.start()
    run("numba", qp, exact, full, tol=1e-7)
    assert objective(qp, exact, beta) == pytest.approx(objective(qp, exact, full), rel=1e-6, abs=1e-7)


@EVERY_BACKEND
def test_lines_are_not_filled_on_demand_where_that_is_impossible(backend):
    gram = KernelGram(get_backend(backend), Gaussian(0.5), np.tile(X, (1, 100)))
    K, lazy = gram.lazy_matrix(np.array([0, 3]))
    assert not gram.fills_rows
    assert lazy is None
    np.testing.assert_allclose(K, Gaussian(0.5)(np.tile(X, (1, 100))), atol=1e-12)


@EVERY_BACKEND
@EVERY_CASE
def test_newton_steps_stay_feasible_and_never_climb(backend, gram, intercept, name):
    qp, K = problems(GRAMS[gram])[intercept, name].qp, GRAMS[gram](X)
    beta = qp.start()
    run("numpy", qp, K, beta, max_steps=60)
    before, was = objective(qp, K, beta), beta.copy()
    spent = qp.budget is not None and qp.slack(beta) == 0
    box = Box(qp.lower, qp.upper, np.diag(K).copy())
    done = get_backend(backend).newton(K, qp.linear, beta, box, qp.epsilon, qp.balance, spent, 20)
    if not done:
        return assert_singular(K, was, qp)
    if spent or qp.budget is None:
        assert qp.infeasibility(beta) <= 1e-10
    assert objective(qp, K, beta) <= before + 1e-10 * (1 + abs(before))


def assert_singular(K, beta, qp):
    """Newton steps may only be refused where K has a flat direction among the free variables."""
    free = (beta > qp.lower) & (beta < qp.upper) & (beta != 0)
    assert np.linalg.eigvalsh(K[np.ix_(free, free)])[0] <= 1e-8


@EVERY_BACKEND
def test_newton_steps_finish_what_pairs_began(backend):
    qp, K = SVCProblem(SIGN, COST).qp, Gaussian(0.5)(X)
    beta = qp.start()
    run("numpy", qp, K, beta, tol=1e-3)
    rough = qp.violation(beta, K @ beta + qp.linear)
    box = Box(qp.lower, qp.upper, np.diag(K).copy())
    assert get_backend(backend).newton(K, qp.linear, beta, box, 0.0, True, False, 20)
    assert qp.violation(beta, K @ beta + qp.linear) <= 1e-10 < rough


@EVERY_BACKEND
@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_the_size_of_the_kernel_does_not_matter(backend, scale):
    """Scaling K by s and the bounds by 1/s gives the same scores."""
    K, reference = Gaussian(0.5)(X), SVCProblem(SIGN, COST).qp
    scaled = SVCProblem(SIGN, COST / scale).qp
    expected, beta = reference.start(), scaled.start()
    run(backend, reference, K, expected, tol=1e-6)
    result, _ = run(backend, scaled, scale * K, beta, tol=1e-6)
    assert result.violation <= 1e-6
    assert scale * scaled.objective(beta, scale * K @ beta) == pytest.approx(objective(reference, K, expected))


@EVERY_BACKEND
def test_pairs_solve_a_kernel_with_a_zero_diagonal(backend):
    """-||x - z||^2 is positive definite where the sum of beta is 0: a fine kernel for a machine with an intercept."""
    qp, K = SVCProblem(SIGN, COST).qp, -cdist(X, X, "sqeuclidean")
    beta = qp.start()
    result, _ = run(backend, qp, K, beta)
    assert result.violation <= 1e-5
    assert qp.infeasibility(beta) <= 1e-12
    same, twice = qp.start(), 2 * X @ X.T
    run(backend, qp, twice, same)
    assert objective(qp, K, beta) == pytest.approx(objective(qp, twice, same), rel=1e-5)


@EVERY_BACKEND
def test_an_indefinite_kernel_ends_at_a_stationary_point(backend):
    root = np.random.default_rng(1).normal(size=(N, N))
    for balance in (True, False):
        qp = SVCProblem(SIGN, COST, balance).qp
        beta = qp.start()
        result, _ = run(backend, qp, root + root.T, beta)
        assert result.violation <= 1e-5
        assert qp.infeasibility(beta) <= 1e-12


@EVERY_BACKEND
def test_a_solved_set_takes_no_step(backend):
    qp, K = SVCProblem(SIGN, COST).qp, Gaussian(0.5)(X)
    beta = qp.start()
    run(backend, qp, K, beta, tol=1e-6)
    solved = beta.copy()
    result, _ = run(backend, qp, K, beta, tol=1e-5)
    assert result.steps == 0
    np.testing.assert_array_equal(beta, solved)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_pair_steps_keep_the_sum_down_to_rounding(epsilon):
    """Where nothing is left to gain but rounding, a variable may seem to gain against itself."""
    rng = np.random.default_rng(0)
    for n in (2, 5, 12, 31):
        for C in (0.1, 10.0, 1e4):
            X, y = rng.normal(size=(n, 3)), rng.normal(size=n)
            K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
            beta, grad, bound = np.zeros(n), -y, np.full(n, C)
            for _ in range(3):  # from where the last call ended
                options = BlockOptions(epsilon, False, False, np.inf, 1e-300, 20 * n)
                get_backend().pair_block(K, grad, beta, Box(-bound, bound, np.ones(n)), options)
                assert abs(beta.sum()) <= 1e-13 * n * max(1.0, np.abs(beta).max())
                np.testing.assert_allclose(grad, K @ beta - y, atol=1e-11 * max(1.0, np.abs(beta).sum()))
                grad = K @ beta - y
