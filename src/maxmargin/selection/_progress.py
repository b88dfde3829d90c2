"""What a person sees while a search runs: a bar, and the best score so far."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from maxmargin.selection._cells import Cell
from maxmargin.selection._race import leader

#: Characters of the bar, and seconds between two updates.
WIDTH, UPDATE_EVERY = 24, 0.2


class ProgressBar:
    """One line on the terminal; ``shown=False`` makes it silent."""

    def __init__(self, name: str, shown: bool):
        self.name, self.shown = name, shown
        self._began, self._last, self._length = time.perf_counter(), 0.0, 0

    def show(self, what: str, done: int, all_of: int, cells: Sequence[Cell], final: bool = False) -> None:
        """Redraw if it is time to."""
        now = time.perf_counter()
        if not self.shown or (not final and now - self._last < UPDATE_EVERY):
            return
        self._last = now
        filled = round(WIDTH * done / max(1, all_of))
        best = leader(cells)
        found = "" if best is None else f"  best {best.mean:.4f} at {best}"
        bar = "#" * filled + "." * (WIDTH - filled)
        text = f"[{self.name}] {what} [{bar}] {done}/{all_of}  {now - self._began:.1f} s{found}"
        self._length = max(self._length, len(text))
        print("\r" + text.ljust(self._length), end="", flush=True, file=sys.stdout)

    def close(self) -> None:
        if self.shown:
            print(flush=True, file=sys.stdout)
