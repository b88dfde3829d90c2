"""The search over kernel least squares against scikit-learn's around KernelRidge, and against fits of the machine."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, LeaveOneOut, RepeatedKFold, ShuffleSplit

from maxmargin import KernelLeastSquares, KernelLeastSquaresCV
from maxmargin.kernels import Gaussian, Linear
from maxmargin.selection import _kernel_least_squares as module
from maxmargin.solvers import least_squares_folds as solver

LAMS, GAMMAS = [1e-3, 0.1, 1.0, 10.0], [0.01, 0.1]


@pytest.fixture(scope="module")
def rows():
    X, y = load_diabetes(return_X_y=True)
    X, y = 20 * X[:160], (y[:160] - y.mean()) / y.std()
    return X, np.c_[y, y**2 - X[:, 0]]


@pytest.fixture(params=[True, False], ids=["together", "one by one"])
def together(request, monkeypatch):
    """Cells of few rows, too, are solved together; or none is."""
    monkeypatch.setattr(module, "TOGETHER_ROWS", 10 if request.param else 10**9)
    solved = []
    original = solver.solve_together

    def watched(*given):
        scores, known = original(*given)
        solved.extend(known)
        return scores, known

    monkeypatch.setattr(module, "solve_together", watched)
    yield request.param
    assert any(solved) == request.param


def assert_same_table(search, machine, grid, X, y, **given):
    """Every cell has the score that GridSearchCV(KernelRidge) gives it."""
    search = clone(search).set_params(drop=False).fit(X, y, **given)
    theirs = GridSearchCV(machine, grid, cv=search.cv, scoring=search.scoring).fit(X, y, **given)
    ours = {"alpha": "lam", "gamma": "gamma"}
    found = [{name: params[ours[name]] for name in grid} for params in search.cv_results_["params"]]
    assert len(found) == len(theirs.cv_results_["params"])
    where = [found.index(params) for params in theirs.cv_results_["params"]]
    for key in ("mean_test_score", "std_test_score", "split0_test_score"):
        np.testing.assert_allclose(search.cv_results_[key][where], theirs.cv_results_[key], rtol=1e-8, atol=1e-8)
    assert set(search.cv_results_["status"]) == {"done"}
    assert search.best_params_["lam"] == theirs.best_params_["alpha"]
    np.testing.assert_allclose(search.predict(X), theirs.predict(X), rtol=1e-8, atol=1e-8)
    return search


OVERLAPPING = [(np.r_[20:160], np.r_[0:30]), (np.r_[0:100], np.r_[100:160]), (np.r_[0:160:2], np.r_[1:160:2])]
TWICE = [(np.r_[0:100, 0:50, 60], np.r_[100:160]), (np.r_[60:160], np.r_[0:60])]


@pytest.mark.parametrize(
    "cv",
    [
        None,
        KFold(4, shuffle=True, random_state=0),
        ShuffleSplit(3, test_size=0.3, random_state=0),
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
        OVERLAPPING,
    ],
    ids=["default", "shuffled", "shares", "repeated", "overlapping"],
)
@pytest.mark.parametrize("outputs", [1, 2])
def test_all_cells_have_the_scores_of_scikit_learns_search(rows, together, cv, outputs):
    X, Y = rows
    search = KernelLeastSquaresCV(lams=LAMS, gammas=GAMMAS, cv=cv)
    y = Y[:, 0] if outputs == 1 else Y
    found = assert_same_table(search, KernelRidge(kernel="rbf"), {"alpha": LAMS, "gamma": GAMMAS}, X, y)
    assert found.method_ == "one stored matrix per kernel"
    assert found.predict(X).shape == y.shape


def test_rows_that_train_twice_count_twice(rows):
    X, Y = rows
    search = KernelLeastSquaresCV(lams=LAMS, gammas=GAMMAS, cv=TWICE)
    assert_same_table(search, KernelRidge(kernel="rbf"), {"alpha": LAMS, "gamma": GAMMAS}, X, Y[:, 0])


def test_groups(rows, together):
    X, Y = rows
    search = KernelLeastSquaresCV(lams=LAMS, gammas=GAMMAS, cv=GroupKFold(4), scoring="neg_mean_absolute_error")
    grid = {"alpha": LAMS, "gamma": GAMMAS}
    assert_same_table(search, KernelRidge(kernel="rbf"), grid, X, Y, groups=np.arange(len(X)) % 7)


@pytest.mark.parametrize("outputs", [1, 2])
def test_weights_in_training_and_in_the_scores(rows, together, outputs):
    X, Y = rows
    weight = np.random.default_rng(0).uniform(0.1, 3.0, len(X))
    search, grid = KernelLeastSquaresCV(lams=LAMS, gammas=GAMMAS), {"alpha": LAMS, "gamma": GAMMAS}
    with sklearn.config_context(enable_metadata_routing=True):
        machine = KernelRidge(kernel="rbf").set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        assert_same_table(search, machine, grid, X, Y[:, 0] if outputs == 1 else Y, sample_weight=weight)


def test_weights_are_repetitions_where_copies_stay_together(rows, together):
    X, Y = rows
    counts = np.random.default_rng(1).integers(0, 3, len(X))
    copies = np.repeat(np.arange(len(X)), counts)
    folds = list(KFold(3).split(X))
    spread = [tuple(np.flatnonzero(np.isin(copies, part)) for part in fold) for fold in folds]
    search = KernelLeastSquaresCV(lams=LAMS, gammas=GAMMAS, drop=False)
    one = clone(search).set_params(cv=folds).fit(X, Y, sample_weight=counts)
    many = clone(search).set_params(cv=spread).fit(X[copies], Y[copies])
    scores = [found.cv_results_["mean_test_score"] for found in (one, many)]
    np.testing.assert_allclose(*scores, rtol=1e-8)
    np.testing.assert_allclose(one.predict(X), many.predict(X), atol=1e-8)


def test_sparse_rows_and_precomputed_matrices(rows, together):
    X, Y = rows
    y, X = Y[:, 0], np.where(np.abs(X) > 0.5, X, 0.0)
    search, grid = KernelLeastSquaresCV(lams=LAMS, gammas=GAMMAS), {"alpha": LAMS, "gamma": GAMMAS}
    sparse = assert_same_table(search, KernelRidge(kernel="rbf"), grid, sp.csr_array(X), y)
    dense = clone(search).set_params(drop=False).fit(X, y)
    key = "mean_test_score"
    np.testing.assert_allclose(sparse.cv_results_[key], dense.cv_results_[key], atol=1e-8)
    K = X @ X.T + 1.0
    search = KernelLeastSquaresCV("precomputed", lams=LAMS)
    assert_same_table(search, KernelRidge(kernel="precomputed"), {"alpha": LAMS}, K, y)


def test_kernel_expressions_and_what_is_inside_them(rows):
    X, Y = rows
    kernel = Gaussian(gamma=0.1) + Linear()
    search = KernelLeastSquaresCV(kernel, lams=LAMS, param_grid={"kernel__left__gamma": GAMMAS}).fit(X, Y)
    chosen = search.best_params_["kernel__left__gamma"]
    assert search.best_estimator_.kernel == Gaussian(gamma=chosen) + Linear()
    folds, lam = list(KFold(5).split(X)), search.best_params_["lam"]
    model = KernelLeastSquares(Gaussian(gamma=chosen) + Linear(), lam)
    alone = [clone(model).fit(X[train], Y[train]).score(X[held], Y[held]) for train, held in folds]
    assert search.best_score_ == pytest.approx(np.mean(alone), abs=1e-10)
    words = ["a" * int(k) for k in np.random.default_rng(0).integers(1, 30, 40)]
    lengths = KernelLeastSquaresCV(
        lambda A, B: np.array([[float(len(a) * len(b)) for b in B] for a in A]), lams=[1e-6, 1.0]
    )
    found = lengths.fit(words, [2.0 * len(word) for word in words])
    assert found.best_params_["lam"] == 1e-6
    np.testing.assert_allclose(found.predict(["aaaa"]), [8.0], atol=1e-4)


def test_features_are_scaled_inside_the_folds(rows):
    X, Y = rows
    X = X * np.logspace(-3, 3, X.shape[1])
    search = KernelLeastSquaresCV(lams=LAMS, gammas=GAMMAS, scale=True, drop=False, cv=3).fit(X, Y)
    machine = sklearn.pipeline.make_pipeline(sklearn.preprocessing.StandardScaler(), KernelRidge(kernel="rbf"))
    grid = {"kernelridge__alpha": LAMS, "kernelridge__gamma": GAMMAS}
    theirs = GridSearchCV(machine, grid, cv=3).fit(X, Y)
    ours = np.sort(search.cv_results_["mean_test_score"])
    np.testing.assert_allclose(ours, np.sort(theirs.cv_results_["mean_test_score"]), rtol=1e-8)
    np.testing.assert_allclose(search.predict(X), theirs.predict(X), atol=1e-8)


# -- without a ridge, and functions that are not kernels ---------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_without_a_ridge_folds_are_solved_by_the_pseudo_inverse(rows, weighted):
    """The linear kernel's matrix is singular: of all that fit best, the smallest, as the machine itself."""
    X, Y = rows
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X)) if weighted else np.ones(len(X))
    search = KernelLeastSquaresCV("linear", lams=[0.0, 1.0], cv=3).fit(X, Y, sample_weight=weight)
    assert search.method_ == "one stored matrix per kernel"
    for params, found in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        model, scores = KernelLeastSquares("linear", params["lam"]), []
        for train, held in KFold(3).split(X):
            model.fit(X[train], Y[train], weight[train])
            scores.append(model.score(X[held], Y[held], weight[held]))
        assert found == pytest.approx(np.mean(scores), abs=1e-8)
    root = np.sqrt(weight[: len(X) // 2, None])
    half = clone(search).set_params(lams=[0.0], cv=[(np.r_[0:80], np.r_[80:160])], scoring="neg_mean_squared_error")
    half.fit(X, Y[:, 0], sample_weight=weight)
    w = np.linalg.lstsq(root * X[:80], (root * Y[:80])[:, 0], rcond=None)[0]
    error = -np.average((Y[80:, 0] - X[80:] @ w) ** 2, weights=weight[80:])
    assert half.best_score_ == pytest.approx(error, rel=1e-9)


def test_a_kernel_that_is_not_positive_semidefinite_is_solved_by_its_eigenvalues(rows, monkeypatch):
    monkeypatch.setattr(module, "TOGETHER_ROWS", 10)
    X, Y = rows
    K = X @ X.T - 3.0 * np.ones((len(X), len(X)))
    search = KernelLeastSquaresCV("precomputed", lams=[0.3, 2.0], cv=3).fit(K, Y)
    for params, found in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        scores = []
        for train, held in KFold(3).split(X):
            a = np.linalg.solve(K[np.ix_(train, train)] + params["lam"] * np.eye(len(train)), Y[train])
            scores.append(sklearn.metrics.r2_score(Y[held], K[np.ix_(held, train)] @ a))
        assert found == pytest.approx(np.mean(scores), abs=1e-8)


@pytest.mark.parametrize("options", [{"solver": "eigen"}, {"solver": "cholesky"}, {"solver": "cg", "tol": 1e-12}])
def test_every_solver_has_the_same_scores(rows, options):
    X, Y = rows
    plain = KernelLeastSquaresCV(lams=[0.1, 1.0], gammas=GAMMAS, cv=3).fit(X, Y)
    other = clone(plain).set_params(**options).fit(X, Y)
    key = "mean_test_score"
    np.testing.assert_allclose(other.cv_results_[key], plain.cv_results_[key], atol=1e-8)
    assert (other.method_ == "one fit per cell") == (options["solver"] == "cg")


# -- leave-one-out -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_that_of_refits(rows, kernel, weighted):
    X, Y = rows[0][:25], rows[1][:25]
    weight = np.random.default_rng(0).choice([0.5, 1.0, 2.0], len(X)) if weighted else None
    lams = [0.0, 1e-3, 1.0] if kernel == "linear" else [1e-3, 1.0]
    options = {"cv": LeaveOneOut(), "scoring": "neg_mean_squared_error", "gammas": [0.1], "rank_tol": 1e-10}
    search = KernelLeastSquaresCV(kernel, lams=lams, **options).fit(X, Y, sample_weight=weight)
    assert search.method_ == "leave-one-out in closed form"
    for params, found in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        model, errors = KernelLeastSquares(kernel, gamma=0.1, lam=params["lam"], rank_tol=1e-10), []
        for i in range(len(X)):
            rest = np.arange(len(X)) != i
            model.fit(X[rest], Y[rest], None if weight is None else weight[rest])
            errors.append(np.mean((Y[i] - model.predict(X[[i]])[0]) ** 2))
        assert found == pytest.approx(-np.mean(errors), rel=1e-6)


def test_leave_one_out_takes_one_eigendecomposition_per_kernel(rows, monkeypatch):
    X, Y = rows
    calls, original = [], module.eigenvalues
    monkeypatch.setattr(module, "eigenvalues", lambda K: calls.append(len(K)) or original(K))
    options = {"cv": LeaveOneOut(), "scoring": "neg_mean_squared_error", "gammas": [0.01, 0.03, 0.1]}
    search = KernelLeastSquaresCV(lams=np.logspace(-3, 2, 9), **options).fit(X, Y[:, 0])
    assert calls == [len(X)] * 3
    model = KernelLeastSquares(lam=search.best_params_["lam"], gamma=search.best_params_["gamma"], leave_one_out=True)
    error = np.mean(model.fit(X, Y[:, 0]).loo_residuals_ ** 2)
    assert search.best_score_ == pytest.approx(-error, rel=1e-10)


# -- the search as a whole ---------------------------------------------------------------------------------------------


def test_many_rows_are_solved_together_and_the_matrix_is_made_once_per_kernel(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (1200, 2))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=1200)
    made, original = [], module.LeastSquaresTrainer._values
    monkeypatch.setattr(module.LeastSquaresTrainer, "_values", lambda *a: made.append(1) or original(*a))
    grid = {"alpha": [1e-3, 0.1], "gamma": [0.1, 1.0]}
    search = KernelLeastSquaresCV(lams=grid["alpha"], gammas=grid["gamma"], cv=3)
    assert_same_table(search, KernelRidge(kernel="rbf"), grid, X, y)
    assert len(made) == 2


def test_cells_that_lose_are_dropped_and_the_winner_is_that_of_the_whole_table(rows):
    X, Y = rows
    lists = {"lams": np.logspace(-4, 3, 8), "gammas": np.logspace(-4, 1, 6)}
    race, whole = (KernelLeastSquaresCV(**lists, drop=drop).fit(X, Y[:, 0]) for drop in (True, False))
    assert any(status.startswith("dropped") for status in race.cv_results_["status"])
    assert race.best_params_ == whole.best_params_
    assert race.best_score_ == whole.best_score_
    assert np.isnan(race.cv_results_["gap"]).all()


@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_nothing_need_be_given(size):
    X, y = load_diabetes(return_X_y=True)
    search = KernelLeastSquaresCV().fit(size * X, y - y.mean())
    assert search.best_score_ > 0.46
    assert len(search.cv_results_["params"]) > 49
    linear = KernelLeastSquaresCV("linear").fit(size * X, y - y.mean())
    assert linear.best_score_ > 0.45
    assert linear.cv_results_["params"][0]["lam"] == pytest.approx(1e-4 * np.mean(np.sum((size * X) ** 2, axis=1)))


def test_much_lambda_is_the_simpler_machine(rows):
    X, Y = rows
    options = {"lams": np.logspace(-3, 2, 11), "gammas": [0.01]}
    best = KernelLeastSquaresCV(**options).fit(X, Y[:, 0])
    simple = KernelLeastSquaresCV(**options, one_standard_error=True, drop=False).fit(X, Y[:, 0])
    assert simple.best_params_["lam"] > best.best_params_["lam"]


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_values_that_make_no_sense_are_named(rows):
    X, Y = rows
    search = KernelLeastSquaresCV(lams=[-1.0, 1.0, np.nan], gammas=[0.1, -2.0])
    with pytest.raises(ValueError, match="KernelLeastSquares cannot take") as error:
        search.fit(X, Y)
    assert all(part in str(error.value) for part in ("lam=-1.0:", "lam=nan:", "gamma=-2.0:"))
    assert not hasattr(search, "cv_results_")
    found = search.set_params(error_score=np.nan).fit(X, Y)
    assert found.best_params_ == {"lam": 1.0, "gamma": 0.1}
    with pytest.raises(ValueError, match=r"takes lam > 0, got lam=0"):
        KernelLeastSquaresCV(lams=[0.0, 1.0], gammas=[0.1], solver="cholesky").fit(X, Y)
    with pytest.raises(TypeError, match=r"lams=\[...\] for lam, gammas=\[...\] for gamma"):
        KernelLeastSquaresCV(lam=1.0)


def test_rows_and_targets_that_make_no_sense(rows):
    X, Y = rows
    search = KernelLeastSquaresCV(lams=[1.0], gammas=[0.1])
    with pytest.raises(ValueError, match="NaN"):
        search.fit(np.where(X > 1, np.nan, X), Y)
    with pytest.raises(ValueError, match="NaN"):
        search.fit(X, np.where(Y > 1, np.nan, Y))
    with pytest.raises(ValueError, match=r"incompatible shapes|inconsistent"):
        search.fit(X, Y[:-1])
    with pytest.raises(ValueError, match="y to be passed"):
        search.fit(X, None)
    with pytest.raises(ValueError, match="R\\^2 of a fold with one row"):
        clone(search).set_params(cv=LeaveOneOut()).fit(X, Y)
    with pytest.raises(ValueError, match="precomputed kernel has none"):
        KernelLeastSquaresCV("precomputed", lams=[1.0], scale=True).fit(X @ X.T, Y)
    with pytest.raises(ValueError, match="not finite"), np.errstate(over="ignore"):
        KernelLeastSquaresCV("poly", degree=300, lams=[1.0], gammas=[100.0]).fit(X, Y)
    assert not hasattr(search, "cv_results_")


def test_a_kernel_that_fails_is_left_out_if_asked(rows):
    X, Y = rows

    def broken(A, B):
        raise RuntimeError("no such kernel")

    grid = {"kernel": [Gaussian(0.1), broken]}
    search = KernelLeastSquaresCV(lams=[0.1, 1.0], gammas=["scale"], param_grid=grid, error_score=np.nan).fit(X, Y)
    status = search.cv_results_["status"]
    assert sum(line == "done" for line in status) == 2
    assert sum("RuntimeError: no such kernel" in line for line in status) == 2


def test_time_limits_keep_what_is_finished(rows, monkeypatch):
    X, Y = rows
    with pytest.raises(ValueError, match="time_limit was reached before the first was"):
        KernelLeastSquaresCV(time_limit=1e-9).fit(X, Y)
    now = [1000.0]  # a clock that stands still but for what is slow
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def slow(A, B):
        now[0] += 5.0
        return np.asarray(A) @ np.asarray(B).T

    grid = {"kernel": [Linear(), slow, lambda A, B: slow(A, B)]}
    search = KernelLeastSquaresCV(lams=[0.1, 1.0], gammas=["scale"], param_grid=grid, cv=2, time_limit=100.0)
    with pytest.warns(ConvergenceWarning, match="time_limit=100.0 was reached"):
        search.fit(X, Y)
    assert "not reached" in search.cv_results_["status"]
    assert search.best_score_ > -np.inf
