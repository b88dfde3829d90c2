"""From linear problems to solutions: one design, one clock, tasks side by side where there are many."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from maxmargin._types import IntArray
from maxmargin.backends import Design, backend_for, effective_threads, run_parallel, single_threaded_blas
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._machine import seed_of
from maxmargin.estimators._progress import FitReporter
from maxmargin.estimators._run import warn_unless_reached
from maxmargin.estimators._scaling import require_finite
from maxmargin.problems import LinearProblem
from maxmargin.solvers import LinearPoint, LinearSolution, Watch, make_linear_solver


def solve_linear(
    estimator: Any,
    design: Design,
    problems: list[LinearProblem],
    where: list[IntArray | None],
    starts: Sequence[LinearPoint | None],
    reporter: FitReporter,
) -> list[LinearSolution]:
    """Solve the problems, each on all rows (None) or on those that ``where`` names; the estimator says how."""
    reporter.begin(len(problems))
    threads = effective_threads(estimator.n_jobs)
    at_once = 1 if reporter.active else min(threads, len(problems))
    backend = backend_for("cpu")
    if at_once > 1:
        design = design.with_threads(1)
    deadline = math.inf if estimator.time_limit is None else time.perf_counter() + estimator.time_limit
    solutions: list[Any] = [None] * len(problems)
    seed = seed_of(estimator)
    with InterruptFlag() as interrupted, single_threaded_blas():
        require_finite(np.sqrt(design.column_squares))

        def share(numbers: range) -> None:
            for number in numbers:
                after_round, end = reporter.round_callback(number)
                watch = Watch(0.0, estimator.tol, estimator.max_iter, deadline, interrupted, after_round)
                own = where[number]
                rows = design if own is None else design.take(own)
                solver = make_linear_solver(estimator.solver, problems[number], rows, backend, seed)
                solutions[number] = solver.solve(problems[number], rows, starts[number], watch)
                end()

        run_parallel([partial(share, range(k, len(problems), at_once)) for k in range(at_once)], at_once)
    warn_unless_reached(solutions)
    return solutions


def linear_history(solutions: Sequence[Any]) -> np.ndarray:
    """All rounds of all tasks as one structured array."""
    kinds = [("task", int), ("iteration", int), ("seconds", float), ("primal", float), ("dual", float), ("gap", float)]
    lines = [(number, *record) for number, solution in enumerate(solutions) for record in solution.history]
    return np.array(lines, dtype=kinds)
