"""Kernel machines whose whole matrix fits into memory: distances once, one matrix per kernel, folds and costs on it."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin._validation import cache_bytes
from maxmargin.backends import WholeMatrix, backend_for
from maxmargin.estimators import SVC, SVR
from maxmargin.estimators.interface import Machine, Training, fitted_scaling, scaled
from maxmargin.multiclass import SINGLE
from maxmargin.problems import DualQP
from maxmargin.selection._trainer import FitTrainer, Line, SearchInput, Trained, Trainer
from maxmargin.solvers import StoredTasks

#: Parameters that change the matrix, or the bounds in proportion, and nothing else.
OF_THE_KERNEL = ("kernel", "gamma", "degree", "coef0", "C")
#: Finalists end at this relative gap; with a tol below the default, at less.
TIGHT = 1e-4


def can_store(machine: Machine, strengths: list[float], data: SearchInput) -> bool:
    """Whether the machine's problems differ by their cost alone, and the matrix may be stored."""
    n, classes = len(data.kept), data.classes(machine)
    known = isinstance(machine, (SVC, SVR)) and type(machine)._problems in (SVC._problems, SVR._problems)
    if not (known and machine.fit_intercept and np.isfinite(strengths).all()):
        return False
    plain = machine.solver in ("auto", "decomposition") and machine.gap_tol is None and machine.max_iter < 0
    if is_classifier(machine):
        plain &= machine._wanted_calibration is None and machine._multiclass not in SINGLE
        plain &= machine.approximation is None
    return plain and WholeMatrix.fits(n, cache_bytes(machine.cache_size) - _copies(machine, n, classes))


def _copies(machine: Machine, n: int, classes: int) -> int:
    """Bytes of kernel values that are copied: for pairs of classes, the lines of held-out rows."""
    return 4 * n**2 if classes > 2 and machine._multiclass == "ovo" else 0


@dataclass
class _FoldTasks:
    """The tasks of one fold at unit cost, on the rows of the matrix."""

    labels: Any
    qps: list[DualQP]
    rows: list[IntArray]
    held: IntArray  # rows of the matrix
    source: IntArray | None  # for pairs of classes: where in the solution (from 1 on) a value of the table stands


class StoredTrainer(Trainer):
    """Folds as masks over one matrix; with ``scale`` every fold has a matrix of its own, of rows scaled by its own."""

    method = "one stored matrix per kernel"

    def __init__(self, machine: Machine, data: SearchInput, threads: int, scale: bool):
        self.machine, self.data, self.threads, self.scale = machine, data, threads, scale
        self.backend = backend_for(machine.device)
        self.memory = cache_bytes(machine.cache_size) - _copies(machine, len(data.kept), data.classes(machine))
        self.order = data.kept
        if is_classifier(machine):  # rows of a class next to each other are quicker to copy
            self.order = data.kept[np.argsort(data.y[data.kept], kind="stable")]
        n = len(self.order)
        self.place = np.full(len(data.y), -1, dtype=np.intp)
        self.place[self.order] = np.arange(n)
        self.at_once = max(1, min(threads, self.memory // (4 * n**2))) if scale else len(data.folds)
        self._matrices: dict[int, WholeMatrix] = {}
        self._tasks: dict[tuple[Any, ...], _FoldTasks] = {}

    def line(self, params, folds):
        machine = copy.copy(self.machine).set_params(**params, C=1.0)
        if self.scale:
            stored = {fold: self._values(machine, self._matrix(fold, folds)) for fold in folds}
        else:
            stored = dict.fromkeys(folds, self._values(machine, self._matrix(None, folds)))
        key = tuple(sorted((k, repr(v), id(v)) for k, v in params.items() if k not in OF_THE_KERNEL))
        tasks = {fold: self._fold_tasks(fold, machine, key) for fold in folds}
        return _StoredLine(self, machine, params, stored, tasks)

    def _values(self, machine: Machine, matrix: WholeMatrix) -> tuple[Array, FloatArray]:
        """The matrix of the machine's kernel; a width that is left to the data is that of all rows."""
        rows, n = self.order, len(self.order)
        data = Training(matrix.X, self.data.y[rows], self.data.weight[rows], np.arange(n), n)
        return matrix.values(machine._resolve_kernel(data), balanced=True)

    def _matrix(self, fold: int | None, folds: list[int]) -> WholeMatrix:
        """The matrix of all rows, or of a fold's scaled ones; only those of ``folds`` are kept."""
        number = -1 if fold is None else fold
        if number not in self._matrices:
            for other in [k for k in self._matrices if k not in folds]:
                del self._matrices[other]
            X = self.data.X
            if fold is not None:
                train = self.data.folds[fold].train
                X = scaled(X, fitted_scaling(X[train], self.data.weight[train]))
            rows = X[np.ix_(self.order, self.order)] if self.machine._precomputed else _safe_indexing(X, self.order)
            memory = self.memory // (self.at_once if self.scale else 1)
            self._matrices[number] = WholeMatrix(self.backend, rows, memory, self.threads)
        return self._matrices[number]

    def _fold_tasks(self, fold: int, machine: Machine, key: tuple[Any, ...]) -> _FoldTasks:
        if (fold, *key) not in self._tasks:
            train, data = np.sort(self.data.folds[fold].train), self.data
            train = train[np.argsort(self.place[train], kind="stable")]
            training = data.training(train)
            training = training._replace(extra=machine._describe(training))
            problems = [(self.place[rows], problem.qp) for rows, problem in machine._problems(training, None)]
            self._tasks[(fold, *key)] = self._laid_out(training, problems, self.place[data.folds[fold].held])
        return self._tasks[(fold, *key)]

    def _laid_out(self, data: Training, problems: list[tuple[IntArray, DualQP]], held: IntArray) -> _FoldTasks:
        """Tasks spread over all rows, or over those of their two classes: rows held out have a place and a score."""
        n, train = len(self.order), self.place[data.kept]
        if all(len(rows) == len(train) for rows, _ in problems):
            spread = [_spread(qp, rows, n) for rows, qp in problems]
            return _FoldTasks(data.extra, spread, [np.arange(n)] * len(spread), held, None)
        own = self._ranges(data.extra.classes)
        homes = [np.concatenate([np.arange(*own[k]) for k in sorted(pair)]) for pair in _pairs(data)]
        places = [_places(rows, home) for (rows, _), home in zip(problems, homes, strict=True)]
        spread = [
            _spread(problem, at, len(home)) for (_, problem), at, home in zip(problems, places, homes, strict=True)
        ]
        begins = np.cumsum([0, *map(len, homes)])
        numbers = [1.0 + begin + at for begin, at in zip(begins, places, strict=False)]
        table = data.extra.scheme.pack(numbers, data.extra.label)
        source = np.zeros((len(table), n), dtype=np.intp)
        source[:, train] = table.astype(np.intp)
        return _FoldTasks(data.extra, spread, homes, held, source)

    def _ranges(self, classes: Array) -> list[tuple[int, int]]:
        """Where the rows of each class begin and end."""
        y = self.data.y[self.order]
        ends = np.searchsorted(y, classes), np.searchsorted(y, classes, side="right")
        return [(int(a), int(b)) for a, b in zip(*ends, strict=True)]


class _StoredLine(Line):
    def __init__(self, trainer: StoredTrainer, machine: Machine, params: dict[str, Any], stored: Any, tasks: Any):
        self.trainer, self.machine, self.params = trainer, machine, params
        self.stored: dict[int, tuple[Array, FloatArray]] = stored
        self.tasks: dict[int, _FoldTasks] = tasks
        self.solved = {fold: StoredTasks(own.qps, own.rows) for fold, own in self.tasks.items()}
        self.held_lines: dict[int, Array] = {}

    def train(self, fold, strength, gap):
        began = time.perf_counter()
        K, diagonal = self.stored[fold]
        own, tasks = self.tasks[fold], self.solved[fold]
        goal = min(TIGHT, 0.1 * self.machine.tol) if gap is None else gap
        solutions = tasks.solve(self.trainer.backend, K, diagonal, strength, goal)
        if not solutions.reached:  # few problems are so hard: the machine itself has more means
            alone = FitTrainer(self.trainer.machine, "C", self.trainer.data, 1, self.trainer.scale)
            return alone.line(self.params, [fold]).train(fold, strength, gap)
        scores = self._scores(fold, K, own, tasks) + solutions.intercept
        seconds = time.perf_counter() - began
        held = self.trainer.data.held_out(fold, self.machine, own.labels, scores)
        return Trained(held, solutions.relative_gap, seconds)

    def _scores(self, fold: int, K: Array, own: _FoldTasks, tasks: StoredTasks) -> FloatArray:
        """(held, tasks) scores without intercepts."""
        if own.source is None:
            return tasks.f.reshape(len(tasks), -1)[:, own.held].T
        if fold not in self.held_lines:
            self.held_lines[fold] = K[own.held]
        lines = self.held_lines[fold]
        table = np.concatenate([[0.0], tasks.beta]).astype(np.float32)[own.source]
        ranges = self.trainer._ranges(own.labels.classes)
        sums = [(table[:, a:b] @ lines[:, a:b].T).T for a, b in ranges]  # so that a task's scores are neighbours
        return own.labels.scheme.from_tables(sums).astype(np.float64)


def _spread(qp: DualQP, rows: IntArray, n: int) -> DualQP:
    """The same programme on n rows, of which the others may not move."""
    linear, lower, upper = np.zeros((3, n))
    linear[rows], lower[rows], upper[rows] = qp.linear, qp.lower, qp.upper
    return DualQP(linear, lower, upper, epsilon=qp.epsilon)


def _pairs(data: Training) -> list[tuple[int, int]]:
    """The classes of every task that has two."""
    return [task.classes for task in data.extra.scheme.tasks(data.extra.label)]


def _places(rows: IntArray, home: IntArray) -> IntArray:
    """Where ``rows`` stand in ``home``, which is ascending."""
    return np.searchsorted(home, rows)
