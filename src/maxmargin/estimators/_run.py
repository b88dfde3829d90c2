"""From tasks to solutions: one Gram matrix, one solver, one clock, in parallel where there are many tasks."""

from __future__ import annotations

import math
import time
import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from maxmargin._foreign import Delivered
from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin._validation import cache_bytes
from maxmargin.backends import backend_for, effective_threads, run_parallel, single_threaded_blas
from maxmargin.certificates import (
    Certificate,
    bounded_scores,
    definiteness,
    judge,
    must_recompute,
    recomputed_scores,
)
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._progress import FitReporter
from maxmargin.exceptions import NotSeparableError
from maxmargin.kernels import Kernel
from maxmargin.problems import HardMarginProblem, Problem, relative
from maxmargin.solvers import Solution, Status, Watch, make_solver

#: Mean rows of a task from which on tasks run side by side.
LONG_TASK = 600
#: ``certify='auto'`` recomputes every score when that takes at most this many kernel values, or this share of all.
CHEAP_VALUES, CHEAP_SHARE = 2**17, 0.25


@dataclass(frozen=True)
class Task:
    """A problem on some rows of X, and where to start it."""

    rows: IntArray
    problem: Problem
    start: FloatArray | None = None


@dataclass(frozen=True)
class Outcome:
    """What a task came to."""

    delivered: Delivered
    solution: Solution


def run_tasks(
    estimator: Any, kernel: Kernel, X: RowData, tasks: list[Task], reporter: FitReporter | None = None
) -> list[Outcome]:
    """Solve the tasks; the estimator's parameters say how. Without ``reporter`` nobody is told of the rounds."""
    threads = effective_threads(estimator.n_jobs)
    backend = backend_for(estimator.device)
    solver = make_solver(estimator.solver, backend)
    if reporter is not None:
        reporter.begin(len(tasks))
    watched = reporter is not None and reporter.active
    at_once = 1 if watched or not _worth_threads(tasks) else min(threads, len(tasks))
    deadline = math.inf if estimator.time_limit is None else time.perf_counter() + estimator.time_limit
    whole = len(tasks) == 1 and len(tasks[0].rows) == (X.shape[0] if hasattr(X, "shape") else len(X))
    largest = max(len(task.rows) for task in tasks)
    bytes_each = cache_bytes(estimator.cache_size) // at_once
    outcomes: list[Outcome | None] = [None] * len(tasks)

    with InterruptFlag() as interrupted, single_threaded_blas():
        dtype = np.float64 if largest <= getattr(solver, "whole_size", math.inf) else None
        gram = backend.gram(kernel, X, cache_bytes=bytes_each, threads=threads, dtype=dtype)

        def solve(number: int) -> None:
            task = tasks[number]
            part = gram if whole else gram.take(task.rows, threads=max(1, threads // at_once))
            after_round, end = reporter.round_callback(number) if reporter is not None else (None, lambda: None)
            watch = Watch(
                tol=estimator.tol,
                gap_tol=estimator.gap_tol,
                max_iter=estimator.max_iter,
                deadline=deadline,
                interrupted=interrupted,
                callback=after_round,
            )
            outcomes[number] = _deliver(task, solver.solve(task.problem, part, task.start, watch), gram.n)
            end()

        def worker(first: int) -> None:
            for number in range(first, len(tasks), at_once):
                solve(number)

        run_parallel([lambda k=k: worker(k) for k in range(at_once)], at_once)  # type: ignore[misc]
    done = [outcome for outcome in outcomes if outcome is not None]
    _warn_unless_reached(done)
    return done


def certify_outcomes(
    mode: str | bool, kernel: Kernel, X: RowData, outcomes: list[Outcome], seed: int
) -> list[Certificate] | None:
    """Certificates of what is being published, as ``certify=`` asks."""
    if mode is False:
        return None
    tasks = [outcome.delivered for outcome in outcomes]
    rows = np.unique(np.concatenate([task.rows for task in tasks]))
    support = np.unique(np.concatenate([task.rows[task.dual_coef != 0] for task in tasks]))
    entries = sum(outcome.solution.entries for outcome in outcomes)
    cheap = len(rows) * len(support) <= max(CHEAP_VALUES, CHEAP_SHARE * entries)
    definite = definiteness(kernel, X, rows)
    full = mode == "full" or cheap or any(must_recompute(task.problem) for task in tasks)
    with single_threaded_blas() if cheap or not full else nullcontext():  # small products: a second thread only waits
        if full:
            scores = recomputed_scores(kernel, X, tasks)
            return [judge(task, f, definite) for task, f in zip(tasks, scores, strict=True)]
        known = [outcome.solution.f * _published_scale(outcome) for outcome in outcomes]
        bounded = bounded_scores(kernel, X, tasks, known, seed)
    return [judge(task, f, definite, errors) for task, (f, errors) in zip(tasks, bounded, strict=True)]


def history(outcomes: list[Outcome]) -> np.ndarray:
    """All rounds of all tasks as one structured array."""
    kinds = [("task", int), ("iteration", int), ("seconds", float), ("primal", float), ("dual", float), ("gap", float)]
    lines = [(number, *record) for number, outcome in enumerate(outcomes) for record in outcome.solution.history]
    return np.array(lines, dtype=kinds)


def _worth_threads(tasks: list[Task]) -> bool:
    """Many tasks, and long enough ones: short ones spend their time in Python, one thread at a time."""
    return len(tasks) > 1 and sum(len(task.rows) for task in tasks) >= LONG_TASK * len(tasks)


def _deliver(task: Task, solution: Solution, n: int) -> Outcome:
    problem = task.problem
    stopped = not solution.status.reached and solution.status is not Status.STALLED
    if isinstance(problem, HardMarginProblem) and not stopped:
        try:
            problem.require_separable(solution.beta, solution.f)
        except NotSeparableError as error:
            raise error.on_rows(task.rows, n) from None
    offsets = problem.offsets(solution.beta, solution.f)
    coef, intercept = problem.delivered(solution.beta, offsets)
    if not (np.isfinite(coef).all() and np.isfinite(intercept)):
        raise ValueError(
            "The dual coefficients or intercepts are not finite. The input data may contain large values; "
            "scale the features, for example with sklearn.preprocessing.StandardScaler."
        )
    return Outcome(Delivered(task.rows, problem, coef, intercept), solution)


def _published_scale(outcome: Outcome) -> float:
    """dual_coef = scale * beta, hence also the scale of the published scores."""
    beta, coef = outcome.solution.beta, outcome.delivered.dual_coef
    at = int(np.argmax(np.abs(beta)))
    return float(coef[at] / beta[at]) if beta[at] != 0 else 1.0


def _warn_unless_reached(outcomes: list[Outcome]) -> None:
    missed = [outcome.solution for outcome in outcomes if not outcome.solution.status.reached]
    if not missed:
        return
    gaps = [relative(s.history[-1].gap, s.history[-1].primal, s.history[-1].dual) for s in missed]
    worst = int(np.argmax(gaps))
    where = f" in {len(missed)} of {len(outcomes)} tasks" if len(outcomes) > 1 else ""
    warnings.warn(
        f"Solver terminated early{where}: {missed[worst].status.value}. Relative gap reached: {gaps[worst]:.2e}.",
        ConvergenceWarning,
        stacklevel=3,
    )
