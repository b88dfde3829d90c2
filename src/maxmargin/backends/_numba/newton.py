"""Newton steps on the free variables, compiled: what makes small problems exact to rounding.

Once the active set is right the optimum solves linear equations. With F the variables strictly inside their bounds
(and away from 0, where |b| has its kink), minimise the quadratic over F with the sums of the QP kept; cut the step at
the first bound, let that variable leave F, and repeat. Each sum is used to eliminate one variable, the pivot, so that
the system is in the curvatures of pairs, which stays accurate where K itself is singular.
Invariant: feasibility; the objective never increases. Cost: |F|^3 / 3 per solve.
"""

from __future__ import annotations

import numpy as np

from maxmargin.backends._numba._jit import jit

#: Shifts of the diagonal tried in turn, relative to its mean; more than the last is not a Newton step.
SHIFTS = (1e-15, 1e-13, 1e-11, 1e-9)


@jit
def newton(K, linear, beta, lower, upper, epsilon, balance, spent, max_solves):
    """Improve ``beta`` in place; False if K is not definite on the free variables.

    ``spent``: a budget is there and used up, so that sum |beta| must be kept too.
    """
    grad = linear.copy()
    for k in range(beta.size):
        if beta[k] != 0:
            grad += beta[k] * K[k]
    for _ in range(max_solves):
        free = np.flatnonzero((beta > lower) & (beta < upper) & (beta != 0))
        ok, direction = find_direction(K, grad, beta, free, epsilon, balance, spent)
        if not ok:
            return False
        # the longest step in (0, 1] that keeps every variable inside its bounds and on its side of 0
        step, hit, bound = 1.0, -1, 0.0
        for a in range(free.size):
            b, d = beta[free[a]], direction[a]
            if d != 0:
                ahead = (0.0 if b < 0 else upper[free[a]]) if d > 0 else (0.0 if b > 0 else lower[free[a]])
                if (ahead - b) / d < step:
                    step, hit, bound = (ahead - b) / d, a, ahead
        for a in range(free.size):
            k = free[a]
            value = bound if a == hit else beta[k] + step * direction[a]
            grad += (value - beta[k]) * K[k]
            beta[k] = value
        if hit < 0:
            return True
    return True


@jit
def find_direction(K, grad, beta, free, epsilon, balance, spent):
    """(found, argmin over the free variables with their sums kept)."""
    m = free.size
    direction = np.zeros(m)
    side = np.zeros(m, np.int64)  # family of each free variable
    sign = np.ones(m)  # its coefficient in the family's sum
    families = 1 if balance or spent else 0
    for a in range(m):
        if spent and beta[free[a]] < 0:
            if balance:
                side[a] = 1
            else:
                sign[a] = -1.0
    if balance and spent:
        families = 2
    pivot = np.full(2, -1)
    for a in range(m):
        c = side[a]
        if families and (pivot[c] < 0 or K[free[a], free[a]] < K[free[pivot[c]], free[pivot[c]]]):
            pivot[c] = a
    rest = np.array([a for a in range(m) if a != pivot[0] and a != pivot[1]], dtype=np.int64)
    if rest.size == 0:
        return True, direction
    H, right = reduced_system(K, grad, beta, free, rest, side, sign, pivot, epsilon)
    ok, part = solve_definite(H, right)
    if not ok:
        return False, direction
    for r in range(rest.size):
        a = rest[r]
        direction[a] = part[r]
        p = pivot[side[a]]
        if p >= 0:
            direction[p] -= sign[a] * sign[p] * part[r]
    return True, direction


@jit
def reduced_system(K, grad, beta, free, rest, side, sign, pivot, epsilon):
    """Curvatures and negative slopes along e_a - e_pivot, for every free variable that is not a pivot."""
    size = rest.size
    H, right = np.empty((size, size)), np.empty(size)
    for r in range(size):
        a = rest[r]
        i, pi = free[a], pivot[side[a]]
        right[r] = -(grad[i] + epsilon * np.sign(beta[i]))
        if pi >= 0:
            p = free[pi]
            right[r] += sign[a] * sign[pi] * (grad[p] + epsilon * np.sign(beta[p]))
        for s in range(size):
            b = rest[s]
            j, pj = free[b], pivot[side[b]]
            value = K[i, j]
            if pi >= 0:
                e = sign[a] * sign[pi]
                h = sign[b] * sign[pj]
                value += e * h * K[free[pi], free[pj]] - e * K[free[pi], j] - h * K[i, free[pj]]
            H[r, s] = value
    return H, right


@jit
def solve_definite(H, right):
    """(found, H^-1 right) by Cholesky with the least shift that works, and one refinement."""
    mean = np.trace(H) / H.shape[0]
    for shift in SHIFTS:
        shifted = H.copy()
        for r in range(H.shape[0]):
            shifted[r, r] += max(shift * mean, 1e-300)
        try:
            L = np.linalg.cholesky(shifted)
        except Exception:
            continue
        LT = np.ascontiguousarray(L.T)
        x = substitute(L, LT, right)
        x += substitute(L, LT, right - H @ x)
        if np.isfinite(x).all() and np.dot(right, x) >= 0:
            return True, x
        return False, x
    return False, right


@jit
def substitute(L, LT, right):
    """(L L')^-1 right."""
    n = right.size
    y = right.copy()
    for r in range(n):
        y[r] = (y[r] - np.dot(L[r, :r], y[:r])) / L[r, r]
    for r in range(n - 1, -1, -1):
        y[r] = (y[r] - np.dot(LT[r, r + 1 :], y[r + 1 :])) / LT[r, r]
    return y
