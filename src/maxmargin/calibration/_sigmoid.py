"""Platt's sigmoid and the coupling of pairwise probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.calibration import _sigmoid_calibration
from sklearn.model_selection import StratifiedKFold

from maxmargin._types import FloatArray, IntArray

FOLDS = 5


def fit_sigmoid(scores: FloatArray, sign: FloatArray, weight: FloatArray | None = None) -> tuple[float, float]:
    """(A, B) of P(positive | score) = 1 / (1 + exp(A score + B)) (Platt 1999), by scikit-learn's fit."""
    a, b = _sigmoid_calibration(scores, sign, sample_weight=weight)
    return float(a), float(b)


def sigmoid(scores: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """1 / (1 + exp(A score + B)), kept away from 0 and 1 as in LIBSVM."""
    return np.clip(expit(-(a * scores + b)), 1e-7, 1 - 1e-7)


def couple_pairs(r: FloatArray, pairs: list[tuple[int, int]], n_classes: int) -> FloatArray:
    """(n, classes) probabilities from (n, pairs) ones: min sum_{a<b} (r_ba p_a - r_ab p_b)^2, sum p = 1.

    Wu, Lin and Weng 2004, second method, eq. (18)-(21): one small linear system per row.
    """
    n = len(r)
    Q = np.zeros((n, n_classes + 1, n_classes + 1))
    for number, (a, b) in enumerate(pairs):
        r_ab = r[:, number]
        r_ba = 1.0 - r_ab
        Q[:, a, a] += r_ba**2
        Q[:, b, b] += r_ab**2
        Q[:, a, b] -= r_ab * r_ba
        Q[:, b, a] -= r_ab * r_ba
    Q[:, :n_classes, n_classes] = Q[:, n_classes, :n_classes] = 1.0
    right = np.zeros((n, n_classes + 1, 1))
    right[:, n_classes] = 1.0
    p = np.maximum(np.linalg.solve(Q, right)[:, :n_classes, 0], 0.0)
    return p / p.sum(axis=1, keepdims=True)


def stratified_folds(sign: FloatArray, random_state: Any) -> list[tuple[IntArray, IntArray]]:
    """(training rows, held-out rows) with both classes in every training part; empty if a class has one row."""
    smallest = int(min(np.count_nonzero(sign > 0), np.count_nonzero(sign < 0)))
    if smallest < 2:
        return []
    splitter = StratifiedKFold(min(FOLDS, smallest), shuffle=True, random_state=random_state)
    return list(splitter.split(sign, sign))
