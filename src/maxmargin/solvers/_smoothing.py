"""Losses and 1-norms made smooth, as the method of multipliers does: a kink becomes a short parabola.

The Moreau envelope of h around a multiplier ``centre`` has the slope

    beta(f) = clip(centre + rate (linear - f)),

and the true optimum is found whatever the rate, once ``centre`` is the optimal multiplier: so rates stay moderate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.losses import Quadratic
from maxmargin.penalties import Penalty
from maxmargin.problems import LinearProblem

if TYPE_CHECKING:
    from maxmargin.backends import NumbaBackend

#: First rate: the parabola is this many times as wide as the loss is high where its slope changes.
FIRST_RATE, WARM_RATE = 0.1, 10.0
#: First strength of a proximal term, relative to the mean curvature of the rows.
PULL = 0.1


class RowLosses(Protocol):
    """The rows' part of a smooth objective: sum_i h_i(f_i)."""

    exact: bool  # whether nothing was smoothed

    @property
    def largest(self) -> float:
        """Curvature of a row on its parabola."""

    def slopes(self, f: FloatArray) -> FloatArray:
        """beta = -h'(f)."""

    def along(self, f: FloatArray, df: FloatArray, beta: FloatArray) -> Callable[[float], float]:
        """The function step -> beta(f + step df) . df, for steps of 0 (where beta is ``beta``) to 1."""

    def values(self, f: FloatArray, beta: FloatArray) -> tuple[float, float]:
        """(sum of the true losses at f, the rows' share of the gap that ``beta`` leaves)."""

    def curvature(self, f: FloatArray, beta: FloatArray) -> FloatArray:
        """h''(f) of every row."""

    def tighten(self, beta: FloatArray, factor: float) -> None:
        """Centre at ``beta`` and narrow the parabolas."""


def smooth_rows(
    backend: NumbaBackend,
    problem: LinearProblem,
    start: FloatArray | None,
    threads: int = 1,
    height: float | None = None,
) -> RowLosses:
    """The problem's rows as a smooth function of the scores; ``height`` is their unit where it is not theirs to say."""
    if isinstance(problem.loss, Quadratic):
        return QuadraticRows(backend, problem, start, threads, height)
    return SmoothRows(problem)


class SmoothRows:
    """A loss that is smooth by itself and has no quadratic dual: logistic, exponential."""

    exact = True
    largest = 1.0

    def __init__(self, problem: LinearProblem):
        self.problem = problem

    def slopes(self, f):
        return self.problem.slopes(f)

    def along(self, f, df, beta):
        return lambda step: float(self.problem.slopes(f + step * df) @ df)

    def values(self, f, beta):
        losses = float(self.problem.C @ self.problem.loss.value(self.problem.target, f))
        return losses, self.problem.row_gap(f, beta)

    def curvature(self, f, beta):
        return self.problem.C * self.problem.loss.curvature(self.problem.target, f)

    def tighten(self, beta, factor):
        """Nothing to do: there is no kink."""


class QuadraticRows:
    """A loss with a quadratic dual; kinks are smoothed, smooth ones are left as they are."""

    def __init__(
        self,
        backend: NumbaBackend,
        problem: LinearProblem,
        start: FloatArray | None,
        threads: int = 1,
        height: float | None = None,
    ):
        self.backend, self.form, self.threads = backend, problem.form, threads
        self.ridge = np.broadcast_to(np.asarray(self.form.ridge, dtype=np.float64), (problem.n,)).copy()
        self.exact = problem.loss.smooth
        self.centre = np.zeros(problem.n) if start is None else start
        self.rate: FloatArray = np.ones(problem.n)
        if not self.exact:
            if height is None:
                height = 1.0 if problem.loss.of_margin else _spread(problem)
            self.rate = problem.C * ((FIRST_RATE if start is None else WARM_RATE) / height)

    @property
    def largest(self) -> float:
        return float(np.max(self.rate / ((0.0 if self.exact else 1.0) + self.rate * self.ridge)))

    def slopes(self, f):
        return self._slopes(f, f, 0.0, self._tables())[0]

    def along(self, f, df, beta):
        ends, whole = self._slopes(f, df, 1.0, self._tables())
        inner: list[Callable[[float], float]] = []

        def product(step: float) -> float:
            if step == 1.0:
                return whole
            if not inner:
                inner.append(self._between(f, df, beta, ends))
            return inner[0](step)

        return product

    def _between(self, f, df, beta, ends):
        """The same for steps between 0 and 1: a row whose slope is the same at both ends is at a bound all the way."""
        moving = np.flatnonzero(ends != beta)
        fixed = float(beta @ df) - float(beta[moving] @ df[moving])
        f, df, tables = f[moving], df[moving], tuple(table[moving] for table in self._tables())
        return lambda step: fixed + self._slopes(f, df, step, tables)[1]

    def values(self, f, beta):
        form = self.form
        return self.backend.row_values(f, beta, form.linear, self.ridge, form.eps, form.lower, form.upper, self.threads)

    def _tables(self):
        return self.centre, self.rate, self.form.linear, self.ridge, self.form.lower, self.form.upper

    def _slopes(self, f, df, step, tables):
        centre, rate, linear, ridge, lower, upper = tables
        out, keep = np.empty(len(f)), 0.0 if self.exact else 1.0
        total = self.backend.smoothed_slopes(
            f, df, step, centre, keep, rate, linear, ridge, self.form.eps, lower, upper, out, self.threads
        )
        return out, total

    def curvature(self, f, beta):
        form, keep = self.form, 0.0 if self.exact else 1.0
        return self.backend.slope_curvatures(
            beta, keep, self.rate, self.ridge, form.eps, form.lower, form.upper, self.threads
        )

    def tighten(self, beta, factor):
        self.centre, self.rate = beta, self.rate * factor


class SmoothPenalty:
    """quadratic/2 ||w||^2 + absolute ||w||_1 with its kinks smoothed.

    Without squares Newton's equations may be singular; then a proximal term holds w near where the last round ended.
    """

    def __init__(self, penalty: Penalty, scale: FloatArray, w: FloatArray, start: FloatArray | None):
        self.quadratic, self.absolute = penalty.quadratic, penalty.absolute
        self.centre = np.zeros(len(scale)) if start is None else start
        first = FIRST_RATE if start is None else WARM_RATE
        self.rate = self.absolute * first * np.maximum(scale, 1e-300)
        self.anchor = w
        self.pull = np.zeros(len(scale)) if self.quadratic > 0 else PULL * np.maximum(scale, 1e-300) ** 2

    @property
    def exact(self) -> bool:
        """Whether nothing was added or smoothed."""
        return self.absolute == 0 and self.quadratic > 0

    def slope(self, w: FloatArray) -> FloatArray:
        """Gradient at w."""
        if self.exact:
            return self.quadratic * w
        held = np.clip(self.centre + self.rate * w, -self.absolute, self.absolute)
        return self.quadratic * w + held + self.pull * (w - self.anchor)

    def curvature(self, w: FloatArray) -> FloatArray:
        """Diagonal of the Hessian at w."""
        if self.exact:
            return np.full(len(w), self.quadratic)
        flat = np.abs(self.centre + self.rate * w) < self.absolute
        return self.quadratic + self.pull + np.where(flat, self.rate, 0.0)

    def kink_gap(self, w: FloatArray) -> float:
        """How much absolute ||w||_1 exceeds its slopes times w, and what the proximal term still costs."""
        held = np.clip(self.centre + self.rate * w, -self.absolute, self.absolute)
        return float(np.sum(self.absolute * np.abs(w) - held * w + self.pull * (w - self.anchor) ** 2))

    def sparse(self, w: FloatArray) -> FloatArray:
        """w with the weights at 0 whose kink holds them there."""
        if self.absolute == 0:
            return w
        return np.where(np.abs(self.centre + self.rate * w) < self.absolute, 0.0, w)

    def tighten(self, w: FloatArray, factor: float) -> None:
        """Centre at the slopes of w, and narrow the parabolas."""
        self.centre = np.clip(self.centre + self.rate * w, -self.absolute, self.absolute)
        self.rate, self.anchor, self.pull = self.rate * factor, w, self.pull / factor


def _spread(problem: LinearProblem) -> float:
    """Typical distance of a target from the middle: the unit of a regression's scores."""
    middle = np.average(problem.target, weights=problem.C)
    spread = float(np.sqrt(np.average((problem.target - middle) ** 2, weights=problem.C)))
    return spread if spread > 0 else max(abs(float(middle)), 1.0)
