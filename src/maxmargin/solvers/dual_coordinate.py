"""Dual coordinate descent: linear models with a squared 2-norm penalty and a quadratic dual, sparse or of many columns.

Problem: min 1/2||X'b||^2 + sum ridge_i/2 b_i^2 - linear_i b_i + eps |b_i| over a box; with an intercept, sum b = 0.
Algorithm: exact moves of one row at a time in random order, w = X'b kept up to date, rows at their bounds left out
for as long as they stay there; the intercept by the method of multipliers, so it is exactly unpenalised. If that takes
long, a Newton walk of the rows inside their bounds (:mod:`._newton`).
Invariant: w = X'b. Cost of an epoch: twice the non-zeros of the active rows.
Papers: Hsieh, Chang, Lin, Keerthi and Sundararajan 2008; Hestenes 1969 (multipliers).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.backends import Backend, Design, single_threaded_blas
from maxmargin.losses import DualForm
from maxmargin.problems import LinearProblem
from maxmargin.solvers._base import Record, Status, Watch
from maxmargin.solvers._linear import LinearPoint, LinearSolution, conclude, noted
from maxmargin.solvers._newton import face_step

#: First width of the violated interval at which the gap is looked at: this, or less for a goal, times its root.
FIRST_LOOK, FIRST_WIDTH = 0.3, 30.0
#: How the width may shrink from look to look.
LEAST_STEP, LARGEST_STEP = 0.02, 0.3
#: Epochs between two looks at most.
LOOK_AGAIN = 300
#: Epochs after which to ask whether a Newton walk would pay, the passes since the last look from which on it may, and
#: its multiplications per non-zero visited that do.
ASK, CRAWLED, NEWTON_PAYS = 20, 3, 100
#: Passes that a start elsewhere than at 0 counts for: which rows are inside their bounds is known better.
WARM_PASSES = 80
#: Most rows inside their bounds that are moved together.
MOST_FREE = 4096
#: Rows of zeros have no curvature: with this they move to a bound.
LEAST_CURVATURE = 1e-100
#: Looks without any gain of the gap that end the fit.
PATIENCE = 3


@dataclass(frozen=True)
class DualCoordinate:
    """Options: ``seed`` of the order in which rows are visited."""

    backend: Backend
    seed: int = 0

    def solve(self, problem: LinearProblem, design: Design, start: LinearPoint | None, watch: Watch) -> LinearSolution:
        """Improve ``start`` (or zero) until the watch says stop."""
        return _Run(self.backend, problem, design, start, watch, self.seed).solve()


def dual_ascent(
    backend: Backend, problem: LinearProblem, design: Design, point: LinearPoint, epochs: int, watch: Watch
) -> FloatArray:
    """A feasible beta after so many epochs from that of ``point``: a better dual point for a model that stays as it is.

    Without an intercept the dual objective never falls; with one, keeping sum beta = 0 may cost what was won.
    """
    run = _Run(backend, problem, design, point, watch, 0)
    for _ in range(epochs):
        if watch.must_stop(0) or run._epochs(0.0, 1)[1] == 0:
            break
    beta: FloatArray = problem.feasible(run.beta)
    return beta


class _Run:
    """One fit."""

    def __init__(self, backend, problem: LinearProblem, design: Design, start: LinearPoint | None, watch, seed: int):
        self.backend, self.problem, self.design, self.watch = backend, problem, design, watch
        self.beta = np.zeros(design.n) if start is None else np.clip(start.beta, *problem.bounds)
        self.w = design.combine(self.beta)
        form = problem.form
        ridge = np.broadcast_to(np.asarray(form.ridge, dtype=np.float64), (design.n,)).copy()
        self.ridge, self.form = ridge, DualForm(form.lower, form.upper, form.linear, ridge, float(form.eps))
        # shift and rate of the intercept b = shift + rate sum(beta), and sum(beta)
        squares = design.squares
        rate = float(np.median(squares) or np.mean(squares) or 1.0) if problem.fit_intercept else 0.0
        self.sums = np.array([0.0 if start is None else start.intercept, rate, float(self.beta.sum())])
        self.q = np.maximum(design.squares + ridge + rate, LEAST_CURVATURE)
        self.active, self.count = np.arange(design.n), design.n
        self.old = np.array([-np.inf, np.inf])  # worst slopes of the last epoch
        self.visited = 0  # rows
        self.looked = -WARM_PASSES * design.n if self.beta.any() else 0  # rows visited at the last look
        self.seed = np.uint64((2 * seed + 0x9E3779B97F4A7C15) % 2**64 | 1)

    def solve(self) -> LinearSolution:
        goal = self.watch.gap_tol or 0.0
        width, best, in_vain = min(FIRST_LOOK, max(FIRST_WIDTH * goal**0.5, LEAST_STEP * FIRST_LOOK)), np.inf, 0
        while True:
            violation = self._until(width)
            record, point = self._look()
            status = noted(self.problem, self.watch, record, point.w)
            in_vain = 0 if record.gap < 0.999 * best else in_vain + 1
            best = min(best, record.gap)
            if status is None and in_vain > PATIENCE:
                status = Status.STALLED
            if status is not None:
                return conclude(self.problem, self.design, point, status, self.passes, self.watch)
            if violation > width:
                self._newton()
            else:
                wanted = goal * abs(record.primal) / record.gap
                width = min(width, violation) * min(max(0.5 * wanted, LEAST_STEP), LARGEST_STEP)

    @property
    def passes(self) -> int:
        """Passes over the data so far; an epoch of few active rows is a part of one."""
        return -(-self.visited // max(1, self.design.n))

    def _until(self, width: float) -> float:
        """Epochs until no active row is off by more than ``width``, or until it is time to look at the gap anyway.

        Rows that were left out may be off by more: the gap counts them, and the first epoch after a look is of all.
        """
        self.active, self.count = np.arange(self.design.n), self.design.n
        done = 0
        while done < LOOK_AGAIN:
            taken, violation = self._epochs(width, ASK - done % ASK)
            done += taken
            if violation <= width or self.watch.must_stop(self.passes):
                break
            if done % ASK == 0 and self._newton_pays():
                break
        return violation

    def _epochs(self, width: float, most: int) -> tuple[int, float]:
        """(epochs taken, width of the violated interval): active rows until that is small, or about a pass."""
        self.count, violation, done, visited, seed = self.backend.coordinate_epochs(
            self.design.X, self.w, self.beta, self.form, self.q, self.active, self.count, self.sums, self.old,
            self.seed, width, most,
        )  # fmt: skip
        self.seed = np.uint64(seed)
        self.visited += visited
        return done, violation

    @property
    def _least_free(self) -> int:
        """Rows inside their bounds that single moves may crawl on: two, or three if their sum is to be kept."""
        return 2 + self.problem.fit_intercept

    def _newton_pays(self) -> bool:
        """Whether a Newton walk takes no longer than the epochs since the last look at the gap did."""
        free = np.count_nonzero((self.beta > self.form.lower) & (self.beta < self.form.upper) & (self.beta != 0))
        visited = (self.visited - self.looked) / max(1, self.design.n)
        dear = visited < CRAWLED or float(free) ** 3 > NEWTON_PAYS * visited * self.design.nnz
        return bool(self._least_free <= free <= MOST_FREE and not dear)

    def _newton(self) -> None:
        """Where single moves crawl: the rows inside their bounds to the optimum of their face, all at once."""
        beta = self.problem.feasible(self.beta)
        inside = (beta > self.form.lower) & (beta < self.form.upper) & (beta != 0)
        free = np.flatnonzero(inside)
        if not self._least_free <= len(free) <= MOST_FREE:
            return
        part, sides = self.design.take(free), np.sign(beta[free])
        K = part.products() + np.diag(self.ridge[free])
        w = self.design.combine(beta)
        grad = part.scores(w) - self.form.linear[free] + self.ridge[free] * beta[free] + self.form.eps * sides
        lower = np.where(sides > 0, 0.0, self.form.lower[free])
        upper = np.where(sides > 0, self.form.upper[free], 0.0)
        sums = np.ones((int(self.problem.fit_intercept), len(free)))
        if self.problem.fit_intercept:
            grad -= grad.mean()  # the same up to a multiple of the sum, and small: rounding would hide what is left
        with single_threaded_blas():  # the same bits whatever the number of threads
            values = face_step(K, grad, beta[free], lower, upper, sums)
        if values is None:
            return
        beta[free] = values
        self.beta, self.w = beta, self.design.combine(beta)
        self.sums[2] = float(beta.sum())
        if self.problem.fit_intercept:  # at the optimum of the face all its rows ask for the same b
            off = part.scores(self.w) - self.form.linear[free] + self.ridge[free] * values + self.form.eps * sides
            inside = (values > lower) & (values < upper)
            self.sums[0] = -float(off[inside].mean()) if inside.any() else self.sums[0]
        self.old[:] = (-np.inf, np.inf)

    def _look(self) -> tuple[Record, LinearPoint]:
        """The gap of the feasible point nearby, with its own w and the best intercept for it."""
        self.looked = self.visited
        beta: FloatArray = self.problem.feasible(self.beta)
        w = self.design.combine(beta)
        self.w = w.copy() if np.array_equal(beta, self.beta) else self.w  # rounding does not pile up
        f = self.design.scores(w)
        b = self.problem.intercept(f, float(self.sums[0]))
        losses, gap = self.backend.row_values(
            f + b, beta, self.form.linear, self.ridge, self.form.eps, self.form.lower, self.form.upper
        )
        primal = self.problem.penalty.value(w) + losses
        seconds = time.perf_counter() - self.watch.began
        return Record(self.passes, seconds, primal, primal - gap, gap), LinearPoint(w, b, beta)
