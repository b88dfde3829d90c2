"""SVC on landmarks: w in the span of some rows, so that the problem is a linear one in Nystroem features.

The reduced problem goes to the solvers of linear models, with features that are stored where they fit into memory and
computed on the way where they do not. A model is published with both of its halves: coefficients of the landmarks, of
which its scores are made, and dual variables of the rows, of which its proof is made and at which the exact solver can
start.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin._rows import count
from maxmargin._stop import Stopped, stops_when
from maxmargin._types import FloatArray, IntArray
from maxmargin._validation import row_costs
from maxmargin.backends import Design, backend_for
from maxmargin.certificates import judge_approximation
from maxmargin.delivered import Basis, Delivered, FoldModels
from maxmargin.estimators._base import shape_of
from maxmargin.estimators._fit import ClassifierFamily, FoldFit
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._linear_run import linear_history, solve_linear
from maxmargin.estimators._machine import Training, seed_of
from maxmargin.estimators._options import FitOptions
from maxmargin.estimators._proof import Goal, warn_unless_reached
from maxmargin.estimators._turns import turns_in_time
from maxmargin.losses import Hinge
from maxmargin.maps import MappedDesign, NystroemMap
from maxmargin.multiclass import SINGLE
from maxmargin.penalties import resolve_penalty
from maxmargin.problems import LinearProblem, SVCProblem
from maxmargin.solvers import LinearPoint, LinearSolution

if TYPE_CHECKING:
    from maxmargin.estimators._classifiers import SVC

#: Bytes of features that are stored; more are computed whenever they are needed.
STORED_BYTES = 2**31


class _Tasks(NamedTuple):
    """Two-class problems, each on all rows that count (None) or on some of them."""

    problems: list[LinearProblem]
    where: list[IntArray | None]


class Landmarks(ClassifierFamily[LinearSolution]):
    """Tasks of a classifier on landmarks, linear in their features."""

    def __init__(self, machine: SVC, data: Training):
        _require(machine)
        self.machine, self.data = machine, data
        self.kernel, self.rows = machine._resolve_kernel(data), machine._counted_rows(data)
        self.map = NystroemMap(
            self.kernel,
            gamma=1.0,
            n_components=min(machine.n_components, len(data.kept)),
            random_state=seed_of(machine),
            n_jobs=machine.n_jobs,
        ).fit(self.rows, sample_weight=data.weight)
        self.gap = machine.tol if machine.gap_tol is None else machine.gap_tol
        self.options = replace(FitOptions.of(machine), tol=self.gap, solver="auto", random_state=seed_of(machine))

    def goal(self):
        return Goal(np.inf, self.gap)

    @property
    def proof_decides(self):
        return self.machine.certify != "full"  # the goal is the reduced problem's, the full certificate is not

    def solve(self, reporter):
        machine, data, deadline = self.machine, self.data, self.machine._solving_ends(self.data)
        with InterruptFlag() as interrupted, stops_when(lambda: interrupted() or time.perf_counter() >= deadline):
            try:
                self.design = self._features()
            except Stopped:  # not even the features were there in time: nothing can be learned from none
                empty = sp.csr_array((len(data.kept), self.map.factor_.shape[1]))
                self.design, deadline = backend_for("cpu").design(empty, self._threads), 0.0
        tasks = _tasks(machine, data)
        starts = _starts(machine, data, self.design, tasks)
        return solve_linear(self.options, self.design, *tasks, starts, deadline, reporter)

    @property
    def _threads(self) -> int:
        return self.options.threads

    def _features(self) -> Design:
        """Features of the rows that count, stored where they fit into memory."""
        rows = self.rows
        n = count(rows)
        size = getattr(rows, "dtype", np.dtype(np.float64)).itemsize
        stored = self.machine._precomputed or isinstance(rows, list)
        if stored or n * self.map.factor_.shape[1] * size <= STORED_BYTES:
            return backend_for("cpu").design(self.map.transform(rows), self._threads)
        return MappedDesign(self.map, rows, self._threads)

    def prove(self, solutions):
        machine, data = self.machine, self.data
        labels, cost = data.extra, row_costs(machine.C, data.extra.weights(data))
        delivered = []
        tasks = zip(labels.scheme.tasks(labels.label), solutions, self._dual_variables(solutions), strict=True)
        for task, solution, beta in tasks:
            problem = SVCProblem(task.sign, cost[task.rows], machine.fit_intercept)
            delivered.append(Delivered(data.kept[task.rows], problem, beta, solution.point.intercept))
        factor = None if machine.certify == "full" else self.map.factor_
        landmarks, coef = data.kept[self.map.component_indices_], self._coefficients(solutions)
        return judge_approximation(self.kernel, data.X, delivered, landmarks, coef, factor)

    def write(self, draft, solutions, certificates, reached):
        data, labels = self.data, self.data.extra
        draft.kernel_, draft.history_ = self.kernel, linear_history(solutions)
        draft.fit_status_ = int(not reached)
        draft.shape_fit_ = shape_of(data)
        table = labels.scheme.pack(self._dual_variables(solutions), labels.label)
        draft._write_table(data, table, np.array([solution.point.intercept for solution in solutions]))
        draft.n_iter_ = np.array([solution.n_iter for solution in solutions], dtype=np.int64)
        draft.landmarks_ = data.kept[self.map.component_indices_].astype(np.int32)
        draft.landmark_vectors_ = draft._basis(data, draft.landmarks_).vectors
        draft.landmark_coef_ = self._coefficients(solutions)

    def scores(self, draft, solutions):
        return np.column_stack([self.design.scores(s.point.w) + s.point.intercept for s in solutions])

    def folds(self, draft, solutions, number):
        """The problem without the rows of each fold in turn, on the same landmarks."""
        machine, data, fits = self.machine, self.data, []
        known = np.zeros((len(solutions), len(number)))
        scheme_tasks = data.extra.scheme.tasks(data.extra.label)
        for line, task, beta in zip(known, scheme_tasks, self._dual_variables(solutions), strict=True):
            line[task.rows] = beta
        count = int(number.max(initial=-1)) + 1
        for fold, due in turns_in_time(count, data.deadline(machine.time_limit)):
            held = number == fold
            tasks = _tasks(machine, data, held)
            starts = [_start(self.design, tasks, k, beta, solutions[k].point.intercept) for k, beta in enumerate(known)]
            own = solve_linear(self.options, self.design, *tasks, starts, due)
            warn_unless_reached(own)
            intercept = [solution.point.intercept for solution in own]
            fits.append(FoldFit(self._coefficients(own), intercept, self.scores(draft, own)[held]))
        return fits

    def _coefficients(self, solutions: list[LinearSolution]) -> FloatArray:
        """(tasks, landmarks)."""
        return np.ascontiguousarray(self.map.expansion(np.column_stack([s.point.w for s in solutions])).T)

    def _dual_variables(self, solutions: list[LinearSolution]) -> list[FloatArray]:
        """Those of every task on its own rows, 0 for rows that cost nothing."""
        labels, cost = self.data.extra, self.data.extra.weights(self.data)
        spread: list[FloatArray] = []
        for task, solution in zip(labels.scheme.tasks(labels.label), solutions, strict=True):
            beta = np.zeros(len(task.rows))
            beta[cost[task.rows] > 0] = solution.point.beta
            spread.append(beta)
        return spread


def _require(estimator: SVC) -> None:
    """Refuse what the reduced problem does not have."""
    what = f"approximation={estimator.approximation!r}"
    if np.isinf(estimator.C):
        raise ValueError(f"{what} takes a finite C, got C={estimator.C!r}; the hard margin is the exact machine's")
    if estimator._multiclass in SINGLE:
        raise ValueError(
            f"{what} is for two-class tasks, got multiclass={estimator._multiclass!r}; use 'ovo', 'ovr' or 'code', or "
            f"LinearSVC(multiclass={estimator._multiclass!r}) behind a NystroemMap"
        )
    if estimator.solver != "auto":
        raise ValueError(f"{what} has solvers of its own, got solver={estimator.solver!r}; use 'auto'")


def _tasks(estimator: SVC, data: Training, left_out: Any = None) -> _Tasks:
    """The tasks of the estimator's scheme, without the rows ``left_out`` (bool) and those that cost nothing."""
    labels = data.extra
    cost = row_costs(estimator.C, labels.weights(data))
    counts = cost > 0 if left_out is None else (cost > 0) & ~left_out
    loss, penalty, problems, where = Hinge(), resolve_penalty("l2"), [], []
    for task in labels.scheme.tasks(labels.label):
        own = counts[task.rows]
        rows = task.rows[own]
        problems.append(LinearProblem(loss, penalty, task.sign[own], cost[rows], estimator.fit_intercept))
        where.append(rows if len(rows) < len(cost) else None)
    return _Tasks(problems, where)


def _starts(estimator: SVC, data: Training, design: Design, tasks: _Tasks) -> list[LinearPoint | None]:
    """The last fit's dual variables, exact or not, where the data have the same shape and the classes are the same."""
    none: list[LinearPoint | None] = [None] * len(tasks.problems)
    same_shape = getattr(estimator, "shape_fit_", None) == getattr(data.X, "shape", (data.n,))
    if not (estimator.warm_start and hasattr(estimator, "support_") and same_shape):
        return none
    if not estimator._same_scheme(data.extra):
        return none
    scheme, label = data.extra.scheme, data.extra.label
    coefs = scheme.unpack(estimator._fitted_table(data)[:, data.kept], label)
    starts: list[LinearPoint | None] = []
    for k, (task, coef) in enumerate(zip(scheme.tasks(label), coefs, strict=True)):
        beta = np.zeros(len(label))
        beta[task.rows] = coef
        starts.append(_start(design, tasks, k, beta, float(estimator.intercept_[k])))
    return starts


def _start(design: Design, tasks: _Tasks, k: int, beta: FloatArray, intercept: float) -> LinearPoint:
    """A point with dual variables near ``beta`` (n,), and the w that goes with them."""
    problem, own = tasks.problems[k], tasks.where[k]
    feasible = problem.feasible(beta if own is None else beta[own])
    spread = np.zeros(len(beta))
    spread[slice(None) if own is None else own] = feasible
    return LinearPoint(design.combine(spread), intercept if problem.fit_intercept else 0.0, feasible)


def landmark_scores(estimator: SVC, X: Any, coef: FloatArray) -> FloatArray:
    """(n, lines) sums over the landmarks of coefficients (lines, landmarks)."""
    basis = Basis(estimator.landmarks_, estimator.landmark_vectors_)
    return estimator._scores(X, np.ascontiguousarray(coef.T), basis)


def landmark_fold_scores(estimator: SVC, X: Any) -> list[FloatArray]:
    """(n, tasks) scores of every fold's machines."""
    folds: FoldModels = estimator.folds_
    sums = landmark_scores(estimator, X, folds.coef.reshape(-1, folds.coef.shape[-1]))
    return [part + b for part, b in zip(np.split(sums, len(folds.intercept), axis=1), folds.intercept, strict=True)]
