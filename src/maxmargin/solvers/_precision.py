"""Scores summed from float32 tiles: how far off they may be, and exact ones for the rows where that matters.

A score decides something only near the interval that the violation spans: rows further away than the error can be
neither violate nor contribute to the gap. So the error is measured on a sample, and when it is too large the scores
of the near rows alone are computed afresh in float64. Later updates are small, and so are their rounding errors.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.problems import DualQP
from maxmargin.solvers._base import Gram

#: Error of a score summed from float32 tiles, relative to the largest kernel value and the sum of |beta|.
ROUNDING_32 = 2 * float(np.finfo(np.float32).eps)
#: Rows drawn to measure the error, and the safety factor on what is seen there.
SAMPLE, SAFETY = 64, 3.0
#: Error that is small enough, relative to the violation or the tolerance.
SMALL = 0.1


@dataclass
class Subproblem:
    """A problem on some of the rows, its Gram matrix, and where its solution stands (changed in place)."""

    qp: DualQP
    gram: Gram
    beta: FloatArray
    f: FloatArray
    previous: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))  # the last working set

    @property
    def exact(self) -> bool:
        """Whether kernel values are float64."""
        return self.gram.dtype == np.float64

    def violation(self) -> float:
        """Of the optimality conditions, as far as f is known."""
        return self.qp.violation(self.beta, self.f + self.qp.linear)

    def move(self, index: IntArray, values: FloatArray) -> bool:
        """beta[index] = values, and f accordingly; whether anything changed."""
        delta = values - self.beta[index]
        moved = np.flatnonzero(delta)
        self.beta[index], self.previous = values, index
        if len(moved):
            self.gram.add_product(self.f, index[moved], delta[moved])
        return len(moved) > 0

    def in_float64(self) -> None:
        """Float32 tiles are not good enough any more: go on exactly."""
        if not self.exact:
            self.f, self.gram = self.gram.product(self.beta), self.gram.in_float64()


def refreshed(part: Subproblem, needed: float) -> bool:
    """Whether the scores were rougher than ``needed`` allows, so that those that matter have been recomputed.

    What the error may be is known from the size of beta; if that is too much, a sample shows what it is.
    """
    worst = ROUNDING_32 * float(part.gram.diagonal.max()) * float(np.abs(part.beta).sum())
    if worst <= SMALL * needed:
        return False
    error = _error(part, near(part, needed))
    if error <= SMALL * needed:
        return False
    _recompute(part, max(needed, 2 * error))
    return True


def settle(part: Subproblem, needed: float) -> None:
    """Before the end: exact scores for all rows that could still matter, given the error of all scores."""
    _recompute(part, max(needed, 2 * _error(part, np.arange(part.qp.n))))


def near(part: Subproblem, width: float) -> IntArray:
    """Rows that may be moved and whose slope is within ``width`` of the violated interval (of their side)."""
    chosen = np.zeros(part.qp.n, dtype=bool)
    for up, down in part.qp.sides(part.beta, part.f + part.qp.linear):
        low, high = float(np.min(up, initial=np.inf)), float(np.max(down, initial=-np.inf))
        chosen |= (up <= max(low, high) + width) | (down >= min(low, high) - width)
    return np.flatnonzero(chosen)


def _recompute(part: Subproblem, width: float) -> None:
    rows = near(part, width)
    part.f[rows] = part.gram.product(part.beta, rows)


def _error(part: Subproblem, rows: IntArray) -> float:
    """A bound on the error of the scores of ``rows``, from a sample."""
    sample = np.random.default_rng(0).choice(rows, size=min(SAMPLE, len(rows)), replace=False)
    exact = part.gram.product(part.beta, sample)
    return SAFETY * float(np.abs(exact - part.f[sample]).max(initial=0.0))
