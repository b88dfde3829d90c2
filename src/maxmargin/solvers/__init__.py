"""Solvers: outer loops in Python, one algorithm per file, each stopping when its watch says so."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from maxmargin._stop import Stopped, asked_to_stop, stops_when
from maxmargin.backends import Backend
from maxmargin.solvers._base import (
    AIM,
    Gram,
    Record,
    Solution,
    Status,
    Watch,
    aimed,
)
from maxmargin.solvers._dense import eigenvalues
from maxmargin.solvers._linear import LinearPoint, LinearSolution, stretched, untouched, weightless
from maxmargin.solvers._plan import Plan, plan
from maxmargin.solvers.decomposition import Decomposition
from maxmargin.solvers.folds import FOLDS, fold_numbers, left_out
from maxmargin.solvers.in_step import can_advance_in_step, solve_in_step
from maxmargin.solvers.many import can_solve_many, solve_many
from maxmargin.solvers.together import FEW_ROWS, Tasks, Together, can_solve_together, has_room, solve_together

if TYPE_CHECKING:
    from maxmargin.solvers._precision import Subproblem
    from maxmargin.solvers._smoothing import RowLosses, SmoothPenalty, smooth_rows
    from maxmargin.solvers.all_classes import AllClassesLinear, AllClassesPoint, AllClassesSolution
    from maxmargin.solvers.all_classes_blocks import AllClassesBlocks
    from maxmargin.solvers.blocks import Blocks, working_set
    from maxmargin.solvers.dual_gradient import DualGradient
    from maxmargin.solvers.interior_point import InteriorPoint
    from maxmargin.solvers.linear import LINEAR_NAMES, make_linear_solver, require_convex
    from maxmargin.solvers.softmax import SoftmaxNewton
    from maxmargin.solvers.stored import StoredTasks

#: Solvers that few fits need, and where they are: imported when first used.
_HOMES = {
    "AllClassesLinear": "all_classes",
    "AllClassesPoint": "all_classes",
    "AllClassesSolution": "all_classes",
    "AllClassesBlocks": "all_classes_blocks",
    "DualGradient": "dual_gradient",
    "InteriorPoint": "interior_point",
    "LINEAR_NAMES": "linear",
    "make_linear_solver": "linear",
    "require_convex": "linear",
    "SoftmaxNewton": "softmax",
    "StoredTasks": "stored",
    "Blocks": "blocks",
    "Subproblem": "_precision",
    "working_set": "blocks",
    "RowLosses": "_smoothing",
    "SmoothPenalty": "_smoothing",
    "smooth_rows": "_smoothing",
}

__all__ = [
    "AIM",
    "FEW_ROWS",
    "FOLDS",
    "LINEAR_NAMES",
    "NAMES",
    "AllClassesBlocks",
    "AllClassesLinear",
    "AllClassesPoint",
    "AllClassesSolution",
    "Blocks",
    "Decomposition",
    "DualGradient",
    "Gram",
    "InteriorPoint",
    "LinearPoint",
    "LinearSolution",
    "Plan",
    "Record",
    "RowLosses",
    "SmoothPenalty",
    "SoftmaxNewton",
    "Solution",
    "Status",
    "Stopped",
    "StoredTasks",
    "Subproblem",
    "Tasks",
    "Together",
    "Watch",
    "aimed",
    "asked_to_stop",
    "can_advance_in_step",
    "can_solve_many",
    "can_solve_together",
    "eigenvalues",
    "fold_numbers",
    "has_room",
    "left_out",
    "make_linear_solver",
    "make_solver",
    "plan",
    "require_convex",
    "smooth_rows",
    "solve_in_step",
    "solve_many",
    "solve_together",
    "stops_when",
    "stretched",
    "untouched",
    "weightless",
    "working_set",
]

#: What a user may pass as ``solver``.
NAMES = ("auto", "decomposition", "dual-gradient", "interior-point")


def make_solver(name: str, backend: Backend) -> Any:
    """The solver called ``name``; 'auto' is decomposition."""
    if name == "dual-gradient":
        from maxmargin.solvers.dual_gradient import DualGradient

        return DualGradient()
    if name == "interior-point":
        from maxmargin.solvers.interior_point import InteriorPoint

        return InteriorPoint()
    return Decomposition(backend)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"maxmargin.solvers.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'maxmargin.solvers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
