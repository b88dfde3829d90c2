"""The rows' part of a linear model's certificate: losses, shares of the gap, and what errors of the scores can do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._stop import heed
from maxmargin._types import FloatArray
from maxmargin.kernels.rounding import UNIT
from maxmargin.losses import DualForm, Quadratic
from maxmargin.problems import LinearProblem, loss_gap

#: Rows that are judged at a time: what is computed on the way stays in the cache.
BLOCK_ROWS = 2**13
#: Dual variables within this relative distance of a bound count as on it when the KKT violation is measured.
SNAP = 1e-6


class RowValues(NamedTuple):
    """Sums over the rows: losses, shares of the gap, and how much larger they can be within the scores' errors."""

    losses: float = 0.0
    costlier: float = 0.0
    gap: float = 0.0
    raised: float = 0.0
    off: float = 0.0  # the largest distance of a score from where beta wants it
    push: float = 0.0  # the sum of these distances times |beta|


def over_rows(problem: LinearProblem, f: FloatArray, error: FloatArray, beta: FloatArray) -> RowValues:
    """The sums over all rows, a block at a time."""
    total = np.zeros(6)
    for first in range(0, len(f), BLOCK_ROWS):
        if first:
            heed()
        rows = slice(first, first + BLOCK_ROWS)
        part = _of_rows(problem.on_rows(rows), f[rows], error[rows], beta[rows])
        off = max(total[4], part.off)
        total += part
        total[4] = off
    return RowValues(*total.tolist())


def _of_rows(problem: LinearProblem, f: FloatArray, error: FloatArray, beta: FloatArray) -> RowValues:
    if isinstance(problem.loss, Quadratic):
        return _of_quadratic_rows(problem.loss.dual_form(problem.target), problem.C, f, error, beta)
    losses, gap = float(problem.C @ problem.loss.value(problem.target, f)), problem.row_gap(f, beta)
    off = off_rows(problem, f, beta)
    lower, upper = problem.bounds
    if np.isfinite(upper - lower).all():  # slopes are bounded: so is what an error of the score can do
        costlier, raised = float(error @ np.maximum(np.abs(lower), np.abs(upper))), float(error @ (upper - lower))
    else:  # convex functions of the score: largest at an end
        ends = f - error, f + error
        worst = np.maximum(*(problem.loss.value(problem.target, at) for at in ends))
        shares = np.maximum(*(loss_gap(problem.loss, problem.target, at, -beta / problem.C) for at in ends))
        costlier, raised = float(problem.C @ worst) - losses, max(0.0, float(problem.C @ shares) - gap)
    # shares are differences of possibly large numbers
    u = -beta / problem.C
    sizes = np.abs(problem.loss.value(problem.target, f)) + np.abs(problem.loss.conjugate(problem.target, u))
    raised += 16 * UNIT * float(problem.C @ (sizes + np.abs(u * f)))
    return RowValues(losses, costlier, gap, raised, float(off.max(initial=0.0)), float(np.abs(beta) @ off))


def _of_quadratic_rows(form: DualForm, C: FloatArray, f: FloatArray, error: FloatArray, beta: FloatArray) -> RowValues:
    """The same for losses with a quadratic dual, whose coefficients are looked up once."""
    u, r, width = -beta / C, f - form.linear, form.upper - form.lower
    values, shares = _loss_and_share(form, r, u)
    losses, gap = float(C @ values), float(C @ shares)
    if np.isfinite(width).all():  # slopes are bounded: so is what an error of the score can do
        paid = C * error
        costlier, raised = float(paid @ np.maximum(-form.lower, form.upper)), float(paid @ width)
    else:  # convex functions of the score: largest at an end
        ends = [_loss_and_share(form, at, u) for at in (r - error, r + error)]
        worst, widest = (np.maximum(low, high) for low, high in zip(*ends, strict=True))
        costlier, raised = float(C @ worst) - losses, max(0.0, float(C @ widest) - gap)
    off = _off_quadratic(form, r, u)
    return RowValues(losses, costlier, gap, raised, float(off.max(initial=0.0)), float(np.abs(beta) @ off))


@np.errstate(over="ignore", invalid="ignore")
def _loss_and_share(form: DualForm, r: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(losses, what the slopes ``u`` miss of them) of rows r beyond where the loss turns.

    A loss is the largest u r - eps |u| - ridge/2 u^2 within the bounds; the share is a difference of two such values,
    multiplied out.
    """
    away = r if form.eps == 0 else np.sign(r) * np.maximum(np.abs(r) - form.eps, 0.0)
    if form.ridge > 0:
        best = np.minimum(np.maximum(away / form.ridge, form.lower), form.upper)
    else:
        best = np.where(away > 0, form.upper, np.where(away < 0, form.lower, 0.0))
    values, shares = best * away, (best - u) * r
    if form.ridge > 0:
        values, shares = best * (away - form.ridge / 2 * best), (best - u) * (r - form.ridge / 2 * (best + u))
    if form.eps > 0:
        shares -= form.eps * (np.abs(best) - np.abs(u))
    if not np.isfinite(r).all():  # slope 0 contributes 0 and an infinite one inf
        values = np.where(best == 0, 0.0, np.where(np.isinf(best), np.inf, values))
    return values, np.maximum(shares, 0.0)


def off_rows(problem: LinearProblem, f: FloatArray, beta: FloatArray) -> FloatArray:
    """How far every score is from where its dual variable wants it."""
    if not isinstance(problem.loss, Quadratic):
        return np.abs(beta - problem.slopes(f)) / problem.C
    form = problem.loss.dual_form(problem.target)
    return _off_quadratic(form, f - form.linear, -beta / problem.C)


def _off_quadratic(form: DualForm, r: FloatArray, u: FloatArray) -> FloatArray:
    """How far the scores are from where slopes ``u`` are right: they should fall, or rise, and are not at their end."""
    grad = r - form.ridge * u if form.ridge > 0 else r
    falls, rises = grad, grad
    if form.eps > 0:
        falls = grad + np.where(u <= SNAP, form.eps, -form.eps)
        rises = grad + np.where(u < -SNAP, form.eps, -form.eps)
    off = np.where(u > form.lower + SNAP, np.maximum(-falls, 0.0), 0.0)
    return np.maximum(off, np.where(u < form.upper - SNAP, np.maximum(rises, 0.0), 0.0))
