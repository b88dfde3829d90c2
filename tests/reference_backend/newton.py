"""Newton steps on the free variables, in NumPy: the reference for the compiled version, step by step the same."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from maxmargin._types import FloatArray, IntArray

#: Shifts of the diagonal tried in turn, relative to its mean; more than the last is not a Newton step.
SHIFTS = (1e-15, 1e-13, 1e-11, 1e-9)


def newton(K, linear, beta, lower, upper, epsilon, balance, spent, max_solves) -> bool:
    """Improve ``beta`` in place; False if K is not definite on the free variables."""
    for _ in range(max_solves):
        slope = K @ beta + linear + epsilon * np.sign(beta)
        free = np.flatnonzero((beta > lower) & (beta < upper) & (beta != 0))
        direction = _direction(K, slope, beta, free, _families(beta[free], balance, spent))
        if direction is None:
            return False
        step, hit, bound = _longest(beta[free], direction, lower[free], upper[free])
        beta[free] += step * direction
        if hit < 0:
            return True
        beta[free[hit]] = bound
    return True


def _direction(K, slope, beta, free: IntArray, families: list[FloatArray]) -> FloatArray | None:
    """argmin over the free variables with their sums kept: each sum eliminates one variable, d_pivot = -sum e_i d_i."""
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
    slope, block = slope[free], K[np.ix_(free, free)]
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


def _families(beta: FloatArray, balance: bool, spent: bool) -> list[FloatArray]:
    """Coefficients (+-1, 0 for non-members) of the sums that must be kept, with disjoint members."""
    sign = np.sign(beta)
    if not balance:
        sums = [sign] if spent else []
    elif spent:
        sums = [(sign > 0).astype(float), (sign < 0).astype(float)]
    else:
        sums = [np.ones(len(beta))]
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


def _longest(b: FloatArray, direction: FloatArray, lower: FloatArray, upper: FloatArray) -> tuple[float, int, float]:
    """(step, position of the variable that stops it or -1, the bound it meets); the full step is 1."""
    ahead = np.where(direction > 0, np.where(b < 0, 0.0, upper), np.where(b > 0, 0.0, lower))
    ratio = np.full(len(b), np.inf)
    np.divide(ahead - b, direction, out=ratio, where=direction != 0)
    if len(ratio) == 0 or ratio.min() >= 1.0:
        return 1.0, -1, 0.0
    hit = int(np.argmin(ratio))
    return float(ratio[hit]), hit, float(ahead[hit])
