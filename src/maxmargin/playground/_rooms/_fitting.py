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
    """The certificate of a model, if it has one."""
    certificate = getattr(model, "certificate_", None)
    if certificate is None:
        return None
    names = ("primal", "dual", "gap", "relative_gap", "kkt", "feasible", "holds", "reason")
    return {name: getattr(certificate, name) for name in names}


def grid(view: tuple[float, float, float, float], columns: int, rows: int) -> np.ndarray:
    """Centres of the cells of the view, from the top left, line by line: shape (rows * columns, 2)."""
    left, right, bottom, top = view
    x = left + (np.arange(columns) + 0.5) * (right - left) / columns
    y = top - (np.arange(rows) + 0.5) * (top - bottom) / rows
    return np.column_stack([np.tile(x, rows), np.repeat(y, columns)])
