"""From tasks to solutions: one Gram matrix, one solver, one clock, in parallel where there are many tasks."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin._rows import count, take
from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.backends import KernelGram, single_threaded_blas
from maxmargin.certificates import ROOM, Certificate, Scores, union
from maxmargin.delivered import Delivered
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._options import FitOptions
from maxmargin.estimators._progress import FitReporter, history_of
from maxmargin.estimators._separation import centred, moved_back, separated
from maxmargin.estimators._turns import Turn, take_turns
from maxmargin.exceptions import NotSeparableError
from maxmargin.kernels import Kernel, require_consistent
from maxmargin.problems import RESIDUE, HardMarginProblem, Problem, SoftMargins, SVCProblem
from maxmargin.solvers import (
    FEW_ROWS,
    Decomposition,
    Plan,
    Record,
    Solution,
    Status,
    Tasks,
    Together,
    Watch,
    can_advance_in_step,
    can_solve_many,
    can_solve_together,
    has_room,
    make_solver,
    plan,
    solve_in_step,
    solve_many,
    solve_together,
)

#: What solves all tasks of a fit: (back end, tasks, matrix, watch, threads).
SolveTogether = Callable[..., Together]
#: Kernel values of a problem so small that BLAS would not use a second thread anyway.
TINY_VALUES = 2**15
#: Mean rows of a task from which on tasks run side by side.
LONG_TASK = 600


@dataclass(frozen=True)
class Task:
    """A problem on some rows of X, and where to start it."""

    rows: IntArray
    problem: Problem
    start: FloatArray | None = None
    steps: int = 0  # that led to the start, in this fit

    @property
    def is_plain_and_at_zero(self) -> bool:
        """Whether it is a soft margin with an intercept that has not taken a step and begins at no coefficients."""
        plain = type(self.problem) is SVCProblem and self.problem.fit_intercept and self.steps == 0
        return plain and (self.start is None or not self.start.any())


@dataclass(frozen=True)
class Outcome:
    """What a task came to."""

    delivered: Delivered
    solution: Solution
    #: Of the published coefficients, with proven errors if the kernel is PSD, where the solver ended with such.
    fresh: Scores | None = field(default=None, kw_only=True)

    @property
    def status(self) -> Status:
        """Why its solver stopped."""
        return self.solution.status

    @property
    def history(self) -> tuple[Record, ...]:
        """Its rounds."""
        return self.solution.history


def run_tasks(
    options: FitOptions,
    kernel: Kernel,
    X: RowData,
    tasks: list[Task],
    deadline: float,
    reporter: FitReporter | None = None,
    flag: InterruptFlag | None = None,
    together: bool = True,
) -> list[Outcome]:
    """Solve the tasks. Without ``reporter`` nobody is told of the rounds; ``flag`` is one that hears Ctrl-C already.

    ``together``: whether tasks may be solved over one stored matrix.
    """
    if reporter is not None:
        reporter.begin(len(tasks))
    watched = reporter is not None and reporter.active
    with nullcontext(flag) if flag is not None else InterruptFlag() as interrupted, single_threaded_blas():
        require_consistent(kernel, X)
        own = centred(kernel, X, union([task.rows for task in tasks]), [task.problem for task in tasks])
        outcomes = _Fit(options, kernel, own, tasks, interrupted, reporter if watched else None, deadline).all(together)
        if own is X:
            return outcomes
        return [replace(o, delivered=moved_back(o.delivered, kernel, X, _published(o))) for o in outcomes]


def gram_to_store(options: FitOptions, kernel: Kernel, X: RowData) -> KernelGram:
    """The Gram matrix of a fit that stores all of it; of few rows, in float64."""
    return options.gram(kernel, X, np.float64 if count(X) <= FEW_ROWS else None)


class _Fit:
    """One Gram matrix, one solver and one deadline for all the tasks of a fit."""

    def __init__(
        self,
        options: FitOptions,
        kernel: Kernel,
        X: RowData,
        tasks: list[Task],
        interrupted: Any,
        reporter: Any,
        deadline: float,
    ):
        self.options, self.tasks, self.interrupted, self.reporter = options, tasks, interrupted, reporter
        self.kernel, self.X = kernel, X
        self.threads = options.threads
        self.at_once = min(self.threads, len(tasks)) if reporter is None and _worth_threads(tasks) else 1
        self.deadline = deadline
        self.solver = make_solver(options.solver, options.backend)
        small = max(len(task.rows) for task in tasks) <= getattr(self.solver, "whole_size", math.inf)
        self.gram = options.gram(kernel, X, np.float64 if small else None, self.at_once)
        self.outcomes: list[Outcome | None] = [None] * len(tasks)
        self.whole: dict[int, KernelGram] = {}  # the matrix of all rows, one for each thread

    def all(self, together: bool) -> list[Outcome]:
        """Tasks over one stored matrix, or small tasks, in one go; what is left then, side by side where that pays."""
        small = []
        way = self._way() if together else None
        if self.reporter is not None:
            self.reporter.say(f"{self._words(way)}; that is without verbose: here tasks take turns, to show rounds")
        elif way is not None:
            self._together(*way)
            return self._one_by_one()
        if len(self.tasks) > 1 and self.reporter is None:
            watch, gram = self.watch(), self.gram.in_float64()
            small = [k for k, t in enumerate(self.tasks) if can_solve_many(self.solver, gram, [t.problem], watch)]
        if len(small) > 1:
            self._batch(small, gram)
        return self._one_by_one()

    def _one_by_one(self) -> list[Outcome]:
        left = [number for number, outcome in enumerate(self.outcomes) if outcome is None]
        solved = take_turns(self._one, left, self.at_once, self.deadline, self.reporter, self.interrupted)
        waiting = [number for number, outcome in solved.items() if outcome is None]
        if waiting:
            solved.update(zip(waiting, self._untouched(waiting), strict=True))
        every = [solved.get(number, outcome) for number, outcome in enumerate(self.outcomes)]
        return [outcome for outcome in every if outcome is not None]

    def watch(self) -> Watch:
        """Stopping rules of tasks that are solved together."""
        return self.options.watch(Turn(self.deadline, self.interrupted))

    def _way(self) -> tuple[SolveTogether, KernelGram] | None:
        """How all tasks are solved together, and over which matrix: stored, or in step; None: each by itself."""
        problems = [task.problem for task in self.tasks]
        plain = all(p.qp.balance and p.qp.budget is None and type(p).unit is Problem.unit for p in problems)
        alike = plain and len({p.qp.epsilon for p in problems}) == 1 and isinstance(self.solver, Decomposition)
        sizes, watch = [len(task.rows) for task in self.tasks], self.watch()
        if alike and can_solve_together(self.gram, max(sizes), watch) and self.plan().stores:
            return solve_together, gram_to_store(self.options, self.kernel, self.X)
        return (solve_in_step, self.gram) if alike and can_advance_in_step(self.gram, sizes, watch) else None

    def plan(self) -> Plan:
        """What storing the kernel matrix would cost, and what it would spare."""
        widths = [task.problem.qp.upper - task.problem.qp.lower for task in self.tasks]
        return plan(self.gram, np.array([len(task.rows) for task in self.tasks]), np.concatenate(widths))

    def _words(self, way: tuple[SolveTogether, KernelGram] | None) -> str:
        """What was decided, and why."""
        if way is not None and way[0] is solve_in_step:
            return "tasks advance in step and share the kernel rows that they ask for"
        longest = max(len(task.rows) for task in self.tasks)
        if has_room(self.gram.n, longest, self.gram.cache_bytes):
            return str(self.plan())
        size = 4 * self.gram.n**2 / 2**20
        return (
            f"kernel rows are computed on demand: {size:,.0f} MB, or tasks of {longest:,} rows, are too much to store"
        )

    def _together(self, solve: SolveTogether, gram: KernelGram) -> None:
        qps, rows = [task.problem.qp for task in self.tasks], [task.rows for task in self.tasks]
        tasks = Tasks.of(qps, rows, [task.start for task in self.tasks])
        began = time.perf_counter()
        solved = solve(self.options.backend, tasks, gram, self.watch(), self.threads)
        seconds, share = time.perf_counter() - began, solved.entries // len(qps)
        for number, (first, last) in enumerate(pairwise(tasks.pointers.tolist())):
            beta, f, steps = solved.beta[first:last].copy(), solved.f[first:last].copy(), int(solved.steps[number])
            if not solved.finished[number]:
                self.tasks[number] = replace(self.tasks[number], start=beta, steps=steps)
                continue
            solution = Solution(beta, f, Status.OPTIMAL, steps, (), share, seconds)
            outcome = self._deliver(self.tasks[number], solution)
            if solved.error is not None and np.array_equal(outcome.delivered.dual_coef, beta):
                outcome = replace(outcome, fresh=Scores(f, solved.error[first:last], largest_value(gram)))
            self.outcomes[number] = outcome

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
                self.outcomes[number] = self._deliver(self.tasks[number], solution)
            else:
                self.tasks[number] = replace(self.tasks[number], start=solution.beta, steps=solution.n_iter)

    def _untouched(self, numbers: list[int]) -> Iterator[Outcome]:
        """Soft margins that nobody has the time to begin: no coefficients; all at once, for they may be a thousand."""
        tasks, watch = [self.tasks[number] for number in numbers], self.watch()
        problems = SoftMargins.of([task.problem for task in tasks if isinstance(task.problem, SVCProblem)])
        zero, reason = np.zeros(int(problems.pointers[-1])), watch.reason(0) or Status.TIME_LIMIT
        intercepts, violations = problems.intercepts(zero, zero), problems.violations(zero, zero)
        values = [column.tolist() for column in problems.values(zero, zero, intercepts)]
        for number, (task, b, violation, *own) in enumerate(
            zip(tasks, intercepts.tolist(), violations.tolist(), *values, strict=True)
        ):
            beta, record = zero[problems.part(number)], Record(0, 0.0, *own)
            status = Status.OPTIMAL if watch.met(record, violation) else reason
            solution = Solution(beta, beta, status, 0, (record,), 0)
            yield Outcome(Delivered(task.rows, task.problem, beta, b), solution)

    def _one(self, number: int, turn: Turn) -> Outcome | None:
        """One task in its turn; None where that is over, and all such tasks can be delivered together."""
        task, threads = self.tasks[number], max(1, self.threads // self.at_once)
        if self.reporter is None and task.is_plain_and_at_zero and turn.is_over():
            return None
        if len(task.rows) == self.gram.n:  # classes against the rest, folds: kernel rows that are kept serve all
            lane = threading.get_ident()
            if lane not in self.whole:
                self.whole[lane] = self.gram if self.at_once == 1 else self.gram.take(task.rows, threads=threads)
            gram = self.whole[lane]
            gram.entries = 0
        else:
            gram = self.gram.take(task.rows, threads=threads)
        solution = self.solver.solve(task.problem, gram, task.start, self.options.watch(turn))
        return self._deliver(task, _after(task.steps, solution) if task.steps else solution)

    def _deliver(self, task: Task, solution: Solution) -> Outcome:
        problem = task.problem
        room = RESIDUE * float(np.abs(solution.beta).max(initial=0.0))
        solution = replace(solution, beta=problem.qp.settled(solution.beta, room))
        stopped = not solution.status.reached and solution.status is not Status.STALLED
        if isinstance(problem, HardMarginProblem) and not stopped:
            try:
                solution = separated(problem, self.kernel, take(self.X, task.rows), solution)
            except NotSeparableError as error:
                raise error.on_rows(task.rows, self.gram.n) from None
        offsets = problem.offsets(solution.beta, solution.f)
        coef, intercept = problem.delivered(solution.beta, offsets)
        if not (np.isfinite(coef).all() and np.isfinite(intercept)):
            raise ValueError(
                "The dual coefficients or intercepts are not finite. The input data may contain large values; "
                "scale the features, for example with sklearn.preprocessing.StandardScaler."
            )
        return Outcome(Delivered(task.rows, problem, coef, intercept), solution)


def largest_value(gram: KernelGram) -> float:
    """A bound on k(x, x) of all rows."""
    return float(gram.diagonal.max(initial=0.0)) * ROOM


def _after(steps: int, solution: Solution) -> Solution:
    """A solution as one that took so many steps more."""
    history = tuple(record._replace(iteration=record.iteration + steps) for record in solution.history)
    return replace(solution, n_iter=solution.n_iter + steps, history=history)


def _published(outcome: Outcome) -> FloatArray:
    """The scores of the model as it is published, by the solver's own."""
    return published_scale(outcome) * outcome.solution.f + outcome.delivered.intercept


def history(outcomes: Sequence[Outcome], certificates: list[Certificate] | None) -> np.ndarray:
    """All rounds of all tasks as one structured array; a task solved in one go has one line, its final values."""
    judged: Sequence[Certificate | None] = certificates or [None] * len(outcomes)
    return history_of(
        [outcome.history or (last_record(outcome, own),) for outcome, own in zip(outcomes, judged, strict=True)]
    )


def last_record(outcome: Outcome, certificate: Certificate | None) -> Record:
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


def published_scale(outcome: Outcome) -> float:
    """dual_coef = scale * beta, hence also the scale of the published scores."""
    beta, coef = outcome.solution.beta, outcome.delivered.dual_coef
    at = int(np.argmax(np.abs(beta)))
    return float(coef[at] / beta[at]) if beta[at] != 0 else 1.0
