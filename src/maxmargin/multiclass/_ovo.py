"""All-vs-all: one task per pair of classes, each with a vote; ties are broken by the summed scores."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.multiclass._scheme import BinaryTask, EndToEnd, Scheme, positive_against_rest, squeezed

#: Rows whose probabilities are coupled at a time.
COUPLED = 256


@dataclass(frozen=True)
class OneVsOne(Scheme):
    """Pairs (a, b), a < b, in LIBSVM's order; a is the positive class, except that with two classes b is.

    Coefficients are published as LIBSVM's (classes - 1, n) table: in rows of class a, entry b - 1 is pair (a, b).
    """

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(self.n_classes), 2))

    @property
    def sides(self) -> FloatArray:
        """(pairs, classes): +1 for a pair's first class, -1 for its second, 0 for all others."""
        sides = np.zeros((len(self.pairs), self.n_classes))
        for number, (a, b) in enumerate(self.pairs):
            sides[number, a], sides[number, b] = 1.0, -1.0
        return sides

    def tasks(self, label: IntArray) -> list[BinaryTask]:
        """One task per pair, on the rows of its two classes."""
        if self.n_classes == 2:
            return [BinaryTask(np.arange(len(label)), positive_against_rest(label, 1), (1, 0))]
        whole = self.end_to_end(label)
        ends = whole.pointers.tolist()
        return [
            BinaryTask(whole.rows[first:last], whole.sign[first:last], pair)
            for first, last, pair in zip(ends, ends[1:], self.pairs, strict=False)
        ]

    def end_to_end(self, label: IntArray) -> EndToEnd:
        if self.n_classes == 2:
            return super().end_to_end(label)
        order = np.argsort(label, kind="stable")  # the rows of class k are order[edges[k] : edges[k + 1]]
        edges = np.searchsorted(label[order], np.arange(self.n_classes + 1))
        pairs = np.array(self.pairs).reshape(-1, 2)
        sizes = np.diff(edges)[pairs].ravel()  # of the first class, the second, the first of the next pair, ...
        ends = np.concatenate([[0], np.cumsum(sizes)])
        within = np.arange(ends[-1]) - np.repeat(ends[:-1] - edges[pairs.ravel()], sizes)
        lines = np.column_stack([pairs[:, 1] - 1, pairs[:, 0]]).ravel()
        sides = np.tile([1.0, -1.0], len(pairs))
        sign, lines = np.repeat(sides, sizes), np.repeat(lines, sizes)
        return EndToEnd(ends[::2].astype(np.int64), order[within], sign, lines, self.n_classes - 1)

    def _names(self, shown: list[str]) -> list[str]:
        return [f"{shown[a]} against {shown[b]}" for a, b in self.pairs]

    def decide(self, scores: FloatArray) -> FloatArray:
        """Votes, plus the summed scores squeezed into (-1/3, 1/3)."""
        sides = self.sides
        votes = np.count_nonzero(sides < 0, axis=0) + (scores > 0) @ sides
        return votes + squeezed(scores @ sides)

    def couple(self, p: FloatArray) -> FloatArray:
        """min sum_{a<b} (r_ba p_a - r_ab p_b)^2, sum p = 1: Wu, Lin and Weng 2004, second method.

        One small linear system per row.
        """
        return np.concatenate([self._coupled(p[k : k + COUPLED]) for k in range(0, max(1, len(p)), COUPLED)])

    def _coupled(self, p: FloatArray) -> FloatArray:
        """:meth:`couple` for so few rows that their systems stay in the cache."""
        n, k = len(p), self.n_classes
        a, b = np.array(self.pairs).T
        squares, Q = np.zeros((n, k, k)), np.zeros((n, k + 1, k + 1))
        squares[:, a, b], squares[:, b, a] = (1.0 - p) ** 2, p**2
        Q[:, a, b] = Q[:, b, a] = -p * (1.0 - p)
        Q[:, range(k), range(k)] = squares.sum(axis=2)
        Q[:, :k, k] = Q[:, k, :k] = 1.0
        right = np.zeros((n, k + 1, 1))
        right[:, k] = 1.0
        found = np.maximum(np.linalg.solve(Q, right)[:, :k, 0], 0.0)
        return found / found.sum(axis=1, keepdims=True)

    def tables(self, table: FloatArray, label: IntArray) -> list[FloatArray]:
        """A table per class: its rows' coefficients in all its pairs, since :meth:`per_task` is mostly zeros."""
        if self.n_classes == 2:
            return super().tables(table, label)
        ends = np.searchsorted(label, np.arange(self.n_classes + 1))
        return [np.ascontiguousarray(table[:, ends[k] : ends[k + 1]].T) for k in range(self.n_classes)]

    def from_tables(self, sums: list[FloatArray]) -> FloatArray:
        """The scores of a pair are sums over the rows of its two classes."""
        if self.n_classes == 2:
            return super().from_tables(sums)
        return np.column_stack([sums[a][:, b - 1] + sums[b][:, a] for a, b in self.pairs])

    def per_task(self, table: FloatArray, label: IntArray) -> FloatArray:
        """(rows, pairs) coefficients of support vectors with labels ``label``, for one product with the kernel."""
        columns = np.zeros((len(label), len(self.pairs)))
        for number, (a, b) in enumerate(self.pairs):
            for k, row in ((a, b - 1), (b, a)):
                own = label == k
                columns[own, number] = table[row, own]
        return columns
