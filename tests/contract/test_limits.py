"""Limits are limits: one deadline per fit, and everything asks it. Work after the deadline is counted, not timed."""

from __future__ import annotations

import pathlib
import threading
import time
import warnings

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
    LinearSVC,
    LinearSVCCV,
    NuSVC,
    OneClassSVM,
    PegasosSVC,
    _validation,
)
from maxmargin._stop import Stopped, asked_to_stop, stops_when
from maxmargin.backends import run_parallel, run_queue
from maxmargin.certificates import _approximation, _linear, _linear_rows, _scores
from maxmargin.estimators import _least_squares, _proof
from maxmargin.estimators._machine import Training
from maxmargin.maps import NystroemMap
from maxmargin.selection._run import Search
from maxmargin.solvers import Watch, stored

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
    monkeypatch.setattr(_linear_rows, "BLOCK_ROWS", 8)
    machine = clone(machine).set_params(time_limit=1e3)
    assert quiet(machine, Y % 3).certificate_.holds
    monkeypatch.setattr(_proof, "LATE", -2e3)
    monkeypatch.setattr(_proof, "LATE_SHARE", -2.0)
    cut = quiet(machine, Y % 3).certificate_
    assert (cut.method, cut.holds) == ("estimated", False)
    assert "out of time before its proof" in cut.reason


def test_a_full_proof_that_was_asked_for_is_finished():
    assert quiet(SVC(certify="full", time_limit=1e-9)).certificate_.holds


# -- searches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", [SVCCV, LinearSVCCV])
def test_the_winner_is_fitted_in_what_is_left_of_the_limit(search):
    model = quiet(search(time_limit=60.0), Y % 3)
    inner = model.best_estimator_
    assert 0 < inner.time_limit <= 60.0
    assert model.get_params()["time_limit"] == 60.0


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
