"""Larger problems: float32 tiles, goals below their precision, bounded memory."""

import tracemalloc
from functools import cache

import numpy as np
import pytest

from maxmargin import SVC, SVR
from maxmargin._foreign import delivered_tasks
from maxmargin.certificates import Definiteness, bounded_scores, judge, recomputed_scores

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4000, 8))
Y = (X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=4000) > 0).astype(int)


def test_a_goal_below_the_precision_of_the_tiles_is_reached_all_the_same():
    model = SVC(C=10, gap_tol=1e-8, certify="full").fit(X, Y)
    assert model.fit_status_ == 0
    assert model.certificate_.relative_gap <= 1e-8


@pytest.mark.parametrize("certify", ["auto", "full"])
def test_tolerance_is_met_in_float64_although_tiles_are_float32(certify):
    model = SVC(C=10, certify=certify).fit(X, Y)
    assert model.certificate_.holds
    assert model.certificate_.kkt <= 1.2e-3
    assert model.certificate_.method == ("bounded" if certify == "auto" else "recomputed")


def test_the_bound_of_a_bounded_certificate_is_one():
    for model, y in ((SVC(C=10), Y), (SVR(C=5), X[:, 0])):
        bounded = model.set_params(certify="auto").fit(X, y).certificate_
        full = model.set_params(certify="full").fit(X, y).certificate_
        assert bounded.method == "bounded"
        assert bounded.gap >= full.gap * (1 - 1e-9)
        assert bounded.relative_gap <= full.relative_gap + 1e-4


@cache
def costly_fit(certify):
    return SVC(C=100, certify=certify, random_state=0).fit(X[:3000], Y[:3000])


def test_a_bounded_certificate_promises_no_more_than_a_full_one():
    bounded, full = (costly_fit(certify).certificate_ for certify in ("auto", "full"))
    assert (bounded.method, full.method) == ("bounded", "recomputed")
    assert bounded.gap >= full.gap * (1 - 1e-12)
    assert bounded.kkt >= full.kkt * (1 - 1e-12)
    assert bounded.kkt <= 1e-3
    assert bounded.relative_gap <= 2 * full.relative_gap + 1e-6


def certified(known, task, kernel, seed):
    """The certificate of a task whose scores the solver takes to be ``known``."""
    ((f, errors),) = bounded_scores(kernel, X[:3000], [task], [known], seed)
    return judge(task, f, Definiteness(True), errors)


@pytest.mark.parametrize("noise", [1e-5, 1e-3, 1e-1])
@pytest.mark.parametrize("seed", range(3))
def test_scores_that_are_wrong_raise_the_bound(noise, seed):
    kernel, rows, (task,) = delivered_tasks(costly_fit("full"), X[:3000], Y[:3000], None, None)
    (exact,) = recomputed_scores(kernel, rows, [task])
    full = judge(task, exact, Definiteness(True))
    wrong = exact + np.random.default_rng(seed).uniform(-noise, noise, len(exact))
    bounded = certified(wrong, task, kernel, seed)
    assert bounded.gap >= full.gap * (1 - 1e-12)
    assert bounded.kkt >= full.kkt * (1 - 1e-9) - 1e-12
    assert 2 * noise <= bounded.error_bound <= 3 * noise
    assert certified(exact, task, kernel, seed).gap == pytest.approx(full.gap, rel=1e-9)


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_scores_that_are_wrong_on_some_rows_are_found_out(share):
    kernel, rows, (task,) = delivered_tasks(costly_fit("full"), X[:3000], Y[:3000], None, None)
    (exact,) = recomputed_scores(kernel, rows, [task])
    full = judge(task, exact, Definiteness(True))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        wrong = exact + np.where(rng.random(len(exact)) < share, rng.uniform(-1e-3, 1e-3, len(exact)), 0.0)
        bounded = certified(wrong, task, kernel, seed)
        assert bounded.gap >= full.gap * (1 - 1e-12)
        assert bounded.error_bound >= 1e-3


def test_prediction_takes_little_memory_however_many_rows():
    model = SVC(C=10).fit(X, Y)
    rows = np.random.default_rng(1).normal(size=(60_000, 8))
    model.decision_function(rows[:100])
    tracemalloc.start()
    model.decision_function(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    table = rows.shape[0] * len(model.support_) * 8  # bytes of the kernel values of all rows
    assert table > 3e8
    assert peak < table / 10


def test_small_caches_change_the_work_and_not_the_answer():
    large, small = SVC(C=10, gap_tol=1e-7).fit(X, Y), SVC(C=10, gap_tol=1e-7, cache_size=1).fit(X, Y)
    np.testing.assert_allclose(large.decision_function(X), small.decision_function(X), atol=1e-2)
    assert abs(large.certificate_.primal - small.certificate_.primal) <= 1e-6 * large.certificate_.primal


def test_float32_rows_are_not_copied_to_float64_whole():
    wide = RNG.normal(size=(3000, 400)).astype(np.float32)
    y = (wide[:, 0] > 0).astype(int)
    SVC(max_iter=2000).fit(wide[:200], y[:200])
    tracemalloc.start()
    with pytest.warns(match="max_iter"):
        SVC(max_iter=50, certify=False, cache_size=2).fit(wide, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * wide.nbytes + 16e6
