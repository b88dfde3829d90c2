"""What a scheme is: two-class tasks before training, a decision and a distribution over the classes after (M21)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maxmargin._types import FloatArray, IntArray

#: Least probability of a class.
LEAST = 1e-7


class BinaryTask(NamedTuple):
    """Rows of a two-class task and their signs."""

    rows: IntArray
    sign: FloatArray
    classes: tuple[int, int]  # (positive, negative); -1 for more than one class


class Fired(NamedTuple):
    """For how many rows no machine, exactly one and several said "mine"."""

    none: int
    one: int
    several: int


@dataclass(frozen=True)
class Scheme(ABC):
    """Classes are 0 .. n_classes - 1. Of two classes every scheme makes one task, with class 1 as the positive one."""

    n_classes: int

    @abstractmethod
    def tasks(self, label: IntArray) -> list[BinaryTask]:
        """The tasks of rows with these classes."""

    @abstractmethod
    def decide(self, scores: FloatArray) -> FloatArray:
        """(n, tasks) scores to (n, classes) ones, whose arg-max is the decision; for more than two classes."""

    @abstractmethod
    def couple(self, p: FloatArray) -> FloatArray:
        """(n, classes) probabilities from those of the tasks' positive sides, (n, tasks); for more than two classes."""

    @property
    def per_class(self) -> bool:
        """Whether task k asks "class k or not?", so that several may say yes, or none."""
        return False

    # -- coefficients of a kernel machine, as it publishes them ------------------------------------------------

    def pack(self, coefs: list[FloatArray], label: IntArray) -> FloatArray:
        """Per-task coefficients to a table (lines, n): here a line per task."""
        table = np.zeros((len(coefs), len(label)))
        for line, task, coef in zip(table, self.tasks(label), coefs, strict=True):
            line[task.rows] = coef
        return table

    def unpack(self, table: FloatArray, label: IntArray) -> list[FloatArray]:
        """Invert :meth:`pack`: the coefficients of every task on its own rows."""
        return [line[task.rows] for line, task in zip(table, self.tasks(label), strict=True)]

    def per_task(self, table: FloatArray, label: IntArray) -> FloatArray:
        """(rows, tasks) coefficients of support vectors with labels ``label``, for one product with the kernel."""
        return np.ascontiguousarray(table.T)

    def blocks(self, table: FloatArray, label: IntArray) -> list[FloatArray]:
        """The same as dense blocks of coefficients, support vectors being sorted by class; see :meth:`from_blocks`."""
        return [self.per_task(table, label)]

    def from_blocks(self, sums: list[FloatArray]) -> FloatArray:
        """(n, tasks) scores from the products of the kernel with :meth:`blocks`."""
        return sums[0]

    # -- what follows from the above ---------------------------------------------------------------------------

    def classes_of(self, scores: FloatArray) -> IntArray:
        """The class that the scores of the tasks decide on; a score of exactly 0 is class 0."""
        if self.n_classes == 2:
            return (scores[:, 0] > 0).astype(np.intp)
        return np.argmax(self.decide(scores), axis=1)

    def distribution(self, p: FloatArray) -> FloatArray:
        """:meth:`couple`, for two classes too; nothing is impossible."""
        found = np.column_stack([1.0 - p[:, 0], p[:, 0]]) if self.n_classes == 2 else self.couple(p)
        found = np.maximum(found, LEAST)
        return found / found.sum(axis=1, keepdims=True)

    def fired(self, scores: FloatArray) -> Fired:
        """How many rows were claimed by no machine, by one, by several; for one machine per class."""
        if not self.per_class or self.n_classes == 2:
            raise ValueError("only with one machine for each of three classes or more may several fire, or none")
        claims = np.count_nonzero(scores > 0, axis=1)
        return Fired(int(np.sum(claims == 0)), int(np.sum(claims == 1)), int(np.sum(claims > 1)))


def squeezed(sums: FloatArray) -> FloatArray:
    """Values to (-1/3, 1/3) in their order: added to whole numbers they decide between equal ones, and no more."""
    return sums / (3 * (np.abs(sums) + 1))


def positive_against_rest(label: IntArray, positive: int) -> FloatArray:
    """+1 for one class, -1 for all others."""
    return np.where(label == positive, 1.0, -1.0)
