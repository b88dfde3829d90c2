"""Being asked to stop: whoever runs something long may end it from outside, and whatever is long looks up now and then.

A search out of time, a page that was closed, the time limit of a fit: they all say :func:`stops_when`. Solvers ask
between their rounds and end with what they have; work that has nothing to deliver before its end calls :func:`heed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_asked: ContextVar[Callable[[], bool]] = ContextVar("_asked", default=lambda: False)


class Stopped(Exception):
    """Raised by work that has nothing to deliver when it is asked to stop before its end."""


@contextmanager
def stops_when(asked: Callable[[], bool]) -> Iterator[None]:
    """Everything that is computed inside ends soon after ``asked()`` is true."""
    outer = _asked.get()
    token = _asked.set(lambda: asked() or outer())
    try:
        yield
    finally:
        _asked.reset(token)


def asked_to_stop() -> Callable[[], bool]:
    """Whether somebody outside has asked to stop, as a function that may be called from any thread."""
    return _asked.get()


def heed() -> None:
    """Between two parts of long work: end it here if somebody has asked to."""
    if _asked.get()():
        raise Stopped("asked to stop before the end")
