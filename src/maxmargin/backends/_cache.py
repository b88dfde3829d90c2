"""Kernel rows kept for later, in a fixed amount of memory, the least recently used going first."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._types import Array, IntArray

#: Most kernel rows computed together.
PIECE = 128


class RowCache:
    """Lines of ``values`` hold rows of K; memory is touched only as lines are first used.

    ``piece`` rows at a time find room: in lines, or in scratch space set aside for when every line is in use.
    """

    def __init__(self, n: int, dtype: Any, n_bytes: int):
        affordable = max(1, n_bytes // max(1, n * np.dtype(dtype).itemsize))
        self.piece = max(1, min(PIECE, affordable // 4))
        capacity = min(n, affordable - self.piece)
        self.values: Array = np.empty((capacity, n), dtype=dtype)
        self._line = np.full(n, -1)  # row -> line
        self._owner = np.full(capacity, -1)  # line -> row
        self._used = np.zeros(capacity, dtype=np.int64)  # line -> time of last use
        self._clock = 0
        self._scratch: Array | None = None

    def lines(self, index: IntArray) -> IntArray:
        """Line of each row, -1 for rows not held."""
        self._clock += 1
        lines = self._line[index]
        self._used[lines[lines >= 0]] = self._clock
        return lines

    def reserve(self, rows: IntArray, keep: IntArray) -> tuple[Array, IntArray]:
        """An array and its lines to write at most ``piece`` rows to; rows of ``keep`` are not thrown out.

        Without enough room the array is scratch space that the next call overwrites.
        """
        busy = self._line[keep]
        age = self._used.copy()
        age[busy[busy >= 0]] = np.iinfo(np.int64).max
        free = np.flatnonzero(age < np.iinfo(np.int64).max)
        if len(free) < len(rows):
            if self._scratch is None:
                self._scratch = np.empty((self.piece, self.values.shape[1]), dtype=self.values.dtype)
            return self._scratch, np.arange(len(rows))
        lines = free[np.argsort(age[free], kind="stable")[: len(rows)]]
        self._line[self._owner[lines][self._owner[lines] >= 0]] = -1
        self._owner[lines], self._line[rows] = rows, lines
        self._used[lines] = self._clock
        return self.values, lines
