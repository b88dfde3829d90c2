"""Snap ML (IBM): coordinate descent in the dual, rows in float32; one thread, its default: two were no faster here."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.arena import linear
from benchmarks.arena.competitors import _common

NAME = "snapml"
TASKS = linear.TASKS
MOST_ROUNDS = 10_000_000


def available() -> str | None:
    """Whether the package can be imported."""
    return _common.absent("snapml")


def make(task: str, params: dict[str, Any], tol: float | None) -> Any:
    """An unfitted estimator; `tol` is the largest change of a weight, and regularizer = 1 / C."""
    from snapml import SupportVectorMachine

    about = _common.linear_params(task, params, tol)
    regularizer = 1.0 / about.pop("C")
    return SupportVectorMachine(**about, regularizer=regularizer, max_iter=MOST_ROUNDS, random_state=0)


def cast(X: Any, task: str) -> Any:
    """float32, the layout as it comes."""
    return _common.sparse_or_dense(X, np.float32)


def cannot(task: str, params: dict[str, Any]) -> str | None:
    """Its intercept is the weight of a constant feature."""
    return _common.PENALISED if params["fit_intercept"] else None


def note(model: Any) -> str:
    """Nothing to say."""
    return ""
