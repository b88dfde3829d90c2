"""The tasks of a fit over one stored kernel matrix: pairs of classes, classes against the rest, folds, a single task.

Problem: the dual QPs of :mod:`maxmargin.problems` with an intercept and without a budget, on rows of one matrix.
Algorithm: :mod:`maxmargin.backends` solves each task by blocks in compiled code, from start to finish. The matrix is
in float32; scores are computed afresh in float64 at the end, and tasks whose violation is larger there go on from them.
Invariant: beta feasible. What is left after so many steps is said to be unfinished; another solver may go on there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maxmargin._stop import Stopped, heed, stops_when
from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.backends import VALUES_PER_THREAD, KernelGram, Stored, by_appearance
from maxmargin.problems import RESIDUE, DualQP
from maxmargin.solvers._base import Watch
from maxmargin.solvers.decomposition import POLISHED

if TYPE_CHECKING:
    from maxmargin.backends import NumbaBackend

#: Pairwise steps that a task may take, for each of its rows and so many more.
STEPS, MORE_ROWS = 20, 50
#: Steps of a compiled call, times rows: between two calls somebody may ask to stop.
STEPS_TIMES_ROWS = 2**28
#: Most rows of a task that is solved here, if that is the plan (:mod:`._plan`), and of a block.
LONGEST, LARGEST_BLOCK = 8192, 2048
#: Share of the goal that is solved for; what float64 adds to the violation may take the rest.
AIM = 0.95
#: How often tasks go on from fresh scores.
ROUNDS = 5
#: Up to so many rows the matrix is stored in float64: that takes less than a second layout of the rows in float32.
FEW_ROWS = 512
#: Tasks of at most so many of these rows are moved on to where the violation is rounding, which takes some microseconds
#: each, unless all tasks together have more rows than that: then they are so many that it would take a while.
TINY, FEW_IN_ALL = 64, 512
#: Kernel values that float32 holds with all its digits.
RANGE = (1e-25, 1e25)


class Tasks(NamedTuple):
    """Dual QPs laid end to end: task t has the positions pointers[t] to pointers[t + 1]."""

    pointers: IntArray
    rows: IntArray  # of each position, as the Gram matrix numbers them
    linear: FloatArray
    lower: FloatArray
    upper: FloatArray
    epsilon: float
    start: FloatArray  # feasible

    @classmethod
    def of(cls, qps: Sequence[DualQP], rows: Sequence[IntArray], starts: Sequence[FloatArray | None]) -> Tasks:
        """Some QPs of one epsilon, each on its rows."""
        return cls(
            np.concatenate([[0], np.cumsum([qp.n for qp in qps])]).astype(np.int64),
            np.concatenate(rows).astype(np.int64),
            np.concatenate([qp.linear for qp in qps]),
            np.concatenate([qp.lower for qp in qps]),
            np.concatenate([qp.upper for qp in qps]),
            qps[0].epsilon,
            np.concatenate([qp.start() if start is None else start for qp, start in zip(qps, starts, strict=True)]),
        )


@dataclass(frozen=True)
class Together:
    """What the tasks came to, laid end to end as they are."""

    beta: FloatArray
    f: FloatArray  # K beta, in float64
    error: FloatArray | None  # proven bounds on the errors of ``f``, where there are any
    steps: IntArray  # of each task
    finished: Array  # whether each task reached its goal
    entries: int


def has_room(n: int, longest: int, cache_bytes: int, value_bytes: int = 4) -> bool:
    """Whether the matrix of n rows may be stored, and no task is too long."""
    return longest <= LONGEST and value_bytes * n**2 <= cache_bytes


def can_solve_together(gram: KernelGram, longest: int, watch: Watch) -> bool:
    """Whether there is room for the matrix, nobody watches the rounds, and the goal is one in margin units."""
    if watch.callback is not None or watch.gap_tol is not None or watch.max_iter >= 0:
        return False
    (small, large), size = RANGE, float(np.abs(gram.diagonal).max(initial=0.0))
    narrow = gram.is_given or gram.dtype == np.float32
    value_bytes = 4 if narrow else 8 if gram.n <= FEW_ROWS else 8 + 4  # values in float64 are rounded all at once
    return has_room(gram.n, longest, gram.cache_bytes, value_bytes) and small < size < large and gram.is_compiled


def solve_together(backend: NumbaBackend, tasks: Tasks, gram: KernelGram, watch: Watch, threads: int) -> Together:
    """Solve the tasks; the violations that end them are those of scores in float64."""
    count = len(tasks.pointers) - 1
    beta, f = tasks.start.copy(), np.full(len(tasks.start), np.nan)
    begun = Together(beta, f, None, np.zeros(count, dtype=np.int64), np.zeros(count, dtype=bool), 0)
    try:
        with stops_when(lambda: watch.must_stop(0)):
            return _solved(backend, tasks, gram, watch, threads, begun)
    except Stopped:
        return begun


def _solved(
    backend: NumbaBackend, tasks: Tasks, gram: KernelGram, watch: Watch, threads: int, begun: Together
) -> Together:
    """``begun``, solved in place as far as possible."""
    heed()
    alone = len(tasks.pointers) == 2
    order, places = (tasks.rows, np.arange(len(tasks.rows))) if alone else by_appearance(tasks.rows, gram.n)
    few = gram.dtype == np.float64 and len(order) <= FEW_ROWS
    K, diagonal = gram.stored(order, np.float64 if few else np.float32)
    batch = Stored(tasks.pointers, places, tasks.linear, tasks.lower, tasks.upper, tasks.epsilon)
    sizes = np.diff(tasks.pointers)
    threads = min(threads, len(sizes), 1 + int(sizes @ sizes) // VALUES_PER_THREAD)
    parts, most = _parts(sizes), STEPS * (int(sizes.max()) + MORE_ROWS)
    if few and len(parts) == 1:
        return _solved_few(backend, K, diagonal, order, batch, gram, watch, most, threads, begun)
    return _solved_many(backend, K, diagonal, tasks, batch, parts, gram, watch, most, threads, begun)


def _solved_few(
    backend: NumbaBackend,
    K: Array,
    diagonal: FloatArray,
    order: IntArray,
    batch: Stored,
    gram: KernelGram,
    watch: Watch,
    most: int,
    threads: int,
    begun: Together,
) -> Together:
    """In one compiled call, over a matrix in float64."""
    beta, f, sizes = begun.beta, begun.f, np.diff(batch.pointers)
    tiny = TINY if sizes.min() <= TINY and len(batch.rows) <= FEW_IN_ALL else None
    steps, violations = backend.solve_few(
        K, diagonal, batch, beta, f, AIM * watch.tol, most, ROUNDS, tiny, POLISHED, RESIDUE, threads
    )
    error = gram.error_from(K, order, batch.pointers, batch.rows, beta)
    return Together(beta, f, error, steps, violations <= watch.tol, gram.entries)


def _solved_many(
    backend: NumbaBackend,
    K: Array,
    diagonal: FloatArray,
    tasks: Tasks,
    batch: Stored,
    parts: Sequence[slice],
    gram: KernelGram,
    watch: Watch,
    most: int,
    threads: int,
    begun: Together,
) -> Together:
    """Over a matrix in float32, by turns with fresh scores in float64."""
    sizes, beta, f, error = np.diff(tasks.pointers), begun.beta, begun.f, begun.error
    count, longest = len(sizes), int(sizes.max())
    entries, fine, left = gram.entries, gram.in_float64(), gram.cache_bytes - K.nbytes
    goal = np.full(count, AIM * watch.tol)

    def all_tasks(steps: int) -> tuple[IntArray, FloatArray]:
        taken, violations = np.zeros(count, dtype=np.int64), np.zeros(count)
        for part in parts:
            heed()
            own = batch._replace(pointers=batch.pointers[part.start : part.stop + 1])
            taken[part], violations[part] = backend.solve_together(
                K, diagonal, own, beta, f, goal[part], min(LARGEST_BLOCK, longest), steps, threads
            )
        return taken, violations

    for number in range(ROUNDS):
        taken, violations = all_tasks(most)
        begun.steps[:] += taken
        goal[taken >= most] = np.inf  # left to another solver, while the others go on
        if number > 0 and not taken.any():
            break
        room = RESIDUE * np.maximum.reduceat(np.abs(beta), tasks.pointers[:-1]).repeat(sizes)
        beta[:] = DualQP(tasks.linear, tasks.lower, tasks.upper).settled(beta, room)
        before = fine.entries
        f, error = fine.fresh(tasks.pointers, tasks.rows, beta, left)
        entries += fine.entries - before
    else:
        _, violations = all_tasks(0)  # of the fresh scores
    return Together(beta, f, error, begun.steps, violations <= watch.tol, entries)


def _parts(sizes: IntArray) -> Sequence[slice]:
    """Tasks in a row that take little enough time to be handed over together."""
    work = np.cumsum(STEPS * (sizes + MORE_ROWS) * sizes)
    if work[-1] <= STEPS_TIMES_ROWS:
        return (slice(0, len(sizes)),)
    edges = np.searchsorted(work, np.arange(STEPS_TIMES_ROWS, work[-1], STEPS_TIMES_ROWS), side="right")
    cuts = np.unique([0, *np.maximum(edges, 1).tolist(), len(sizes)]).tolist()
    return [slice(first, last) for first, last in pairwise(cuts)]
