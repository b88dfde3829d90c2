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
    sign = np.sign(beta[free])
    constraints = []
    if qp.balance:
        constraints.append(np.ones(len(free)))
    if qp.budget is not None and qp.slack(beta) == 0:
        constraints.append(sign)
    if len(constraints) == 2 and (np.all(sign > 0) or np.all(sign < 0)):
        constraints.pop()  # the two sums are one
    A = np.array(constraints).reshape(len(constraints), len(free))
    if len(free) <= len(constraints):
        return np.zeros(len(free))
    slope = grad[free] + qp.epsilon * sign
    block = K[np.ix_(free, free)]
    factor = _cholesky(block)
    if factor is None:
        return None
    direction = np.zeros(len(free))
    for _ in range(2):  # the second round removes what the shift and the rounding left
        direction = direction + _constrained(factor, A, -(slope + block @ direction))
    return direction if slope @ direction <= 0 and np.isfinite(direction).all() else None


def _cholesky(block: FloatArray) -> FloatArray | None:
    """Cholesky factor of the block plus the least shift that makes it definite."""
    mean = float(np.trace(block)) / len(block)
    for shift in SHIFTS:
        shifted = block.copy()
        shifted.flat[:: len(block) + 1] += shift * mean
        factor, info = dpotrf(shifted, lower=1, overwrite_a=1)
        if info == 0:
            return factor
    return None


def _constrained(factor: FloatArray, A: FloatArray, right: FloatArray) -> FloatArray:
    """argmin 1/2 d'Hd - right'd with A d = 0, given the Cholesky factor of H."""
    both, _ = dpotrs(factor, np.column_stack([right, *A]), lower=1)
    plain, across = both[:, 0], both[:, 1:]
    if len(A) == 0:
        return plain
    return plain - across @ np.linalg.solve(A @ across, A @ plain)


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
