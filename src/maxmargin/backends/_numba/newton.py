"""Newton steps on the free variables, compiled: what makes small problems exact to rounding.

Once the active set is right the optimum solves linear equations. With F the variables strictly inside their bounds
(and away from 0, where |b| has its kink), minimise the quadratic over F with the sums of the QP kept; cut the step at
the first bound, let that variable leave F, and repeat. Each sum is used to eliminate one variable, the pivot, so that
the system is in the curvatures of pairs, which stays accurate where K itself is singular.
Invariant: feasibility; the objective never increases. Cost: |F|^3 / 3 per solve.
Plain loops on purpose: every array expression would be compiled as a function of its own.
"""

from __future__ import annotations

import numpy as np

from maxmargin.backends._numba._jit import inner, jit

#: Shifts of the diagonal tried in turn, relative to its mean; more than the last is not a Newton step.
SHIFTS = (1e-15, 1e-13, 1e-11, 1e-9)


@inner
def add_line(grad, factor, line):
    """grad += factor * line."""
    for c in range(grad.size):
        grad[c] += factor * line[c]


@jit
def newton(K, linear, beta, lower, upper, epsilon, balance, spent, max_solves):
    """Improve ``beta`` in place; False if K is not definite on the free variables.

    ``spent``: a budget is there and used up, so that sum |beta| must be kept too.
    """
    n = beta.size
    grad, free, direction = linear.copy(), np.empty(n, np.int64), np.empty(n)
    for k in range(n):
        if beta[k] != 0:
            add_line(grad, beta[k], K[k])
    for _ in range(max_solves):
        m = 0
        for k in range(n):
            if beta[k] > lower[k] and beta[k] < upper[k] and beta[k] != 0:
                free[m] = k
                m += 1
        if not find_direction(K, grad, beta, free[:m], epsilon, balance, spent, direction[:m]):
            return False
        # the longest step in (0, 1] that keeps every variable inside its bounds and on its side of 0
        step, hit, bound = 1.0, -1, 0.0
        for a in range(m):
            b, d = beta[free[a]], direction[a]
            if d != 0:
                ahead = (0.0 if b < 0 else upper[free[a]]) if d > 0 else (0.0 if b > 0 else lower[free[a]])
                if (ahead - b) / d < step:
                    step, hit, bound = (ahead - b) / d, a, ahead
        for a in range(m):
            k = free[a]
            value = bound if a == hit else beta[k] + step * direction[a]
            add_line(grad, value - beta[k], K[k])
            beta[k] = value
        if hit < 0:
            return True
    return True


@inner
def find_direction(K, grad, beta, free, epsilon, balance, spent, direction):
    """Write the minimiser over the free variables with their sums kept; False if there is none."""
    m = free.size
    side, sign = np.zeros(m, np.int64), np.ones(m)  # side of each free variable, its coefficient in the side's sum
    pivot = np.array([-1, -1])
    for a in range(m):
        direction[a] = 0.0
        if spent and beta[free[a]] < 0:
            if balance:
                side[a] = 1
            else:
                sign[a] = -1.0
        p = pivot[side[a]]
        if (balance or spent) and (p < 0 or K[free[a], free[a]] < K[free[p], free[p]]):
            pivot[side[a]] = a
    rest, size = np.empty(m, np.int64), 0
    for a in range(m):
        if a != pivot[0] and a != pivot[1]:
            rest[size] = a
            size += 1
    if size == 0:
        return True
    H, right, part = np.empty((size, size)), np.empty(size), np.zeros(size)
    reduced_system(K, grad, beta, free, rest, side, sign, pivot, epsilon, H, right)
    if not solve_definite(H, right, part):
        return False
    for r in range(size):
        a = rest[r]
        direction[a] = part[r]
        p = pivot[side[a]]
        if p >= 0:
            direction[p] -= sign[a] * sign[p] * part[r]
    return True


@inner
def reduced_system(K, grad, beta, free, rest, side, sign, pivot, epsilon, H, right):
    """Curvatures H and negative slopes along e_a - e_pivot, for every free variable that is not a pivot."""
    size = right.size
    for r in range(size):
        a = rest[r]
        i, pi = free[a], pivot[side[a]]
        right[r] = -(grad[i] + (epsilon if beta[i] > 0 else -epsilon))
        if pi >= 0:
            p = free[pi]
            right[r] += sign[a] * sign[pi] * (grad[p] + (epsilon if beta[p] > 0 else -epsilon))
        for s in range(size):
            b = rest[s]
            j, pj = free[b], pivot[side[b]]
            value = K[i, j]
            if pi >= 0:
                e, h = sign[a] * sign[pi], sign[b] * sign[pj]
                value += e * h * K[free[pi], free[pj]] - e * K[free[pi], j] - h * K[i, free[pj]]
            H[r, s] = value


@inner
def solve_definite(H, right, x):
    """x = H^-1 right by Cholesky with the least shift that works, and one refinement; False if none works."""
    size, mean = right.size, 0.0
    for r in range(size):
        mean += H[r, r] / size
    residual, slope = right.copy(), 0.0
    for shift in SHIFTS:
        shifted = H.copy()
        for r in range(size):
            shifted[r, r] += max(shift * mean, 1e-300)
        try:
            L = np.linalg.cholesky(shifted)
        except Exception:
            continue
        for _ in range(2):  # the second round removes what the shift and the rounding left
            substitute(L, residual)
            for r in range(size):
                x[r] += residual[r]
            for r in range(size):
                residual[r] = right[r]
                for c in range(size):
                    residual[r] -= H[r, c] * x[c]
        for r in range(size):
            slope += right[r] * x[r]
        return slope >= 0 and slope < np.inf
    return False


@inner
def substitute(L, y):
    """y = (L L')^-1 y, in place."""
    for r in range(y.size):
        total = y[r]
        for c in range(r):
            total -= L[r, c] * y[c]
        y[r] = total / L[r, r]
    for r in range(y.size - 1, -1, -1):
        y[r] /= L[r, r]
        for c in range(r):
            y[c] -= L[r, c] * y[r]
