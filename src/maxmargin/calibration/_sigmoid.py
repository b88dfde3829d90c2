"""Platt's sigmoid: P(positive | score) = 1 / (1 + exp(A score + B)).

Papers: Platt 1999 (the targets that are never 0 or 1); Lin, Lin and Weng 2007 (Newton's method for it).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from maxmargin._types import FloatArray
from maxmargin.multiclass import LEAST_PROBABILITY

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
