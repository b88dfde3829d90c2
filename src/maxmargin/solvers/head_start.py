"""Coordinate descent where it is quick, Newton's method where it is not: losses with kinks.

Where C ||x||^2 is small most dual variables reach their bounds within a few epochs, which are cheaper than Newton
steps. Where it is large coordinate descent gets nowhere, and Newton's method begins at once; so it does with an
intercept, which coordinate descent finds in several rounds and Newton's method as one more column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxmargin.backends import Design
from maxmargin.problems import LinearProblem
from maxmargin.solvers._base import Status, Watch
from maxmargin.solvers._linear import LinearPoint, LinearSolution
from maxmargin.solvers.dual_coordinate import DualCoordinate
from maxmargin.solvers.semismooth import SemismoothNewton

#: Median of C ||x||^2 up to which coordinate descent is tried, and for how many passes over the data.
EASY, PASSES = 1.0, 10


@dataclass(frozen=True)
class HeadStart:
    """``first`` begins where that is easy, ``then`` goes on if it did not finish."""

    first: DualCoordinate
    then: SemismoothNewton

    def solve(self, problem: LinearProblem, design: Design, start: LinearPoint | None, watch: Watch) -> LinearSolution:
        """Improve ``start`` (or zero) until the watch says stop."""
        few = PASSES if watch.max_iter < 0 else min(PASSES, watch.max_iter)
        easy = not problem.fit_intercept and float(np.median(problem.C * design.squares)) <= EASY
        if start is not None or few == 0 or not easy:
            return self.then.solve(problem, design, start, watch)
        begun = self.first.solve(problem, design, None, replace(watch, max_iter=few))  # one history, one clock
        if begun.status not in (Status.MAX_ITER, Status.STALLED) or few == watch.max_iter:
            return begun
        return self.then.solve(problem, design, begun.point, watch)
