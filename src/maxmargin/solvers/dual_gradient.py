r"""Dual gradient ascent: the textbook algorithm, for small problems and for looking at.

Problem: the dual QP of :mod:`maxmargin.problems`, min 1/2 b'Kb + p'b + eps|b|_1 over box, balance and budget.

Algorithm: follow the gradient, then return to the feasible set,

.. math:: \beta \leftarrow \operatorname{prox}_{h/L}\bigl(\beta - (K\beta + p)/L\bigr),

where h holds eps|b|_1 and all constraints, and L is the largest |eigenvalue| of K: a power iteration guesses
it and every step checks it. The prox is exact. Each of its sums is a decreasing piecewise linear function of
one multiplier, whose root is read off the sorted kinks: a sort, not an iteration.

Where that crawls, a Newton walk takes the variables inside their bounds to the optimum of their face
(:mod:`._newton`), as in Moré and Toraldo's method; where it crawls even then, it gives up.

Invariant: beta is feasible after every step and the dual objective never decreases. An indefinite K changes
neither; the limit is then a stationary point.

Cost: n^2 multiplications and a sort per step, O(1/k) accuracy after k steps, the whole kernel matrix in memory.

Papers: Goldstein, Convex programming in Hilbert space, Bull. AMS 1964; Beck and Teboulle, A fast iterative
shrinkage-thresholding algorithm, SIAM J. Imaging Sci. 2009, section 3 and the backtracking of section 4; Moré and
Toraldo, On the solution of large quadratic programming problems with bound constraints, SIAM J. Optim. 1991.

See "Dual gradient ascent" in ``docs/theory.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.backends import single_threaded_blas
from maxmargin.problems import DualQP, Problem
from maxmargin.solvers._base import Crawl, Gram, Solution, Status, Watch
from maxmargin.solvers._newton import newton_values

#: Power iterations for the first guess of L; the guess is checked, so it need not be good.
POWER_STEPS = 30
#: Growth of L when a step shows it to be too small.
BACKTRACK = 1.25
#: Steps without progress after which a Newton walk is tried, and after which the method gives up.
CRAWLING, PATIENCE = 100, 2000


@dataclass(frozen=True)
class DualGradient:
    """Projected (proximal) gradient ascent on the dual with step 1/L, plain: no momentum, no shrinking.

    Parameters
    ----------
    max_steps : int
        Steps after which it gives up (as with the watch's ``max_iter``, whichever is smaller).
    report_every : int
        Steps between two entries of the history; the stopping rules are looked at as often.
    """

    max_steps: int = 100_000
    report_every: int = 10

    def solve(self, problem: Problem, gram: Gram, start: FloatArray | None, watch: Watch) -> Solution:
        """Ascend from the feasible point nearest to ``start`` (None: from zero, where that is feasible)."""
        qp, matrix = problem.qp, gram.matrix()
        beta = nearest(qp, qp.start() if start is None else start)
        lipschitz = largest_eigenvalue(matrix)
        steps, moving, crawl = 0, True, Crawl()
        while True:
            f: FloatArray = matrix @ beta
            violation = qp.violation(beta, f + qp.linear)
            status = watch.look_at(problem, beta, f, steps, violation)
            idle = crawl.since(steps, violation, watch.history[-1].gap)
            if status is None and steps >= self.max_steps:
                status = Status.MAX_ITER
            if status is None and not moving:
                status = Status.STALLED
            if status is None and idle >= PATIENCE:
                status = Status.SLOW
            if status is not None:
                return watch.solution(beta, gram.product(beta), status, steps, gram.entries)
            if idle >= CRAWLING and idle % CRAWLING < self.report_every:
                beta, f = on_face(qp, matrix, beta, f)
            for _ in range(min(watch.steps_left(steps, self.report_every), self.max_steps - steps)):
                beta, f, lipschitz, moving = ascend(qp, matrix, beta, f, lipschitz)
                steps += 1
                if not moving:
                    break


def on_face(qp: DualQP, matrix: FloatArray, beta: FloatArray, f: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(beta, f) after a Newton walk of the free variables, if that leads to a better point."""
    free = qp.free(beta)
    with single_threaded_blas():  # the same bits whatever the number of threads
        values = newton_values(qp, matrix[np.ix_(free, free)], f + qp.linear, beta, free)
    if values is None:
        return beta, f
    beta = beta.copy()
    beta[free] = values
    return beta, matrix @ beta


def ascend(
    qp: DualQP, matrix: FloatArray, beta: FloatArray, f: FloatArray, lipschitz: float
) -> tuple[FloatArray, FloatArray, float, bool]:
    """One step: the new ``(beta, f, lipschitz)``, and whether it moved at all."""
    gradient = f + qp.linear
    while True:
        target = nearest(qp, beta - gradient / lipschitz, qp.epsilon / lipschitz)
        delta = target - beta
        change = matrix @ delta
        # 1/2 d'Kd <= L/2 d'd is all the descent lemma needs of L, and it needs it of this d alone
        if not delta @ change > lipschitz * (delta @ delta):
            return target, f + change, lipschitz, bool(delta.any())
        lipschitz *= BACKTRACK


def largest_eigenvalue(matrix: FloatArray) -> float:
    """Power iteration for the largest |eigenvalue|, from below; 1 for a zero matrix, where any step will do."""
    vector: FloatArray = np.random.default_rng(0).standard_normal(len(matrix))
    size = 0.0
    for _ in range(POWER_STEPS):
        vector = matrix @ (vector / np.linalg.norm(vector))
        size = float(np.linalg.norm(vector))
        if size == 0:
            return 1.0
    return size


def nearest(qp: DualQP, centre: FloatArray, threshold: float = 0.0) -> FloatArray:
    r"""argmin 1/2 ||b - centre||^2 + threshold |b|_1 over the feasible set of ``qp``, exactly.

    With b = x - x', both non-negative, x = clip(centre - high, 0, u) and x' = clip(-centre - low, 0, -l):
    balance puts nu into high = t + nu and low = t - nu, the budget's multiplier raises t. A budget that must be
    spent presupposes rows of one sign, or the set would not be convex.
    """
    up, down = qp.upper, -qp.lower
    if qp.budget is None or qp.budget_is_bound:
        nu = _balancing(qp, centre, threshold) if qp.balance else 0.0
        beta = np.clip(centre - threshold - nu, 0.0, up) - np.clip(nu - centre - threshold, 0.0, down)
        if qp.balance:
            beta = _settled(beta, np.where(beta < 0, -down, 0.0), np.where(beta > 0, up, 0.0), qp.total)
        if qp.budget is None or np.abs(beta).sum() <= qp.budget:
            return beta
    if not qp.balance:
        parts = _filled(np.concatenate([centre, -centre]), np.concatenate([up, down]), qp.budget)
        return parts[: qp.n] - parts[qp.n :]
    # both sums given: those of the positive and of the negative part are given too, and part the problem in two
    positive = _filled(centre, up, (qp.budget + qp.total) / 2)
    return positive - _filled(-centre, down, (qp.budget - qp.total) / 2)


def _balancing(qp: DualQP, centre: FloatArray, threshold: float) -> float:
    """The multiplier nu of ``sum(b) = total`` without a budget."""
    up, down = qp.upper, -qp.lower
    # -clip(-c + nu - t, 0, d) = clip(c + t + d - nu, 0, d) - d: the negative part as one more part that fills up
    tops = np.concatenate([centre - threshold, centre + threshold + down])
    return _level(tops, np.concatenate([up, down]), qp.total + float(down.sum()))


def _filled(tops: FloatArray, room: FloatArray, total: float) -> FloatArray:
    """clip(tops - a, 0, room) with the sum ``total``."""
    return _settled(np.clip(tops - _level(tops, room, total), 0.0, room), np.zeros(len(room)), room, total)


def _settled(x: FloatArray, low: FloatArray, high: FloatArray, total: float) -> FloatArray:
    """Spread over the entries between their bounds what rounding the level, a larger number, did to the sum."""
    inside = (x > low) & (x < high)
    error = (float(x.sum()) - total) / max(int(inside.sum()), 1)
    return np.where(inside, np.clip(x - error, low, high), x)


def _level(tops: FloatArray, room: FloatArray, total: float) -> float:
    """The a at which ``sum(clip(tops - a, 0, room)) = total``: water filling, by walking down the sorted kinks."""
    kinks = np.concatenate([tops, tops - room])
    order = np.argsort(-kinks, kind="stable")
    kinks = kinks[order]
    slope = np.cumsum(np.repeat([1.0, -1.0], len(tops))[order])  # parts that are filling below each kink
    filled = np.concatenate([[0.0], np.cumsum(slope[:-1] * -np.diff(kinks))])
    at = max(int(np.searchsorted(filled, total)) - 1, 0)
    return float(kinks[at] - (total - filled[at]) / max(slope[at], 1.0))
