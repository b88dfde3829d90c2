"""What a fit reports of itself: history, goals, solvers that agree, and the same bits every time."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM
from maxmargin.solvers import Decomposition

MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD]
#: More rows than one working set holds, so that a fit takes many rounds.
MANY = Decomposition.whole_size + 300
SOLVERS = ["decomposition", "dual-gradient", "interior-point"]


def data(n=60, classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    score = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


def scores(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def same_bits(a, b, X):
    """Whether two models agree in every bit of what they publish, the clock aside."""
    for name in ("support_", "dual_coef_", "intercept_", "n_iter_"):
        if not np.array_equal(getattr(a, name), getattr(b, name)):
            return False
    fields = ["task", "iteration", "primal", "dual", "gap"]
    return bool(
        np.array_equal(scores(a, X), scores(b, X))
        and a.certificate_ == b.certificate_
        and all(np.array_equal(a.history_[f], b.history_[f]) for f in fields)
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n", [60, MANY])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("machine", MACHINES)
def test_history_records_every_round(machine, solver, n):
    if n == MANY and solver != "decomposition":
        n = 200
    X, y = data(n)
    model = machine(solver=solver, max_iter=300 if solver == "dual-gradient" else -1).fit(X, y)
    history = model.history_
    assert history.dtype.names == ("task", "iteration", "seconds", "primal", "dual", "gap")
    assert len(history) >= 1
    assert (np.diff(history["iteration"]) >= 0).all()
    assert (np.diff(history["seconds"]) >= 0).all()
    assert (history["gap"] >= 0).all()
    assert history["iteration"][-1] == np.sum(model.n_iter_)
    size = np.abs(history["dual"]).max()
    np.testing.assert_allclose(history["primal"] - history["dual"], history["gap"], atol=1e-6 * size, rtol=1e-6)
    if solver != "interior-point":  # whose feasible copies may be worse than the last one
        assert (np.diff(history["dual"]) >= -1e-9 * size).all()
    assert history["dual"][-1] == pytest.approx(model.certificate_.dual, rel=1e-4, abs=1e-9 * size)


def test_history_of_several_tasks_tells_them_apart():
    X, y = data(90, classes=3)
    history = SVC().fit(X, y).history_
    assert sorted(set(history["task"])) == [0, 1, 2]
    for task in range(3):
        assert (np.diff(history["dual"][history["task"] == task]) >= 0).all()


@pytest.mark.parametrize("machine", MACHINES)
def test_gap_tolerance_decides_alone(machine):
    X, y = data(MANY)
    loose = machine(tol=1e-12, gap_tol=0.1).fit(X, y)  # tol asks for much more
    assert loose.fit_status_ == 0
    assert loose.certificate_.relative_gap <= 0.1 * 1.01
    assert loose.certificate_.kkt > 1e-12
    tight = machine(tol=1e9, gap_tol=1e-5).fit(X, y)  # tol asks for nothing
    assert tight.fit_status_ == 0
    assert tight.certificate_.relative_gap <= 1e-5 * 1.1
    assert np.sum(tight.n_iter_) > np.sum(loose.n_iter_)


@pytest.mark.parametrize("machine", MACHINES)
def test_tolerance_is_the_violation_that_the_certificate_reports(machine):
    X, y = data(MANY)
    for tol in (1e-1, 1e-3):
        assert machine(tol=tol, certify="full").fit(X, y).certificate_.kkt <= 1.1 * tol


@pytest.mark.parametrize("machine", MACHINES)
def test_solvers_agree(machine):
    X, y = data(60)
    options = {"gamma": 1.0} | ({"C": 2.0} if "C" in machine().get_params() and machine is not SVDD else {})
    expected = machine(gap_tol=1e-10, **options).fit(X, y)
    size = np.abs(scores(expected, X)).max()
    by_points = machine(solver="interior-point", **options).fit(X, y)
    np.testing.assert_allclose(scores(by_points, X), scores(expected, X), atol=1e-6 * size)
    by_gradient = machine(solver="dual-gradient", tol=1e-5, **options).fit(X, y)
    np.testing.assert_allclose(scores(by_gradient, X), scores(expected, X), atol=1e-3 * size)
    assert by_points.certificate_.holds
    assert by_gradient.certificate_.holds
    assert len(by_gradient.history_) > len(expected.history_)  # the textbook takes its time


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("solver", SOLVERS)
def test_hard_margin_by_every_solver(solver, intercept):
    X = np.array([[0.0, 1.0], [0.0, 3.0], [2.0, 4.0], [0.0, -1.0], [1.0, -3.0], [-2.0, -2.0]])
    y = np.array([1, 1, 1, 0, 0, 0])
    model = SVC(kernel="linear", C=np.inf, solver=solver, tol=1e-6, fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(model.coef_, [[0.0, 1.0]], atol=1e-4)
    np.testing.assert_allclose(model.intercept_, 0.0, atol=1e-4)
    assert model.certificate_.holds
    assert model.certificate_.primal == pytest.approx(0.5, abs=1e-4)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("n", [60, MANY])
@pytest.mark.parametrize("machine", MACHINES)
def test_same_input_gives_the_same_bits(machine, n, n_jobs):
    X, y = data(n)
    first, second = (machine(n_jobs=n_jobs).fit(X.copy(), y.copy()) for _ in range(2))
    assert same_bits(first, second, X)
    assert same_bits(first, first.fit(X, y), X)


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_input_gives_the_same_bits_with_many_tasks_and_threads(solver):
    X, y = data(120, classes=4)
    first, second = (SVC(n_jobs=3, solver=solver).fit(X, y) for _ in range(2))
    assert same_bits(first, second, X)


def test_comparison_of_bits_notices_one():
    X, y = data(60)
    first, second = (SVC().fit(X, y) for _ in range(2))
    second.dual_coef_[0, 0] = np.nextafter(second.dual_coef_[0, 0], np.inf)
    assert not same_bits(first, second, X)
