"""The reference back end: the same operations in plain NumPy, written to be read."""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import additive_chi2_kernel, manhattan_distances

from maxmargin.backends._base import Backend, BlockResult
from maxmargin.backends._numpy import blocks
from maxmargin.backends._numpy import newton as newton_steps
from maxmargin.kernels._program import Op


class NumpyBackend(Backend):
    """Slow, simple, and what the compiled back end is compared with."""

    name = "numpy"

    def sparse_dot(self, A, B, out):
        out[...] = (B.matrix() @ A.T).T

    def distances(self, kind, A, B, out):
        out[...] = manhattan_distances(A, B) if kind == "l1" else -additive_chi2_kernel(A, B)

    def run_program(self, code, tiles, left, right, out, lines, start):
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
        out[lines, start : start + tiles.shape[2]] = stack[0]

    def accumulate(self, f, rows, lines, delta, start, stop):
        f[start:stop] += delta @ rows[lines, start:stop]

    def pair_block(self, K, grad, beta, box, options, lazy=None):
        return BlockResult(*blocks.pair_block(K, grad, beta, box, options))

    def free_block(self, K, grad, beta, box, options, lazy=None):
        return BlockResult(*blocks.free_block(K, grad, beta, box, options))

    def newton(self, K, linear, beta, box, epsilon, balance, spent, max_solves):
        return newton_steps.newton(K, linear, beta, box.lower, box.upper, epsilon, balance, spent, max_solves)


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
