"""Tables in text: CSV, TSV and their relatives.

The csv module splits lines into cells, a block of rows at a time. A column is numbers as long as every cell that is not
missing is one; the first text makes it text, from the first row on.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from maxmargin._types import Array, FloatArray
from maxmargin.io._files import ending, numbered
from maxmargin.io._numbers import number
from maxmargin.io._table import MISSING, Kind, Table, checked_names

#: What may stand between cells, the commonest first.
SEPARATORS = ",;\t|"
DECIMAL_COMMA = re.compile(r"[+-]?\d{1,3}(\.?\d{3})*,\d+")


@dataclass(frozen=True)
class TextOptions:
    """How to read: rows at a time, the separator, whether the first line holds names, kinds of columns by name."""

    rows: int = 4096
    separator: str | None = None
    header: bool | None = None
    kinds: dict[str, Kind] | None = None


class Cells:
    """The rows of a file as lists of text, with the line on which each begins."""

    def __init__(self, path: Path, separator: str | None):
        self.path, self.line = path, 0
        lines = decoded(path)
        first = next(lines, "")
        self.separator = separator or separator_of(path, first)
        self._reader = csv.reader(chain([first], lines), delimiter=self.separator, strict=True, skipinitialspace=True)

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        while True:
            self.line = self._reader.line_num + 1
            try:
                row = next(self._reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise ValueError(
                    f"{self.path}, line {self.line}: the row that begins here cannot be split into cells ({error}); "
                    "look for a quote that is not closed"
                ) from None
            if len(row) > 1 or "".join(row).strip():  # a row of gaps is a row, an empty line is none
                yield self.line, row


def decoded(path: Path) -> Iterator[str]:
    """Lines of text."""
    for line_number, line in numbered(path, lambda line: True):
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            wide = line.startswith((b"\xff\xfe", b"\xfe\xff"))
            saved = "UTF-16" if wide else "an older encoding such as Latin-1"
            raise ValueError(
                f"{path}, line {line_number}: not UTF-8 text ({error.reason} at byte {error.start + 1}); "
                f"it looks like {saved}: save the file as UTF-8"
            ) from None


def separator_of(path: Path, line: str) -> str:
    """What stands between the cells of the first line most often."""
    if ending(path) == ".tsv":
        return "\t"
    outside = "".join(line.split('"')[::2])
    return max(SEPARATORS, key=outside.count)


def text_tables(path: Path, options: TextOptions) -> Iterator[Table]:
    """The file, ``options.rows`` rows at a time; a column may be numbers in one table and text in the next."""
    cells = Cells(path, options.separator)
    rows = iter(cells)
    start = list(islice(rows, 2))
    if not start:
        raise ValueError(f"{path} is empty; it needs a line of names and lines of values")
    named = has_header(start) if options.header is None else options.header
    count = len(start[0][1])
    names = checked_names(path, start[0][1] if named else [""] * count)
    remaining = chain(start[1:] if named else start, rows)
    first = 0
    while block := list(islice(remaining, options.rows)):
        for line, row in block:
            if len(row) != count:
                raise ValueError(
                    f"{path}, line {line}: {len(row)} cells where the first line has {count}; complete the line, or "
                    f"quote cells that contain {cells.separator!r}"
                )
        lines = np.array([line for line, _ in block], dtype=np.int64)
        yield Table(path, names, tuple(parsed(path, names, lines, block, options.kinds)), lines=lines, first=first)
        first += len(block)
    if not first:
        raise ValueError(f"{path} has a line of names and no rows of values; check that it was written completely")


def has_header(start: Sequence[tuple[int, list[str]]]) -> bool:
    """Whether the first line holds names: text where the second has a number, or nothing but text."""
    first = [number(cell) is None for cell in start[0][1]]
    if all(first):
        return True
    second = [number(cell) is None for cell in start[1][1]] if len(start) > 1 else first
    return any(text and not below for text, below in zip(first, second, strict=False))


def parsed(path, names, lines, block, kinds) -> Iterator[Array]:
    """The columns of a block of rows."""
    for name, column in zip(names, zip(*(row for _, row in block), strict=True), strict=True):
        kind = None if kinds is None else kinds.get(name)
        values = None if kind == "category" else numbers(column)
        if values is None:
            if kind == "number":
                raise not_a_number(path, name, lines, column)
            yield texts(column)
            continue
        endless = np.isinf(values)
        if endless.any():
            row = int(np.argmax(endless))
            raise ValueError(
                f"{path}, line {lines[row]}, column {name!r}: {column[row]!r} is not finite; correct it, or leave the "
                "cell empty if the value is not known"
            )
        yield values


def not_a_number(path: Path, name: str, lines: Array, column: Sequence[str]) -> ValueError:
    """The error for the first text of a column that has to be numbers."""
    row = next(row for row, cell in enumerate(column) if not is_missing(cell) and number(cell) is None)
    cell = column[row].strip()
    hint = "write decimals with a point" if DECIMAL_COMMA.fullmatch(cell) else "correct it or leave the cell empty"
    return ValueError(f"{path}, line {lines[row]}, column {name!r}: {cell!r} is not a number; {hint}")


def is_missing(cell: str) -> bool:
    """Whether the cell stands for a value that is not known."""
    return cell.strip().lower() in MISSING


def numbers(cells: Sequence[str]) -> FloatArray | None:
    """Cells as numbers, nan where they are missing; None if one is text."""
    try:
        if "_" not in "".join(cells):  # Python reads 1_000, no other program does
            return np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
    except ValueError:
        pass
    found = np.empty(len(cells))
    for row, cell in enumerate(cells):
        value = np.nan if is_missing(cell) else number(cell)
        if value is None:
            return None
        found[row] = value
    return found


def texts(cells: Sequence[str]) -> Array:
    """Cells as text without spaces around it, nan where they are missing; equal texts are one object."""
    found = np.empty(len(cells), dtype=object)
    known: dict[str, object] = {}
    for row, cell in enumerate(cells):
        value = known.get(cell)
        if value is None:
            value = known[cell] = np.nan if is_missing(cell) else cell.strip()
        found[row] = value
    return found
