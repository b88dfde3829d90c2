"""Venn-Abers calibration: two isotonic fits per score, with the row taken as negative and as positive.

One of the two probabilities p0 <= p1 is perfectly calibrated, whatever the scores are (for exchangeable rows; with
cross-validated scores, approximately). They are merged to p1 / (1 - p0 + p1), which minimises the worst regret in log
loss. Paper: Vovk, Petej and Fedorova 2015 (all scores in one sweep over the corners of the cumulative sum diagram).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._types import FloatArray


@dataclass(frozen=True)
class VennAbers:
    """Distinct scores, sorted; p0 holds from each score to the next, p1 from the previous score to each."""

    scores: FloatArray
    lower: FloatArray
    upper: FloatArray

    def interval(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(p0, p1) of every score."""
        below = np.searchsorted(self.scores, scores, side="right")
        above = np.searchsorted(self.scores, scores, side="left")
        return np.append(0.0, self.lower)[below], np.append(self.upper, 1.0)[above]

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Probability of the positive side."""
        p0, p1 = self.interval(scores)
        return p1 / (1 - p0 + p1)


def fit_venn_abers(scores: FloatArray, sign: FloatArray, weight: FloatArray) -> VennAbers:
    """p0 and p1 at every distinct score."""
    distinct, group = np.unique(scores, return_inverse=True)
    w = np.bincount(group, weight).astype(np.float64)
    positive = np.bincount(group, weight * (sign > 0)).astype(np.float64)
    upper = _with_a_one(w, positive)
    lower = 1.0 - _with_a_one(w[::-1], (w - positive)[::-1])[::-1]  # from the other end, a 0 is a 1
    return VennAbers(distinct, lower, upper)


def _with_a_one(w: FloatArray, sums: FloatArray) -> FloatArray:
    """The isotonic fit's value at each group if a positive row joins it; ``w`` and ``sums`` are the groups' totals.

    The fit is the slope of the lower convex hull of the cumulative sums. The additional row is a segment (1, 1) before
    the first group; moving it behind one group after the other replaces one corner at a time.
    """
    x = np.concatenate([[-1.0, 0.0], np.cumsum(w)]).tolist()
    y = np.concatenate([[-1.0, 0.0], np.cumsum(sums)]).tolist()
    hull: list[int] = []
    for i in range(len(x)):
        while len(hull) > 1 and not _turns_left(x, y, hull[-2], hull[-1], i):
            hull.pop()
        hull.append(i)
    corners = hull[::-1]  # the first one is on top
    values = np.empty(len(w))
    for i in range(len(w)):
        first, second = corners[-1], corners[-2]
        values[i] = (y[second] - y[first]) / (x[second] - x[first])
        at = i + 1
        x[at], y[at] = x[i] + x[i + 2] - x[at], y[i] + y[i + 2] - y[at]
        if at != first and not _turns_left(x, y, first, at, second):
            continue  # at or above the hull
        corners.pop()
        while len(corners) > 1 and not _turns_left(x, y, at, corners[-1], corners[-2]):
            corners.pop()
        corners.append(at)
    return values


def _turns_left(x: list[float], y: list[float], a: int, b: int, c: int) -> bool:
    return (x[b] - x[a]) * (y[c] - y[b]) > (y[b] - y[a]) * (x[c] - x[b])
