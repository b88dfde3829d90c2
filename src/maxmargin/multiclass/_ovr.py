"""One-vs-all (M21): one machine per class against the rest, the largest score wins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.multiclass._ovo import BinaryTask


@dataclass(frozen=True)
class OneVsRest:
    """A task per class; of two classes one task, the second class being the positive one."""

    n_classes: int

    def tasks(self, label: IntArray) -> list[BinaryTask]:
        """Every task has all rows."""
        rows = np.arange(len(label))
        positive = [1] if self.n_classes == 2 else list(range(self.n_classes))
        return [BinaryTask(rows, np.where(label == k, 1.0, -1.0), (k, -1)) for k in positive]

    def decide(self, scores: FloatArray) -> FloatArray:
        """(n, classes) scores: those of the machines."""
        return scores
