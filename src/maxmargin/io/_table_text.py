"""Tables in text. A column is numbers if every cell that is not missing is one; the first text makes it text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from maxmargin._types import Array
from maxmargin.io._numbers import number
from maxmargin.io._table import Kind, Table, checked_names
from maxmargin.io._text import Block, TextFile, is_missing

DECIMAL_COMMA = re.compile(r"[+-]?\d{1,3}(\.?\d{3})*,\d+")


@dataclass(frozen=True)
class TextOptions:
    """How to read: rows at a time, the separator, whether the first line holds names, kinds of columns by name."""

    rows: int = 4096
    separator: str | None = None
    header: bool | None = None
    kinds: dict[str, Kind] | None = None


def text_tables(path: Path, options: TextOptions) -> Iterator[Table]:
    """The file, ``options.rows`` rows at a time; a column may be numbers in one table and text in the next."""
    header = options.header
    file = TextFile(path, options.separator, has_header if header is None else lambda rows: header)
    if not file.count:
        raise ValueError(f"{path} is empty; it needs a line of names and lines of values")
    names = checked_names(path, file.names or [""] * file.count)
    kinds = [(options.kinds or {}).get(name) for name in names]
    first = 0
    for block in file.blocks(options.rows, {place for place, kind in enumerate(kinds) if kind == "category"}):
        columns = [column_of(path, block, place, name, kinds[place]) for place, name in enumerate(names)]
        if block.trouble is not None:
            raise block.trouble
        yield Table(path, names, tuple(columns), lines=block.lines, first=first)
        first += len(block)
    if not first:
        raise ValueError(f"{path} has a line of names and no rows of values; check that it was written completely")


def has_header(rows: Iterator[list[str]]) -> bool:
    """Whether the first line holds names: text where the second has a number, or nothing but text."""
    first = [number(cell) is None for cell in next(rows)]
    if all(first):
        return True
    second = [number(cell) is None for cell in next(rows, [])] or first
    return any(text and not below for text, below in zip(first, second, strict=False))


def column_of(path: Path, block: Block, place: int, name: str, kind: Kind | None) -> Array:
    """A column of a table: finite numbers with nan, or text with nan."""
    values = block.columns[place]
    if not isinstance(values, np.ndarray):
        if kind == "number":
            raise not_a_number(path, name, block, values)
        return texts(values)
    endless = np.isinf(values)
    if endless.any():
        row = int(np.argmax(endless))
        raise ValueError(
            f"{path}, line {block.lines[row]}, column {name!r}: {block.cells(place)[row]!r} is not finite; correct it, "
            "or leave the cell empty if the value is not known"
        )
    return values


def not_a_number(path: Path, name: str, block: Block, column: Sequence[str]) -> ValueError:
    """The error for the first text of a column that has to be numbers."""
    row = next(row for row, cell in enumerate(column) if not is_missing(cell) and number(cell) is None)
    cell = column[row].strip()
    hint = "write decimals with a point" if DECIMAL_COMMA.fullmatch(cell) else "correct it or leave the cell empty"
    return ValueError(f"{path}, line {block.lines[row]}, column {name!r}: {cell!r} is not a number; {hint}")


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
