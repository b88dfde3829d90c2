"""maxmargin itself, with its defaults; its own certificate is part of its fit time."""

from __future__ import annotations

from typing import Any

from benchmarks.arena.competitors import _common

NAME = "maxmargin"
TASKS = ("svc", "nusvc", "svr", "oneclass")


def available() -> str | None:
    """Whether the package can be imported."""
    return _common.absent("maxmargin")


def make(task: str, params: dict[str, Any], tol: float | None) -> Any:
    """An unfitted estimator."""
    return _common.build("maxmargin", task, params, tol)


def cast(X: Any) -> Any:
    """The rows as they come: float32, dense or sparse."""
    return X


def note(model: Any) -> str:
    """Nothing to say."""
    return ""
