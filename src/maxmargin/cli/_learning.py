"""Would more data help? The same machine, trained on parts of the training rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from maxmargin.cli._models import machine_in
from maxmargin.report import Learning

#: Parts of the training rows, and the most rows of which the fits are made.
PARTS, MOST_ROWS = (0.1, 0.2, 0.4, 0.7), 20_000


def learning_of(
    model: Pipeline,
    rows: tuple[Any, Any],
    answers: tuple[np.ndarray, np.ndarray],
    metric: tuple[str, Callable[[np.ndarray, np.ndarray], float]],
    seed: int,
    deadline: float | None,
) -> Learning | None:
    """Scores on the held-out rows of pipelines that learn from more and more rows; None where that would take long."""
    (X, X_test), (y, y_test) = rows, answers
    name, score = metric
    if len(y) > MOST_ROWS:
        return None
    order, last = np.random.default_rng(seed).permutation(len(y)), machine_in(model[-1])
    sizes, scores = [], []
    for part in PARTS:
        chosen = np.sort(order[: int(part * len(y))])
        if len(chosen) < 10 or (hasattr(last, "classes_") and len(np.unique(y[chosen])) < len(last.classes_)):
            continue
        if deadline is not None and time.perf_counter() >= deadline:
            return None
        again = clone(model)
        quicker = {"certify": False, **({"calibration": None} if "calibration" in last.get_params() else {})}
        inside = again[-1] if type(again[-1]) is type(last) else again[-1].estimator
        inside.set_params(**quicker)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again.fit(X[chosen], y[chosen])
            scores.append(float(score(y_test, again.predict(X_test))))
        sizes.append(len(chosen))
    return Learning(name, [*sizes, len(y)], [*scores, float(score(y_test, model.predict(X_test)))])
