"""How the compiled stream (:mod:`.stream`) is called: rows laid out, the program's stages, shares of threads."""

from __future__ import annotations

from functools import partial

import numpy as np

from maxmargin.backends._base import VALUES_PER_THREAD
from maxmargin.backends._numba import stream
from maxmargin.backends._numba.tiles import SHORT_SUM
from maxmargin.backends._rounding import gaussian_of_distance
from maxmargin.backends._rows import Csr, as_csr, as_dense
from maxmargin.backends._threads import run_shares

#: Sums up to which every weight is taken as it is.
FEW_SUMS = 4


def no_mirror(rows):
    return np.empty((0, 0), dtype=rows.dtype), np.empty((0, 0))


def no_weights(rows) -> Csr:
    return Csr(np.zeros(rows.n + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=rows.dtype), 0)


def weights_of(table) -> Csr:
    """Weights (rows, sums), in the tiles' precision, as the stream wants them: zeros of few sums are kept."""
    m, k = table.shape
    if k > FEW_SUMS:
        return as_csr(table)
    return Csr(np.arange(0, m * k + 1, max(k, 1)), np.tile(np.arange(k, dtype=np.int32), m), table.ravel(), k)


def run_stream(program, A, B, weights, f, slots, out, threads, short_sum=SHORT_SUM) -> None:
    """Rows A against the columns B: sums into f (k, n), values into out[slots]; see :mod:`.stream`."""
    if A.n == 0 or B.n == 0:
        return
    blocks = -(-B.n // stream.WIDTH)
    threads = max(1, min(threads, blocks, A.n * B.n // VALUES_PER_THREAD))
    run = streaming(program, A, B, weights, f, slots, out, short_sum)

    def share(first, last):
        run(*no_mirror(A), first * stream.WIDTH, min(last * stream.WIDTH, B.n))

    run_shares(share, blocks, threads)


def streaming(program, A, B, weights, f, slots, out, short_sum=SHORT_SUM):
    """The compiled loop, with all but the mirror and the columns it is to do."""
    columns, (code, rate, left, right) = B.bases[0], stages(program, B.dtype, A.scalars, B.scalars)
    rest = (left, right, code, rate, weights, f, slots, out, short_sum)
    if isinstance(columns, Csr):
        return partial(stream.stream_sparse, columns, as_csr(A.bases[0]), columns.d, _stride(columns), *rest)
    return partial(stream.stream_dense, B.panels, _padded(as_dense(A.bases[0])), *rest)


def stages(program_, dtype, *scalars):
    """(code, rate, scalars of the rows) as :mod:`.stream` wants them: only what is not None is compiled, and loaded."""
    if (rate := gaussian_of_distance(program_)) is not None:
        place = program_.operations[1][1]  # of the squared norms
        return None, np.array([-rate], dtype=dtype), *(table[place : place + 1] for table in scalars)
    if len(program_.operations) == 1:  # the dot product itself
        return None, None, *scalars
    return program_.code, None, *scalars


def _stride(columns: Csr) -> int:
    """Columns of a block of sparse rows made dense: as many as stay in the second-level cache, a power of 2."""
    fit = stream.PANEL_BYTES // max(1, columns.d * columns.data.itemsize)
    return max(stream.NARROW, min(stream.WIDTH, 2 ** int(np.log2(max(1, fit)))))


def _padded(A):
    """Rows of zeros make their number a multiple of what is multiplied together."""
    missing = -len(A) % stream.ROWS
    return np.ascontiguousarray(A) if missing == 0 else np.concatenate([A, np.zeros((missing, A.shape[1]), A.dtype)])
