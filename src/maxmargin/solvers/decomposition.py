"""Decomposition: solve a small working set exactly, update the gradient with the rows that moved, repeat.

Problem: the dual QP of :mod:`maxmargin.problems`, any size.
Algorithm: take the q worst violators and the free variables of the last round, solve their q x q problem by
second-order pairwise steps (:mod:`maxmargin.backends`), then compute full kernel rows only for the variables that
moved. Problems of at most ``block_size`` rows are one working set, and are finished by Newton steps.
Invariant: f = K beta in float64; beta feasible. Cost per round: q^2 kernel values, n per moved variable.
Papers: Joachims 1999 (working sets), Fan, Chen and Lin 2005 (selection), Wen et al. 2018 (ThunderSVM, blocks).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.backends import Backend, BlockOptions, BlockResult, Box, LazyRows
from maxmargin.problems import DualQP, Problem
from maxmargin.solvers._base import Gram, Solution, Status, Watch
from maxmargin.solvers._newton import face_step

#: Least size of a working set, and rows of the problem that ask for one more member.
SMALLEST_BLOCK, ROWS_PER_MEMBER = 256, 16
#: Compiled steps between two looks at the clock, times the number of rows.
STEPS_TIMES_ROWS = 2**25

MIDDLE = 4
#: Pairwise steps per row, on a problem that is one working set, before Newton steps are tried.
FIRST_STEPS = 20
#: Pairwise steps per member of a working set before a Newton step is tried, and how often they take turns.
STEPS_PER_MEMBER, MOST_ALTERNATIONS = 5, 10
#: Multiplications in a Newton solve that a pairwise step's pass over the working set is worth.
NEWTON_PAYS = 100
#: Relative gain of the objective that counts as none; three rounds without end the fit.
NO_GAIN = 1e-15
#: Relative error of a score summed from rounded kernel values.
ROUNDING = 64 * np.finfo(np.float64).eps
#: Error of a score summed from float32 tiles, relative to the largest kernel value and the sum of |beta|.
ROUNDING_32 = 2 * float(np.finfo(np.float32).eps)
#: Polishing stops when the violation is this small relative to the largest score.
POLISHED = 1e-11
#: Rows drawn to measure the error of float32 scores, and the safety factor on what is seen there.
SAMPLE, SAFETY = 64, 3.0


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
        return self._solve_by_blocks(problem, gram, beta, watch)

    # -- small: one working set ------------------------------------------------------------------------------

    def _solve_whole(self, problem: Problem, gram: Gram, beta: FloatArray, watch: Watch) -> Solution:
        qp, entries = problem.qp, gram.entries
        K, lazy = gram.lazy_matrix(np.flatnonzero(beta))
        f, n_iter, status, unmoved = scores(K, beta), 0, None, 0
        at_once = FIRST_STEPS * (gram.n + 50)
        tol = watch.tol * problem.unit(beta, f)
        while status is None:
            grad, before = f + qp.linear, qp.objective(beta, f)
            if watch.gap_tol is not None:
                tol = 0.1 * qp.violation(beta, grad)
            steps = watch.steps_left(n_iter, at_once)
            result = self._inner(qp, slice(None), K, grad, beta, gram.diagonal, tol, steps, lazy=lazy)
            n_iter += result.steps
            if result.violation <= tol:
                beta = self._polish(qp, K, gram, beta, n_iter, lazy) if self.polish else beta
            elif n_iter != watch.max_iter:  # slow going: a hard problem, where Newton steps save most pairwise ones
                beta = self._accelerate(qp, K, beta)
                at_once = min(2 * at_once, STEPS_TIMES_ROWS // gram.n)
            f = scores(K, beta)  # afresh: the steps' rounding does not pile up
            violation = qp.violation(beta, f + qp.linear)
            status = watch.judge(problem, beta, f, n_iter, violation)
            tol = min(0.1 * tol, watch.tol * problem.unit(beta, f))  # matters only when the goal lies deeper
            gained = before - qp.objective(beta, f)
            unmoved = unmoved + 1 if gained <= NO_GAIN * abs(before) else 0
            if status is None and (unmoved >= 3 or violation <= rounding_floor(gram.diagonal, beta)):
                status = Status.STALLED
        gram.entries = entries + (K.size if lazy is None else int(lazy.filled.sum()) * gram.n)
        return watch.solution(beta, f, status, n_iter, gram.entries)

    def _newton(self, qp: DualQP, K: FloatArray, beta: FloatArray, max_solves: int) -> FloatArray | None:
        """Newton steps from ``beta``; None if K is not definite enough for them or they break the budget."""
        candidate, box = beta.copy(), Box(qp.lower, qp.upper, beta)
        spent = qp.budget is not None and qp.slack(beta) == 0
        if not self.backend.newton(K, qp.linear, candidate, box, qp.epsilon, qp.balance, spent, max_solves):
            return None
        if qp.budget is not None and not spent and np.abs(candidate).sum() > qp.budget:
            return None
        return candidate

    def _accelerate(self, qp: DualQP, K: FloatArray, beta: FloatArray) -> FloatArray:
        """Newton steps from ``beta``, if they lead to a better point."""
        candidate = self._newton(qp, K, beta, max_solves=50)
        if candidate is None or not qp.objective(candidate, scores(K, candidate)) < qp.objective(beta, scores(K, beta)):
            return beta
        return candidate

    def _polish(
        self, qp: DualQP, K: FloatArray, gram: Gram, beta: FloatArray, n_iter: int, lazy: LazyRows | None
    ) -> FloatArray:
        """Newton and pairwise steps in turn until the violation is at rounding; never a worse point."""
        free = np.count_nonzero((beta > qp.lower) & (beta < qp.upper))
        if free**3 > 100 * max(n_iter, 10_000) * gram.n:  # the solves would cost more than the fit did
            return beta
        box, budget = Box(qp.lower, qp.upper, gram.diagonal), np.inf if qp.budget is None else qp.budget
        self.backend.polish(K, qp.linear, beta, box, qp.epsilon, qp.balance, budget, qp.budget_is_bound, POLISHED, lazy)
        return beta

    # -- large: working sets ---------------------------------------------------------------------------------

    def _solve_by_blocks(self, problem: Problem, gram: Gram, beta: FloatArray, watch: Watch) -> Solution:
        qp = problem.qp
        f = gram.product(beta) if beta.any() else np.zeros(gram.n)
        n_iter, rough, settled, part = 0, 0, False, _Part(qp, gram, beta, f, np.zeros(0, dtype=np.intp))
        while True:
            violation = qp.violation(beta, part.f + qp.linear)
            needed = max(violation, watch.tol * problem.unit(beta, part.f))
            exact = part.gram.dtype == np.float64
            if not exact and refreshed(part, needed):
                violation, rough = qp.violation(beta, part.f + qp.linear), rough + 1
            else:
                rough = 0
            status = watch.judge(problem, beta, part.f, n_iter, violation)
            if status is Status.OPTIMAL and not exact and not settled:
                settle(part, needed)
                settled = True
                continue
            if status is not None:
                return watch.solution(beta, part.f, status, n_iter, gram.entries)
            settled = False
            if rough > 2:
                part.in_float64()
                exact = True
            moved, steps = self._round(part, self.inner * violation, watch, n_iter, deep=True)
            n_iter += steps
            if not moved and not exact:
                part.in_float64()
            elif not moved or (exact and violation <= rounding_floor(gram.diagonal, beta)):
                return watch.solution(beta, part.f, Status.STALLED, n_iter, gram.entries)

    def _round(self, part: _Part, goal: float, watch: Watch, n_iter: int, deep: bool) -> tuple[bool, int]:
        """Solve a working set to the ``goal`` and update f; (whether anything moved, steps taken)."""
        qp, gram, beta, f = part.qp, part.gram, part.beta, part.f
        size = self._size(qp, beta)
        size = min(size, gram.largest_block)
        middle = MIDDLE * size
        deep = deep and gram.recomputes and middle < 0.5 * gram.n
        index = working_set(qp, beta, f + qp.linear, part.previous, middle if deep else size)
        inner_beta = beta[index]
        sub = restricted(qp, index, beta)
        if deep:
            within = _Part(sub, gram.within(index), inner_beta, f[index], np.zeros(0, dtype=np.intp))
            steps = 0
            while True:
                if sub.violation(inner_beta, within.f + sub.linear) <= goal or watch.must_stop(n_iter + steps):
                    break
                v = sub.violation(inner_beta, within.f + sub.linear)
                moved, more = self._round(within, max(self.inner * v, 0.5*goal), watch, n_iter + steps, deep=False)
                steps += more
                if not moved:
                    break
            gram.entries += within.gram.entries
        else:
            steps = self._solve_block(sub, gram, index, f[index] + sub.linear, inner_beta, goal, watch, n_iter)
        delta = inner_beta - beta[index]
        moved = np.flatnonzero(delta)
        beta[index] = inner_beta
        if len(moved):
            gram.add_product(f, index[moved], delta[moved])
        part.previous = index
        return len(moved) > 0, steps

    def _solve_block(
        self,
        qp: DualQP,
        gram: Gram,
        index: IntArray,
        grad: FloatArray,
        beta: FloatArray,
        goal: float,
        watch: Watch,
        n_iter: int,
    ) -> int:
        """Pairwise steps on the working set ``index``, with Newton steps where they are slow; the steps taken."""
        K, steps, diagonal, best = gram.block(index), 0, gram.diagonal[index], np.inf
        for _ in range(MOST_ALTERNATIONS):
            most = watch.steps_left(n_iter + steps, STEPS_PER_MEMBER * len(index))
            result = self._inner(qp, slice(None), K, grad, beta, diagonal, goal, most)
            steps += result.steps
            if result.violation <= goal or result.violation > 0.7 * best or watch.must_stop(n_iter + steps):
                break  # the rest is left to the next round, whose gradient does not carry the block's rounding errors
            best = result.violation
            free = np.flatnonzero((beta > qp.lower) & (beta < qp.upper) & (beta != 0))
            if not len(free) or len(free) ** 3 > NEWTON_PAYS * steps * len(index):
                continue
            step = self._face_step(qp, gram, index, grad, beta, free)
            if step is None:
                continue
            delta = step - beta[free]
            beta[free] = step
            grad += delta.astype(K.dtype) @ K[free]
        return steps

    def _face_step(
        self, qp: DualQP, gram: Gram, index: IntArray, grad: FloatArray, beta: FloatArray, free: IntArray
    ) -> FloatArray | None:
        sides = np.sign(beta[free])
        spent = qp.budget is not None and qp.slack(beta) == 0
        sums = np.array([np.ones(len(free))] * qp.balance + [sides] * spent).reshape(-1, len(free))
        lower = np.where(sides > 0, 0.0, qp.lower[free])
        upper = np.where(sides > 0, qp.upper[free], 0.0)
        K = gram.cross(index[free], index[free])
        return face_step(K, grad[free] + qp.epsilon * sides, beta[free], lower, upper, sums)

    def _size(self, qp: DualQP, beta: FloatArray) -> int:
        """Room for the free variables and newcomers: smaller sets zigzag, and a round costs passes over all n rows."""
        free = np.count_nonzero((beta > qp.lower) & (beta < qp.upper) & (beta != 0))
        wanted = max(1.3 * free + 128, qp.n / ROWS_PER_MEMBER, SMALLEST_BLOCK)
        return int(min(self.block_size, 2 ** np.ceil(np.log2(wanted))))

    def _inner(
        self,
        qp: DualQP,
        index: IntArray | slice,
        K: FloatArray,
        grad: FloatArray,
        beta: FloatArray,
        diagonal: FloatArray,
        tol: float,
        max_steps: int,
        whole: FloatArray | None = None,
        lazy: LazyRows | None = None,
    ) -> BlockResult:
        """Run the inner solver on one working set, in place; ``whole`` is the full beta when it is only a part."""
        slack = qp.slack(beta if whole is None else whole)
        options = BlockOptions(qp.epsilon, qp.budget is not None, qp.budget_is_bound, slack, tol, max_steps)
        box = Box(qp.lower[index], qp.upper[index], diagonal)
        run = self.backend.pair_block if qp.balance else self.backend.free_block
        return run(K, grad, beta, box, options, lazy)


def scores(K: FloatArray, beta: FloatArray) -> FloatArray:
    """K beta from the lines of K where beta is not 0: the only ones sure to be filled."""
    support = np.flatnonzero(beta)
    return beta[support] @ K[support]


def rounding_floor(diagonal: FloatArray, beta: FloatArray) -> float:
    """Violations this small are rounding errors of f = K beta."""
    return ROUNDING * float(np.abs(diagonal).max(initial=0.0)) * float(np.abs(beta).sum())


@dataclass
class _Part:
    """A problem on some of the rows, its Gram matrix, and where its solution stands (changed in place)."""

    qp: DualQP
    gram: Gram
    beta: FloatArray
    f: FloatArray
    previous: IntArray

    def in_float64(self) -> None:
        """Float32 tiles are not good enough any more: go on exactly."""
        self.f, self.gram = self.gram.product(self.beta), self.gram.in_float64()


def restricted(qp: DualQP, index: IntArray, beta: FloatArray) -> DualQP:
    """The programme in the variables ``index`` alone; the others keep what they spend of a budget."""
    budget = qp.budget
    if budget is not None:
        budget -= float(np.abs(beta).sum() - np.abs(beta[index]).sum())
    return replace(qp, linear=qp.linear[index], lower=qp.lower[index], upper=qp.upper[index], budget=budget)


def working_set(qp: DualQP, beta: FloatArray, grad: FloatArray, previous: IntArray, size: int) -> IntArray:
    """The worst violators of every kind of move, then the free variables of the last round."""
    up, down = qp.slopes(beta, grad)
    if qp.budget is None:
        lists = [-up, down]
    else:
        positive_up, positive_down = beta >= 0, beta > 0
        lists = [np.where(side, -up, -np.inf) for side in (positive_up, ~positive_up)]
        lists += [np.where(side, down, -np.inf) for side in (positive_down, ~positive_down)]
    room = size if len(previous) == 0 else size // 2
    chosen = np.zeros(qp.n, dtype=bool)
    for values in lists:
        chosen[_largest(values, room // len(lists))] = True
    left = size - np.count_nonzero(chosen)
    kept = previous[~chosen[previous]]
    inside = (beta[kept] > qp.lower[kept]) & (beta[kept] < qp.upper[kept]) & (beta[kept] != 0)
    chosen[np.concatenate([kept[inside], kept[~inside]])[:left]] = True
    return np.flatnonzero(chosen)


def _largest(values: FloatArray, count: int) -> IntArray:
    """Positions of the ``count`` largest finite values."""
    count = min(count, len(values))
    top = np.argpartition(values, len(values) - count)[len(values) - count :]
    return top[np.isfinite(values[top])]


def refreshed(part: _Part, needed: float) -> bool:
    """Whether float32 tiles had left the scores rougher than a tenth of ``needed``, so that those that matter are new.

    What the error may be is known from the size of beta; if that is too much, a sample shows what it is.
    """
    worst = ROUNDING_32 * float(part.gram.diagonal.max()) * float(np.abs(part.beta).sum())
    if worst <= 0.1 * needed:
        return False
    error = _error(part, near(part, needed))
    if error <= 0.1 * needed:
        return False
    recompute(part, max(needed, 2 * error))
    return True


def settle(part: _Part, needed: float) -> None:
    """Before the end: exact scores for all rows that could still matter, given the error of all scores."""
    recompute(part, max(needed, 2 * _error(part, np.arange(part.qp.n))))


def recompute(part: _Part, width: float) -> None:
    """Exact scores for the rows that matter within ``width``."""
    rows = near(part, width)
    part.f[rows] = part.gram.product(part.beta, rows)


def _error(part: _Part, rows: IntArray) -> float:
    """A bound on the error of the scores of ``rows``, from a sample."""
    sample = np.random.default_rng(0).choice(rows, size=min(SAMPLE, len(rows)), replace=False)
    exact = part.gram.product(part.beta, sample)
    return SAFETY * float(np.abs(exact - part.f[sample]).max(initial=0.0))


def near(part: _Part, width: float) -> IntArray:
    """Rows that may be moved and whose slope is within ``width`` of the violated interval (of their family)."""
    qp, beta = part.qp, part.beta
    up, down = qp.slopes(beta, part.f + qp.linear)
    chosen = np.zeros(qp.n, dtype=bool)
    families = [(up, down)]
    if qp.budget is not None:
        rises, falls = beta >= 0, beta > 0
        families = [
            (np.where(a, up, np.inf), np.where(b, down, -np.inf)) for a, b in ((rises, falls), (~rises, ~falls))
        ]
    for rising, falling in families:
        low, high = float(np.min(rising)), float(np.max(falling))
        chosen |= (rising <= max(low, high) + width) | (falling >= min(low, high) - width)
    return np.flatnonzero(chosen)
