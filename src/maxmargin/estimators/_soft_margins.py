"""Soft margins solved, judged and published end to end: no Python between two pairs of classes.

What a fit of many tiny tasks would spend its time on is the objects that stand for each of them. Here they are made
when somebody asks for one; the fit itself asks for none.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from maxmargin._rows import count
from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.backends import single_threaded_blas
from maxmargin.certificates import Certificate, Definiteness, Scores, judge_soft_margins
from maxmargin.delivered import Delivered
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._options import FitOptions
from maxmargin.estimators._run import Outcome, Task, gram_to_store, largest_value, run_tasks
from maxmargin.estimators._turns import Turn
from maxmargin.kernels import Kernel
from maxmargin.problems import SoftMargins
from maxmargin.solvers import (
    Record,
    Solution,
    Status,
    Tasks,
    Together,
    can_solve_together,
    has_room,
    plan,
    solve_together,
)


@dataclass(frozen=True, eq=False)
class SoftOutcomes(Sequence[Outcome]):
    """What soft margins came to, each an :class:`Outcome`."""

    problems: SoftMargins
    rows: IntArray  # row of X of each position
    solved: Together
    intercept: FloatArray  # of each task
    seconds: float
    largest: float  # a bound on k(x, x)

    def __len__(self) -> int:
        return len(self.problems)

    def __getitem__(self, number):
        own = self.problems.part(number)
        beta, share = self.solved.beta[own], self.solved.entries // len(self)
        steps = int(self.solved.steps[number])
        status = Status.OPTIMAL if self.solved.finished[number] else Status.STALLED
        solution = Solution(beta, self.solved.f[own], status, steps, (), share, self.seconds)
        delivered = Delivered(self.rows[own], self.problems[number], beta, float(self.intercept[number]))
        known = None if self.solved.error is None else Scores(solution.f, self.solved.error[own], self.largest)
        return Outcome(delivered, solution, fresh=known)

    def history(self, certificates: Sequence[Certificate] | None) -> list[tuple[Record]]:
        """The last round of each, the only one there was: its certificate's values, or the solver's."""
        if certificates:
            values = [(own.primal, own.dual, own.gap) for own in certificates]
        else:
            known = self.problems.values(self.solved.beta, self.solved.f, self.intercept)
            values = list(zip(*(column.tolist() for column in known), strict=True))
        steps = self.solved.steps.tolist()
        return [(Record(n, self.seconds, *own),) for n, own in zip(steps, values, strict=True)]

    def certificates(self, definite: Definiteness) -> list[Certificate]:
        """A proof of each, by the fresh scores that ended the solver, whose errors are bounded."""
        problems, beta, error = self.problems, self.solved.beta, self.solved.error
        assert error is not None  # the caller has looked
        length = problems.spread(np.sqrt(problems.total(np.square(beta))))
        scores = Scores(self.solved.f, error, self.largest).charged(definite, length)
        return judge_soft_margins(problems, beta, self.intercept, scores, definite, "bounded")

    def left(self) -> list[tuple[int, Task]]:
        """Tasks that another solver must go on with, and where."""
        numbers = np.flatnonzero(~self.solved.finished).tolist()
        parts = [(number, self.problems.part(number)) for number in numbers]
        steps = self.solved.steps.tolist()
        return [(k, Task(self.rows[own], self.problems[k], self.solved.beta[own], steps[k])) for k, own in parts]


def run_soft_margins(
    options: FitOptions,
    kernel: Kernel,
    X: RowData,
    rows: IntArray,
    problems: SoftMargins,
    deadline: float,
    flag: InterruptFlag,
) -> Sequence[Outcome] | None:
    """Solve the soft margins on these rows of X over one kernel matrix; None where that is not the way."""
    began = time.perf_counter()
    watch, longest = options.watch(Turn(deadline, flag)), int(problems.sizes.max())
    if not problems.fit_intercept or options.solver not in ("auto", "decomposition"):
        return None
    if not has_room(count(X), longest, options.memory):  # looked at before many rows are laid out in vain
        return None
    gram = gram_to_store(options, kernel, X)
    if not (can_solve_together(gram, longest, watch) and plan(gram, problems.sizes, problems.C).stores):
        return None
    bound, start = problems.sign * problems.C, np.zeros(len(rows))
    lower, upper = np.minimum(bound, 0.0), np.maximum(bound, 0.0)
    tasks = Tasks(problems.pointers, rows, -problems.sign, lower, upper, 0.0, start)
    with nullcontext() if gram.streams_densely else single_threaded_blas():  # compiled loops do not call BLAS
        solved = solve_together(options.backend, tasks, gram, watch, options.threads)
    intercept = problems.intercepts(solved.beta, solved.f)
    outcomes = SoftOutcomes(problems, rows, solved, intercept, time.perf_counter() - began, largest_value(gram))
    left = outcomes.left()
    if not left:
        return outcomes
    others = run_tasks(options, kernel, X, [task for _, task in left], deadline, flag=flag, together=False)
    every = list(outcomes)
    for (number, _), outcome in zip(left, others, strict=True):
        every[number] = outcome
    return every
