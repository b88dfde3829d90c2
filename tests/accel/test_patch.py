"""Code for scikit-learn gets maxmargin's machines, and gets scikit-learn's back."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import sklearn
import sklearn.calibration
import sklearn.kernel_ridge
import sklearn.model_selection
import sklearn.svm
from sklearn.datasets import load_diabetes, load_iris

import maxmargin as mm
from tests.names import name_of

X, Y = load_iris(return_X_y=True)
NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR", "l1_min_c")
THEIRS = {name: getattr(sklearn.svm, name) for name in NAMES}
RIDGE, SEARCH = sklearn.kernel_ridge.KernelRidge, sklearn.model_selection.GridSearchCV


def theirs_again() -> bool:
    own = all(getattr(sklearn.svm, name) is thing for name, thing in THEIRS.items())
    return own and sklearn.kernel_ridge.KernelRidge is RIDGE and sklearn.model_selection.GridSearchCV is SEARCH


def test_every_name_is_ours_inside_and_theirs_after():
    with mm.patched_sklearn():
        for name in NAMES:
            assert getattr(sklearn.svm, name).__module__.startswith("maxmargin")
        assert sklearn.kernel_ridge.KernelRidge.__module__.startswith("maxmargin")
        assert sklearn.calibration.LinearSVC is mm.LinearSVC  # a name that scikit-learn imported long ago
        assert sklearn.model_selection.GridSearchCV is SEARCH
    assert theirs_again()
    assert sklearn.calibration.LinearSVC is THEIRS["LinearSVC"]


def test_patching_twice_is_patching_once():
    mm.patch_sklearn()
    mm.patch_sklearn(searches=True)
    assert sklearn.svm.SVC is mm.SVC
    assert sklearn.model_selection.GridSearchCV is not SEARCH
    mm.unpatch_sklearn()
    assert theirs_again()
    mm.unpatch_sklearn()
    assert theirs_again()


def test_a_block_leaves_what_was_there_before_it():
    mm.patch_sklearn()
    try:
        with mm.patched_sklearn(searches=True):
            assert sklearn.model_selection.GridSearchCV is not SEARCH
        assert sklearn.model_selection.GridSearchCV is SEARCH
        assert sklearn.svm.SVC is mm.SVC
    finally:
        mm.unpatch_sklearn()
    with pytest.raises(RuntimeError), mm.patched_sklearn():
        raise RuntimeError
    assert theirs_again()


def test_models_fitted_before_can_be_pickled_and_used():
    before = [THEIRS["SVC"]().fit(X, Y), RIDGE(kernel="rbf").fit(X, Y)]
    files = [pickle.dumps(model) for model in before]
    with mm.patched_sklearn():
        assert type(pickle.loads(pickle.dumps(before[0]))) is THEIRS["SVC"]
        for model, file in zip(before, files, strict=True):
            np.testing.assert_allclose(pickle.loads(file).predict(X), model.predict(X))


def test_the_log_says_what_was_replaced_and_what_not(caplog):
    with caplog.at_level(logging.INFO, logger="maxmargin.accel"), mm.patched_sklearn():
        pass
    said = caplog.text
    assert "sklearn.svm.SVC is now maxmargin.estimators._classifiers.SVC" in said
    assert "GridSearchCV stays scikit-learn's" in said
    assert "sklearn.svm.SVC is scikit-learn's again" in said


# -- KernelRidge ----------------------------------------------------------------------------------------------------


def ridges(**parameters):
    with mm.patched_sklearn():
        from sklearn.kernel_ridge import KernelRidge
    return RIDGE(**parameters), KernelRidge(**parameters)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"kernel": "rbf", "alpha": 0.1},
        {"kernel": "laplacian", "gamma": 0.3},
        {"kernel": "cosine"},
        {"kernel": "poly", "degree": 2, "coef0": 0.5},
        {"kernel": "polynomial", "degree": 1.5, "coef0": 3},
        {"kernel": "sigmoid", "gamma": 1e-3},
        {"kernel": "chi2", "gamma": 0.5},
        {"kernel": "additive_chi2", "alpha": 40.0},
        {"kernel": lambda a, b, power: float(a @ b) ** power, "kernel_params": {"power": 2}},
        {"kernel": "rbf", "alpha": [0.1, 2.0]},
    ],
    ids=name_of,
)
def test_kernel_ridge_is_scikit_learns(parameters):
    rng = np.random.default_rng(0)
    targets = np.column_stack([Y, np.sin(X[:, 0])])
    weight = rng.choice([0.0, 1.0, 3.0], size=len(X))
    models = [model.fit(X, targets, weight) for model in ridges(**parameters)]
    theirs, ours = models
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6, atol=1e-6)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    single = [model.set_params(alpha=1.0).fit(X, Y).predict(X) for model in ridges(**parameters)]
    np.testing.assert_allclose(*single, rtol=1e-6, atol=1e-6)


def test_kernel_ridge_of_a_given_matrix():
    K = np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=2))
    theirs, ours = (model.fit(K, Y).predict(K) for model in ridges(kernel="precomputed", alpha=0.1))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


# -- GridSearchCV ---------------------------------------------------------------------------------------------------


def searches(estimator, grid, **parameters):
    """scikit-learn's search and ours, fitted."""
    with mm.patched_sklearn(searches=True):
        from sklearn.model_selection import GridSearchCV
    return [search(estimator, grid, **parameters).fit(X, Y) for search in (SEARCH, GridSearchCV)]


def test_a_search_of_svc_runs_inside_the_solver_and_finds_the_same(caplog):
    grid = {"gamma": [0.01, 0.3], "C": [0.1, 10.0, 100.0]}
    with caplog.at_level(logging.INFO, logger="maxmargin.accel"):
        theirs, ours = searches(mm.SVC(tol=1e-8), grid, cv=3)  # so that no row is within the tolerance
    assert "runs inside the solver" in caplog.text
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    for name in ("mean_test_score", "std_test_score", "split2_test_score", "rank_test_score", "param_gamma"):
        np.testing.assert_allclose(ours.cv_results_[name].astype(float), theirs.cv_results_[name].astype(float))
    assert (ours.best_params_, ours.best_index_, ours.n_splits_) == (
        theirs.best_params_, theirs.best_index_, theirs.n_splits_
    )  # fmt: skip
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.score(X, Y) == theirs.score(X, Y)
    assert "gap" in ours.cv_results_
    assert set(theirs.cv_results_) <= set(ours.cv_results_)
    assert sklearn.base.clone(ours).get_params(deep=False).keys() == theirs.get_params(deep=False).keys()


@pytest.mark.parametrize(
    ("machine", "grid", "parameters", "reason"),
    [
        (mm.SVR(), {"C": [1.0, 2.0]}, {}, "it searches SVR"),
        (mm.SVC(), {"kernel": ["rbf", "linear"]}, {}, "other parameters"),
        (mm.SVC(), {"C": [1.0, np.inf], "gamma": [1.0]}, {"error_score": 0.0}, "no finite number"),
        (mm.SVC(), {"gamma": ["scale", 1.0]}, {}, "no finite number"),
        (mm.SVC(), {"C": [1.0]}, {}, "another value in every fold"),
        (mm.SVC(kernel=mm.kernels.Linear()), {"C": [1.0]}, {}, "the kernel is no name"),
        (mm.SVC(gamma=1.0), {"C": [1.0]}, {"scoring": ["accuracy"], "refit": "accuracy"}, "scoring is no name"),
        (mm.SVC(gamma=1.0), {"C": [1.0]}, {"return_train_score": True}, "training scores"),
    ],
    ids=lambda value: str(value)[:40].replace("\n", ""),
)
@pytest.mark.filterwarnings("ignore")
def test_other_searches_are_scikit_learns_and_the_log_says_why(machine, grid, parameters, reason, caplog):
    with caplog.at_level(logging.INFO, logger="maxmargin.accel"):
        theirs, ours = searches(machine, grid, cv=2, **parameters)
    assert reason in caplog.text
    assert theirs.cv_results_["params"] == ours.cv_results_["params"]
    assert "gap" not in ours.cv_results_


# -- python -m maxmargin.accel ---------------------------------------------------------------------------------------

SCRIPT = """
import sys
from beside import WORD
from sklearn.svm import SVC
print(__name__, WORD, SVC.__module__.split(".")[0], *sys.argv[1:])
sys.exit(7)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "beside.py").write_text("WORD = 'found'\n")
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    return tmp_path


def run(folder, *arguments):
    command = [sys.executable, "-m", "maxmargin.accel", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_a_script_runs_unchanged_with_its_arguments_and_exit_code(folder):
    done = run(folder.parent, str(folder / "script.py"), "--searches", "-m", "x")
    assert (done.returncode, done.stdout) == (7, "__main__ found maxmargin --searches -m x\n")
    assert "maxmargin.accel: sklearn.svm.SVC is now" in done.stderr


def test_a_module_runs_unchanged(folder):
    done = run(folder, "--quiet", "-m", "script", "one")
    assert (done.returncode, done.stdout, done.stderr) == (7, "__main__ found maxmargin one\n", "")


def test_searches_can_be_asked_for(folder):
    (folder / "search.py").write_text("from sklearn.model_selection import GridSearchCV as G; print(G.__module__)")
    assert run(folder, "--searches", "search.py").stdout.startswith("maxmargin.accel")
    assert run(folder, "search.py").stdout.startswith("sklearn")


def test_errors_are_the_scripts_own(folder):
    (folder / "fails.py").write_text("raise KeyError('mine')")
    done = run(folder, "fails.py")
    assert done.returncode == 1
    assert "KeyError: 'mine'" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["-m"], ["--fast", "script.py"]])
def test_a_wrong_call_shows_how(folder, arguments):
    done = run(folder, *arguments)
    assert done.returncode == 2
    assert "usage: python -m maxmargin.accel" in done.stderr


def test_help(folder):
    assert run(folder, "--help").stdout.startswith("usage:")


# -- l1_min_c -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights_leave_0_just_above_the_least_cost(classes, fit_intercept):
    rows, label = (data[classes > Y] for data in (X, Y))
    makers = {
        "squared_hinge": lambda C: mm.LinearSVC(penalty="l1", C=C, fit_intercept=fit_intercept),
        "log": lambda C: mm.LinearClassifier("logistic", "l1", C=C, fit_intercept=fit_intercept),
    }
    for loss, maker in makers.items():
        C = mm.l1_min_c(rows, label, loss=loss, fit_intercept=fit_intercept)
        assert not maker(0.999 * C).fit(rows, label).coef_.any()
        assert maker(1.001 * C).fit(rows, label).coef_.any()


def test_l1_min_c_refuses_what_makes_no_sense():
    with pytest.raises(ValueError, match="'squared_hinge' or 'log'"):
        mm.l1_min_c(X, Y, loss="hinge")
    with pytest.raises(ValueError, match="Ill-posed l1_min_c"):
        mm.l1_min_c(np.zeros((4, 2)), [0, 1, 0, 1])


def test_the_patched_one_is_scikit_learns_for_logistic_regression():
    rows, label = load_diabetes().data, load_diabetes().target > 150
    with mm.patched_sklearn():
        assert sklearn.svm.l1_min_c(rows, label, loss="log") == THEIRS["l1_min_c"](rows, label, loss="log")
        assert sklearn.svm.l1_min_c(rows, label) == mm.l1_min_c(rows, label)
