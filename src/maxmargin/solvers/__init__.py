"""Solvers: outer loops in Python, one algorithm per file, each stopping when its watch says so."""

from __future__ import annotations

from typing import Any

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
from maxmargin.solvers._linear import LinearPoint, LinearSolution, untouched, weightless
from maxmargin.solvers.all_classes import AllClassesLinear, AllClassesPoint, AllClassesSolution
from maxmargin.solvers.all_classes_blocks import AllClassesBlocks
from maxmargin.solvers.decomposition import Decomposition
from maxmargin.solvers.dual_gradient import DualGradient
from maxmargin.solvers.folds import FOLDS, fold_numbers, left_out
from maxmargin.solvers.interior_point import InteriorPoint
from maxmargin.solvers.linear import LINEAR_NAMES, make_linear_solver, require_convex
from maxmargin.solvers.many import can_solve_many, solve_many
from maxmargin.solvers.softmax import SoftmaxNewton
from maxmargin.solvers.stored import StoredTasks
from maxmargin.solvers.together import FEW_ROWS, Tasks, Together, can_solve_together, has_room, solve_together

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
    "Decomposition",
    "DualGradient",
    "Gram",
    "InteriorPoint",
    "LinearPoint",
    "LinearSolution",
    "Record",
    "SoftmaxNewton",
    "Solution",
    "Status",
    "Stopped",
    "StoredTasks",
    "Tasks",
    "Together",
    "Watch",
    "aimed",
    "asked_to_stop",
    "can_solve_many",
    "can_solve_together",
    "eigenvalues",
    "fold_numbers",
    "has_room",
    "left_out",
    "make_linear_solver",
    "make_solver",
    "require_convex",
    "solve_many",
    "solve_together",
    "stops_when",
    "untouched",
    "weightless",
]

#: What a user may pass as ``solver``.
NAMES = ("auto", "decomposition", "dual-gradient", "interior-point")


def make_solver(name: str, backend: Backend) -> Any:
    """The solver called ``name``; 'auto' is decomposition."""
    if name == "dual-gradient":
        return DualGradient()
    if name == "interior-point":
        return InteriorPoint()
    return Decomposition(backend)
