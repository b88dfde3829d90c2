"""Where the time of a run goes: parts that add up to the whole, and a sign of life while one of them takes long."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from rich.console import Console

from maxmargin.cli._print import Screen


class Clock:
    """Seconds of every part of a run, and the end that a time limit sets."""

    def __init__(self, screen: Screen, limit: float | None):
        self.screen, self.limit, self.began = screen, limit, time.perf_counter()
        self.seconds: dict[str, float] = {}

    @property
    def deadline(self) -> float | None:
        """When the time limit ends; None without one."""
        return None if self.limit is None else self.began + self.limit

    @property
    def late(self) -> bool:
        """Whether the time limit is over."""
        return self.deadline is not None and time.perf_counter() >= self.deadline

    @contextlib.contextmanager
    def part(self, name: str, says: str = "") -> Iterator[None]:
        """Count what happens inside as a part; ``says`` stands on a watched terminal meanwhile."""
        start = time.perf_counter()
        sign = Console(stderr=True).status(f"{says} ...") if says and self.screen.live else contextlib.nullcontext()
        try:
            with sign:
                yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def end(self) -> None:
        """Note the whole, and what belongs to no part."""
        whole = time.perf_counter() - self.began
        self.seconds["the rest"] = max(0.0, whole - sum(self.seconds.values()))
        self.seconds["all"] = whole
