"""The inner solver without an intercept: single steps, and pairs where a budget couples the variables.

Problem: min 1/2 b'Kb + p'b + eps|b|_1 over a box, restricted to a working set; with a budget, sum |b| is fixed or
bounded. A move takes b_k away from zero (it *grows*) or towards zero (it *shrinks*); a budget that is
spent allows growing only against shrinking.
"""

from __future__ import annotations

import numpy as np

from maxmargin.backends._numba._jit import inner, jit
from maxmargin.backends._numba.program import fill_row
from maxmargin.backends._numba.smo import FLAT


@inner
def slopes(b, grad, lower, upper, epsilon):
    """(cost of growing, its direction, gain of shrinking, its direction) of a variable; inf where forbidden."""
    grow, shrink = np.inf, -np.inf
    grow_to, shrink_to = 1.0, 1.0
    if b >= 0 and b < upper:
        grow = grad + epsilon
    if b <= 0 and b > lower and -grad + epsilon < grow:
        grow, grow_to = -grad + epsilon, -1.0
    if b > 0:
        shrink, shrink_to = grad + epsilon, -1.0
    elif b < 0:
        shrink, shrink_to = -grad + epsilon, 1.0
    return grow, grow_to, shrink, shrink_to


@inner
def select(grad, beta, lower, upper, diagonal, epsilon, weighted):
    """Best growing and best shrinking variable; ``weighted`` ranks by gain, slope^2 / K_kk, else by slope."""
    i, j, low, high, best_i, best_j = -1, -1, np.inf, -np.inf, -np.inf, -np.inf
    for k in range(grad.size):
        grow, _, shrink, _ = slopes(beta[k], grad[k], lower[k], upper[k], epsilon)
        low, high = min(low, grow), max(high, shrink)
        scale = max(diagonal[k], 1e-300)
        rank_i = grow * grow / scale if weighted and grow < 0 else -grow
        rank_j = shrink * shrink / scale if weighted and shrink > 0 else shrink
        if rank_i > best_i and (grow < 0 or not weighted):
            i, best_i = k, rank_i
        if rank_j > best_j and (shrink > 0 or not weighted):
            j, best_j = k, rank_j
    return i, j, low, high, best_i, best_j


@inner
def step_one(b, towards, wanted, lower, upper):
    """Move b by ``wanted`` >= 0 in direction ``towards``, at most to its bound or to 0; the new value."""
    if towards > 0:
        limit = 0.0 if b < 0 else upper
        return limit if wanted >= limit - b else b + wanted
    limit = 0.0 if b > 0 else lower
    return limit if wanted >= b - limit else b - wanted


@inner
def room(b, towards, lower, upper):
    """How far b may go in direction ``towards``."""
    if towards > 0:
        return -b if b < 0 else upper - b
    return b if b > 0 else b - lower


@inner
def shift(K, grad, beta, k, value):
    """Set b_k and update the gradient."""
    delta = value - beta[k]
    beta[k] = value
    for c in range(grad.size):
        grad[c] += delta * K[k, c]


@jit
def free_block(K, lazy, grad, beta, lower, upper, diagonal, epsilon, two_sided, may_shrink, slack, tol, max_steps):
    """Solve the working set in place; (steps, violation left, budget left)."""
    steps, violation = 0, np.inf
    while True:
        i, j, low, high, best_i, best_j = select(grad, beta, lower, upper, diagonal, epsilon, not two_sided)
        alone_i = not two_sided or slack > 0  # growing alone spends budget
        alone_j = not two_sided or may_shrink  # shrinking alone needs a budget that need not be spent
        violation = high - low if two_sided else 0.0
        violation = max(violation, -low if alone_i else 0.0, high if alone_j else 0.0)
        if not violation > tol or steps >= max_steps:
            break
        steps += 1
        paired = two_sided and i >= 0 and j >= 0 and i != j and high - low > max(-low * alone_i, high * alone_j)
        if paired:  # trade: i grows by what j shrinks
            if lazy is not None:
                fill_row(i, K, diagonal, lazy)
                fill_row(j, K, diagonal, lazy)
            _, to_i, _, _ = slopes(beta[i], grad[i], lower[i], upper[i], epsilon)
            _, _, _, to_j = slopes(beta[j], grad[j], lower[j], upper[j], epsilon)
            curvature = diagonal[i] + diagonal[j] + 2.0 * to_i * to_j * K[i, j]
            curvature = max(curvature, FLAT * (abs(diagonal[i]) + abs(diagonal[j])), 1e-300)
            wanted = (high - low) / curvature
            wanted = min(wanted, room(beta[i], to_i, lower[i], upper[i]), room(beta[j], to_j, lower[j], upper[j]))
            shift(K, grad, beta, i, step_one(beta[i], to_i, wanted, lower[i], upper[i]))
            shift(K, grad, beta, j, step_one(beta[j], to_j, wanted, lower[j], upper[j]))
            continue
        grows = alone_i and i >= 0 and low < 0 and (best_i >= best_j or not alone_j or j < 0 or high <= 0)
        k = i if grows else j
        if k < 0:  # slopes overflow, and none is the least: the caller sees scores that are not finite
            break
        if lazy is not None:
            fill_row(k, K, diagonal, lazy)
        grow, to_grow, shrink, to_shrink = slopes(beta[k], grad[k], lower[k], upper[k], epsilon)
        slope, towards = (-grow, to_grow) if grows else (shrink, to_shrink)
        wanted = slope / diagonal[k] if diagonal[k] > 0 else np.inf
        if grows:
            wanted = min(wanted, slack)
        before = abs(beta[k])
        shift(K, grad, beta, k, step_one(beta[k], towards, wanted, lower[k], upper[k]))
        if two_sided and may_shrink:
            slack += before - abs(beta[k])
    return steps, max(violation, 0.0), slack
