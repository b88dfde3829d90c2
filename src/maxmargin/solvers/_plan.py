"""Whether the tasks of a fit are solved over one stored kernel matrix: the model of cost that decides it.

Stored: half of the n^2 values are computed, and all of them written to memory that nobody has touched yet. On demand:
a task computes the kernel rows of its support vectors, more than once where C is large, and Python makes the rounds.
How many support vectors there will be is not known before; a share of the rows stands for them. The numbers were
fitted to processor times of seven data sets with 1,500 to 8,000 rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.backends import KernelGram, first_touch

#: Tasks of at most so many rows, over a matrix of at most so many bytes, are always solved over a stored one: the C
#: library hands out such memory again that was touched before.
ALWAYS_ROWS, RECYCLED = 2048, 2**25
#: Seconds per kernel value, and more of them per feature.
PER_VALUE, PER_FEATURE = 0.6e-9, 0.018e-9
#: Share of the rows that are expected to be support vectors; how often their kernel rows are computed, for moderate and
#: for large C; and how large C k(x, x) is large.
SUPPORT, OFTEN, OFTEN_HARD, HARD = 0.4, 1.5, 4.0, 10.0
#: Seconds of Python in the rounds of a task.
PER_TASK = 4e-3


class Plan(NamedTuple):
    """How long the two ways are expected to take, in seconds of one processor."""

    rows: int
    size: int  # bytes of the matrix
    stored: float
    on_demand: float

    @property
    def stores(self) -> bool:
        """Whether the matrix is stored."""
        return self.stored <= self.on_demand

    def __str__(self) -> str:
        matrix = f"kernel matrix of {self.rows:,} rows ({self.size / 2**20:.3g} MB)"
        if self.stores:
            return f"the {matrix} is stored: about {self.stored:.1g} s, against {self.on_demand:.1g} s on demand"
        seconds = f"about {self.on_demand:.1g} s, against {self.stored:.1g} s"
        return f"kernel rows are computed on demand: {seconds} for a stored {matrix}"


def plan(gram: KernelGram, sizes: IntArray, width: FloatArray) -> Plan:
    """The plan for tasks of so many rows on the rows of ``gram``; ``width`` is how far each dual variable may move."""
    n, size = gram.n, 4 * gram.n**2
    value = PER_VALUE + PER_FEATURE * gram.rows.features
    if int(sizes.max(initial=0)) <= ALWAYS_ROWS and size <= RECYCLED:
        return Plan(n, size, 0.0, np.inf)
    touch = first_touch() if size > RECYCLED else 0.0
    hard = float(np.median(width)) * float(np.abs(gram.diagonal).mean()) > HARD
    often, squares = OFTEN_HARD if hard else OFTEN, float(np.square(sizes, dtype=np.float64).sum())
    on_demand = SUPPORT * often * squares * value + PER_TASK * len(sizes)
    return Plan(n, size, n**2 / 2 * value + size * touch, on_demand)
