"""One set of problems at one cost after another, over a kernel matrix that is stored whole.

Problem: the dual QPs of :mod:`maxmargin.problems` whose bounds are proportional to a cost (C), with an intercept and
without a budget: all tasks of a fold of a model selection.
Algorithm: :mod:`maxmargin.backends` solves each by blocks in compiled code; the cost grows and solutions are kept, so
that each starts where the last one ended. The scores of rows that take no part are there when it ends.
Papers: DeCoste and Wagstaff 2000 (alpha seeding); Steinwart and Thomann 2017 (liquidSVM: folds on one kernel matrix).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maxmargin._stop import asked_to_stop
from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.backends import Stored
from maxmargin.problems import DualQP

if TYPE_CHECKING:
    from maxmargin.backends import NumbaBackend

#: Most rows of a block, and pairwise steps per row after which a problem is left as it is.
LARGEST_BLOCK, STEPS_PER_ROW = 2048, 100
#: Steps of a compiled call, times rows and tasks, and at least: between two calls somebody may ask to stop.
STEPS_TIMES_ROWS, LEAST_STEPS = 2**28, 1000
#: A violation of so much of the gap's goal, in margin units, is as good as none.
HIDDEN = 1e-3


@dataclass(frozen=True)
class Solutions:
    """What every task of a set came to at one cost."""

    intercept: FloatArray
    dual: FloatArray
    gap: FloatArray  # certified, rounding of the stored values included
    violation: FloatArray
    steps: IntArray
    reached: bool  # whether every task ended at its goal, not after too many steps

    @property
    def relative_gap(self) -> float:
        """The worst of the tasks."""
        size = np.maximum(np.abs(self.dual), np.abs(self.dual + self.gap))
        return float(np.max(np.divide(self.gap, size, out=np.zeros_like(size), where=self.gap > 0), initial=0.0))


class StoredTasks:
    """Tasks laid end to end, and their solutions at the last cost.

    Parameters
    ----------
    qps : programmes of unit cost, with an intercept, without a budget
    rows : their rows of the matrix; few long runs of neighbours are quicker than many short ones
    """

    def __init__(self, qps: Sequence[DualQP], rows: Sequence[IntArray]):
        sizes = [len(own) for own in rows]
        self.batch = Stored(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate(rows).astype(np.int64),
            np.concatenate([qp.linear for qp in qps]),
            np.concatenate([qp.lower for qp in qps]),
            np.concatenate([qp.upper for qp in qps]),
            float(qps[0].epsilon),
        )
        self.beta, self.f = np.zeros(sum(sizes)), np.zeros(sum(sizes))
        self.cost = 0.0

    def __len__(self) -> int:
        return len(self.batch.pointers) - 1

    def solve(self, backend: NumbaBackend, K: Array, diagonal: FloatArray, cost: float, gap_tol: float) -> Solutions:
        """Solve all at this cost, from the solutions at the last one; from 0 where the cost does not grow.

        A task ends when its relative gap (on the stored values) is ``gap_tol``, or its violation a rounding error.
        """
        if cost < self.cost:
            self.beta[:], self.f[:], self.cost = 0.0, 0.0, 0.0
        factor = cost / self.cost if self.cost > 0 else 0.0
        largest = int(np.max(np.diff(self.batch.pointers)))
        most, asked, total = STEPS_PER_ROW * largest + 10_000, asked_to_stop(), np.zeros(len(self))
        at_once = min(most, max(LEAST_STEPS, STEPS_TIMES_ROWS // (largest * len(self))))
        while True:
            report = backend.solve_stored(
                K, diagonal, self.batch, self.beta, self.f, cost, factor, HIDDEN * gap_tol, gap_tol,
                min(LARGEST_BLOCK, largest), at_once,
            )  # fmt: skip
            factor, self.cost = 1.0, cost
            steps, violation, intercept, dual, gap = report.T
            total += steps
            reached = bool(np.all(steps < at_once))
            if reached or total.max() >= most or asked():
                return Solutions(intercept, dual, gap, violation, total.astype(np.int64), reached)
