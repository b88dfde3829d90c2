"""Where in the user's code we are: that is the line a warning should name."""

from __future__ import annotations

import sys


def levels_to_caller() -> int:
    """How many frames up the user's own code is."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("maxmargin", "sklearn"):
        frame, level = frame.f_back, level + 1
    return level
