"""Batch subgradient descent: the textbook's first method, to be looked at.

Problem: F(w, b) = lam P(w) + (1/n) sum L(t_i, x_i.w + b), in the solver's units lam = 1 / sum(C).
Step: w <- w - eta (lam P'(w) + (1/n) sum L'(f_i) x_i), b likewise, with eta_t = 1 / (lam (t + t0)) where P has squares,
1 / sqrt(t) otherwise; for the hinge that is the sum over the rows V with t_i f_i < 1.
Invariant: none; the objective may rise, so the best point seen is the one delivered. Cost: two products with X a step.

See "Batch subgradient descent" in ``docs/theory.md``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from maxmargin.backends import Design
from maxmargin.problems import LinearProblem
from maxmargin.solvers._base import Record, Status, Watch
from maxmargin.solvers._linear import LinearPoint, LinearSolution, conclude, made_feasible, noted


@dataclass(frozen=True)
class Subgradient:
    """No options: the step is the textbook's."""

    def solve(self, problem: LinearProblem, design: Design, start: LinearPoint | None, watch: Watch) -> LinearSolution:
        """Improve ``start`` (or zero) until the watch says stop."""
        total = float(problem.C.sum())
        lam = 1.0 / total
        w, b = (np.zeros(design.d), 0.0) if start is None else (start.w.copy(), start.intercept)
        # with steps 1 / (lam t) the first ones are longer than the data are wide by far: begin later
        first = max(1.0, float(problem.C @ design.squares) / total / lam) if problem.penalty.quadratic > 0 else 1.0
        average = np.zeros(design.n)
        n_iter, best, point = 0, None, LinearPoint(w, b, average)
        while True:
            f = design.scores(w) + b
            if not np.isfinite(f).all():  # steps too long for data of this size
                return conclude(problem, design, point, Status.SLOW, n_iter, watch)
            beta = problem.slopes(f)
            average += (beta - average) * (2.0 / (n_iter + 2.0))  # later slopes count more
            primal = problem.primal(w, f)
            if best is None or primal < best[0]:
                best = (primal, w, b)
            point = made_feasible(problem, design, LinearPoint(best[1], best[2], average))
            gap = max(0.0, best[0] - problem.dual(point.beta, design.combine(point.beta)))
            record = Record(n_iter, time.perf_counter() - watch.began, best[0], best[0] - gap, gap)
            status = noted(problem, watch, record, point.w)
            if status is not None:
                return conclude(problem, design, point, status, n_iter, watch)
            rate = 1.0 / (lam * (n_iter + first)) if problem.penalty.quadratic > 0 else 1.0 / np.sqrt(n_iter + 1.0)
            w = w - rate * (lam * problem.penalty.subgradient(w) - design.combine(beta) / total)
            b = b + rate * float(beta.sum()) / total if problem.fit_intercept else 0.0
            n_iter += 1
