r"""Newton steps on the free variables of a large working set: where pairwise steps crawl, one solve moves them all.

With F the variables strictly inside their bounds (and away from 0, where |b| has its kink) the optimum of their face
solves linear equations. Walk towards it; where a variable meets its bound, keep it there and turn towards the optimum
of the smaller face, and so on. With M the inverse of K on the face, fixing variable j moves the optimum along the
column M_j: the rule by which a Gaussian is conditioned on one of its coordinates. So one inverse serves the whole
walk, however many bounds it meets.
Invariant: feasibility; the objective never increases but by rounding. Cost: |F|^3 once, |F| k for the k-th bound met.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from maxmargin._types import FloatArray, IntArray
from maxmargin.problems import DualQP

#: Shifts of the diagonal tried in turn, relative to its mean; more than the last is not a Newton step.
SHIFTS = (1e-14, 1e-12, 1e-10)
#: Most bounds met in one walk.
MOST_BOUNDS = 1000
#: Error of a sum, relative to the sum of |beta|, that is rounding.
KEPT = 1e-12
#: Gains smaller than this, relative to the terms they are the difference of, are hidden by rounding.
HIDDEN = 1e-8
#: Lines that are mirrored together.
MIRRORED = 256
#: A variance this small, relative to the largest, is rounding: the variable is settled by the others.
SETTLED = 1e-12


def newton_values(qp: DualQP, K: FloatArray, grad: FloatArray, beta: FloatArray, free: IntArray) -> FloatArray | None:
    """Better values of the ``free`` variables, given K among them and grad = K beta + p; None if there are none."""
    sides = np.sign(beta[free])
    spent = qp.budget is not None and qp.slack(beta) == 0
    sums = np.array([np.ones(len(free))] * qp.balance + [sides] * spent).reshape(-1, len(free))
    if len(free) <= len(sums):
        return None  # the sums leave no direction
    lower = np.where(sides > 0, 0.0, qp.lower[free])
    upper = np.where(sides > 0, qp.upper[free], 0.0)
    values = face_step(K, grad[free] + qp.epsilon * sides, beta[free], lower, upper, sums)
    if values is not None and qp.budget is not None and not spent:
        change = float(np.abs(values).sum() - np.abs(beta[free]).sum())
        if change > qp.slack(beta):
            return None
    return values


def face_step(
    K: FloatArray, grad: FloatArray, beta: FloatArray, lower: FloatArray, upper: FloatArray, sums: FloatArray
) -> FloatArray | None:
    """New values of ``beta`` that lower 1/2 d'Kd + grad'd and keep sums @ beta and the bounds; None if there are none.

    ``sums`` has a line per sum that must be kept.
    """
    M = _inverse(K)
    if M is None:
        return None
    fixed = np.zeros((MOST_BOUNDS + len(sums), len(M)))  # M conditioned is M - fixed' fixed
    count = 0
    for line in sums:
        column = M @ line - fixed[:count].T @ (fixed[:count] @ line)
        if line @ column > SETTLED * (line @ M @ line):  # else this sum follows from the others
            fixed[count] = column / np.sqrt(float(line @ column))
            count += 1
    optimum = beta - (M @ grad - fixed[:count].T @ (fixed[:count] @ grad))
    smallest = SETTLED * float(np.max(np.diag(M)))
    x, moving = beta.copy(), np.ones(len(M), dtype=bool)
    while count < len(fixed):
        d = np.where(moving, optimum - x, 0.0)
        bound = np.where(d > 0, upper, lower)
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(d != 0, (bound - x) / d, np.inf)
        j = int(np.argmin(steps))
        if steps[j] >= 1.0:
            x = np.where(moving, optimum, x)
            x = _refined(x, K, grad, beta, lower, upper, moving, M, fixed[:count])
            break
        x += max(steps[j], 0.0) * d
        x[j], moving[j] = bound[j], False
        column = M[j] - fixed[:count, j] @ fixed[:count]
        if column[j] > smallest:
            optimum += column * ((x[j] - optimum[j]) / column[j])
            fixed[count] = column / np.sqrt(column[j])
            count += 1
    x = _with_sums(np.clip(x, lower, upper), beta, moving, lower, upper, sums)
    d = x - beta
    if np.abs(sums @ d).max(initial=0.0) > KEPT * np.abs(beta).sum():
        return None
    curved = K @ d
    linear, quadratic = float(grad @ d), float(d @ curved) / 2
    if linear + quadratic < 0:
        return x
    # a gain that rounding hides still shows in the slopes, which the optimum makes equal
    even = np.ptp((grad + curved)[moving]) < np.ptp(grad[moving]) if moving.any() else False
    return x if even and linear + quadratic <= HIDDEN * (abs(linear) + abs(quadratic)) else None


def _refined(x, K, grad, beta, lower, upper, moving, M, fixed) -> FloatArray:
    """Newton steps with the inverse at hand, while they stay inside: they remove its rounding errors."""
    for _ in range(3):
        slope = grad + K @ (x - beta)
        step = np.where(moving, fixed.T @ (fixed @ slope) - M @ slope, 0.0)
        if ((x + step < lower) | (x + step > upper)).any():
            break
        x = x + step
    return x


def _with_sums(x, beta, moving, lower, upper, sums) -> FloatArray:
    """``x`` with the sums of ``beta``: rounding errors are spread over the variables that are inside their bounds."""
    for _ in range(2):
        inside = sums * (moving & (x > lower) & (x < upper))
        missing = sums @ (beta - x)
        x = np.clip(x + np.linalg.lstsq(inside @ inside.T, missing, rcond=None)[0] @ inside, lower, upper)
    return x


def _inverse(K: FloatArray) -> FloatArray | None:
    """K^-1 by Cholesky with the least shift that works."""
    mean = float(np.mean(np.diag(K)))
    for shift in SHIFTS:
        shifted = K.copy()
        shifted.flat[:: len(K) + 1] += max(shift * mean, 1e-300)
        factor, failed = dpotrf(shifted.T, lower=1, overwrite_a=True)
        if failed:
            continue
        half, _ = dpotri(factor, lower=1, overwrite_c=True)
        return _mirrored(half)
    return None


def _mirrored(half: FloatArray) -> FloatArray:
    """The lower triangle copied to the upper one, in place: new memory takes longer to touch than to fill."""
    n = len(half)
    for first in range(0, n, MIRRORED):
        last = min(first + MIRRORED, n)
        half[first:last, last:] = half[last:, first:last].T
        corner = np.tril(half[first:last, first:last])
        half[first:last, first:last] = corner + np.tril(corner, -1).T
    return half
