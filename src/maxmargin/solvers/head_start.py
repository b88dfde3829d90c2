"""A few epochs of coordinate descent, then Newton's method: kinks at small C.

Where C ||x||^2 is small most dual variables reach their bounds within a few epochs, which are cheaper than Newton
steps; where it is large coordinate descent gets nowhere, and Newton's method begins at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.backends import Design
from maxmargin.problems import LinearProblem
from maxmargin.solvers._base import Watch
from maxmargin.solvers._linear import LinearPoint, LinearSolution
from maxmargin.solvers.dual_coordinate import DualCoordinate
from maxmargin.solvers.semismooth import SemismoothNewton

#: Median of C ||x||^2 up to which coordinate descent begins, and for how many epochs.
EASY, EPOCHS = 2.0, 30


@dataclass(frozen=True)
class HeadStart:
    """``first`` begins where that is easy, ``then`` finishes."""

    first: DualCoordinate
    then: SemismoothNewton

    def solve(self, problem: LinearProblem, design: Design, start: LinearPoint | None, watch: Watch) -> LinearSolution:
        """Improve ``start`` (or zero) until the watch says stop."""
        if start is None and float(np.median(problem.C * design.squares)) <= EASY:
            start = self.first.begin(problem, design, watch, EPOCHS)
        return self.then.solve(problem, design, start, watch)
