"""Scores of held-out rows: scikit-learn's scorers, and what the race needs besides."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_regressor
from sklearn.metrics import check_scoring

from maxmargin._types import Array, FloatArray, IntArray

#: Parts of a fold's rows that a scorer without values per row is asked for.
PARTS = 10


class Held(NamedTuple):
    """What predicts the held-out rows of a fold, and the rows as it wants them."""

    model: Any
    rows: Any
    y: Array
    weight: FloatArray | None


def predictor(machine: Any, labels: Any, scores: FloatArray) -> Any:
    """The machine as if it were fitted, for rows that are given as numbers: ``scores`` (rows, tasks) are known."""
    model = copy.copy(machine)
    if is_regressor(model):
        model.predict = lambda rows: scores[rows, 0]
    else:
        model._publish_scheme(labels, labels.scheme)
        model._task_scores = lambda rows: scores[rows]
    return model


class Scorer:
    """The score of a fold, larger is better, and scores of parts of it.

    ``scoring=None`` is the machine's own ``score``: the share of rows that are right, or R^2.
    """

    def __init__(self, machine: Any, scoring: Any):
        self.plain = scoring is None or (isinstance(scoring, str) and scoring in ("accuracy", "r2"))
        self.plain &= scoring != ("accuracy" if is_regressor(machine) else "r2")
        self.regression = is_regressor(machine)
        self.function = None if self.plain else check_scoring(machine, scoring)

    def __call__(self, held: Held) -> tuple[float, FloatArray]:
        """(score, scores of its parts); no parts where they have no score of their own."""
        if not self.plain:
            return self._ask(held, None), self._parts(held)
        predicted = held.model.predict(held.rows)
        if not self.regression:
            right = (predicted == held.y).astype(np.float64)
            return float(np.average(right, weights=held.weight)), right
        square = np.square(held.y - predicted)
        spread = np.square(held.y - np.average(held.y, weights=held.weight))
        variance = float(np.average(spread, weights=held.weight))
        error = float(np.average(square, weights=held.weight))
        if variance == 0:
            return float(error == 0), -square
        return 1.0 - error / variance, -square / variance

    def _ask(self, held: Held, part: IntArray | None) -> float:
        rows, y, weight = held.rows, held.y, held.weight
        if part is not None:
            rows, y, weight = rows[part], y[part], None if weight is None else weight[part]
        given = {} if weight is None else {"sample_weight": weight}
        return float(self.function(held.model, rows, y, **given))  # type: ignore[misc]  # not plain: there is one

    def _parts(self, held: Held) -> FloatArray:
        order = np.argsort(held.y, kind="stable")  # every part gets its share of each class, or of each range
        try:
            return np.array([self._ask(held, order[k::PARTS]) for k in range(min(PARTS, len(order)))])
        except ValueError:  # too few rows, or classes, for this score
            return np.empty(0)
