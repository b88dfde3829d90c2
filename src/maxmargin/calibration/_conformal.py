"""Conformal prediction sets from cross-validated scores (CV+).

Row i, held out in fold k(i), has the nonconformity a_i = max_{m != y_i} f_m - f_y of fold k(i)'s model. A class c stays
in the set of a new row x unless, measured by the folds' models, x would be stranger in c than nearly all rows are:

    keep c  iff  1 + sum_i 1[a_i >= a(x, c; fold k(i))]  >  alpha (n + 1),    alpha = 1 - coverage.

If all rows are exchangeable, the set misses the truth with probability 2 alpha at most, plus a term that falls with n
(Vovk 2015; Barber, Candes, Ramdas and Tibshirani 2021, theorem 4); in practice it is about alpha.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray


@dataclass(frozen=True)
class Conformal:
    """Nonconformity of the training rows, sorted in each fold, with the total weight of each row and all later ones."""

    folds: tuple[tuple[FloatArray, FloatArray], ...]  # (sorted values, weight of each and all larger ones)
    total: float

    def mask(self, decided: list[FloatArray], coverage: float) -> Array:
        """(n, classes) of bool from the (n, classes) decision scores of every fold's model."""
        stranger = np.ones_like(decided[0])
        for (values, weights), scores in zip(self.folds, decided, strict=True):
            at = np.searchsorted(values, nonconformity(scores), side="left")
            stranger += np.append(weights, 0.0)[at]
        return stranger > (1.0 - coverage) * (self.total + 1.0)


def fit_conformal(decided: FloatArray, label: IntArray, weight: FloatArray, fold: IntArray) -> Conformal:
    """From the decision scores (n, classes) of rows held out in ``fold``; rows of fold -1 are ignored."""
    own = nonconformity(decided)[np.arange(len(label)), label]
    folds = []
    for number in range(int(fold.max(initial=-1)) + 1):
        rows = np.flatnonzero(fold == number)
        rows = rows[np.argsort(own[rows], kind="stable")]
        folds.append((own[rows], np.cumsum(weight[rows][::-1])[::-1]))
    return Conformal(tuple(folds), float(weight[fold >= 0].sum()))


def nonconformity(scores: FloatArray) -> FloatArray:
    """max_{m != c} f_m - f_c of every row and class c."""
    if scores.shape[1] == 2:
        return scores[:, ::-1] - scores
    first = np.argmax(scores, axis=1)
    rows = np.arange(len(scores))
    best = scores[rows, first]
    others = scores.copy()
    others[rows, first] = -np.inf
    rival = np.repeat(best[:, None], scores.shape[1], axis=1)
    rival[rows, first] = others.max(axis=1)
    return rival - scores
