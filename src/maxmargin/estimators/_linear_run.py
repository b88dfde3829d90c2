"""From linear problems to solutions: one design, one clock, tasks side by side where there are many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._types import IntArray
from maxmargin.backends import Design, backend_for, single_threaded_blas
from maxmargin.estimators._machine import seed_of
from maxmargin.estimators._options import FitOptions
from maxmargin.estimators._progress import FitReporter, history_of
from maxmargin.estimators._scaling import require_finite
from maxmargin.estimators._turns import Turn, side_by_side, take_turns
from maxmargin.problems import LinearProblem
from maxmargin.solvers import LinearPoint, LinearSolution, Watch, make_linear_solver, untouched, weightless


def solve_linear(
    options: FitOptions,
    design: Design,
    problems: list[LinearProblem],
    where: list[IntArray | None],
    starts: Sequence[LinearPoint | None],
    deadline: float,
    reporter: FitReporter | None = None,
) -> list[LinearSolution]:
    """Solve the problems, each on all rows (None) or on those that ``where`` names.

    Without ``reporter`` nobody is told of the rounds.
    """
    if reporter is not None:
        reporter.begin(len(problems))
    at_once = side_by_side(reporter, len(problems), options.threads)
    backend, seed = backend_for("cpu"), seed_of(options)
    if at_once > 1:
        design = design.with_threads(1)
    with single_threaded_blas():
        require_finite(np.sqrt(design.column_squares))

    waiting: dict[int, Watch] = {}  # of tasks that nobody has the time to begin

    def solve(number: int, turn: Turn) -> LinearSolution | None:
        problem, own, start = problems[number], where[number], starts[number]
        watch = turn.watch(0.0, options.tol, options.max_iter)
        if start is None and watch.must_stop(0):
            waiting[number] = watch
            return None
        if (exact := weightless(problem, design.d, watch)) is not None:
            return exact
        rows = design if own is None else design.take(own)
        solver = make_linear_solver(options.solver, problem, rows, backend, seed)
        solution: LinearSolution = solver.solve(problem, rows, start, watch)
        return solution

    solved = take_turns(solve, list(range(len(problems))), at_once, deadline, reporter)
    if waiting:  # all at once, for they may be a thousand
        models = untouched([problems[number] for number in waiting], design.d, list(waiting.values()))
        solved.update(zip(waiting, models, strict=True))
    return [solution for _, solution in sorted(solved.items()) if solution is not None]


def linear_history(solutions: Sequence[Any]) -> np.ndarray:
    """All rounds of all tasks as one structured array."""
    return history_of([solution.history for solution in solutions])
