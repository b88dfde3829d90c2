"""Kernel programs in compiled code: one elementwise pass over a tile, whatever the kernel is made of."""

from __future__ import annotations

import numpy as np

from maxmargin.backends._numba._jit import exp, fmax, jit

# The operations of maxmargin.kernels._program.Op as literals (a test keeps the two lists equal): compiled code
# freezes them at compile time.
LOAD, CONSTANT, AFFINE, DISTANCE, SCALE, EXP, TANH, SQRT, POWER, REAL_POWER, ADD, MULTIPLY = range(12)


@jit
def run_program(operations, constants, depth, tiles, left, right, out, lines, start):
    """out[lines[r], start + c] = program(tiles[:, r, c]); the stack is a few rows that stay in the L1 cache."""
    width = tiles.shape[2]
    stack = np.empty((depth + 1, width), tiles.dtype)  # the last row is scratch for whole powers
    for r in range(tiles.shape[1]):
        top = -1
        for o in range(operations.shape[0]):
            op, operand = operations[o, 0], operations[o, 1]
            if op == LOAD or op == CONSTANT:
                top += 1
                if op == LOAD:
                    stack[top, :] = tiles[operand, r, :]
                else:
                    stack[top, :] = tiles.dtype.type(constants[o, 0])
            elif op == ADD or op == MULTIPLY:
                top -= 1
                combine(op, stack[top], stack[top + 1])
            elif op == DISTANCE or op == SCALE:
                with_scalars(op, stack[top], left[operand, r], right[operand])
            else:
                elementwise(op, stack[top], constants[o, 0], constants[o, 1], stack[depth])
        out[lines[r], start : start + width] = stack[0, :]


@jit
def combine(op, a, b):
    """a = a + b or a * b."""
    if op == ADD:
        for c in range(a.size):
            a[c] += b[c]
    else:
        for c in range(a.size):
            a[c] *= b[c]


@jit
def with_scalars(op, v, s, t):
    """v = max(0, s + t - 2 v), or s v t."""
    two, zero = v.dtype.type(2.0), v.dtype.type(0.0)
    if op == DISTANCE:
        for c in range(v.size):
            v[c] = fmax(s + t[c] - two * v[c], zero)
    else:
        for c in range(v.size):
            v[c] *= s * t[c]


@jit
def elementwise(op, v, a, b, scratch):
    """v = a v + b, exp v, tanh v, sqrt v, v^a."""
    one, two = v.dtype.type(1.0), v.dtype.type(2.0)
    if op == AFFINE:
        factor, shift = v.dtype.type(a), v.dtype.type(b)
        for c in range(v.size):
            v[c] = factor * v[c] + shift
    elif op == EXP:
        for c in range(v.size):
            v[c] = exp(v[c])
    elif op == TANH:
        for c in range(v.size):
            v[c] = one - two / (exp(two * v[c]) + one)
    elif op == SQRT:
        for c in range(v.size):
            v[c] = np.sqrt(v[c])
    elif op == POWER:
        scratch[:] = v
        v[:] = one
        for _ in range(int(a)):
            for c in range(v.size):
                v[c] *= scratch[c]
    elif op == REAL_POWER:
        for c in range(v.size):
            v[c] = v[c] ** v.dtype.type(a)
