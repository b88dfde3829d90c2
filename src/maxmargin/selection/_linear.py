"""Linear machines: the rows of a fold are laid out once, costs are solved in growing order from the solution before."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.extmath import safe_sparse_dot

from maxmargin._types import FloatArray, RowData
from maxmargin.backends import Design, backend_for
from maxmargin.certificates import worst
from maxmargin.estimators import LinearClassifier, LinearRegressor, LinearSVC, LinearSVR
from maxmargin.estimators.interface import Machine, Training, fitted_scaling, judged_tasks, scaled, seed_of
from maxmargin.multiclass import SINGLE
from maxmargin.problems import relative
from maxmargin.selection._trainer import Line, SearchInput, Trained, Trainer
from maxmargin.solvers import LinearPoint, LinearSolution, Watch, make_linear_solver, stretched

#: Machines whose tasks are solved one by one by the linear solvers.
MACHINES = (LinearSVC, LinearSVR, LinearClassifier, LinearRegressor)
#: Most bytes of loose solutions that are kept.
KEPT_BYTES = 2**27


def can_share_rows(machine: Machine, strengths: list[float]) -> bool:
    """Whether the machine is linear, with plain two-class or real-valued tasks."""
    if type(machine) not in MACHINES or not np.isfinite(strengths).all():
        return False
    return not is_classifier(machine) or (machine._wanted_calibration is None and machine._multiclass not in SINGLE)


@dataclass
class _FoldRows:
    """The rows of a fold, as the machine's problems see them, and the last solutions."""

    data: Training
    scaling: Any
    design: Design
    held: RowData
    points: list[LinearPoint] = field(default_factory=list)


class LinearTrainer(Trainer):
    """Lines of a linear machine."""

    method = "rows laid out once per fold"

    def __init__(self, machine: Machine, strength: str, data: SearchInput):
        self.machine, self.strength, self.data = machine, strength, data
        self.at_once = len(data.folds)
        self._rows: dict[int, _FoldRows] = {}
        self.points: dict[tuple[str, float, int], list[LinearPoint]] = {}  # loose solutions, where the tight ones start
        self._kept = 0

    def keep(self, place: tuple[str, float, int], points: list[LinearPoint]) -> None:
        """Remember solutions while they are few or small."""
        self._kept += sum(point.w.nbytes + point.beta.nbytes for point in points)
        if self._kept <= KEPT_BYTES:
            self.points[place] = points

    def line(self, params, folds):
        machine = copy.copy(self.machine).set_params(**params)
        return _LinearLine(self, machine, repr(params), {fold: self._fold_rows(fold, machine) for fold in folds})

    def _fold_rows(self, fold: int, machine: Machine) -> _FoldRows:
        """What the folds' fits share; a line begins without solutions."""
        data = self.data
        train, held = data.folds[fold]
        train = np.sort(train)
        described = machine._described(data.training(train))
        known = self._rows.get(fold)
        if known is None or len(known.data.kept) != len(described.kept) or (known.scaling is None) == machine.scale:
            rows = described.X_kept
            scaling = fitted_scaling(rows, described.weight) if machine.scale else None
            design = backend_for("cpu").design(scaled(rows, scaling), 1)
            known = _FoldRows(described, scaling, design, scaled(data.X[held], scaling))
        self._rows[fold] = _FoldRows(described, known.scaling, known.design, known.held)
        return self._rows[fold]


class _LinearLine(Line):
    def __init__(self, trainer: LinearTrainer, machine: Machine, number: str, rows: dict[int, _FoldRows]):
        self.trainer, self.machine, self.number, self.rows = trainer, machine, number, rows

    def train(self, fold, strength, gap):
        began, own = time.perf_counter(), self.rows[fold]
        machine = copy.copy(self.machine).set_params(**{self.trainer.strength: strength})
        problems, where = machine._problems(own.data, machine._cost(own.data))
        known = self.trainer.points.pop((self.number, strength, fold), own.points)
        goal = machine.tol if gap is None else gap
        solutions = self._solved(machine, own.design, problems, where, known, goal)
        own.points = points = [solution.point for solution in solutions]
        if gap is None:
            certificates = judged_tasks(own.data.X_kept, problems, where, solutions, own.scaling)
            proven = float("nan") if certificates is None else float(worst(certificates).relative_gap)
        else:
            self.trainer.keep((self.number, strength, fold), points)
            last = [solution.history[-1] for solution in solutions]
            proven = max(relative(record.gap, record.primal, record.dual) for record in last)
        W = np.array([point.w for point in points])
        scores: FloatArray = np.asarray(safe_sparse_dot(own.held, W.T)) + [point.intercept for point in points]
        seconds = time.perf_counter() - began
        return Trained(self.trainer.data.held_out(fold, machine, own.data.extra, scores), proven, seconds)

    def _solved(self, machine, design: Design, problems, where, known, goal: float) -> list[LinearSolution]:
        """All tasks, from the points ``known`` if there are any."""
        backend, seed, found = backend_for("cpu"), seed_of(machine), []
        for number, (problem, rows) in enumerate(zip(problems, where, strict=True)):
            part = design if rows is None else design.take(rows)
            start = stretched(problem, part, known[number]) if known else None
            watch = Watch(0.0, goal, machine.max_iter)
            solver = make_linear_solver(machine.solver, problem, part, backend, seed)
            found.append(solver.solve(problem, part, start, watch))
        return found
