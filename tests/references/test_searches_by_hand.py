"""Searches and paths against plain loops over folds around the machines of LIBSVM, LIBLINEAR and scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge

from maxmargin import (
    SGDSVCCV,
    SVC,
    SVCCV,
    SVRCV,
    KernelLeastSquaresCV,
    LinearClassifierCV,
    LinearRegressorCV,
    LinearSVCCV,
    LinearSVRCV,
    NuSVCCV,
    NuSVRCV,
    PegasosSVCCV,
)
from maxmargin.selection import leave_one_out_residuals, regularization_path
from tests.references.test_exact_machines import PROBLEMS, classified, gram


def rows(classifier, n=90):
    """(X, y) of overlapping classes, or of noisy numbers."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 3))
    score = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n)
    return X, (score > 0).astype(int) if classifier else score


def folds(n, count=3):
    every = np.arange(n)
    return [(every[every % count != k], every[every % count == k]) for k in range(count)]


def scored(model, X, y, classifier):
    p = model.predict(X)
    return np.mean(p == y) if classifier else 1 - np.sum((y - p) ** 2) / np.sum((y - y.mean()) ** 2)


#: search, its grid, the machine of others for a cell and n training rows, whether it is a classifier
SEARCHES = {
    "SVCCV": (
        SVCCV(tol=1e-6),
        {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]},
        lambda cell, n: sklearn.svm.SVC(tol=1e-8, **cell),
        True,
    ),
    "NuSVCCV": (
        NuSVCCV(tol=1e-6),
        {"nu": [0.2, 0.5], "gamma": [0.1, 1.0]},
        lambda cell, n: sklearn.svm.NuSVC(tol=1e-8, **cell),
        True,
    ),
    "SVRCV": (
        SVRCV(tol=1e-6, epsilon=0.2),
        {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]},
        lambda cell, n: sklearn.svm.SVR(tol=1e-8, epsilon=0.2, **cell),
        False,
    ),
    "NuSVRCV": (
        NuSVRCV(tol=1e-6),
        {"C": [0.5, 5.0], "gamma": [0.3], "nu": [0.3, 0.7]},
        lambda cell, n: sklearn.svm.NuSVR(tol=1e-8, **cell),
        False,
    ),
    "LinearSVCCV": (
        LinearSVCCV(tol=1e-8, fit_intercept=False),
        {"C": [1e-3, 0.1, 10.0]},
        lambda cell, n: sklearn.svm.LinearSVC(tol=1e-10, fit_intercept=False, dual=False, max_iter=10**6, **cell),
        True,
    ),
    "LinearSVRCV": (
        LinearSVRCV(tol=1e-8, loss="squared_epsilon_insensitive", epsilon=0.1, fit_intercept=False),
        {"C": [1e-3, 0.1, 10.0]},
        lambda cell, n: sklearn.svm.LinearSVR(
            tol=1e-10, loss="squared_epsilon_insensitive", epsilon=0.1, fit_intercept=False, max_iter=10**6, **cell
        ),
        False,
    ),
    "LinearClassifierCV": (
        LinearClassifierCV("logistic", tol=1e-9),
        {"C": [1e-3, 0.1, 10.0]},
        lambda cell, n: LogisticRegression(C=cell["C"] / np.log(2), tol=1e-10, max_iter=1000),
        True,
    ),
    "LinearRegressorCV": (
        LinearRegressorCV("squared", tol=1e-9),
        {"C": [1e-3, 0.1, 10.0]},
        lambda cell, n: Ridge(alpha=1 / (2 * cell["C"])),
        False,
    ),
    "KernelLeastSquaresCV": (
        KernelLeastSquaresCV(),
        {"lam": [1e-3, 0.1, 10.0], "gamma": [0.1, 1.0]},
        lambda cell, n: KernelRidge(alpha=cell["lam"], gamma=cell["gamma"], kernel="rbf"),
        False,
    ),
}
#: As above; these stop near the optimum, so a row here or there may differ.
STOCHASTIC = {
    "PegasosSVCCV": (
        PegasosSVCCV(random_state=0),
        {"lam": [1e-2]},
        lambda cell, n: sklearn.svm.LinearSVC(
            loss="hinge", C=1 / (n * cell["lam"]), fit_intercept=False, tol=1e-8, max_iter=10**6
        ),
        True,
    ),
    "SGDSVCCV": (
        SGDSVCCV(random_state=0, max_iter=200),
        {"lam": [1e-2]},
        lambda cell, n: sklearn.svm.SVC(kernel="linear", C=1 / (n * cell["lam"]), tol=1e-8),
        True,
    ),
}


def by_hand(machine, cells, X, y, classifier):
    """(cells, folds) scores: train on the rows of the other folds, score on those of the fold."""
    table = np.empty((len(cells), 3))
    for c, cell in enumerate(cells):
        for k, (train, test) in enumerate(folds(len(y))):
            table[c, k] = scored(machine(cell, len(train)).fit(X[train], y[train]), X[test], y[test], classifier)
    return table


def searched(search, grid, X, y):
    search.set_params(**{f"{name}s": values for name, values in grid.items()}, cv=folds(len(y)), drop=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return search.fit(X, y)


@pytest.mark.parametrize("name", [*SEARCHES, *STOCHASTIC])
def test_search_is_a_loop_over_cells_and_folds(name):
    search, grid, machine, classifier = {**SEARCHES, **STOCHASTIC}[name]
    X, y = rows(classifier)
    X, y, X_test, y_test = X[:60], y[:60], X[60:], y[60:]
    found = searched(search, grid, X, y)
    results = found.cv_results_
    table = by_hand(machine, results["params"], X, y, classifier)
    room = 1.5 / 20 if name in STOCHASTIC else 0.1 / 20 if classifier else 1e-4
    for k in range(3):
        np.testing.assert_allclose(results[f"split{k}_test_score"], table[:, k], atol=room)
    np.testing.assert_allclose(results["mean_test_score"], table.mean(axis=1), atol=room)
    assert found.best_score_ == np.max(results["mean_test_score"])
    assert found.best_params_ == results["params"][found.best_index_]
    assert table.mean(axis=1)[found.best_index_] >= table.mean(axis=1).max() - room
    final = machine(found.best_params_, len(y)).fit(X, y)
    allowed = 2 / 30 if name in STOCHASTIC else 1e-3
    assert found.score(X_test, y_test) == pytest.approx(scored(final, X_test, y_test, classifier), abs=allowed)


# -- paths -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["overlap", "rows with both labels", "a class of one row, inside"])
def test_exact_path_is_rational_arithmetics(name):
    """At the breakpoints and between them, where alpha is on the line between two of them."""
    X, sign = PROBLEMS[name]
    path = regularization_path(SVC(gamma=0.5), X, sign, Cs=[1e-3, 1e3], exact=True)
    K = gram(X, "rbf")
    for i in range(len(path.Cs) - 1):
        for share in (0.0, 0.37):
            C = (1 - share) * path.Cs[i] + share * path.Cs[i + 1]
            value = float(classified(K, sign, C)[0])
            alpha = (1 - share) * path.alphas[i] + share * path.alphas[i + 1]
            coef = np.array(sign) * alpha
            assert abs(coef.sum()) <= 1e-9 * C
            assert alpha.min() >= -1e-9 * C
            assert alpha.max() <= C * (1 + 1e-9)
            assert alpha.sum() - 0.5 * coef @ K @ coef == pytest.approx(value, rel=1e-8), (i, share)


def test_path_of_fits_is_a_loop_of_fits():
    X, y = rows(True)
    costs = [1e-3, 1e-1, 1.0, 30.0]
    path = regularization_path(SVC(kernel="linear", gap_tol=1e-10), X, y, Cs=costs)
    for C, w, b in zip(path.Cs, path.coefs, path.intercepts, strict=True):
        theirs = sklearn.svm.SVC(kernel="linear", C=C, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(w, theirs.coef_[0], rtol=1e-4, atol=1e-5)
        if any(0 < abs(a) < C * (1 - 1e-9) for a in theirs.dual_coef_[0]):
            assert b[0] == pytest.approx(theirs.intercept_[0], abs=1e-4)


@pytest.mark.parametrize("weighted", [True, False])
def test_leave_one_out_residuals_are_those_of_refits(weighted):
    X, y = rows(False, 25)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 25) if weighted else np.ones(25)
    ridges = [1e-4, 0.1, 10.0]
    found = leave_one_out_residuals(X @ X.T, y, ridges, weight if weighted else None)
    for line, ridge in zip(found, ridges, strict=True):
        for i in range(25):
            rest = np.arange(25) != i
            model = Ridge(alpha=ridge, tol=1e-12).fit(X[rest], y[rest], weight[rest])
            assert line[i] == pytest.approx(y[i] - model.predict(X[i : i + 1])[0], rel=1e-6, abs=1e-8)


def test_loop_notices_a_wrong_search():
    X, y = rows(True)
    found = searched(SVCCV(), {"C": [1.0], "gamma": [1.0]}, X, y)
    other = by_hand(lambda cell, n: sklearn.svm.SVC(C=0.01, gamma=cell["gamma"]), [{"gamma": 1.0}], X, y, True)
    assert abs(found.best_score_ - other.mean()) > 0.05
