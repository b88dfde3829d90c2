"""Factors in panels are LAPACK's, and whoever asks to stop is heard between two of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import LinAlgError

from maxmargin._stop import Stopped, stops_when
from maxmargin.solvers._dense import PANEL, QUICK, eigenvalues, factorise, invert

SIZES = [1, 5, PANEL - 1, PANEL, PANEL + 1, 2 * PANEL + 40]


def definite(n):
    B = np.random.default_rng(n).normal(size=(n, n + 3))
    return B @ B.T + np.eye(n)


@pytest.mark.parametrize("n", SIZES)
def test_factor_and_inverse(n):
    A = definite(n)
    L = A.copy()
    factorise(L)
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(A), rtol=1e-9, atol=1e-10)
    invert(L)
    inverse = np.tril(L) + np.tril(L, -1).T
    np.testing.assert_allclose(inverse @ A, np.eye(n), atol=1e-10)


@pytest.mark.parametrize("n", [3, PANEL + 30])
def test_what_is_not_definite_is_refused(n):
    A = definite(n)
    A[n - 1, n - 1] = -1.0
    with pytest.raises(LinAlgError):
        factorise(A)


@pytest.mark.parametrize("n", [4, QUICK + 1])
def test_eigenvalues(n):
    A = definite(n)
    values, vectors = eigenvalues(A)
    assert (np.diff(values) >= 0).all()
    np.testing.assert_allclose((vectors * values) @ vectors.T, A, atol=1e-9 * values[-1])


@pytest.mark.parametrize("work", [factorise, invert, eigenvalues])
def test_whoever_asks_to_stop_is_heard(work):
    with stops_when(lambda: True), pytest.raises(Stopped):
        work(definite(QUICK + 1))


@pytest.mark.parametrize("error", [MemoryError, LinAlgError])
def test_an_error_of_the_thread_that_works_reaches_who_waits(error, monkeypatch):
    def failing(A):
        raise error("what went wrong")

    monkeypatch.setattr(np.linalg, "eigh", failing)
    with pytest.raises(error, match="what went wrong"):
        eigenvalues(definite(QUICK + 1))
