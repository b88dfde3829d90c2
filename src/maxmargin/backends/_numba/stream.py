"""Kernel rows by blocks that stay in the first-level cache: dot products, program, and sums in one go.

Problem: out[slots[i]] = k(a_i, .) and f[t] += sum_i weight_it k(a_i, .), for rows a_i against columns (the other rows),
either of the two left out if not wanted. Kernels whose program reads one dot product: a Gaussian (``rate``; its scalars
are the squared norms alone) is computed while the products are in registers, other programs (``code``) by the
interpreter, and without either the products are the values. What is None is not compiled.
Cost per value: d / 16 or (non-zeros of a_i) / 16 multiply-adds of a vector, and the program's. Nothing of size m x n
is written unless ``out`` is wanted: below about 100 features computing a value again is cheaper than fetching it.
With a ``mirror`` (k, m) rows and columns are the same: each pair is computed once, in the block of the later one, and
what it gives the earlier one, by the weights ``sides`` (k, n), goes there.
Invariant: sums over at most ``short_sum`` rows are kept in the tile's precision, longer ones in float64.
"""

from __future__ import annotations

import numpy as np

from maxmargin.backends._numba._jit import inner, jit
from maxmargin.backends._numba.program import evaluate
from maxmargin.backends._numba.vectors import (
    ROWS,
    VECTOR,
    WIDE,
    add_rows,
    aligned,
    dense_values,
    sparse_values,
)
from maxmargin.backends._rows import PANEL, Csr

#: Most and fewest columns of a block, multiples of WIDE vectors; and bytes of a block of sparse rows made dense.
WIDTH, NARROW, PANEL_BYTES = 512, 64, 2**19
#: Features up to which a block is wiped whole, not value by value.
WIPED = 1024
#: Sparse rows multiplied with a block before they are used; divides the rows of a short sum.
GROUP = 64


@jit
def stream_dense(panels, A, left, right, code, rate, weights, f, slots, out, short_sum, sides, mirror, first, last):
    """Columns first..last - 1, with ``panels`` (n / lanes, d, lanes) and dense rows A, padded to ROWS with zeros."""
    lanes, d = panels.shape[2], A.shape[1]
    block, stack = aligned(ROWS * WIDTH, A), stack_of(code, WIDTH, A)
    short, flat_A, flat_panels = aligned(f.shape[0] * WIDTH, A), A.reshape(-1), panels.reshape(-1)
    s = norms(rate, left, np.int64(0), left.shape[1], A)  # a plain 0 would be compiled on its own
    for start in range(first, last, WIDTH):
        width = min(WIDTH, last - start)
        height = start + width if mirror.shape[0] > 0 else left.shape[1]
        t = norms(rate, right, start, start + width, A)
        for i in range(0, height, ROWS):
            for c in range(0, width, lanes):
                dense_values(flat_A, i * d, d, flat_panels, (start + c) * d, block, c, WIDTH, s, i, t, c, rate)
            rows = min(ROWS, height - i)
            if code is not None:
                interpret(code, block, 0, WIDTH, left, i, rows, right, start, width, stack)
            use_rows(block, 0, WIDTH, i, rows, start, width, weights, short, slots, out, sides, mirror)
            if (i + ROWS) % short_sum == 0 or i + ROWS >= height:
                flush(short, WIDTH, f, start, width)


@jit
def stream_whole(X, scalars, code, rate, out):
    """out = k(x_i, x_j) among few dense rows X, laid out here."""
    (n, d), lanes = X.shape, PANEL // X.itemsize
    panels, A = (
        np.zeros(((n + lanes - 1) // lanes, d, lanes), X.dtype),
        np.zeros(((n + ROWS - 1) // ROWS * ROWS, d), X.dtype),
    )
    for i in range(n):
        for j in range(d):
            panels[i // lanes, j, i % lanes] = A[i, j] = X[i, j]
    no_weights = Csr(np.zeros(n + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, X.dtype), 0)
    none, every, nothing = np.empty((0, 0), X.dtype), np.arange(n), np.empty((0, n))
    stream_dense(
        panels, A, scalars, scalars, code, rate, no_weights, nothing, every, out, n + 1, none, np.empty((0, 0)), 0, n
    )


@jit
def stream_tasks(pointers, rows, X, scalars, code, rate, coef, short_sum, first, step, f):
    """f[:, p] = sum_q coef[:, q] k(x_p, x_q) over the positions q of p's own task, for tasks first, first + step, ...

    Task t has the positions pointers[t] to pointers[t + 1]; ``rows`` says which row of X each of them is.
    """
    d, k, lanes = X.shape[1], coef.shape[0], PANEL // X.itemsize
    for task in range(first, pointers.size - 1, step):
        begin, n = pointers[task], pointers[task + 1] - pointers[task]
        panels = np.zeros(((n + lanes - 1) // lanes, d, lanes), X.dtype)
        A, weights = np.zeros((n + ROWS, d), X.dtype), np.empty(n * k, X.dtype)
        left, right = np.empty((scalars.shape[0], n), X.dtype), np.empty((scalars.shape[0], n), X.dtype)
        m = 0
        for c in range(n):
            row, used = rows[begin + c], False
            for j in range(d):
                panels[c // lanes, j, c % lanes] = X[row, j]
            right[:, c] = scalars[:, row]
            for t in range(k):
                weights[m * k + t] = coef[t, begin + c]
                used |= coef[t, begin + c] != 0
            if used:
                A[m], left[:, m] = X[row], right[:, c]
                m += 1
        table = Csr(np.arange(m + 1) * k, np.arange(m * k).astype(np.int32) % np.int32(k), weights[: m * k], k)
        none, sums = np.empty((0, 0), X.dtype), np.zeros((k, n))
        nowhere = np.empty(0, np.intp), np.empty((0, n), X.dtype)
        A, left = A[: (m + ROWS - 1) // ROWS * ROWS], left[:, :m].copy()
        stream_dense(panels, A, left, right, code, rate, table, sums, *nowhere, short_sum, none, np.empty((0, 0)), 0, n)
        f[:, begin : begin + n] = sums


@jit
def stream_sparse(
    columns_of, rows_of, d, stride, left, right, code, rate, weights, f, slots, out, short_sum,
    sides, mirror, first, last,
):  # fmt: skip
    """Columns first..last - 1 by ``stride``; both sides are sparse, the columns are made dense a block at a time."""
    indices, data = rows_of.indices, rows_of.data
    lanes = WIDE * VECTOR // data.itemsize
    block, stack = aligned(GROUP * stride, data), stack_of(code, stride, data)
    short, panel = aligned(f.shape[0] * stride, data), aligned(d * stride, data)
    s = norms(rate, left, np.int64(0), left.shape[1], data)
    for start in range(first, last, stride):
        width = min(stride, last - start)
        spread_out(columns_of, start, width, lanes, d, panel, True)
        height = start + width if mirror.shape[0] > 0 else left.shape[1]
        t = norms(rate, right, start, start + width, data)
        for i in range(0, height, GROUP):
            group = min(GROUP, height - i)
            for c in range(0, width, lanes):
                for r in range(group):
                    begin, end, o = rows_of.indptr[i + r], rows_of.indptr[i + r + 1], r * stride + c
                    sparse_values(indices, data, begin, end, panel, c * d, block, o, s, i + r, t, c, rate)
            if code is not None:
                interpret(code, block, 0, stride, left, i, group, right, start, width, stack)
            for r in range(0, group, ROWS):
                rows = min(ROWS, group - r)
                use_rows(
                    block, r * stride, stride, i + r, rows, start, width, weights, short, slots, out, sides, mirror
                )
            if (i + GROUP) % short_sum == 0 or i + GROUP >= height:
                flush(short, stride, f, start, width)
        spread_out(columns_of, start, width, lanes, d, panel, False)


@inner
def norms(rate, scalars, first, last, like):
    """The squared norms of rows first..last - 1 for a Gaussian, and zeros behind them as far as a block may read."""
    out = aligned(last - first + WIDTH, like)
    if rate is not None:
        for k in range(first, last):
            out[k - first] = scalars[0, k]
    return out


@inner
def stack_of(code, width, like):
    """Lines for the interpreter."""
    depth = 0
    if code is not None:
        depth = code.depth + 1
    return np.empty((depth, width), like.dtype)


@inner
def spread_out(columns_of, start, width, lanes, d, panel, write):
    """Sparse rows start..start + width - 1 as dense columns, ``lanes`` of them side by side; or zeros again."""
    if not write and d <= WIPED:
        panel[:] = 0
        return
    for c in range(width):
        corner = c // lanes * lanes * d + c % lanes
        for j in range(columns_of.indptr[start + c], columns_of.indptr[start + c + 1]):
            panel[corner + columns_of.indices[j] * lanes] = columns_of.data[j] if write else 0.0


@inner
def interpret(code, block, o, stride, left, i, rows, right, start, width, stack):
    """Turn the dot products of rows i.. in block[o:], block[o + stride:], ... into kernel values."""
    values = block.reshape(1, -1, stride)
    for r in range(rows):
        evaluate(code, values, r, left, i + r, right, start, width, stack)
        for c in range(np.uint64(width)):
            block[o + r * stride + c] = stack[0, c]


@inner
def use_rows(block, o, stride, i, rows, start, width, weights, short, slots, out, sides, mirror):
    """Keep kernel values of up to ROWS rows if asked to, and add them to the sums."""
    place, k = np.uint64(start), short.size // stride
    for r in range(rows):
        line = block[o + r * stride : o + r * stride + width]
        if out.shape[0] > 0:
            at = slots[i + r]
            for c in range(np.uint64(width)):
                out[at, place + c] = line[c]
        if i + r < start:
            reflect(line, place, i + r, sides, mirror)
    first = weights.indptr[i]
    if rows == ROWS and weights.indptr[i + ROWS] - first == ROWS * k:  # every row has a weight in every sum
        for t in range(k):
            for c in range(0, width, VECTOR // block.itemsize):
                add_rows(weights.data, first + t, k, block, o + c, stride, short, t * stride + c)
        return
    for r in range(rows):
        for e in range(weights.indptr[i + r], weights.indptr[i + r + 1]):
            weight, total, line = weights.data[e], np.uint64(weights.indices[e] * stride), np.uint64(o + r * stride)
            for c in range(np.uint64(width)):
                short[total + c] += weight * block[line + c]


@inner
def reflect(line, place, i, sides, mirror):
    """What the columns place, place + 1, ... give row i."""
    for t in range(mirror.shape[0]):
        total = line.dtype.type(0.0)
        for c in range(np.uint64(line.size)):
            total += sides[t, place + c] * line[c]
        mirror[t, i] += total


@inner
def flush(short, stride, f, start, width):
    """Short sums go into the float64 ones."""
    place = np.uint64(start)
    for t in range(f.shape[0]):
        for c in range(np.uint64(width)):
            f[t, place + c] += short[t * stride + c]
            short[t * stride + c] = 0
