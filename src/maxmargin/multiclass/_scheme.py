"""What a scheme is, two-class tasks before training and a decision over the classes after; and the simplest scheme."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray

#: Probabilities stay this far from 0 and 1, as in LIBSVM.
LEAST_PROBABILITY = 1e-7


class BinaryTask(NamedTuple):
    """Rows of a two-class task and their signs."""

    rows: IntArray
    sign: FloatArray
    classes: tuple[int, int]  # (positive, negative); -1 for more than one class


class EndToEnd(NamedTuple):
    """Two-class tasks laid end to end: task t has the positions pointers[t] to pointers[t + 1]."""

    pointers: IntArray
    rows: IntArray  # of each position
    sign: FloatArray
    lines: IntArray  # of the scheme's table, where each position's coefficient is published
    height: int  # of that table


class Fired(NamedTuple):
    """How many rows were claimed by no task, by exactly one, and by several."""

    none: int
    one: int
    several: int


@dataclass(frozen=True)
class Scheme(ABC):
    """Classes are 0 .. n_classes - 1. For two classes every scheme makes one task, with class 1 as the positive one."""

    n_classes: int

    @abstractmethod
    def tasks(self, label: IntArray) -> list[BinaryTask]:
        """The tasks of rows with these classes."""

    def end_to_end(self, label: IntArray) -> EndToEnd:
        """:meth:`tasks` without Python between two of them."""
        tasks = self.tasks(label)
        sizes = [len(task.rows) for task in tasks]
        return EndToEnd(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([task.rows for task in tasks]),
            np.concatenate([task.sign for task in tasks]),
            np.repeat(np.arange(len(tasks)), sizes),
            len(tasks),
        )

    def publish(self, tasks: EndToEnd, coef: FloatArray, n: int) -> FloatArray:
        """Coefficients laid end to end, as :meth:`pack` has them."""
        table = np.zeros((tasks.height, n))
        table[tasks.lines, tasks.rows] = coef
        return table

    @abstractmethod
    def decide(self, scores: FloatArray) -> FloatArray:
        """(n, tasks) scores to (n, classes) ones, whose arg-max is the decision; for more than two classes."""

    @abstractmethod
    def couple(self, p: FloatArray) -> FloatArray:
        """(n, classes) probabilities from those of the tasks' positive sides, (n, tasks); for more than two classes."""

    @property
    def claimed(self) -> IntArray | None:
        """The class that each task tells from all others, if every class has such a task; else None.

        Then several tasks may claim a row, or none.
        """
        return None

    def names(self, classes: Array) -> list[str]:
        """What every task asks, in words.

        A task without such words has its number, from 0: that of its column in ``code_words_`` and of its place in
        ``intercept_``, ``certificates_`` and ``history_``.
        """
        shown = [str(c) for c in classes]
        return [f"{shown[1]} against {shown[0]}"] if self.n_classes == 2 else self._names(shown)

    def _names(self, shown: list[str]) -> list[str]:
        """The same for more than two classes; here of a scheme with a task per class."""
        assert self.claimed is not None  # schemes without override this
        return [f"{shown[k]} against the rest" for k in self.claimed]

    # -- coefficients of a kernel machine, as it publishes them ------------------------------------------------

    def pack(self, coefs: list[FloatArray], label: IntArray) -> FloatArray:
        """Per-task coefficients as one table, here (tasks, n)."""
        return self.publish(self.end_to_end(label), np.concatenate(coefs), len(label))

    def unpack(self, table: FloatArray, label: IntArray) -> list[FloatArray]:
        """Invert :meth:`pack`: the coefficients of every task on its own rows."""
        whole = self.end_to_end(label)
        return np.split(table[whole.lines, whole.rows], whole.pointers[1:-1])

    def per_task(self, table: FloatArray, label: IntArray) -> FloatArray:
        """(rows, tasks) coefficients of support vectors with labels ``label``, for one product with the kernel."""
        return np.ascontiguousarray(table.T)

    def tables(self, table: FloatArray, label: IntArray) -> list[FloatArray]:
        """The same as dense tables of coefficients, for support vectors sorted by class; see :meth:`from_tables`."""
        return [self.per_task(table, label)]

    def from_tables(self, sums: list[FloatArray]) -> FloatArray:
        """(n, tasks) scores from the products of the kernel with :meth:`tables`."""
        return sums[0]

    # -- what follows from the above ---------------------------------------------------------------------------

    def classes_of(self, scores: FloatArray) -> IntArray:
        """The class that the tasks' scores decide for; with two classes, a score of exactly 0 is class 0."""
        if self.n_classes == 2:
            return (scores[:, 0] > 0).astype(np.intp)
        return np.argmax(self.decide(scores), axis=1)

    def distribution(self, p: FloatArray) -> FloatArray:
        """:meth:`couple`, also for two classes; every class gets a positive probability."""
        found = np.column_stack([1.0 - p[:, 0], p[:, 0]]) if self.n_classes == 2 else self.couple(p)
        found = np.maximum(found, LEAST_PROBABILITY)
        return found / found.sum(axis=1, keepdims=True)

    def fired(self, scores: FloatArray) -> Fired:
        """How many rows were claimed by no task, by one, by several; for schemes with a task per class."""
        if self.claimed is None or self.n_classes == 2:
            raise ValueError("only with one machine for each of three classes or more may several fire, or none")
        claims = np.count_nonzero(scores > 0, axis=1)
        return Fired(int(np.sum(claims == 0)), int(np.sum(claims == 1)), int(np.sum(claims > 1)))


def squeezed(sums: FloatArray) -> FloatArray:
    """Map values to (-1/3, 1/3) and keep their order: added to whole numbers, they break ties and do no more."""
    return sums / (3 * (np.abs(sums) + 1))


def positive_against_rest(label: IntArray, positive: int) -> FloatArray:
    """+1 for one class, -1 for all others."""
    return np.where(label == positive, 1.0, -1.0)


# -- One-vs-all: one task per class against the rest; the largest score wins ----------------------------------------


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
