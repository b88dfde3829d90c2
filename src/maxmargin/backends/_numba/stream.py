"""Kernel rows by blocks that stay in the first-level cache: dot products, program, and sums in one go.

Problem: out[lines[i]] = k(a_i, .) and f[t] += sum_i weight_it k(a_i, .), for rows a_i against columns (the other rows),
either of the two left out if not wanted. Kernels whose program reads one dot product.
Cost per value: d / 16 or (non-zeros of a_i) / 16 multiply-adds of a vector, and the program's. Nothing of size m x n
is written unless ``out`` is wanted: below about 100 features computing a value again is cheaper than fetching it.
With a ``mirror`` (k, m) rows and columns are the same: each pair is computed once, in the block of the later one, and
what it gives the earlier one, by the weights ``sides`` (k, n), goes there.
Invariant: sums over at most ``short_sum`` rows are kept in the tile's precision, longer ones in float64.
"""

from __future__ import annotations

import numpy as np

from maxmargin.backends._numba._jit import jit
from maxmargin.backends._numba.program import evaluate
from maxmargin.backends._numba.vectors import ROWS, VECTOR, WIDE, aligned, dense_dots, sparse_dots

#: Most and fewest columns of a block, multiples of WIDE vectors; and bytes of a block of sparse rows made dense.
WIDTH, NARROW, PANEL_BYTES = 512, 64, 2**19
#: Features up to which a block is wiped whole, not value by value.
WIPED = 1024
#: Sparse rows multiplied with a block before they are used; divides the rows of a short sum.
GROUP = 64


@jit
def stream_dense(panels, A, left, right, code, weights, f, lines, out, short_sum, sides, mirror, first, last):
    """Columns first..last - 1, with ``panels`` (n / lanes, d, lanes) and dense rows A, padded to ROWS with zeros."""
    lanes, d = VECTOR // A.itemsize, A.shape[1]
    block, stack = aligned(ROWS * WIDTH, A), np.empty((code.depth + 1, WIDTH), A.dtype)
    short = np.zeros((f.shape[0], WIDTH), A.dtype)
    rows, flat_A, flat_panels = block.reshape(1, ROWS, WIDTH), A.reshape(-1), panels.reshape(-1)
    for start in range(first, last, WIDTH):
        width = min(WIDTH, last - start)
        height = start + width if mirror.shape[0] > 0 else left.shape[1]
        for i in range(0, height, ROWS):
            for c in range(0, width, lanes):
                dense_dots(flat_A, i * d, d, flat_panels, (start + c) * d, block, c, WIDTH)
            for r in range(min(ROWS, height - i)):
                use_row(code, rows, r, left, i + r, right, start, width, stack, weights, short, lines, out)
                reflect(stack, start, width, i + r, sides, mirror)
            if (i + ROWS) % short_sum == 0 or i + ROWS >= height:
                flush(short, f, start, width)


@jit
def stream_sparse(
    columns_of, rows_of, d, stride, left, right, code, weights, f, lines, out, short_sum, sides, mirror, first, last
):
    """Columns first..last - 1 by ``stride``; both sides are sparse, the columns are made dense a block at a time."""
    lanes = WIDE * VECTOR // rows_of.data.itemsize
    block, stack = aligned(GROUP * stride, rows_of.data), np.empty((code.depth + 1, stride), rows_of.data.dtype)
    short = np.zeros((f.shape[0], stride), rows_of.data.dtype)
    panel = aligned(d * stride, rows_of.data)
    rows = block.reshape(1, GROUP, stride)
    for start in range(first, last, stride):
        width = min(stride, last - start)
        spread_out(columns_of, start, width, lanes, d, panel, True)
        height = start + width if mirror.shape[0] > 0 else left.shape[1]
        for i in range(0, height, GROUP):
            group = min(GROUP, height - i)
            for c in range(0, width, lanes):
                for r in range(group):
                    begin, end = rows_of.indptr[i + r], rows_of.indptr[i + r + 1]
                    sparse_dots(rows_of.indices, rows_of.data, begin, end, panel, c * d, block, r * stride + c)
            for r in range(group):
                use_row(code, rows, r, left, i + r, right, start, width, stack, weights, short, lines, out)
                reflect(stack, start, width, i + r, sides, mirror)
            if (i + GROUP) % short_sum == 0 or i + GROUP >= height:
                flush(short, f, start, width)
        spread_out(columns_of, start, width, lanes, d, panel, False)


@jit
def spread_out(columns_of, start, width, lanes, d, panel, write):
    """Sparse rows start..start + width - 1 as dense columns, ``lanes`` of them side by side; or zeros again."""
    if not write and d <= WIPED:
        panel[:] = 0
        return
    for c in range(width):
        corner = c // lanes * lanes * d + c % lanes
        for j in range(columns_of.indptr[start + c], columns_of.indptr[start + c + 1]):
            panel[corner + columns_of.indices[j] * lanes] = columns_of.data[j] if write else 0.0


@jit
def use_row(code, rows, r, left, i, right, start, width, stack, weights, short, lines, out):
    """Turn dot products into kernel values, keep them if asked to, and add them to the sums."""
    evaluate(code, rows, r, left, i, right, start, width, stack)
    if out.shape[0] > 0:
        line, place = lines[i], np.uint64(start)
        for c in range(np.uint64(width)):
            out[line, place + c] = stack[0, c]
    for e in range(weights.indptr[i], weights.indptr[i + 1]):
        weight, t = stack.dtype.type(weights.data[e]), weights.indices[e]
        for c in range(width):
            short[t, c] += weight * stack[0, c]


@jit
def reflect(stack, start, width, i, sides, mirror):
    """What the columns start..start + width - 1 give row i, unless it is one of them."""
    place = np.uint64(start)
    for t in range(mirror.shape[0] if i < start else 0):
        total = stack.dtype.type(0.0)
        for c in range(np.uint64(width)):
            total += sides[t, place + c] * stack[0, c]
        mirror[t, i] += total


@jit
def flush(short, f, start, width):
    """Short sums go into the float64 ones."""
    place = np.uint64(start)
    for t in range(short.shape[0]):
        for c in range(np.uint64(width)):
            f[t, place + c] += short[t, c]
            short[t, c] = 0
