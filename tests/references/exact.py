"""Quadratic programmes of a few variables solved in rational arithmetic: no tolerance, whatever the numbers.

Floats are taken as the exact fractions they are. Every face of the box is tried, so it is for about six variables.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np


def fractions(values):
    """An object array of the exact values of floats."""
    values = np.asarray(values, dtype=float)
    return np.array([Fraction(float(v)) for v in values.ravel()], dtype=object).reshape(values.shape)


def _solved(M, r):
    """The solution of M x = r by Gauss' elimination, or None where M is singular."""
    n = len(r)
    rows = [[*M[i], r[i]] for i in range(n)]
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k] != 0), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(n):
            if i != k and rows[i][k] != 0:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def box_minimum(P, q, upper, equality=None, skip=lambda face: False):
    """(x, value) of min 1/2 x'Px + q'x, 0 <= x <= upper, and a'x = total for ``equality`` (a, total); P is PSD.

    Some minimiser has a regular system on its free variables, for along a flat direction one can go to a bound.
    """
    n = len(q)
    for face in product((0, 1, 2), repeat=n):  # 0 and 1: at a bound; 2: between them
        if skip(face):
            continue
        x = _on_face(P, q, upper, equality, face)
        if x is not None and all(0 <= x[i] <= upper[i] for i in range(n)) and _is_minimum(P, q, upper, equality, x):
            return np.array(x, dtype=object), sum(x[i] * (q[i] + sum(P[i] * x) / 2) for i in range(n))
    raise AssertionError("no face has a minimiser")


def _on_face(P, q, upper, equality, face):
    n, free = len(face), [i for i, side in enumerate(face) if side == 2]
    x = [Fraction(upper[i]) if side == 1 else Fraction(0) for i, side in enumerate(face)]
    right = [-q[i] - sum(P[i][j] * x[j] for j in range(n)) for i in free]
    M = [[P[i][j] for j in free] for i in free]
    if equality is not None:
        a, total = equality
        right.append(total - sum(a[j] * x[j] for j in range(n)))
        if not free:
            return x if right[0] == 0 else None
        M = [[*line, a[i]] for line, i in zip(M, free, strict=True)] + [[*(a[i] for i in free), Fraction(0)]]
    found = _solved(M, right) if M else []
    if found is None:
        return None
    for i, value in zip(free, found, strict=False):
        x[i] = value
    return x


def _is_minimum(P, q, upper, equality, x):
    """Whether a multiplier of the equality leaves no direction downhill."""
    n, low, high = len(x), [], []
    for i in range(n):
        slope = q[i] + sum(P[i][j] * x[j] for j in range(n))
        if equality is None:
            if (slope > 0 and x[i] > 0) or (slope < 0 and x[i] < upper[i]):
                return False
            continue
        a = equality[0][i]
        # slope + m a must not be negative below the upper bound, nor positive above 0
        if x[i] < upper[i]:
            (low if a > 0 else high).append(-slope / a)
        if x[i] > 0:
            (high if a > 0 else low).append(-slope / a)
    return equality is None or not low or not high or max(low) <= min(high)


def middle_of_minimisers(breakpoints, weights_below, weights_above):
    """The middle of the b with the least sum of w_i max(0, p_i - b) + v_i max(0, b - p_i).

    ``weights_below`` are the w, paid while b is below its breakpoint, ``weights_above`` the v.
    """
    order = sorted(set(breakpoints))

    def value(b):
        return sum(
            w * max(Fraction(0), p - b) + v * max(Fraction(0), b - p)
            for p, w, v in zip(breakpoints, weights_below, weights_above, strict=True)
        )

    least = min(value(b) for b in order)
    best = [b for b in order if value(b) == least]
    return (best[0] + best[-1]) / 2
