"""Corners in which answers once were wrong, by loops, rational arithmetic and other people's solvers."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

from maxmargin import (
    SGDSVC,
    SGDSVCCV,
    SVC,
    SVDD,
    LinearClassifier,
    LinearSVC,
    LinearSVCCV,
    PegasosSVC,
    PegasosSVCCV,
    regularization_path,
)
from maxmargin.inspection import margin_error_bound, status, support_table, zones
from maxmargin.kernels import Gaussian, Linear
from tests.references.conic import Programme
from tests.references.exact import box_minimum, fractions
from tests.references.test_exact_machines import PROBLEMS, classified, floats, gram, quietly
from tests.references.test_inspection_by_hand import NAMES, check_status


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


# -- stochastic machines along lambda ----------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [PegasosSVC, SGDSVC])
def test_a_warm_start_at_another_lambda_is_no_worse_than_a_cold_one(machine):
    X, y = cancer()
    for first, second in ((1e-3, 1.0), (1e-4, 1e-2), (1.0, 1e-3)):
        cold = quietly(machine(second, random_state=0), X, y).certificate_.relative_gap
        warm = quietly(machine(first, random_state=0, warm_start=True), X, y).set_params(lam=second)
        assert quietly(warm, X, y).certificate_.relative_gap <= 3 * cold + 0.01


@pytest.mark.parametrize(
    ("search", "bias", "lams"),
    [(PegasosSVCCV, False, [1e-4, 1e-3, 1e-2, 1e-1, 1.0]), (SGDSVCCV, True, [1e-2, 1e-1, 1.0])],
)
def test_searches_along_lambda_are_loops_of_exact_machines(search, bias, lams):
    """(Twenty epochs of SGD do not reach the optimum of a smaller lambda.)"""
    X, y = cancer()
    every = np.arange(len(y))
    folds = [(every[every % 3 != k], every[every % 3 == k]) for k in range(3)]
    table = np.empty((len(lams), 3))
    for i, lam in enumerate(lams):
        for k, (train, test) in enumerate(folds):
            C = 1 / (len(train) * lam)
            theirs = (
                sklearn.svm.SVC(kernel="linear", C=C, tol=1e-6)
                if bias
                else sklearn.svm.LinearSVC(loss="hinge", C=C, fit_intercept=False, max_iter=10**6)
            )
            table[i, k] = theirs.fit(X[train], y[train]).score(X[test], y[test])
    found = quietly(search(lams=lams, cv=folds, drop=False, random_state=0), X, y)
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], table.mean(axis=1), atol=0.012)
    assert table.mean(axis=1)[lams.index(found.best_params_["lam"])] >= table.mean(axis=1).max() - 0.005


@pytest.mark.parametrize("machine", [PegasosSVC, SGDSVC])
def test_points_of_a_path_along_lambda_are_no_worse_than_cold_fits(machine):
    X, y = cancer()
    lams = [1e-3, 1e-2, 1e-1, 1.0]
    path = regularization_path(machine(random_state=0), X, y, Cs=lams)
    for lam, gap in zip(lams, path.gaps[::-1], strict=True):  # along C = 1 / (n lam), which falls
        assert gap <= 3 * quietly(machine(lam, random_state=0), X, y).certificate_.relative_gap + 0.01


def test_the_season_with_the_least_error_is_delivered():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = np.where(X[:, 0] + 0.8 * rng.normal(size=400) > 0, 1, 0)
    for seed in range(5):
        options = {"steps_per_season": 20, "patience": 4, "max_iter": 60, "average": False, "random_state": seed}
        model = quietly(SGDSVC(1e-3, schedule=(2.0, 1.0), **options), X, y)
        held = model.held_out_
        error = np.mean(model.predict(X[held]) != y[held])
        assert error == pytest.approx(np.min(model.history_["error"]))


# -- the intercept of linear machines ----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "newton", "dual-coordinate", "primal-dual"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_intercept_is_the_middle_of_its_interval(name, solver):
    X, sign = PROBLEMS[name]
    for C in (1e-6, 1e-3, 1e-2, 1.0):
        _, _, f, b = classified(gram(X, "linear"), sign, C)
        for machine in (LinearSVC(loss="hinge", C=C), LinearClassifier("hinge", C=C)):
            model = quietly(machine.set_params(solver=solver, tol=1e-10, max_iter=20000), X, sign)
            assert model.intercept_[0] == pytest.approx(float(b), abs=1e-4), (C, machine)
            np.testing.assert_allclose(model.decision_function(X), floats(f), atol=1e-4)


@pytest.mark.parametrize("solver", ["auto", "newton", "dual-coordinate"])
@pytest.mark.parametrize("n", [4, 10, 60])
def test_many_features_and_a_small_cost(n, solver):
    """All rows are bounded; LIBSVM takes the middle too."""
    rng = np.random.default_rng(n)
    sign = np.where(np.arange(n) % 2 == 0, 1, -1)
    X = rng.normal(size=(n, 3000)) + 0.3 * sign[:, None]
    theirs = sklearn.svm.SVC(kernel="linear", C=1e-5, tol=1e-8).fit(X, sign)
    model = quietly(LinearSVC(loss="hinge", C=1e-5, solver=solver, tol=1e-8), X, sign)
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-3)
    assert model.score(X, sign) == theirs.score(X, sign) == 1.0


def test_a_search_of_linear_machines_has_the_scores_of_libsvm():
    rng = np.random.default_rng(1)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 3000)) + 0.04 * (2 * y - 1)[:, None]
    every, costs = np.arange(40), [1e-6, 1e-5, 1e-4, 1e-2]
    folds = [(every[every // 2 % 4 != k], every[every // 2 % 4 == k]) for k in range(4)]
    expected = [
        np.mean([sklearn.svm.SVC(kernel="linear", C=C, tol=1e-8).fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds])
        for C in costs
    ]
    found = quietly(LinearSVCCV(loss="hinge", Cs=costs, cv=folds, drop=False), X, y)
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], expected, atol=0.03)


# -- inspection at extreme costs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_status_at_extreme_costs(name):
    for C in (1e-6, 1e-4, 1e-2, 30.0, 1e3, 1e6):
        check_status(name, "rbf", C)


def test_two_points_are_support_vectors_whatever_the_cost():
    X, y = np.array([[0.0], [2.0]]), np.array([-1, 1])
    for C in (1.0, 1e3, 1e6, 1e9, 1e12):
        model = SVC(kernel="linear", C=C).fit(X, y)
        assert status(model, X, y).status.tolist() == ["on the margin"] * 2
        assert sorted(support_table(model, X, y)["row"]) == [0, 1]


def test_hard_margins_have_no_margin_errors():
    X, y = cancer()
    assert margin_error_bound(SVC(kernel="linear", C=np.inf).fit(X, y), X, y, c=1.0).nu == 0
    assert margin_error_bound(SVC(gamma=0.1, C=np.inf).fit(X, y), X, y, c=1.0).nu == 0


def test_no_row_is_on_a_hyperplane_that_it_is_not_on():
    rng = np.random.default_rng(0)
    sign = np.where(np.arange(60) % 2 == 0, 1, -1)
    X = rng.normal(size=(60, 2)) + 3.0 * sign[:, None]
    for C in (1e-6, 1e-4, 1e-2):
        model = SVC(kernel="linear", C=C).fit(X, sign)
        f = model.decision_function(X)
        found = zones(model, X, sign)
        expected = np.where(sign * f > 0, "inside the strip, right side", "inside the strip, wrong side")
        clear = (np.abs(f) > 1e-6 * np.abs(f).max()) & (np.abs(f) < 0.999)
        np.testing.assert_array_equal(found[clear], expected[clear])
        assert "on the hyperplane" not in status(model, X, sign).status


# -- the hard margin far away and of thin strips -----------------------------------------------------------------------


@pytest.mark.parametrize("machine", [SVC(kernel="linear", C=np.inf), LinearSVC(loss="hinge", C=np.inf)])
def test_a_shift_does_not_make_classes_inseparable(machine):
    rng = np.random.default_rng(0)
    sign = np.where(np.arange(40) % 2 == 0, 1, -1)
    X = rng.normal(size=(40, 2)) + np.where(sign[:, None] > 0, [10.0, 0.0], [0.0, 0.0])
    X[:, 0] = np.where(sign > 0, np.maximum(X[:, 0], 6.0), np.minimum(X[:, 0], 4.0))
    here = machine.fit(X, sign).coef_.copy()
    for far in (1e3, 1e6, 1e7):  # at 1e8 the sum over support vectors has no digits left, and the fit says so
        there = machine.fit(X + far, sign)
        np.testing.assert_allclose(there.coef_, here, rtol=1e-4, atol=1e-5)
        assert there.score(X + far, sign) == 1.0


def test_a_strip_of_a_ten_millionth_is_a_strip():
    X, y = np.array([[0.0], [1.0], [1.0 + 1e-7], [2.0]]), [0, 0, 1, 1]
    model = SVC(kernel="linear", C=np.inf).fit(X, y)
    assert float(model.coef_[0, 0]) == pytest.approx(2 / (X[2, 0] - X[1, 0]), rel=1e-6)


# -- trivial optima ----------------------------------------------------------------------------------------------------


def test_the_perceptron_loss_alone_is_refused():
    X, y = cancer()
    with pytest.raises(ValueError, match="Perceptron"):
        LinearClassifier("perceptron").fit(X, y)


@pytest.mark.parametrize("C", [1e-10, 1e-7, 1e-5])
def test_a_small_cost_still_gives_a_direction(C):
    """To first order w = C / (2 ln 2) sum of t (x - mean), which LogisticRegression finds."""
    X, y = load_iris(return_X_y=True)
    X, y = scale(X)[50::5], y[50::5]
    theirs = LogisticRegression(C=C / np.log(2), tol=1e-14, max_iter=10**4, solver="newton-cholesky").fit(X, y)
    ours = quietly(LinearClassifier("logistic", C=C), X, y)
    assert np.linalg.norm(ours.coef_ - theirs.coef_) <= 0.3 * np.linalg.norm(theirs.coef_)


# -- smaller things ----------------------------------------------------------------------------------------------------


def test_one_hot_words_in_another_order_fire_alike():
    X, y = load_iris(return_X_y=True)
    words = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0]])
    usual = SVC(multiclass="code").fit(X, y)
    assert SVC(multiclass="code", code_words=words).fit(X, y).fired(X) == usual.fired(X)


@pytest.mark.parametrize(
    "make", [lambda: np.inf * Linear(), lambda: Gaussian(gamma=np.inf), lambda: Linear().polynomial([np.inf])]
)
def test_kernels_of_infinite_numbers_are_refused(make):
    with pytest.raises(ValueError, match="inf"):
        make()


@pytest.mark.parametrize("C", [0.3, 1.0])
def test_centre_of_the_smallest_ball(C):
    X = np.array(PROBLEMS["overlap"][0])
    n, K = len(X), fractions(gram(X, "linear"))
    one = [Fraction(1)] * n
    alpha, _ = box_minimum(2 * K, [-K[i, i] for i in range(n)], [Fraction(C)] * n, (one, Fraction(1)))
    model = SVDD(kernel="linear", C=C).fit(X)
    np.testing.assert_allclose(model.center_, floats(alpha) @ X, atol=1e-8)
    inside = model.radius_**2 - ((X - model.center_) ** 2).sum(axis=1)
    np.testing.assert_allclose(model.decision_function(X), inside, atol=1e-8)


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("kind", ["crammer-singer", "weston-watkins"])
def test_one_linear_problem_with_intercepts_reaches_its_goal(kind, scaled):
    X, y = load_iris(return_X_y=True)
    X, y = (scale(X) if scaled else X)[::5], y[::5]
    programme = Programme()
    W = [programme.variables(4, square=1.0) for _ in range(3)]
    b = [programme.variables(1) for _ in range(3)]
    largest, number = kind == "crammer-singer", 0
    slack = programme.variables(30 if largest else 60, cost=1.0)
    for i in range(30):
        for m in range(3):
            if m != y[i]:
                own = slack[i : i + 1] if largest else slack[number : number + 1]
                one, number = np.ones(1), number + 1
                terms = [(X[i], W[y[i]]), (-X[i], W[m]), (one, b[y[i]]), (-one, b[m]), (one, own)]
                programme.at_least_zero(terms, np.array([-1.0]))
    programme.at_least_zero([(np.eye(len(slack)), slack)], np.zeros(len(slack)))
    best = programme.minimum()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearSVC(loss="hinge", multiclass=kind, tol=1e-6).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-6
    assert model.certificate_.primal == pytest.approx(best, rel=1e-5)


def test_kernel_machines_scale_themselves():
    X, y = load_iris(return_X_y=True)
    X = X * [1.0, 1e3, 1e-3, 10.0]
    theirs = sklearn.svm.SVC(C=2.0, gamma=0.25, tol=1e-9).fit(scale(X), y)
    np.testing.assert_array_equal(SVC(C=2.0, gamma=0.25, scale=True).fit(X, y).predict(X), theirs.predict(scale(X)))


def test_logistic_scores_are_log_odds():
    X, y = cancer()
    model = LinearClassifier("logistic", C=0.1).fit(X, y)
    p = 1 / (1 + np.exp(-model.decision_function(X)))
    np.testing.assert_allclose(model.predict_proba(X), np.column_stack([1 - p, p]), atol=1e-12)
