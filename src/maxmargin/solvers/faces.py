r"""Moves of many variables at once by products alone: conjugate gradients on a face of a box, then a projected search.

Problem: min 1/2 d'A d + g'd over lower <= x + d <= upper, of which only products A p are known.
Algorithm: the variables that may move take conjugate gradient steps, until the face is nearly solved or many of them
are outside their bounds; the way there, clipped to the box, is searched from its end. So many bounds are met at once,
and the next face begins with those variables held. Nothing is factorised: where thousands of rows are short, a product
takes less than a thousandth of the inverse that a walk (:mod:`._newton`) begins with.
Invariant: the bounds; the objective falls. Cost: a product with A for a step, and one or more for a search.
Paper: Moré and Toraldo 1991.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin._types import FloatArray

#: Faces are done when the largest slope is this share of what it was.
ENOUGH = 1e-2
#: A face is nearly solved when its residual is this share of the slopes.
NEARLY = 0.1
#: Share of the variables that may be outside their bounds before steps end, and steps between two looks at that.
OUTSIDE, LOOK = 1 / 3, 4
#: Share of the promised gain that a search takes, by what it shortens its way, and its shortest way.
TAKEN, SHORTER, SHORTEST = 0.1, 0.25, 1e-6
#: Directions whose curvature is this share of their squares or less have none.
FLAT = 1e-14

Multiply = Callable[[FloatArray], FloatArray]


def descend(
    multiply: Multiply, grad: FloatArray, x: FloatArray, lower: FloatArray, upper: FloatArray, most: int
) -> tuple[FloatArray, int]:
    """(better values of ``x``, products taken, about ``most`` at the most); ``grad`` is the gradient at ``x``."""
    slope, products = _slope(grad, x, lower, upper), 0
    enough = ENOUGH * float(np.abs(slope).max(initial=0.0))
    while products < most and float(np.abs(slope).max(initial=0.0)) > enough:
        step, taken = _face_step(multiply, slope, x, lower, upper, most - products)
        products += taken
        way = 1.0
        while True:
            moved = np.clip(x + way * step, lower, upper)
            d = moved - x
            curved = multiply(d)
            products += 1
            promised = float(grad @ d)
            if promised + float(d @ curved) / 2 <= TAKEN * promised < 0:
                break
            way *= SHORTER
            if way < SHORTEST:
                return x, products
        x, grad = moved, grad + curved
        slope = _slope(grad, x, lower, upper)
    return x, products


def _slope(grad: FloatArray, x: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The gradient without what would lead out of the box."""
    return np.where(x <= lower, np.minimum(grad, 0.0), np.where(x >= upper, np.maximum(grad, 0.0), grad))


def _face_step(
    multiply: Multiply, slope: FloatArray, x: FloatArray, lower: FloatArray, upper: FloatArray, most: int
) -> tuple[FloatArray, int]:
    """(a step towards the optimum of the variables that have a slope, products taken)."""
    free, step, residual = slope != 0, np.zeros_like(x), -slope
    p, rho = residual, float(residual @ residual)
    goal, taken, allowed = NEARLY**2 * rho, 0, OUTSIDE * len(x)
    while taken < most and rho > goal:
        q = np.where(free, multiply(p), 0.0)
        taken += 1
        curvature = float(p @ q)
        if curvature <= FLAT * float(p @ p):
            break
        step = step + (rho / curvature) * p
        residual = residual - (rho / curvature) * q
        rho, before = float(residual @ residual), rho
        p = residual + (rho / before) * p
        if taken % LOOK == 0 and np.count_nonzero((x + step < lower) | (x + step > upper)) > allowed:
            break
    return (step if step.any() else residual), taken
