"""The fewest mistakes that any line makes on rows of the plane, exactly: the 0/1 loss minimised by enumeration.

Problem: min over (w, b) of sum_i v_i 1[t_i (w.x_i + b) <= 0], which is hard to minimise in many dimensions.
Algorithm: a line that has no row on it can be moved until it goes through two points without changing a side on the
way; so the best split is one of a line through two points, where those on the line itself are split anew: by a small
turn, one part of the line goes to one side and the rest to the other. The line delivered is
the middle of the widest strip that the best split allows.
Cost: n^2 / 2 lines with n sides each. Sides are exact: where rounding could change one, it is computed in fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_array, column_or_1d

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.inspection._model import EPS, checked_weights

#: Distinct points up to which all lines are tried.
MOST_POINTS = 300
#: Rounding of the determinant below, relative to its two products (Shewchuk 1997, eq. (7) to (12)), and what may be
#: lost below the range of floating-point numbers.
DETERMINANT, LEAST_PRODUCT = (3 + 8 * EPS) * EPS / 2, 1e-290


@dataclass(frozen=True, eq=False)
class LeastMistakes:
    """The least number of mistakes, and a line that makes no more.

    Attributes
    ----------
    mistakes : int or float
        Rows with t f(x) <= 0; their weight, if rows have weights.
    coef : ndarray of shape (2,)
        w of f(x) = w.x + b, with f >= 1 on one side and f <= -1 on the other: among the lines with the same rows on
        either side the one of the widest strip. If all rows are on one side the line is any beyond them.
    intercept : float
        b.
    rows : ndarray
        The rows that are on the wrong side.
    classes : ndarray of shape (2,)
        The classes of t = -1 and t = 1.
    """

    mistakes: int | float
    coef: FloatArray
    intercept: float
    rows: IntArray
    classes: Array

    def __str__(self) -> str:
        (a, b), c = self.coef, self.intercept
        return f"no line makes fewer mistakes than {self.mistakes:g}: {a:.6g} x1 {b:+.6g} x2 {c:+.6g} > 0 makes as many"


class _Points(NamedTuple):
    """Distinct points in lexicographic order, so that those on a line are in the order of that line."""

    at: FloatArray  # (m, 2)
    positive: FloatArray  # (m,) weight of the rows with t = +1 there: the price of being on the negative side
    negative: FloatArray  # (m,) and of those with t = -1


def least_mistakes(X: Any, y: Any, sample_weight: Any = None) -> LeastMistakes:
    r"""The least number of mistakes of any line on rows with two features, and a line that makes it, exactly.

    .. math:: \min_{w, b} \sum_i v_i\, 1[t_i (w\cdot x_i + b) \le 0]

    A support vector machine minimises a convex bound of this, the hinge loss; here one can see what that costs. All
    lines through two points are tried, in exact arithmetic where it matters, which takes the third power of the number
    of points: it is for small sets.

    Parameters
    ----------
    X : array-like of shape (n, 2)
        Rows, of at most 300 distinct points.
    y : array-like of shape (n,)
        Their classes, two of them.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, each at least 0: 2 is the row twice.

    Returns
    -------
    LeastMistakes

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.inspection import least_mistakes
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> found = least_mistakes(X, [0, 0, 1, 1])                       # exclusive or: no line is right about all four
    >>> found.mistakes, len(found.rows)
    (1, 1)
    """
    X, y = check_array(X, dtype=np.float64), column_or_1d(y)
    if X.shape[1] != 2:
        raise ValueError(f"lines lie in the plane, but X has {X.shape[1]} features; choose two of them, or project")
    if len(y) != len(X):
        raise ValueError(f"X has {len(X)} rows but y has {len(y)}; give one class for each row")
    classes, label = np.unique(y, return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"a line tells two classes apart, and y has {len(classes)}: {classes[:10].tolist()}")
    weight = checked_weights(sample_weight, len(X))
    points, place = _points(X, label, weight)
    side = _best_sides(points)
    w, b = _widest_line(points.at, side)
    if not np.array_equal(np.sign(points.at @ w + b), side):
        raise ValueError(
            "the best line has rows of different sides so close to each other that float64 has no line between them; "
            "subtract the mean of the rows, or round them"
        )
    wrong = np.flatnonzero((side[place] != 2.0 * label - 1.0) & (weight > 0))
    mistakes = len(wrong) if sample_weight is None else float(weight[wrong].sum())
    return LeastMistakes(mistakes, w, b, wrong, classes)


def _points(X: FloatArray, label: IntArray, weight: FloatArray) -> tuple[_Points, IntArray]:
    """Distinct points with the weight of either class, and the point of every row."""
    at, place = np.unique(X + 0.0, axis=0, return_inverse=True)  # + 0.0: minus zero is zero
    place = place.ravel()
    if len(at) > MOST_POINTS:
        raise ValueError(
            f"all lines through two of {len(at)} distinct points would be tried, and more than {MOST_POINTS} take too "
            "long; give a sample of the rows, or round them so that fewer differ"
        )
    positive, negative = np.zeros(len(at)), np.zeros(len(at))
    np.add.at(positive, place, weight * (label == 1))
    np.add.at(negative, place, weight * (label == 0))
    return _Points(at, positive, negative), place


def _best_sides(points: _Points) -> FloatArray:
    """The side, -1 or +1, of every point in the cheapest split by a line."""
    at, positive, negative = points
    m = len(at)
    best = np.full(m, 1.0 if negative.sum() <= positive.sum() else -1.0)  # a line beyond all of them
    least = float(min(negative.sum(), positive.sum()))
    seen = np.eye(m, dtype=bool)
    cheapest = np.minimum(positive, negative)
    for i in range(m - 1):
        others = np.flatnonzero(~seen[i, i + 1 :]) + i + 1
        side = _sides(at, i, others)
        on = side == 0
        costs = np.stack([(side > 0) @ ours + (side < 0) @ theirs for ours, theirs in _ways(points)], axis=1)
        crowded = on.sum(axis=1) > 2
        costs[~crowded] += (cheapest[i] + cheapest[others[~crowded]])[:, None]  # two points may go to any sides
        for row in np.flatnonzero(crowded):
            members = np.flatnonzero(on[row])
            seen[np.ix_(members, members)] = True  # the line is the same for all pairs of them
            costs[row] += _split(positive[members], negative[members])[0]
        if len(costs) and costs.min() < least:
            row, way = np.unravel_index(np.argmin(costs), costs.shape)
            least, members = float(costs[row, way]), np.flatnonzero(on[row])
            best = side[row] * (1.0 if way == 0 else -1.0)
            if len(members) > 2:
                best[members] = _split(positive[members], negative[members])[1]
            else:
                best[members] = np.where(negative[members] <= positive[members], 1.0, -1.0)
    return best


def _ways(points: _Points) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """(price on the left, price on the right) of every point, with t = 1 to the left and to the right."""
    return (points.negative, points.positive), (points.positive, points.negative)


def _sides(at: FloatArray, i: int, others: IntArray) -> FloatArray:
    """(len(others), m) exact signs of all points against the lines from point i to the others."""
    d, r = at[others] - at[i], at - at[i]
    with np.errstate(over="ignore", invalid="ignore"):
        left, right = np.outer(d[:, 0], r[:, 1]), np.outer(d[:, 1], r[:, 0])
        value, size = left - right, np.abs(left) + np.abs(right)
        known = np.abs(value) > np.maximum(DETERMINANT * size, LEAST_PRODUCT)
    side = np.sign(np.where(known, value, 0.0))
    known[:, i] = known[np.arange(len(others)), others] = True  # the line goes through both
    exact = [(Fraction(x), Fraction(z)) for x, z in at.tolist()] if not known.all() else []
    for row, point in np.argwhere(~known):
        (ax, ay), (bx, by), (cx, cy) = exact[i], exact[others[row]], exact[point]
        determinant = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        side[row, point] = (determinant > 0) - (determinant < 0)
    return side


def _split(positive: FloatArray, negative: FloatArray) -> tuple[float, FloatArray]:
    """(price, sides) of the cheapest split of points along a line into a first part and the rest."""
    found = []
    for first, rest, sign in ((negative, positive, 1.0), (positive, negative, -1.0)):
        prices = np.concatenate([[0.0], np.cumsum(first)]) + np.concatenate([np.cumsum(rest[::-1])[::-1], [0.0]])
        k = int(np.argmin(prices))
        found.append((float(prices[k]), np.where(np.arange(len(first)) < k, sign, -sign)))
    return min(found, key=lambda one: one[0])


def _widest_line(at: FloatArray, side: FloatArray) -> tuple[FloatArray, float]:
    """(w, b), f being 1 and -1 at the nearest points of the two hulls; beyond all points if they have one side."""
    A, B = at[side > 0], at[side < 0]
    if not len(A) or not len(B):
        low = at[:, 0].min()
        room = float(np.ptp(at[:, 0])) or max(abs(float(low)), 1.0)
        sign = 1.0 if len(A) else -1.0
        return np.array([sign / room, 0.0]), sign * (1.0 - float(low) / room)
    u, v = _nearest(A, B)
    q, p = _nearest(B, A)
    if np.sum((p - q) ** 2) < np.sum((u - v) ** 2):
        u, v = p, q
    w = 2.0 * (u - v) / float((u - v) @ (u - v))
    return w, -float(w @ (u + v)) / 2.0


def _nearest(A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The nearest pair of a point of A and a point on a segment between two of B."""
    first, second = np.triu_indices(len(B))
    start, along = B[first], B[second] - B[first]
    square = np.maximum(np.sum(along**2, axis=1), np.finfo(float).tiny)
    best = (np.inf, A[0], B[0])
    for a in A:
        share = np.clip(np.sum((a - start) * along, axis=1) / square, 0.0, 1.0)
        foot = start + share[:, None] * along
        distance = np.sum((foot - a) ** 2, axis=1)
        k = int(np.argmin(distance))
        if distance[k] < best[0]:
            best = (float(distance[k]), a, foot[k])
    return best[1], best[2]
