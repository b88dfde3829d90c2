"""scikit-learn-intelex in float32: about twice as fast as in float64, at a higher floor of the gap."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.arena.competitors._sklearnex import TASKS, available, make, note

__all__ = ["NAME", "TASKS", "available", "cast", "make", "note"]

NAME = "sklearnex-f32"


def cast(X: Any, task: str) -> Any:
    """float32, the layout as it comes: it is faster on CSR where most values are 0."""
    return X.astype(np.float32)
