"""The parts of a fit of linear machines on a cluster: tasks in rounds, a proof in parts, a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.certificates import Certificate, joined_linear, joined_sums, shrunk
from maxmargin.distributed._crew import Apart, Crew
from maxmargin.distributed._facts import Facts
from maxmargin.distributed._linear_part import LinearClaim, LinearPlan, Point
from maxmargin.distributed._linear_rounds import LinearOutcome, LinearRounds
from maxmargin.estimators.interface import (
    Family,
    FitOptions,
    Goal,
    LinearFit,
    Training,
    history_of,
    require_finite,
    side_by_side,
    take_turns,
    unscaled,
    write_fit,
)
from maxmargin.exceptions import ClusterError
from maxmargin.problems import LinearProblem
from maxmargin.solvers import require_convex

#: Tasks that are under way at a time.
AT_ONCE = 4


class ClusterLinearTasks(Family[LinearOutcome]):
    """Tasks of a linear machine whose rows are on a cluster."""

    def __init__(self, machine: Any, data: Training, crew: Crew, plan: LinearPlan, found: Facts, starts: Any):
        self.machine, self.data, self.crew, self.plan, self.starts = machine, data, crew, plan, starts
        self.options, self.d = FitOptions.of(machine), found.d
        loss, penalty = machine._pair()
        require_convex(loss, penalty)
        if not penalty.separable:
            raise ValueError(
                f"penalty {penalty.name!r} is there on one computer only; use 'l1', 'l2', 'elasticnet' or None"
            )
        self.problem = LinearProblem(loss, penalty, np.zeros(0), np.zeros(0), machine.fit_intercept)

    def goal(self):
        return Goal(np.inf, self.machine.tol)

    def solve(self, reporter):
        labels = self.plan.labels
        tasks = 1 if labels is None else len(labels.scheme.names(labels.classes))
        reporter.begin(tasks)

        def one(number: int, turn: Any) -> LinearOutcome:
            watch = turn.watch(0.0, self.options.tol, self.options.max_iter)
            point, start = Point(np.zeros(self.d), 0.0), None
            if self.starts is not None:
                point, start = self.starts[number]
            rounds = LinearRounds(self.crew, self.plan, number, self.problem, self.d, watch, point, start)
            try:
                return rounds.solve()
            except ClusterError:
                self.machine._save_point(self.data, self.plan, tasks, number, rounds.point)
                raise

        at_once = side_by_side(reporter, tasks, AT_ONCE)
        solved = take_turns(one, list(range(tasks)), at_once, self.machine._solving_ends(self.data), reporter)
        found = [solved[number] for number in range(tasks)]
        for own in found:
            require_finite(np.append(own.w, own.b))
        return found

    def prove(self, solutions):
        W, b = self._published(solutions)
        return [self._certificate(k, W[k], float(b[k]), solutions[k]) for k in range(len(solutions))]

    def _published(self, solutions: Sequence[LinearOutcome]) -> tuple[FloatArray, FloatArray]:
        W, b = np.array([own.w for own in solutions]), np.array([own.b for own in solutions])
        return unscaled(W, b, self.plan.scaling)

    def _certificate(self, task: int, coef: FloatArray, b: float, solution: LinearOutcome) -> Certificate:
        claims = Apart({p: LinearClaim(coef, b, *own) for p, own in enumerate(solution.beta)})
        parts = self.crew.call("judged_sums", self.plan, task, claims)
        v, off, largest = joined_sums([part[:3] for part in parts])
        rest = abs(float(np.sum([part[3] for part in parts]))) if self.problem.fit_intercept else 0.0
        off = off + rest * largest
        factor = shrunk(self.problem, v, off)
        shares = self.crew.call("judged", self.plan, task, claims, factor)
        return joined_linear(self.problem, coef, self.plan.scaling, shares, factor, (v, off, largest))

    def write(self, draft, solutions, certificates, reached):
        sizes = self.crew.call("size")
        starts = np.concatenate([[0], np.cumsum(sizes)])
        numbers = [
            np.concatenate([starts[p] + own[0] for p, own in enumerate(solution.beta)]) for solution in solutions
        ]
        used = np.unique(np.concatenate(numbers)).astype(np.intp)
        beta = np.zeros((len(solutions), len(used)))
        for line, own, solution in zip(beta, numbers, solutions, strict=True):
            line[np.searchsorted(used, own)] = np.concatenate([values for _, values in solution.beta])
        W, b = np.array([own.w for own in solutions]), np.array([own.b for own in solutions])
        n_iter = max(own.n_iter for own in solutions)
        model = LinearFit(
            W, b, np.arange(len(used)), beta, self.plan.cost, n_iter, history_of([own.history for own in solutions])
        )
        write_fit(draft, self.data._replace(kept=used), model, self.plan.scaling)
        draft.traffic_ = self.crew.traffic.copy()
