"""What is wrong with a line of CSV, in words."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from maxmargin.io._columns import Columns
from maxmargin.io._files import Lines
from maxmargin.io._numbers import number, problem_with

LABEL = np.dtype(np.float64)


@dataclass(frozen=True)
class Sheet:
    """What the lines of a file have in common; ``text_labels`` is None until the first chunk has been seen."""

    path: Path
    columns: Columns
    separator: str
    dtype: np.dtype
    text_labels: bool | None = None

    def with_labels(self, text: bool) -> Sheet:
        """The same once the kind of the labels is known."""
        return replace(self, text_labels=text)


def split(line: str, separator: str) -> list[str]:
    """The cells of a line; ValueError if its quotes do not match."""
    try:
        return next(csv.reader([line], delimiter=separator, strict=True))
    except csv.Error as error:
        raise ValueError(
            f"the quotes do not match or a cell goes on in the next line ({error}); write each row on one line"
        ) from None


def text_of(line: bytes) -> str:
    """The line as text without its end; ValueError if it is not UTF-8."""
    try:
        return line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 text ({error}); convert the file to UTF-8") from None


def only_cells(path: Path, line_number: int, line: bytes, separator: str) -> list[str]:
    """The cells of one line, its errors with their place."""
    try:
        return split(text_of(line), separator)
    except ValueError as error:
        raise ValueError(f"{path}, line {line_number}: {error}") from None


def complaint(sheet: Sheet, block: Lines, cause: Exception | None = None) -> ValueError:
    """The error that names the first bad cell of the block."""
    for line_number, line in block:
        try:
            cells = split(text_of(line), sheet.separator)
        except ValueError as error:
            return ValueError(f"{sheet.path}, line {line_number}: {error}")
        problem = problem_of(sheet, cells)
        if problem:
            return ValueError(f"{sheet.path}, line {line_number}{problem}")
    where = f"{sheet.path}, lines {block[0][0]} to {block[-1][0]}"
    return ValueError(f"{where}: not a table of numbers ({cause}); write every row on one line, cells as plain numbers")


def problem_of(sheet: Sheet, cells: list[str]) -> str:
    """What is wrong with a row, beginning with its column, and what to do; empty if nothing is."""
    count = sheet.columns.count
    if len(cells) != count:
        return (
            f": {len(cells)} cells where the first line has {count}; "
            f"complete the line, or quote cells that contain {sheet.separator!r}"
        )
    for column, cell in enumerate(cells):
        label = column == sheet.columns.target
        problem = problem_of_label(cell, sheet.text_labels) if label else problem_of_feature(cell, sheet.dtype)
        if problem:
            return f", {sheet.columns.called(column)}: {problem}"
    return ""


def problem_of_feature(cell: str, dtype: np.dtype) -> str:
    """What is wrong with a feature's cell."""
    problem = problem_with(cell, dtype)
    if cell.strip() and number(cell) is None:
        return f"{problem}; encode the column as numbers or remove it, or, if it holds the labels, pass it as target="
    return problem


def problem_of_label(cell: str, text_labels: bool | None) -> str:
    """What is wrong with a label's cell."""
    if not cell.strip():
        return "the label is empty; fill it in or remove the row"
    if text_labels is not False:
        return ""
    if number(cell) is None:
        return (
            f"the label {cell!r} is not a number, but all labels of the first chunk are; write all labels as numbers, "
            "or all as text"
        )
    problem = problem_with(cell, LABEL)
    return problem and f"the label {problem}"
