"""Searches asked for nonsense, or that fail, run out of time or are interrupted: what is finished is kept."""

from __future__ import annotations

import faulthandler
import pickle
import signal

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut

from maxmargin import (
    SVCCV,
    SVRCV,
    LinearRegressorCV,
    LinearSVCCV,
    LinearSVRCV,
    NuSVCCV,
    PegasosSVCCV,
)
from maxmargin.kernels import Gaussian, Linear


@pytest.fixture(autouse=True)
def _no_hang():
    """A search that hangs ends the run with a traceback."""
    faulthandler.dump_traceback_later(120, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


def accuracy(model, X, y):
    return float((model.predict(X) == y).mean())


# -- grids -----------------------------------------------------------------------------------------------------------


def test_all_values_that_make_no_sense_are_named_at_once(iris):
    search = SVCCV(Cs=[-1.0, 1.0, np.nan, "much"], gammas=[0.1, -3.0], param_grid={"class_weight": ["equal", None]})
    with pytest.raises(ValueError, match="SVC cannot take") as error:
        search.fit(*iris)
    for part in ("C=-1.0:", "C=nan:", "C='much':", "gamma=-3.0:", "class_weight='equal':", "error_score=numpy.nan"):
        assert part in str(error.value)
    assert "C=1.0" not in str(error.value)
    assert not hasattr(search, "cv_results_")


def test_cells_that_make_no_sense_are_left_out_if_asked(iris):
    search = SVCCV(Cs=[-1.0, 1.0, None], gammas=[0.1, -3.0], error_score=np.nan).fit(*iris)
    status, scores = search.cv_results_["status"], search.cv_results_["mean_test_score"]
    assert [s.startswith("invalid: C=") for s in status] == [True, True, False, False, True, True]
    assert status[2] == "done"
    assert status[3].startswith("invalid: gamma=-3.0: The 'gamma' parameter of SVC")
    np.testing.assert_array_equal(np.isnan(scores), [True, True, False, True, True, True])
    assert search.best_params_ == {"C": 1.0, "gamma": 0.1}
    with pytest.raises(ValueError, match=r"no cell of the grid makes sense: invalid: C=-1.0: "):
        SVCCV(Cs=[-1.0], error_score=np.nan).fit(*iris)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"param_grid": {"sigma": [1.0]}}, "SVC has no parameter 'sigma'; it has C, "),
        ({"param_grid": {"Cs": [1.0]}}, "no parameter 'Cs'"),
        ({"param_grid": {"C__inner": [1.0]}}, "C__inner"),
        ({"param_grid": {"kernel__gamma": [1.0]}}, "'rbf' has no parameters"),
        ({"kernel": Gaussian(1.0) + Linear(), "param_grid": {"kernel__left__width": [1.0]}}, "has gamma, sigma, over"),
        ({"kernel": Gaussian(1.0) + Linear(), "param_grid": {"kernel__left__gamma": [-1.0]}}, "must not be negative"),
        ({"Cs": []}, r"values of C must be a list with at least one of them; got \[\]"),
        ({"gammas": ()}, "values of gamma must be a list"),
        ({"Cs": 1.0}, "values of C must be a list.*got 1.0"),
        ({"gammas": "scale"}, "values of gamma must be a list.*got 'scale'"),
        ({"param_grid": {"kernel": "rbf"}}, "values of kernel must be a list.*got 'rbf'"),
        ({"Cs": [1.0], "param_grid": {"C": [1.0]}}, "C are given twice, as Cs and in param_grid"),
    ],
    ids=str,
)
def test_grids_that_are_none(iris, options, match):
    with pytest.raises(ValueError, match=match):
        SVCCV(**options).fit(*iris)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("param_grid", "C"),
        ("scale", "yes"),
        ("refit", 1.5),
        ("drop", None),
        ("one_standard_error", 0.5),
        ("error_score", "ignore"),
        ("time_limit", 0.0),
        ("time_limit", -1.0),
        ("n_jobs", 1.5),
        ("verbose", -1),
        ("tol", -1.0),
        ("kernel", "gaussian"),
    ],
)
def test_parameters_out_of_range(iris, name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of SVC"):
        SVCCV(**{name: value}).fit(*iris)
    with pytest.raises(ValueError, match="n_jobs=0"):  # no thread is too few
        SVCCV(n_jobs=0).fit(*iris)


def test_values_may_come_from_a_generator(iris):
    search = SVCCV(Cs=(10.0**k for k in range(3)), gammas=[0.1]).fit(*iris)
    assert len(search.cv_results_["params"]) == 3


def test_a_matrix_of_kernel_values_has_no_features_to_scale(iris):
    X, y = iris
    with pytest.raises(ValueError, match=r"scale.*precomputed|precomputed.*scale"):
        SVCCV(kernel="precomputed", Cs=[1.0], scale=True).fit(X @ X.T, y)


# -- rows and folds --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "search", [SVCCV(), LinearSVCCV(), SVRCV(), LinearSVRCV(), NuSVCCV(), PegasosSVCCV()], ids=repr
)
def test_rows_that_make_no_sense(search):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="NaN"):
        search.fit(np.where(X > 5, np.nan, X), y)
    with pytest.raises(ValueError, match=r"non-zero|zero or negative"):
        search.fit(X, y, sample_weight=np.zeros(150))
    with pytest.raises(ValueError, match=r"149|inconsistent"):
        search.fit(X, y[:-1])
    assert not hasattr(search, "cv_results_")


@pytest.mark.parametrize("search", [SVCCV(Cs=[1.0], gammas=[0.1]), LinearSVCCV(Cs=[1.0])], ids=repr)
def test_folds_that_miss_a_class_are_scored_as_they_are(iris, search):
    """Rows of a class that was not there in training are wrong, whatever is said of them."""
    X, y = iris
    folds = [(np.arange(100), np.r_[40:60, 100:120]), (np.r_[0:30, 60:150], np.r_[30:60])]
    with pytest.warns(UserWarning, match="fold 0 holds out rows of class 2 and trains on none of them"):
        search.set_params(cv=folds).fit(X, y)
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(0.5, abs=0.03)
    assert search.cv_results_["split1_test_score"][0] > 0.9
    np.testing.assert_array_equal(search.classes_, [0, 1, 2])


@pytest.mark.parametrize("search", [SVCCV(), LinearSVCCV(), NuSVCCV()], ids=repr)
def test_a_fold_with_one_class_is_named(iris, search):
    X, y = iris
    folds = [(np.arange(150), np.arange(150)), (np.arange(50), np.arange(50, 150))]
    with pytest.raises(ValueError, match=r"(?s)training rows of fold 1 .* are all of class"):
        search.set_params(cv=folds).fit(X, y)


def test_the_message_about_a_fold_is_short(iris):
    """Not the row numbers of all folds."""
    X, y = iris
    with pytest.raises(ValueError, match="fold 0") as error:
        SVCCV(cv=[(np.arange(50), np.arange(50, 150))]).fit(X, y)
    assert len(str(error.value)) < 400


def test_folds_that_are_none(iris):
    X, y = iris
    with pytest.raises(ValueError, match="n_splits"):
        SVCCV(cv=1).fit(X, y)
    with pytest.raises(ValueError, match="groups"):
        SVCCV(cv=GroupKFold(3)).fit(X, y)
    with pytest.raises(ValueError, match="makes no split of 150 rows"):
        SVCCV(cv=[]).fit(X, y)
    weight = np.r_[np.zeros(50), np.ones(100)]
    with pytest.raises(ValueError, match=r"fold 0 .* no row of positive weight to score"):
        SVCCV(cv=KFold(3)).fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match=r"(?s)fold 0 .* no row of positive weight to train on"):
        SVCCV(cv=[(np.arange(50), np.arange(50, 150))]).fit(X, y, sample_weight=weight)
    with pytest.warns(UserWarning, match="least populated class"):
        assert SVCCV(Cs=[1.0], gammas=[0.1]).fit(X[:103], y[:103]).best_score_ > 0.9


def test_r2_of_single_rows_is_refused():
    """R^2 needs two rows; scikit-learn's is nan with a warning, never a number that looks like a score."""
    X, y = load_diabetes(return_X_y=True)
    for search in (LinearRegressorCV("squared", "l2"), SVRCV(gammas=[1.0])):
        search.set_params(Cs=[0.01, 1.0], cv=LeaveOneOut())
        with pytest.raises(ValueError, match=r"fold 0|two|scoring"):
            search.fit(X[:20], y[:20])


def test_things_that_are_no_numbers_are_weighted_like_numbers():
    words, y = ["ab", "abc", "abd", "xy", "xyz", "xw"] * 3, np.array([0, 0, 0, 1, 1, 1] * 3)

    def shared(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    assert SVCCV(kernel=shared, cv=3).fit(words, y).best_score_ == 1.0
    weight = np.r_[0.0, np.ones(17)]
    assert SVCCV(kernel=shared, cv=3).fit(words, y, sample_weight=weight).best_score_ == 1.0


# -- scorers that fail -----------------------------------------------------------------------------------------------


def failing(model, X, y):
    raise RuntimeError("no score today")


def test_a_scorer_that_fails(iris):
    search = SVCCV(Cs=[0.1, 1.0], gammas=[0.1, 1.0], scoring=failing)
    with pytest.raises(RuntimeError, match="no score today"):
        search.fit(*iris)
    with pytest.raises(ValueError, match="no cell of the grid was finished: failed: RuntimeError: no score today"):
        search.set_params(error_score=np.nan).fit(*iris)
    assert not [name for name in vars(search) if name.endswith("_")]  # as if it had never been fitted


@pytest.mark.parametrize("search", [SVCCV(), LinearSVCCV()], ids=repr)
def test_a_scorer_that_fails_while_the_search_picks_the_grid(iris, search):
    with pytest.raises(ValueError, match="no cell of the grid was finished: failed: RuntimeError: no score today"):
        search.set_params(error_score=np.nan, scoring=failing).fit(*iris)


def test_a_scorer_that_fails_now_and_then_costs_the_cells_it_failed_on(iris):
    def moody(model, X, y):
        if model.gamma > 1:
            raise RuntimeError("narrow")
        return accuracy(model, X, y)

    search = SVCCV(Cs=[0.1, 1.0], gammas=[0.1, 10.0], scoring=moody, error_score=np.nan).fit(*iris)
    failed = [status == "failed: RuntimeError: narrow" for status in search.cv_results_["status"]]
    assert failed == np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, True, False, True]
    assert search.best_params_["gamma"] == 0.1


def test_a_scorer_need_not_like_a_few_rows(iris):
    """The race asks for scores of parts that nobody else asks for; those may fail."""

    def picky(model, X, y):
        if len(y) < 20:
            raise RuntimeError("too few rows")
        return accuracy(model, X, y)

    search = SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.1, 1.0], scoring=picky, error_score=np.nan).fit(*iris)
    assert not any(status.startswith("failed") for status in search.cv_results_["status"])


def test_scores_that_are_no_numbers(iris):
    with pytest.raises(ValueError, match="the score of fold 0 is nan at C=1"):
        SVCCV(Cs=[1.0], gammas=[0.1], scoring=lambda model, X, y: np.nan, n_jobs=1).fit(*iris)
    with pytest.raises(ValueError, match="scoring"):
        SVCCV(Cs=[1.0], gammas=[0.1], scoring="nonsense").fit(*iris)
    with pytest.raises((ValueError, TypeError), match="scoring"):  # one score, not several
        SVCCV(Cs=[1.0], gammas=[0.1], scoring=["accuracy", "f1_macro"]).fit(*iris)
    with pytest.raises(AttributeError, match="predict_proba"):
        SVCCV(Cs=[1.0], gammas=[0.1], scoring="neg_log_loss").fit(*iris)


def test_a_scorer_of_weighted_rows_takes_weights(iris):
    with pytest.raises(TypeError, match="give a scorer that takes sample_weight"):
        SVCCV(Cs=[1.0], gammas=[0.1], scoring=accuracy).fit(*iris, sample_weight=np.ones(150))
    weighted = SVCCV(Cs=[1.0], gammas=[0.1], scoring="balanced_accuracy").fit(*iris, sample_weight=np.ones(150))
    assert weighted.best_score_ > 0.9


# -- the end before the end ------------------------------------------------------------------------------------------


def interrupting(after, rows=0):
    """A scorer that presses Ctrl-C the ``after``-th time that it is asked for at least so many rows."""
    turns = []

    def metric(y, predicted):
        turns.extend([len(y)] * (len(y) >= rows))
        if len(turns) == after and len(y) >= rows:  # once: the second Ctrl-C is Python's own
            signal.raise_signal(signal.SIGINT)
        return float((predicted == y).mean())

    return make_scorer(metric)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("drop", "after"), [(False, 4), (False, 20), (True, 30), (True, 130)])
def test_what_is_finished_is_kept_when_somebody_interrupts(iris, after, drop, n_jobs):
    before = signal.getsignal(signal.SIGINT)
    search = SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.01, 0.1, 1.0], cv=3, drop=drop, n_jobs=n_jobs)
    search.set_params(scoring=interrupting(after))
    with pytest.warns(ConvergenceWarning, match=r"ended early \(interrupted\) with \d of 9 cells finished"):
        search.fit(*iris)
    assert signal.getsignal(signal.SIGINT) is before
    assert search.best_score_ > 0.5
    assert search.predict(iris[0]).shape == (150,)
    assert "not reached" in search.cv_results_["status"]
    np.testing.assert_array_equal(
        np.isnan(search.cv_results_["mean_test_score"]), search.cv_results_["status"] != "done"
    )


@pytest.mark.parametrize("search", [LinearSVCCV(), SVCCV(gammas=[0.1])], ids=repr)
def test_cells_of_the_line_that_was_interrupted_are_kept(iris, search):
    """Two costs are scored in all folds when the third one is interrupted."""
    search.set_params(Cs=[0.01, 0.1, 1.0, 10.0], cv=3, drop=False, n_jobs=1, scoring=interrupting(7, rows=50))
    with pytest.warns(ConvergenceWarning, match="with [23] of 4 cells finished"):
        search.fit(*iris)
    assert search.cv_results_["status"].tolist()[:2] == ["done", "done"]
    assert not np.isnan(search.cv_results_["mean_test_score"][:2]).any()
    assert search.cv_results_["status"][3] == "not reached"
    assert search.best_index_ <= 2


def test_an_interrupt_before_the_first_cell_is_an_interrupt(iris):
    def at_once(model, X, y):
        signal.raise_signal(signal.SIGINT)
        raise RuntimeError("never scored")

    search = SVCCV(Cs=[0.1, 1.0], gammas=[0.1], error_score=np.nan, n_jobs=1, scoring=at_once)
    with pytest.raises(KeyboardInterrupt):
        search.fit(*iris)
    assert not hasattr(search, "cv_results_")


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_winner_that_cannot_be_fitted_leaves_the_search_as_it_was(iris, monkeypatch, error):
    def failing(self, *given):
        raise error

    fitted = SVCCV(Cs=[0.1, 1.0], gammas=[0.1]).fit(*iris)
    before, new = dict(vars(fitted)), SVCCV(Cs=[0.1], gammas=[0.1])
    monkeypatch.setattr(SVCCV, "_refit", failing)
    for search in (fitted.set_params(Cs=[0.1]), new):
        with pytest.raises(error):
            search.fit(*iris)
    assert vars(fitted) == {**before, "Cs": [0.1]}
    assert not hasattr(new, "cv_results_")


def test_no_time_at_all_is_an_error_that_says_so(iris):
    search = SVCCV(time_limit=1e-9)
    with pytest.raises(ValueError, match="no cell of the grid was finished: time_limit was reached before the first"):
        search.fit(*iris)
    assert not hasattr(search, "cv_results_")


@pytest.mark.parametrize("kind", [SVCCV, LinearSVCCV])
def test_little_time_gives_the_best_of_what_there_is(iris, kind, monkeypatch):
    """The clock of the search moves by a second whenever it is looked at."""
    from maxmargin.selection import _run, _search

    class Clock:
        now = 0.0

        def perf_counter(self):
            self.now += 1.0
            return self.now

    clock = Clock()
    monkeypatch.setattr(_search, "time", clock)
    monkeypatch.setattr(_run, "time", clock)
    search = kind(time_limit=8.0, n_jobs=1)
    with pytest.warns(ConvergenceWarning, match=r"ended early \(time_limit=8.0 was reached\)"):
        search.fit(*iris)
    assert search.best_score_ > 0.5
    assert search.predict(iris[0]).shape == (150,)
    assert "not reached" in search.cv_results_["status"]
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]


# -- no winner -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["predict", "decision_function", "score"])
def test_without_refit_the_error_says_what_to_do(iris, method):
    search = SVCCV(Cs=[0.1, 1.0], gammas=[0.1], refit=False).fit(*iris)
    assert search.best_params_ in search.cv_results_["params"]
    assert not hasattr(search, "best_estimator_")
    with pytest.raises((AttributeError, NotFittedError)) as error:
        getattr(search, method)(*iris[: 2 if method == "score" else 1])
    causes = f"{error.value} {error.value.__cause__}"
    assert "refit=True" in causes
    assert "not fitted yet" not in causes


@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_before_fit_there_is_nothing_to_predict_with(iris, method):
    with pytest.raises(NotFittedError):
        getattr(SVCCV(), method)(iris[0])
    with pytest.raises(NotFittedError):
        SVCCV().score(*iris)
    assert not hasattr(SVCCV(), "classes_")


def test_a_search_that_fails_leaves_the_last_one_as_it_was(iris):
    X, y = iris
    search = SVCCV(Cs=[0.1, 1.0], gammas=[0.1]).fit(X, y)
    before = pickle.dumps(search)
    for wrong in ({"Cs": [-1.0]}, {"scoring": failing}, {"time_limit": 1e-9}, {"cv": 1}):
        with pytest.raises((ValueError, RuntimeError)):
            search.set_params(**wrong).fit(X, y)
        search.set_params(Cs=[0.1, 1.0], scoring=None, time_limit=None, cv=None)
    assert pickle.dumps(search) == before
