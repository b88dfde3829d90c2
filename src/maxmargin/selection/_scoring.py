"""Scores of held-out rows: scikit-learn's scorers, and what the race needs besides."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_regressor
from sklearn.metrics import check_scoring
from sklearn.metrics._scorer import _BaseScorer
from sklearn.utils import _safe_indexing

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.estimators.interface import Machine

#: Parts of a fold's rows that a scorer without values per row is asked for.
PARTS = 10


class Held(NamedTuple):
    """The held-out rows of a fold and what predicts them.

    ``rows()`` are the rows themselves; ``model(part)`` predicts some of them (None: all).
    """

    model: Callable[[IntArray | None], Any]
    rows: Callable[[], Any]
    y: Array
    weight: FloatArray | None
    needs_rows: bool = False  # whether predict looks at the rows


def known_scores(machine: Machine, labels: Any, scores: FloatArray) -> Callable[[IntArray | None], Any]:
    """For :class:`Held`: the machine as if it were fitted, with the scores (rows, tasks) of its tasks known."""

    def model(part: IntArray | None) -> Any:
        return predictor(machine, labels, scores if part is None else scores[part])

    return model


def predictor(machine: Machine, labels: Any, scores: FloatArray) -> Any:
    """The machine as if it were fitted, for the rows whose scores (rows, tasks) are given."""
    model = copy.copy(machine)
    if is_regressor(model):

        def predict(X: Any) -> FloatArray:  # scikit-learn's scorers want to know its name
            return scores[:, 0] if scores.shape[1] == 1 else scores

        model.predict = predict
    else:
        model._write_scheme(labels, labels.scheme)
        model._task_scores = lambda X: scores
    return model


def _columns(values: Array) -> Array:
    """Outputs, one by one."""
    return values.reshape(len(values), -1).T


def _r2(y: FloatArray, predicted: FloatArray, weight: FloatArray | None, share: FloatArray) -> tuple[float, FloatArray]:
    """(R^2 of one output, what every row adds to it)."""
    square, spread = np.square(y - predicted), np.square(y - np.average(y, weights=weight))
    variance, error = float(np.average(spread, weights=weight)), float(np.average(square, weights=weight))
    if variance == 0:
        return float(error == 0), -share * square
    return 1.0 - error / variance, -share * square / variance


class Scorer:
    """The score of a fold, larger is better, and scores of parts of it.

    ``scoring=None`` is the machine's own ``score``: the share of rows that are right, or R^2.
    """

    def __init__(self, machine: Machine, scoring: Any):
        if isinstance(scoring, (list, tuple, set, dict)):
            raise ValueError(f"scoring must be one scorer, its name, or None; got {scoring!r}")
        self.plain = scoring is None or (isinstance(scoring, str) and scoring in ("accuracy", "r2"))
        self.plain &= scoring != ("accuracy" if is_regressor(machine) else "r2")
        self.regression = is_regressor(machine)
        self.function = check_scoring(machine, scoring)
        #: Whether all that is asked of a model is its predictions for the held-out rows; a function may ask for more.
        self.knows_rows = self.plain or isinstance(self.function, _BaseScorer)

    def __call__(self, held: Held, wants_parts: bool) -> tuple[float, FloatArray]:
        """(score, scores of its parts if they are wanted); no parts where they have no score of their own."""
        if not self.plain:
            return self._ask(held, None), self._parts(held) if wants_parts else np.empty(0)
        predicted, weight = held.model(None).predict(held.rows() if held.needs_rows else None), held.weight
        share = np.ones(len(held.y)) if weight is None else weight / weight.mean()
        if not self.regression:
            right = (predicted == held.y).astype(np.float64)
            return float(np.average(right, weights=weight)), share * right
        if len(held.y) < 2:
            raise ValueError("R^2 of a fold with one row means nothing; give scoring='neg_mean_squared_error'")
        outputs = zip(_columns(held.y), _columns(predicted), strict=True)
        found = [_r2(y, f, weight, share) for y, f in outputs]
        return float(np.mean([score for score, _ in found])), np.mean([parts for _, parts in found], axis=0)

    def _ask(self, held: Held, part: IntArray | None) -> float:
        rows, y, weight = held.rows(), held.y, held.weight
        if part is not None:
            rows, y, weight = _safe_indexing(rows, part), y[part], None if weight is None else weight[part]
        if weight is None:
            return float(self.function(held.model(part), rows, y))
        try:
            return float(self.function(held.model(part), rows, y, sample_weight=weight))
        except TypeError as error:
            raise TypeError(
                f"with sample_weight the scorer is asked for a weighted score, and failed: {error}; give a scorer that "
                "takes sample_weight"
            ) from error

    def _parts(self, held: Held) -> FloatArray:
        order = np.argsort(held.y, kind="stable")  # every part gets its share of each class, or of each range
        try:
            return np.array([self._ask(held, order[k::PARTS]) for k in range(min(PARTS, len(order)))])
        except Exception:  # too few rows, or classes, for this score: nobody asked for it but the race
            return np.empty(0)
