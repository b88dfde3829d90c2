"""Larger problems: float32 tiles, goals below their precision, bounded memory."""

import tracemalloc
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVC, SVR
from maxmargin.backends import backend_for
from maxmargin.certificates import Definiteness, doubtful_rows, judge, proven_scores
from maxmargin.delivered import KernelTrained
from maxmargin.kernels import Exponential, Gaussian

PSD = Definiteness(True)
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
        assert bounded.gap >= full.gap - full.rounding  # each allows for the rounding of its own check
        assert bounded.relative_gap <= full.relative_gap + 1e-4


@cache
def costly_fit(certify):
    return SVC(C=100, certify=certify, random_state=0).fit(X[:3000], Y[:3000])


def test_a_bounded_certificate_promises_no_more_than_a_full_one():
    bounded, full = (costly_fit(certify).certificate_ for certify in ("auto", "full"))
    assert (bounded.method, full.method) == ("bounded", "recomputed")
    assert bounded.gap >= full.gap - full.rounding  # each allows for the rounding of its own check
    assert bounded.kkt >= full.kkt - 2 * full.error_bound
    assert bounded.kkt <= 1e-3
    assert bounded.relative_gap <= 2 * full.relative_gap + 1e-6


@pytest.mark.parametrize("noise", [1e-5, 1e-3, 1e-1])
@pytest.mark.parametrize("seed", range(3))
def test_scores_within_their_bounds_make_no_better_certificate(noise, seed):
    trained = KernelTrained.of(costly_fit("full"), X[:3000], Y[:3000], None, None)
    kernel, rows, tasks = trained.fitted.kernel, trained.X, trained.tasks()
    (exact,) = proven_scores(kernel, rows, tasks, PSD)
    full = judge(tasks[0], exact, PSD)
    wrong = exact.f + np.random.default_rng(seed).uniform(-noise, noise, len(exact.f))
    coarse = exact._replace(f=wrong, error=exact.error + noise)
    doubtful = doubtful_rows(tasks[0], coarse)
    better = coarse._replace(f=np.where(doubtful, exact.f, wrong), error=np.where(doubtful, exact.error, coarse.error))
    for scores in (coarse, better):
        bounded = judge(tasks[0], scores, PSD, "bounded")
        assert bounded.gap >= full.gap * (1 - 1e-9)
        assert bounded.kkt >= full.kkt * (1 - 1e-9) - 1e-12
        assert bounded.primal >= full.primal - full.gap - 1e-9
    assert bounded.gap == pytest.approx(full.gap, rel=1e-6)  # the others have no share in it, and that is certain
    assert 0 < doubtful.sum() < len(doubtful)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("planted", [0, 20])
@pytest.mark.parametrize("sparse", [False, True])
def test_errors_of_a_fresh_pass_are_within_their_bounds(sparse, planted, kind):
    rng = np.random.default_rng(planted)
    rows = rng.normal(size=(700, 12)) * (rng.random((700, 12)) < 0.4)
    rows[rng.choice(700, planted, replace=False)] *= 100.0
    rows = (sp.csr_array(rows) if sparse else rows).astype(kind)
    beta = rng.normal(size=700) * (rng.random(700) < 0.5) * 100.0
    kernel, lines = Gaussian(0.003 if planted else 0.3), np.arange(0, 700, 3)
    exact = kernel(rows) @ beta
    gram = backend_for("cpu").gram(kernel, rows, dtype=np.float32)
    for in_float64, unit in ((True, 2.0**-53), (False, 2.0**-24)):
        f, error = gram.proven_product(beta, lines, in_float64)
        assert (np.abs(f - exact[lines]) <= error + 1e-11).all()
        assert error.max() <= 1e4 * unit * np.abs(beta).sum()  # and the bound is of use


@pytest.mark.parametrize("planted", [0, 20])
@pytest.mark.parametrize("sparse", [False, True])
def test_errors_of_many_tasks_are_within_their_bounds(sparse, planted):
    rng = np.random.default_rng(planted)
    rows = rng.normal(size=(700, 12)) * (rng.random((700, 12)) < 0.4)
    rows[rng.choice(700, planted, replace=False)] *= 100.0
    kernel, tasks = Gaussian(0.003 if planted else 0.3), [rng.permutation(700)[:n] for n in (700, 5, 300)]
    betas = [rng.normal(size=len(task)) * (rng.random(len(task)) < 0.5) * 100.0 for task in tasks]
    gram = backend_for("cpu").gram(kernel, sp.csr_array(rows) if sparse else rows, threads=2)
    pointers, where = np.array([0, 700, 705, 1005]), np.concatenate(tasks)
    for pass_over in (gram.proven_products, gram.fresh):
        f, error = pass_over(pointers, where, np.concatenate(betas))
        for task, beta, first in zip(tasks, betas, pointers, strict=False):
            own = slice(first, first + len(task))
            exact = kernel(rows[task]) @ beta
            assert (np.abs(f[own] - exact) <= error[own] + 1e-11).all()
            assert error[own].max() <= 1e4 * 2.0**-53 * np.abs(beta).sum()
    other = backend_for("cpu").gram(Exponential(1.0), rows)
    assert other.proven_products(pointers, where, np.concatenate(betas)) is None
    assert other.fresh(pointers, where, np.concatenate(betas))[1] is None


def test_a_fresh_pass_without_a_bound_says_so():
    gram = backend_for("cpu").gram(Gaussian(1.0), X * 1e4, dtype=np.float32)
    beta = np.ones(len(X))
    assert gram.proven_product(beta, np.arange(5), False) is None  # exponents of which nothing is known
    assert backend_for("cpu").gram(Exponential(1.0), X).proven_product(beta, np.arange(5), False) is None


def test_what_can_only_be_sampled_is_an_estimate_and_no_proof():
    model = SVC(C=1, kernel=Exponential(0.1)).fit(X, Y)
    certificate = model.certificate_
    assert (certificate.method, certificate.holds) == ("estimated", False)
    assert "not a proof" in certificate.reason
    assert "certify='full' computes" in certificate.reason
    full = model.set_params(certify="full").fit(X, Y).certificate_
    assert (full.method, full.holds) == ("recomputed", True)
    assert certificate.primal == pytest.approx(full.primal, rel=1e-3)


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
