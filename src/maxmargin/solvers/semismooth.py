"""Semismooth Newton steps inside the method of multipliers: linear models with few enough weights for a d x d system.

Problem: min P(w) + sum C_i L(t_i, x_i.w + b); P made of squares and absolute values, any convex loss.
Algorithm: kinks are smoothed around multipliers (:mod:`._smoothing`); Newton's method with an exact line search
minimises the smooth function; its slopes become the next multipliers. A loss without kinks needs Newton's method only,
which begins where a sample of the rows, and first a sample of the sample, has taken the weights.
Invariant: f = X w + b; beta, the slopes of the rows at f, is within its bounds.
Cost: a step multiplies with X three times and forms X'DX of the rows on a parabola, which are few near the end; with
many columns a sample of these rows will do, for the line search is exact whatever the direction.
Papers: Hestenes 1969 and Rockafellar 1976 (multipliers), Li, Sun and Toh 2018 (semismooth Newton inside), Byrd, Chin,
Neveitt and Nocedal 2011 (sampled Hessians).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from maxmargin._types import FloatArray
from maxmargin.backends import Design
from maxmargin.problems import LinearProblem
from maxmargin.solvers._base import Record, Status, Watch
from maxmargin.solvers._linear import (
    LinearPoint,
    LinearSolution,
    conclude,
    noted,
    record_of,
    solve_by_products,
    within,
)
from maxmargin.solvers._smoothing import RowLosses, SmoothPenalty, smooth_rows

if TYPE_CHECKING:
    from maxmargin.backends import NumbaBackend

#: Multipliers move on when what Newton's method left undone is this share of the gap.
INNER = 0.3
#: Parabolas become narrower by this factor after few Newton steps, by its root after more, not at all after many.
FACTOR, FEW, MORE, MOST = 6.0, 3, 5, 8
#: The line search is content when the slope is this share of what it was.
FLAT_ENOUGH, SEARCHES = 0.1, 30
#: Jitter of an equilibrated Newton matrix.
JITTER = 1e-13
#: Steps after which X' beta is summed afresh: rounding does not pile up.
REFRESH = 16
#: Weights up to which Newton's equations are solved directly, and up to which if X is dense.
DIRECT, DIRECT_DENSE = 2500, 8192
#: From so many columns on, rows on a parabola beyond this many per column are sampled.
SAMPLED_COLUMNS, SAMPLED_ROWS = 500, 8
#: A start on one row in SHARE, for so many rows at least and so many for every column, to this gap in so many steps.
SHARE, MANY, ROWS_PER_COLUMN, SAMPLE_GAP, SAMPLE_STEPS = 5, 4096, 25, 1e-2, 8
#: Steps without any gain of the gap that end the fit, or a part of it whose gap was less than this share of the last's.
PATIENCE, WORTHWHILE = 60, 0.5


@dataclass(frozen=True)
class SemismoothNewton:
    """Options of the method (none yet that a user would set)."""

    backend: NumbaBackend

    def solve(self, problem: LinearProblem, design: Design, start: LinearPoint | None, watch: Watch) -> LinearSolution:
        """Improve ``start`` (or zero) until the watch says stop."""
        if start is None:
            start = self._start(problem, design, watch)
        solution, left = _Run(self.backend, problem, design, start, watch).solve(0), np.inf
        while solution.status is Status.STALLED and solution.history[-1].gap < WORTHWHILE * left:
            # parabolas that became too narrow too early: from the best point, wide ones may do
            left, run = solution.history[-1].gap, _Run(self.backend, problem, design, solution.point, watch)
            solution = run.solve(solution.n_iter)
        return solution

    def _start(self, problem: LinearProblem, design: Design, watch: Watch) -> LinearPoint | None:
        """Where one row in so many, for that share of the cost, takes the weights; None if that is too few to tell.

        Only for smooth problems: the multipliers of kinks start as one, and rows that have none would hold them up.
        """
        tall = design.n >= max(MANY, ROWS_PER_COLUMN * design.d) and not design.streamed
        penalty = problem.penalty
        if not (tall and problem.loss.smooth and penalty.quadratic > 0 and penalty.absolute == 0):
            return None
        rows = np.sort(np.random.default_rng(0).choice(design.n, design.n // SHARE, replace=False))
        few = problem.on_rows(rows)
        few = replace(few, C=few.C * (problem.C.sum() / few.C.sum()))
        steps = SAMPLE_STEPS if watch.max_iter < 0 else min(SAMPLE_STEPS, watch.max_iter)
        loose = replace(watch, gap_tol=SAMPLE_GAP, max_iter=steps, history=[], callback=None)
        found = self.solve(few, design.take(rows), None, loose).point
        return replace(found, beta=np.zeros(design.n))  # slopes of smooth losses follow from the scores


class _Run:
    """One fit."""

    def __init__(
        self, backend: NumbaBackend, problem: LinearProblem, design: Design, start: LinearPoint | None, watch: Watch
    ):
        self.problem, self.design, self.watch = problem, design, watch
        self.w = np.zeros(design.d) if start is None else start.w.copy()
        self.b = 0.0 if start is None else start.intercept
        self.f = design.scores(self.w) + self.b if start is not None else np.zeros(design.n)
        kept = None if start is None else np.clip(start.beta, *problem.bounds)
        self.rows: RowLosses = smooth_rows(backend, problem, kept, design.threads)
        scale = np.sqrt(design.column_squares / max(1, design.n))
        centre = None
        if start is not None and problem.penalty.absolute > 0:
            held = problem.penalty.absolute
            centre = np.clip(design.combine(start.beta) - problem.penalty.quadratic * self.w, -held, held)
        self.penalty = SmoothPenalty(problem.penalty, scale * np.sqrt(problem.C.sum()), self.w, centre)
        self.combined, self.combined_of, self.additions = np.zeros(design.d), np.zeros(design.n), 0
        self.random = np.random.default_rng(0)

    def solve(self, n_iter: int) -> LinearSolution:
        first, inner, since, stuck, least = n_iter, 0, 0, 0, np.inf
        best: tuple[Record, LinearPoint] | None = None
        smooth = self.rows.exact and self.penalty.exact
        while True:
            beta = self.rows.slopes(self.f)
            v, values = self._combine(beta), self.rows.values(self.f, beta)
            record, point = self._record(beta, v, values, n_iter)
            status = noted(self.problem, self.watch, record, self.w)
            best = (record, point) if best is None or record.gap < best[0].gap else best
            since = 0 if record.gap < least else since + 1
            least = min(least, record.gap) if n_iter > first else least  # after a warm start things get worse first
            if status is None and (since > PATIENCE or stuck > 1):
                status = Status.STALLED
            if status is not None:
                return self._concluded(status, record, point, best)
            left, gradient = self._gradient(beta, v)
            # what the parabolas cost: the gap that would be left if the smooth problem were solved exactly
            smoothing = values[1] + self.penalty.kink_gap(self.w)
            if inner > 0 and not smooth and (left <= INNER * smoothing or inner >= MOST or stuck):
                self._tighten(beta, inner)
                beta = self.rows.slopes(self.f)
                left, gradient = self._gradient(beta, self._combine(beta))
                inner = 0
            stuck = 0 if self._step(gradient, beta) else stuck + 1
            n_iter, inner = n_iter + 1, inner + 1

    def _concluded(self, status: Status, record: Record, point: LinearPoint, best: Any) -> LinearSolution:
        """The last point if it is what was asked for, else the best one, which then is the last line of history."""
        if status is not Status.OPTIMAL and best[0].gap < record.gap:
            point = best[1]
            self.watch.history.append(best[0]._replace(iteration=record.iteration, seconds=record.seconds))
        return conclude(self.problem, self.design, point, status, record.iteration, self.watch)

    def _combine(self, beta: FloatArray) -> FloatArray:
        """X' beta: the last one and what has changed, for near the end few rows do; now and then afresh."""
        if self.additions % REFRESH == 0:
            self.combined = self.design.combine(beta)
        else:
            self.combined = self.combined + self.design.combine(beta - self.combined_of)
        self.combined_of, self.additions = beta, self.additions + 1
        return self.combined

    def _record(self, beta: FloatArray, v: FloatArray, values: tuple[float, float], n_iter: int):
        here, sparse = LinearPoint(self.w, self.b, beta), self.penalty.sparse(self.w)
        return record_of(
            self.problem, self.design, here, self.f, v, values, n_iter, self.watch, self.rows.values, sparse
        )

    def _gradient(self, beta: FloatArray, v: FloatArray) -> tuple[float, FloatArray]:
        """What keeps the smooth problem from being solved, as a share of the objective; its gradient in (w, b)."""
        by_weight, by_bias = self.penalty.slope(self.w) - v, -float(beta.sum())
        if self.problem.penalty.quadratic > 0:
            left = float(by_weight @ by_weight) / (2 * self.problem.penalty.quadratic)
        else:
            left = float(np.abs(by_weight) @ np.abs(self.w))
        if self.problem.fit_intercept:
            left += abs(by_bias) * max(1.0, abs(self.b))
            return left, np.append(by_weight, by_bias)
        return left, by_weight

    def _tighten(self, beta: FloatArray, inner: int) -> None:
        factor = narrower(inner)
        self.rows.tighten(beta, factor)
        self.penalty.tighten(self.w, factor)

    def _step(self, gradient: FloatArray, beta: FloatArray) -> bool:
        """A Newton step with an exact line search; whether anything moved."""
        direction = self._direction(gradient, self.rows.curvature(self.f, beta))
        dw, db = (direction[:-1], float(direction[-1])) if self.problem.fit_intercept else (direction, 0.0)
        df = self.design.scores(dw) + db
        slope = float(gradient @ direction)
        if not slope < 0:
            return False

        along = self.rows.along(self.f, df, beta)

        def slope_at(step: float) -> float:
            return float(self.penalty.slope(self.w + step * dw) @ dw) - along(step)

        step = line_search(slope_at, slope)
        self.w, self.b, self.f = self.w + step * dw, self.b + step * db, self.f + step * df
        return step > 0

    def _direction(self, gradient: FloatArray, weight: FloatArray) -> FloatArray:
        d, diagonal = self.design.d, self.penalty.curvature(self.w)
        used = np.flatnonzero(weight)
        if len(used) == 0:  # no row on its parabola: nothing ties the weights to the intercept, which goes until one is
            curvature = np.append(diagonal, self.rows.largest)[: len(gradient)]
            return -gradient / np.where(curvature > 0, curvature, 1.0)
        if d > DIRECT:
            if len(used) <= DIRECT and diagonal.min() > 0:
                return by_rows(self.design.take(used), diagonal, weight[used], -gradient, self.problem.fit_intercept)
            if self.design.sparse or d > DIRECT_DENSE:
                return solve_by_products(self.design, diagonal, weight, -gradient, self.problem.fit_intercept)
        weight = self._sampled(weight)
        matrix = np.zeros((len(gradient), len(gradient)))  # the upper triangle will do
        self.design.upper_curvature(weight, matrix[:d, :d])
        matrix.flat[: (len(gradient) + 1) * d : len(gradient) + 1] += diagonal
        if self.problem.fit_intercept:
            matrix[:d, d], matrix[d, d] = self.design.combine(weight), weight.sum()
        return solve_equilibrated(matrix, -gradient)

    def _sampled(self, weight: FloatArray) -> FloatArray:
        """The weights, or those of a sample of the rows that count, enlarged so that their mean sum is the same."""
        most = SAMPLED_ROWS * self.design.d
        used = np.flatnonzero(weight) if self.design.d >= SAMPLED_COLUMNS else weight[:0]
        if len(used) <= most:
            return weight
        chosen, sampled = self.random.choice(used, most, replace=False), np.zeros_like(weight)
        sampled[chosen] = weight[chosen] * (len(used) / most)
        return sampled


def narrower(inner: int) -> float:
    """By what factor parabolas become narrower after so many Newton steps."""
    return FACTOR if inner <= FEW else FACTOR**0.5 if inner <= MORE else 1.0


def by_rows(design: Design, diagonal: FloatArray, weight: FloatArray, rhs: FloatArray, bias: bool) -> FloatArray:
    """(D + X'WX)^-1 rhs through the matrix W^-1 + X D^-1 X', as large as there are rows (Woodbury).

    With an intercept the system is bordered by the column of ones, whose own diagonal is 0.
    """
    X = design.matrix
    scaled = X.multiply(1 / diagonal[None, :]).tocsr() if design.sparse else X / diagonal
    matrix = (scaled @ X.T).toarray() if design.sparse else scaled @ X.T
    matrix = np.asarray(matrix, dtype=np.float64)
    matrix[np.diag_indices_from(matrix)] += 1 / weight
    by_weight = rhs[: design.d]
    through = design.scores(by_weight / diagonal)
    if not bias:
        return by_weight / diagonal - design.combine(solve_equilibrated(matrix, through)) / diagonal
    # unknown: y = W (X dw + db), with sum(y) = rhs of the intercept
    both = solve_equilibrated(matrix, np.column_stack([through, np.ones(design.n)]))
    shift = (float(rhs[-1]) - float(both[:, 0].sum())) / float(both[:, 1].sum())
    y = both[:, 0] + shift * both[:, 1]
    return np.append((by_weight - design.combine(y)) / diagonal, shift)


def solve_equilibrated(matrix: FloatArray, rhs: FloatArray) -> FloatArray:
    """matrix^-1 rhs by Cholesky of the upper triangle, scaled to a diagonal of 1: columns of any size do no harm."""
    diagonal = matrix.diagonal()
    largest = float(diagonal.max(initial=0.0))
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, max(largest, 1.0)))
    matrix = matrix * scale[:, None] * scale
    unscale = scale if rhs.ndim == 1 else scale[:, None]
    jitter = JITTER
    while True:
        matrix[np.diag_indices_from(matrix)] = 1.0 + jitter
        try:
            return unscale * cho_solve(cho_factor(matrix, lower=False, check_finite=False), unscale * rhs)
        except LinAlgError:
            jitter *= 100


def line_search(slope_at, slope: float) -> float:
    """A step of at most 1 at which the slope of a convex function, negative at 0, is nearly 0 or still negative."""
    high, at_high = 1.0, slope_at(1.0)
    enough = FLAT_ENOUGH * abs(slope)
    low, at_low = 0.0, slope
    if at_high <= enough:
        return 1.0
    for _ in range(SEARCHES):
        step = low - (high - low) * at_low / (at_high - at_low)
        step = within(step, low + 0.1 * (high - low), high - 0.1 * (high - low))
        at = slope_at(step)
        if abs(at) <= enough:
            return step
        if at < 0:
            low, at_low = step, at
        else:
            high, at_high = step, at
    return low
