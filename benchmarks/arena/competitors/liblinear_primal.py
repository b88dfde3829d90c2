"""LIBLINEAR's Newton method in the primal, for the squared hinge; its intercept can be free."""

from __future__ import annotations

from typing import Any

from benchmarks.arena.competitors._liblinear import Machine, available, cast, note

__all__ = ["NAME", "TASKS", "available", "cast", "make", "note"]

NAME = "liblinear-primal"
TASKS = ("linear-squared-hinge",)
SOLVER = 2


def make(task: str, params: dict[str, Any], tol: float | None) -> Machine:
    """An unfitted machine; `tol` is the norm of the gradient over that at 0, times the share of the smaller class."""
    return Machine(SOLVER, params["C"], tol, free=params["fit_intercept"])
