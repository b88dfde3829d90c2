"""One epoch of dual coordinate descent for linear models: every active row once, w kept up to date.

Row i moves to the minimum of 1/2 Q_i d^2 + g_i d + eps |beta_i + d| within its bounds, where
g_i = x_i.w + b - linear_i + ridge_i beta_i and Q_i = ||x_i||^2 + ridge_i (+ rate, with an intercept): Hsieh et al.
2008. Rows at a bound whose slope keeps them there by more than any row of the last epoch was off are left out
("shrunk", ibid.). Rows, or without an intercept blocks of neighbours, come in random order. With an intercept
b = shift + rate sum(beta): the method of multipliers on sum(beta) = 0.
"""

from __future__ import annotations

import numpy as np

from maxmargin.backends._numba._jit import inner, jit
from maxmargin.backends._numba.rows import axpy, dot

#: Neighbouring rows that are visited one after the other: their values share lines of the cache.
BLOCK = 8


@inner
def shuffle(active, count, seed):
    """Fisher and Yates, with the upper half of the numbers of a 64-bit xorshift, scaled (a remainder takes longer)."""
    for k in range(count - 1, 0, -1):
        seed ^= seed << np.uint64(13)
        seed ^= seed >> np.uint64(7)
        seed ^= seed << np.uint64(17)
        m = np.int64(((seed >> np.uint64(32)) * np.uint64(k + 1)) >> np.uint64(32))
        active[k], active[m] = active[m], active[k]
    return seed


@inner
def slopes(g, b, low, high, eps):
    """Slopes of an upward and a downward move from b; +-inf where there is none."""
    up = g + (eps if b >= 0 else -eps) if b < high else np.inf
    down = g + (eps if b > 0 else -eps) if b > low else -np.inf
    return up, down


@inner
def moved(g, b, q, low, high, eps):
    """The minimiser of the row's quadratic."""
    value = b - g / q
    if eps > 0:
        edge = eps / q
        value = max(value - edge, 0.0) + min(value + edge, 0.0)
    return min(max(value, low), high)


@jit
def epoch(rows, w, beta, form, q, active, count, sums, old, seed):
    """(rows still active, worst upward slope, worst downward slope, next seed); ``sums`` = (shift, rate, sum beta)."""
    height = 1 if sums[1] > 0 else BLOCK  # an intercept ties all rows: the same neighbours time and again slow it down
    blocks = np.arange((count + height - 1) // height)
    seed = shuffle(blocks, len(blocks), seed)
    lowest, highest = 0.0, 0.0
    for block in blocks:
        for k in range(block * height, min(count, (block + 1) * height)):
            i = active[k]
            b = beta[i]
            g = dot(rows, w, i) + sums[0] + sums[1] * sums[2] - form.linear[i] + form.ridge[i] * b
            up, down = slopes(g, b, form.lower[i], form.upper[i], form.eps)
            if up > old[1] and down < old[0]:  # it would have to change by more than any row did
                active[k] = -1
                continue
            lowest, highest = min(lowest, up), max(highest, down)
            if (up < 0 or down > 0) and q[i] > 0:
                beta[i] = moved(g, b, q[i], form.lower[i], form.upper[i], form.eps)
                axpy(rows, w, i, beta[i] - b)
                sums[2] += beta[i] - b
    left = 0
    for k in range(count):
        active[left] = active[k]
        left += active[k] >= 0
    return left, lowest, highest, seed


@jit
def epochs(rows, w, beta, form, q, active, count, sums, old, seed, width, most):
    """Up to ``most`` epochs, until no slope is off by more than ``width`` or as many rows were visited as there are.

    (rows still active, width of the violated interval, epochs, rows visited, next seed); ``old`` and ``sums`` are kept
    up to date: the shift follows the sum of beta.
    """
    done, visited, violation = 0, 0, np.inf
    while done < most and violation > width and visited < len(beta):
        visited += count
        count, lowest, highest, seed = epoch(rows, w, beta, form, q, active, count, sums, old, seed)
        old[0] = lowest if lowest < 0 else -np.inf
        old[1] = highest if highest > 0 else np.inf
        off = sums[1] * sums[2]
        sums[0] += off
        violation = highest - lowest + abs(off)
        done += 1
    return count, violation, done, visited, seed
