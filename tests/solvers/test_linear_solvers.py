"""The solvers of linear models by themselves: steps, systems, sets of features, walks, and the work they take."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import Lasso

from maxmargin.backends import Design, single_threaded_blas
from maxmargin.losses import (
    Absolute,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Logistic,
    Pinball,
    Squared,
    SquaredHinge,
)
from maxmargin.penalties import L1, L2, ElasticNet, NoPenalty
from maxmargin.problems import LinearProblem
from maxmargin.solvers import LinearPoint, Status, Watch, dual_coordinate, features, make_linear_solver, semismooth
from maxmargin.solvers._linear import noted, solve_by_products
from maxmargin.solvers.dual_coordinate import DualCoordinate
from maxmargin.solvers.features import FeatureSets
from maxmargin.solvers.head_start import HeadStart
from maxmargin.solvers.primal_dual import PrimalDual, operator_norm
from maxmargin.solvers.semismooth import SemismoothNewton, by_rows, line_search, solve_equilibrated
from tests.laws import examples
from tests.reference_backend import get_backend

law = examples(100, derandomize=True, database=None)


def solve(problem, X, solver="auto", tol=1e-6, start=None, **limits):
    backend = get_backend()
    design = backend.design(X)
    made = make_linear_solver(solver, problem, design, backend)
    with single_threaded_blas():
        return made.solve(problem, design, start, Watch(0.0, tol, **limits))


def gap_of(problem, X, point):
    """The relative gap, worked out here."""
    f, v = X @ point.w + point.intercept, X.T @ point.beta
    primal, dual = problem.primal(point.w, f), problem.dual(point.beta, v)
    assert problem.imbalance(point.beta) <= 1e-9
    return (primal - dual) / primal


# -- the line search -----------------------------------------------------------------------------------------------


@law
@given(
    slopes=st.lists(st.floats(0.0, 1e3), min_size=1, max_size=6),
    kinks=st.lists(st.floats(0.0, 2.0), min_size=6, max_size=6),
    curved=st.floats(0.0, 10.0),
    start=st.floats(1e-3, 1e3),
)
def test_line_search_ends_where_a_convex_function_is_nearly_flat_or_still_falls(slopes, kinks, curved, start):
    def slope_at(step):
        jumps = sum(min(max(0.0, step - kink), 0.01) * 100 * jump for kink, jump in zip(kinks, slopes, strict=False))
        return -start + curved * step + jumps

    step = line_search(slope_at, slope_at(0.0))
    assert 0 < step <= 1
    assert slope_at(step) <= semismooth.FLAT_ENOUGH * abs(slope_at(0.0)) * (1 + 1e-9)
    if slope_at(1.0) <= 0:
        assert step == 1.0


def test_line_search_needs_few_looks_and_survives_infinities():
    looks = []

    def steep(step):
        looks.append(step)
        return -1.0 if step < 1e-3 else 1e6 * (step - 1e-3)

    step = line_search(steep, -1.0)
    assert steep(step) <= 0.1
    assert len(looks) <= semismooth.SEARCHES + 2
    assert 0 <= line_search(lambda step: -1.0 if step < 0.3 else np.inf, -1.0) <= 0.3


# -- Newton's equations --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: t.__name__)
def test_equations_by_rows_by_columns_and_by_conjugate_gradients_have_one_solution(bias, sparse, dtype, monkeypatch):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(12, 30)) * (rng.random((12, 30)) < 0.5)).astype(dtype)
    diagonal, weight, rhs = rng.random(30) + 0.1, rng.random(12) + 0.1, rng.normal(size=30 + bias)
    design = get_backend().design(sp.csr_array(X) if sparse else X)
    full = np.column_stack([X, np.ones(12)]) if bias else X
    matrix = full.T @ (weight[:, None] * full) + np.diag(np.append(diagonal, 0.0) if bias else diagonal)
    expected = np.linalg.solve(matrix.astype(np.float64), rhs)
    np.testing.assert_allclose(
        by_rows(design, diagonal, weight, rhs, bias), expected, atol=1e-5 if dtype == np.float32 else 1e-9
    )
    np.testing.assert_allclose(solve_equilibrated(matrix, rhs), expected, rtol=1e-6, atol=1e-6)
    monkeypatch.setattr("maxmargin.solvers._linear.CG_TOL", 1e-10)
    found = solve_by_products(design, diagonal, weight, rhs, bias)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_equations_with_columns_of_any_size_and_without_any():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) * [1e-6, 1.0, 1e6, 0.0]
    matrix, x = X.T @ X, np.array([1e6, 1.0, 1e-6, 0.0])
    np.testing.assert_allclose(solve_equilibrated(matrix, matrix @ x), x, rtol=1e-6)
    twice = np.ones((2, 2))  # singular: some solution
    np.testing.assert_allclose(twice @ solve_equilibrated(twice, np.ones(2)), np.ones(2), rtol=1e-6)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), Logistic()], ids=lambda loss: loss.name)
def test_many_columns_are_solved_without_a_matrix_of_their_size(loss, monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 60), density=0.2, random_state=rng, format="csr")
    sign = np.where(X @ rng.normal(size=60) + 0.3 * rng.normal(size=300) > 0, 1.0, -1.0)
    problem = LinearProblem(loss, L2(), sign, np.ones(300))
    usual = solve(problem, X, "newton", 1e-9)
    monkeypatch.setattr(semismooth, "DIRECT", 40)  # fewer rows on parabolas than that: by rows; else by products
    other = solve(problem, X, "newton", 1e-9)
    assert usual.status is other.status is Status.OPTIMAL
    assert gap_of(problem, X, other.point) <= 1e-9
    np.testing.assert_allclose(other.point.w, usual.point.w, atol=1e-3)


# -- sets of features ----------------------------------------------------------------------------------------------


def many_features(n=600, d=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.02, random_state=rng, format="csr")
    y = X @ np.where(rng.random(d) < 0.01, 5 * rng.normal(size=d), 0.0) + 0.1 * rng.normal(size=n)
    return X, y, np.where(y > np.median(y), 1.0, -1.0)


@pytest.mark.parametrize(
    "loss", [Hinge(), SquaredHinge(), Logistic(), Squared(), Absolute()], ids=lambda loss: loss.name
)
@pytest.mark.parametrize("penalty", [L1(), ElasticNet(0.7)], ids=lambda penalty: penalty.name)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sets_of_features_find_the_optimum_of_all(loss, penalty, fit_intercept):
    X, y, sign = many_features()
    assert X.shape[1] > semismooth.DIRECT
    problem = LinearProblem(loss, penalty, sign if loss.of_margin else y, np.full(len(y), 0.5), fit_intercept)
    backend = get_backend()
    assert isinstance(make_linear_solver("auto", problem, backend.design(X), backend), FeatureSets)
    solution = solve(problem, X, tol=1e-7)
    assert solution.status is Status.OPTIMAL
    assert -1e-12 <= gap_of(problem, X, solution.point) <= 1e-7
    assert np.count_nonzero(solution.point.w) < X.shape[1] / 2
    again = solve(problem, X, tol=1e-7, start=solution.point)
    assert again.n_iter <= max(2, 0.2 * solution.n_iter)


def test_sets_of_features_find_the_lasso():
    X, y, _ = many_features()
    solution = solve(LinearProblem(Squared(), L1(), y, np.ones(len(y))), X, tol=1e-12)
    theirs = Lasso(alpha=0.5 / len(y), tol=1e-12, max_iter=10**5).fit(X, y)
    np.testing.assert_allclose(solution.point.w, theirs.coef_, atol=1e-5)


def test_a_part_of_the_work_is_watched_in_silence():
    heard = []
    watch = Watch(0.0, 1e-3, callback=lambda record: bool(heard.append(record)))
    part = features.replace_watch(watch, 0.5)
    _, y, _ = many_features()
    problem = LinearProblem(Squared(), L1(), y, np.ones(len(y)))
    part.note(noted_record(problem))
    assert heard == []
    assert watch.history == []
    assert part.gap_tol == 0.5


def noted_record(problem):
    from maxmargin.solvers import Record

    return Record(1, 0.0, problem.idle, 0.0, problem.idle)


# -- coordinate descent --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.3), SquaredHinge()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_newton_walk_helps_where_single_moves_crawl(loss, fit_intercept, monkeypatch):
    X, y = make_classification(400, 20, n_informative=6, flip_y=0.05, class_sep=0.5, random_state=0)
    target = np.where(y == 1, 1.0, -1.0) if loss.of_margin else X @ np.arange(20.0) + y
    problem = LinearProblem(loss, L2(), target, np.full(400, 1000.0), fit_intercept)
    walks, original = [], dual_coordinate._Run._newton
    monkeypatch.setattr(dual_coordinate._Run, "_move_many", lambda self: None)

    def dual(beta):
        beta = problem.feasible(beta)
        return problem.dual(beta, X.T @ beta)

    def counted(self):
        before = dual(self.beta)
        original(self)
        walks.append((before, dual(self.beta)))

    with monkeypatch.context() as patch:
        patch.setattr(dual_coordinate._Run, "_newton", counted)
        walked = solve(problem, X, "dual-coordinate", 1e-5, max_iter=20000)
    assert walked.status is Status.OPTIMAL
    assert gap_of(problem, X, walked.point) <= 1e-5
    assert len(walks) >= 1
    assert all(after >= before - 1e-6 * abs(before) for before, after in walks)
    best = solve(problem, X, "newton", 1e-8).history[-1].primal
    assert walked.history[-1].primal == pytest.approx(best, rel=2e-5)
    monkeypatch.setattr(dual_coordinate._Run, "_newton", lambda self: None)
    assert solve(problem, X, "dual-coordinate", 1e-5, max_iter=walked.n_iter).status is not Status.OPTIMAL


def test_order_of_the_rows_is_the_seeds():
    X, _, sign = many_features(300, 100)
    problem, backend = LinearProblem(Hinge(), L2(), sign, np.ones(300)), get_backend()
    design = backend.design(X)
    points = [
        DualCoordinate(backend, seed).solve(problem, design, None, Watch(0.0, 1e-6)).point.beta for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(points[0], points[1])
    assert not np.array_equal(points[0], points[2])


# -- the rest ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False])
def test_operator_norm_is_the_largest_singular_value(bias):
    X = np.random.default_rng(0).normal(size=(60, 8)) + 0.5
    full = np.column_stack([X, np.ones(60)]) if bias else X
    assert operator_norm(get_backend().design(X), bias) == pytest.approx(np.linalg.norm(full, 2), rel=1e-3)
    assert operator_norm(get_backend().design(np.zeros((3, 2))), False) == 1.0


def test_the_chooser_picks_by_shape_loss_and_penalty():
    backend = get_backend()
    narrow, wide = backend.design(np.zeros((3, 5))), backend.design(sp.csr_array((3, semismooth.DIRECT + 1)))

    def chosen(loss, penalty, design):
        return type(make_linear_solver("auto", LinearProblem(loss, penalty, np.ones(3), np.ones(3)), design, backend))

    assert chosen(Hinge(), L2(), narrow) is HeadStart
    assert chosen(SquaredHinge(), L2(), narrow) is SemismoothNewton
    assert chosen(Hinge(), L2(), wide) is DualCoordinate
    assert chosen(Logistic(), L2(), wide) is SemismoothNewton
    assert chosen(Hinge(), L1(), wide) is FeatureSets
    from maxmargin.penalties import PNorm

    assert chosen(Hinge(), PNorm(1.5), narrow) is PrimalDual


@pytest.mark.parametrize(("C", "bias", "begins"), [(1e-3, False, True), (1e3, False, False), (1e-3, True, False)])
def test_coordinate_descent_begins_where_it_is_quick(C: float, bias: bool, begins: bool):
    X, y = make_classification(2000, 20, random_state=0)
    problem = LinearProblem(Hinge(), L2(), np.where(y > 0, 1.0, -1.0), np.full(2000, C), bias)
    backend = get_backend()
    design = backend.design(X)
    plain = SemismoothNewton(backend).solve(problem, design, None, Watch(gap_tol=1e-6))
    helped = make_linear_solver("auto", problem, design, backend).solve(problem, design, None, Watch(gap_tol=1e-6))
    assert helped.status is plain.status is Status.OPTIMAL
    assert helped.history[-1].primal == pytest.approx(plain.history[-1].primal, rel=2e-6)
    assert (len(helped.history) != len(plain.history)) == begins


def test_newton_goes_on_where_coordinate_descent_stopped(monkeypatch: pytest.MonkeyPatch):
    X, y = make_classification(2000, 20, random_state=0)
    problem = LinearProblem(Hinge(), L2(), np.where(y > 0, 1.0, -1.0), np.full(2000, 0.02), False)
    backend = get_backend()
    design = backend.design(X)
    monkeypatch.setattr("maxmargin.solvers.head_start.PASSES", 2)
    watch = Watch(gap_tol=1e-8)
    solution = make_linear_solver("auto", problem, design, backend).solve(problem, design, None, watch)
    assert solution.status is Status.OPTIMAL
    gaps = [record.gap for record in solution.history]
    assert gaps[0] > 1e-4 * solution.history[0].primal  # where coordinate descent left it
    assert gaps[-1] <= 1e-8 * solution.history[-1].primal


def test_an_optimum_of_nothing_is_reached_by_rounding():
    X = np.random.default_rng(0).normal(size=(30, 3))
    for loss in (Squared(), Absolute(), EpsilonInsensitive(0.0)):
        problem = LinearProblem(loss, L2(), np.full(30, 5.0), np.ones(30))
        solution = solve(problem, X)
        assert solution.status is Status.OPTIMAL
        assert solution.point.intercept == pytest.approx(5.0)
    watch = Watch(0.0, 1e-6, max_iter=0)
    assert noted(problem, watch, noted_record(problem), np.ones(3)) is Status.MAX_ITER


def test_a_model_without_penalty_does_not_stay_at_zero():
    X = np.random.default_rng(0).normal(size=(50, 3))
    y = X @ [1.0, 2.0, 3.0]
    for fit_intercept in (True, False):
        problem = LinearProblem(Squared(), NoPenalty(), y, np.ones(50), fit_intercept)
        np.testing.assert_allclose(solve(problem, X, tol=1e-9).point.w, [1.0, 2.0, 3.0], atol=1e-6)
    start = LinearPoint(np.zeros(3), 0.0, np.zeros(50))
    np.testing.assert_allclose(solve(problem, X, tol=1e-9, start=start).point.w, [1.0, 2.0, 3.0], atol=1e-6)


# -- work ----------------------------------------------------------------------------------------------------------


@cache
def classes():
    X, y = make_classification(20000, 30, n_informative=10, flip_y=0.05, random_state=0)
    return X, np.where(y == 1, 1.0, -1.0)


@cache
def targets():
    return make_regression(20000, 30, n_informative=10, noise=20.0, random_state=0)


@cache
def sparse_rows():
    rng = np.random.default_rng(0)
    X = sp.random_array((3000, 20000), density=0.003, random_state=rng, format="csr")
    score = X @ rng.normal(size=20000)
    return X, np.where(score + 0.3 * score.std() * rng.normal(size=3000) > 0, 1.0, -1.0)


WORK = {  # data, loss, penalty, C, Newton steps or epochs allowed: about 1.5 times what was needed when it was set
    "hinge, C small": (classes, Hinge(), L2(), 0.01, 24),
    "hinge": (classes, Hinge(), L2(), 1.0, 29),
    "hinge, C large": (classes, Hinge(), L2(), 100.0, 32),
    "hinge and 1-norm": (classes, Hinge(), L1(), 1.0, 62),
    "squared hinge": (classes, SquaredHinge(), L2(), 1.0, 4),
    "squared hinge and 1-norm": (classes, SquaredHinge(), L1(), 1.0, 24),
    "logistic": (classes, Logistic(), L2(), 1.0, 4),
    "logistic and 1-norm": (classes, Logistic(), L1(), 1.0, 21),
    "exponential": (classes, Exponential(), L2(), 1.0, 3),
    "tube": (targets, EpsilonInsensitive(1.0), L2(), 1.0, 24),
    "quantile without penalty": (targets, Pinball(0.8), NoPenalty(), 1.0, 51),
    "lasso": (targets, Squared(), L1(), 0.01, 8),
    "sparse rows": (sparse_rows, Hinge(), L2(), 1.0, 35),
    "sparse rows, C large": (sparse_rows, Hinge(), L2(), 100.0, 44),
    "sparse rows, squared hinge": (sparse_rows, SquaredHinge(), L2(), 1.0, 20),
    "sparse rows, logistic": (sparse_rows, Logistic(), L2(), 1.0, 8),
}


@pytest.mark.parametrize("name", WORK)
def test_a_fit_takes_no_more_steps_than_it_used_to(name):
    make, loss, penalty, C, most = WORK[name]
    X, t = make()
    solution = solve(LinearProblem(loss, penalty, t, np.full(len(t), C)), X, tol=1e-6)
    assert solution.status is Status.OPTIMAL
    assert solution.n_iter <= most


def test_at_a_small_cost_a_fit_is_a_few_passes(monkeypatch):
    X, t = classes()
    products = []
    for name in ("scores", "combine"):
        plain = getattr(Design, name)
        monkeypatch.setattr(Design, name, lambda self, x, plain=plain: products.append(self.n) or plain(self, x))
    cost = np.full(len(t), 1e-4)
    solution = solve(LinearProblem(Hinge(), L2(), t, cost, fit_intercept=False), X, tol=1e-6)
    assert solution.status is Status.OPTIMAL
    assert solution.n_iter <= 9  # passes of coordinate descent
    assert sum(products) <= 7 * len(t)
    products.clear()
    solution = solve(LinearProblem(SquaredHinge(), L2(), t, cost), X, tol=1e-6)
    assert solution.status is Status.OPTIMAL
    assert solution.n_iter <= 3  # from where a sample has taken the weights
    assert sum(products) <= 17 * len(t)
