"""One row of a linear model at a time, dense or CSR: compiled loops say ``dot(rows, w, i)`` and serve both layouts."""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from maxmargin.backends._numba._jit import inner


@inner
def csr_dot(rows, w, i):
    """x_i . w."""
    total = 0.0
    for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
        total += w[np.uint32(rows.indices[k])] * rows.data[k]
    return total


@inner
def csr_axpy(rows, w, i, step):
    """w += step x_i."""
    for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
        w[np.uint32(rows.indices[k])] += step * rows.data[k]


@inner
def dense_dot(X, w, i):
    """x_i . w."""
    total = 0.0
    for j in range(X.shape[1]):
        total += w[j] * X[i, j]
    return total


@inner
def dense_axpy(X, w, i, step):
    """w += step x_i."""
    for j in range(X.shape[1]):
        w[j] += step * X[i, j]


@inner
def csr_square(rows, i):
    """||x_i||^2."""
    total = 0.0
    for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
        total += np.float64(rows.data[k]) * rows.data[k]
    return total


@inner
def dense_square(X, i):
    """||x_i||^2."""
    total = 0.0
    for j in range(X.shape[1]):
        total += np.float64(X[i, j]) * X[i, j]
    return total


def dot(rows, w, i):
    """x_i . w, in compiled code."""


def axpy(rows, w, i, step):
    """w += step x_i, in compiled code."""


def square(rows, i):
    """||x_i||^2, in compiled code."""


@overload(dot)
def _dot(rows, w, i):
    if isinstance(rows, types.Array):
        return lambda rows, w, i: dense_dot(rows, w, i)
    return lambda rows, w, i: csr_dot(rows, w, i)


@overload(axpy)
def _axpy(rows, w, i, step):
    if isinstance(rows, types.Array):
        return lambda rows, w, i, step: dense_axpy(rows, w, i, step)
    return lambda rows, w, i, step: csr_axpy(rows, w, i, step)


@overload(square)
def _square(rows, i):
    if isinstance(rows, types.Array):
        return lambda rows, i: dense_square(rows, i)
    return lambda rows, i: csr_square(rows, i)
