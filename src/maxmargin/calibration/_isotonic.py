"""Isotonic calibration: any probability that grows with the score (Zadrozny and Elkan 2002)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.isotonic import isotonic_regression

from maxmargin._types import FloatArray


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
    distinct, group = np.unique(scores, return_inverse=True)
    w = np.bincount(group, weight)
    values = isotonic_regression(np.bincount(group, weight * (sign > 0)) / w, sample_weight=w)
    least = 1.0 / (float(weight.sum()) + 2.0)
    steps = np.diff(values) != 0
    corner = np.append(True, steps) | np.append(steps, True)  # ends of constant pieces
    return Isotonic(distinct[corner], np.clip(values[corner], least, 1 - least))
