"""All classes in one problem, Crammer and Singer's or Weston and Watkins': SVC and LinearSVC come here."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin._validation import cache_bytes
from maxmargin.backends import backend_for, effective_threads, single_threaded_blas
from maxmargin.certificates import definiteness, judge_all_classes, scores_at
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._kernel_folds import fold_tables
from maxmargin.estimators._linear_run import linear_history
from maxmargin.estimators._machine import Training
from maxmargin.estimators._many_classes import Folds
from maxmargin.estimators._progress import FitReporter
from maxmargin.estimators._run import warn_unless_reached
from maxmargin.problems import ALL_CLASSES, AllClassesProblem
from maxmargin.solvers import AllClassesBlocks, AllClassesPoint, AllClassesSolution, Watch


def all_classes_problem(estimator: Any, data: Training) -> AllClassesProblem:
    """The problem of the kept rows; C must be finite."""
    if np.isinf(estimator.C):
        raise ValueError(
            f"multiclass={estimator._multiclass!r} needs a finite C; got C={estimator.C!r}. The hard margin is there "
            "for two classes at a time: multiclass='ovo' or 'ovr'"
        )
    labels = data.extra
    kind = ALL_CLASSES[estimator._multiclass]
    return kind(labels.label, estimator.C * labels.weights(data), len(labels.classes), estimator.fit_intercept)


def fit_all_classes(estimator: Any, data: Training) -> Any:
    """Fit a kernel classifier as one problem."""
    if estimator.solver not in ("auto", "decomposition"):
        raise ValueError(
            f"solver={estimator.solver!r} is for two-class problems; multiclass={estimator._multiclass!r} needs 'auto'"
        )
    kernel, problem = estimator._resolve_kernel(data), all_classes_problem(estimator, data)
    rows = estimator._counted_rows(data)
    reporter = FitReporter(estimator, data.X, data.y)
    reporter.begin(1)
    after_round, end = reporter.round_callback(0)
    number: IntArray | None = estimator._new_folds(data) if estimator._wanted_calibration is not None else None
    held = [] if number is None else [number == fold for fold in range(int(number.max(initial=-1)) + 1)]
    with InterruptFlag() as interrupted, single_threaded_blas():
        run = _Run(estimator, kernel, rows, interrupted)
        solution = run.solve(problem, _warm_start(estimator, data), after_round)
        start = AllClassesPoint(solution.alpha, solution.intercept)
        folds = [run.solve(problem.masked(rows), start) for rows in held]
    end()
    warn_unless_reached([solution, *folds])
    certificate = None if estimator.certify is False else _certified(kernel, data, problem, solution)
    estimator._forget()
    estimator.kernel_, estimator.history_ = kernel, linear_history([solution])
    if certificate is not None:
        estimator.certificates_, estimator.certificate_ = [certificate], certificate
    estimator.fit_status_ = int(not solution.status.reached)
    estimator.shape_fit_ = data.X.shape if hasattr(data.X, "shape") else (data.n,)
    estimator._publish_table(data, _lines(solution.alpha), _lines(solution.intercept[None]).ravel())
    estimator.n_iter_ = np.array([solution.n_iter])
    if number is not None:
        _publish_folds(estimator, data, number, solution, folds)
    reporter.close()
    return estimator


class _Run:
    """One Gram matrix and one deadline for the fit and its folds."""

    def __init__(self, estimator: Any, kernel: Any, rows: Any, interrupted: Any):
        self.estimator, self.interrupted = estimator, interrupted
        backend, limit = backend_for(estimator.device), estimator.time_limit
        self.gram = backend.gram(
            kernel, rows, cache_bytes=cache_bytes(estimator.cache_size), threads=effective_threads(estimator.n_jobs)
        )
        self.deadline = math.inf if limit is None else time.perf_counter() + limit
        self.solver = AllClassesBlocks(backend)

    def solve(self, problem: AllClassesProblem, start: Any, callback: Any = None) -> AllClassesSolution:
        e = self.estimator
        watch = Watch(e.tol, e.gap_tol, e.max_iter, self.deadline, self.interrupted, callback)
        return self.solver.solve(problem, self.gram, watch, start)


def _lines(alpha: FloatArray) -> FloatArray:
    """(n, classes) values as published: a line per class, or for two classes their difference."""
    return (alpha[:, 1] - alpha[:, 0])[None] if alpha.shape[1] == 2 else alpha.T.copy()


def _warm_start(estimator: Any, data: Training) -> Any:
    """The last fit's dual variables, where the data have the same shape and the classes are the same."""
    known = estimator.warm_start and hasattr(estimator, "support_")
    if (
        not known
        or estimator.shape_fit_ != getattr(data.X, "shape", (data.n,))
        or not estimator._same_scheme(data.extra)
    ):
        return None
    table, b = estimator._fitted_table(data)[:, data.kept], estimator.intercept_
    if len(table) == 1:
        table, b = np.vstack([-table, table]) / 2, np.concatenate([-b, b]) / 2
    alpha = np.ascontiguousarray(table.T)
    return AllClassesPoint(alpha, b)


def _certified(kernel: Any, data: Training, problem: AllClassesProblem, solution: AllClassesSolution) -> Any:
    alpha = solution.alpha
    used = np.flatnonzero(alpha.any(axis=1))
    f = scores_at(kernel, data.X, data.kept, data.kept[used], alpha[used])
    definite = definiteness(kernel, data.X, data.kept)
    return judge_all_classes(
        problem, float(np.vdot(alpha, f)), f + solution.intercept, alpha, solution.intercept, definite
    )


def _publish_folds(estimator: Any, data: Training, number: Any, solution: Any, found: list[AllClassesSolution]) -> None:
    """Held-out scores came with the solutions."""
    tables = fold_tables(estimator, data, [_lines(fold.alpha) for fold in found])
    intercept = np.array([_lines(fold.intercept[None]).ravel() for fold in found]).reshape(
        -1, len(estimator.intercept_)
    )
    scores = _lines(solution.f).T.copy()
    for fold, one in enumerate(found):
        scores[number == fold] = _lines(one.f).T[number == fold]
    estimator._publish_calibration(data, Folds(number, tables, intercept), scores)
