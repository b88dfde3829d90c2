"""Every fit ends: crawling is noticed, the method is changed, and after the last method the fit is over."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC, LinearClassifier, LinearSVC, NuSVR
from maxmargin.backends import KernelGram
from maxmargin.kernels import Gaussian, Linear
from maxmargin.problems import NuSVRProblem, SVCProblem
from maxmargin.solvers import Decomposition, DualGradient, InteriorPoint, Status, Watch, blocks
from maxmargin.solvers import decomposition as whole
from maxmargin.solvers import dual_gradient as ascent
from maxmargin.solvers._base import Crawl
from tests.laws import examples
from tests.reference_backend import get_backend

#: Two rows that a large column makes nearly parallel: single steps would need millions.
PARALLEL = np.array([[0.3, 1e3], [1.5, 1e3]])


def most_steps(n: int) -> int:
    """Pairwise steps that a whole problem can take: a bounded crawl for each halving, some dozens, of two measures."""
    return 2 * 60 * whole.LAST * whole.CRAWLING * n * (n + 50)


def test_crawling_counts_from_the_last_halving_of_any_measure():
    crawl = Crawl()
    assert crawl.since(10, 8.0, np.inf) == 0
    assert crawl.since(20, 4.1, 100.0) == 0  # the first finite value of a measure is progress
    assert crawl.since(30, 5.0, 60.0) == 10
    assert crawl.since(40, 5.0, 49.0) == 0
    assert crawl.since(70, 3.0, 48.0) == 30
    assert crawl.since(80, 2.0, 48.0) == 0
    assert crawl.since(90, 0.0, 48.0) == 0
    assert crawl.since(100, 0.0, 48.0) == 10  # nothing is less than 0


def test_two_nearly_parallel_rows_without_an_intercept():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SVC(kernel="linear", C=25, fit_intercept=False).fit(PARALLEL, [0, 1])
    assert model.certificate_.holds
    assert model.certificate_.relative_gap < 1e-6  # of which rounding, for rows of this size, is the most
    assert model.n_iter_[0] <= 1000


def test_nu_regression_without_an_intercept_reaches_its_goal():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(22, 4)) * 10.0 ** np.array([-1, 1, -3, 2])
    y = X @ rng.normal(size=4) + 3 * rng.normal(size=22)
    model = NuSVR(kernel="linear", C=1e3, nu=0.6, fit_intercept=False, tol=1e-6).fit(X, y)
    assert model.fit_status_ == 0
    assert int(np.sum(model.n_iter_)) <= most_steps(22)


@examples(60)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 20),
    power=st.floats(-3, 6),
    C=st.floats(-2, 8),
    intercept=st.booleans(),
    nu=st.booleans(),
)
def test_a_small_problem_takes_a_bounded_number_of_steps(seed, n, power, C, intercept, nu):
    """Whatever the scale of a column and the cost: it is solved, or given up with the reason, within the bound."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [1.0, 10.0**power] + [0.0, 10.0**power]
    if nu:
        problem = NuSVRProblem(rng.normal(size=n), np.full(n, 10.0**C), 0.5, intercept)
    else:
        problem = SVCProblem(np.where(np.arange(n) % 2, 1.0, -1.0), np.full(n, 10.0**C), intercept)
    gram = KernelGram(get_backend(), Linear(), X)
    solution = Decomposition(get_backend()).solve(problem, gram, None, Watch(tol=1e-6))
    assert solution.status in (Status.OPTIMAL, Status.STALLED)
    assert solution.n_iter <= most_steps(n)
    assert problem.qp.infeasibility(solution.beta) <= 1e-9


def crawling():
    """A problem whose steps gain next to nothing unless the method is changed."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3)) * [1.0, 30.0, 1e-3]
    sign = np.where(X @ [1.0, 0.1, 500.0] + 0.3 * rng.normal(size=30) > 0, 1.0, -1.0)
    return SVCProblem(sign, np.full(30, 1e4), False), KernelGram(get_backend(), Linear(), X)


def test_steps_that_crawl_are_followed_by_an_interior_point(monkeypatch):
    problem, gram = crawling()
    calls = []
    inside = InteriorPoint.solve
    monkeypatch.setattr(InteriorPoint, "solve", lambda *given: calls.append(1) or inside(*given))
    monkeypatch.setattr(whole, "newton_values", lambda *given: None)
    solution = Decomposition(get_backend(), polish=False).solve(problem, gram, None, Watch(tol=1e-6))
    assert calls == [1]
    assert solution.status is Status.OPTIMAL


def test_if_no_method_helps_the_fit_ends_and_says_so(monkeypatch):
    problem, gram = crawling()
    monkeypatch.setattr(whole, "newton_values", lambda *given: None)
    monkeypatch.setattr(Decomposition, "_from_inside", lambda self, problem, gram, beta, watch: beta)
    solution = Decomposition(get_backend(), polish=False).solve(problem, gram, None, Watch(tol=1e-12))
    assert solution.status is Status.STALLED
    assert solution.n_iter <= most_steps(30)


def test_the_dual_gradient_walks_on_the_face_where_it_crawls(monkeypatch):
    problem, gram = crawling()
    solution = DualGradient().solve(problem, gram, None, Watch(tol=1e-3))
    assert solution.status is Status.OPTIMAL
    monkeypatch.setattr(ascent, "on_face", lambda qp, matrix, beta, f: (beta, f))
    alone = DualGradient().solve(problem, gram, None, Watch(tol=1e-3))
    assert alone.status is Status.SLOW
    assert solution.n_iter < alone.n_iter < DualGradient().max_steps


def test_the_dual_gradient_still_takes_its_own_steps_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    problem = SVCProblem(np.where(X[:, 0] > 0, 1.0, -1.0), np.ones(40))
    gram = KernelGram(get_backend(), Gaussian(0.5), X)
    assert DualGradient().solve(problem, gram, None, Watch(tol=1e-2, max_iter=50)).n_iter <= 50


def test_primal_dual_steps_that_crawl_hand_over_to_newton():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 2)) * [1e3, 1.0]
    y = (X[:, 0] + 200 * rng.normal(size=25) > 0).astype(int)
    model = LinearSVC(loss="hinge", C=1e9, solver="primal-dual", tol=1e-4, scale=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # at C = 1e9 rounding may be more than tol
        model.fit(X, y)
    assert model.n_iter_ < 300
    certificate = model.certificate_
    assert certificate.gap - certificate.rounding <= 1e-4 * certificate.primal


def test_a_penalty_with_no_other_method_ends_with_its_reason():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)) * [1e4, 1.0, 1e-3]
    y = (X[:, 1] > 0).astype(int)
    model = LinearClassifier("absolute", "pnorm", C=1e4, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="next to no progress"):
        model.fit(X, y)
    assert model.n_iter_ < 1000


def test_subgradient_steps_that_overflow_end():
    rng = np.random.default_rng(0)
    X = 1e40 * rng.normal(size=(15, 2))
    model = LinearClassifier("squared", "pnorm", C=1e3, solver="subgradient")
    with pytest.warns(ConvergenceWarning):
        model.fit(X, (X[:, 0] > 0).astype(int))
    assert np.isfinite(model.coef_).all()


def test_blocks_that_crawl_end(monkeypatch):
    """Rounds that move something and gain nothing: first in float64, then no more."""
    monkeypatch.setattr(blocks, "PATIENCE", 3)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    problem = SVCProblem(np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0), np.ones(400))
    rounds = []

    def idle(self, part, goal, whole=False):
        rounds.append(part.exact)
        return True

    monkeypatch.setattr(blocks.Blocks, "_round", idle)
    gram = KernelGram(get_backend(), Gaussian(0.5), X, dtype=np.float32)
    solution = Decomposition(get_backend(), whole_size=100).solve(problem, gram, None, Watch())
    assert solution.status is Status.STALLED
    assert rounds == [False] * 5 + [True] * 4
