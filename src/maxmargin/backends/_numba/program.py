"""Kernel programs in compiled code: one elementwise pass over a tile, whatever the kernel is made of."""

from __future__ import annotations

import numpy as np

from maxmargin.backends._numba._jit import exp, fmax, inner, jit

# The operations of maxmargin.kernels._program.Op as literals (a test keeps the two lists equal): compiled code
# freezes them at compile time.
LOAD, CONSTANT, AFFINE, DISTANCE, SCALE, EXP, TANH, SQRT, POWER, REAL_POWER, ADD, MULTIPLY, GAUSSIAN = range(13)


@jit
def run_program(code, tiles, left, right, out, slots, start):
    """out[slots[r], start + c] = program(tiles[:, r, c])."""
    width = tiles.shape[2]
    stack = np.empty((code.depth + 1, width), tiles.dtype)
    for r in range(tiles.shape[1]):
        evaluate(code, tiles, r, left, r, right, 0, width, stack)
        for c in range(width):
            out[slots[r], start + c] = stack[0, c]


@inner
def evaluate(code, bases, r, left, i, right, start, width, stack):
    """Leave the values of row r of the bases in stack[0]; the stack is a few rows that stay in the L1 cache.

    The row's own scalars are left[:, i], those of the columns right[:, start : start + width]. Whole arrays and
    positions are handed down, not slices: counting the references to a slice takes longer than a short loop.
    """
    top = -1
    for o in range(code.operations.shape[0]):
        op, operand = code.operations[o, 0], code.operations[o, 1]
        a, b = code.constants[o, 0], code.constants[o, 1]
        if op == LOAD:
            top += 1
            for c in range(width):
                stack[top, c] = bases[operand, r, c]
        elif op == CONSTANT:
            top += 1
            for c in range(width):
                stack[top, c] = stack.dtype.type(a)
        elif op == ADD or op == MULTIPLY:
            top -= 1
            combine(op, stack, top, width)
        elif op == DISTANCE or op == SCALE or op == GAUSSIAN:
            with_scalars(op, stack, top, width, left[operand, i], right, operand, start, a, b)
        else:
            elementwise(op, stack, top, width, a, b)


@inner
def fill_row(i, K, diagonal, lazy):
    """Compute line i of K from rows stored feature by feature, if it is not there yet."""
    if lazy.filled[i]:
        return
    features = lazy.features
    base = np.zeros((1, 1, features.shape[1]))
    row, d = base[0, 0], features.shape[0]
    for k in range(0, d - d % 4, 4):  # four features a pass: the sums are loaded and stored a quarter as often
        p, q, r, s = features[k], features[k + 1], features[k + 2], features[k + 3]
        a, b, c, e = p[i], q[i], r[i], s[i]
        for j in range(row.size):
            row[j] += a * p[j] + b * q[j] + c * r[j] + e * s[j]
    for k in range(d - d % 4, d):
        value = features[k, i]
        for j in range(row.size):
            row[j] += value * features[k, j]
    stack = np.empty((lazy.code.depth + 1, features.shape[1]))
    evaluate(lazy.code, base, 0, lazy.scalars, i, lazy.scalars, 0, features.shape[1], stack)
    for j in range(row.size):  # an assignment of arrays compiles the making of an error message, which takes a second
        K[i, j] = stack[0, j]
    K[i, i] = diagonal[i]
    lazy.filled[i] = True


@inner
def combine(op, stack, top, width):
    """The line on top becomes the sum, or the product, of itself and the line above it."""
    if op == ADD:
        for c in range(width):
            stack[top, c] += stack[top + 1, c]
    else:
        for c in range(width):
            stack[top, c] *= stack[top + 1, c]


@inner
def with_scalars(op, stack, top, width, s, scalars, line, start, a, b):
    """v = max(0, s + t - 2 v), or s v t, or exp(a max(0, s + t - 2 v) + b), with t = scalars[line, start:]."""
    two, zero = stack.dtype.type(2.0), stack.dtype.type(0.0)
    first, size = np.uint64(start), np.uint64(width)  # unsigned: an index that may be negative does not vectorise
    if op == DISTANCE:
        for c in range(size):
            stack[top, c] = fmax(s + scalars[line, first + c] - two * stack[top, c], zero)
    elif op == GAUSSIAN:
        factor, shift = stack.dtype.type(a), stack.dtype.type(b)
        for c in range(size):
            square = fmax(s + scalars[line, first + c] - two * stack[top, c], zero)
            stack[top, c] = exp(factor * square + shift)
    else:
        for c in range(size):
            stack[top, c] *= s * scalars[line, first + c]


@inner
def elementwise(op, stack, top, width, a, b):
    """v = a v + b, exp v, tanh v, sqrt v, v^a; the last line of the stack is scratch space."""
    kind, scratch = stack.dtype.type, stack.shape[0] - 1
    one, two = kind(1.0), kind(2.0)
    if op == AFFINE:
        factor, shift = kind(a), kind(b)
        for c in range(width):
            stack[top, c] = factor * stack[top, c] + shift
    elif op == EXP:
        for c in range(width):
            stack[top, c] = exp(stack[top, c])
    elif op == TANH:
        for c in range(width):
            stack[top, c] = one - two / (exp(two * stack[top, c]) + one)
    elif op == SQRT:
        for c in range(width):
            stack[top, c] = np.sqrt(stack[top, c])
    elif op == POWER:
        for c in range(width):
            stack[scratch, c] = stack[top, c]
            stack[top, c] = one
        for _ in range(int(a)):
            for c in range(width):
                stack[top, c] *= stack[scratch, c]
    elif op == REAL_POWER:
        for c in range(width):
            stack[top, c] = stack[top, c] ** kind(a)
