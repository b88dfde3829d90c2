"""Dual coordinate descent: linear models with a squared 2-norm penalty and a quadratic dual, sparse or of many columns.

Problem: min 1/2||X'b||^2 + sum ridge_i/2 b_i^2 - linear_i b_i + eps |b_i| over a box; with an intercept, sum b = 0.
Algorithm: exact moves of one row at a time in random order, w = X'b kept up to date, rows at their bounds left out
for as long as they stay there; the intercept by the method of multipliers, so it is exactly unpenalised. Where that
crawls the rows inside their bounds move all at once: by conjugate gradients (:mod:`.faces`), or in a Newton walk
(:mod:`._newton`) once that costs no more than what was done.
Invariant: w = X'b. Cost of an epoch: twice the non-zeros of the active rows.
Papers: Hsieh, Chang, Lin, Keerthi and Sundararajan 2008; Hestenes 1969 (multipliers).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.backends import Backend, Design, single_threaded_blas
from maxmargin.losses import DualForm
from maxmargin.problems import LinearProblem
from maxmargin.solvers._base import Record, Status, Watch
from maxmargin.solvers._linear import LinearPoint, LinearSolution, conclude, noted
from maxmargin.solvers._newton import face_step
from maxmargin.solvers.faces import descend

#: First width of the violated interval at which epochs end: this, or less for a goal, times its root.
FIRST_LOOK, FIRST_WIDTH = 0.3, 30.0
#: How the width may shrink from look to look.
LEAST_STEP, LARGEST_STEP = 0.02, 0.3
#: Passes, or epochs, after which the gap is looked at anyway; if they crawl many rows move at once.
CRAWLED, LOOK_AGAIN = 3, 60
#: They do not while the gap, below this share of the objective, falls from look to look to this share of itself.
FAR, FALLS = 0.01, 0.1
#: Passes that the first move of many rows may cost, by what each later one may cost more, and the most.
MOVE_PASSES, MORE, MOST_PASSES = 5, 2, 40
#: A Newton walk pays when so many of its multiplications take the place of one visit of a non-zero since the last one.
NEWTON_PAYS = 40
#: Most rows inside their bounds that are moved together.
MOST_FREE = 4096
#: First rate of the intercept, relative to the typical square of a row, which is the highest: that holds all rows back.
RATE = 0.02
#: By what it rises where sum beta, as a share of the gap, matters and has not fallen to this share of itself.
HIGHER, MATTERS, BALANCES = 4.0, 0.02, 0.3
#: Rows of zeros have no curvature: with this they move to a bound.
LEAST_CURVATURE = 1e-100
#: Looks without a gain that end the fit: where epochs do what is asked of them, and where they crawl; and the share of
#: the gap by which the dual objective must rise to count as one.
PATIENCE, LONG_PATIENCE, GAINED = 3, 100, 1e-5


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


class _Face(NamedTuple):
    """The rows inside their bounds, each on its side of 0, and their slopes without the intercept's."""

    free: IntArray
    part: Design
    grad: FloatArray
    lower: FloatArray
    upper: FloatArray


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
        self.highest_rate = float(np.median(squares) or np.mean(squares) or 1.0) if problem.fit_intercept else 0.0
        rate, self.imbalance = RATE * self.highest_rate, np.inf
        self.sums = np.array([0.0 if start is None else start.intercept, rate, float(self.beta.sum())])
        self.q = np.maximum(design.squares + ridge + rate, LEAST_CURVATURE)
        self._take_all()
        self.visited = 0  # rows
        self.walked, self.move_passes = 0, MOVE_PASSES  # rows visited at the last walk; what the next move may cost
        self.seed = np.uint64((2 * seed + 0x9E3779B97F4A7C15) % 2**64 | 1)

    def _take_all(self) -> None:
        """Have the next epoch visit all rows, and leave out none on the strength of slopes that were."""
        self.active, self.count, self.old = np.arange(self.design.n), self.design.n, np.array([-np.inf, np.inf])

    def solve(self) -> LinearSolution:
        goal = self.watch.gap_tol or 0.0
        width = min(FIRST_LOOK, max(FIRST_WIDTH * goal**0.5, LEAST_STEP * FIRST_LOOK))
        best, bound, last, in_vain = np.inf, -np.inf, np.inf, np.zeros(2)
        while True:
            violation = self._until(width)
            record, point = self._look()
            status = noted(self.problem, self.watch, record, point.w)
            crawls = record.gap > FALLS * last or record.gap > FAR * abs(record.primal)
            gained = record.gap < 0.999 * best or record.dual > bound + GAINED * record.gap
            done = violation <= width
            in_vain, last = np.zeros(2) if gained else in_vain + [done, not done], record.gap
            best, bound = min(best, record.gap), max(bound, record.dual)
            if status is None and (in_vain > (PATIENCE, LONG_PATIENCE)).any():
                status = Status.STALLED
            if status is not None:
                return conclude(self.problem, self.design, point, status, self.passes, self.watch)
            self._pass_idle_epochs()
            self._balance(record.gap)
            if done:
                wanted = goal * abs(record.primal) / record.gap
                width = min(width, violation) * min(max(0.5 * wanted, LEAST_STEP), LARGEST_STEP)
                self.active, self.count = np.arange(self.design.n), self.design.n
            elif crawls:
                (self._newton if self._newton_pays() else self._move_many)()
                self._take_all()

    def _pass_idle_epochs(self) -> None:
        """Where no row moves and the intercept alone does, by the same little step each time: all that way at once.

        It ends where the next row begins to move, as the epochs would; of those there may be very many at a small cost.
        """
        shift, rate, whole = self.sums.tolist()
        if rate * whole == 0 or np.isfinite(self.old).any():  # the last epoch moved rows
            return
        form, beta = self.form, self.beta
        g = self.design.scores(self.w) - form.linear + self.ridge * beta + shift + rate * whole
        up = np.where(beta < form.upper, g + np.where(beta >= 0, form.eps, -form.eps), np.inf).min()
        down = np.where(beta > form.lower, g + np.where(beta > 0, form.eps, -form.eps), -np.inf).max()
        room = up if whole < 0 else -down
        if up >= 0 >= down and np.isfinite(room):
            self.sums[0] += np.copysign(room, whole)

    def _balance(self, gap: float) -> None:
        """A higher rate of the intercept where sum beta matters beside the gap and does not fall by itself."""
        shift, rate, whole = self.sums.tolist()
        falls, matters = abs(whole) <= BALANCES * self.imbalance, abs(whole) * max(1.0, abs(shift)) > MATTERS * gap
        self.imbalance = abs(whole)
        if matters and not falls and rate < self.highest_rate:
            self.sums[1] = min(HIGHER * rate, self.highest_rate)
            self.q += self.sums[1] - rate

    @property
    def passes(self) -> int:
        """Passes over the data so far; an epoch of few active rows is a part of one."""
        return -(-self.visited // max(1, self.design.n))

    def _until(self, width: float) -> float:
        """Epochs until no active row is off by more than ``width``, or until they crawl.

        Rows that were left out may be off by more: the gap counts them, and they come back when the width is reached.
        """
        done, began = 0, self.visited
        while done < LOOK_AGAIN and self.visited - began < CRAWLED * self.design.n:
            taken, violation = self._epochs(width, LOOK_AGAIN - done)
            done += taken
            if violation <= width or self.watch.must_stop(self.passes):
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

    def _face_of(self, beta: FloatArray, w: FloatArray) -> _Face:
        form = self.form
        free = np.flatnonzero((beta > form.lower) & (beta < form.upper) & (beta != 0))
        part, values, sides = self.design.take(free), beta[free], np.sign(beta[free])
        grad = part.scores(w) - form.linear[free] + self.ridge[free] * values + form.eps * sides
        lower, upper = np.where(sides > 0, 0.0, form.lower[free]), np.where(sides > 0, form.upper[free], 0.0)
        return _Face(free, part, grad, lower, upper)

    def _move_many(self) -> None:
        """Where single moves crawl: the rows inside their bounds at once, by conjugate gradients.

        The intercept follows the sum of beta as in an epoch, so that nothing but bounds has to be kept.
        """
        face = self._face_of(self.beta, self.w)
        free, part, (shift, rate, whole) = face.free, face.part, self.sums.tolist()
        if part.nnz == 0:
            return
        ridge = self.ridge[free]

        def multiply(p: FloatArray) -> FloatArray:
            return part.scores(part.combine(p)) + ridge * p + rate * p.sum()

        most, start = self.move_passes * self.design.nnz // part.nnz, self.beta[free]
        self.move_passes = min(MORE * self.move_passes, MOST_PASSES)
        values, products = descend(multiply, face.grad + shift + rate * whole, start, face.lower, face.upper, most)
        self.visited += products * part.nnz * self.design.n // self.design.nnz
        self.beta[free] = values
        self.w = self.design.combine(self.beta)
        self.sums[2] = float(self.beta.sum())

    @property
    def _least_free(self) -> int:
        """Rows inside their bounds that single moves may crawl on: two, or three if their sum is to be kept."""
        return 2 + self.problem.fit_intercept

    def _newton_pays(self) -> bool:
        """Whether a Newton walk takes no longer than what was done since the last one."""
        free = np.count_nonzero((self.beta > self.form.lower) & (self.beta < self.form.upper) & (self.beta != 0))
        visited = (self.visited - self.walked) / max(1, self.design.n)
        return bool(self._least_free <= free <= MOST_FREE and free**3 <= NEWTON_PAYS * visited * self.design.nnz)

    def _newton(self) -> None:
        """Where all that crawls: the rows inside their bounds to the optimum of their face, bound by bound."""
        self.walked = self.visited
        beta = self.problem.feasible(self.beta)
        face = self._face_of(beta, self.design.combine(beta))
        free, part, grad = face.free, face.part, face.grad
        if not self._least_free <= len(free) <= MOST_FREE:
            return
        K = part.products() + np.diag(self.ridge[free])
        sums = np.ones((int(self.problem.fit_intercept), len(free)))
        if self.problem.fit_intercept:
            grad = (
                grad - grad.mean()
            )  # the same up to a multiple of the sum, and small: rounding would hide what is left
        with single_threaded_blas():  # the same bits whatever the number of threads
            values = face_step(K, grad, beta[free], face.lower, face.upper, sums)
        if values is None:
            return
        sides = np.sign(beta[free])
        beta[free] = values
        self.beta, self.w = beta, self.design.combine(beta)
        self.sums[2] = float(beta.sum())
        if self.problem.fit_intercept:  # at the optimum of the face all its rows ask for the same b
            off = part.scores(self.w) - self.form.linear[free] + self.ridge[free] * values + self.form.eps * sides
            inside = (values > face.lower) & (values < face.upper)
            self.sums[0] = -float(off[inside].mean()) if inside.any() else self.sums[0]

    def _look(self) -> tuple[Record, LinearPoint]:
        """The gap of the feasible point nearby, with its own w and the best intercept for it."""
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
