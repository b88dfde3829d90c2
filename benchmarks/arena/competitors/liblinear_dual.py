"""LIBLINEAR's coordinate descent in the dual; it ends after 300 rounds (the squared hinge goes on in the primal)."""

from __future__ import annotations

from typing import Any

from benchmarks.arena import linear
from benchmarks.arena.competitors import _common
from benchmarks.arena.competitors._liblinear import Machine, available, cast, note

__all__ = ["NAME", "TASKS", "available", "cannot", "cast", "make", "note"]

NAME = "liblinear-dual"
TASKS = linear.TASKS
SOLVER = {"linear-hinge": 3, "linear-squared-hinge": 1}


def make(task: str, params: dict[str, Any], tol: float | None) -> Machine:
    """An unfitted machine; `tol` is the largest violation of the dual's conditions."""
    return Machine(SOLVER[task], params["C"], tol)


def cannot(task: str, params: dict[str, Any]) -> str | None:
    """It has no free intercept."""
    return _common.PENALISED if params["fit_intercept"] else None
