"""Many soft margins laid end to end: what is asked of all of them at once has no Python between two of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.problems._classification import SVCProblem
from maxmargin.problems._dual_qp import AT_BOUND


@dataclass(frozen=True, eq=False)
class SoftMargins(Sequence[SVCProblem]):
    """:class:`SVCProblem` number t at the positions pointers[t] to pointers[t + 1]; none of them is empty."""

    pointers: IntArray
    sign: FloatArray
    C: FloatArray
    fit_intercept: bool = True

    def __len__(self) -> int:
        return len(self.pointers) - 1

    @overload
    def __getitem__(self, number: int) -> SVCProblem: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[SVCProblem]: ...

    def __getitem__(self, number):
        if isinstance(number, slice):
            return [self[k] for k in range(*number.indices(len(self)))]
        own = self.part(number)
        return SVCProblem(self.sign[own], self.C[own], self.fit_intercept)

    @classmethod
    def of(cls, problems: Sequence[SVCProblem]) -> SoftMargins:
        """Problems that all have an intercept, or none of which has one."""
        sizes = [len(problem.sign) for problem in problems]
        return cls(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([problem.sign for problem in problems]),
            np.concatenate([problem.C for problem in problems]),
            problems[0].fit_intercept,
        )

    def part(self, number: int) -> slice:
        """The positions of a problem."""
        if not -len(self) <= number < len(self):
            raise IndexError(f"there are {len(self)} problems; got number {number}")
        first, last = self.pointers[number % len(self) :][:2].tolist()
        return slice(first, last)

    @cached_property
    def sizes(self) -> IntArray:
        """Rows of every problem."""
        return np.diff(self.pointers)

    def total(self, values: FloatArray) -> FloatArray:
        """Sum of the values of each problem."""
        return np.add.reduceat(values, self.pointers[:-1])

    def least(self, values: FloatArray) -> FloatArray:
        """Least of the values of each problem."""
        return np.minimum.reduceat(values, self.pointers[:-1])

    def most(self, values: FloatArray) -> FloatArray:
        """Largest of the values of each problem."""
        return np.maximum.reduceat(values, self.pointers[:-1])

    def spread(self, values: FloatArray) -> FloatArray:
        """A value of each problem, for each of its rows."""
        return np.repeat(values, self.sizes)

    def moves(self, alpha: FloatArray, room: float) -> tuple[Array, Array]:
        """Which beta = sign alpha may rise, and which may fall; values within ``room``, relatively, are at a bound."""
        above, below = alpha > room * self.C, alpha < (1.0 - room) * self.C
        return np.where(self.sign > 0, below, above), np.where(self.sign > 0, above, below)

    def slopes(
        self, alpha: FloatArray, f: FloatArray, room: float, error: FloatArray | float = 0.0
    ) -> tuple[Array, Array]:
        """(least slope of a rise, largest slope of a fall) in each problem, at the worst scores within ``error``."""
        rises, falls = self.moves(alpha, room)
        slope = f - self.sign
        return self.least(np.where(rises, slope - error, np.inf)), self.most(np.where(falls, slope + error, -np.inf))

    def violations(self, beta: FloatArray, f: FloatArray) -> FloatArray:
        """:meth:`DualQP.violation` of each problem, all of which have an intercept."""
        rise, fall = self.slopes(self.sign * beta, f, AT_BOUND)
        return np.maximum(0.0, fall - rise)

    def intercepts(self, beta: FloatArray, f: FloatArray) -> FloatArray:
        """:meth:`SVCProblem.offsets` of each problem."""
        if not self.fit_intercept:
            return np.zeros(len(self))
        rises, falls = self.moves(self.sign * beta, AT_BOUND)
        free, slope = rises & falls, f - self.sign
        count = self.total(free.astype(np.float64))
        if count.all():
            return -self.total(np.where(free, slope, 0.0)) / count
        high, low = self.least(np.where(rises, slope, np.inf)), self.most(np.where(falls, slope, -np.inf))
        ends = [np.where(np.isinf(high), low, high), np.where(np.isinf(low), high, low)]  # one end where there is one
        middle = np.where(np.isinf(ends[0]), 0.0, (ends[0] + ends[1]) / 2)
        mean = self.total(np.where(free, slope, 0.0)) / np.maximum(count, 1.0)
        return -np.where(count > 0, mean, middle)

    def values(self, beta: FloatArray, f: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(primal, dual, gap) of each problem at these coefficients, scores and intercepts."""
        alpha, short = self.sign * beta, 1.0 - self.sign * (f + self.spread(b))
        square, gap = self.total(beta * f), (self.C - alpha) * np.maximum(0.0, short) + alpha * np.maximum(0.0, -short)
        primal = square / 2 + self.total(self.C * np.maximum(0.0, short))
        return primal, self.total(alpha) - square / 2, self.total(gap)
