"""A fit may be stopped at any time, and goes on where it was: the model is usable and says how good it is."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings

import numpy as np
import pytest
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM, certify
from maxmargin.solvers import Decomposition
from tests.contract.estimators import CLASSIFIERS, NAMES, SEARCHES, fitted, made, over

MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD]
#: More rows than one working set holds, so that a fit takes many rounds.
MANY = Decomposition.whole_size + 300


def data(n=MANY):
    """Two noisy classes, not separable by much; the labels also serve as targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0).astype(int)


def scores(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def quiet_fit(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def steps(model):
    return int(np.sum(model.n_iter_))


def assert_usable(model, X, y):
    """A stopped model predicts, says that it was stopped, and carries a certificate that holds."""
    assert model.fit_status_ == 1
    assert np.isfinite(scores(model, X)).all()
    assert len(model.predict(X)) == len(X)
    assert model.certificate_.holds
    assert certify(model, X, y).holds
    assert model.certificate_.relative_gap > 0


class Listener:
    """Notes what a fit reports, and acts after some rounds."""

    def __init__(self, act=lambda: False, after=2):
        self.act, self.after = act, after
        self.rounds, self.begun, self.ended, self.events = [], [], [], []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        self.ended.append(context.task_name)
        if context.task_name != "round":
            return False
        self.rounds.append(metadata)
        return len(self.rounds) >= self.after and bool(self.act())


@pytest.mark.parametrize("machine", MACHINES)
def test_max_iter_leaves_a_model_and_warm_start_goes_on(machine):
    X, y = data()
    whole = machine().fit(X, y)
    assert whole.fit_status_ == 0
    model = machine(max_iter=int(0.8 * steps(whole)), warm_start=True)
    with pytest.warns(ConvergenceWarning, match=r"max_iter was reached.*[Gg]ap reached: \d"):
        model.fit(X, y)
    assert steps(model) == int(0.8 * steps(whole))
    assert_usable(model, X, y)
    gap = model.certificate_.relative_gap
    model.set_params(max_iter=-1).fit(X, y)
    assert model.fit_status_ == 0
    assert steps(model) < steps(whole)
    assert model.certificate_.relative_gap < gap
    again = model.certificate_
    model.fit(X, y)  # from the optimum there is nowhere to go
    assert steps(model) <= 0.05 * steps(whole)
    assert model.certificate_.dual == pytest.approx(again.dual, rel=1e-4)


@pytest.mark.parametrize("machine", MACHINES)
def test_max_iter_zero_leaves_the_starting_point(machine):
    X, y = data(100)
    model = quiet_fit(machine(max_iter=0), X, y)
    assert steps(model) == 0
    assert_usable(model, X, y)


@pytest.mark.parametrize("machine", MACHINES)
def test_time_limit_leaves_a_model_and_warm_start_goes_on(machine):
    X, y = data()
    model = machine(time_limit=1e-9, warm_start=True)
    with pytest.warns(ConvergenceWarning, match="time_limit was reached"):
        model.fit(X, y)
    assert_usable(model, X, y)
    assert model.set_params(time_limit=None).fit(X, y).fit_status_ == 0
    assert model.set_params(time_limit=1000.0).fit(X, y).fit_status_ == 0


@pytest.mark.parametrize("machine", MACHINES)
def test_ctrl_c_leaves_a_model_and_warm_start_goes_on(machine):
    X, y = data()
    handler = signal.getsignal(signal.SIGINT)
    model = machine(warm_start=True, tol=1e-5)
    model.set_callbacks(Listener(lambda: signal.raise_signal(signal.SIGINT)))
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(X, y)
    assert signal.getsignal(signal.SIGINT) is handler
    assert_usable(model, X, y)
    model.set_callbacks()
    assert model.fit(X, y).fit_status_ == 0


@pytest.mark.skipif(sys.platform == "win32", reason="os.kill ends the process there")
def test_ctrl_c_from_another_thread_while_kernel_rows_are_computed():
    X, y = data(600)
    running, pressed = threading.Event(), threading.Event()

    def kernel(A, B):
        running.set()
        pressed.wait(60)
        return rbf_kernel(A, B, gamma=0.5)

    def press():
        running.wait(60)
        os.kill(os.getpid(), signal.SIGINT)
        pressed.set()

    presser = threading.Thread(target=press)
    presser.start()
    model = quiet_fit(SVC(kernel=kernel, C=1e4, tol=1e-13, gap_tol=1e-16), X, y)
    presser.join()
    assert pressed.is_set()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert_usable(model, X, y)


def test_second_ctrl_c_is_pythons_own_and_leaves_nothing_behind():
    X, y = data()

    def press_twice():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    model = SVC(C=100.0)
    model.set_callbacks(Listener(press_twice))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "support_")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("machine", MACHINES)
def test_callback_that_asks_to_stop_leaves_a_model(machine):
    X, y = data()
    model = machine(warm_start=True, tol=1e-5)
    listener = Listener(lambda: True)
    model.set_callbacks(listener)
    with pytest.warns(ConvergenceWarning, match="a callback asked to stop"):
        model.fit(X, y)
    assert len(listener.rounds) == 2
    assert_usable(model, X, y)
    model.set_callbacks()
    assert model.fit(X, y).fit_status_ == 0


@pytest.mark.parametrize("machine", MACHINES)
def test_callback_is_told_every_round(machine):
    X, y = data()
    model, listener = machine(), Listener()
    model.set_callbacks(listener)
    model.fit(X, y)
    assert listener.events == ["setup", "teardown"]
    assert listener.begun[:2] == ["fit", "task"]
    assert listener.ended[-2:] == ["task", "fit"]
    assert sorted(listener.begun) == sorted(listener.ended)
    assert [set(m) for m in listener.rounds] == [{"iteration", "seconds", "primal", "dual", "gap"}] * len(
        model.history_
    )
    for name in ("iteration", "dual", "gap"):
        np.testing.assert_array_equal([m[name] for m in listener.rounds], model.history_[name])


@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}, {"probability": True}])
def test_callback_hears_of_one_fit_whatever_it_takes(options):
    X, y = load_iris(return_X_y=True)
    for machine in (SVC(**options), NuSVC(nu=0.3, **options)):
        listener = Listener()
        machine.set_callbacks(listener)
        machine.fit(X, y)
        assert listener.begun.count("fit") == listener.ended.count("fit") == 1
        assert listener.events == ["setup", "teardown"]


@pytest.mark.parametrize("machine", MACHINES)
def test_progress_bar_of_scikit_learn_runs(machine):
    pytest.importorskip("rich", reason="the progress bar is drawn by rich")
    X, y = load_iris(return_X_y=True)
    model = machine()
    model.set_callbacks(ProgressBar())
    # with a listener the tasks run one by one, without one together: equal up to what the goal leaves open
    model.set_params(gap_tol=1e-12)
    alone = scores(machine(gap_tol=1e-12).fit(X, y), X)
    np.testing.assert_allclose(scores(model.fit(X, y), X), alone, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("machine", [SVC, NuSVC, SVR, NuSVR])
def test_scoring_monitor_of_scikit_learn_sees_scores(machine):
    X, y = load_iris(return_X_y=True)
    name = "accuracy" if machine in (SVC, NuSVC) else "r2"
    monitor = ScoringMonitor(scoring=name)
    model = machine()
    model.set_callbacks(monitor)
    model.fit(X, y)
    assert monitor.get_logs().data[-1][name] == pytest.approx(model.score(X, y))


@over(name for name in NAMES if "verbose" in made(name).get_params())
def test_verbose_shows_lines_and_nothing_else_does(name, capsys):
    X, y = load_iris(return_X_y=True)
    fitted(made(name, verbose=1), X, y)
    out = capsys.readouterr().out
    assert f"[{name}]" in out
    assert out.endswith("\n")
    assert ("best" if name in SEARCHES else "relative gap") in out
    assert ("task 2 of 3" in out) == (name in CLASSIFIERS)
    fitted(made(name), X, y)
    assert capsys.readouterr().out == ""
