"""All classes in one linear machine by semismooth Newton steps inside the method of multipliers.

Problem: :class:`~maxmargin.problems.ShortfallProblem` with a linear kernel. A row's loss is the largest value of p . s
over its weights p, s being its shortfalls; it is smoothed around multipliers ``centre`` as in :mod:`._smoothing`,

    p(s) = nearest(centre + rate s),

Newton's method with an exact line search minimises the smooth function of (W, b), and its p are the next multipliers.
Invariant: F = X W + b.
Why: Newton's equations are the same whatever the size of the columns, and intercepts are columns like others. A row at
a time takes thousands of epochs where features are large or shifted, or C is.
Cost of a step: products with X for every class, a d x d block for every pair of classes (of the rows that are between
both), and a system of as many equations as there are weights and intercepts: for up to some thousands of them.
Paper: Li, Sun and Toh 2018 (semismooth Newton inside the method of multipliers).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from maxmargin._stop import Stopped
from maxmargin._types import Array, FloatArray
from maxmargin.backends import Design
from maxmargin.problems import AllClassesProblem, ShortfallProblem
from maxmargin.solvers._base import Record, Status, Watch
from maxmargin.solvers._smoothing import FIRST_RATE, WARM_RATE
from maxmargin.solvers.semismooth import (
    INNER,
    MOST,
    PATIENCE,
    WORTHWHILE,
    line_search,
    narrower,
    solve_equilibrated,
)

#: Relative gap of a start that is trusted to know which rows are between their bounds.
NEAR = 0.1


class Point(NamedTuple):
    """Dual variables, intercepts and weights, with their scores f = X W + b, the objective and the gap."""

    alpha: FloatArray  # (n, classes)
    b: FloatArray  # (classes,)
    W: FloatArray  # (d, classes)
    f: FloatArray  # (n, classes)
    primal: float
    gap: float


def newton(
    problem: ShortfallProblem, design: Design, start: Point, watch: Watch, n_iter: int
) -> tuple[Point, Status, int]:
    """From ``start`` until the watch says stop: the best point, why it ended, and the iterations so far."""
    left = np.inf
    while True:
        start, status, n_iter = _Run(problem, design, start, watch).solve(n_iter)
        if status is not Status.STALLED or not start.gap < WORTHWHILE * left:
            return start, status, n_iter
        left = start.gap  # parabolas that became too narrow too early: from the best point, wide ones may do


def point_at(
    problem: AllClassesProblem, design: Design, alpha: FloatArray, b: FloatArray, W: FloatArray | None = None
) -> Point:
    """The point with these dual variables and intercepts, and weights of their own or those of ``alpha``."""
    V = combine(design, alpha)
    W = V if W is None else W
    f = scores(design, W) + b
    gap = problem.gap(f, alpha) + 0.5 * float(np.square(W - V).sum())
    return Point(alpha, b, W, f, problem.primal(float(np.vdot(W, W)), f), gap)


class _Run:
    """One descent, from wide parabolas to narrow ones."""

    def __init__(self, problem: ShortfallProblem, design: Design, start: Point, watch: Watch):
        self.problem, self.design, self.watch, self.start = problem, design, watch, start
        self.centre = problem.weights(start.alpha)
        near = start.gap <= NEAR * start.primal
        self.rate = (problem.C * (WARM_RATE if near else FIRST_RATE))[:, None]
        self.W, self.b, self.F = start.W, start.b, start.f

    def solve(self, n_iter: int) -> tuple[Point, Status, int]:
        first, inner, since, stuck, least = n_iter, 0, 0, 0, np.inf
        best = self.start
        while True:
            p = self._weights(self.F)
            here = self._point(p)
            seconds = time.perf_counter() - self.watch.began
            status = self.watch.note(Record(n_iter, seconds, here.primal, here.primal - here.gap, here.gap))
            best = here if here.gap < best.gap or status is Status.OPTIMAL else best
            since = 0 if here.gap < least else since + 1
            least = min(least, here.gap) if n_iter > first else least  # after a warm start things get worse first
            if status is None and (since > PATIENCE or stuck > 1):
                status = Status.STALLED
            if status is not None:
                return best, status, n_iter
            left, gradient = self._gradient(here.alpha)
            smoothing = float(self.problem.row_gaps(self.F, here.alpha).sum())
            if inner > 0 and (left <= INNER * smoothing or inner >= MOST or stuck):
                self.centre, self.rate = p, self.rate * narrower(inner)
                p, inner = self._weights(self.F), 0
                left, gradient = self._gradient(self.problem.alphas(p))
            try:
                stuck = 0 if self._step(gradient, p) else stuck + 1
            except Stopped:
                return best, self.watch.reason(n_iter) or Status.STOPPED, n_iter
            n_iter, inner = n_iter + 1, inner + 1

    def _weights(self, F: FloatArray) -> FloatArray:
        return self.problem.nearest(self.centre + self.rate * self.problem.shortfalls(F))

    def _point(self, p: FloatArray) -> Point:
        """The better of two: the weights of Newton's method, or those of the dual variables."""
        alpha = self.problem.alphas(p)
        found = [point_at(self.problem, self.design, alpha, self.b, W) for W in (self.W, None)]
        return min(found, key=lambda point: point.gap)

    def _gradient(self, alpha: FloatArray) -> tuple[float, FloatArray]:
        """What keeps the smooth problem from being solved, as a share of the objective; its gradient in (W, b)."""
        by_weight = self.W - combine(self.design, alpha)
        left = 0.5 * float(np.vdot(by_weight, by_weight))
        if not self.problem.fit_intercept:
            return left, by_weight
        by_bias = -alpha.sum(axis=0)
        left += float(np.abs(by_bias).sum()) * max(1.0, float(np.abs(self.b).max()))
        return left, np.vstack([by_weight, by_bias])

    def _step(self, gradient: FloatArray, p: FloatArray) -> bool:
        """A Newton step with an exact line search; whether anything moved."""
        direction, d = self._solved(self.problem.between(p), -gradient), self.design.d
        dW, db = direction[:d], direction[d] if self.problem.fit_intercept else 0.0
        dF = scores(self.design, dW) + db
        slope = float(np.vdot(gradient, direction))
        if not slope < 0:
            return False

        def slope_at(step: float) -> float:
            alpha = self.problem.alphas(self._weights(self.F + step * dF))
            return float(np.vdot(self.W + step * dW, dW)) - float(np.vdot(alpha, dF))

        step = line_search(slope_at, slope)
        self.W, self.b, self.F = self.W + step * dW, self.b + step * db, self.F + step * dF
        return step > 0

    def _solved(self, between: Array, rhs: FloatArray) -> FloatArray:
        def weight(m: int, o: int) -> FloatArray:
            return np.asarray(self.rate[:, 0] * self.problem.coupling(between, m, o))

        most = float(self.rate.max())
        return solve_classes(self.design, self.problem.fit_intercept, weight, rhs, most, self.watch)


def solve_classes(
    design: Design,
    bias: bool,
    weight: Callable[[int, int], FloatArray],
    rhs: FloatArray,
    most: float,
    watch: Watch,
) -> FloatArray:
    """Newton's equations (1 + (X, 1)' D (X, 1)) Z = ``rhs``, (weights and intercept, classes), a block per two classes.

    ``weight(m, o)`` (n,) is the curvature between two classes, never positive for m != o; ``most`` its largest value.
    """
    d, (height, k) = design.d, rhs.shape
    matrix = np.zeros((k, height, k, height))
    for m in range(k):
        for o in range(m, k):
            if watch.must_stop(0):
                raise Stopped("asked to stop within a step")
            sign = 1.0 if m == o else -1.0
            matrix[m, :, o, :] = sign * _block(design, bias, sign * weight(m, o))
        matrix[m, np.arange(d), m, np.arange(d)] += 1.0
    if bias:
        # the same added to all intercepts changes nothing; and where no row is between, they go on until one is
        size = np.array([matrix[m, d, m, d] for m in range(k)])
        matrix[:, d, :, d] += size.mean() / k if size.any() else most * np.eye(k)
    direction = solve_equilibrated(matrix.reshape(k * height, k * height), np.ascontiguousarray(rhs.T).ravel())
    return np.ascontiguousarray(direction.reshape(k, height).T)


def _block(design: Design, bias: bool, weight: FloatArray) -> FloatArray:
    """(X, 1)' diag(weight) (X, 1) for weights >= 0, without the ones if there is no intercept."""
    d, height = design.d, design.d + int(bias)
    block = np.zeros((height, height))
    used = np.flatnonzero(weight)
    if len(used) == 0:
        return block
    part, weight = design.take(used), weight[used]
    block[:d, :d] = part.curvature(weight)
    if bias:
        block[:d, d] = block[d, :d] = part.combine(weight)
        block[d, d] = weight.sum()
    return block


def combine(design: Design, alpha: FloatArray) -> FloatArray:
    """X' alpha, (d, classes)."""
    return np.column_stack([design.combine(np.ascontiguousarray(column)) for column in alpha.T])


def scores(design: Design, W: FloatArray) -> FloatArray:
    """X W, (n, classes)."""
    return np.column_stack([design.scores(np.ascontiguousarray(column)) for column in W.T])
