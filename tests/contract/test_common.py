"""scikit-learn's own checks, and the rest of its contract: copies, names, routing, workers."""

from __future__ import annotations

import inspect
import multiprocessing
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn.svm
from joblib import Parallel, delayed
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import (
    SVC,
    SVDD,
    SVR,
    LinearClassifier,
    LinearRegressor,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from maxmargin.backends import effective_threads

MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD]
LINEAR = [LinearSVC, LinearSVR, LinearClassifier, LinearRegressor]


def data(n=80):
    """Two noisy classes whose labels also serve as targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


def scores(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize("machine", MACHINES)
def test_kinds_of_estimators(machine):
    model = machine()
    assert is_classifier(model) == (machine in (SVC, NuSVC))
    assert is_regressor(model) == (machine in (SVR, NuSVR))
    assert is_outlier_detector(model) == (machine in (OneClassSVM, SVDD))
    assert model.__sklearn_tags__().input_tags.sparse
    assert machine(kernel="precomputed").__sklearn_tags__().input_tags.pairwise


@pytest.mark.parametrize("machine", MACHINES)
def test_constructor_takes_keywords_and_stores_them_untouched(machine):
    parameters = inspect.signature(machine).parameters
    assert set(machine().get_params()) == set(parameters)
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters.values())
    for name, parameter in parameters.items():
        assert getattr(machine(), name) is parameter.default
    theirs = getattr(sklearn.svm, machine.__name__, None)
    if theirs is not None:  # its own parameters, with its defaults
        for name, parameter in inspect.signature(theirs).parameters.items():
            assert name in parameters
            assert parameters[name].default == parameter.default or name == "cache_size"


@pytest.mark.parametrize("machine", MACHINES)
def test_feature_names_are_remembered_and_compared(machine):
    X, y = data()
    frame = pd.DataFrame(X, columns=["length", "width", "height"])
    model = machine().fit(frame, y)
    assert list(model.feature_names_in_) == ["length", "width", "height"]
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(scores(model, frame), scores(machine().fit(X, y), X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["width", "length", "height"]])
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X)
    with pytest.raises(ValueError, match="3 features"), pytest.warns(UserWarning, match="feature names"):
        model.predict(X[:, :2])


@pytest.mark.parametrize("machine", MACHINES)
def test_set_output_of_a_pipeline_reaches_the_machine_with_names(machine):
    X, y = data()
    frame = pd.DataFrame(X, columns=["length", "width", "height"])
    pipeline = make_pipeline(StandardScaler(), machine()).set_output(transform="pandas").fit(frame, y)
    assert list(pipeline[-1].feature_names_in_) == ["length", "width", "height"]
    plain = make_pipeline(StandardScaler(), machine()).fit(X, y)
    np.testing.assert_allclose(pipeline.predict(frame), plain.predict(X), atol=1e-10)  # scaled in another order


@pytest.mark.parametrize("machine", MACHINES)
def test_weights_are_routed_through_pipelines_and_searches(machine):
    X, y = data()
    weight = np.random.default_rng(1).choice([0.0, 1.0, 4.0], size=len(X))
    grid, tight = {f"{machine.__name__.lower()}__gamma": [0.1, 1.0]}, partial(machine, gap_tol=1e-10)
    with sklearn.config_context(enable_metadata_routing=True):
        requesting = tight().set_fit_request(sample_weight=True)
        if hasattr(requesting, "score"):
            requesting.set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), requesting)
        scoring = (
            None if hasattr(requesting, "score") else (lambda model, X, y=None: float(model.score_samples(X).mean()))
        )
        search = GridSearchCV(pipeline, grid, cv=3, scoring=scoring).fit(X, y, sample_weight=weight)
        # where only the scaler asks for it, the machine does not get it
        ignoring = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=True), tight().set_fit_request(sample_weight=False)
        )
        ignoring.fit(X, y, sample_weight=weight)
    best = search.best_estimator_
    gamma = best[-1].gamma
    Z = best[0].transform(X)
    weighted = tight(gamma=gamma).fit(Z, y, sample_weight=weight)
    np.testing.assert_allclose(scores(best[-1], Z), scores(weighted, Z), atol=1e-9)
    Z = ignoring[0].transform(X)
    np.testing.assert_allclose(scores(ignoring[-1], Z), scores(tight().fit(Z, y), Z), atol=1e-9)


@pytest.mark.parametrize("machine", MACHINES)
def test_grid_search_with_two_workers_gives_what_one_gives(machine):
    X, y = data()
    scoring = None if hasattr(machine, "score") else (lambda model, X, y=None: float(model.score_samples(X).mean()))
    grid = {"kernel": ["rbf", "linear"], "gamma": [0.1, 1.0]}
    alone, together = (GridSearchCV(machine(), grid, cv=3, n_jobs=n, scoring=scoring).fit(X, y) for n in (1, 2))
    assert alone.best_params_ == together.best_params_
    for key in ("mean_test_score", "split0_test_score"):
        np.testing.assert_array_equal(alone.cv_results_[key], together.cv_results_[key])


@pytest.mark.parametrize("machine", MACHINES[:5])  # SVDD needs k(x, x) of new rows
def test_precomputed_kernels_are_split_by_rows_and_columns(machine):
    X, y = data()
    X = X + 3.0  # away from the origin, from which a one-class machine measures
    scoring = None if hasattr(machine, "score") else (lambda model, X, y=None: float(model.score_samples(X).mean()))
    by_matrix = cross_val_score(machine(kernel="precomputed"), X @ X.T, y, scoring=scoring)
    np.testing.assert_allclose(by_matrix, cross_val_score(machine(kernel="linear"), X, y, scoring=scoring), rtol=1e-6)


def _fit_and_score(machine, X, y, queue):
    model = machine().fit(X, y)
    queue.put((effective_threads(), scores(model, X)))


@pytest.mark.skipif(sys.platform != "linux", reason="fork is safe on Linux only")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("machine", MACHINES)
def test_forked_child_fits_after_its_parent_has(machine):
    X, y = data(300)
    expected = scores(machine(n_jobs=2).fit(X, y), X)  # the parent's threads are running
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_fit_and_score, args=(machine, X, y, queue), daemon=True)
    child.start()
    threads, result = queue.get(timeout=60)
    child.join(timeout=60)
    assert child.exitcode == 0
    assert threads == 1  # a daemon is somebody's worker
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_fit_side_by_side(machine):
    X, y = data(150)
    gammas = [0.1, 0.3, 1.0, 3.0]
    together = Parallel(n_jobs=2, backend="threading")(
        delayed(lambda gamma: scores(machine(gamma=gamma).fit(X, y), X))(gamma) for gamma in gammas
    )
    for gamma, result in zip(gammas, together, strict=True):
        np.testing.assert_array_equal(result, scores(machine(gamma=gamma).fit(X, y), X))


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_workers_keep_to_one_thread(backend):
    assert Parallel(n_jobs=2, backend=backend)(delayed(effective_threads)() for _ in range(4)) == [1] * 4


def test_threads_are_what_was_asked_for():
    assert effective_threads(1) == 1
    assert effective_threads(3) == 3
    assert effective_threads(-1) >= 1
    assert effective_threads() >= 1
