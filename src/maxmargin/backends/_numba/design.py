"""Products with the rows of a linear model, dense or CSR: X w, X' b and X' diag(v) X, summed in float64.

Each works on the rows ``first`` to ``last``, so that threads take shares of them. Indices are unsigned: one that might
be negative is checked each time, which takes longer than the product.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from maxmargin.backends._design import Design
from maxmargin.backends._numba._jit import jit
from maxmargin.backends._rows import Csr


@jit
def dense_scores(X, w, out, first, last):
    """out[i] = x_i . w."""
    for i in range(first, last):
        total = 0.0
        for j in range(X.shape[1]):
            total += X[i, j] * w[j]
        out[i] = total


@jit
def dense_combine(X, b, out, first, last):
    """out += sum_i b_i x_i."""
    for i in range(first, last):
        if b[i] != 0:
            for j in range(X.shape[1]):
                out[j] += b[i] * X[i, j]


@jit
def csr_scores(indptr, indices, data, w, out, first, last):
    """out[i] = x_i . w."""
    for i in range(first, last):
        total = 0.0
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total += data[k] * w[np.uint32(indices[k])]
        out[i] = total


@jit
def csr_combine(indptr, indices, data, b, out, first, last):
    """out += sum_i b_i x_i."""
    for i in range(first, last):
        if b[i] != 0:
            for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                out[np.uint32(indices[k])] += b[i] * data[k]


@jit
def csr_squares(indptr, data, out, first, last):
    """out[i] = ||x_i||^2."""
    for i in range(first, last):
        total = 0.0
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total += np.float64(data[k]) * data[k]
        out[i] = total


@jit
def csr_column_sums(indices, data, squares, counts):
    """Sums of squares and numbers of values of every column."""
    for k in range(np.uint64(len(data))):
        j, value = np.uint32(indices[k]), np.float64(data[k])
        squares[j] += value * value
        counts[j] += 1.0


@jit
def csr_curvature(indptr, indices, data, v, out, first, last):
    """out += sum_i v_i x_i x_i', upper triangle; the columns of a row are in order."""
    for i in range(first, last):
        if v[i] != 0:
            for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                value, row = v[i] * data[k], out[np.uint32(indices[k])]
                for m in range(k, np.uint64(indptr[i + 1])):
                    row[np.uint32(indices[m])] += value * data[m]


@jit
def dense_column_squares(X, squares):
    """squares[j] += sum_i x_ij^2."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            squares[j] += np.float64(X[i, j]) * X[i, j]


class CompiledDesign(Design):
    """The same products in compiled loops; dense ones of many columns are left to BLAS."""

    def _scores(self, w, out, first, last):
        if isinstance(self.X, Csr):
            csr_scores(self.X.indptr, self.X.indices, self.X.data, w, out, first, last)
        else:
            dense_scores(self.X, w, out, first, last)

    def _combine(self, beta, out, first, last):
        if isinstance(self.X, Csr):
            csr_combine(self.X.indptr, self.X.indices, self.X.data, beta, out, first, last)
        else:
            dense_combine(self.X, beta, out, first, last)

    @cached_property
    def squares(self):
        if not isinstance(self.X, Csr):
            return super().squares
        out = np.empty(self.n)
        csr_squares(self.X.indptr, self.X.data, out, 0, self.n)
        return out

    @cached_property
    def column_sums(self):
        squares, counts = np.zeros(self.d), np.zeros(self.d)
        if not isinstance(self.X, Csr):
            dense_column_squares(self.X, squares)
            return squares, counts + self.n
        csr_column_sums(self.X.indices, self.X.data, squares, counts)
        return squares, counts

    def _curvature(self, weight, out, first, last):
        if isinstance(self.X, Csr):
            csr_curvature(self.X.indptr, self.X.indices, self.X.data, weight, out, first, last)
        else:
            super()._curvature(weight, out, first, last)
