"""What workers run for a :class:`._crew.Crew`: one operation on one partition, and sums of what they give."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Lost:
    """The answer of a seat that does not have the state that it was asked to change."""


def perform(name: str, message: Any, apart: bytes, seat: Any, rows: Any) -> bytes:
    """One operation on one partition, on its worker."""
    from maxmargin.distributed._operations import OPERATIONS

    arguments = pickle.loads(message)
    for place, value in pickle.loads(apart):
        arguments[place] = value
    with seat.lock:
        return pickle.dumps(OPERATIONS[name](seat, rows, *arguments), protocol=5)


def add_pair(a: Any, b: Any) -> Any:
    """Sums of two shares, and the larger of their last values; lists of lost partitions are what remains of any."""
    if isinstance(a, list) or isinstance(b, list):
        return [*(a if isinstance(a, list) else []), *(b if isinstance(b, list) else [])]
    return *(x + y for x, y in zip(a[:-1], b[:-1], strict=True)), max(a[-1], b[-1])


def share(name: str, message: Any, number: int, seat: Any, rows: Any) -> Any:
    """An operation's result as it is, to be added up where it is."""
    result = pickle.loads(perform(name, message, NOTHING_APART, seat, rows))
    return [number] if isinstance(result, Lost) else result


def packed(value: Any) -> bytes:
    """What the driver gets."""
    return pickle.dumps(value, protocol=5)


NOTHING_APART = pickle.dumps([], protocol=5)
