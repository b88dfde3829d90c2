"""Limits are limits: one deadline per fit, and everything asks it. Work after the deadline is counted, not timed."""

from __future__ import annotations

import pathlib
import threading
import time
import warnings
from functools import partialmethod

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from maxmargin import (
    LSSVC,
    SGDSVC,
    SVC,
    SVCCV,
    SVR,
    KernelLeastSquares,
    KernelLeastSquaresCV,
    KernelPegasosSVC,
    LinearClassifier,
    LinearSVC,
    LinearSVCCV,
    NuSVC,
    OneClassSVM,
    PegasosSVC,
    _validation,
)
from maxmargin._stop import Stopped, asked_to_stop, stops_when
from maxmargin.backends import KernelGram, backend_for, run_parallel, run_queue
from maxmargin.calibration import fit_calibrator
from maxmargin.certificates import _approximation, _linear, _linear_rows, _scores, certify_tasks
from maxmargin.delivered import NOT_FITTED
from maxmargin.estimators import _approximation as _approximation_fit
from maxmargin.estimators import _fit, _kernel_folds, _kernel_online, _least_squares, _many_classes, _proof
from maxmargin.estimators._machine import Training
from maxmargin.estimators._run import _Fit
from maxmargin.estimators._turns import turns_in_time
from maxmargin.kernels import Gaussian
from maxmargin.maps import NystroemMap
from maxmargin.problems import LinearProblem, SVCProblem
from maxmargin.selection._run import Search
from maxmargin.solvers import AllClassesBlocks, Decomposition, Watch, blocks, stored

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 4))
Y = RNG.integers(0, 12, 240)
TASKS = {"ovo": 66, "ovr": 12, "code": 12}


def quiet(model, y=Y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def test_the_deadline_counts_from_the_beginning_of_the_fit():
    began = time.perf_counter() - 5.0
    data = Training(X, Y, np.ones(len(X)), np.arange(len(X)), len(X), began=began)
    assert data.deadline(None) == np.inf
    assert data.deadline(7.0) == began + 7.0
    assert Watch(deadline=data.deadline(4.0)).must_stop(0)  # whatever was done before any solver began


@pytest.mark.parametrize("scheme", list(TASKS))
@pytest.mark.filterwarnings("ignore:specified nu is infeasible")
@pytest.mark.parametrize("machine", [SVC, NuSVC, LinearSVC])
def test_after_the_deadline_the_other_tasks_take_no_step(machine, scheme):
    model = quiet(machine(multiclass=scheme, time_limit=1e-9))
    assert len(model.intercept_) == TASKS[scheme]
    assert int(np.sum(model.n_iter_)) == 0
    assert model.certificate_.holds
    assert len(model.history_) == TASKS[scheme]
    assert len(model.predict(X)) == len(X)


@pytest.mark.parametrize("calibration", [None, "sigmoid"])
@pytest.mark.parametrize("scheme", list(TASKS))
def test_tasks_that_nobody_begins_are_delivered_at_once(scheme, calibration, monkeypatch):
    """No kernel values, no solver, nothing for each: what they come to is what each would have come to by itself."""
    for owner, name in [(Decomposition, "solve"), (_Fit, "_deliver"), (KernelGram, "take")]:
        monkeypatch.setattr(owner, name, None)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    with pytest.warns(ConvergenceWarning, match=f"in {TASKS[scheme]} of {TASKS[scheme]} tasks: time_limit"):
        model = SVC(multiclass=scheme, calibration=calibration, time_limit=1e-9).fit(X, Y, sample_weight=weight)
    assert len(model.support_) == 0
    assert set(model.n_iter_) == {0}
    costs = [(task, SVCProblem(task.sign, weight[task.rows])) for task in model._scheme.tasks(Y)]
    for (task, problem), intercept, line in zip(costs, model.intercept_, model.history_, strict=True):
        zero = np.zeros(len(task.rows))
        offsets = problem.offsets(zero, zero)
        assert intercept == offsets.intercept
        values = problem.primal(zero, zero, offsets), problem.dual(zero, zero), problem.gap(zero, zero, offsets)
        assert (line["primal"], line["dual"], line["gap"]) == pytest.approx(values, rel=1e-14)
    if calibration:
        assert len(model.folds_.intercept) == 1


def test_tasks_whose_goal_is_met_before_they_begin_are_done():
    """A goal of 2.5 is met without coefficients."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert SVC(tol=2.5, time_limit=1e-9, certify=False).fit(X, Y).fit_status_ == 0


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("scheme", list(TASKS))
def test_linear_tasks_that_nobody_begins_are_delivered_at_once(scheme, loss, monkeypatch):
    """One search for all their intercepts."""
    searches = []
    known = LinearProblem._search
    monkeypatch.setattr(LinearProblem, "_search", lambda *given: searches.append(1) or known(*given))
    model = quiet(LinearClassifier(loss, multiclass=scheme, time_limit=1e-9, certify=False))
    assert len(searches) == 1
    assert len(set(model.intercept_)) > 1
    assert not model.coef_.any()
    assert model.dual_coef_.shape == (TASKS[scheme], 0)
    assert len(model.history_) == TASKS[scheme]


def test_a_judge_of_tasks_on_rows_of_their_own_looks_up_between_them(monkeypatch):
    """Each of 66 tasks is a single block, in which nobody looks up."""
    model, judged = quiet(LinearSVC(multiclass="ovo")), []
    known = _linear._judged
    monkeypatch.setattr(_linear, "_judged", lambda *given: judged.append(1) or known(*given))
    monkeypatch.setattr(_linear, "BLOCK_VALUES", X.shape[1] * 100)  # of some 40 rows each
    with stops_when(lambda: bool(judged)), pytest.raises(Stopped):
        certify_tasks(model, X, Y)
    assert len(judged) <= 6
    monkeypatch.setattr(_linear, "BLOCK_VALUES", 2**17)
    with stops_when(lambda: bool(judged)):
        assert len(certify_tasks(model, X, Y)) == 66  # so little work is not worth a look


@pytest.mark.parametrize("scheme", ["ovo", "ovr", "code", "crammer-singer", "weston-watkins"])
@pytest.mark.parametrize("machine", [SVC, LinearSVC])
@pytest.mark.parametrize("limit", [1e-9, 60.0])
def test_folds_of_a_calibration_share_the_limit(machine, scheme, limit, monkeypatch):
    """The machine has a part of the limit and each fold one of the rest: none has a limit of its own."""
    options = {"loss": "hinge"} if machine is LinearSVC and scheme in ("crammer-singer", "weston-watkins") else {}
    model = machine(multiclass=scheme, calibration="sigmoid", time_limit=limit, **options)
    deadlines = []
    made = Watch.__init__

    def noted(self, *given, **named):
        made(self, *given, **named)
        deadlines.append((self.deadline, time.perf_counter()))

    monkeypatch.setattr(Watch, "__init__", noted)
    began = time.perf_counter()
    quiet(model)
    ready = time.perf_counter()  # the fit's own clock began in between
    assert len(deadlines) >= 2  # tasks that are solved together share a watch
    assert all(due <= max(ready + limit, now) for due, now in deadlines)
    assert min(due for due, _ in deadlines) < max(began + limit, deadlines[0][1])
    assert model.predict_proba(X).shape == (len(X), 12)


# -- folds that there is no time for -----------------------------------------------------------------------------------

#: A calibrated machine, what fits one fold of it, and how often that is called before the folds.
FOLDED = {
    "pairs": (SVC(), _kernel_folds, "run_tasks", 0),
    "one-vs-all": (SVC(multiclass="ovr"), _kernel_folds, "run_tasks", 0),
    "nu": (NuSVC(nu=0.1), _kernel_folds, "run_tasks", 0),
    "one problem": (SVC(multiclass="crammer-singer"), AllClassesBlocks, "solve", 1),
    "landmarks": (SVC(approximation="nystroem", n_components=30), _approximation_fit, "solve_linear", 1),
    "linear": (LinearSVC(), LinearSVC, "_for_fold", 0),
    "linear, one problem": (LinearSVC(multiclass="crammer-singer", loss="hinge"), LinearSVC, "_for_fold", 0),
    "steps": (PegasosSVC(max_iter=2, random_state=0), PegasosSVC, "_for_fold", 0),
    "steps with a kernel": (KernelPegasosSVC(max_iter=2, random_state=0), KernelPegasosSVC, "_for_fold", 0),
}


class Clock:
    """Stands still but for what is said to take time."""

    def __init__(self, monkeypatch):
        self.now, self.patch = 1000.0, monkeypatch
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)

    def takes(self, owner, name, seconds):
        """Every call of this function takes so many seconds."""
        called = getattr(owner, name)

        def slow(*given, **named):
            self.now += seconds
            return called(*given, **named)

        self.patch.setattr(owner, name, slow)


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic", "venn-abers"])
@pytest.mark.parametrize("name", list(FOLDED))
def test_folds_that_would_begin_after_the_limit_are_left_out(name, kind, monkeypatch):
    """Each fold takes 40 of 100 seconds, whatever its share: the third, which would be late, is not begun, and the rows
    of those left out take no part."""
    machine, owner, what, before = FOLDED[name]
    seen = []
    monkeypatch.setattr(_many_classes, "fit_calibrator", lambda *given: (seen.append(given), fit_calibrator(*given))[1])
    known = _fit.cross_fit

    def poisoned(*given):
        folds, scores = known(*given)
        scores[folds.number == NOT_FITTED] = np.nan  # whoever looks at them has nan, too
        return folds, scores

    monkeypatch.setattr(_fit, "cross_fit", poisoned)
    Clock(monkeypatch).takes(owner, what, 40.0)
    fitted = 2 - before
    model = clone(machine).set_params(calibration=kind, time_limit=100.0)
    with pytest.warns(ConvergenceWarning) as warned:
        model.fit(X, Y % 3)
    assert any(f"when {fitted} of 5 folds" in str(said.message) for said in warned)
    number = model.folds_.number
    assert len(model.folds_.intercept) == fitted
    assert set(number) == {NOT_FITTED, *range(fitted)}
    assert max(len(scores) for _, scores, *_ in seen) <= np.count_nonzero(number != NOT_FITTED)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.predict_set(X, 0.9).any(axis=1).mean() > 0.5
    assert model.conformal_.total == np.count_nonzero(number != NOT_FITTED)


def begun(shares, monkeypatch):
    """How many of five parts are begun within 100 seconds, if one takes ``shares(seconds given)``."""
    clock, number = Clock(monkeypatch), 0
    for _, due in turns_in_time(5, clock.now + 100.0):
        clock.now += shares(due - clock.now)
        number += 1
    return number


def test_a_part_is_begun_if_what_it_takes_beyond_its_share_fits(monkeypatch):
    assert begun(lambda own: own, monkeypatch) == 5
    assert begun(lambda own: own / 2, monkeypatch) == 5
    assert begun(lambda own: own + 19.0, monkeypatch) == 3  # ends at 39, at 73, at 101
    assert begun(lambda own: own + 30.0, monkeypatch) == 2  # ends at 50, at 92
    assert begun(lambda own: own + 45.0, monkeypatch) == 1  # ends at 65
    assert begun(lambda own: 1e6, monkeypatch) == 1


@pytest.mark.parametrize("name", list(FOLDED))
def test_the_first_fold_is_fitted_whatever_the_time_is(name, monkeypatch):
    machine, owner, what, _ = FOLDED[name]
    Clock(monkeypatch).takes(owner, what, 1e6)
    model = quiet(clone(machine).set_params(calibration="sigmoid", time_limit=100.0), Y % 3)
    assert len(model.folds_.intercept) == 1
    assert model.predict_proba(X).shape == (len(X), 3)


@pytest.mark.parametrize("name", list(FOLDED))
@pytest.mark.parametrize("limit", [None, 1e9])
def test_folds_that_there_is_time_for_are_all_fitted(name, limit, monkeypatch):
    machine, owner, what, _ = FOLDED[name]
    Clock(monkeypatch).takes(owner, what, 40.0)
    model = quiet(clone(machine).set_params(calibration="sigmoid", time_limit=limit), Y % 3)
    assert len(model.folds_.intercept) == 5
    assert (model.folds_.number >= 0).all()


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic", "venn-abers"])
def test_of_classes_that_no_fold_has_held_out_nothing_is_known(kind):
    calibrate = fit_calibrator(kind, np.zeros(0), np.zeros(0), np.zeros(0))
    np.testing.assert_array_equal(calibrate(np.array([-3.0, 0.0, 1.0])), 0.5)


# -- starts whose scores take long ---------------------------------------------------------------------------------


class Impatient(Watch):
    """Whose time is over when it has been asked so many times."""

    def must_stop(self, n_iter):
        self.max_iter -= 1
        return self.max_iter < 0


def test_scores_of_a_start_are_summed_until_the_time_is_over(monkeypatch):
    monkeypatch.setattr(blocks, "START_VALUES", 16 * len(X))
    beta = np.where(np.arange(len(X)) < 100, 1.0, 0.0)
    gram = backend_for("cpu").gram(Gaussian(0.1), X)
    exact, known = blocks.first_scores(gram, beta, Watch())
    assert known
    for looks, parts in [(0, 1), (3, 4), (100, 7)]:
        gram.entries = 0
        f, known = blocks.first_scores(gram, beta, Impatient(max_iter=looks, deadline=1.0))
        assert gram.entries == min(16 * parts, 100) * len(X)
        assert known == (parts == 7)
        np.testing.assert_allclose(f, exact, rtol=1e-12 if known else 0.5)
    nothing, known = blocks.first_scores(gram, 0.0 * beta, Impatient(max_iter=0, deadline=1.0))
    assert known
    assert not nothing.any()


@pytest.mark.parametrize("machine", [OneClassSVM(nu=0.5), NuSVC(nu=0.5, calibration="sigmoid")], ids=str)
def test_a_start_that_there_was_no_time_for_says_that_nothing_is_known(machine, monkeypatch):
    """The model is usable; its gap is infinite unless there is time for a proof."""
    monkeypatch.setattr(blocks, "START_VALUES", 2**12)
    monkeypatch.setattr(Decomposition, "__init__", partialmethod(Decomposition.__init__, whole_size=64))
    y = Y % 2
    model = clone(machine).set_params(time_limit=1e-9, certify=False)
    with pytest.warns(ConvergenceWarning, match="time_limit was reached") as warned:
        model.fit(X, y)
    assert not any("gap reached" in str(said.message) for said in warned)
    assert model.history_["gap"].tolist() == [np.inf]
    assert model.history_["dual"].tolist() == [-np.inf]
    assert np.isfinite(model.decision_function(X)).all()
    proven = quiet(clone(machine).set_params(time_limit=1e-9, certify="full"), y).certificate_
    assert proven.holds
    assert 0 < proven.relative_gap < np.inf
    if model.get_params().get("calibration"):  # made from scores, not from their estimates
        held = model.folds_.number == 0
        (scores,) = [own[held] for own in model._fold_scores(X)]
        assert model.calibrators_[0] == fit_calibrator(
            "sigmoid", scores[:, 0], np.where(y[held], 1.0, -1.0), np.ones(held.sum())
        )


# -- machines that learn online ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [PegasosSVC, SGDSVC, KernelPegasosSVC])
def test_machines_that_learn_online_stop_after_their_first_part(machine):
    assert len(quiet(machine(time_limit=1e-9, random_state=0)).classes_) == 12


def test_landmarks_without_time_for_their_features(monkeypatch):
    """Features are computed in blocks; when the time is over no further block is, and nothing was learned."""
    rows = []
    tile = NystroemMap._map

    def noted(self, part):
        rows.append(len(part))
        return tile(self, part)

    monkeypatch.setattr(NystroemMap, "_map", noted)
    model = quiet(SVC(approximation="nystroem", n_components=30, time_limit=1e-9))
    assert rows == [len(X)]
    assert not model.landmark_coef_.any()
    assert model.fit_status_ == 1
    assert model.certificate_.holds


def test_a_map_hears_who_asks_it_to_stop():
    fitted = NystroemMap(n_components=20).fit(X)
    with stops_when(lambda: True), pytest.raises(Stopped):
        fitted.transform(X)
    assert fitted.transform(X).shape == (len(X), 20)


# -- whoever runs a fit may ask it to stop ----------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [SVC, LinearSVC, SVR, OneClassSVM])
def test_a_fit_hears_who_asks_it_to_stop(machine):
    with stops_when(lambda: True):
        model = quiet(machine(), Y.astype(float) if machine is SVR else Y)
    assert int(np.sum(model.n_iter_)) == 0
    again = quiet(machine(), Y.astype(float) if machine is SVR else Y)
    assert int(np.sum(again.n_iter_)) > 0


def test_inner_requests_do_not_hide_outer_ones():
    with stops_when(lambda: True), stops_when(lambda: False):
        assert asked_to_stop()()
    assert not asked_to_stop()()


def test_threads_heed_what_the_thread_heeds_that_started_them():
    heard = []
    with stops_when(lambda: True):
        run_parallel([lambda: heard.append(asked_to_stop()()) for _ in range(3)], 3)
    assert heard == [True, True, True]


def test_after_an_error_no_further_task_is_begun():
    begun, raising = [], threading.Event()

    def first():
        raising.set()
        raise KeyboardInterrupt

    def other():
        begun.append(1)
        assert raising.wait(60)
        time.sleep(0.05)  # until the one that raises has said so

    with pytest.raises(KeyboardInterrupt):
        run_queue([first] + [other] * 50, 2)
    assert len(begun) <= 1


def test_a_watch_that_is_told_nothing_asks_around():
    with stops_when(lambda: True):
        watch = Watch()
    assert watch.must_stop(0)
    assert not Watch().must_stop(0)


@pytest.mark.parametrize(
    "machine",
    [
        SVC(),
        SVC(multiclass="crammer-singer"),
        SVC(approximation="nystroem", n_components=20),
        LinearSVC(),
        LinearSVC(multiclass="crammer-singer"),
        PegasosSVC(),
        KernelPegasosSVC(),
    ],
    ids=str,
)
def test_a_proof_that_is_out_of_time_is_no_proof_and_says_so(machine, monkeypatch):
    """The parts of a proof are made small, and its time is over when it begins."""
    for module in (_scores, _linear, _approximation):
        monkeypatch.setattr(module, "BLOCK_VALUES", 64)
    monkeypatch.setattr(_scores, "SUM", 8)
    monkeypatch.setattr(_proof, "SHARP", -1.0)  # or it would be there when the solver ends
    monkeypatch.setattr(_linear_rows, "BLOCK_ROWS", 8)
    machine = clone(machine).set_params(time_limit=1e3)
    assert quiet(machine, Y % 3).certificate_.holds
    monkeypatch.setattr(_proof, "LATE", -2e3)
    monkeypatch.setattr(_proof, "LATE_SHARE", -2.0)
    cut = quiet(machine, Y % 3).certificate_
    assert (cut.method, cut.holds) == ("estimated", False)
    assert "out of time before its proof" in cut.reason
    if not isinstance(machine, KernelPegasosSVC):  # which knows none
        assert np.isfinite([cut.primal, cut.dual]).all()  # the solver's own values, as the reason says


def test_a_proof_that_was_not_made_is_not_called_rounding(monkeypatch):
    monkeypatch.setattr(_scores, "BLOCK_VALUES", 64)
    monkeypatch.setattr(_proof, "SHARP", -1.0)
    monkeypatch.setattr(_proof, "LATE", -2e3)
    monkeypatch.setattr(_proof, "LATE_SHARE", -2.0)
    with pytest.warns(
        ConvergenceWarning, match="goal is not proven in 3 of 3 tasks: time_limit left no time for the proof"
    ):
        model = SVC(time_limit=1e3).fit(X, Y % 3)
    assert model.fit_status_ == 1


@pytest.mark.parametrize("calibration", [None, "sigmoid"])
def test_solvers_that_were_late_take_the_time_from_the_proof_if_folds_follow(calibration, monkeypatch):
    """The fold that is always fitted would be late by both of them."""
    monkeypatch.setattr(_scores, "BLOCK_VALUES", 64)
    monkeypatch.setattr(_proof, "SHARP", -1.0)
    Clock(monkeypatch).takes(_fit, "proven_in_time", 120.0)
    model = quiet(SVC(calibration=calibration, time_limit=100.0), Y % 3)
    assert model.certificate_.holds == (calibration is None)


def test_scores_that_folds_bring_are_not_computed_for_the_whole(monkeypatch):
    monkeypatch.delattr(_kernel_online.OnlineTasks, "scores")
    monkeypatch.setattr(_kernel_online.OnlineTasks, "__abstractmethods__", frozenset())
    model = KernelPegasosSVC(max_iter=2, calibration="sigmoid", random_state=0).fit(X, Y % 3)
    assert len(model.folds_.intercept) == 5


def test_a_full_proof_that_was_asked_for_is_finished():
    assert quiet(SVC(certify="full", time_limit=1e-9)).certificate_.holds


# -- searches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", [SVCCV, LinearSVCCV])
def test_the_winner_is_fitted_in_what_is_left_of_the_limit(search):
    model = quiet(search(time_limit=60.0), Y % 3)
    inner = model.best_estimator_
    assert 0 < inner.time_limit <= 60.0
    assert model.get_params()["time_limit"] == 60.0


def test_a_closed_form_that_the_limit_leaves_no_time_for_is_not_finished(monkeypatch):
    """What was found is kept; there is no model."""
    clock = Clock(monkeypatch)
    clock.takes(KernelLeastSquaresCV, "_publish", 50.0)
    whole = KernelLeastSquaresCV(lams=[0.1, 1.0], gammas=[0.1], time_limit=100.0).fit(X, Y)
    clock.takes(KernelLeastSquaresCV, "_publish", 60.0)
    search = KernelLeastSquaresCV(lams=[0.1, 1.0], gammas=[0.1], time_limit=100.0)
    with pytest.warns(ConvergenceWarning, match="before a model with best_params_ was fitted"):
        search.fit(X, Y)
    assert search.best_params_ == whole.best_params_
    assert hasattr(whole, "best_estimator_")
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(AttributeError, match="time_limit was reached; raise it"):
        search.predict(X)


def test_a_search_whose_last_fit_is_asked_to_stop_by_others_says_so(monkeypatch):
    asked = []
    monkeypatch.setattr(
        KernelLeastSquaresCV, "_publish", lambda self, *given: setattr(self, "best_params_", {}) or asked.append(1)
    )
    with stops_when(lambda: bool(asked)), pytest.raises(Stopped):
        KernelLeastSquaresCV(lams=[0.1, 1.0], gammas=[0.1], time_limit=1e6).fit(X, Y)


def test_stored_tasks_are_solved_in_calls_between_which_somebody_may_ask(monkeypatch):
    whole = SVCCV(Cs=[1e3], gammas=[0.1], cv=3, refit=False).fit(X, Y % 2)
    monkeypatch.setattr(stored, "STEPS_TIMES_ROWS", 1)
    monkeypatch.setattr(stored, "LEAST_STEPS", 20)
    parts = SVCCV(Cs=[1e3], gammas=[0.1], cv=3, refit=False).fit(X, Y % 2)
    assert parts.best_score_ == pytest.approx(whole.best_score_, abs=0.02)


@pytest.mark.parametrize("search", [SVCCV, LinearSVCCV, KernelLeastSquaresCV])
def test_every_fit_of_a_search_heeds_its_clock(search, monkeypatch):
    """Whatever trains the cells, it could hear that the time is over."""
    told = []
    heeded = Search._heeded

    def noted(self):
        told.append(self.deadline)
        return heeded(self)

    monkeypatch.setattr(Search, "_heeded", noted)
    model = quiet(
        search(time_limit=60.0, refit=False), (Y % 3).astype(float) if "Squares" in search.__name__ else Y % 3
    )
    cells = np.isfinite(model.cv_results_["mean_test_score"]).sum()
    assert len(told) >= cells
    assert np.isfinite(told).all()


def test_a_fit_that_was_cut_off_gives_no_score_if_there_is_another(monkeypatch):
    search = quiet(SVCCV(Cs=[1.0, 10.0, 100.0], gammas=[0.1], cv=3, drop=False, refit=False), Y % 2)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    ended = iter([None] * 6)
    monkeypatch.setattr(Search, "_stopped", lambda self: next(ended, "time_limit"))
    cut = quiet(SVCCV(Cs=[1.0, 10.0, 100.0], gammas=[0.1], cv=3, drop=False, refit=False), Y % 2)
    scores = cut.cv_results_["mean_test_score"]
    assert np.isfinite(scores[0])
    assert np.isnan(scores[-1])


# -- Ctrl-C -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [LSSVC, KernelLeastSquares])
def test_ctrl_c_in_a_closed_form_leaves_no_trace(machine, monkeypatch):
    from maxmargin.solvers import _dense

    looks = []

    def press():
        looks.append(1)
        if len(looks) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(_dense, "heed", press)
    monkeypatch.setattr(_dense, "PANEL", 16)
    monkeypatch.setattr(_dense, "PIECE", 64)
    options = {"lam": 0.1, "solver": "cholesky"} if machine is KernelLeastSquares else {}
    model = machine(**options)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, (Y % 2).astype(float))
    assert len(looks) == 3
    assert not [name for name in vars(model) if name.endswith("_")]


# -- memory ------------------------------------------------------------------------------------------------------------


def test_a_limit_of_the_address_space_counts_as_memory(monkeypatch):
    resource = pytest.importorskip("resource", reason="limits are POSIX's")
    statm = pathlib.Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("what is mapped is told by Linux alone")
    mapped = int(statm.read_text().split()[0]) * resource.getpagesize()
    room = 2**30
    limit = mapped + _validation.SPARED + room
    monkeypatch.setattr(_validation, "_system_memory", lambda: 2.0**40)
    assert _validation.free_memory() == 2.0**40
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limit, limit))
    assert 0.5 * room < _validation.free_memory() <= room
    monkeypatch.setattr(resource, "getrlimit", lambda which: (2**20, 2**20))
    assert _validation.free_memory() == 0.0


def test_compiled_code_is_not_loaded_where_llvm_would_abort(monkeypatch):
    from maxmargin.backends._numba import _jit

    doubled = _jit.jit(lambda x: 2.0 * x)
    monkeypatch.setattr(_jit, "address_space", lambda: _jit.ROOM - 1.0)
    with pytest.raises(MemoryError, match="of address space are left"):
        doubled(1.0)
    monkeypatch.setattr(_jit, "address_space", lambda: _jit.ROOM)
    assert doubled(1.0) == 2.0
    monkeypatch.setattr(_jit, "address_space", lambda: 0.0)
    assert doubled(2.0) == 4.0  # what is loaded goes on


@pytest.mark.parametrize(("solver", "matrices"), [("eigen", 6), ("cholesky", 3)])
def test_closed_forms_that_cannot_be_stored_are_refused_before_the_work(solver, matrices, monkeypatch):
    monkeypatch.setattr(_least_squares, "free_memory", lambda: matrices * 8.0 * len(X) ** 2)
    model = KernelLeastSquares(solver=solver, lam=1.0).fit(X, Y)
    before = dict(vars(model))
    monkeypatch.setattr(_least_squares, "free_memory", lambda: matrices * 8.0 * len(X) ** 2 - 1.0)
    with pytest.raises(MemoryError, match=f"solver='{solver}' stores matrices of 240 rows"):
        model.fit(X, Y)
    assert vars(model) == before
