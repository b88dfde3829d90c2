"""All-vs-all (M21): one machine per pair of classes, each casting a vote; ties by summed scores."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from maxmargin._types import FloatArray, IntArray


class BinaryTask(NamedTuple):
    """Rows of a two-class task and their signs."""

    rows: IntArray
    sign: FloatArray
    classes: tuple[int, int]  # (positive, negative)


@dataclass(frozen=True)
class OneVsOne:
    """Pairs (a, b), a < b, in LIBSVM's order; a is the positive class, except that with two classes b is."""

    n_classes: int

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(self.n_classes), 2))

    def tasks(self, label: IntArray) -> list[BinaryTask]:
        """One task per pair, on the rows of its two classes."""
        if self.n_classes == 2:
            return [BinaryTask(np.arange(len(label)), np.where(label == 1, 1.0, -1.0), (1, 0))]
        own = [np.flatnonzero(label == k) for k in range(self.n_classes)]
        tasks = []
        for a, b in self.pairs:
            rows = np.concatenate([own[a], own[b]])
            sign = np.concatenate([np.ones(len(own[a])), -np.ones(len(own[b]))])
            tasks.append(BinaryTask(rows, sign, (a, b)))
        return tasks

    def decide(self, scores: FloatArray) -> FloatArray:
        """(n, pairs) scores to (n, classes): votes, plus the summed scores squeezed into (-1/3, 1/3)."""
        votes = np.zeros((len(scores), self.n_classes))
        sums = np.zeros_like(votes)
        for number, (a, b) in enumerate(self.pairs):
            score = scores[:, number]
            sums[:, a] += score
            sums[:, b] -= score
            votes[score > 0, a] += 1
            votes[score <= 0, b] += 1
        return votes + sums / (3 * (np.abs(sums) + 1))

    def pack(self, coefs: list[FloatArray], label: IntArray) -> FloatArray:
        """Per-task coefficients to LIBSVM's (classes - 1, n) table: class a's rows hold pair (a, b) in line b - 1."""
        table = np.zeros((self.n_classes - 1, len(label)))
        for task, coef in zip(self.tasks(label), coefs, strict=True):
            a, b = sorted(task.classes)
            first = label[task.rows] == a
            table[b - 1, task.rows[first]] = coef[first]
            table[a, task.rows[~first]] = coef[~first]
        return table

    def unpack(self, table: FloatArray, label: IntArray) -> list[FloatArray]:
        """Invert :meth:`pack`: the coefficients of every task on its own rows."""
        coefs = []
        for task in self.tasks(label):
            a, b = sorted(task.classes)
            coefs.append(np.where(label[task.rows] == a, table[b - 1, task.rows], table[a, task.rows]))
        return coefs

    def per_pair(self, table: FloatArray, label: IntArray) -> FloatArray:
        """(rows, pairs) coefficients of support vectors with labels ``label``, for one product with the kernel."""
        columns = np.zeros((len(label), len(self.pairs)))
        for number, (a, b) in enumerate(self.pairs):
            for k, line in ((a, b - 1), (b, a)):
                own = label == k
                columns[own, number] = table[line, own]
        return columns
