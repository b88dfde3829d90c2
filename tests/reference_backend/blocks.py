"""Inner solvers of the reference back end: steepest feasible moves, found by enumerating the kinds of move.

A move is a direction on one or two variables that keeps the constraints of the QP. Each round takes the move with
the steepest slope and goes to the exact minimiser along it, cut at the bounds and at 0.
"""

from __future__ import annotations

import numpy as np

from maxmargin._types import Array, FloatArray
from maxmargin.backends._box import BlockOptions, Box

FLAT = 1e-12


def pair_block(K: Array, grad: FloatArray, beta: FloatArray, box: Box, options: BlockOptions):
    """Moves (+1 on i, -1 on j): the sum of beta is kept. With a budget only within families, or as it allows."""
    slack, steps = options.slack, 0
    while True:
        up, down, grows, shrinks = _slopes(grad, beta, box, options.epsilon)
        best = (0.0, -1, -1, 0)
        for change, i_side, j_side in _families(options, slack, grows, shrinks):
            i, j = int(np.argmin(np.where(i_side, up, np.inf))), int(np.argmax(np.where(j_side, down, -np.inf)))
            width = (down[j] if j_side[j] else -np.inf) - (up[i] if i_side[i] else np.inf)
            best = max(best, (width, i, j, change))
        violation, i, j, change = best
        if not violation > options.tol or steps >= options.max_steps:
            return steps, violation, slack
        limit = slack / 2 if change > 0 else np.inf
        step = _advance(K, grad, beta, box, [(i, 1.0), (j, -1.0)], violation, limit)
        slack -= 2 * change * step
        steps += 1


def free_block(K: Array, grad: FloatArray, beta: FloatArray, box: Box, options: BlockOptions):
    """Moves of one variable; with a budget also one away from zero against one towards it."""
    slack, steps = options.slack, 0
    while True:
        up, down, _, _ = _slopes(grad, beta, box, options.epsilon)
        away = np.where(beta > 0, up, np.where(beta < 0, -down, np.minimum(up, -down)))
        sign = np.where(beta > 0, 1.0, np.where(beta < 0, -1.0, np.where(up <= -down, 1.0, -1.0)))
        back = np.where(beta > 0, down, np.where(beta < 0, -up, -np.inf))
        i, j = int(np.argmin(away)), int(np.argmax(back))
        moves = []
        if options.two_sided:
            moves.append((back[j] - away[i], [(i, sign[i]), (j, -np.sign(beta[j]))], 0))
        if not options.two_sided or slack > 0:
            moves.append((-away[i], [(i, sign[i])], 1))
        if not options.two_sided or options.may_shrink:
            moves.append((back[j], [(j, -np.sign(beta[j]))], -1))
        violation, direction, change = max(moves, key=lambda move: move[0])
        if not violation > options.tol or steps >= options.max_steps:
            return steps, max(violation, 0.0), slack
        step = _advance(K, grad, beta, box, direction, violation, slack if change > 0 else np.inf)
        slack -= change * step if options.may_shrink else 0.0
        steps += 1


def _slopes(grad, beta, box, epsilon):
    up = np.where(beta < box.upper, grad + np.where(beta >= 0, epsilon, -epsilon), np.inf)
    down = np.where(beta > box.lower, grad + np.where(beta > 0, epsilon, -epsilon), -np.inf)
    return up, down, beta >= 0, beta > 0


def _families(options, slack, up_positive, down_positive):
    """(change of the budget per unit step, who may go up, who may go down)."""
    everyone = np.ones(len(up_positive), dtype=bool)
    if not options.two_sided:
        return [(0, everyone, everyone)]
    kinds = [(0, up_positive, down_positive), (0, ~up_positive, ~down_positive)]
    if options.may_shrink:
        kinds.append((-1, ~up_positive, down_positive))
    if slack > 0:
        kinds.append((1, up_positive, ~down_positive))
    return kinds


def _advance(K, grad, beta, box, direction, slope, limit):
    """Exact line search along sum of signed unit vectors; updates beta and grad, returns the step."""
    index = np.array([k for k, _ in direction])
    sign = np.array([s for _, s in direction])
    diagonal = box.diagonal[index]
    curvature = max(float(sign @ K[np.ix_(index, index)] @ sign), FLAT * float(np.abs(diagonal).sum()), 1e-300)
    step = min(slope / curvature, limit)
    target = np.where(sign > 0, np.where(beta[index] < 0, 0.0, box.upper[index]), 0.0)
    target = np.where(sign < 0, np.where(beta[index] > 0, 0.0, box.lower[index]), target)
    rooms = np.abs(target - beta[index])
    step = min(step, float(rooms.min()))
    moved = np.where(rooms <= step, target, beta[index] + sign * step)
    grad += (moved - beta[index]) @ K[index]
    beta[index] = moved
    return step
