"""The reference back end: the same operations in plain NumPy, written to be read."""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import additive_chi2_kernel, manhattan_distances

from maxmargin._types import FloatArray, IntArray
from maxmargin.backends import backend_for
from maxmargin.backends._base import Backend, BlockResult
from maxmargin.kernels import Op
from tests.reference_backend import blocks
from tests.reference_backend import newton as newton_steps


def get_backend(name: str = "numba") -> Backend:
    """The back end called ``name``: 'numba', the one that is used, or 'numpy', the reference."""
    if name not in ("numba", "numpy"):
        raise ValueError(f"no back end {name!r}; choose 'numba' or 'numpy'")
    return NumpyBackend() if name == "numpy" else backend_for("cpu")


class NumpyBackend(Backend):
    """Slow, simple, and what the compiled back end is compared with."""

    name = "numpy"

    def sparse_dot(self, A, B, out):
        out[...] = (B.matrix() @ A.T).T

    def distances(self, kind, A, B, out):
        out[...] = manhattan_distances(A, B) if kind == "l1" else -additive_chi2_kernel(A, B)

    def run_program(self, code, tiles, left, right, out, slots, start):
        stack: list[np.ndarray] = []
        for (op, operand), (a, b) in zip(code.operations, code.constants, strict=True):
            if op == Op.LOAD:
                stack.append(tiles[operand])
            elif op == Op.CONSTANT:
                stack.append(np.full(tiles.shape[1:], a, dtype=tiles.dtype))
            elif op == Op.ADD:
                stack[-2:] = [stack[-2] + stack[-1]]
            elif op == Op.MULTIPLY:
                stack[-2:] = [stack[-2] * stack[-1]]
            elif op == Op.DISTANCE:
                stack[-1] = np.maximum(left[operand][:, None] + right[operand] - 2 * stack[-1], 0)
            elif op == Op.GAUSSIAN:
                square = np.maximum(left[operand][:, None] + right[operand] - 2 * stack[-1], 0)
                stack[-1] = np.exp(square.dtype.type(a) * square + square.dtype.type(b))
            elif op == Op.SCALE:
                stack[-1] = left[operand][:, None] * stack[-1] * right[operand]
            else:
                stack[-1] = _elementwise(op, stack[-1], a, b)
        out[slots, start : start + tiles.shape[2]] = stack[0]

    def accumulate(self, f, rows, slots, delta, start, stop):
        f[start:stop] += delta @ rows[slots, start:stop]

    def pair_block(self, K, grad, beta, box, options, lazy=None):
        return BlockResult(*blocks.pair_block(K, grad, beta, box, options))

    def free_block(self, K, grad, beta, box, options, lazy=None):
        return BlockResult(*blocks.free_block(K, grad, beta, box, options))

    def newton(self, K, linear, beta, box, epsilon, balance, spent, max_solves):
        return newton_steps.newton(K, linear, beta, box.lower, box.upper, epsilon, balance, spent, max_solves)

    def largest(self, values: FloatArray, count: int) -> IntArray:
        """Positions of about the ``count`` largest finite values: which of nearly equal ones does not matter."""
        count = min(count, len(values))
        if count == 0:
            return np.zeros(0, dtype=np.intp)
        top = np.argpartition(values, len(values) - count)[len(values) - count :]
        return top[np.isfinite(values[top])]

    def smoothed_slopes(
        self, f, df, step, centre, keep, rate, linear, ridge, eps, lower, upper, out, threads=1
    ) -> float:
        """Slopes of the rows of a linear model at f + step df into ``out``; their product with df.

        clip(shrink(keep centre + rate (linear - f - step df), rate eps) / (keep + rate ridge), lower, upper), where
        shrink moves towards 0.
        """
        value = keep * centre + rate * (linear - f - step * df)
        value = np.sign(value) * np.maximum(np.abs(value) - rate * eps, 0.0)
        np.clip(value / (keep + rate * ridge), lower, upper, out=out)
        return float(out @ df)

    def slope_curvatures(self, beta, keep, rate, ridge, eps, lower, upper, threads=1) -> FloatArray:
        """How fast :meth:`smoothed_slopes` change with the scores, at slopes ``beta``."""
        inside = (beta > lower) & (beta < upper) & ((beta != 0) | (eps == 0))
        return np.where(inside, rate / (keep + rate * ridge), 0.0)

    def row_values(self, f, beta, linear, ridge, eps, lower, upper, threads=1) -> tuple[float, float]:
        """(sum of losses, sum of Fenchel-Young gaps) of the rows of a linear model with a quadratic dual."""
        r = f - linear
        away = np.sign(-r) * np.maximum(np.abs(r) - eps, 0.0)
        flat = np.where(away > 0, upper, np.where(away < 0, lower, 0.0))
        best = np.where(ridge > 0, np.clip(away / np.where(ridge > 0, ridge, 1.0), lower, upper), flat)
        losses = -best * r - eps * np.abs(best) - ridge / 2 * best**2
        gaps = (beta - best) * (r + ridge / 2 * (beta + best)) + eps * (np.abs(beta) - np.abs(best))
        return float(losses.sum()), float(np.maximum(gaps, 0.0).sum())


def _elementwise(op: int, v: np.ndarray, a: float, b: float) -> np.ndarray:
    if op == Op.AFFINE:
        return v.dtype.type(a) * v + v.dtype.type(b)
    if op == Op.EXP:
        return np.exp(v)
    if op == Op.TANH:
        return np.tanh(v)
    if op == Op.SQRT:
        return np.sqrt(v)
    return v ** v.dtype.type(a)
