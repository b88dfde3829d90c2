"""What a worker keeps of one partition: targets and weights as a Dask result, and the state of a fit beside it.

The state (scores, dual variables) is no Dask result, for those never change. It lives in this process under the seat's
name, with a version: whoever asks for another version, or asks a worker that has never seen the seat, is told that it
is lost. So a copy of a seat, one that was moved or one that was made again after a worker died begins without state.
"""

from __future__ import annotations

import threading
import time
import uuid
from typing import Any

import numpy as np

from maxmargin._types import FloatArray, IntArray

#: Seconds after which state that nobody has asked for is dropped: its driver is gone.
FORGOTTEN = 3600.0

_states: dict[str, dict[Any, Any]] = {}
_touched: dict[str, float] = {}
_locks: dict[str, threading.RLock] = {}


class Seat:
    """Targets and weights of the rows of one partition."""

    def __init__(self, number: int, y: Any, weight: FloatArray, name: str | None = None):
        self.number, self.y, self.weight = number, y, weight
        self.kept: IntArray = np.flatnonzero(weight > 0)
        self.name = name or uuid.uuid4().hex

    def __reduce__(self) -> Any:
        return Seat, (self.number, self.y, self.weight, self.name)

    @property
    def n(self) -> int:
        return len(self.weight)

    @property
    def lock(self) -> threading.RLock:
        """Held by the one operation that may change the state."""
        return _locks.setdefault(self.name, threading.RLock())

    @property
    def states(self) -> dict[Any, Any]:
        """The state of the fit on this partition, in this process; empty where it is not known."""
        now = time.monotonic()
        if self.name not in _states:
            for name in [name for name, last in list(_touched.items()) if now - last > FORGOTTEN]:
                forget(name)
        _touched[self.name] = now
        return _states.setdefault(self.name, {})


def forget(name: str) -> None:
    """Drop the state of a seat."""
    for table in (_states, _touched, _locks):
        table.pop(name, None)
