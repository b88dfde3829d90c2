"""Large problems by nested working sets, each solved to a tenth of the violation it started with.

Problem: the dual QP of :mod:`maxmargin.problems` on more rows than fit one working set.
Algorithm: of all rows, the worst violators and the free variables make a *middle* set, a quarter of the rows or less;
of those, the worst again make a *block* of q rows, whose q x q kernel values are computed and whose problem is solved
by pairwise steps (:mod:`maxmargin.backends`), with Newton walks where they are slow (:mod:`._newton`). Kernel rows of
what moved in the block are computed on the middle set only; when that is done, rows of what moved in it on all rows.
Where kernel rows are expensive, and kept in a cache, there is no middle set.
Invariant: beta feasible; f = K beta up to float32 rounding, which :mod:`._precision` watches.
Cost per round: q^2 kernel values, the middle set's rows per variable moved; n per variable moved and middle set.
Papers: Joachims 1999 (working sets), Wen et al. 2018 (ThunderSVM, blocks).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.backends import Backend, BlockOptions, BlockResult, Box, LazyRows
from maxmargin.problems import DualQP, Problem
from maxmargin.solvers._base import Crawl, Gram, Solution, Status, Watch, rounding_floor
from maxmargin.solvers._newton import newton_values
from maxmargin.solvers._precision import Subproblem, refreshed, settle

#: Least size of a block, and rows of the problem that ask for one more member.
SMALLEST_BLOCK, ROWS_PER_MEMBER = 256, 16
#: Blocks in a middle set.
MIDDLE = 4
#: Pairwise steps per member of a block before a Newton walk is tried, and how often they take turns.
STEPS_PER_MEMBER, MOST_TURNS = 5, 10
#: A turn that leaves more than this share of the violation was in vain.
IN_VAIN = 0.7
#: Multiplications of a Newton solve that a pairwise step's pass over the block is worth.
NEWTON_PAYS = 100
#: Kernel values of a start's scores between two looks at the clock.
START_VALUES = 2**25
#: Rounds in a row with scores too rough after which tiles are float64.
MOST_ROUGH = 2
#: Rounds without progress after which scores and tiles must be at fault, or the fit cannot be helped.
PATIENCE = 100


@dataclass
class Blocks:
    """One solve: the options, the watch, and the pairwise steps taken so far."""

    backend: Backend
    block_size: int
    inner: float
    watch: Watch
    n_iter: int = 0
    walked: int = 0  # ``n_iter`` at the last Newton walk
    hard: bool = False  # pairwise steps and Newton walks had to take turns until the last

    def solve(self, problem: Problem, gram: Gram, beta: FloatArray) -> Solution:
        """Improve ``beta``, in place, until the watch says stop."""
        qp, watch = problem.qp, self.watch
        f, known = first_scores(gram, beta, watch)
        if not known:
            watch.history.append(watch.nothing_known())
            return watch.solution(beta, f, watch.reason(0) or Status.TIME_LIMIT, 0, gram.entries)
        part, rough, settled, crawl, rounds = Subproblem(qp, gram, beta, f), 0, False, Crawl(), 0
        while True:
            needed = max(part.violation(), 0.0 if watch.gap_tol is not None else watch.tol * problem.unit(beta, part.f))
            rough = rough + 1 if not part.exact and refreshed(part, needed) else 0
            violation = part.violation()
            if not (part.exact or settled) and watch.is_met(problem, beta, part.f, violation):
                settle(part, needed)
                settled = True
                continue
            status = watch.look_at(problem, beta, part.f, self.n_iter, violation)
            if status is not None:
                return watch.solution(beta, part.f, status, self.n_iter, part.gram.entries)
            settled, rounds = False, rounds + 1
            crawls = crawl.since(rounds, violation, watch.history[-1].gap) > PATIENCE
            if rough > (0 if self.hard else MOST_ROUGH):
                part.in_float64()
            if self._round(part, self.inner * violation, whole=True) and not crawls:
                stalled = part.exact and violation <= rounding_floor(gram.diagonal, beta)
            else:
                stalled, crawl.last = part.exact, rounds
                part.in_float64()
            if stalled:
                return watch.solution(beta, part.f, Status.STALLED, self.n_iter, part.gram.entries)

    def _round(self, part: Subproblem, goal: float, whole: bool = False) -> bool:
        """Solve a working set to the ``goal`` and update f; whether anything moved."""
        size = min(self._size(part), part.gram.largest_block)
        middle = whole and part.gram.recomputes and MIDDLE * size < part.qp.n / 2
        grad = part.f + part.qp.linear
        index = working_set(self.backend, part.qp, part.beta, grad, part.previous, MIDDLE * size if middle else size)
        beta, qp = part.beta[index], restricted(part.qp, index, part.beta)
        if middle:
            inside = Subproblem(qp, part.gram.within(index), beta, part.f[index])
            self.solve_middle(inside, goal)
            part.gram.entries += inside.gram.entries
        else:
            self._solve_block(qp, part.gram, index, grad[index], beta, goal)
        return part.move(index, beta)

    def _size(self, part: Subproblem) -> int:
        """Room for the free variables and newcomers: smaller sets zigzag, and a round costs passes over all rows."""
        wanted = max(1.3 * len(part.qp.free(part.beta)) + 128, part.qp.n / ROWS_PER_MEMBER, SMALLEST_BLOCK)
        return int(min(self.block_size, 2 ** np.ceil(np.log2(wanted))))

    def solve_middle(self, part: Subproblem, goal: float) -> None:
        """Blocks of a middle set until its violation is at the ``goal``; beta changes in place."""
        moved, crawl, rounds = True, Crawl(), 0
        while moved and not self.watch.must_stop(self.n_iter):
            violation, rounds = part.violation(), rounds + 1
            if violation <= goal or crawl.since(rounds, violation) > PATIENCE:
                return
            moved = self._round(part, max(self.inner * violation, goal / 2))

    def _solve_block(
        self, qp: DualQP, gram: Gram, index: IntArray, grad: FloatArray, beta: FloatArray, goal: float
    ) -> None:
        """Pairwise steps on the rows ``index``, with Newton walks where they are slow; beta changes in place."""
        K, diagonal, best = gram.block(index), gram.diagonal[index], np.inf
        for _ in range(MOST_TURNS):
            most = self.watch.steps_left(self.n_iter, STEPS_PER_MEMBER * len(index))
            result = run_inner(self.backend, qp, K, grad, beta, diagonal, goal, most)
            self.n_iter += result.steps
            if result.violation <= goal or result.violation > IN_VAIN * best or self.watch.must_stop(self.n_iter):
                self.hard |= result.violation > goal
                return  # the rest is left to the next round, whose gradient is free of this block's rounding errors
            best, free = result.violation, qp.free(beta)
            if 0 < len(free) ** 3 <= NEWTON_PAYS * (self.n_iter - self.walked) * len(index):
                self.walked = self.n_iter
                values = newton_values(qp, gram.cross(index[free], index[free]), grad, beta, free)
                if values is not None:
                    delta = values - beta[free]
                    beta[free] = values
                    grad += delta.astype(K.dtype) @ K[free]


def first_scores(gram: Gram, beta: FloatArray, watch: Watch) -> tuple[FloatArray, bool]:
    """(K beta, True); or (an estimate, False) from the support vectors, in random order, that there was time for."""
    support, f = np.flatnonzero(beta), np.zeros(gram.n)
    if len(support) == 0:
        return f, True
    if watch.deadline == np.inf or len(support) * gram.n <= START_VALUES:
        return gram.product(beta), True
    order, height = np.random.default_rng(0).permutation(support), max(1, START_VALUES // gram.n)
    for first in range(0, len(order), height):
        if first and watch.must_stop(0):
            return f * (len(order) / first), False
        some = np.zeros_like(beta)
        some[order[first : first + height]] = beta[order[first : first + height]]
        f += gram.product(some)
    return f, True


def run_inner(
    backend: Backend,
    qp: DualQP,
    K: Array,
    grad: FloatArray,
    beta: FloatArray,
    diagonal: FloatArray,
    tol: float,
    max_steps: int,
    lazy: LazyRows | None = None,
) -> BlockResult:
    """The inner solver on one working set, in place."""
    options = BlockOptions(qp.epsilon, qp.budget is not None, qp.budget_is_bound, qp.slack(beta), tol, max_steps)
    run = backend.pair_block if qp.balance else backend.free_block
    return run(K, grad, beta, Box(qp.lower, qp.upper, diagonal), options, lazy)


def restricted(qp: DualQP, index: IntArray, beta: FloatArray) -> DualQP:
    """The programme in the variables ``index`` alone; the others keep what they spend of a budget."""
    budget = qp.budget
    if budget is not None:
        budget -= float(np.abs(beta).sum() - np.abs(beta[index]).sum())
    return replace(qp, linear=qp.linear[index], lower=qp.lower[index], upper=qp.upper[index], budget=budget)


def working_set(
    backend: Backend, qp: DualQP, beta: FloatArray, grad: FloatArray, previous: IntArray, size: int
) -> IntArray:
    """The worst violators of every kind of move, then the free variables of the last round."""
    lists = [values for up, down in qp.sides(beta, grad) for values in (-up, down)]
    room = size if len(previous) == 0 else size // 2
    chosen = np.zeros(qp.n, dtype=bool)
    for values in lists:
        chosen[backend.largest(values, max(1, room // len(lists)))] = True
    left = size - np.count_nonzero(chosen)
    kept = previous[~chosen[previous]]
    inside = (beta[kept] > qp.lower[kept]) & (beta[kept] < qp.upper[kept]) & (beta[kept] != 0)
    chosen[np.concatenate([kept[inside], kept[~inside]])[:left]] = True
    return np.flatnonzero(chosen)
