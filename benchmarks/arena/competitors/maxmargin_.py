"""maxmargin itself, with its defaults; its own certificate is part of its fit time.

Linear machines have no limit of steps, as all competitors there: `tol` decides.
"""

from __future__ import annotations

from typing import Any

from benchmarks.arena import linear
from benchmarks.arena.competitors import _common

NAME = "maxmargin"
TASKS = ("svc", "nusvc", "svr", "oneclass", *linear.TASKS)


def available() -> str | None:
    """Whether the package can be imported."""
    return _common.absent("maxmargin")


def make(task: str, params: dict[str, Any], tol: float | None) -> Any:
    """An unfitted estimator."""
    if linear.is_linear(task):
        from maxmargin import LinearSVC

        return LinearSVC(**_common.linear_params(task, params, tol), max_iter=-1)
    return _common.build("maxmargin", task, params, tol)


def cast(X: Any, task: str) -> Any:
    """The rows as they come: float32, dense or sparse."""
    return X


def note(model: Any) -> str:
    """Nothing to say."""
    return ""
