"""Warm starts of stochastic machines: along lambda, on other rows, in searches, paths, streams and files."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import scale

from maxmargin import (
    SGDSVC,
    SGDSVCCV,
    KernelPegasosSVC,
    KernelPerceptron,
    PegasosSVC,
    PegasosSVCCV,
    io,
    regularization_path,
)
from maxmargin.backends import backend_for
from maxmargin.losses import Hinge
from maxmargin.penalties import resolve_penalty
from maxmargin.problems import LinearProblem
from maxmargin.solvers import LinearPoint
from maxmargin.solvers.stochastic import best_multiple

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
LAMS = [1e-4, 1e-3, 1e-2, 1e-1, 1.0]
STOCHASTIC = [PegasosSVC, SGDSVC]
PAIRS = [(PegasosSVC, PegasosSVCCV), (SGDSVC, SGDSVCCV)]
#: How much larger the gap of a warm start may be than that of a cold one: both are made of random steps.
CHANCE = 1.5


def cold_gaps(machine):
    return {lam: machine(lam).fit(X, y).certificate_.relative_gap for lam in LAMS}


def test_the_example_of_a_large_lambda_after_a_small_one():
    model = PegasosSVC(1e-3, warm_start=True).fit(X, y).set_params(lam=1.0).fit(X, y)
    assert model.certificate_.relative_gap < 1e-4


@pytest.mark.parametrize("machine", STOCHASTIC)
def test_a_warm_start_at_another_lambda_is_no_worse_than_a_cold_one(machine):
    cold = cold_gaps(machine)
    for order in (LAMS, LAMS[::-1]):
        warm = machine(warm_start=True)
        for lam in order:
            assert warm.set_params(lam=lam).fit(X, y).certificate_.relative_gap <= CHANCE * cold[lam], (lam, order)


@pytest.mark.parametrize("machine", STOCHASTIC)
def test_a_path_has_the_gaps_of_cold_fits(machine):
    cold = cold_gaps(machine)
    path = regularization_path(machine(), X, y, Cs=LAMS)
    for lam, gap in zip(sorted(LAMS, reverse=True), path.gaps, strict=True):
        assert gap <= CHANCE * cold[lam]


@pytest.mark.parametrize(("machine", "search"), PAIRS)
@pytest.mark.parametrize("lams", [LAMS, LAMS[2:], [1.0, 1e-2]])
def test_a_search_scores_what_a_plain_loop_scores(machine, search, lams):
    found = search(lams=lams, cv=3).fit(X, y)
    columns = (found.cv_results_[name] for name in ("param_lam", "mean_test_score", "status"))
    for lam, mean, status in zip(*columns, strict=True):
        if "dropped" not in status:
            assert mean == pytest.approx(cross_val_score(machine(lam), X, y, cv=3).mean())
    assert found.best_score_ == np.nanmax(found.cv_results_["mean_test_score"])


def test_cells_that_cannot_be_looser_are_fitted_once(monkeypatch):
    fits = []
    plain = PegasosSVC._family
    monkeypatch.setattr(PegasosSVC, "_family", lambda self, data: (fits.append(self.lam), plain(self, data))[1])
    PegasosSVCCV(lams=LAMS, cv=3, n_jobs=1).fit(X[:200], y[:200])
    assert max(fits.count(lam) for lam in LAMS) <= 3 + 1  # a fit per fold, and the winner on all rows


# -- what counts as the same problem ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "rows", "labels", "weight"),
    [
        ({"lam": 1e-3}, X, y, None),
        ({}, X[::-1], y[::-1], None),
        ({}, X, 1 - y, None),
        ({}, 10 * X, y, None),
        ({}, X, y, 1.0 + (np.arange(len(y)) == 0)),
        ({"class_weight": {0: 2.0}}, X, y, None),
        ({"scale": True}, X + 1.0, y, None),
    ],
    ids=["lam", "order", "labels", "rows", "weights", "class weights", "scale"],
)
@pytest.mark.parametrize("machine", STOCHASTIC)
def test_another_problem_is_counted_from_its_first_step(machine, params, rows, labels, weight):
    model = machine(1e-2, max_iter=5, warm_start=True).fit(X, y)
    model.set_params(**params).fit(rows, labels, sample_weight=weight)
    cold = clone(model).set_params(warm_start=False).fit(rows, labels, sample_weight=weight)
    assert model.t_ == cold.t_
    assert model._reached.seasons == 5


@pytest.mark.parametrize("machine", STOCHASTIC)
def test_the_same_problem_is_counted_on(machine):
    model = machine(1e-2, max_iter=5, warm_start=True).fit(X, y)
    first = model.t_
    for times in (2, 3):
        model.set_params(n_jobs=times).fit(X.copy(), list(y))
        assert model.t_ == first + (times - 1) * 5 * len(y)
        assert model._reached.seasons == 5 * times


def test_every_task_counts_its_own_steps():
    X3, y3 = load_iris(return_X_y=True)
    keep = np.r_[0:50, 50:100, 100:110]  # the pairs are of different sizes
    model = PegasosSVC(0.1, max_iter=4, multiclass="ovo", warm_start=True).fit(X3[keep], y3[keep])
    steps = model._reached.steps
    assert len(set(steps)) > 1
    model.fit(X3[keep], y3[keep])
    np.testing.assert_array_equal(model._reached.steps - steps, 4 * np.array([100, 60, 60]))


def test_sgd_goes_on_with_its_schedule():
    model = SGDSVC(1e-2, max_iter=4, warm_start=True).fit(X, y)
    schedule = model.schedule_
    for first in (5, 9):
        model.fit(X, y)
        np.testing.assert_array_equal(model.schedule_, schedule)
        assert list(model.history_["season"]) == list(range(first, first + 4))
    model.set_params(lam=1.0).fit(X, y)
    assert list(model.history_["season"]) == [1, 2, 3, 4]


@pytest.mark.parametrize("machine", STOCHASTIC)
def test_a_model_from_a_file_goes_on_like_the_one_that_was_saved(machine, tmp_path):
    model = machine(1e-2, max_iter=3, warm_start=True).fit(X, y)
    io.save(model, tmp_path / "m.mm")
    other = io.load(tmp_path / "m.mm").fit(X, y)
    model.fit(X, y)
    assert other.t_ == model.t_
    np.testing.assert_allclose(other.coef_, model.coef_)


@pytest.mark.parametrize("machine", STOCHASTIC)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_stream_counts_anew_at_another_lambda(machine, streamed):
    options = {"max_iter": 50} if machine is PegasosSVC else {"max_iter": 50, "schedule": (0.05, 1.0)}
    model = machine(1e-3, **options)
    for _ in range(50 if streamed else 0):
        model.partial_fit(X, y, classes=[0, 1])
    if not streamed:
        model.fit(X, y)
    exact = PegasosSVC(1.0, fit_intercept=model.fit_intercept).fit(X, y)
    model.set_params(lam=1.0)
    before = np.linalg.norm(model.coef_ - exact.coef_)
    for _ in range(20):
        model.partial_fit(X, y)
    assert np.linalg.norm(model.coef_ - exact.coef_) < 0.2 * before
    assert model._reached.seasons == 20
    steps = model.t_
    model.partial_fit(X, y)
    assert model.t_ == steps + len(y)


@pytest.mark.parametrize("machine", STOCHASTIC)
def test_a_stream_of_pairs_may_meet_a_pair_late(machine, tmp_path):
    rows, labels = load_iris(return_X_y=True)
    model = machine(multiclass="ovo").partial_fit(rows[:40], labels[:40], classes=[0, 1, 2])  # one class only
    io.save(model, tmp_path / "m.mm")
    for stream in (model, io.load(tmp_path / "m.mm")):
        for _ in range(30):
            stream.partial_fit(rows, labels)
        assert stream.score(rows, labels) > 0.8
        assert stream.chunks_ == 31


@pytest.mark.parametrize("budget", [None, 60])
def test_a_kernel_stream_keeps_its_model_at_another_lambda(budget):
    rows, labels = X[:200, :5], y[:200]
    model = KernelPegasosSVC(1e-3, budget=budget)
    for _ in range(20):
        model.partial_fit(rows, labels, classes=[0, 1])
    f = model.decision_function(rows)
    model.set_params(lam=0.1).partial_fit(rows[:1], labels[:1])  # one step
    assert np.corrcoef(f, model.decision_function(rows))[0, 1] > 0.8
    assert np.abs(model.decision_function(rows)).mean() > 0.5 * np.abs(f).mean()
    exact = KernelPegasosSVC(0.1).fit(rows, labels).decision_function(rows)
    for _ in range(20):
        model.partial_fit(rows, labels)
    assert np.abs(model.decision_function(rows) - exact).mean() < 0.1 * np.abs(exact).mean()


@pytest.mark.parametrize("machine", [KernelPegasosSVC, KernelPerceptron])
def test_a_kernel_stream_goes_on_from_a_fit_of_pairs(machine):
    rows, labels = load_iris(return_X_y=True)
    model = machine(multiclass="ovo").fit(rows, labels)
    f = model._task_scores(rows)
    model.partial_fit(rows[:1], labels[:1])
    np.testing.assert_allclose(model._task_scores(rows), f, rtol=0.05, atol=0.05 * np.abs(f).max())


# -- the multiple that a changed problem starts at ------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [0.0, 1e-6, 1.0, 1e6])
def test_the_start_is_the_best_multiple(seed, size):
    rng = np.random.default_rng(seed)
    rows, sign = rng.normal(size=(40, 3)), np.where(rng.random(40) < 0.5, 1.0, -1.0)
    problem = LinearProblem(Hinge(), resolve_penalty("l2"), sign, rng.uniform(0.1, 2.0, 40), True)
    design = backend_for("cpu").design(rows)
    w, b = size * rng.normal(size=3), size * float(rng.normal())
    point = best_multiple(problem, design, LinearPoint(w, b, problem.feasible(rng.normal(size=40))))

    def primal(w, b):
        return problem.primal(w, rows @ w + b)

    found = primal(point.w, point.intercept)
    assert found <= primal(np.zeros(3), 0.0) * (1 + 1e-9)
    for s in np.concatenate([np.geomspace(1e-9, 1e9, 200), [0.0, 1.0]]):
        assert found <= primal(s * w, s * b) * (1 + 1e-6)
    assert problem.dual(point.beta, rows.T @ point.beta) >= -1e-9
    assert problem.imbalance(point.beta) < 1e-9
