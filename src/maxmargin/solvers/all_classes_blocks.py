"""All classes in one kernel machine: blocks of the worst rows, solved by sequential dual descent.

Problem: :class:`~maxmargin.problems.ShortfallProblem`, any kernel.
Algorithm: the q rows that violate their conditions most; their q x q kernel values; epochs over them, each row with all
its classes exactly, until they are off by a tenth of what they were; then the scores of all rows are updated.
Invariant: f = K alpha (n, classes) in float64; the rows' constraints. Intercepts by the method of multipliers:
b = shift + rate sum(alpha). Where that crawls (kernels of low rank, large C), problems that are not too large go on as
linear ones, by Newton's method on the coordinates V sqrt(E) of their rows, K = V E V'.
Cost of a round: q^2 + n q kernel values, and their products with q x classes changes.
Papers: Crammer and Singer 2001, Keerthi et al. 2008 (a row at a time), Joachims 1999 (working sets).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.problems import ShortfallProblem
from maxmargin.solvers._base import Gram, Record, Status, Watch
from maxmargin.solvers._dense import eigenvalues
from maxmargin.solvers.all_classes import AllClassesPoint, AllClassesSolution, started
from maxmargin.solvers.all_classes_newton import newton, point_at
from maxmargin.solvers.semismooth import DIRECT

if TYPE_CHECKING:
    from maxmargin.backends import NumbaBackend

#: Rows of a block, and how far it is solved relative to the violation it began with, in so many epochs at most.
BLOCK, INNER, EPOCHS = 512, 0.1, 30
#: Dual variables this close to a bound, relative to C, are on it but for rounding.
AT_BOUND = 1e-12
#: The multipliers move on when no row is off by more than this share of their move.
SETTLED = 0.5
#: Rounds without any gain of the gap that end the fit.
PATIENCE = 100
#: Rounds after which a method that is not there yet crawls.
CRAWLING = 300
#: Relative gap that Newton's method is to reach where none is asked for.
GAP = 1e-9
#: Rounds after which the scores are summed afresh: rounding does not pile up.
REFRESH = 64


@dataclass(frozen=True)
class AllClassesBlocks:
    """Options of the method."""

    backend: NumbaBackend
    block_size: int = BLOCK

    def solve(
        self, problem: ShortfallProblem, gram: Gram, watch: Watch, start: AllClassesPoint | None = None
    ) -> AllClassesSolution:
        """From ``start`` (or zero) until the watch says stop; rows without cost keep alpha = 0."""
        rate = float(gram.diagonal.mean()) if problem.fit_intercept else 0.0
        alpha, shift = started(problem, start)
        f, sums = gram.product(alpha), alpha.sum(axis=0)
        rounds, best, in_vain = 0, np.inf, 0
        may_change = problem.n_classes * (len(alpha) + 1) <= DIRECT
        counts = problem.C > 0
        while True:
            b = shift + rate * sums
            scores = f + b
            violations = np.where(counts, problem.violations(scores, alpha, AT_BOUND), 0.0)
            square = float(np.vdot(alpha, f))
            primal, gap = problem.primal(square, scores), problem.gap(scores, alpha)
            moving = float(np.abs(rate * sums).max())
            off = max(float(violations.max()), moving)
            status = watch.note(Record(rounds, time.perf_counter() - watch.began, primal, primal - gap, gap), off)
            in_vain = 0 if gap < 0.999 * best else in_vain + 1
            best = min(best, gap)
            if status is None and may_change and (in_vain > PATIENCE or rounds >= CRAWLING):
                alpha, shift, rounds = self._by_newton(problem, gram, alpha, b, watch, rounds)
                f, sums, best, in_vain, may_change = gram.product(alpha), alpha.sum(axis=0), np.inf, 0, False
                continue
            if status is None and in_vain > PATIENCE:
                status = Status.STALLED
            if status is not None:
                return AllClassesSolution(alpha, b, scores, status, rounds, tuple(watch.history))
            if violations.max() <= SETTLED * moving:  # the rows are done with these intercepts: the next ones
                shift = b
                violations = np.where(counts, problem.violations(f + shift + rate * sums, alpha, AT_BOUND), 0.0)
            self._round(problem, gram, violations, f, alpha, shift, rate, sums)
            rounds += 1
            if rounds % REFRESH == 0:
                f = gram.product(alpha)

    def _by_newton(
        self, problem: ShortfallProblem, gram: Gram, alpha: FloatArray, b: FloatArray, watch: Watch, rounds: int
    ) -> tuple[FloatArray, FloatArray, int]:
        """(dual variables, intercepts, rounds so far) of the problem as a linear one."""
        values, vectors = eigenvalues(gram.matrix())
        real = values > len(values) * np.finfo(float).eps * values.max(initial=0.0)
        design = self.backend.design(np.ascontiguousarray(vectors[:, real] * np.sqrt(values[real])))
        goal = GAP if watch.gap_tol is None else watch.gap_tol
        start = point_at(problem, design, alpha, b)
        reached, _, rounds = newton(problem, design, start, replace(watch, gap_tol=goal), rounds)
        return reached.alpha.copy(), reached.b.copy(), rounds

    def _round(self, problem, gram, violations, f, alpha, shift, rate, sums) -> None:
        """Solve a block and bring f up to date, all in place."""
        size = min(self.block_size, gram.largest_block, len(violations))
        index = np.sort(self.backend.largest(violations, size))
        index = index[problem.C[index] > 0]
        K = np.asarray(gram.block(index), dtype=np.float64)
        old, inner = alpha[index], f[index]
        new = old.copy()
        goal = INNER * float(violations.max())
        self.backend.all_classes_block(
            problem.shared_bound, K, inner, new, problem.label[index], problem.C[index], shift, rate, sums, goal, EPOCHS
        )
        moved = np.flatnonzero((new != old).any(axis=1))
        alpha[index] = new
        if len(index) == len(f):  # the block is the problem: its scores are up to date
            f[:] = inner
            return
        change: FloatArray = np.zeros_like(alpha)
        change[index[moved]] = new[moved] - old[moved]
        f += gram.product(change)
