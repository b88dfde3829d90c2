"""Decomposition: solve a small working set exactly, update the gradient with the rows that moved, repeat.

Problem: the dual QP of :mod:`maxmargin.problems`, any size.
Algorithm: problems of at most ``whole_size`` rows are one working set; rows of K are filled as pairwise steps ask for
them, and Newton steps finish. Where pairwise steps crawl (large C, few directions) both take turns. Where both crawl an
interior-point method finds the neighbourhood of the optimum, from which they go on; if they crawl even there, the fit
ends. Larger problems are solved by :mod:`.blocks`.
Invariant: f = K beta in float64; beta feasible.
Papers: Joachims 1999 (working sets), Fan, Chen and Lin 2005 (selection), Wen et al. 2018 (ThunderSVM, blocks).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.backends import Backend, Box, LazyRows, single_threaded_blas
from maxmargin.exceptions import NotPSDError
from maxmargin.problems import DualQP, Problem
from maxmargin.solvers._base import Crawl, Gram, Solution, Status, Watch, rounding_floor
from maxmargin.solvers._newton import newton_values
from maxmargin.solvers.blocks import Blocks, run_inner
from maxmargin.solvers.interior_point import InteriorPoint

#: Compiled steps between two looks at the clock, times the number of rows.
STEPS_TIMES_ROWS = 2**25
#: Pairwise steps per row before Newton steps are tried; then half a step per row, and at least so many, between two.
FIRST_STEPS, LEAST_STEPS = 8, 100
#: Multiplications of a Newton step's solve that are worth those of a pairwise step.
NEWTON_PAYS = 4
#: Multiplications of a polishing solve that a pairwise step's pass over all rows is worth.
POLISH_PAYS = 20
#: Relative gain of the objective that counts as none; three rounds without, of many steps, end the fit.
NO_GAIN = 1e-15
#: Steps without progress, per pair of rows, after which an interior point takes over: its solves cost as much.
CRAWLING = 1
#: How much longer they may take after that.
LAST = 4
#: Objectives that differ by less, relatively, are equal but for rounding.
EQUAL = 1e-12
#: Polishing stops when the violation is this small relative to the largest score.
POLISHED = 1e-11


@dataclass(frozen=True)
class Decomposition:
    """Options of the decomposition method.

    ``inner`` is how far a working set is solved, relative to the violation it started with.
    """

    backend: Backend
    block_size: int = 4096
    whole_size: int = 2048
    inner: float = 0.1
    polish: bool = True

    def solve(self, problem: Problem, gram: Gram, start: FloatArray | None, watch: Watch) -> Solution:
        """Improve ``start`` (a feasible beta, or None) until the watch says stop."""
        beta = problem.qp.start() if start is None else start.copy()
        if gram.fits_whole(self.whole_size):
            return self._solve_whole(problem, gram, beta, watch)
        return Blocks(self.backend, self.block_size, self.inner, watch).solve(problem, gram, beta)

    def _solve_whole(self, problem: Problem, gram: Gram, beta: FloatArray, watch: Watch) -> Solution:
        qp, entries = problem.qp, gram.entries
        if watch.must_stop(0):  # before the first step: one of many tasks, and the time is over
            f = gram.product(beta) if beta.any() else np.zeros(gram.n)
            why = watch.look_at(problem, beta, f, 0, qp.violation(beta, f + qp.linear)) or Status.STOPPED
            return watch.solution(beta, f, why, 0, gram.entries)
        K, lazy = gram.lazy_matrix(np.flatnonzero(beta))
        f, n_iter, status, unmoved, in_vain = scores(K, beta), 0, None, 0, 0
        at_once = first = FIRST_STEPS * (gram.n + 50)
        crawl, patience, tried = Crawl(), CRAWLING * gram.n * (gram.n + 50), False
        tol = watch.tol * problem.unit(beta, f)
        while status is None:
            grad, before = f + qp.linear, qp.objective(beta, f)
            if watch.gap_tol is not None:
                tol = 0.1 * qp.violation(beta, grad)
            steps = watch.steps_left(n_iter, at_once)
            result = run_inner(self.backend, qp, K, grad, beta, gram.diagonal, tol, steps, lazy)
            n_iter += result.steps
            violation = result.violation
            if violation > tol and n_iter != watch.max_iter:  # slow going: Newton steps save most pairwise ones
                solve = len(qp.free(beta)) ** 3 // (NEWTON_PAYS * gram.n)
                at_once = min(max(gram.n // 2, LEAST_STEPS, solve) << unmoved, STEPS_TIMES_ROWS // gram.n)
                beta = self._accelerate(qp, K, beta)
                violation = qp.violation(beta, scores(K, beta) + qp.linear)
            reached = violation <= tol
            if reached and self.polish:
                beta = self._polish(qp, K, gram, beta, n_iter, lazy)
            f = scores(K, beta)  # afresh: the steps' rounding does not pile up
            violation = qp.violation(beta, f + qp.linear)
            status = watch.look_at(problem, beta, f, n_iter, violation)
            tol = min(0.1 * tol if reached else tol, watch.tol * problem.unit(beta, f))  # the goal may lie deeper
            gained = before - qp.objective(beta, f)
            unmoved, in_vain = (unmoved + 1, in_vain + steps) if gained <= NO_GAIN * abs(before) else (0, 0)
            stuck = unmoved >= 3 and in_vain >= first
            stuck |= crawl.since(n_iter, violation, watch.history[-1].gap) > patience
            if status is None and stuck and not tried:
                beta, K, lazy, tried = self._from_inside(problem, gram, beta, watch), gram.matrix(), None, True
                f, unmoved, crawl.last, patience = scores(K, beta), 0, n_iter, LAST * patience
            elif status is None and (stuck or violation <= rounding_floor(gram.diagonal, beta)):
                status = Status.STALLED
        gram.entries = entries + (K.size if lazy is None else int(lazy.filled.sum()) * gram.n)
        return watch.solution(beta, f, status, n_iter, gram.entries)

    def _accelerate(self, qp: DualQP, K: FloatArray, beta: FloatArray) -> FloatArray:
        """A Newton step from ``beta``, if it leads to a better point."""
        free = qp.free(beta)
        with single_threaded_blas():  # the same bits whatever the number of threads
            values = newton_values(qp, K[np.ix_(free, free)], scores(K, beta) + qp.linear, beta, free)
        if values is None:
            return beta
        candidate = beta.copy()
        candidate[free] = values
        return candidate

    def _from_inside(self, problem: Problem, gram: Gram, beta: FloatArray, watch: Watch) -> FloatArray:
        """The interior point's solution if it is a better one than ``beta``."""
        quiet = replace(watch, max_iter=-1, callback=None, history=[])
        try:
            with single_threaded_blas():
                other = InteriorPoint().solve(problem, gram, None, quiet)
        except NotPSDError:
            return beta
        qp, f = problem.qp, gram.product(beta)
        now, then = qp.objective(beta, f), qp.objective(other.beta, other.f)
        calmer = qp.violation(other.beta, other.f + qp.linear) < qp.violation(beta, f + qp.linear)
        equal = abs(now - then) <= EQUAL * abs(now)
        return other.beta if (calmer if equal else then < now) else beta

    def _polish(
        self, qp: DualQP, K: FloatArray, gram: Gram, beta: FloatArray, n_iter: int, lazy: LazyRows | None
    ) -> FloatArray:
        """Newton and pairwise steps in turn until the violation is at rounding; never a worse point."""
        if len(qp.free(beta)) ** 3 > POLISH_PAYS * max(n_iter, 2_000) * gram.n:
            return beta  # the solves would take longer than the fit did
        box, budget = Box(qp.lower, qp.upper, gram.diagonal), np.inf if qp.budget is None else qp.budget
        self.backend.polish(K, qp.linear, beta, box, qp.epsilon, qp.balance, budget, qp.budget_is_bound, POLISHED, lazy)
        return beta


def scores(K: FloatArray, beta: FloatArray) -> FloatArray:
    """K beta from the rows of K where beta is not 0: the only ones sure to be filled."""
    support = np.flatnonzero(beta)
    return beta[support] @ K[support]
