"""Kernel programs in compiled code: one elementwise pass over a tile, whatever the kernel is made of."""

from __future__ import annotations

import numpy as np

from maxmargin.backends._numba._jit import exp, fmax, jit

# The operations of maxmargin.kernels._program.Op as literals (a test keeps the two lists equal): compiled code
# freezes them at compile time.
LOAD, CONSTANT, AFFINE, DISTANCE, SCALE, EXP, TANH, SQRT, POWER, REAL_POWER, ADD, MULTIPLY = range(12)


@jit
def run_program(operations, constants, depth, tiles, left, right, out, lines, start):
    """out[lines[r], start + c] = program(tiles[:, r, c])."""
    width = tiles.shape[2]
    stack = np.empty((depth + 1, width), tiles.dtype)
    for r in range(tiles.shape[1]):
        evaluate(operations, constants, tiles[:, r], left[:, r], right, stack)
        out[lines[r], start : start + width] = stack[0, :]


@jit
def evaluate(operations, constants, bases, left, right, stack):
    """Leave the values of one row of a tile in stack[0]; the stack is a few rows that stay in the L1 cache."""
    top, scratch = -1, stack[stack.shape[0] - 1]
    for o in range(operations.shape[0]):
        op, operand = operations[o, 0], operations[o, 1]
        if op == LOAD or op == CONSTANT:
            top += 1
            if op == LOAD:
                stack[top, :] = bases[operand]
            else:
                stack[top, :] = stack.dtype.type(constants[o, 0])
        elif op == ADD or op == MULTIPLY:
            top -= 1
            combine(op, stack[top], stack[top + 1])
        elif op == DISTANCE or op == SCALE:
            with_scalars(op, stack[top], left[operand], right[operand])
        else:
            elementwise(op, stack[top], constants[o, 0], constants[o, 1], scratch)


@jit
def fill_row(i, K, diagonal, lazy):
    """Compute line i of K from rows stored feature by feature, if it is not there yet."""
    if lazy.filled[i]:
        return
    features = lazy.features
    base = np.zeros((1, features.shape[1]))
    row, d = base[0], features.shape[0]
    for k in range(0, d - d % 4, 4):  # four features a pass: the sums are loaded and stored a quarter as often
        p, q, r, s = features[k], features[k + 1], features[k + 2], features[k + 3]
        a, b, c, e = p[i], q[i], r[i], s[i]
        for j in range(row.size):
            row[j] += a * p[j] + b * q[j] + c * r[j] + e * s[j]
    for k in range(d - d % 4, d):
        value = features[k, i]
        for j in range(row.size):
            row[j] += value * features[k, j]
    stack = np.empty((lazy.depth + 1, features.shape[1]))
    evaluate(lazy.operations, lazy.constants, base, lazy.scalars[:, i], lazy.scalars, stack)
    K[i, :] = stack[0]
    K[i, i] = diagonal[i]
    lazy.filled[i] = True


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
