"""maxmargin itself, with its defaults; its own certificate is part of its fit time."""

from __future__ import annotations

from typing import Any

import numpy as np

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
    """float64, the layout as it comes."""
    return X.astype(np.float64)


def note(model: Any) -> str:
    """Nothing to say."""
    return ""
