"""Back ends: kernel tiles and inner solvers, loaded when first used."""

from __future__ import annotations

from functools import cache

from maxmargin._validation import cache_bytes
from maxmargin.backends._base import Backend, BlockResult
from maxmargin.backends._box import Batch, BlockOptions, Box, LazyRows, Stored
from maxmargin.backends._design import Design
from maxmargin.backends._gram import KernelGram, float32_is_safe
from maxmargin.backends._rows import Rows, as_csr, prepare
from maxmargin.backends._threads import (
    blas_threads,
    effective_threads,
    run_parallel,
    run_queue,
    run_strips,
    single_threaded_blas,
)
from maxmargin.backends._whole import WholeMatrix

__all__ = [
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
    "as_csr",
    "backend_for",
    "blas_threads",
    "cache_bytes",
    "effective_threads",
    "float32_is_safe",
    "get_backend",
    "prepare",
    "run_parallel",
    "run_queue",
    "run_strips",
    "single_threaded_blas",
]


@cache
def get_backend(name: str = "numba") -> Backend:
    """The back end called ``name``: 'numba' (fast) or 'numpy' (reference)."""
    if name == "numba":
        from maxmargin.backends._numba import NumbaBackend

        return NumbaBackend()
    if name == "numpy":
        from maxmargin.backends._numpy import NumpyBackend

        return NumpyBackend()
    raise ValueError(f"there is no back end {name!r}; choose 'numba' or 'numpy'")


def backend_for(device: str) -> Backend:
    """The back end that serves an estimator's ``device``: 'auto' and 'cpu' are the compiled one."""
    return get_backend("numba")
