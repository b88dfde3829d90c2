"""The exact path of a two-class SVM: every solution from one C to another, piecewise linear in C.

Between two breakpoints the free rows F stay on the margin, the bound rows B have alpha = C and the others alpha = 0, so

    [K_FF 1; 1' 0] [beta_F; b] = [t_F - C K_FB t_B; -C 1't_B]

is linear in C. A breakpoint is where a free row reaches a bound, or another row reaches the margin. Without free rows
b may be anything in an interval, which shrinks until two rows meet.
Start: the solution at the smallest C, solved to rounding. Of every piece the gap tells whether rounding, or rows that
reach the margin together, led the path astray; then the solver finds the way on, a little further.
Paper: Hastie, Rosset, Tibshirani and Zhu 2004.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgWarning, lu_factor, lu_solve
from scipy.linalg.lapack import dgecon

from maxmargin._types import Array, FloatArray
from maxmargin.problems import SVCProblem, relative

#: Relative gap from which on a piece of the path is not taken, and how much further the solver is asked then, at first.
ASTRAY, NUDGE = 1e-7, 1e-7
#: Values this close to a bound or the margin are on it, relative to C or 1.
ON = 1e-9
#: Condition of a system, inverse, from which on it has many answers but for rounding.
SINGULAR = 1e-11
#: A sum this small, relative to its terms, is 0 but for rounding.
BALANCED = 1e-12
#: Most breakpoints per row.
MOST_PER_ROW = 50


@dataclass(frozen=True)
class Point:
    """One solution: dual variables beta = t alpha, intercept, relative gap."""

    C: float
    beta: FloatArray
    intercept: float
    gap: float


def exact_path(
    K: FloatArray,
    sign: FloatArray,
    weight: FloatArray,
    first: float,
    last: float,
    solve: Callable[[float], FloatArray],
) -> list[Point]:
    """Breakpoints from C = first to C = last, both included; ``solve(C)`` gives beta solved to rounding."""
    points, nudge = [_point(K, sign, weight, first, solve(first))], NUDGE
    for _ in range(MOST_PER_ROW * len(sign)):
        C, beta = points[-1].C, points[-1].beta
        if not last > C:
            return points
        sets = _sets(K, sign, weight, C, beta, points[-1].intercept)
        step = _next(K, sign, weight, C, last, beta, sets)
        if step is not None and _holds(K, sign, weight, points[-1], step):
            points.append(_point(K, sign, weight, *step))
            nudge = NUDGE
        else:  # a little further on the solver tells which rows are on the margin
            C = min(last, C * (1 + nudge))
            points.append(_point(K, sign, weight, C, solve(C)))
            nudge = min(10 * nudge, 0.1)
    raise RuntimeError(
        f"the exact path has more than {MOST_PER_ROW} breakpoints per row up to C = {C:.3g}; give Cs instead"
    )


def _holds(K, sign, weight, here: Point, step: tuple[float, FloatArray]) -> bool:
    """Whether the piece up to the next breakpoint is optimal: at its end and in the middle, hence everywhere."""
    middle = (here.C + step[0]) / 2, (here.beta + step[1]) / 2
    return all(_point(K, sign, weight, *at).gap <= ASTRAY for at in (step, middle))


def _point(K: FloatArray, sign: FloatArray, weight: FloatArray, C: float, beta: FloatArray) -> Point:
    """The solution with its intercept and gap, values next to a bound moved onto it."""
    problem = SVCProblem(sign, C * weight)
    beta = problem.qp.snapped(beta, ON)
    f = K @ beta
    offsets = problem.offsets(beta, f)
    primal, dual, gap = problem.primal(beta, f, offsets), problem.dual(beta, f), problem.gap(beta, f, offsets)
    return Point(C, beta, offsets.intercept, relative(gap, primal, dual))


@dataclass(frozen=True)
class _Sets:
    """Rows at their bound, rows on the margin; all others have alpha = 0."""

    bound: Array
    free: Array


def _sets(K, sign, weight, C: float, beta: FloatArray, intercept: float) -> _Sets:
    """Rows on the margin count as free where moving on as bound, or as zero, would take them to the wrong side."""
    margin = sign * (K @ beta + intercept)
    bound = np.abs(beta) >= C * weight * (1 - ON)
    inside = (beta != 0) & ~bound
    near = (np.abs(margin - 1) <= 100 * ON) & ~inside
    return _Sets(bound & ~near, inside | near)


def _next(K, sign, weight, C: float, last: float, beta, sets: _Sets) -> tuple[float, FloatArray] | None:
    """(C, beta) at the next breakpoint, or at ``last``; None if the way on is not clear."""
    bound, free = np.flatnonzero(sets.bound), np.flatnonzero(sets.free)
    slope = np.zeros(len(sign))
    slope[bound] = (sign * weight)[bound]
    if len(free) == 0:
        return _without_free(K, sign, C, last, beta, slope, sets)
    rising = _rates(K, slope, free)
    if rising is None:
        return None
    slope[free], b_slope = rising
    # rows that would leave the margin for the set they came from go back to it
    at_zero, at_bound = np.abs(beta[free]) <= ON * C, np.abs(beta[free]) >= C * weight[free] * (1 - ON)
    outward = sign[free] * slope[free]
    wrong = (at_zero & (outward < 0)) | (at_bound & (outward > weight[free]))
    if wrong.any():
        keep = np.ones(len(free), dtype=bool)
        keep[np.flatnonzero(wrong)[np.argmax(np.abs(outward[wrong]))]] = False
        smaller = sets.free.copy()
        smaller[free[~keep]] = False
        to_bound = sets.bound.copy()
        to_bound[free[~keep & at_bound]] = True
        return _next(K, sign, weight, C, last, beta, _Sets(to_bound, smaller))
    margin_slope = sign * (K @ slope + b_slope)
    step = _step(K, sign, weight, C, last, beta, slope, margin_slope, sets)
    return C + step, beta + step * slope


def _rates(K, slope: FloatArray, free: Array) -> tuple[FloatArray, float] | None:
    """(d beta_F / dC, db / dC)."""
    m = len(free)
    system = np.ones((m + 1, m + 1))
    system[:m, :m] = K[np.ix_(free, free)]
    system[m, m] = 0.0
    right = np.append(-(K[free] @ slope), -slope.sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinAlgWarning)
        factors = lu_factor(system, check_finite=False)
    (rcond,) = dgecon(factors[0], float(np.abs(system).sum(axis=0).max()))[:1]
    if rcond > SINGULAR:
        found = lu_solve(factors, right)
    else:  # rows that repeat, or more of them on the margin than there are dimensions: the smallest of many answers
        found = np.linalg.lstsq(system, right, rcond=SINGULAR)[0]
    if not np.allclose(system @ found, right, rtol=1e-8, atol=1e-8 * max(1.0, float(np.abs(right).max()))):
        return None
    return found[:m], float(found[m])


def _step(K, sign, weight, C, last, beta, slope, margin_slope, sets: _Sets) -> float:
    """How far C may grow before the next event."""
    alpha, rate = sign * beta, sign * slope
    free = sets.free
    with np.errstate(divide="ignore", invalid="ignore"):
        to_zero = np.where(free & (rate < 0), -alpha / rate, np.inf)
        to_bound = np.where(free & (rate > weight), (C * weight - alpha) / (rate - weight), np.inf)
        inside = free & (alpha > ON * C) & (alpha < C * weight * (1 - ON))
        b = float(np.mean((sign - K @ beta)[inside if inside.any() else free]))
        short = 1.0 - sign * (K @ beta + b)
        leaves = (sets.bound & (margin_slope > 0)) | (~sets.bound & ~free & (margin_slope < 0))
        to_margin = np.where(leaves, short / margin_slope, np.inf)
    ahead = np.concatenate([to_zero, to_bound, to_margin, [last - C]])
    return float(np.min(ahead[ahead > ON * C], initial=last - C))


def _without_free(K, sign, C, last, beta, slope, sets: _Sets) -> tuple[float, FloatArray] | None:
    """The C at which the interval of possible intercepts has shrunk to a point; until then all alphas grow with C."""
    if abs(slope.sum()) > BALANCED * np.abs(slope).sum():
        return None
    f, rate = K @ beta, K @ slope
    wants_less = (sets.bound & (sign > 0)) | (~sets.bound & (sign < 0))  # b <= t - f for these, b >= t - f for others
    upper, lower = np.flatnonzero(wants_less), np.flatnonzero(~wants_less)
    if len(upper) == 0 or len(lower) == 0:
        return last, beta + (last - C) * slope
    width = (sign - f)[upper][:, None] - (sign - f)[lower][None, :]
    shrinks = rate[upper][:, None] - rate[lower][None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        ahead = np.where(shrinks > 0, width / shrinks, np.inf)
    step = float(np.min(ahead[ahead > ON * C], initial=last - C))
    return C + step, beta + step * slope
