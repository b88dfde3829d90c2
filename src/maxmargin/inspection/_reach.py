"""How far the exact optimum of a task can be from a model whose duality gap is known.

The primal objective P(w, b) is 1/2 ||w||^2 plus a convex function, so that P(w, b) >= P* + 1/2 ||w - w*||^2 at every
optimum (w*, b*); and P(w, b) - P* is at most the gap. Hence ||w - w*|| <= sqrt(2 gap), and by Cauchy and Schwarz

    |w* . phi(x) - w . phi(x)| <= sqrt(2 gap k(x, x))    for every x.    (1)

The optimal bias is not in the norm, but it is a minimiser in b of sum_i C_i L(t_i, g*_i + b), g*_i = w* . phi(x_i). By
(1) g* lies between g - r and g + r, r_i = sqrt(2 gap k(x_i, x_i)). The loss is convex, so its slope does not fall as
its score rises: where the slope in b is negative with the scores g + r, it is negative with g*, and b* is not to the
left of it; where it is positive with g - r, b* is not to its right. The ends of both regions are found by bisection.

The nu machines minimise over rho too. In rho - b and -(rho + b) their problem falls apart into one for each class, each
of the kind above. For the hard margin, b* is where both classes touch their margin: the largest 1 - g*_i of the
positive rows and the smallest -1 - g*_i of the negative ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.certificates import Certificate
from maxmargin.inspection._training import FittedTask
from maxmargin.losses import Hinge
from maxmargin.problems import HardMarginProblem, LinearProblem, NuSVCProblem, Problem

#: A slope this small relative to the sum of the rows' costs counts as 0.
FLAT = 1e-12
#: Halvings of an interval, and the largest |b| that is looked for.
HALVINGS, FAR = 200, 1e300

Slope = Callable[[float], float]


@dataclass(frozen=True)
class Reach:
    """Where the optimum of a task is: f*(x) = (scale f(x) + within radius ||phi(x)|| + within [low, high]) / rho.

    ``scale`` takes the published scores to the units of the problem, ``rho`` within ``rhos`` takes them back.
    """

    scale: float = 1.0
    radius: float = np.inf
    low: float = -np.inf
    high: float = np.inf
    rhos: tuple[float, float] = (1.0, 1.0)
    reason: str = ""  # why nothing is known

    def interval(self, f: FloatArray, lengths: FloatArray, rounding: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(least, largest) f*(x) of rows with published scores ``f`` and ``lengths`` ||phi(x)||."""
        if self.reason:
            return np.full(len(f), -np.inf), np.full(len(f), np.inf)
        away = self.radius * lengths + self.scale * rounding
        low, high = self.scale * f - away + self.low, self.scale * f + away + self.high
        if self.rhos == (1.0, 1.0):
            return low, high
        if self.rhos[0] <= 0:  # the sign is known, the size is not
            tiny = np.finfo(float).tiny
            return np.where(low > 0, tiny, -np.inf), np.where(high < 0, -tiny, np.inf)
        least, most = self.rhos
        return np.minimum(low / least, low / most), np.maximum(high / least, high / most)


def reach_without_rows(certificate: Certificate, strength: float) -> Reach:
    """For a soft-margin or linear task without an intercept; ``strength`` is the factor of 1/2 ||w||^2."""
    if not certificate.holds:
        return Reach(reason=certificate.reason)
    return Reach(1.0, float(np.sqrt(2.0 * certificate.gap / strength)), 0.0, 0.0)


def reach(task: FittedTask, squares: FloatArray, certificate: Certificate) -> Reach:
    """From the training rows with k(x_i, x_i) = ``squares``."""
    if not certificate.holds:
        return Reach(reason=certificate.reason)
    problem = task.problem
    assert isinstance(problem, (LinearProblem, Problem))  # two classes
    strength = problem.penalty.quadratic if isinstance(problem, LinearProblem) else problem.value_scale
    radius = float(np.sqrt(2.0 * certificate.gap / strength))
    r, g = radius * np.sqrt(np.maximum(squares, 0.0)), task.f - task.intercept
    if isinstance(problem, HardMarginProblem):
        return _hard(task, g, r, radius)
    if isinstance(problem, NuSVCProblem):
        return _nu(problem, task, g, r, radius)
    if not task.fit_intercept:
        return Reach(1.0, radius, 0.0, 0.0)
    low, high = _bias(task, g, r)
    return Reach(1.0, radius, low - task.intercept, high - task.intercept)


def _bias(task: FittedTask, g: FloatArray, r: FloatArray) -> tuple[float, float]:
    """An interval that holds every optimal b."""
    loss = task.problem.loss if isinstance(task.problem, LinearProblem) else Hinge()
    total = float(task.cost.sum())

    def slope(scores: FloatArray) -> Slope:
        return lambda b: float(task.cost @ loss.subgradient(task.sign, scores + b))

    start, flat = task.intercept, FLAT * total
    return lowest(slope(g + r), start, flat), highest(slope(g - r), start, flat)


def _hard(task: FittedTask, g: FloatArray, r: FloatArray, radius: float) -> Reach:
    scale = 1.0 / float(task.margin.min())  # the certificate is that of functional margin 1
    if not task.fit_intercept:
        return Reach(scale, radius, 0.0, 0.0)
    positive, g = task.sign > 0, scale * g
    above, below = 1.0 - g[positive], -1.0 - g[~positive]
    low = max(float((above - r[positive]).max()), float((below - r[~positive]).min()))
    high = min(float((above + r[positive]).max()), float((below + r[~positive]).min()))
    return Reach(scale, radius, low - scale * task.intercept, high - scale * task.intercept)


def _nu(problem: NuSVCProblem, task: FittedTask, g: FloatArray, r: FloatArray, radius: float) -> Reach:
    weight, budget = problem.sizes()
    mass = float(task.alpha.sum())
    scale, flat = (budget / mass if mass > 0 else 1.0), FLAT * float(weight.sum())
    g, sign = scale * g, problem.sign
    if not problem.fit_intercept:
        rhos = _quantile(sign * g, r, weight, budget, flat)
        return Reach(scale, radius, 0.0, 0.0, rhos)
    positive = sign > 0
    level = _quantile(g[positive], r[positive], weight[positive], budget / 2, flat)  # rho - b
    other = _quantile(-g[~positive], r[~positive], weight[~positive], budget / 2, flat)  # rho + b
    b, at = scale * task.intercept, ((other[0] - level[1]) / 2, (other[1] - level[0]) / 2)
    rhos = ((level[0] + other[0]) / 2, (level[1] + other[1]) / 2)
    return Reach(scale, radius, at[0] - b, at[1] - b, rhos)


def _quantile(scores: FloatArray, r: FloatArray, weight: FloatArray, budget: float, flat: float) -> tuple[float, float]:
    """An interval that holds every minimiser of -budget a + sum weight_i max(0, a - s_i), s within r of the scores."""

    def slope(s: FloatArray) -> Slope:
        return lambda a: float(weight[s < a].sum()) - budget

    start = float(np.median(scores))
    return lowest(slope(scores - r), start, flat), highest(slope(scores + r), start, flat)


def lowest(slope: Slope, start: float, flat: float) -> float:
    """A point with no minimiser to its left: the last one found at which the non-decreasing slope is negative."""
    low, width = start, 1.0
    while not slope(low) < -flat:
        low, width = start - width, 4.0 * width
        if width > FAR:
            return -np.inf
    high, width = start, 1.0
    while slope(high) < -flat:
        low, high, width = high, start + width, 4.0 * width
        if width > FAR:
            return low
    for _ in range(HALVINGS):
        middle = low + (high - low) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if slope(middle) < -flat else (low, middle)
    return low


def highest(slope: Slope, start: float, flat: float) -> float:
    """A point with no minimiser to its right."""
    return -lowest(lambda b: -slope(-b), -start, flat)
