"""Scales, costs and weights at the ends of floating-point numbers: a model or a ValueError, never another exception."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.campaign import extremes
from maxmargin import SVC, SVR, KernelPegasosSVC, LinearSVC, NuSVR, PegasosSVC
from maxmargin.backends import BlockOptions, Box, backend_for

X = np.random.default_rng(0).normal(size=(20, 2))
y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("seed", range(12))
def test_extreme_fits_end_with_a_model_or_with_words(seed: int) -> None:
    assert extremes.trial(seed)


def test_the_campaign_sees_a_raw_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self, X, y, sample_weight=None):
        raise ZeroDivisionError("float division by zero")

    for name in extremes.MACHINES:
        monkeypatch.setattr(getattr(extremes.mm, name), "fit", broken)
    with pytest.raises(extremes.Failure, match="ZeroDivisionError"):
        extremes.trial(0)


@pytest.mark.parametrize("machine", [PegasosSVC(), KernelPegasosSVC(kernel="linear")])
def test_squares_beyond_the_range_are_said_so(machine) -> None:
    with pytest.raises(ValueError, match="leave the range of floating-point numbers; scale the features"):
        machine.fit(1e153 * X, y)
    assert not hasattr(machine, "classes_")


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("K", [-(X @ X.T), np.where(y[:, None] == y, 0.0, -1.0)])
def test_a_hard_margin_without_a_positive_diagonal(K: np.ndarray, fit_intercept: bool) -> None:
    """A negative matrix, and one of zeros and of classes that are far apart: neither is a Gram matrix."""
    with pytest.raises(ValueError, match="C=inf asks for a hard margin, but"):
        SVC(kernel="precomputed", C=np.inf, fit_intercept=fit_intercept).fit(K, y)


def test_a_hard_margin_on_equal_rows_of_a_negative_kernel() -> None:
    rows = np.full((21, 1), 6.7e75)
    with pytest.raises(ValueError, match="hard margin"):
        SVC(kernel=lambda A, B: -(A @ B.T), C=np.inf, max_iter=1).fit(rows, np.arange(21) % 2)


@pytest.mark.parametrize(("C", "weight", "word"), [(1e-300, 1e-300, "is 0 in"), (1e300, 1e300, "is infinite in")])
@pytest.mark.parametrize("machine", [SVC, LinearSVC, SVR])
def test_a_cost_beyond_the_range_is_refused(machine, C: float, weight: float, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        machine(C=C).fit(X, y, sample_weight=np.full(20, weight))


def test_scores_beyond_the_range_are_said_so() -> None:
    K = np.random.default_rng(1).normal(size=(9, 9)) * 1e150
    with pytest.raises(ValueError, match="too large for floating-point numbers"):
        SVR(kernel="precomputed", C=1e300, epsilon=0.0).fit(-np.abs(K + K.T), X[:9, 0], sample_weight=np.full(9, 1e5))


def test_an_interior_point_whose_products_underflow() -> None:
    rows = 1e-310 * np.random.default_rng(2).normal(size=(10, 3))
    NuSVR(kernel="linear", C=1e-8, nu=0.01, solver="interior-point").fit(rows, 1e-310 * rows[:, 0])


@pytest.mark.parametrize("run", ["pair_block", "free_block"])
def test_inner_solvers_stay_inside_their_arrays(run: str) -> None:
    """Slopes that are not numbers: no step is taken, and nothing beyond the arrays is read or written."""
    q = 6
    K, beta = np.full((q, q), 1e300), np.zeros(q)
    box = Box(np.full(q, -1.0), np.full(q, 1.0), np.full(q, 1e300))
    grad = np.full(q, np.nan)
    options = BlockOptions(0.0, False, False, np.inf, 1e-3, 1000)
    result = getattr(backend_for("cpu"), run)(K, grad, beta, box, options)
    assert result.steps <= 1000
    assert np.abs(beta).max() <= 1.0
