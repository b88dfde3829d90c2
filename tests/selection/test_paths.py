"""Regularisation paths, exact and on a grid, how they are drawn; and leave-one-out of least squares in closed form."""

from __future__ import annotations

import pickle

import matplotlib as mpl
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, LeaveOneOut

from maxmargin import (
    SGDSVC,
    SVC,
    SVR,
    LinearClassifier,
    LinearRegressor,
    LinearRegressorCV,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    PegasosSVC,
    regularization_path,
)
from maxmargin.kernels import Gaussian, Linear
from maxmargin.plotting import PathDisplay
from maxmargin.problems import Offsets, SVCProblem, relative
from maxmargin.selection import Path, leave_one_out_residuals
from tests.laws import examples

mpl.use("Agg")


def two_classes():
    """Two classes that overlap, of unequal size."""
    X, y = load_iris(return_X_y=True)
    return X[30:, :3], (y[30:] == 1).astype(int)


def gap_at(path, C, K, sign, weight):
    """Relative gap at C of the point between two breakpoints, in float64 and by the problem's own words."""
    problem = SVCProblem(sign, C * weight)
    beta = sign * [np.interp(C, path.Cs, alpha) for alpha in path.alphas.T]
    f = K @ beta
    offsets = Offsets(float(np.interp(C, path.Cs, path.intercepts[:, 0])))
    best = problem.offsets(beta, f)
    gap = min(problem.gap(beta, f, offsets), problem.gap(beta, f, best))
    return relative(gap, problem.primal(beta, f, best), problem.dual(beta, f))


# -- exact paths -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "machine", [SVC(kernel="linear"), SVC(gamma=0.5), SVC(kernel=Gaussian(1.0) + Linear())], ids=repr
)
def test_an_exact_path_is_optimal_between_its_breakpoints(machine):
    X, y = two_classes()
    path = regularization_path(machine, X, y, Cs=[0.01, 30.0], exact=True)
    assert path.exact
    assert path.models == []
    assert (path.Cs[0], path.Cs[-1]) == (0.01, 30.0)
    assert (np.diff(path.Cs) > 0).all()
    assert path.gaps.max() < 1e-7
    K = clone(machine).fit(X, y).kernel_(X)
    sign, rng = np.where(y == 1, 1.0, -1.0), np.random.default_rng(0)
    for C in np.exp(rng.uniform(np.log(0.01), np.log(30.0), 40)):
        assert gap_at(path, C, K, sign, np.ones(len(y))) < 1e-6


@given(st.integers(0, 10_000))
@examples(25)
def test_exact_paths_of_random_problems(seed):
    """Also of rows that are there twice, of weights, and of classes without any overlap."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 30))
    X = rng.normal(size=(n, 2)).round(int(rng.integers(0, 3)))  # coarse rounding makes ties
    y = (X[:, 0] + rng.choice([0.0, 1.0]) * rng.normal(size=n) > 0).astype(int)
    y[:2] = 0, 1
    weight = rng.uniform(0.2, 3.0, n) if rng.random() < 0.5 else None
    gamma = float(rng.choice([0.1, 1.0]))
    path = regularization_path(SVC(gamma=gamma), X, y, Cs=[0.05, 20.0], exact=True, sample_weight=weight)
    assert (np.diff(path.Cs) > 0).all()
    assert path.gaps.max() < 1e-6
    ones = np.ones(n) if weight is None else weight
    for C in rng.uniform(0.05, 20.0, 5):
        assert gap_at(path, C, rbf_kernel(X, gamma=gamma), np.where(y == 1, 1.0, -1.0), ones) < 1e-5


def test_a_path_is_exact_where_many_rows_reach_the_margin_together():
    """Small whole numbers, on which three rows are often on one line; the last piece is the longest."""
    X = np.array([[1, 4], [3, 1], [3, 2], [0, 0], [1, 4], [1, 3], [2, 1], [4, 2]], dtype=float)
    y = np.array([0, 1, 1, 0, 0, 0, 0, 1])
    path = regularization_path(SVC(kernel="linear"), X, y, Cs=[0.05, 100.0], exact=True)
    for C in np.r_[(path.Cs[1:] + path.Cs[:-1]) / 2, 1.5, 3.0, 30.0]:
        assert gap_at(path, C, X @ X.T, np.where(y == 1, 1.0, -1.0), np.ones(8)) < 1e-6


def test_balanced_classes_have_few_breakpoints():
    """While all rows are bound their weights balance, but for rounding."""
    rng = np.random.default_rng(0)
    for n in (11, 14, 25):
        X, y = rng.normal(size=(n, 2)), (np.arange(n) < n // 3 + 1).astype(int)
        path = regularization_path(SVC(class_weight="balanced"), X, y, Cs=[1e-4, 1.0], exact=True)
        assert len(path.Cs) < 5 * n
        assert path.gaps.max() < 1e-6


def test_a_point_of_an_exact_path_is_the_fitted_machine():
    X, y = two_classes()
    path = regularization_path(SVC(kernel="linear"), X, y, Cs=[0.01, 10.0], exact=True)
    for k in (0, len(path.Cs) // 2, -1):
        model = SVC(kernel="linear", C=path.Cs[k], tol=1e-10).fit(X, y)
        np.testing.assert_allclose(path.coefs[k], model.coef_[0], atol=1e-5)
        assert path.intercepts[k, 0] == pytest.approx(model.intercept_[0], abs=1e-4)
        assert path.alphas[k].max() <= path.Cs[k] * (1 + 1e-9)


def test_the_hinge_machine_has_the_path_of_the_linear_kernel():
    X, y = two_classes()
    one = regularization_path(LinearSVC(loss="hinge"), X, y, Cs=[0.01, 1.0], exact=True)
    other = regularization_path(SVC(kernel="linear"), X, y, Cs=[0.01, 1.0], exact=True)
    np.testing.assert_allclose(one.Cs, other.Cs)
    np.testing.assert_allclose(one.coefs, other.coefs)
    fitted = LinearSVC(loss="hinge", C=1.0, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(one.coefs[-1], fitted.coef_[0], atol=1e-4)


def test_weights_of_a_path_are_repetitions():
    X, y = two_classes()
    X, y = X[::3], y[::3]
    counts = np.random.default_rng(1).integers(0, 3, len(y))
    counts[[0, -1]] = 1
    copies = np.repeat(np.arange(len(y)), counts)
    one = regularization_path(SVC(kernel="linear"), X, y, Cs=[0.05, 2.0], exact=True, sample_weight=counts)
    many = regularization_path(SVC(kernel="linear"), X[copies], y[copies], Cs=[0.05, 2.0], exact=True)
    assert one.alphas.shape == (len(one.Cs), len(y))
    assert (one.alphas[:, counts == 0] == 0).all()
    for C in np.linspace(0.06, 1.9, 7):
        at = [[np.interp(C, path.Cs, w) for w in path.coefs.T] for path in (one, many)]
        np.testing.assert_allclose(*at, atol=1e-5)


@pytest.mark.parametrize("form", ["sparse", "precomputed", "balanced"])
def test_exact_paths_of_other_input(form):
    X, y = two_classes()
    machine = SVC(kernel="precomputed" if form == "precomputed" else "linear")
    machine.set_params(class_weight="balanced" if form == "balanced" else None)
    rows = {"sparse": sp.csr_array(X), "precomputed": X @ X.T, "balanced": X}[form]
    path = regularization_path(machine, rows, y, Cs=[0.01, 1.0], exact=True)
    assert path.gaps.max() < 1e-6
    assert (path.coefs is None) == (form == "precomputed")
    if form == "sparse":
        dense = regularization_path(machine, X, y, Cs=[0.01, 1.0], exact=True)
        np.testing.assert_allclose(path.coefs, dense.coefs, atol=1e-8)


def test_an_exact_path_of_a_real_set_has_many_pieces():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    path = regularization_path(SVC(kernel="linear"), X, y, Cs=[1e-3, 0.1], exact=True)
    assert len(path.Cs) > 200
    assert path.gaps.max() < 1e-7


@pytest.mark.parametrize(
    ("machine", "target", "match"),
    [
        (SVC(), "three", r"exact=True is for two classes.*got 3 classes and 150 rows"),
        (SVR(), "three", r"exact=True is for SVC and LinearSVC.*got SVR\(\)"),
        (NuSVR(), "three", "exact=True is for SVC"),
        (LinearSVC(), "two", r"piecewise linear; got LinearSVC\(\)"),
        (LinearSVC(loss="hinge", penalty="l1"), "two", "exact=True is for SVC"),
        (SVC(fit_intercept=False), "two", "with an intercept"),
        (PegasosSVC(), "two", "exact=True is for SVC"),
    ],
    ids=repr,
)
def test_exact_paths_that_there_are_not(machine, target, match):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=match):
        regularization_path(machine, X, y == 1 if target == "two" else y, Cs=[0.1, 1.0], exact=True)


# -- paths on a grid -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "machine",
    [
        SVC(tol=1e-8),
        SVC(kernel="linear", tol=1e-8, multiclass="ovr"),
        SVR(tol=1e-8),
        LinearSVC(tol=1e-10),
        LinearSVC("l1", tol=1e-10),
        LinearSVR(tol=1e-10),
        LinearClassifier("logistic", tol=1e-10),
        LinearSVC(tol=1e-10, scale=True),
    ],
    ids=repr,
)
def test_points_of_a_path_are_the_fitted_machines(machine):
    X, y = load_iris(return_X_y=True)
    path = regularization_path(machine, X, y, Cs=[1.0, 0.1, 10.0])
    assert path.Cs.tolist() == [0.1, 1.0, 10.0]
    assert not path.exact
    assert path.gaps.max() < 1e-4
    assert not hasattr(machine, "intercept_")
    for C, model in zip(path.Cs, path.models, strict=True):
        assert model.C == C
        alone = clone(machine).set_params(C=C).fit(X, y)
        np.testing.assert_allclose(scores(model, X), scores(alone, X), atol=2e-2 * max(1.0, np.abs(y).max()))
        np.testing.assert_array_equal(model.predict(X), pickle.loads(pickle.dumps(model)).predict(X))


@pytest.mark.parametrize("machine", [SVC(), LinearSVC(), LinearSVR()], ids=repr)
def test_models_of_a_path_have_the_parameters_of_the_machine(machine):
    """However they were started: who fits one of them again gets what the machine gives."""
    path = regularization_path(machine, *load_iris(return_X_y=True), Cs=[0.1, 1.0])
    for C, model in zip(path.Cs, path.models, strict=True):
        assert model.get_params() == {**machine.get_params(), "C": C}


def scores(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def test_shapes_of_paths():
    X, y = load_iris(return_X_y=True)
    two = regularization_path(SVC(kernel="linear"), X, y == 1, Cs=[0.1, 1.0, 10.0])
    assert (two.coefs.shape, two.alphas.shape, two.intercepts.shape) == ((3, 4), (3, 150), (3, 1))
    bent = regularization_path(SVC(), X, y == 1, Cs=[0.1, 1.0])
    assert bent.coefs is None
    assert bent.alphas.shape == (2, 150)
    many = regularization_path(SVC(), X, y, Cs=[0.1, 1.0])
    assert many.coefs is many.alphas is None
    assert many.intercepts.shape == (2, 3)
    weight = np.r_[np.zeros(10), np.ones(140)]
    assert (regularization_path(SVC(), X, y == 1, Cs=[1.0], sample_weight=weight).alphas[:, :10] == 0).all()


@pytest.mark.parametrize("machine", [PegasosSVC(random_state=0), SGDSVC(random_state=0)], ids=repr)
def test_lambda_becomes_a_cost(machine):
    X, y = two_classes()
    path = regularization_path(machine, X, y, Cs=[1e-3, 1e-1, 1e-2])
    np.testing.assert_allclose(path.Cs, 1 / (len(y) * np.array([1e-1, 1e-2, 1e-3])))
    assert [model.lam for model in path.models] == [1e-1, 1e-2, 1e-3]
    assert path.coefs.shape == (3, 3)


@pytest.mark.parametrize("machine", [SVC(), LinearSVC(), SVR(), LinearSVR()], ids=repr)
def test_values_of_a_path_are_picked_from_the_data(machine):
    X, y = load_iris(return_X_y=True)
    path = regularization_path(machine, X, y)
    assert len(path.Cs) >= 8
    assert (np.diff(path.Cs) > 0).all()
    assert isinstance(path, Path)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    "Cs",
    [[], [0.0, 1.0], [-1.0], [np.nan, 1.0], [np.inf], ["much"], 1.0, "12"],
    ids=["none", *"0-ni?", "number", "text"],
)
def test_costs_that_make_no_sense(Cs, exact):
    X, y = two_classes()
    with pytest.raises((ValueError, TypeError), match="Cs must be"):
        regularization_path(SVC(), X, y, Cs=Cs, exact=exact)


@pytest.mark.parametrize("machine", [OneClassSVM(), NuSVC()])
def test_machines_without_a_strength_have_no_path(machine):
    with pytest.raises(ValueError, match="has no strength C or lam"):
        regularization_path(machine, *two_classes())


# -- drawings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exact", [True, False])
def test_paths_are_drawn(exact):
    X, y = two_classes()
    path = regularization_path(SVC(kernel="linear"), X, y, Cs=[0.1, 1.0, 10.0], exact=exact)
    display = PathDisplay.from_path(path, ["length", "width", "petal"], chosen=1.0)
    assert len(display.lines_) == 3
    assert display.chosen_line_ is not None
    assert len(PathDisplay.from_path(path, values="alphas").lines_) == len(y)
    mpl.pyplot.close("all")


def test_a_path_of_many_tasks_has_nothing_to_draw():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="no coefs"):
        PathDisplay.from_path(regularization_path(SVC(), X, y, Cs=[1.0]))


# -- leave-one-out of least squares ----------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_residuals_are_those_of_refits_without_the_row(intercept, weighted):
    X, y = (part[:25] for part in load_diabetes(return_X_y=True))
    weight = np.random.default_rng(0).uniform(0.3, 3.0, 25) if weighted else np.ones(25)
    costs = [0.1, 10.0]
    found = leave_one_out_residuals(X @ X.T, y, [1 / (2 * C) for C in costs], weight if weighted else None, intercept)
    assert found.shape == (2, 25)
    for C, residuals in zip(costs, found, strict=True):
        for i in range(25):
            others = np.arange(25) != i
            model = LinearRegressor("squared", "l2", C=C, fit_intercept=intercept, tol=1e-13)
            model.fit(X[others], y[others], sample_weight=weight[others])
            assert residuals[i] == pytest.approx(y[i] - model.predict(X[[i]])[0], abs=1e-6)


def test_residuals_of_a_kernel_model():
    """Against the linear system itself."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    K = rbf_kernel(X, gamma=1.0)
    found = leave_one_out_residuals(K, y, [0.3])[0]
    for i in range(20):
        rest = np.arange(20) != i
        A = np.block(
            [[K[np.ix_(rest, rest)] + 0.3 * np.eye(19), np.ones((19, 1))], [np.ones((1, 19)), np.zeros((1, 1))]]
        )
        solved = np.linalg.solve(A, np.append(y[rest], 0.0))
        assert found[i] == pytest.approx(y[i] - K[i, rest] @ solved[:-1] - solved[-1], abs=1e-9)


def test_residuals_that_there_are_not():
    for ridge in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="ridges must be positive and finite"):
            leave_one_out_residuals(np.eye(3), np.ones(3), [ridge])
    with pytest.raises(ValueError, match="raise the ridge"):
        leave_one_out_residuals(np.diag([1e30, 1.0, 1.0]), np.arange(3.0), [1e-9], fit_intercept=False)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("rows", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_leaving_every_row_out_in_turn_is_what_scikit_learn_does(rows, intercept):
    X, y = (part[:40] for part in load_diabetes(return_X_y=True))
    options = {"cv": LeaveOneOut(), "scoring": "neg_mean_squared_error"}
    machine = LinearRegressor("squared", "l2", fit_intercept=intercept, tol=1e-12)
    search = LinearRegressorCV("squared", "l2", Cs=[0.1, 10.0, 1e3], fit_intercept=intercept, **options)
    search.fit(rows(X), y)
    theirs = GridSearchCV(machine, {"C": [0.1, 10.0, 1e3]}, **options).fit(rows(X), y)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-6)
    assert search.best_params_ == theirs.best_params_
    assert search.n_splits_ == 40


@pytest.mark.parametrize("grid", [{"loss": ["squared", "absolute"]}, {"fit_intercept": [True, False]}], ids=str)
def test_the_closed_form_is_for_the_machine_it_is_for(grid):
    X, y = (part[:30] for part in load_diabetes(return_X_y=True))
    options = {"cv": LeaveOneOut(), "scoring": lambda model, X, y: -float(np.abs(model.predict(X) - y).mean())}
    search = LinearRegressorCV("squared", "l2", Cs=[10.0], param_grid=grid, **options).fit(X, y)
    theirs = GridSearchCV(LinearRegressor("squared", "l2"), {"C": [10.0], **grid}, **options).fit(X, y)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-2)
