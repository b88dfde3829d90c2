"""Few of many features: penalties that set most weights to 0, solved on the features that may be needed.

Problem: min P(w) + sum C_i L(t_i, x_i.w + b) with |w_j| in P and more features than Newton's equations can hold.
Algorithm: solve on a set of features; those left out whose |X'beta| exceeds the penalty's slope join; repeat.
Invariant: weights outside the set are 0. The gap is that of the whole problem. Paper: Massias, Gramfort, Salmon 2018.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from maxmargin.backends import Design
from maxmargin.problems import LinearProblem, relative
from maxmargin.solvers._base import Record, Status, Watch
from maxmargin.solvers._linear import LinearPoint, LinearSolution, conclude, made_feasible, noted
from maxmargin.solvers.semismooth import SemismoothNewton

#: Features of the first set, and by what factor a set may grow.
FIRST_SET, GROWTH = 100, 2
#: How much further than the goal a set is solved, and at first: this share of the relative gap there is.
DEEPER, LOOSE = 0.3, 0.1


@dataclass(frozen=True)
class FeatureSets:
    """``inner`` solves on a set of features."""

    inner: SemismoothNewton

    def solve(self, problem: LinearProblem, design: Design, start: LinearPoint | None, watch: Watch) -> LinearSolution:
        """Improve ``start`` (or zero) until the watch says stop."""
        w, b = (
            (np.zeros(design.d), problem.intercept(np.zeros(design.n))) if start is None else (start.w, start.intercept)
        )
        beta = problem.feasible(problem.slopes(design.scores(w) + b)) if start is None else start.beta
        n_iter, warm, least, share, left = 0, start is not None, DEEPER * (watch.gap_tol or 0.0), LOOSE, 1.0
        chosen = np.flatnonzero(w)
        while True:
            v = np.abs(design.combine(beta))
            v[chosen] = -1.0
            room = max(FIRST_SET, (GROWTH - 1) * len(chosen))
            worst = np.argsort(-v, kind="stable")[:room]
            worst = worst[v[worst] > problem.penalty.absolute]
            if len(chosen) == 0 and len(worst) == 0:
                worst = np.array([int(np.argmax(v))])
            chosen = np.sort(np.concatenate([chosen, worst]))
            part = design.columns(chosen)
            inner = replace_watch(watch, max(least, share * left))
            solution = self.inner.solve(problem, part, LinearPoint(w[chosen], b, beta) if warm else None, inner)
            n_iter, warm = n_iter + solution.n_iter, True
            w = np.zeros(design.d)
            w[chosen], b, beta = solution.point.w, solution.point.intercept, solution.point.beta
            point = made_feasible(problem, design, LinearPoint(w, b, beta))
            f = part.scores(solution.point.w) + b
            gap, primal = problem.gap(w, f, point.beta, design.combine(point.beta)), problem.primal(w, f)
            record = Record(n_iter, time.perf_counter() - watch.began, primal, primal - gap, gap)
            status, left = noted(problem, watch, record, w), relative(gap, primal, primal - gap)
            if status is None and len(worst) == 0:
                status = Status.STALLED if solution.status is not Status.OPTIMAL else None
                least, share = DEEPER * least, DEEPER * share
            if status is not None:
                return conclude(problem, design, point, status, n_iter, watch)


def replace_watch(watch: Watch, gap_tol: float) -> Watch:
    """A watch for a part of the work: another goal, the same clock, nobody told."""
    return replace(watch, gap_tol=gap_tol, history=[], callback=None)
