"""Stochastic gradient descent in epochs or seasons: a constant rate within each, m / (e + l) in the e-th.

Problem, invariant and cost are those of :mod:`.stochastic`. Three rules end a run: a number of seasons, an error on
held-out rows that is small enough, no better such error for some seasons. With one of the last two the season of the
smallest such error is delivered.
Reference: Forsyth 2019, "Applied Machine Learning", section 2.1.

See "Stochastic gradient descent in seasons" in ``docs/theory.md``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.backends import Design
from maxmargin.problems import LinearProblem
from maxmargin.solvers._base import Status, Watch
from maxmargin.solvers._linear import LinearSolution
from maxmargin.solvers.stochastic import Run, Vectors, Visits, look, started, unseen

#: Rows on which the schedule is tuned, the seasons of a trial, and the most rows on which the objective is evaluated.
TUNED_ON, TUNED_FOR, EVALUATED_ON = 1000, 10, 10_000
#: First rates that are tried, times the inverse of the rows' median ||x||^2, and values of l.
FIRST_RATES, DELAYS = 4.0 ** np.arange(-5.0, 3.0), (1.0, 10.0, 100.0)


class Schedule(NamedTuple):
    """eta(e) = m / (e + l)."""

    m: float
    l: float

    def rate(self, season: int) -> float:
        """The rate of a season; they are counted from 1."""
        return self.m / (season + self.l)


class HeldOut(NamedTuple):
    """Rows that are not trained on."""

    design: Design
    sign: FloatArray
    weight: FloatArray

    def error(self, w: FloatArray, b: float) -> float:
        """The weighted share of wrong signs; a score of 0 is the negative class."""
        wrong = (self.design.scores(w) + b > 0) != (self.sign > 0)
        return float(self.weight @ wrong) / float(self.weight.sum())


class Season(NamedTuple):
    """One line of history."""

    season: int
    steps: int
    eta: float
    error: float
    objective: float


@dataclass(frozen=True)
class Seasons:
    """Options: how long a season is (None: a pass), how many there are, and when to stop before that."""

    schedule: Schedule
    most: int
    length: int | None = None  # steps
    average: bool = True
    error_goal: float | None = None
    patience: int | None = None
    before: int = 0  # seasons of an earlier run
    looks: bool = True  # whether the end is looked at

    def solve(
        self, problem: LinearProblem, run: Run, order: Visits, watch: Watch, held: HeldOut | None
    ) -> tuple[LinearSolution, list[Season]]:
        """Seasons until a rule or the watch says stop; the last one or, if held-out rows are watched, the best."""
        lines: list[Season] = []
        objective = _Objective(problem, run, order)
        status, before, best = None, run.steps, run.model()
        for season in range(self.before + 1, self.before + self.most + 1):
            eta = self.schedule.rate(season)
            self._season(run, order, eta)
            w, b = run.model()
            error = float("nan") if held is None else held.error(w, b)
            lines.append(Season(season, run.steps - before, eta, error, objective(w, b)))
            if self._is_best(lines):
                best = w, b
            if self._enough(lines):
                status = Status.OPTIMAL
            elif watch.callback is not None and season & (season - 1) == 0:
                status = watch.note(look(problem, run, season, watch)[0])
            elif watch.must_stop(0):
                break
            if status is not None:
                break
        if self.looks or watch.callback is not None:
            record, point = look(problem, run, len(lines), watch, best)
            reason = watch.note(record)
        else:
            point, reason = unseen(problem, run, best), watch.reason(len(lines))
        seconds = time.perf_counter() - watch.began
        status = status or reason or Status.OPTIMAL
        return LinearSolution(point, status, len(lines), tuple(watch.history), seconds), lines

    def _season(self, run: Run, order: Visits, eta: float) -> None:
        run.forget_average()
        visits = order.take(1) if self.length is None else order.next(self.length * run.batch)
        run.advance(visits, eta, self.average)

    def _is_best(self, lines: list[Season]) -> bool:
        """Whether the last season is the one to deliver: unless a rule watches held-out rows it always is."""
        if (self.error_goal is None and self.patience is None) or np.isnan(lines[-1].error):
            return True
        return min(lines, key=lambda line: (line.error, line.objective)) is lines[-1]

    def _enough(self, lines: list[Season]) -> bool:
        """Whether the held-out error says stop; where no row was held out it says nothing."""
        errors = [line.error for line in lines]
        if np.isnan(errors[-1]):
            return False
        if self.error_goal is not None and errors[-1] <= self.error_goal:
            return True
        return self.patience is not None and len(errors) - 1 - int(np.argmin(errors)) >= self.patience


class _Objective:
    """lam/2 ||w||^2 + the mean loss, estimated on some of the rows."""

    def __init__(self, problem: LinearProblem, run: Run, order: Visits):
        index = order.spread(EVALUATED_ON) if problem.n > EVALUATED_ON else np.arange(problem.n)
        whole = len(index) == problem.n
        self._design = run.design if whole else run.design.take(index)
        share = run.lam * problem.C[index]
        self._loss, self._target, self._lam = problem.loss, problem.target[index], run.lam
        self._share = share if whole else share * (run.lam * float(problem.C.sum()) / float(share.sum()))

    def __call__(self, w: FloatArray, b: float) -> float:
        losses = self._loss.value(self._target, self._design.scores(w) + b)
        return self._lam / 2 * float(w @ w) + float(self._share @ losses)


def tuned_schedule(run: Run, index: IntArray, seasons: int, seed: int) -> Schedule:
    """The m and l that do best on the rows ``index``, a season being a pass over these."""
    part, push = run.design.take(index), run.push[index]
    squares = float(np.median(part.squares)) + float(run.bias)
    base = 1.0 / squares if squares > 0 else 1.0
    best, value = Schedule(base, 1.0), np.inf
    for first in base * FIRST_RATES:
        for delay in DELAYS:
            schedule = Schedule(float(first) * (1.0 + delay), delay)
            trial = Run(run.backend, part, push, run.lam, run.batch, run.bias, _from(run))
            found = _tried(trial, schedule, seasons, seed)
            if found < value:
                best, value = schedule, found
    return best


def _from(run: Run) -> Vectors:
    """New vectors at the run's iterate."""
    vectors = started(len(run.vectors.v), 0)
    vectors.v[:] = run.vectors.state[1] * run.vectors.v
    vectors.state[4] = run.vectors.state[4]
    return vectors


def _tried(run: Run, schedule: Schedule, seasons: int, seed: int) -> float:
    """The objective on the trial's rows after some seasons."""
    n = run.design.n
    order = Visits(run.backend, np.arange(n), np.ones(n), "shuffle", seed)
    for season in range(1, seasons + 1):
        run.forget_average()
        run.advance(order.take(1), schedule.rate(season), True)
    w, b = run.model()
    losses = np.abs(run.push) * np.maximum(0.0, 1.0 - np.sign(run.push) * (run.design.scores(w) + b))
    value = run.lam / 2 * float(w @ w) + float(losses.mean())
    return value if np.isfinite(value) else np.inf
