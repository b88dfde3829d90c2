"""Kernel rows kept for later, in a fixed amount of memory, the least recently used going first."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._types import Array, IntArray

#: Most kernel rows computed together.
PIECE = 128


class RowCache:
    """Slots of ``values`` hold rows of K; memory is touched only as slots are first used.

    ``piece`` rows at a time find room: in slots, or in scratch space set aside for when every slot is in use.
    """

    def __init__(self, n: int, dtype: Any, n_bytes: int):
        affordable = max(1, n_bytes // max(1, n * np.dtype(dtype).itemsize))
        self.piece = max(1, min(PIECE, affordable // 4))
        capacity = min(n, affordable - self.piece)
        self.values: Array = np.empty((capacity, n), dtype=dtype)
        self._slot = np.full(n, -1)  # row -> slot
        self._owner = np.full(capacity, -1)  # slot -> row
        self._used = np.zeros(capacity, dtype=np.int64)  # slot -> time of last use
        self._clock = 0
        self._scratch: Array | None = None

    def slots(self, index: IntArray) -> IntArray:
        """Slot of each row, -1 for rows not held."""
        self._clock += 1
        slots = self._slot[index]
        self._used[slots[slots >= 0]] = self._clock
        return slots

    def reserve(self, rows: IntArray, keep: IntArray) -> tuple[Array, IntArray]:
        """An array and its slots to write at most ``piece`` rows to; rows of ``keep`` are not thrown out.

        Without enough room the array is scratch space that the next call overwrites.
        """
        busy = self._slot[keep]
        age = self._used.copy()
        age[busy[busy >= 0]] = np.iinfo(np.int64).max
        free = np.flatnonzero(age < np.iinfo(np.int64).max)
        if len(free) < len(rows):
            if self._scratch is None:
                self._scratch = np.empty((self.piece, self.values.shape[1]), dtype=self.values.dtype)
            return self._scratch, np.arange(len(rows))
        slots = free[np.argsort(age[free], kind="stable")[: len(rows)]]
        self._slot[self._owner[slots][self._owner[slots] >= 0]] = -1
        self._owner[slots], self._slot[rows] = rows, slots
        self._used[slots] = self._clock
        return self.values, slots
