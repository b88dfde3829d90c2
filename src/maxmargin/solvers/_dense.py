"""Factors, inverses and eigenvalues of large matrices without calls that nobody can interrupt.

LAPACK factors a matrix of 12,000 rows in one call of many seconds, in which nobody hears Ctrl-C or looks at the clock.
Here factors are made panel by panel (left-looking), with matrix products of a fraction of a second between which Python
is heard; they take as long as LAPACK's. Invariant: only the lower triangle is read and written. Cost: n^3 / 3, all but
a panel's corner in products. Eigenvalues do not come in panels: they are computed in a thread that can be left behind.
"""

from __future__ import annotations

import threading

import numpy as np
import scipy.linalg
from scipy.linalg import cholesky, solve_triangular

from maxmargin._stop import heed
from maxmargin._types import FloatArray

#: Rows of a panel, and of what is multiplied together.
PANEL, PIECE = 256, 2048
#: Rows up to which eigenvalues take a fraction of a second, and seconds between two looks at those that take longer.
QUICK, LOOK = 500, 0.05


def factorise(A: FloatArray) -> None:
    """The lower triangle of A becomes L with L L' = A; ``LinAlgError`` if A is not positive definite."""
    n = len(A)
    for first in range(0, n, PANEL):
        last = min(first + PANEL, n)
        for top in range(first, n, PIECE):
            heed()
            bottom = min(top + PIECE, n)
            A[top:bottom, first:last] -= A[top:bottom, :first] @ A[first:last, :first].T
        corner = cholesky(A[first:last, first:last], lower=True, check_finite=False)
        A[first:last, first:last] = corner
        for top in range(last, n, PIECE):
            rows = slice(top, min(top + PIECE, n))
            A[rows, first:last] = solve_triangular(corner, A[rows, first:last].T, lower=True, check_finite=False).T


def invert(L: FloatArray) -> None:
    """The lower triangle of L becomes that of (L L')^-1."""
    n = len(L)
    for first in range(0, n, PANEL):  # L^-1, line by line of panels
        last = min(first + PANEL, n)
        own = np.tril(L[first:last, first:last])
        corner = solve_triangular(own, np.eye(last - first), lower=True, check_finite=False)
        line = np.empty((last - first, first))
        for left in range(0, first, PIECE):
            heed()
            right = min(left + PIECE, first)
            below = np.tril(L[left:right, left:right])
            line[:, left:right] = L[first:last, left:right] @ below
            line[:, left:right] += L[first:last, right:first] @ L[right:first, left:right]
        L[first:last, :first] = -corner @ line
        L[first:last, first:last] = corner
    for first in range(0, n, PANEL):  # its transpose times itself; rows above are no longer needed
        last = min(first + PANEL, n)
        own = np.tril(L[first:last, first:last])
        line = own.T @ np.concatenate([L[first:last, :first], own], axis=1)
        for top in range(last, n, PIECE):
            heed()
            rows = slice(top, min(top + PIECE, n))
            line += L[rows, first:last].T @ L[rows, :last]
        L[first:last, :last] = line


def eigenvalues(A: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(values, vectors) of a symmetric matrix, in ascending order."""
    if len(A) <= QUICK:
        values, vectors = scipy.linalg.eigh(A)
        return values, vectors
    found: list[tuple[FloatArray, FloatArray] | Exception] = []

    def work() -> None:
        try:
            found.append(np.linalg.eigh(A))  # NumPy's lets other threads run meanwhile, SciPy's does not
        except Exception as error:  # no convergence, no memory: it belongs to who waits for the answer
            found.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(LOOK)
        heed()
    (answer,) = found
    if isinstance(answer, Exception):
        raise answer
    return answer
