"""Every search against scikit-learn's own around the same machine: scores, splitters, weights, and how it fits in."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, make_classification
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, LeaveOneOut, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import (
    SGDSVC,
    SGDSVCCV,
    SVC,
    SVCCV,
    SVR,
    SVRCV,
    KernelLeastSquares,
    KernelLeastSquaresCV,
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    LinearRegressorCV,
    LinearSVC,
    LinearSVCCV,
    LinearSVR,
    LinearSVRCV,
    NuSVC,
    NuSVCCV,
    NuSVR,
    NuSVRCV,
    PegasosSVC,
    PegasosSVCCV,
)
from maxmargin.selection._grid import default_values

COSTS = [0.1, 1.0, 10.0]
#: Every search with a small grid.
SEARCHES = {
    SVCCV: {"Cs": COSTS, "gammas": [0.1, 1.0]},
    NuSVCCV: {"nus": [0.1, 0.3], "gammas": [0.1]},
    SVRCV: {"Cs": COSTS, "gammas": [0.1, 1.0]},
    NuSVRCV: {"Cs": COSTS, "nus": [0.3], "gammas": [0.1]},
    LinearSVCCV: {"Cs": COSTS},
    LinearSVRCV: {"Cs": COSTS},
    LinearClassifierCV: {"loss": "logistic", "Cs": COSTS},
    LinearRegressorCV: {"loss": "squared", "Cs": COSTS},
    PegasosSVCCV: {"lams": [1e-3, 1e-2], "random_state": 0},
    SGDSVCCV: {"lams": [1e-3, 1e-2], "random_state": 0},
    KernelLeastSquaresCV: {"lams": [1e-3, 1e-2], "gammas": [0.1, 1.0]},
}


def named(value):
    return getattr(value, "__name__", repr(value)).replace(" ", "").replace("\n", "")


def small(search):
    return search(**SEARCHES[search], cv=3)


def unbalanced(n=200):
    """Two classes that overlap, one of them rare."""
    return make_classification(n, n_features=4, weights=[0.85], class_sep=0.8, flip_y=0.05, random_state=0)


def assert_same_scores(search, machine, grid, X, y, atol, **options):
    """All cells have the scores that scikit-learn's search gives them."""
    search.set_params(drop=False).fit(X, y, **options)
    theirs = GridSearchCV(machine, grid, cv=search.cv, scoring=search.scoring).fit(X, y, **options)
    assert search.cv_results_["params"] == theirs.cv_results_["params"]
    for key in ["mean_test_score", *(f"split{k}_test_score" for k in range(theirs.n_splits_))]:
        room = atol * (1 if key.startswith("mean") else theirs.n_splits_)
        np.testing.assert_allclose(search.cv_results_[key], theirs.cv_results_[key], atol=room + 1e-9)
    assert search.n_splits_ == theirs.n_splits_


# -- the scores ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer, load_digits])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"multiclass": "ovr"},
        {"multiclass": "code", "code_words": "random", "random_state": 0},
        {"class_weight": "balanced"},
        {"kernel": "linear"},
    ],
    ids=named,
)
def test_kernel_classifiers(load, options):
    X, y = load(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[:300:2], y[:300:2]
    width = 1.0 / X.shape[1]
    grid = {"C": COSTS, "gamma": [0.1 * width, width]}
    search = SVCCV(Cs=grid["C"], gammas=grid["gamma"], cv=3, **options)
    assert_same_scores(search, SVC(tol=1e-5, **options), grid, X, y, 2 / len(y))


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
@pytest.mark.parametrize(
    ("search", "machine", "options"),
    [
        (LinearSVCCV, LinearSVC, {}),
        (LinearSVCCV, LinearSVC, {"loss": "hinge", "multiclass": "ovo"}),
        (LinearSVCCV, LinearSVC, {"penalty": "l1", "class_weight": "balanced"}),
        (LinearSVCCV, LinearSVC, {"multiclass": "crammer-singer", "max_iter": 10**4}),
        (LinearSVCCV, LinearSVC, {"fit_intercept": False}),
        (LinearClassifierCV, LinearClassifier, {"loss": "logistic"}),
    ],
    ids=named,
)
def test_linear_classifiers(load, search, machine, options):
    X, y = load(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[::2], y[::2]
    tight = machine(**{"tol": 1e-6, "max_iter": 10**5, **options})
    assert_same_scores(search(Cs=COSTS, cv=3, **options), tight, {"C": COSTS}, X, y, 2 / len(y))


@pytest.mark.parametrize(
    ("search", "machine", "grid"),
    [
        (SVRCV(epsilon=5.0), SVR(epsilon=5.0, tol=1e-6), {"C": [1.0, 100.0], "gamma": [0.1, 1.0]}),
        (SVRCV(kernel="linear"), SVR(kernel="linear", tol=1e-6), {"C": [1.0, 100.0], "gamma": ["scale"]}),
        (NuSVRCV(), NuSVR(tol=1e-6), {"C": [1.0, 100.0], "gamma": [1.0], "nu": [0.3, 0.6]}),
        (LinearSVRCV(), LinearSVR(tol=1e-6), {"C": [1.0, 100.0]}),
        (LinearSVRCV(epsilon=20.0), LinearSVR(epsilon=20.0, tol=1e-6), {"C": [1.0, 100.0]}),
        (LinearRegressorCV("squared", "l1"), LinearRegressor("squared", "l1", tol=1e-6), {"C": [1.0, 100.0]}),
        (LinearRegressorCV("huber"), LinearRegressor("huber", tol=1e-6), {"C": [1.0, 100.0]}),
    ],
    ids=named,
)
def test_regressions(search, machine, grid):
    X, y = load_diabetes(return_X_y=True)
    search.set_params(**{f"{name}s": values for name, values in grid.items()}, cv=3)
    assert_same_scores(search, machine, grid, X, y, 2e-3)


@pytest.mark.parametrize("search", [SVCCV, LinearSVCCV, NuSVCCV])
@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}], ids=named)
def test_weights_count_in_training_and_in_the_scores(search, options):
    X, y = unbalanced()
    weight = np.random.default_rng(0).choice([0.0, 0.5, 2.0], len(y))
    machine = {SVCCV: SVC(tol=1e-6), LinearSVCCV: LinearSVC(tol=1e-8), NuSVCCV: NuSVC(tol=1e-6)}[search]
    grid = {"nu": [0.1, 0.2], "gamma": [0.1]} if search is NuSVCCV else {"C": COSTS, "gamma": [0.1]}
    grid = {name: values for name, values in grid.items() if name in machine.get_params()}
    lists = {f"{name}s": values for name, values in grid.items()}
    with sklearn.config_context(enable_metadata_routing=True):
        machine = machine.set_params(**options).set_fit_request(sample_weight=True)
        machine.set_score_request(sample_weight=True)
        cv = StratifiedKFold(3, shuffle=True, random_state=0)
        assert_same_scores(
            search(cv=cv, **lists, **options), machine, grid, X, y, 5 / weight.sum(), sample_weight=weight
        )


@pytest.mark.parametrize(
    "search", [small(SVCCV), small(SVRCV), small(LinearSVCCV), small(NuSVCCV), SVCCV(gammas=[0.1])], ids=named
)
def test_weights_equal_repetition_where_copies_stay_together(search):
    X, y = unbalanced(90)
    counts = np.random.default_rng(1).integers(1, 4, len(y))
    copies = np.repeat(np.arange(len(y)), counts)
    folds = list(StratifiedKFold(3).split(X, y))
    spread = [tuple(np.flatnonzero(np.isin(copies, rows)) for rows in fold) for fold in folds]
    search.set_params(tol=1e-5, drop=False)
    one = clone(search).set_params(cv=folds).fit(X, y, sample_weight=counts)
    many = clone(search).set_params(cv=spread).fit(X[copies], y[copies])
    scores = [found.cv_results_["mean_test_score"] for found in (one, many)]
    np.testing.assert_allclose(*scores, atol=3.1 / len(copies))
    assert one.best_params_ == pytest.approx(many.best_params_)
    np.testing.assert_allclose(one.predict(X), many.predict(X), atol=1e-3)


def size(model, X, y):
    """A score that notices any change of a machine."""
    return float(np.abs(model.predict(X) if is_regressor(model) else model.decision_function(X)).mean())


@pytest.mark.parametrize(
    ("search", "machine", "grid"),
    [
        (SVCCV(), SVC(), {"fit_intercept": [True, False], "gamma": [3.0], "C": [0.1, 1.0]}),
        (SVCCV(), SVC(), {"multiclass": ["ovr", "ovo", "crammer-singer"], "gamma": [0.1], "C": [0.1]}),
        (SVCCV(), SVC(), {"class_weight": [None, "balanced", {0: 9.0}], "gamma": [0.1], "C": [0.1]}),
        (SVCCV(), SVC(), {"max_iter": [1, -1], "gamma": [0.1], "C": [1.0]}),
        (SVCCV(), SVC(), {"degree": [1, 3], "kernel": ["poly"], "gamma": [0.1], "C": [0.1]}),
        (LinearSVCCV(), LinearSVC(), {"multiclass": ["ovr", "crammer-singer"], "C": [0.1]}),
        (LinearSVCCV(), LinearSVC(), {"loss": ["hinge", "squared_hinge"], "fit_intercept": [True, False], "C": [0.1]}),
        (LinearSVCCV(), LinearSVC(), {"scale": [True, False], "C": [1e-4, 0.1]}),
        (SVRCV(), SVR(), {"epsilon": [0.0, 0.5], "fit_intercept": [True, False], "gamma": [0.1], "C": [1.0]}),
        (LinearSVRCV(), LinearSVR(), {"scale": [True, False], "C": [1e-4, 0.1]}),
    ],
    ids=named,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_parameter_of_the_machine_can_be_searched(search, machine, grid):
    X, y = (part[40:] for part in load_iris(return_X_y=True))
    X = X * [1.0, 5.0, 0.2, 1.0] - 1.0
    lists = {f"{name}s": grid[name] for name in ("C", "gamma") if name in grid}
    rest = {name: values for name, values in grid.items() if name not in ("C", "gamma")}
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = clone(search).set_params(**lists, param_grid=rest, cv=list(folds.split(X, y)), scoring=size)
    assert_same_scores(search, clone(machine).set_params(tol=1e-5), grid, X, y, 0.02)


def test_a_calibration_can_be_searched():
    X, y = load_iris(return_X_y=True)
    grid = {"calibration": ["sigmoid", "isotonic", None], "random_state": [0]}
    search = SVCCV(Cs=[1.0], gammas=[0.1], param_grid=grid, cv=3, error_score=np.nan, scoring="neg_log_loss")
    search.fit(X, y)
    assert search.best_params_["calibration"] is not None
    assert search.cv_results_["status"].tolist()[:2] == ["done", "done"]
    assert search.cv_results_["status"][2].startswith("failed: AttributeError")
    np.testing.assert_allclose(search.predict_proba(X).sum(axis=1), 1.0)


# -- splitters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cv",
    [
        4,
        StratifiedKFold(3, shuffle=True, random_state=1),
        GroupKFold(3),
        LeaveOneOut(),
    ],
    ids=named,
)
@pytest.mark.parametrize("search", [SVCCV(gammas=[0.1, 1.0]), LinearSVCCV(scale=True)], ids=named)
def test_any_splitter(search, cv):
    X, y = (part[::3] for part in load_iris(return_X_y=True))
    groups = np.arange(len(y)) % 7 if isinstance(cv, GroupKFold) else None
    machine = SVC(tol=1e-6) if isinstance(search, SVCCV) else LinearSVC(scale=True)
    grid = {"C": COSTS, "gamma": [0.1, 1.0]} if isinstance(search, SVCCV) else {"C": COSTS}
    assert_same_scores(clone(search).set_params(cv=cv, Cs=COSTS), machine, grid, X, y, 2 / len(y), groups=groups)


def test_folds_given_as_row_numbers():
    X, y = load_iris(return_X_y=True)
    pairs = list(KFold(4, shuffle=True, random_state=0).split(X))
    shuffled = [(np.random.default_rng(0).permutation(train), held[::-1].tolist()) for train, held in pairs]
    given = [small(SVCCV).set_params(cv=cv, drop=False).fit(X, y) for cv in (pairs, shuffled, iter(pairs))]
    scores = [found.cv_results_["mean_test_score"].tolist() for found in given]
    assert scores[0] == scores[1] == scores[2]


# -- nothing given ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("search", "load", "enough"),
    [
        (SVCCV(), load_iris, 0.97),
        (SVCCV(scale=True), load_breast_cancer, 0.975),
        (SVRCV(), load_diabetes, 0.47),
        (LinearSVCCV(), load_iris, 0.95),
        (LinearSVCCV(scale=True), load_breast_cancer, 0.97),
        (LinearSVRCV(), load_diabetes, 0.46),
    ],
    ids=named,
)
def test_a_search_needs_no_arguments(search, load, enough):
    X, y = load(return_X_y=True)
    search.fit(X, y)
    assert search.best_score_ > enough
    assert search.certificate_.relative_gap < 1e-3
    assert search.score(X, y) >= search.best_score_ - 0.02
    steps = np.diff(np.log(np.unique([params["C"] for params in search.cv_results_["params"]])))
    assert len(steps) > 8  # the grid, and finer steps around its best cell
    assert steps.min() < 0.6 * np.median(steps)


def test_shares_are_refined_too():
    X, y = load_iris(return_X_y=True)
    search = NuSVCCV(gammas=[0.1], cv=3).fit(X, y)
    assert search.best_score_ > 0.95
    assert len({params["nu"] for params in search.cv_results_["params"]}) > 8


def test_defaults_follow_the_size_of_the_features():
    X, y = load_iris(return_X_y=True)
    one, other = SVCCV().fit(X, y), SVCCV().fit(1000 * X, y)
    assert other.best_params_["gamma"] == pytest.approx(1e-6 * one.best_params_["gamma"])
    assert other.best_score_ == one.best_score_
    one, other = LinearSVCCV().fit(X, y), LinearSVCCV().fit(1000 * X, y)
    assert other.cv_results_["params"][0]["C"] == pytest.approx(1e-6 * one.cv_results_["params"][0]["C"])


def test_lists_that_are_given_are_the_grid():
    X, y = load_iris(return_X_y=True)
    search = SVCCV(param_grid={"C": np.array([0.1, 1.0]), "gamma": (0.1, "auto")}).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert isinstance(search.cv_results_["params"][0]["C"], float)


def test_several_grids_are_searched_one_after_another():
    X, y = load_iris(return_X_y=True)
    grids = [{"kernel": ["linear"], "gamma": [1.0]}, {"kernel": ["rbf"], "gamma": [0.1, 1.0]}]
    search = SVCCV(Cs=[0.1, 1.0], param_grid=grids, cv=3)
    full = [{"C": [0.1, 1.0], **grid} for grid in grids]
    assert_same_scores(search, SVC(tol=1e-6), full, X, y, 2 / len(y))


# -- how they fit in -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", SEARCHES)
def test_every_search_finds_a_fitted_machine(search):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    found = small(search).set_params(cv=KFold(3, shuffle=True, random_state=0)).fit(X, y)
    assert type(found).__name__ == type(found.best_estimator_).__name__ + "CV"
    assert all(getattr(found.best_estimator_, name) == value for name, value in found.best_params_.items())
    assert found.best_score_ == pytest.approx(np.nanmax(found.cv_results_["mean_test_score"]))
    assert found.best_score_ > 0.6
    assert is_classifier(found) == is_classifier(found.best_estimator_) == (not is_regressor(found))
    np.testing.assert_array_equal(found.predict(X), found.best_estimator_.predict(X))


@pytest.mark.parametrize("search", SEARCHES)
def test_parameters_are_those_of_the_search_and_of_its_machine(search):
    given = small(search)
    assert clone(given).get_params() == given.get_params()
    assert set(inspect.signature(search).parameters) == set(given.get_params())
    own = set(search._machine_class().get_params()) - set(search._lists.values()) - {"warm_start"}
    assert own <= set(given.get_params())
    assert all(name in search.__doc__ for name in given.get_params())
    with pytest.raises(TypeError, match="sigma"):
        search(sigma=1.0)


def test_names_of_columns_are_remembered():
    X, y = load_iris(return_X_y=True, as_frame=True)
    for search in (small(SVCCV), small(LinearSVCCV), small(SVCCV).set_params(scale=True)):
        search.fit(X, y)
        assert search.feature_names_in_.tolist() == X.columns.tolist()
        assert search.predict(X).shape == (150,)
        with pytest.raises(ValueError, match="feature names"):
            search.predict(pd.DataFrame(X)[X.columns[::-1]])


def test_text_labels_and_sparse_rows():
    X, y = load_iris(return_X_y=True)
    labels = np.array(["no", "so", "yes"])[y]
    for search in (small(SVCCV), small(LinearSVCCV)):
        dense, sparse = clone(search).fit(X, labels), clone(search).fit(sp.csr_array(X), labels)
        assert dense.classes_.tolist() == ["no", "so", "yes"]
        np.testing.assert_array_equal(dense.predict(X), sparse.predict(sp.csr_array(X)))
        assert dense.best_params_ == sparse.best_params_


@pytest.mark.parametrize(
    ("machine", "grid"),
    [
        (SVC(), {"C": COSTS, "gamma": [0.1, 1.0]}),
        (LinearSVC(), {"C": COSTS}),
        (PegasosSVC(random_state=0), {"lam": [1e-3, 1e-2]}),
        (SGDSVC(random_state=0), {"lam": [1e-3, 1e-2]}),
    ],
    ids=named,
)
def test_machines_inside_scikit_learns_search(machine, grid):
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), machine)
    named_grid = {f"{pipeline.steps[-1][0]}__{name}": values for name, values in grid.items()}
    one, two = (GridSearchCV(pipeline, named_grid, cv=3, n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
    assert two.best_score_ > 0.8


def test_a_search_inside_a_pipeline_and_a_cross_validation():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), small(SVCCV))
    one, two = (cross_val_score(pipeline, X, y, cv=3, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("machine", [SVR(), NuSVR(), LinearSVR(), LinearRegressor("absolute"), KernelLeastSquares()])
def test_values_picked_from_the_data_count_weights_as_repetition(machine):
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(40, 3)), 5 * rng.normal(size=40), rng.integers(1, 4, 40)
    copies = np.repeat(np.arange(40), weight)
    for name in {"C", "gamma", "lam", "nu"} & set(machine.get_params()):
        picked = default_values(machine, name, X, y, weight.astype(float))
        np.testing.assert_allclose(picked, default_values(machine, name, X[copies], y[copies], np.ones(len(copies))))
