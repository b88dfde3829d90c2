"""Many tasks over the same rows, in step: what one of them asks of the kernel serves all.

Problem: the dual QPs of :mod:`maxmargin.problems` with an intercept and without a budget, all on the same rows, which
are too many for a stored matrix: classes against the rest, code words, folds.
Algorithm: in every round each task names a working set; tasks in a row whose sets are small enough together share a
*pool* of rows, whose kernel values are computed once, and each solves its problem on the pool to a tenth of the
violation it began with (:mod:`maxmargin.backends`, compiled). Then one pass over the kernel rows of all that moved
updates the scores of all tasks. At the end one pass in float64 gives the scores that are judged.
Invariant: beta feasible; f = K beta up to float32 rounding, and in float64 at the end.
Cost per round: the squares of the pools, n for every row that moved in any task; every value is computed once for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from maxmargin._stop import Stopped, heed, stops_when
from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.backends import KernelGram, Stored, add_products, fresh_products, run_parallel
from maxmargin.problems import RESIDUE, DualQP
from maxmargin.solvers._base import Watch
from maxmargin.solvers.together import AIM, LARGEST_BLOCK, Tasks, Together

if TYPE_CHECKING:
    from maxmargin.backends import NumbaBackend

#: Fewest rows, and values of all their scores, from which on tasks advance in step.
FEWEST_ROWS = 2048
#: Tasks and scores that are held at a time: as many sums stay in the second-level cache.
TASKS, SCORES = 64, 2**21
#: Least and largest working set of a task, and rows of the problem that ask for one more member; rows of a pool that
#: tasks share; rows of the first pool, drawn evenly.
LEAST, LARGEST, ROWS_PER_MEMBER, POOL, FIRST = 512, 4096, 16, 1024, 2048
#: Pairwise steps per member of a pool beyond which Newton walks, which tasks in step do not take, are quicker.
HARD = 10
#: A working set is solved to this share of the violation it began with, all rows to this share of the goal.
INNER, FINE = 0.1, 0.5
#: Free variables beyond which they are, too.
MANY_FREE = 2048
#: Rounds; without a task's violation halved, those after which sets become larger, and those after which it is left.
ROUNDS, SLOW, PATIENCE = 60, 4, 12


def can_advance_in_step(gram: KernelGram, sizes: Sequence[int], watch: Watch) -> bool:
    """Whether several tasks have all rows, nobody watches the rounds, and kernel rows are cheaper shared than kept."""
    if watch.callback is not None or watch.gap_tol is not None or watch.max_iter >= 0:
        return False
    alike = len(sizes) > 1 and min(sizes) == gram.n > FEWEST_ROWS
    return alike and gram.dtype == np.float32 and gram.backend.streams(gram.program)


def solve_in_step(backend: NumbaBackend, tasks: Tasks, gram: KernelGram, watch: Watch, threads: int) -> Together:
    """Solve the tasks, which have all rows in order; the violations that end them are those of scores in float64."""
    count, n = len(tasks.pointers) - 1, gram.n
    at_once = max(1, min(TASKS, SCORES // n))
    linear, lower, upper, start = (a.reshape(count, n) for a in (tasks.linear, tasks.lower, tasks.upper, tasks.start))
    runs = []
    for first in range(0, count, at_once):
        own, eps = slice(first, first + at_once), tasks.epsilon
        run = _InStep(backend, gram, watch, threads, linear[own], lower[own], upper[own], eps, start[own].copy())
        run.run()
        runs.append(run)
    errors = [run.error for run in runs if run.error is not None]
    return Together(
        np.concatenate([run.beta.ravel() for run in runs]),
        np.concatenate([run.f.ravel() for run in runs]),
        np.concatenate([own.ravel() for own in errors]) if len(errors) == len(runs) else None,
        np.concatenate([run.steps for run in runs]),
        np.concatenate([run.finished for run in runs]),
        sum(run.entries for run in runs),
    )


@dataclass
class _InStep:
    """Tasks that are held at a time: their problems, and where they stand (changed in place)."""

    backend: NumbaBackend
    gram: KernelGram
    watch: Watch
    threads: int
    linear: FloatArray  # (tasks, n), as the others
    lower: FloatArray
    upper: FloatArray
    epsilon: float
    beta: FloatArray
    f: FloatArray = field(init=False)
    error: FloatArray | None = None  # proven bounds on the errors of fresh scores
    entries: int = 0

    def __post_init__(self) -> None:
        count = len(self.beta)
        self.f, self.steps = np.zeros_like(self.beta), np.zeros(count, dtype=np.int64)
        self.finished, self.left = np.zeros(count, dtype=bool), self._many_free()
        self.least = max(LEAST, 1 << (self.gram.n // ROWS_PER_MEMBER).bit_length())
        self.best, self.since = np.full(count, np.inf), np.zeros(count, dtype=np.int64)
        self.lanes = [self.gram.beside(1) for _ in range(self.threads)]

    def run(self) -> None:
        """Rounds until every task has reached its goal or is left to another solver."""
        try:
            with stops_when(lambda: self.watch.must_stop(0)):
                self._rounds()
        except Stopped:
            self.error = None

    def _many_free(self) -> Array:
        """Tasks with so many free variables that they are better solved one by one."""
        inside = (self.beta > self.lower) & (self.beta < self.upper) & (self.beta != 0)
        return np.count_nonzero(inside, axis=1) > MANY_FREE

    def _rounds(self) -> None:
        if self.left.all():
            return
        shared = self.gram.beside(self.threads)
        first, fresh, goal = not self.beta.any(), False, AIM * self.watch.tol
        most = min(LARGEST, self.gram.largest_block)
        self._add(shared, self.beta)
        for _ in range(ROUNDS):
            heed()
            violations, wanted = self.backend.wants(
                self.f, self.linear, self.beta, self.lower, self.upper, self.epsilon, ~self.left,
                goal if fresh else FINE * goal, self.least, most, self.threads,
            )  # fmt: skip
            active = np.flatnonzero(wanted.any(axis=1))
            if len(active) == 0:
                if fresh:
                    self.finished = violations <= self.watch.tol
                    break
                room = RESIDUE * np.abs(self.beta).max(axis=1, keepdims=True)
                self.beta[:] = DualQP(self.linear, self.lower, self.upper).settled(self.beta, room)
                self.f, self.error = fresh_products(shared, self.beta)
                fresh = True
                continue
            self._watch_progress(active, violations)
            if first:  # all violate alike
                wanted[:] = False
                wanted[:, np.linspace(0, self.gram.n - 1, FIRST).astype(np.int64)] = True
            pools = pools_of(active, wanted, POOL)
            self._add(shared, self._solved(pools, np.maximum(INNER * violations, FINE / 2 * goal)))
            if first:  # only now do violations say how far it is
                self.best[:] = np.inf
            first = fresh = False
        self.entries = shared.entries + sum(lane.entries for lane in self.lanes)

    def _watch_progress(self, active: IntArray, violations: FloatArray) -> None:
        """Where violations are not halved for a while sets become larger, and tasks are left after this round."""
        better = violations < self.best / 2
        self.best, self.since = np.where(better, violations, self.best), np.where(better, 0, self.since + 1)
        if np.any(self.since[active] > SLOW):
            self.least = min(2 * self.least, LARGEST)
        self.left[active] |= self.since[active] > PATIENCE
        self.left |= self._many_free()

    def _solved(self, pools: list[tuple[IntArray, IntArray]], goals: FloatArray) -> FloatArray:
        """What moved while every pool was solved, side by side."""
        delta, width = np.zeros_like(self.beta), min(self.threads, len(pools))

        def lane(number: int) -> None:
            gram = self.lanes[number]
            gram.threads = self.threads // width
            for own, pool in pools[number::width]:
                self._solve_pool(gram, own, pool, goals[own], delta)

        run_parallel([partial(lane, number) for number in range(width)], width)
        return delta

    def _solve_pool(
        self, gram: KernelGram, own: IntArray, pool: IntArray, goals: FloatArray, delta: FloatArray
    ) -> None:
        """The tasks ``own`` on the rows of their pool."""
        K, q, count, at = gram.block(pool), len(pool), len(own), np.ix_(own, pool)
        linear, lower, upper = (table[at].ravel() for table in (self.linear, self.lower, self.upper))
        batch = Stored(np.arange(count + 1) * q, np.tile(np.arange(q), count), linear, lower, upper, self.epsilon)
        beta, f, most = self.beta[at].ravel(), self.f[at].ravel(), HARD * q
        taken, _ = self.backend.solve_together(
            K, gram.diagonal[pool], batch, beta, f, goals, min(LARGEST_BLOCK, q), most, min(gram.threads, count)
        )
        self.steps[own] += taken
        self.left[own] |= taken >= most
        delta[at] = beta.reshape(count, q) - self.beta[at]
        self.beta[at] = beta.reshape(count, q)

    def _add(self, shared: KernelGram, delta: FloatArray) -> None:
        """One pass over the kernel rows of what moved in any task."""
        moved = np.flatnonzero(delta.any(axis=0))
        if len(moved):
            add_products(shared, self.f, moved, delta[:, moved])


def pools_of(active: IntArray, wanted: Array, most: int) -> list[tuple[IntArray, IntArray]]:
    """(tasks, rows): tasks in a row that want at most so many rows together; one that wants more, and its like."""
    pools: list[tuple[IntArray, IntArray]] = []
    own, rows = [active[0]], wanted[active[0]]
    for task in active[1:]:
        both = rows | wanted[task]
        if both.sum() > max(most, rows.sum()):
            pools.append((np.array(own), np.flatnonzero(rows)))
            own, both = [], wanted[task]
        own, rows = [*own, task], both
    return [*pools, (np.array(own), np.flatnonzero(rows))]
