"""Compiled base tiles (sparse products, 1-norm and chi-squared distances) and the gradient update."""

from __future__ import annotations

import numpy as np

from maxmargin.backends._numba._jit import inner, jit

#: Rows of the dense side handled together, so that one non-zero and its index serve them all.
PANEL = 64
#: Terms summed in the tile's precision before they are added to a float64 total.
SHORT_SUM = 256


#: Lines of a matrix that are mirrored at a time.
MIRRORED = 16


@jit
def sparse_dot(A, indptr, indices, data, out):
    """out[r, c] = A[r] . B[c], B in CSR: A is turned into panels so that one non-zero serves PANEL rows."""
    m, d = A.shape
    panel = np.zeros((d, PANEL), A.dtype)
    block = np.empty((PANEL, PANEL), A.dtype)  # a square of results, written out along its rows
    for first in range(0, m, PANEL):
        height = min(PANEL, m - first)
        for k in range(d):
            for r in range(height):
                panel[k, r] = A[first + r, k]
        for start in range(0, out.shape[1], PANEL):
            width = min(PANEL, out.shape[1] - start)
            for c in range(width):
                add_products(indptr[start + c], indptr[start + c + 1], indices, data, panel, block[c])
            for r in range(height):
                for c in range(width):
                    out[first + r, start + c] = block[c, r]


@inner
def add_products(begin, end, indices, data, panel, total):
    """total[r] = sum over one sparse row of value * panel[column, r]."""
    total[:] = 0
    for position in range(begin, end):
        value, line = data[position], panel[indices[position]]
        for r in range(PANEL):
            total[r] += value * line[r]


@jit
def l1_distances(A, B, out):
    """out[r, c] = sum_k |A[r, k] - B[c, k]|."""
    for r in range(A.shape[0]):
        for c in range(B.shape[0]):
            total = A.dtype.type(0.0)
            for k in range(A.shape[1]):
                total += abs(A[r, k] - B[c, k])
            out[r, c] = total


@jit
def chi2_distances(A, B, out):
    """out[r, c] = sum_k (A[r, k] - B[c, k])^2 / (A[r, k] + B[c, k]), 0 / 0 counted as 0."""
    zero = A.dtype.type(0.0)
    for r in range(A.shape[0]):
        for c in range(B.shape[0]):
            total = zero
            for k in range(A.shape[1]):
                both = A[r, k] + B[c, k]
                difference = A[r, k] - B[c, k]
                total += difference * difference / both if both != zero else zero
            out[r, c] = total


@jit
def accumulate(f, rows, slots, delta, start, stop):
    """f[start:stop] += delta @ rows[slots, start:stop]: short sums in the rows' precision, long ones in float64."""
    width = stop - start
    short = np.empty(width, rows.dtype)
    for first in range(0, slots.size, SHORT_SUM):
        short[:] = 0
        for r in range(first, min(first + SHORT_SUM, slots.size)):
            factor = rows.dtype.type(delta[r])
            row = rows[slots[r], start:stop]
            for c in range(width):
                short[c] += factor * row[c]
        for c in range(width):
            f[start + c] += short[c]


@jit
def mirror(out, first, last):
    """The columns first..last - 1 above the diagonal, as lines left of it; a few lines at a time stay in cache."""
    for start in range(0, first, MIRRORED):
        stop = min(start + MIRRORED, first)
        for r in range(first, last):
            for c in range(start, stop):
                out[r, c] = out[c, r]


@jit
def gather(K, index, out, first, last):
    """Rows first..last - 1 of out = K[index, index]."""
    for r in range(first, last):
        row = K[index[r]]
        for c in range(index.size):
            out[r, c] = row[index[c]]
