"""What this computer can do: measured rates of products, kernel tiles and memory. ``python -m benchmarks.computer``.

Each rate is the best of several calls: an upper bound is asked for, not an average.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.arena.__main__ import environment

GEMM = 2048  # rows and columns of the matrices multiplied
ROWS, LINES = 20_000, 1024  # a tile has LINES x ROWS kernel values
DENSE = (2, 4, 10, 22, 54, 123, 784)
SPARSE = ((54, 12), (123, 14), (784, 150))  # columns and non-zeros of a row
GIGABYTE = 2**30
ENOUGH, LEAST = 1.0, 3  # seconds and calls of one measurement


def best(call: Callable[[], Any], seconds: float, warm: bool = True) -> float:
    """The shortest of several calls; the first of all is not timed."""
    if warm:
        call()
    times: list[float] = []
    while len(times) < LEAST or sum(times) < seconds:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def threads() -> int:
    """Threads that a fit of ours would use."""
    from maxmargin.backends import effective_threads

    return effective_threads()


def gemm(dtype: type, limit: int | None, size: int, seconds: float) -> float:
    """GFLOP/s of NumPy's matrix product."""
    rng = np.random.default_rng(0)
    A: np.ndarray = rng.random((size, size)).astype(dtype)
    B: np.ndarray = rng.random((size, size)).astype(dtype)
    out = np.empty_like(A)
    with _blas(limit):
        return 2e-9 * size**3 / best(lambda: np.matmul(A, B, out=out), seconds)


def _blas(limit: int | None) -> AbstractContextManager[Any]:
    if limit is None:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limit)


def dense_rows(columns: int, rows: int) -> np.ndarray:
    """Random float32 rows at distances of about 1, whatever their number of columns."""
    return (np.random.default_rng(0).normal(size=(rows, columns)) / np.sqrt(2 * columns)).astype(np.float32)


def sparse_rows(columns: int, filled: int, rows: int) -> Any:
    """The same with exactly `filled` non-zeros in every row, at random places."""
    rng = np.random.default_rng(0)
    indices = np.sort(np.argsort(rng.random((rows, columns)), axis=1)[:, :filled], axis=1).ravel()
    values = (rng.normal(size=rows * filled) / np.sqrt(2 * filled)).astype(np.float32)
    return sp.csr_matrix((values, indices, np.arange(rows + 1) * filled), shape=(rows, columns))


def tile(X: Any, lines: int, seconds: float, use: int) -> float:
    """ns per Gaussian kernel value, on all `use` threads together: computed, multiplied and added to the scores."""
    from maxmargin.backends import KernelGram, backend_for
    from maxmargin.kernels import Gaussian

    gram = KernelGram(backend_for("cpu"), Gaussian(gamma=0.1), X, dtype=None, threads=use, cache_bytes=0)
    index, delta = np.arange(lines), np.full(lines, 1e-3)
    f = np.zeros(X.shape[0])
    call = _uncached(gram, f, index, delta)
    return 1e9 * best(call, seconds) / (lines * X.shape[0])


def _uncached(gram: Any, f: np.ndarray, index: np.ndarray, delta: np.ndarray) -> Callable[[], None]:
    """A gradient update in which every kernel value is computed, also where a fit would look it up."""
    rows = gram.rows.take(index)
    return lambda: gram.backend.add_product(gram.program, rows, gram.rows, delta, f, gram.threads)


def memory(gigabytes: float, seconds: float) -> dict[str, float]:
    """GB/s read and written on one thread, and seconds to touch a gigabyte that is fresh from the system."""
    size = int(gigabytes * GIGABYTE)
    start = time.perf_counter()
    area = np.empty(size // 8)
    area[:: 4096 // 8] = 1.0
    touched = time.perf_counter() - start
    area.fill(1.0)
    return {
        "read": size / 1e9 / best(lambda: area.max(), seconds),
        "write": size / 1e9 / best(lambda: area.fill(1.0), seconds),
        "first_touch": touched * 1e9 / size,
    }


def measure(tiny: bool = False) -> dict[str, Any]:
    """Every rate; `tiny` is for trying out whether it works."""
    seconds, rows, lines, size = (0.0, 2000, 64, 128) if tiny else (ENOUGH, ROWS, LINES, GEMM)
    use = threads()
    products = {}
    for dtype in (np.float32, np.float64):
        for limit, where in ((1, "one thread"), (None, "all threads")):
            products[f"{dtype.__name__}, {where}"] = gemm(dtype, limit, size, seconds)
    dense = {str(d): tile(dense_rows(d, rows), lines, seconds, use) for d in DENSE}
    sparse = {str(k): tile(sparse_rows(d, k, rows), lines, seconds, use) for d, k in SPARSE}
    one = tile(dense_rows(DENSE[0], rows), lines, seconds, 1)
    return {
        "environment": environment(),
        "threads": use,
        "gemm": products,
        "exponential": {"one thread": one, "all threads": dense[str(DENSE[0])]},
        "dense": dense,
        "sparse": sparse,
        "memory": memory(0.05 if tiny else 1.0, seconds),
    }


def text(rates: dict[str, Any]) -> str:
    """The rates for a reader."""
    ns = {f"{d} features": v for d, v in rates["dense"].items()}
    ns |= {f"{k} non-zeros": v for k, v in rates["sparse"].items()}
    lines = [f"{rates['threads']} threads", "product, GFLOP/s"]
    lines += [f"  {name:24}{v:8.0f}" for name, v in rates["gemm"].items()]
    lines += [f"Gaussian of {DENSE[0]} features (mostly the exponential), ns per value"]
    lines += [f"  {name:24}{v:8.3f}" for name, v in rates["exponential"].items()]
    lines += ["fused tile, ns per kernel value on all threads", *(f"  {name:24}{v:8.3f}" for name, v in ns.items())]
    read, write, touch = (rates["memory"][k] for k in ("read", "write", "first_touch"))
    return "\n".join(
        [*lines, f"memory: read {read:.1f} GB/s, write {write:.1f} GB/s, first touch {touch:.2f} s per GB"]
    )


def main(arguments: list[str] | None = None) -> None:
    """Parse, measure, print."""
    p = argparse.ArgumentParser("python -m benchmarks.computer", description=(__doc__ or "").partition("\n")[0])
    p.add_argument("--json", metavar="FILE", type=Path, help="also write the rates here")
    p.add_argument("--tiny", action="store_true", help="only try whether it works; the figures mean nothing")
    options = p.parse_args(arguments)
    rates = measure(options.tiny)
    print(text(rates))
    if options.json is not None:
        options.json.write_text(json.dumps(rates, indent=1) + "\n")


if __name__ == "__main__":
    main()
