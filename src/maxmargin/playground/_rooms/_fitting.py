"""Fitting within the time that a request has, and what a fit says of itself."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from maxmargin.playground._jobs import Job
from maxmargin.playground._rooms._expressions import Call


class Fitted(NamedTuple):
    """A fitted machine and how long it took."""

    model: Any
    milliseconds: float


class Stop:
    """A callback of scikit-learn's: ends a fit that nobody waits for any more."""

    def __init__(self, job: Job):
        self.job = job

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to tidy up."""

    def on_fit_task_begin(self, estimator: Any, context: Any, **facts: Any) -> None:
        """Nothing to do at the beginning of a task or a round."""

    def on_fit_task_end(self, estimator: Any, context: Any, **facts: Any) -> bool:
        """True ends the fit with what it has."""
        return self.job.must_stop()


def fit(call: Call, X: np.ndarray, y: np.ndarray | None, job: Job) -> Fitted:
    """The machine, fitted; when the time is over, with what it has."""
    model = call.make()
    model.set_params(time_limit=job.seconds_left)
    model.set_callbacks(Stop(job))
    began = time.perf_counter()
    model.fit(X) if y is None else model.fit(X, y)
    return Fitted(model, 1e3 * (time.perf_counter() - began))


def proof(model: Any) -> dict[str, Any] | None:
    """The certificate of a model, if it has one; of several machines together the sums of their objectives."""
    found = getattr(model, "certificates_", [getattr(model, "certificate_", None)])
    if found[0] is None:
        return None
    primal, dual, gap = (float(sum(getattr(one, name) for one in found)) for name in ("primal", "dual", "gap"))
    size = max(abs(primal), abs(dual))
    return {
        "primal": primal,
        "dual": dual,
        "gap": gap,
        "relative_gap": gap / size if 0 < size < np.inf else (0.0 if gap == 0 else np.inf),
        "kkt": max(one.kkt for one in found),
        "feasible": all(one.feasible for one in found),
        "holds": all(one.holds for one in found),
        "reason": next((one.reason for one in found if one.reason), ""),
        "machines": len(found),
    }


def grid(view: tuple[float, float, float, float], columns: int, rows: int) -> np.ndarray:
    """Centres of the cells of the view, from the top left, line by line: shape (rows * columns, 2)."""
    left, right, bottom, top = view
    x = left + (np.arange(columns) + 0.5) * (right - left) / columns
    y = top - (np.arange(rows) + 0.5) * (top - bottom) / rows
    return np.column_stack([np.tile(x, rows), np.repeat(y, columns)])
