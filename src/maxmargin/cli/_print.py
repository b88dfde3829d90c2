"""What a person sees, and the one document that a program reads."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table as Grid
from rich.text import Text

#: Columns of text that goes to no terminal.
WIDTH = 110


class Screen:
    """Where text goes: standard output, or standard error when standard output belongs to a program."""

    def __init__(self, for_program: bool = False):
        self.for_program = for_program
        stream = sys.stderr if for_program else sys.stdout
        # a pipe or a file has no width of its own
        self.console = Console(file=stream, highlight=False, width=None if stream.isatty() else WIDTH)

    @property
    def live(self) -> bool:
        """Whether somebody is watching standard error, where progress bars go."""
        return sys.stderr.isatty()

    def title(self, text: str) -> None:
        self.console.print()
        self.console.print(Text(text, style="bold"))

    def line(self, text: str = "", style: str = "") -> None:
        self.console.print(Text(text, style=style))

    def paragraph(self, text: str) -> None:
        """Text that is set in a little."""
        self.console.print(Padding(Text(text), (0, 0, 0, 2), expand=False))

    def notice(self, text: str) -> None:
        """Something to know, with a mark before it."""
        grid = Grid.grid(padding=(0, 1))
        grid.add_row(Text("!", style="yellow bold"), Text(text))
        self.console.print(grid)

    def pairs(self, pairs: list[tuple[str, str]]) -> None:
        """Two columns: what, and its value."""
        grid = Grid.grid(padding=(0, 2))
        grid.add_column(style="cyan", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in pairs:
            grid.add_row(Text(name), Text(value))
        self.console.print(Padding(grid, (0, 0, 0, 2), expand=False))

    def reasons(self, lines: list[tuple[str, str, str, str]]) -> None:
        """What was decided, why, and the option that decides otherwise."""
        grid = Grid.grid(padding=(0, 2))
        grid.add_column(style="cyan", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value, why, option in lines:
            reason = Text.assemble(
                (value, "bold"), f": {why}" if why else "", (f"  [{option}]" if option else "", "dim")
            )
            grid.add_row(Text(name), reason)
        self.console.print(Padding(grid, (0, 0, 0, 2), expand=False))

    def grid(self, names: list[str], rows: list[list[str]], right: tuple[int, ...] = ()) -> None:
        """A table with a line of names."""
        grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="cyan", pad_edge=False, show_header=any(names))
        for place, name in enumerate(names):
            grid.add_column(Text(name), justify="right" if place in right else "left", overflow="fold")
        for row in rows:
            grid.add_row(*map(Text, row))
        self.console.print(Padding(grid, (0, 0, 0, 2), expand=False))

    def code(self, text: str) -> None:
        """Python, coloured on a terminal; elsewhere as it is, so that it can be copied."""
        if self.console.is_terminal:
            self.console.print(Syntax(text, "python", background_color="default", word_wrap=True))
        else:
            print(text, file=self.console.file)

    def error(self, text: str) -> None:
        """What went wrong, always to standard error."""
        Console(stderr=True, highlight=False, soft_wrap=True).print(Text.assemble(("Error: ", "red bold"), text))

    def document(self, value: Any) -> None:
        """The JSON document; once."""
        print(json.dumps(plain(value), ensure_ascii=False, allow_nan=False), file=sys.stdout, flush=True)


@contextlib.contextmanager
def progress_on_stderr() -> Iterator[None]:
    """Fits draw their bars on standard output, which here belongs to results."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


def plain(value: Any) -> Any:
    """As JSON knows it: what is not finite becomes null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if isinstance(value, Path) else value


def figure(value: float) -> str:
    """A number with four digits that matter."""
    if not math.isfinite(value):
        return "none"
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def share(value: float) -> str:
    return f"{value:.1%}"


def counted(number: int, what: str) -> str:
    """1 row, 2 rows."""
    plural = what[:-1] + "ies" if what.endswith("y") and what[-2] not in "aeiou" else what + "s"
    return f"{number:,} {what if number == 1 else plural}"


def listed(names: list[str] | tuple[str, ...], most: int = 5) -> str:
    """Some names, and how many more there are."""
    shown = ", ".join(map(str, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"
