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
def rise(b, upper, epsilon, two_sided):
    """What must be added to the gradient of b to get the slope of a rise, for either side; inf forbids it.

    The first belongs to the positive side (the only one without a budget), the second to the negative.
    """
    if not b < upper:
        return np.inf, np.inf
    if b >= 0:
        return epsilon, np.inf
    return (np.inf, -epsilon) if two_sided else (-epsilon, np.inf)


@inner
def fall(b, lower, epsilon, two_sided):
    """The same of a fall, which -inf forbids."""
    if not b > lower:
        return -np.inf, -np.inf
    if b > 0:
        return epsilon, -np.inf
    return (-np.inf, -epsilon) if two_sided else (-epsilon, -np.inf)


@inner
def extremes(grad, up, down, side):
    """(min grad + up, max grad + down) of a side: the two ends of its violated interval."""
    low, high = np.inf, -np.inf
    for k in range(grad.size):
        low = fmin(low, grad[k] + up[side, k])
        high = fmax(high, grad[k] + down[side, k])
    return low, high


@inner
def find(grad, shift, side, value):
    """First k with grad[k] + shift[side, k] == value; grad.size if there is none, as where a slope is NaN."""
    n = np.int32(grad.size)
    at = n
    for k in range(n):
        at = min(at, np.int32(k) if grad[k] + shift[side, k] == value else n)
    return at


@inner
def best_partner(grad, down, side, low, width, K, diagonal, i, scale, gain):
    """j that gains most when i moves up with slope ``low``: max diff^2 / curvature over diff > 0; grad.size if none.

    Only a ranking, so float32 will do: ``width`` (the largest diff) and ``scale`` (1 / the largest diagonal) bring
    both factors near 1 whatever the kernel's size.
    """
    base, unit, flat = diagonal[i], 1.0 / width, np.float32(FLAT)
    best = np.float32(0.0)
    for k in range(grad.size):
        diff = np.float32(unit * fmax(grad[k] + down[side, k] - low, 0.0))
        curvature = fmax(np.float32(scale * (base + diagonal[k] - 2.0 * K[i, k])), flat)
        gain[k] = diff * diff / curvature
        best = fmax(best, gain[k])
    n = np.int32(grad.size)
    at = n
    for k in range(n):
        at = min(at, np.int32(k) if gain[k] == best else n)
    return at


@inner
def curvature(ii, jj, ij):
    """K_ii + K_jj - 2 K_ij, kept positive: a flat or downward curve is followed to the bound."""
    return max(ii + jj - 2.0 * ij, max(FLAT * (abs(ii) + abs(jj)), 1e-300))


@inner
def move(grad, K, i, j, step):
    """grad += step (K_i - K_j)."""
    for k in range(grad.size):
        grad[k] += step * (K[i, k] - K[j, k])


@inner
def pair_step(step, b, upper, c, lower):
    """Move b up and c down by at most ``step``; (the step taken, b, c). Bounds and 0 are hit exactly."""
    to_b, to_c = 0.0 if b < 0 else upper, 0.0 if c > 0 else lower
    step = min(step, to_b - b, c - to_c)
    return step, to_b if step == to_b - b else b + step, to_c if step == c - to_c else c - step


@jit
def pair_block(K, lazy, grad, beta, lower, upper, diagonal, epsilon, two_sided, may_shrink, slack, tol, max_steps):
    """Solve the working set in place; (steps, violation left, budget left). ``lazy`` is None where K is complete."""
    q = grad.size
    up, down, gain = np.empty((2, q)), np.empty((2, q)), np.empty(q, np.float32)
    largest = 0.0
    for k in range(q):
        largest = max(largest, abs(diagonal[k]))
    scale = 1.0 / largest if largest > 0 else 1.0
    for k in range(q):
        up[0, k], up[1, k] = rise(beta[k], upper[k], epsilon, two_sided)
        down[0, k], down[1, k] = fall(beta[k], lower[k], epsilon, two_sided)
    steps, violation = 0, np.inf
    while True:
        # the pair of sides with the widest violated interval: (up, down), and with a budget three more
        low, high = extremes(grad, up, down, np.int64(0))
        violation, i_side, j_side = high - low, 0, 0
        if two_sided:
            low2, high2 = extremes(grad, up, down, np.int64(1))
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
        i = np.int64(find(grad, up, i_side, low))
        if i == q:  # slopes overflow, and none is the least: the caller sees scores that are not finite
            break
        if lazy is not None and not lazy.filled[i]:
            fill_row(i, K, diagonal, lazy)
        j = np.int64(best_partner(grad, down, j_side, low, violation, K, diagonal, i, scale, gain))
        if j == q or not gain[j] > 0:  # squares that overflow or underflow: take the steepest instead
            j = np.int64(find(grad, down, j_side, high))
        if j == q or j == i:  # by rounding alone does anything gain against itself
            break
        wanted = (grad[j] + down[j_side, j] - low) / curvature(diagonal[i], diagonal[j], K[i, j])
        if j_side > i_side:  # both move away from zero and spend the budget
            wanted = min(wanted, slack / 2)
        step, beta[i], beta[j] = pair_step(wanted, beta[i], upper[i], beta[j], lower[j])
        if i_side != j_side:
            slack += 2 * step if i_side > j_side else -2 * step
        if lazy is not None and not lazy.filled[j]:
            fill_row(j, K, diagonal, lazy)
        for moved in (i, j):
            up[0, moved], up[1, moved] = rise(beta[moved], upper[moved], epsilon, two_sided)
            down[0, moved], down[1, moved] = fall(beta[moved], lower[moved], epsilon, two_sided)
        move(grad, K, i, j, step)
        steps += 1
    return steps, max(violation, 0.0), slack
