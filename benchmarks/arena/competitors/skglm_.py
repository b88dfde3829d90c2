"""skglm: coordinate descent in the dual with working sets and Anderson acceleration, one thread; hinge loss only."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.arena.competitors import _common

NAME = "skglm"
TASKS = ("linear-hinge",)
MOST_SETS = 1_000_000


def available() -> str | None:
    """Whether the package can be imported."""
    return _common.absent("skglm")


def make(task: str, params: dict[str, Any], tol: float | None) -> Any:
    """An unfitted estimator; `tol` is the largest violation of the dual's conditions."""
    from skglm import LinearSVC

    about = _common.linear_params(task, params, tol)
    del about["loss"]
    return LinearSVC(**about, max_iter=MOST_SETS)


def cast(X: Any, task: str) -> Any:
    """float64, the layout as it comes."""
    return _common.sparse_or_dense(X, np.float64)


def cannot(task: str, params: dict[str, Any]) -> str | None:
    """It takes fit_intercept, and leaves the intercept out all the same."""
    return "has no intercept" if params["fit_intercept"] else None


def note(model: Any) -> str:
    """How many working sets it made."""
    return f"{model.n_iter_} working sets"
