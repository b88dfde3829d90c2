"""Many small problems at once: packed end to end, solved by one compiled call per thread.

All-vs-all training makes tens or hundreds of problems that take a fraction of a millisecond each; what Python does
between two of them would cost more than they do. A problem that is not finished within its steps (a hard one) is
returned as not solved, and :class:`~maxmargin.solvers.Decomposition` goes on from the point reached. There are no
rounds to record: the history of a problem solved here is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.backends import Batch, KernelGram
from maxmargin.problems import Problem
from maxmargin.solvers._base import Solution, Status, Watch
from maxmargin.solvers.decomposition import POLISHED, Decomposition

#: Pairwise steps per row that a problem is given here.
STEPS = 20
#: Problems handed over in one call, and what they may take at most, as steps times rows: between two calls Ctrl-C and
#: the clock are looked at.
AT_ONCE, STEPS_TIMES_ROWS = 64, 2**28


def can_solve_many(solver: object, gram: KernelGram, problems: Sequence[Problem], watch: Watch) -> bool:
    """Whether a batch is possible: compiled row filling, small problems with an intercept, nobody who watches."""
    simple = watch.callback is None and watch.gap_tol is None and watch.max_iter < 0
    fits = isinstance(solver, Decomposition) and gram.fills_rows and gram.dtype == np.float64
    most = solver.whole_size if isinstance(solver, Decomposition) else 0
    small = all(p.qp.balance and p.qp.n <= most and 8 * p.qp.n**2 <= gram.cache_bytes for p in problems)
    return simple and fits and small


def solve_many(
    problems: Sequence[Problem],
    rows: Sequence[IntArray],
    starts: Sequence[FloatArray | None],
    gram: KernelGram,
    threads: int,
    watches: Sequence[Watch],
) -> list[tuple[Solution, bool]]:
    """(solution, finished) of every problem on its rows of the Gram matrix; problems are of one kind."""
    results: list[tuple[Solution, bool]] = []
    for part in _parts([problem.qp.n for problem in problems]):
        if watches[part.start].must_stop(0):
            starts_here = [p.qp.start() if s is None else s for p, s in zip(problems[part], starts[part], strict=True)]
            results += [(_unsolved(b), False) for b in starts_here]
            continue
        results += _solve_part(problems[part], rows[part], starts[part], gram, threads, watches[part])
    return results


def _parts(sizes: list[int]) -> Iterator[slice]:
    """Problems in a row that take little enough time to be handed over together."""
    first, work = 0, 0
    for k, n in enumerate(sizes):
        work += STEPS * (n + 50) * n
        if k > first and (k - first >= AT_ONCE or work > STEPS_TIMES_ROWS):
            yield slice(first, k)
            first, work = k, STEPS * (n + 50) * n
    yield slice(first, len(sizes))


def _solve_part(problems, rows, starts, gram, threads, watches) -> list[tuple[Solution, bool]]:
    qps = [problem.qp for problem in problems]
    sizes = [qp.n for qp in qps]
    pointers = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    beta = np.concatenate([qp.start() if start is None else start for qp, start in zip(qps, starts, strict=True)])
    budgets = np.array([np.inf if qp.budget is None else qp.budget for qp in qps])
    batch = Batch(
        pointers,
        np.concatenate(rows).astype(np.int64),
        gram.features(),
        gram.rows.scalars,
        gram.program.code,
        gram.diagonal,
        np.concatenate([qp.linear for qp in qps]),
        np.concatenate([qp.lower for qp in qps]),
        np.concatenate([qp.upper for qp in qps]),
        beta,
        np.zeros(len(beta)),
        qps[0].epsilon,
        budgets,
        qps[0].budget_is_bound,
        watches[0].tol,
        STEPS,
        POLISHED,
    )
    steps, violations, entries = gram.backend.solve_many(batch, threads)
    results = []
    for number, (problem, watch) in enumerate(zip(problems, watches, strict=True)):
        own = slice(pointers[number], pointers[number + 1])
        b, f = beta[own].copy(), batch.f[own].copy()
        finished = bool(violations[number] <= watch.tol * problem.unit(b, f))
        status = Status.OPTIMAL if finished else Status.STALLED
        results.append((watch.solution(b, f, status, int(steps[number]), int(entries[number])), finished))
    return results


def _unsolved(beta: FloatArray) -> Solution:
    return Solution(beta, np.zeros(len(beta)), Status.INTERRUPTED, 0, (), 0)
