"""One-vs-all: one task per class against the rest; the largest score wins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.multiclass._scheme import BinaryTask, Scheme, positive_against_rest


@dataclass(frozen=True)
class OneVsRest(Scheme):
    """A task per class; for two classes one task, with the second class as the positive one."""

    @property
    def claimed(self) -> IntArray:
        return np.arange(self.n_classes)

    def tasks(self, label: IntArray) -> list[BinaryTask]:
        """Every task has all rows."""
        rows = np.arange(len(label))
        positive = [1] if self.n_classes == 2 else list(range(self.n_classes))
        return [BinaryTask(rows, positive_against_rest(label, k), (k, -1)) for k in positive]

    def decide(self, scores: FloatArray) -> FloatArray:
        """The scores as they are."""
        return scores

    def couple(self, p: FloatArray) -> FloatArray:
        """Every class's probability, divided by their sum."""
        return normalised(p)


def normalised(p: FloatArray) -> FloatArray:
    """Rows divided by their sums; where everything is 0, all classes are equally likely."""
    total = p.sum(axis=1, keepdims=True)
    return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[1])
