"""Back ends: kernel tiles and inner solvers, loaded when first used."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from maxmargin._validation import cache_bytes
from maxmargin.backends._base import VALUES_PER_THREAD, Backend, BlockResult
from maxmargin.backends._box import Batch, BlockOptions, Box, LazyRows, Stored
from maxmargin.backends._cross import proven_cross
from maxmargin.backends._design import Design
from maxmargin.backends._gram import KernelGram
from maxmargin.backends._many_sums import add_products, fresh_products
from maxmargin.backends._rounding import float32_is_safe
from maxmargin.backends._rows import Rows, as_csr, by_appearance, prepare
from maxmargin.backends._threads import (
    blas_threads,
    effective_threads,
    factor_threads,
    run_parallel,
    run_queue,
    run_shares,
    single_threaded_blas,
)
from maxmargin.backends._touch import first_touch
from maxmargin.backends._whole import WholeMatrix

if TYPE_CHECKING:
    from maxmargin.backends._numba import NumbaBackend

__all__ = [
    "VALUES_PER_THREAD",
    "Backend",
    "Batch",
    "BlockOptions",
    "BlockResult",
    "Box",
    "Design",
    "KernelGram",
    "LazyRows",
    "Rows",
    "Stored",
    "WholeMatrix",
    "add_products",
    "as_csr",
    "backend_for",
    "blas_threads",
    "by_appearance",
    "cache_bytes",
    "effective_threads",
    "factor_threads",
    "first_touch",
    "float32_is_safe",
    "fresh_products",
    "prepare",
    "proven_cross",
    "run_parallel",
    "run_queue",
    "run_shares",
    "single_threaded_blas",
]


@cache
def backend_for(device: str) -> NumbaBackend:
    """The back end that serves an estimator's ``device``; the one place that looks at it."""
    if device not in ("auto", "cpu"):
        raise ValueError(f"there is no device {device!r}; choose 'auto' or 'cpu'")
    from maxmargin.backends._numba import NumbaBackend

    return NumbaBackend()
