"""Ctrl-C during a fit: the first one ends the fit with the model it has, the second one is Python's own.

So does whoever runs the fit and asks it to stop (:func:`maxmargin._stop.stops_when`).
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

from maxmargin._stop import asked_to_stop


class InterruptFlag:
    """Context manager; call it to learn whether the fit shall end. Outside the main thread nobody hears Ctrl-C."""

    def __init__(self) -> None:
        self._pressed, self._asked = False, asked_to_stop()
        self._previous: Any = None

    def __call__(self) -> bool:
        return self._pressed or self._asked()

    def __enter__(self) -> InterruptFlag:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGINT)
            if self._previous is not None:
                signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *error: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
            self._previous = None

    def _press(self, number: int, frame: FrameType | None) -> None:
        self._pressed = True
        if self._previous is not None:  # from now on Ctrl-C means what it meant before
            outer, self._previous = self._previous, None
            signal.signal(signal.SIGINT, outer)
            if isinstance(getattr(outer, "__self__", None), InterruptFlag):  # a search around this fit: it ends, too
                outer(number, frame)
