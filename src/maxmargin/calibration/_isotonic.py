"""Isotonic calibration: any probability that grows with the score (Zadrozny and Elkan 2002)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.isotonic import IsotonicRegression

from maxmargin._types import FloatArray


@dataclass(frozen=True)
class Isotonic:
    """Scores and their probabilities; in between, straight lines."""

    scores: FloatArray
    values: FloatArray

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Probability of the positive side."""
        return np.interp(scores, self.scores, self.values)


def fit_isotonic(scores: FloatArray, sign: FloatArray, weight: FloatArray) -> Isotonic:
    """Least squares under monotony, kept within 1 / (N + 2) of 0 and 1: N rows do not prove that never happens."""
    fitted = IsotonicRegression(out_of_bounds="clip").fit(scores, sign > 0, sample_weight=weight)
    least = 1.0 / (float(weight.sum()) + 2.0)
    return Isotonic(np.asarray(fitted.X_thresholds_), np.clip(fitted.y_thresholds_, least, 1 - least))
