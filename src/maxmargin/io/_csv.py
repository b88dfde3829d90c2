"""CSV as dense chunks.

NumPy parses a block of lines at once. Only when it objects, or when something it lets pass stands in the block,
are the lines looked at one by one to say which cell is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin._types import Array
from maxmargin.io._columns import columns_of
from maxmargin.io._csv_errors import Sheet, complaint, only_cells, split
from maxmargin.io._files import Lines, blocks, ending, numbered
from maxmargin.io._numbers import number
from maxmargin.io._options import Chunk, Options


def chunks(path: Path, options: Options) -> Iterator[Chunk]:
    """The file, ``options.rows`` rows at a time."""
    lines = numbered(path, content)
    first = next(lines, None)
    if first is None:
        return
    separator = "\t" if ending(path) == ".tsv" else ","
    cells = only_cells(path, *first, separator)
    named = is_header(cells) if options.header is None else options.header
    columns = columns_of(path, cells if named else None, len(cells), options)
    sheet = Sheet(path, columns, separator, options.dtype)
    for block in blocks(lines if named else chain([first], lines), options.rows):
        if sheet.text_labels is None:
            sheet = sheet.with_labels(has_text_labels(sheet, block))
        yield parsed(sheet, block)


def content(line: bytes) -> bytes:
    """What the line holds besides spaces; tabs are cells."""
    return line.strip(b" \r\n")


def is_header(cells: list[str]) -> bool:
    """Whether a cell is text; an empty one says nothing."""
    return any(cell.strip() and number(cell) is None for cell in cells)


def has_text_labels(sheet: Sheet, block: Lines) -> bool:
    """Whether a label of the first block is not a number."""
    try:
        labels = table(sheet, decoded(block), usecols=[sheet.columns.target], dtype=str)
    except ValueError as error:
        raise complaint(sheet, block, error) from None
    return any(label.strip() and number(label) is None for label in labels.ravel().tolist())


def parsed(sheet: Sheet, block: Lines) -> Chunk:
    """The rows of a block of lines."""
    try:
        lines = decoded(block)
        check_even(sheet, lines)
        X, y = textual(sheet, lines) if sheet.text_labels else numeric(sheet, lines)
    except ValueError as error:
        raise complaint(sheet, block, error) from None
    if len(X) != len(block) or not np.isfinite(X).all():
        raise complaint(sheet, block)
    if not ((y != "").all() if sheet.text_labels else np.isfinite(y).all()):
        raise complaint(sheet, block)
    return Chunk(X, y)


def decoded(block: Lines) -> list[str]:
    """The lines as text, without their ends."""
    return [line.decode().rstrip("\r\n") for _, line in block]


def check_even(sheet: Sheet, lines: list[str]) -> None:
    """ValueError unless every line has as many cells as the first line of the file."""
    separators = sheet.columns.count - 1
    for line in lines:
        # a quoted cell may hold separators of its own, or go on in the next line
        unusual = '"' in line or line.count(sheet.separator) != separators
        if unusual and len(split(line, sheet.separator)) != separators + 1:
            raise ValueError("rows differ in length")


def table(sheet: Sheet, lines: list[str], **how: Any) -> Array:
    """The lines as a two-dimensional array."""
    return np.loadtxt(lines, delimiter=sheet.separator, quotechar='"', comments=None, ndmin=2, **how)


def numeric(sheet: Sheet, lines: list[str]) -> tuple[Array, Array]:
    """Features and labels where both are numbers."""
    target = sheet.columns.target
    values = table(sheet, lines, dtype=np.float64)
    X = np.empty((len(values), sheet.columns.count - 1), dtype=sheet.dtype)
    with np.errstate(over="ignore"):  # what is too large is complained about by name
        X[:, :target] = values[:, :target]
        X[:, target:] = values[:, target + 1 :]
    return X, values[:, target].copy()


def textual(sheet: Sheet, lines: list[str]) -> tuple[Array, Array]:
    """Features, and labels that are text."""
    with np.errstate(over="ignore"):
        X = table(sheet, lines, usecols=sheet.columns.features, dtype=sheet.dtype)
    labels = table(sheet, lines, usecols=[sheet.columns.target], dtype=str)
    return X, np.strings.strip(labels.ravel())
