"""Kernel systems too large to store: landmarks, kernel values in blocks, preconditioned conjugate gradients."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from maxmargin._rows import among, take
from maxmargin._stop import heed
from maxmargin._types import FloatArray, IntArray
from maxmargin.backends import run_queue, single_threaded_blas
from maxmargin.delivered import Basis
from maxmargin.estimators._caller import levels_to_caller
from maxmargin.estimators._kernel_model import KernelModel
from maxmargin.estimators._machine import Training, seed_of
from maxmargin.estimators._options import FitOptions
from maxmargin.kernels import Kernel, Precomputed
from maxmargin.maps import choose_landmarks
from maxmargin.solvers.conjugate import solve_refined
from maxmargin.solvers.least_squares import balanced, without

#: Most rows of a closed form, unless it is asked for.
DIRECT_ROWS = 12_000
#: Landmarks of the preconditioner, and rows whose kernel values are computed together.
PRECONDITION_ROWS, BLOCK_ROWS = 1000, 2048
#: Shift of the preconditioner's small matrix, relative to its trace, that makes it invertible.
JITTER = 1e-12


def draw_landmarks(model: KernelModel, data: Training, kernel: Kernel, count: int, method: str = "uniform") -> IntArray:
    """Rows of X drawn among the different ones that count, in their order."""
    options = FitOptions.of(model)
    rng, given = np.random.default_rng(seed_of(options)), isinstance(kernel, Precomputed)
    X = among(data.X, data.kept) if given else model._counted_rows(data)
    drawn = choose_landmarks(kernel, X, count, method, rng, data.weight, options.threads)
    return np.sort(data.kept[drawn])


def solve_streamed(
    model: KernelModel,
    data: Training,
    kernel: Kernel,
    weight: FloatArray,
    lam: float,
    Y: FloatArray,
    sum_zero: bool = False,
) -> tuple[FloatArray, float, int]:
    """(a, relative residual, steps) of (K + lam diag(1/weight)) a = Y on the rows that count; K is never stored.

    With R = sqrt(weight) the system is R K R + lam, preconditioned by its Nystroem approximation from some rows. With
    ``sum_zero`` it is that of a machine with an intercept: sum a = 0, and Y is met but for a constant.
    """
    n, root = len(data.kept), np.sqrt(weight)[:, None]
    chosen = draw_landmarks(model, data, kernel, min(PRECONDITION_ROWS, n))
    blocks = StreamedValues(model, data, kernel, chosen)
    K_nm = np.empty((n, len(chosen)))
    blocks.each(lambda K, rows: K_nm.__setitem__(rows, root[rows] * K))
    small = K_nm.T @ K_nm + lam * blocks.among()
    small.flat[:: len(small) + 1] += JITTER * np.trace(small)
    if not np.isfinite(small).all():
        raise ValueError("the kernel matrix is not finite; scale the features, for example with StandardScaler")
    inner = np.linalg.inv(small)
    options = FitOptions.of(model)
    gram = gram_of(options, data, kernel)

    def apply(v: FloatArray) -> FloatArray:
        heed()
        return root * gram.product(root * v) + lam * v

    def precondition(v: FloatArray) -> FloatArray:
        return (v - K_nm @ (inner @ (K_nm.T @ v))) / lam

    with single_threaded_blas():
        if not sum_zero:
            a, residual, steps = solve_refined(apply, precondition, root * Y, options.tol, options.max_iter)
            return root * a, residual, steps
        system, right = balanced(root, apply, precondition), without(root * Y, root)
        a, residual, steps = solve_refined(*system, right, options.tol, options.max_iter)
    return root * without(a, root), residual, steps


def gram_of(options: FitOptions, data: Training, kernel: Kernel) -> Any:
    """The Gram matrix of the rows that count, computed on demand."""
    gram = options.backend.gram(kernel, data.X, threads=options.threads)
    return gram if len(data.kept) == data.n else gram.take(data.kept, threads=options.threads)


def warn_unless_solved(options: FitOptions, residual: float, steps: int, softer: str) -> None:
    """Tell the user if conjugate gradients ended above ``tol``; ``softer`` is the parameter that makes it easier."""
    if not residual <= options.tol:
        spent = steps >= options.max_iter
        when = f"after max_iter={options.max_iter} steps" if spent else "where rounding errors keep it,"
        warnings.warn(
            f"conjugate gradients stopped {when} at a relative residual of {residual:.1e}; "
            f"raise {'max_iter or tol' if spent else 'tol'}, or {softer}",
            ConvergenceWarning,
            stacklevel=levels_to_caller(),
        )


class StreamedValues:
    """Kernel values of all rows against some, a block of rows at a time, by several threads."""

    def __init__(self, model: KernelModel, data: Training, kernel: Kernel, chosen: IntArray):
        options = FitOptions.of(model)
        self.data, self.backend, self.program = data, options.backend, kernel.lower()
        self.threads, self.n = options.threads, len(data.kept)
        basis = model._basis(data, chosen, seen=True)
        self.vectors = data.X[chosen] if isinstance(kernel, Precomputed) else basis.vectors
        self.columns = model._prepared(Basis(chosen, basis.vectors), self.program, self.backend, None)

    def _values(self, first: int) -> tuple[FloatArray, slice]:
        heed()
        rows = slice(first, min(first + BLOCK_ROWS, self.n))
        return self._against(take(self.data.X, self.data.kept[rows])), rows

    def _against(self, X: Any) -> FloatArray:
        left = self.backend.prepare(self.program, X, like=self.columns, dtype=self.columns.dtype)
        return self.backend.tile(self.program, left, self.columns)

    def each(self, use: Any) -> None:
        """use(values, rows) of every block."""
        run_queue(
            [partial(lambda first: use(*self._values(first)), k) for k in range(0, self.n, BLOCK_ROWS)], self.threads
        )

    def collect(self, use: Any) -> FloatArray:
        """The sum of use(values, rows) over all blocks, in the order of the blocks."""
        found: dict[int, FloatArray] = {}

        def keep(values: FloatArray, rows: slice) -> None:
            found[rows.start] = use(values, rows)

        self.each(keep)
        return np.sum([found[first] for first in sorted(found)], axis=0)

    def among(self) -> FloatArray:
        """Values among the chosen rows."""
        return self._against(self.vectors)
