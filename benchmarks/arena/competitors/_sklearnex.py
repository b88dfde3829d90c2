"""scikit-learn-intelex (oneDAL), in either precision."""

from __future__ import annotations

from typing import Any

from benchmarks.arena.competitors import _common

TASKS = ("svc", "nusvc", "svr")


def available() -> str | None:
    """Whether the package can be imported."""
    return _common.absent("sklearnex")


def make(task: str, params: dict[str, Any], tol: float | None) -> Any:
    """An unfitted estimator."""
    return _common.build("sklearnex.svm", task, params, tol)


def note(model: Any) -> str:
    """Tell a fit that was quietly handed back to scikit-learn."""
    return "" if hasattr(model, "_onedal_estimator") else "fell back to scikit-learn"
