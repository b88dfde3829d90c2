"""The intercept of a linear machine: where an interval is equally good, its middle, whichever solver found the weights.

The oracle looks at every kink of the loss as a function of b, in plain loops and exact numbers.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, cross_val_score

from maxmargin import SVC, SVR, LinearClassifier, LinearClassifierCV, LinearRegressor, LinearSVC, LinearSVCCV, LinearSVR
from maxmargin.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    PerceptronLoss,
    Pinball,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    resolve_loss,
)
from maxmargin.penalties import L2
from maxmargin.problems import LinearProblem, constants
from maxmargin.solvers import LINEAR_NAMES
from tests.laws import examples

law = examples(60, derandomize=True, database=None)
number = st.integers(-16, 16).map(lambda i: i / 4)
cost = st.integers(1, 4).map(float)
MADE_OF_LINES = [Hinge(), Absolute(), EpsilonInsensitive(0.5), Pinball(0.25)]
every_solver = pytest.mark.parametrize("solver", LINEAR_NAMES)


def fit(model, X, y, sample_weight=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # tight goals, and a textbook method
        return clone(model).set_params(**options).fit(X, y, sample_weight)


def best_interval(loss, target, C, f, rounding=0.0):
    """(least, largest) b with the least loss: it is at kinks, where an error is 0 or the width of the tube."""
    width = getattr(loss, "epsilon", 0.0)
    kinks = sorted({t + side - s for t, s in zip(target, f, strict=True) for side in (-width, width)})
    worth = [sum(c * float(loss.value(t, s + b)) for c, t, s in zip(C, target, f, strict=True)) for b in kinks]
    best = [b for b, value in zip(kinks, worth, strict=True) if value <= (1 + rounding) * min(worth)]
    return best[0], best[-1]


@pytest.mark.parametrize("loss", MADE_OF_LINES, ids=lambda loss: loss.name)
@law
@given(rows=st.lists(st.tuples(number, number, cost), min_size=2, max_size=8))
def test_the_best_intercept_is_the_middle_of_all_best_ones(loss, rows):
    t, f, C = (np.array(column) for column in zip(*rows, strict=True))
    if loss.of_margin:
        t = np.where(np.arange(len(t)) % 2 == 0, 1.0, -1.0)
    low, high = best_interval(loss, t, C, f)
    assert LinearProblem(loss, L2(), t, C).intercept(f) == (low + high) / 2


@pytest.mark.parametrize(
    ("loss", "target", "low", "high"),
    [(Huber(1.0), [0.0, 10.0], 1.0, 9.0), (SquaredEpsilonInsensitive(2.0), [0.0, 1.0], -1.0, 2.0)],
    ids=["huber", "squared tube"],
)
def test_so_it_is_where_a_smooth_loss_is_flat(loss, target, low, high):
    problem = LinearProblem(loss, L2(), np.array(target), np.ones(2))
    assert problem.intercept(np.zeros(2)) == pytest.approx((low + high) / 2)
    X = np.zeros((2, 1))
    assert fit(LinearRegressor(loss, C=1e-3, tol=1e-9), X, target).intercept_[0] == pytest.approx((low + high) / 2)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    "name",
    [
        "squared_hinge",
        "hinge",
        "logistic",
        "exponential",
        "squared",
        "absolute",
        "huber",
        "squared_epsilon_insensitive",
    ],
)
def test_constants_of_many_problems_are_those_of_each(name, intercept):
    """Rows of one target are one heavy row; problems have different numbers of targets."""
    rng, loss = np.random.default_rng(0), resolve_loss(name)
    problems = []
    for n in (1, 2, 5, 40, 40):
        target = np.where(rng.random(n) < 0.3, 1.0, -1.0) if loss.of_margin else rng.integers(-3, 4, n) * 1.25
        problems.append(LinearProblem(loss, L2(), target, rng.uniform(0.1, 5.0, n), intercept))
    alone = [problem.intercept(np.zeros(problem.n)) for problem in problems]
    np.testing.assert_allclose(constants(problems), alone, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(constants(problems), [constants([problem])[0] for problem in problems])


def test_rows_of_one_class_have_one_end():
    for sign in (-1.0, 1.0):
        assert LinearProblem(Hinge(), L2(), np.full(3, sign), np.ones(3)).intercept(np.zeros(3)) == sign


# -- whole machines against the kernel one --------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic(), SquaredEpsilonInsensitive(0.1), Huber(0.5)])
@pytest.mark.parametrize("start", [0.0, 20.0])
def test_the_intercept_of_a_smooth_loss_is_found_in_few_looks_at_the_rows(loss, start, monkeypatch):
    rng, looks = np.random.default_rng(0), []
    target = np.where(rng.random(500) < 0.2, 1.0, -1.0)
    problem, f = LinearProblem(loss, L2(), target, rng.random(500) + 0.1), rng.normal(size=500) - 3.0
    plain = type(loss).subgradient

    def counted(self, t, y):
        looks.append(1)
        return plain(self, t, y)

    monkeypatch.setattr(type(loss), "subgradient", counted)
    b = problem.intercept(f, start)
    assert len(looks) <= 75
    monkeypatch.undo()
    slopes = problem.C * loss.subgradient(target, f + b)
    assert abs(slopes.sum()) <= 1e-12 * np.abs(slopes).sum()


@every_solver
def test_a_machine_without_free_support_vectors_decides_halfway(solver):
    X, y = np.array([[-2.0], [-1.0], [1.0], [3.0]]), np.array([-1, -1, 1, 1])
    model = fit(LinearSVC(loss="hinge", C=0.01, solver=solver), X, y)
    assert model.intercept_[0] == pytest.approx(-0.035, abs=1e-3)
    np.testing.assert_array_equal(model.predict(X), y)
    assert model.certificate_.relative_gap <= 1e-4


@every_solver
@law
@given(seed=st.integers(0, 10**6), power=st.integers(-8, -3), weighted=st.booleans())
def test_all_bounded_machines_have_the_kernel_machines_intercept(solver, seed, power, weighted):
    rng = np.random.default_rng(seed)
    n, C = int(rng.integers(3, 9)), 10.0**power
    y = np.repeat([0, 1], [n, 2 * n])
    X = rng.normal(size=(3 * n, 2)) + y[:, None]
    weight = np.where(y == 0, 2.0, 1.0)
    if weighted:  # costs that balance but for rounding
        weight = rng.random(3 * n) + 0.5
        weight[y == 1] *= weight[y == 0].sum() / weight[y == 1].sum()
    linear = fit(LinearSVC(loss="hinge", C=C, solver=solver, tol=1e-9), X, y, weight)
    assert linear.certificate_.relative_gap <= 1e-4
    ends = best_interval(Hinge(), 2.0 * y - 1, C * weight, X @ linear.coef_[0], rounding=1e-12)
    assert linear.intercept_[0] == pytest.approx(sum(ends) / 2, abs=1e-9 * np.abs(linear.coef_).max())
    if solver not in ("primal-dual", "subgradient"):  # whose weights are as good as the tolerance, not better
        kernel = SVC(kernel="linear", C=C, tol=1e-10).fit(X, y, weight).decision_function(X)
        np.testing.assert_allclose(linear.decision_function(X), kernel, atol=1e-6 * np.abs(kernel).max())


@every_solver
def test_tubes_too(solver):
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 5.0, 1.0, 9.0])
    kernel = SVR(kernel="linear", C=1e-3, epsilon=0.1, tol=1e-10).fit(X, y)
    linear = fit(LinearSVR(C=1e-3, epsilon=0.1, solver=solver, tol=1e-9), X, y)
    assert linear.intercept_[0] == pytest.approx(float(kernel.intercept_[0]), abs=0.01)
    for loss in MADE_OF_LINES[1:]:
        model = fit(LinearRegressor(loss, C=1e-3, solver=solver, tol=1e-9), X, y)
        ends = best_interval(loss, y, np.full(4, 1e-3), X @ model.coef_, rounding=1e-12)
        assert model.intercept_[0] == pytest.approx(sum(ends) / 2, abs=1e-9)


def wide(n=10, d=3000, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], n // 2)
    return rng.normal(size=(n, d)) + 0.1 * y[:, None], y


@every_solver
def test_wide_rows_at_a_small_cost(solver):
    X, y = wide()
    kernel = SVC(kernel="linear", C=1e-5).fit(X, y)
    linear = fit(LinearSVC(loss="hinge", C=1e-5, solver=solver), X, y)
    assert linear.score(X, y) == kernel.score(X, y) == 1.0
    assert linear.intercept_[0] == pytest.approx(float(kernel.intercept_[0]), rel=1e-3)
    assert linear.certificate_.relative_gap <= 1e-4


@pytest.mark.parametrize(("n", "d"), [(4, 2500), (4, 2501), (10, 2499), (200, 3000)])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "absolute"])
def test_newton_goes_on_where_no_row_is_on_its_parabola(loss, n, d):
    X, y = wide(n, d)
    for C in (1e-7, 1e-5, 1.0):
        model = fit(LinearClassifier(loss, C=C, solver="newton"), X, y)
        assert model.certificate_.relative_gap <= 1e-4


def test_searches_see_the_scores_of_the_kernel_machine():
    X, y = wide(40, 2600, seed=1)
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    search = fit(LinearSVCCV(loss="hinge", Cs=[1e-7, 1e-6, 1e-5, 1e-4], cv=folds), X, y)
    results = search.cv_results_
    expected = [cross_val_score(SVC(kernel="linear", C=C), X, y, cv=folds).mean() for C in results["param_C"]]
    seen = results["mean_test_score"].astype(float)
    assert np.isfinite(seen).sum() >= 2
    np.testing.assert_allclose(seen[np.isfinite(seen)], np.array(expected)[np.isfinite(seen)])
    assert min(expected) > 0.6  # better than one class for all


# -- a tolerance that the trivial model meets -----------------------------------------------------------------------


WAYS = [(solver, loss) for solver in LINEAR_NAMES for loss in ("hinge", "squared_hinge", "squared")]
WAYS += [(solver, loss) for solver in ("newton", "primal-dual", "subgradient") for loss in ("logistic", "exponential")]


@pytest.mark.parametrize(("solver", "loss"), WAYS)
@pytest.mark.parametrize("C", [1e-4, 1e-7, 1e-10])
def test_no_fit_ends_where_it_began_unless_that_is_the_optimum(loss, C, solver):
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0]
    model = fit(LinearClassifier(loss, C=C, solver=solver), X, y)
    assert model.n_iter_ > 0
    assert model.coef_.any()
    if solver != "subgradient":  # the textbook's steps are slow
        assert model.certificate_.relative_gap <= 1e-4
        assert model.score(X, y) > 0.85


def test_an_optimum_at_zero_stays_there():
    X, y = load_iris(return_X_y=True)
    model = fit(LinearClassifier("logistic", "l1", C=1e-9), X[y > 0], y[y > 0])
    assert not model.coef_.any()
    assert model.certificate_.relative_gap <= 1e-4


@pytest.mark.parametrize("loss", ["perceptron", PerceptronLoss(), EpsilonInsensitive(1.0)], ids=str)
def test_losses_that_zero_minimises_are_refused(loss):
    X, y = load_iris(return_X_y=True)
    for penalty in ("l2", "l1", None):
        model = LinearClassifier(loss, penalty)
        with pytest.raises(ValueError, match=r"0 minimises it.*use Perceptron"):
            model.fit(X, y)
        assert not hasattr(model, "coef_")
    with pytest.raises(ValueError, match="0 minimises it"):
        LinearClassifierCV(loss, Cs=[1.0]).fit(X, y)
    LinearClassifier(EpsilonInsensitive(0.5)).fit(X, y)
