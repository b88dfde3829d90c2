"""From tasks to solutions: one Gram matrix, one solver, one clock, in parallel where there are many tasks."""

from __future__ import annotations

import math
import sys
import time
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from maxmargin._foreign import Delivered
from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin._validation import cache_bytes
from maxmargin.backends import KernelGram, backend_for, effective_threads, run_parallel, single_threaded_blas
from maxmargin.certificates import (
    Certificate,
    bounded_scores,
    definiteness,
    judge_all,
    must_recompute,
    recomputed_scores,
    union,
)
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._progress import FitReporter
from maxmargin.exceptions import NotSeparableError
from maxmargin.kernels import Kernel
from maxmargin.problems import HardMarginProblem, Problem, relative
from maxmargin.solvers import Record, Solution, Status, Watch, can_solve_many, make_solver, solve_many

#: Kernel values of a problem so small that BLAS would not use a second thread anyway.
TINY_VALUES = 2**15
#: Kernel values of a certificate from which on a second BLAS thread does not only wait.
LARGE_VALUES = 2**24
#: Mean rows of a task from which on tasks run side by side.
LONG_TASK = 600
#: ``certify='auto'`` recomputes every score when that takes at most this many kernel values, or this share of all.
CHEAP_VALUES, CHEAP_SHARE = 2**17, 0.02


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
    estimator: Any,
    kernel: Kernel,
    X: RowData,
    tasks: list[Task],
    reporter: FitReporter | None = None,
    time_limit: float | None = None,
) -> list[Outcome]:
    """Solve the tasks; the estimator's parameters say how. Without ``reporter`` nobody is told of the rounds.

    ``time_limit`` takes the place of the estimator's.
    """
    if reporter is not None:
        reporter.begin(len(tasks))
    watched = reporter is not None and reporter.active
    tiny = max(len(task.rows) for task in tasks) ** 2 <= TINY_VALUES
    with InterruptFlag() as interrupted, nullcontext() if tiny else single_threaded_blas():
        limit = estimator.time_limit if time_limit is None else time_limit
        run = _Run(estimator, kernel, X, tasks, interrupted, reporter if watched else None, limit)
        outcomes = run.all()
    warn_unless_reached([outcome.solution for outcome in outcomes])
    return outcomes


class _Run:
    """One Gram matrix, one solver and one deadline for all the tasks of a fit."""

    def __init__(
        self,
        estimator: Any,
        kernel: Kernel,
        X: RowData,
        tasks: list[Task],
        interrupted: Any,
        reporter: Any,
        limit: float | None,
    ):
        self.estimator, self.tasks, self.interrupted, self.reporter = estimator, tasks, interrupted, reporter
        self.threads = effective_threads(estimator.n_jobs)
        self.at_once = min(self.threads, len(tasks)) if reporter is None and _worth_threads(tasks) else 1
        self.deadline = math.inf if limit is None else time.perf_counter() + limit
        backend = backend_for(estimator.device)
        self.solver = make_solver(estimator.solver, backend)
        small = max(len(task.rows) for task in tasks) <= getattr(self.solver, "whole_size", math.inf)
        memory = cache_bytes(estimator.cache_size) // self.at_once
        self.gram = backend.gram(
            kernel, X, cache_bytes=memory, threads=self.threads, dtype=np.float64 if small else None
        )
        self.outcomes: list[Outcome | None] = [None] * len(tasks)

    def all(self) -> list[Outcome]:
        """Small tasks in one go, then what is left, side by side where that pays."""
        small = []
        if len(self.tasks) > 1 and self.reporter is None:
            watch, gram = self.watch(), self.gram.in_float64()
            small = [k for k, t in enumerate(self.tasks) if can_solve_many(self.solver, gram, [t.problem], watch)]
        if len(small) > 1:
            self._batch(small, gram)
        left = [number for number, outcome in enumerate(self.outcomes) if outcome is None]
        shares = [left[k :: self.at_once] for k in range(self.at_once)]
        run_parallel([partial(self._share, share) for share in shares], self.at_once)
        return [outcome for outcome in self.outcomes if outcome is not None]

    def watch(self, callback: Any = None) -> Watch:
        """Stopping rules of one task."""
        e = self.estimator
        return Watch(e.tol, e.gap_tol, e.max_iter, self.deadline, self.interrupted, callback)

    def _batch(self, numbers: list[int], gram: KernelGram) -> None:
        tasks = [self.tasks[number] for number in numbers]
        results = solve_many(
            [task.problem for task in tasks],
            [task.rows for task in tasks],
            [task.start for task in tasks],
            gram,
            min(self.threads, len(tasks), 1 + sum(len(task.rows) ** 2 for task in tasks) // TINY_VALUES),
            [self.watch() for _ in tasks],
        )
        for number, (solution, finished) in zip(numbers, results, strict=True):
            if finished:
                self.outcomes[number] = _deliver(self.tasks[number], solution, self.gram.n)
            else:
                self.tasks[number] = replace(self.tasks[number], start=solution.beta)

    def _share(self, numbers: list[int]) -> None:
        threads, whole = max(1, self.threads // self.at_once), None
        for number in numbers:
            task = self.tasks[number]
            if len(task.rows) == self.gram.n:  # classes against the rest, folds: kernel rows that are kept serve all
                if whole is None:
                    whole = self.gram if self.at_once == 1 else self.gram.take(task.rows, threads=threads)
                gram, whole.entries = whole, 0
            else:
                gram = self.gram.take(task.rows, threads=threads)
            after_round, end = self.reporter.round_callback(number) if self.reporter else (None, lambda: None)
            solution = self.solver.solve(task.problem, gram, task.start, self.watch(after_round))
            self.outcomes[number] = _deliver(task, solution, self.gram.n)
            end()


def certify_outcomes(
    mode: str | bool, kernel: Kernel, X: RowData, outcomes: list[Outcome], seed: int
) -> list[Certificate] | None:
    """Certificates of what is being published, as ``certify=`` asks."""
    if mode is False:
        return None
    tasks = [outcome.delivered for outcome in outcomes]
    rows = union([task.rows for task in tasks])
    support = union([task.rows[task.dual_coef != 0] for task in tasks])
    entries = sum(outcome.solution.entries for outcome in outcomes)
    cheap = len(rows) * len(support) <= max(CHEAP_VALUES, CHEAP_SHARE * entries)
    definite = definiteness(kernel, X, rows)
    full = mode == "full" or cheap or any(must_recompute(task.problem) for task in tasks)
    values = len(rows) * len(support)
    with nullcontext() if values <= TINY_VALUES or values > LARGE_VALUES else single_threaded_blas():
        if full:
            scores = recomputed_scores(kernel, X, tasks)
            return judge_all(tasks, scores, definite)
        known = [outcome.solution.f * published_scale(outcome) for outcome in outcomes]
        bounded = bounded_scores(kernel, X, tasks, known, seed)
    return judge_all(tasks, [f for f, _ in bounded], definite, [errors for _, errors in bounded])


def history(outcomes: list[Outcome], certificates: list[Certificate] | None) -> np.ndarray:
    """All rounds of all tasks as one structured array; a task solved in one go has one line, its final values."""
    kinds = [("task", int), ("iteration", int), ("seconds", float), ("primal", float), ("dual", float), ("gap", float)]
    lines = []
    for number, outcome in enumerate(outcomes):
        solution = outcome.solution
        records = solution.history or (_last_record(outcome, certificates[number] if certificates else None),)
        lines += [(number, *record) for record in records]
    return np.array(lines, dtype=kinds)


def _last_record(outcome: Outcome, certificate: Certificate | None) -> Record:
    """The values a task ended with: the certificate's, or worked out here if none was asked for."""
    solution, problem = outcome.solution, outcome.delivered.problem
    if certificate is not None:
        values = (certificate.primal, certificate.dual, certificate.gap)
    else:
        beta, f, offsets = solution.beta, solution.f, problem.offsets(solution.beta, solution.f)
        values = (problem.primal(beta, f, offsets), problem.dual(beta, f), problem.gap(beta, f, offsets))
    return Record(solution.n_iter, solution.seconds, *values)


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


def published_scale(outcome: Outcome) -> float:
    """dual_coef = scale * beta, hence also the scale of the published scores."""
    beta, coef = outcome.solution.beta, outcome.delivered.dual_coef
    at = int(np.argmax(np.abs(beta)))
    return float(coef[at] / beta[at]) if beta[at] != 0 else 1.0


def warn_unless_reached(solutions: list[Any]) -> None:
    """Tell the user of every goal that was missed, by how much, and what would help."""
    missed = [solution for solution in solutions if not solution.status.reached]
    if not missed:
        return
    gaps = [relative(s.history[-1].gap, s.history[-1].primal, s.history[-1].dual) for s in missed]
    worst = int(np.argmax(gaps))
    where = f" in {len(missed)} of {len(solutions)} tasks" if len(solutions) > 1 else ""
    warnings.warn(
        f"Solver terminated early{where}: {missed[worst].status.value}. Relative gap reached: {gaps[worst]:.2e}.",
        ConvergenceWarning,
        stacklevel=levels_to_caller(),
    )


def levels_to_caller() -> int:
    """How many frames up the user's own code is: that is the line a warning should name."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("maxmargin", "sklearn"):
        frame, level = frame.f_back, level + 1
    return level
