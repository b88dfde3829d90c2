"""The inner solver with an intercept: pairwise steps on one working set, second-order selection.

Problem: min 1/2 b'Kb + p'b + eps|b|_1 over a box with the sum of b fixed, restricted to a working set.
Step: i is the variable whose upward slope is least, j the one whose downward move then gains most,
diff^2 / (K_ii + K_jj - 2 K_ij) (Fan, Chen and Lin 2005, WSS 2); b_i goes up and b_j down by the exact minimiser,
cut at the bounds and at 0, where |b| has its kink and the sides of a budget meet.
Invariant: grad = K b + p on the working set, the sum of b, and the budget. Cost: four passes over q per step.
"""

from __future__ import annotations

import numpy as np

from maxmargin.backends._numba._jit import fmax, fmin, inner, jit
from maxmargin.backends._numba.program import fill_row

#: Least curvature of a pair, relative to its diagonal (LIBSVM's TAU): a flat pair moves to its bound.
FLAT = 1e-12


@inner
def set_moves(k, beta, lower, upper, epsilon, two_sided, up, down, up2, down2):
    """What must be added to grad[k] to get its slopes; +-inf forbids a move.

    ``up, down`` belong to the positive side (the only one without a budget), ``up2, down2`` to the negative.
    """
    up[k], down[k], up2[k], down2[k] = np.inf, -np.inf, np.inf, -np.inf
    if beta[k] < upper[k]:
        if beta[k] >= 0:
            up[k] = epsilon
        elif two_sided:
            up2[k] = -epsilon
        else:
            up[k] = -epsilon
    if beta[k] > lower[k]:
        if beta[k] > 0:
            down[k] = epsilon
        elif two_sided:
            down2[k] = -epsilon
        else:
            down[k] = -epsilon


@inner
def extremes(grad, up, down):
    """(min grad + up, max grad + down): the two ends of the violated interval."""
    low, high = np.inf, -np.inf
    for k in range(grad.size):
        low = fmin(low, grad[k] + up[k])
        high = fmax(high, grad[k] + down[k])
    return low, high


@inner
def find(grad, shift, value):
    """First k with grad[k] + shift[k] == value; grad.size if there is none, as where a slope is NaN."""
    n = np.int32(grad.size)
    at = n
    for k in range(n):
        at = min(at, np.int32(k) if grad[k] + shift[k] == value else n)
    return at


@inner
def best_partner(grad, down, low, width, row, diagonal, i, scale, gain):
    """j that gains most when i moves up with slope ``low``: max diff^2 / curvature over diff > 0; grad.size if none.

    Only a ranking, so float32 will do: ``width`` (the largest diff) and ``scale`` (1 / the largest diagonal) bring
    both factors near 1 whatever the kernel's size.
    """
    base, unit, flat = diagonal[i], 1.0 / width, np.float32(FLAT)
    best = np.float32(0.0)
    for k in range(grad.size):
        diff = np.float32(unit * fmax(grad[k] + down[k] - low, 0.0))
        curvature = fmax(np.float32(scale * (base + diagonal[k] - 2.0 * row[k])), flat)
        gain[k] = diff * diff / curvature
        best = fmax(best, gain[k])
    n = np.int32(grad.size)
    at = n
    for k in range(n):
        at = min(at, np.int32(k) if gain[k] == best else n)
    return at


@inner
def curvature_of(K, diagonal, i, j):
    """K_ii + K_jj - 2 K_ij, kept positive: a flat or downward curve is followed to the bound."""
    least = max(FLAT * (abs(diagonal[i]) + abs(diagonal[j])), 1e-300)
    return max(diagonal[i] + diagonal[j] - 2.0 * K[i, j], least)


@inner
def move(grad, row_i, row_j, step):
    """grad += step (K_i - K_j)."""
    for k in range(grad.size):
        grad[k] += step * (row_i[k] - row_j[k])


@inner
def pair_step(i, j, step, beta, lower, upper):
    """Move b_i up and b_j down by at most ``step``; the step taken. Bounds and 0 are hit exactly."""
    to_i = 0.0 if beta[i] < 0 else upper[i]
    to_j = 0.0 if beta[j] > 0 else lower[j]
    step = min(step, to_i - beta[i], beta[j] - to_j)
    beta[i] = to_i if step == to_i - beta[i] else beta[i] + step
    beta[j] = to_j if step == beta[j] - to_j else beta[j] - step
    return step


@jit
def pair_block(K, lazy, grad, beta, lower, upper, diagonal, epsilon, two_sided, may_shrink, slack, tol, max_steps):
    """Solve the working set in place; (steps, violation left, budget left). ``lazy`` is None where K is complete."""
    q = grad.size
    up, down, up2, down2 = np.empty(q), np.empty(q), np.empty(q), np.empty(q)
    gain = np.empty(q, np.float32)
    largest = 0.0
    for k in range(q):
        largest = max(largest, abs(diagonal[k]))
    scale = 1.0 / largest if largest > 0 else 1.0
    for k in range(q):
        set_moves(k, beta, lower, upper, epsilon, two_sided, up, down, up2, down2)
    steps, violation = 0, np.inf
    while True:
        # the pair of sides with the widest violated interval: (up, down), and with a budget three more
        low, high = extremes(grad, up, down)
        violation, i_side, j_side = high - low, 0, 0
        if two_sided:
            low2, high2 = extremes(grad, up2, down2)
            if high2 - low2 > violation:
                violation, i_side, j_side = high2 - low2, 1, 1
            if may_shrink and high - low2 > violation:
                violation, i_side, j_side = high - low2, 1, 0
            if slack > 0 and high2 - low > violation:
                violation, i_side, j_side = high2 - low, 0, 1
            low = low2 if i_side else low
            high = high2 if j_side else high
        if not violation > tol or steps >= max_steps:
            break
        # second-order partner of i, exact minimiser along the pair, cut at the box
        ups, downs = up2 if i_side else up, down2 if j_side else down
        i = np.int64(find(grad, ups, low))  # the type of k above: set_moves is not compiled a second time
        if i == q:  # slopes overflow, and none is the least: the caller sees scores that are not finite
            break
        if lazy is not None and not lazy.filled[i]:
            fill_row(i, K, diagonal, lazy)
        j = np.int64(best_partner(grad, downs, low, violation, K[i], diagonal, i, scale, gain))
        if j == q or not gain[j] > 0:  # squares that overflow or underflow: take the steepest instead
            j = np.int64(find(grad, downs, high))
        if j == q:
            break
        wanted = (grad[j] + downs[j] - low) / curvature_of(K, diagonal, i, j)
        if j_side > i_side:  # both move away from zero and spend the budget
            wanted = min(wanted, slack / 2)
        step = pair_step(i, j, wanted, beta, lower, upper)
        if i_side != j_side:
            slack += 2 * step if i_side > j_side else -2 * step
        if lazy is not None and not lazy.filled[j]:
            fill_row(j, K, diagonal, lazy)
        move(grad, K[i], K[j], step)
        set_moves(i, beta, lower, upper, epsilon, two_sided, up, down, up2, down2)
        set_moves(j, beta, lower, upper, epsilon, two_sided, up, down, up2, down2)
        steps += 1
    return steps, max(violation, 0.0), slack
