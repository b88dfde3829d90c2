r"""Newton steps on the free variables: what makes small problems exact to rounding.

Once the active set is right, the optimum solves linear equations: with F the variables strictly inside their
bounds (and away from 0, where |b| has its kink),

.. math:: K_{FF}\, d + A' \lambda = -(\nabla f + \varepsilon\,\mathrm{sign}\,\beta)_F, \qquad A d = 0,

A holding the sums that must be kept. The step is cut at the first bound, that variable leaves F, and so on.
Cost: |F|^3 / 3 per solve.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from maxmargin._types import FloatArray, IntArray
from maxmargin.problems import DualQP

#: Regularisation tried in turn, relative to the mean of the diagonal; more than the last is not a Newton step.
SHIFTS = (1e-15, 1e-13, 1e-11, 1e-9)


def newton(K: FloatArray, qp: DualQP, beta: FloatArray, max_solves: int = 20) -> FloatArray | None:
    """A point that is optimal on its free variables, or None if K is not definite enough there.

    The objective never increases; feasibility is kept.
    """
    beta = beta.copy()
    for _ in range(max_solves):
        grad = K @ beta + qp.linear
        free = np.flatnonzero((beta > qp.lower) & (beta < qp.upper) & (beta != 0))
        direction = _direction(K, qp, beta, grad, free)
        if direction is None:
            return None
        step, hit, bound = _longest(qp, beta, free, direction)
        beta[free] += step * direction
        if hit < 0:
            return beta
        beta[free[hit]] = bound
    return beta


def _direction(K: FloatArray, qp: DualQP, beta: FloatArray, grad: FloatArray, free: IntArray) -> FloatArray | None:
    """argmin of the quadratic model over the free variables with their sums kept.

    Each sum is used to eliminate one variable, the pivot: d_pivot = -sum e_i d_i. What is left is a definite system in
    the curvatures of pairs, which stays accurate where K itself is singular.
    """
    families = _families(qp, beta, free)
    rest = np.ones(len(free), dtype=bool)
    pivots, E = [], np.zeros((len(free), len(families)))
    for number, sign in enumerate(families):
        members = np.flatnonzero(sign)
        pivot = members[np.argmin(K[free[members], free[members]])]
        pivots.append(pivot)
        rest[pivot] = False
        E[:, number] = sign * sign[pivot]
    if not rest.any():
        return np.zeros(len(free))
    slope = grad[free] + qp.epsilon * np.sign(beta[free])
    block = K[np.ix_(free, free)]
    reduced = block - block[:, pivots] @ E.T - E @ block[pivots] + E @ block[np.ix_(pivots, pivots)] @ E.T
    reduced, right = reduced[np.ix_(rest, rest)], (E @ slope[pivots] - slope)[rest]
    factor = _cholesky(reduced)
    if factor is None:
        return None
    part = dpotrs(factor, right, lower=1)[0]
    part += dpotrs(factor, right - reduced @ part, lower=1)[0]  # removes what the shift and the rounding left
    if not (np.isfinite(part).all() and right @ part >= 0):
        return None
    direction = np.zeros(len(free))
    direction[rest] = part
    direction[pivots] = -E[rest].T @ part
    return direction


def _families(qp: DualQP, beta: FloatArray, free: IntArray) -> list[FloatArray]:
    """Coefficients (+-1, 0 for non-members) of the sums that must be kept, with disjoint members."""
    sign = np.sign(beta[free])
    spent = qp.budget is not None and qp.slack(beta) == 0
    if not qp.balance:
        sums = [sign] if spent else []
    elif spent:
        sums = [(sign > 0).astype(float), (sign < 0).astype(float)]
    else:
        sums = [np.ones(len(free))]
    return [s for s in sums if s.any()]


def _cholesky(block: FloatArray) -> FloatArray | None:
    """Cholesky factor of the block plus the least shift that makes it definite."""
    mean = float(np.trace(block)) / len(block)
    for shift in SHIFTS:
        shifted = block.copy()
        shifted.flat[:: len(block) + 1] += max(shift * mean, np.finfo(float).tiny)
        factor, info = dpotrf(shifted, lower=1, overwrite_a=1)
        if info == 0:
            return factor
    return None


def _longest(qp: DualQP, beta: FloatArray, free: IntArray, direction: FloatArray) -> tuple[float, int, float]:
    """(step, position of the variable that stops it or -1, the bound it meets); the full step is 1."""
    b = beta[free]
    ahead = np.where(direction > 0, np.where(b < 0, 0.0, qp.upper[free]), np.where(b > 0, 0.0, qp.lower[free]))
    moving = direction != 0
    ratio = np.full(len(free), np.inf)
    ratio[moving] = (ahead[moving] - b[moving]) / direction[moving]
    if len(ratio) == 0 or ratio.min() >= 1.0:
        return 1.0, -1, 0.0
    hit = int(np.argmin(ratio))
    return float(ratio[hit]), hit, float(ahead[hit])
