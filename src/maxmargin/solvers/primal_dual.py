"""Primal-dual steps by prox alone: any convex loss with any convex penalty.

Problem: min P(w) + sum C_i L(t_i, x_i.w + b), where P has a prox and nothing else is known of it (p-norms).
Algorithm: Chambolle and Pock's: a prox step in (w, b), an extrapolation, a prox step in beta by Moreau's identity.
Restarted from the average of the steps whenever that has halved the gap, and the step sizes balanced then. Where it
crawls, another method goes on if there is one for the penalty; if not, that is the end.
Cost of a step: two products with X. Papers: Chambolle and Pock 2011; Applegate et al. 2021 (restarts).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.backends import Design
from maxmargin.problems import LinearProblem, relative
from maxmargin.solvers._base import Crawl, Record, Status, Watch
from maxmargin.solvers._linear import LinearPoint, LinearSolution, conclude, made_feasible, noted

#: Steps of a round, after which the gap is looked at; rounds are what is counted.
LOOK = 20
#: A restart needs the gap of the average to have fallen to this share, or that many looks to have passed.
RESTART, RESTART_LOOKS = 0.5, 40
#: Rounds in which the gap is not halved after which the method gives up; and where no other could go on and the
#: relative gap is below this.
PATIENCE, MORE_PATIENCE, PROMISING = RESTART_LOOKS + 20, 200, 0.1
#: Power iterations for the norm of X.
POWER = 50


@dataclass(frozen=True)
class PrimalDual:
    """``then`` is the solver that goes on where this one crawls, or None."""

    then: Any = None

    def solve(self, problem: LinearProblem, design: Design, start: LinearPoint | None, watch: Watch) -> LinearSolution:
        """Improve ``start`` (or zero) until the watch says stop."""
        begun = self._steps(problem, design, start, watch)
        if begun.status is not Status.SLOW or self.then is None:
            return begun
        left = watch.steps_left(begun.n_iter, watch.max_iter)
        ended: LinearSolution = self.then.solve(problem, design, begun.point, replace(watch, max_iter=left))
        return replace(ended, n_iter=begun.n_iter + ended.n_iter)

    def _steps(self, problem: LinearProblem, design: Design, start: LinearPoint | None, watch: Watch) -> LinearSolution:
        """Primal-dual steps until the watch says stop, or until they crawl."""
        norm = 1.01 * operator_norm(design, problem.fit_intercept)
        weight, n_iter = 1.0, 0
        w, b = (np.zeros(design.d), 0.0) if start is None else (start.w.copy(), start.intercept)
        beta = np.zeros(design.n) if start is None else start.beta.copy()
        begin, looks, crawl = np.inf, 0, Crawl()
        sums: list[Any] = [np.zeros(design.d), 0.0, np.zeros(design.n), 0]
        origin = (w, b, beta)
        while True:
            for _ in range(LOOK):
                w, b, beta = _step(problem, design, w, b, beta, weight / norm, 1 / (weight * norm))
                sums = [sums[0] + w, sums[1] + b, sums[2] + beta, sums[3] + 1]
            n_iter, looks = n_iter + 1, looks + 1
            last = _evaluated(problem, design, w, b, beta)
            average = _evaluated(problem, design, sums[0] / sums[3], sums[1] / sums[3], sums[2] / sums[3])
            gap, primal, point = min(last, average, key=lambda found: found[0])
            record = Record(n_iter, time.perf_counter() - watch.began, primal, primal - gap, gap)
            status = noted(problem, watch, record, point.w)
            if status is None and not np.isfinite(w).all():  # steps too long for data of this size
                status = Status.SLOW
            promising = self.then is None and relative(gap, primal, primal - gap) < PROMISING
            if status is None and crawl.since(n_iter, gap) > (MORE_PATIENCE if promising else PATIENCE):
                status = Status.SLOW
            if status is not None:
                return conclude(problem, design, point, status, n_iter, watch)
            if gap <= RESTART * begin or looks >= RESTART_LOOKS:
                w, b, beta = point.w, point.intercept, point.beta
                moved = math.hypot(float(np.linalg.norm(w - origin[0])), b - origin[1])
                dual_moved = float(np.linalg.norm(beta - origin[2]))
                if 0 < moved < np.inf and 0 < dual_moved < np.inf:
                    weight = float(np.exp(0.5 * np.log(moved / dual_moved) + 0.5 * np.log(weight)))
                origin, begin, looks = (w, b, beta), gap, 0
                sums = [np.zeros(design.d), 0.0, np.zeros(design.n), 0]


def _step(problem: LinearProblem, design: Design, w, b, beta, tau: float, sigma: float):
    """One prox step in (w, b), then one in beta at the extrapolated scores."""
    new_w = problem.penalty.prox(w + tau * design.combine(beta), tau)
    new_b = b + tau * float(beta.sum()) if problem.fit_intercept else 0.0
    f = design.scores(2 * new_w - w) + 2 * new_b - b
    # beta = -u: Moreau's identity for the conjugate of C L at u - sigma f
    y = f - beta / sigma
    nearest = problem.loss.prox(problem.target, y, problem.C / sigma)
    return new_w, new_b, -sigma * (y - nearest)


def _evaluated(problem: LinearProblem, design: Design, w: FloatArray, b: float, beta: FloatArray):
    """(gap, primal, the point with a feasible beta)."""
    f = design.scores(w)
    b = problem.intercept(f, b)
    point = made_feasible(problem, design, LinearPoint(w, b, beta))
    return problem.gap(w, f + b, point.beta, design.combine(point.beta)), problem.primal(w, f + b), point


def operator_norm(design: Design, bias: bool) -> float:
    """The largest singular value of X, with a column of ones if there is an intercept."""
    x: FloatArray = np.sqrt(design.column_squares) + 1e-3
    b, size = (1.0 if bias else 0.0), 1.0
    for _ in range(POWER):
        f = design.scores(x) + b
        x, b = design.combine(f), float(f.sum()) if bias else 0.0
        size = float(np.sqrt(x @ x + b * b))
        if size == 0:
            return 1.0
        x, b = x / size, b / size
    return float(np.sqrt(size))
