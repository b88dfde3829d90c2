"""Arguments of the inner solvers, as named tuples so that compiled code can take them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.kernels import Code


class Box(NamedTuple):
    """Bounds and curvatures of the working set's variables."""

    lower: FloatArray
    upper: FloatArray
    diagonal: FloatArray


class BlockOptions(NamedTuple):
    """How the inner solver moves and when it stops.

    ``two_sided``: a budget couples the positive and the negative variables; ``may_shrink``: it is an upper bound.
    """

    epsilon: float
    two_sided: bool
    may_shrink: bool
    slack: float
    tol: float
    max_steps: int


class LazyRows(NamedTuple):
    """How compiled code fills a line of K when it first needs it: dense rows, one dot product, one program."""

    filled: Array  # (n,) bool
    features: FloatArray  # (d, n) the rows, feature by feature
    scalars: FloatArray
    code: Code


def all_filled(n: int) -> LazyRows:
    """For a matrix that is complete."""
    nothing = np.zeros((0, n))
    no_code = Code(np.zeros((0, 2), dtype=np.int64), np.zeros((0, 2)), 0)
    return LazyRows(np.ones(n, dtype=np.bool_), nothing, nothing, no_code)


class Batch(NamedTuple):
    """Many small problems on rows of one matrix, laid end to end; task t is positions pointers[t]..pointers[t + 1].

    All of them have an intercept.
    """

    pointers: IntArray
    rows: IntArray  # of each position
    features: FloatArray  # (d, all rows)
    scalars: FloatArray
    code: Code
    diagonal: FloatArray  # (all rows,)
    linear: FloatArray
    lower: FloatArray
    upper: FloatArray
    beta: FloatArray  # a feasible start; the solution afterwards
    f: FloatArray
    epsilon: float
    budgets: FloatArray  # of each task; inf where there is none
    may_shrink: bool
    tol: float
    steps_per_row: int
    polished: float


class Stored(NamedTuple):
    """Problems over one stored matrix, laid end to end; task t is positions pointers[t]..pointers[t + 1].

    All of them have an intercept and no budget. Few long runs of neighbours among the rows of a task are quicker than
    many short ones.
    """

    pointers: IntArray
    rows: IntArray  # of each position
    linear: FloatArray
    lower: FloatArray
    upper: FloatArray
    epsilon: float
