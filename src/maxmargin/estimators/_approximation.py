"""SVC on landmarks: w in the span of some rows, so that the problem is a linear one in Nystroem features.

The reduced problem goes to the solvers of linear models, with features that are stored where they fit into memory and
computed on the way where they do not. A model is published with both of its halves: coefficients of the landmarks, of
which its scores are made, and dual variables of the rows, of which its proof is made and at which the exact solver can
start.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin._foreign import Delivered
from maxmargin._types import FloatArray, IntArray
from maxmargin.backends import Design, backend_for, effective_threads
from maxmargin.certificates import Certificate, judge_approximation, worst
from maxmargin.estimators._kernel_model import Support
from maxmargin.estimators._linear_run import linear_history, solve_linear
from maxmargin.estimators._machine import Training, seed_of
from maxmargin.estimators._many_classes import Folds
from maxmargin.estimators._progress import FitReporter
from maxmargin.kernels import Kernel
from maxmargin.losses import Hinge
from maxmargin.maps import MappedDesign, NystroemMap
from maxmargin.multiclass import SINGLE
from maxmargin.penalties import resolve_penalty
from maxmargin.problems import LinearProblem, SVCProblem
from maxmargin.solvers import LinearPoint, LinearSolution

#: Bytes of features that are stored; more are computed whenever they are needed.
STORED_BYTES = 2**31


class _Options(NamedTuple):
    """What the solvers of linear models ask of an estimator."""

    tol: float
    max_iter: int
    time_limit: float | None
    n_jobs: int | None
    random_state: int
    solver: str = "auto"
    verbose: bool = False


class _Tasks(NamedTuple):
    """Two-class problems, each on all rows that count (None) or on some of them."""

    problems: list[LinearProblem]
    where: list[IntArray | None]


def fit_approximation(estimator: Any, data: Training) -> Any:
    """Fit an SVC with ``approximation='nystroem'``."""
    _require(estimator)
    kernel, rows = estimator._resolve_kernel(data), estimator._counted_rows(data)
    fitted = NystroemMap(
        kernel,
        gamma=1.0,
        n_components=min(estimator.n_components, len(data.kept)),
        random_state=seed_of(estimator),
        n_jobs=estimator.n_jobs,
    ).fit(rows, sample_weight=data.weight)
    threads = effective_threads(estimator.n_jobs)
    design = _features(fitted, rows, threads, stored=estimator._precomputed or isinstance(rows, list))
    tasks = _tasks(estimator, data)
    reporter = FitReporter(estimator, data.X, data.y)
    goal = estimator.tol if estimator.gap_tol is None else estimator.gap_tol
    options = _Options(goal, estimator.max_iter, estimator.time_limit, estimator.n_jobs, seed_of(estimator))
    starts = _starts(estimator, data, design, tasks)
    solutions = solve_linear(options, design, *tasks, starts, reporter)
    coef = _coefficients(fitted, solutions)
    certificates = _certified(estimator, data, kernel, fitted, solutions, coef)
    estimator._forget()
    estimator.kernel_, estimator.history_ = kernel, linear_history(solutions)
    if certificates is not None:
        estimator.certificates_, estimator.certificate_ = certificates, worst(certificates)
    estimator.fit_status_ = int(any(not solution.status.reached for solution in solutions))
    estimator.shape_fit_ = data.X.shape if hasattr(data.X, "shape") else (data.n,)
    _publish(estimator, data, fitted, solutions, coef)
    if estimator._multiclass == "code":
        estimator._publish_fired(_known_scores(design, solutions))
    if estimator._wanted_calibration is not None:
        left = options._replace(time_limit=data.time_left(estimator.time_limit))
        _calibrate(estimator, data, fitted, design, solutions, left)
    reporter.close()
    return estimator


def _require(estimator: Any) -> None:
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


def _features(fitted: NystroemMap, rows: Any, threads: int, stored: bool) -> Design:
    n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    size = getattr(rows, "dtype", np.dtype(np.float64)).itemsize
    if stored or n * fitted.factor_.shape[1] * size <= STORED_BYTES:
        return backend_for("cpu").design(fitted.transform(rows), threads)
    return MappedDesign(fitted, rows, threads)


def _tasks(estimator: Any, data: Training, left_out: Any = None) -> _Tasks:
    """The tasks of the estimator's scheme, without the rows ``left_out`` (bool) and those that cost nothing."""
    labels = data.extra
    cost = estimator.C * labels.weights(data)
    counts = cost > 0 if left_out is None else (cost > 0) & ~left_out
    loss, penalty, problems, where = Hinge(), resolve_penalty("l2"), [], []
    for task in labels.scheme.tasks(labels.label):
        own = counts[task.rows]
        rows = task.rows[own]
        problems.append(LinearProblem(loss, penalty, task.sign[own], cost[rows], estimator.fit_intercept))
        where.append(rows if len(rows) < len(cost) else None)
    return _Tasks(problems, where)


def _starts(estimator: Any, data: Training, design: Design, tasks: _Tasks) -> list[LinearPoint | None]:
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


def _coefficients(fitted: NystroemMap, solutions: list[LinearSolution]) -> FloatArray:
    """(tasks, landmarks)."""
    return np.ascontiguousarray(fitted.expansion(np.column_stack([s.point.w for s in solutions])).T)


def _spread(estimator: Any, data: Training, solutions: list[LinearSolution]) -> list[FloatArray]:
    """Dual variables of every task on its own rows, 0 for those that cost nothing."""
    labels, cost = data.extra, data.extra.weights(data)
    spread: list[FloatArray] = []
    for task, solution in zip(labels.scheme.tasks(labels.label), solutions, strict=True):
        beta = np.zeros(len(task.rows))
        beta[cost[task.rows] > 0] = solution.point.beta
        spread.append(beta)
    return spread


def _certified(
    estimator: Any,
    data: Training,
    kernel: Kernel,
    fitted: NystroemMap,
    solutions: list[LinearSolution],
    coef: FloatArray,
) -> list[Certificate] | None:
    if estimator.certify is False:
        return None
    labels, cost = data.extra, estimator.C * data.extra.weights(data)
    delivered = []
    tasks = zip(labels.scheme.tasks(labels.label), solutions, _spread(estimator, data, solutions), strict=True)
    for task, solution, beta in tasks:
        problem = SVCProblem(task.sign, cost[task.rows], estimator.fit_intercept)
        delivered.append(Delivered(data.kept[task.rows], problem, beta, solution.point.intercept))
    factor = None if estimator.certify == "full" else fitted.factor_
    return judge_approximation(kernel, data.X, delivered, data.kept[fitted.component_indices_], coef, factor)


def _publish(
    estimator: Any, data: Training, fitted: NystroemMap, solutions: list[LinearSolution], coef: FloatArray
) -> None:
    labels = data.extra
    table = labels.scheme.pack(_spread(estimator, data, solutions), labels.label)
    estimator._publish_table(data, table, np.array([solution.point.intercept for solution in solutions]))
    estimator.n_iter_ = np.array([solution.n_iter for solution in solutions], dtype=np.int64)
    estimator.landmarks_ = data.kept[fitted.component_indices_].astype(np.int32)
    estimator.landmark_vectors_ = estimator._support(data, estimator.landmarks_).vectors
    estimator.landmark_coef_ = coef


def _known_scores(design: Design, solutions: list[LinearSolution]) -> FloatArray:
    """(n, tasks) scores of the rows that count."""
    return np.column_stack([design.scores(s.point.w) + s.point.intercept for s in solutions])


def _calibrate(
    estimator: Any,
    data: Training,
    fitted: NystroemMap,
    design: Design,
    solutions: list[LinearSolution],
    options: _Options,
) -> None:
    """Solve the problem without the rows of each fold in turn, on the same landmarks, and calibrate on these."""
    number = estimator._new_folds(data)
    scores, coef, intercept = _known_scores(design, solutions), [], []
    known = []
    for task, beta in zip(data.extra.scheme.tasks(data.extra.label), _spread(estimator, data, solutions), strict=True):
        known.append(np.zeros(len(number)))
        known[-1][task.rows] = beta
    for fold in range(int(number.max(initial=-1)) + 1):
        held = number == fold
        tasks = _tasks(estimator, data, held)
        starts = [_start(design, tasks, k, beta, solutions[k].point.intercept) for k, beta in enumerate(known)]
        found = solve_linear(options, design, *tasks, starts, FitReporter(options, data.X, data.y))
        coef.append(_coefficients(fitted, found))
        intercept.append([solution.point.intercept for solution in found])
        scores[held] = _known_scores(design, found)[held]
    folds = Folds(number, np.array(coef), np.array(intercept).reshape(len(coef), -1))
    estimator._publish_calibration(data, folds, scores)


def landmark_scores(estimator: Any, X: Any, coef: FloatArray) -> FloatArray:
    """(n, lines) sums over the landmarks of coefficients (lines, landmarks)."""
    support = Support(estimator.landmarks_, estimator.landmark_vectors_)
    return estimator._scores(X, np.ascontiguousarray(coef.T), support)


def landmark_fold_scores(estimator: Any, X: Any) -> list[FloatArray]:
    """(n, tasks) scores of every fold's machines."""
    folds: Folds = estimator.folds_
    sums = landmark_scores(estimator, X, folds.coef.reshape(-1, folds.coef.shape[-1]))
    return [part + b for part, b in zip(np.split(sums, len(folds.intercept), axis=1), folds.intercept, strict=True)]
