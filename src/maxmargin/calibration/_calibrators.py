"""Calibrators: from held-out scores of two-class tasks to probabilities, and how sharp those of many classes are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.isotonic import isotonic_regression

from maxmargin._types import FloatArray, IntArray
from maxmargin.multiclass import LEAST_PROBABILITY

# -- Platt's sigmoid: P(positive | score) = 1 / (1 + exp(A score + B)) ----------------------------------------------
# Papers: Platt 1999 (the targets that are never 0 or 1); Lin, Lin and Weng 2007 (Newton's method for it).


#: The most Newton steps, the size of the gradient at which they end, and the share of their matrix's largest eigenvalue
#: that counts as 0: equal scores leave one direction open, along which nothing moves.
STEPS, FLAT, SINGULAR = 100, 1e-9, 1e-10


@dataclass(frozen=True)
class Sigmoid:
    """The fitted A and B."""

    a: float
    b: float

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Probability of the positive side."""
        return np.clip(expit(-(self.a * scores + self.b)), LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)


def fit_sigmoid(scores: FloatArray, sign: FloatArray, weight: FloatArray) -> Sigmoid:
    """Minimise the log loss against targets (N+ + 1) / (N+ + 2) and 1 / (N- + 2), N being sums of weights."""
    positive, negative = float(weight[sign > 0].sum()), float(weight[sign < 0].sum())
    target = np.where(sign > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
    size = float(np.abs(scores).max(initial=0.0)) or 1.0
    s = scores / size  # so that both unknowns are of similar size
    a, b = 0.0, float(np.log((negative + 1) / (positive + 1)))
    value = _loss(a * s + b, target, weight)
    for _ in range(STEPS):
        p = expit(-(a * s + b))
        by_b = weight * (target - p)
        gradient = np.array([by_b @ s, by_b.sum()])
        if np.abs(gradient).max() <= FLAT * weight.sum():
            break
        curved = weight * p * (1 - p)
        cross = curved @ s
        matrix = np.array([[curved @ (s * s), cross], [cross, curved.sum()]])
        da, db = -np.linalg.lstsq(matrix, gradient, rcond=SINGULAR)[0]
        slope, step = float(gradient @ [da, db]), 1.0
        while step > 1e-10:
            tried = _loss((a + step * da) * s + b + step * db, target, weight)
            if tried < value + 1e-4 * step * slope:
                break
            step /= 2
        else:
            break
        a, b, value = a + step * da, b + step * db, tried
    return Sigmoid(a / size, b)


def _loss(z: FloatArray, target: FloatArray, weight: FloatArray) -> float:
    """sum of weight (target z + log(1 + exp(-z))), z = A s + B: minus the log-likelihood."""
    return float(weight @ (target * z + np.logaddexp(0.0, -z)))


# -- Isotonic calibration: any probability that grows with the score (Zadrozny and Elkan 2002) ----------------------


@dataclass(frozen=True)
class Isotonic:
    """Scores and their probabilities, with straight lines in between."""

    scores: FloatArray
    values: FloatArray

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Probability of the positive side."""
        return np.interp(scores, self.scores, self.values)


def fit_isotonic(scores: FloatArray, sign: FloatArray, weight: FloatArray) -> Isotonic:
    """Monotone least squares, kept 1 / (N + 2) away from 0 and 1: N rows do not prove that something never happens."""
    if len(scores) == 0:  # a pair of classes that no fold has held out: nothing is known
        return Isotonic(np.zeros(1), np.full(1, 0.5))
    distinct, group = np.unique(scores, return_inverse=True)
    w = np.bincount(group, weight)
    values = isotonic_regression(np.bincount(group, weight * (sign > 0)) / w, sample_weight=w)
    least = 1.0 / (float(weight.sum()) + 2.0)
    steps = np.diff(values) != 0
    corner = np.append(True, steps) | np.append(steps, True)  # ends of constant pieces
    return Isotonic(distinct[corner], np.clip(values[corner], least, 1 - least))


# -- Venn-Abers calibration: two isotonic fits per score, with the row taken as negative and as positive ------------
# One of the two probabilities p0 <= p1 is perfectly calibrated, whatever the scores are (for exchangeable rows; with
# cross-validated scores, approximately). They are merged to p1 / (1 - p0 + p1), which minimises the worst regret in log
# loss. Paper: Vovk, Petej and Fedorova 2015 (all scores in one sweep over the corners of the cumulative sum diagram).


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


# -- A calibrator by its name ---------------------------------------------------------------------------------------


Calibrator = Sigmoid | Isotonic | VennAbers
Fit = Callable[[FloatArray, FloatArray, FloatArray], Calibrator]
KINDS: dict[str, Fit] = {"sigmoid": fit_sigmoid, "isotonic": fit_isotonic, "venn-abers": fit_venn_abers}


def fit_calibrator(kind: str, scores: FloatArray, sign: FloatArray, weight: FloatArray) -> Calibrator:
    """A function from scores to the probability of the positive side; ``weight`` counts the rows."""
    return KINDS[kind](scores, sign, weight)


# -- One number for all classes: how much sharper, or flatter, a distribution coupled from many tasks should be -----
# Coupling treats all tasks as if they had been trained on the row's class, which most have not: the result is too flat.
# p^s, divided by its sum, keeps the order of the classes; s is fitted to held-out rows by the log loss. With
# s = 1 / T that is the temperature T of Guo, Pleiss, Sun and Weinberger 2017.


#: Range of log s.
RANGE = (-3.0, 3.0)


def sharpened(p: FloatArray, s: float) -> FloatArray:
    """p^s / sum p^s of every row; p > 0."""
    z = s * np.log(p)
    z = np.exp(z - z.max(axis=1, keepdims=True))
    return z / z.sum(axis=1, keepdims=True)


def fit_sharpness(p: FloatArray, label: IntArray, weight: FloatArray) -> float:
    """The s with the least log loss."""
    rows, logs = np.arange(len(label)), np.log(p)

    def loss(log_s: float) -> float:
        z = np.exp(log_s) * logs
        top = z.max(axis=1)
        return float(weight @ (top + np.log(np.exp(z - top[:, None]).sum(axis=1)) - z[rows, label]))

    return float(np.exp(minimize_scalar(loss, bounds=RANGE, method="bounded").x))
