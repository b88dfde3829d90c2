"""Sums of kernel values for many tasks over the same rows: every value is computed once for all of them."""

from __future__ import annotations

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.backends._gram import KernelGram
from maxmargin.backends._rounding import SHORT_SUM


def add_products(gram: KernelGram, f: FloatArray, index: IntArray, delta: FloatArray) -> None:
    """f += delta @ K[index], f (k, n) and delta (k, rows), in the precision of the tiles."""
    gram.entries += len(index) * gram.n
    gram.backend.add_products(gram.program, gram.rows.take(index), gram.rows, delta, f, gram.threads)


def fresh_products(gram: KernelGram, beta: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """(beta @ K afresh in float64, proven bounds on its errors where there are any), beta (k, n)."""
    f = np.ascontiguousarray(gram.product(np.ascontiguousarray(beta.T)).T)
    if (bound := gram.error_bound(np.dtype(np.float64))) is None:
        return f, None
    size, s = np.abs(beta), gram.rows.scalars[0].astype(np.float64)
    A, B = size.sum(axis=1, keepdims=True), (size @ s)[:, None]  # no k(x, z) is above 1
    terms = SHORT_SUM + 2 * int(np.count_nonzero(beta.any(axis=0))) // SHORT_SUM
    return f, bound.of(s, A, B, terms, float(A.max()))
