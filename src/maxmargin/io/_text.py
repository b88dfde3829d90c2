"""Text with separators between cells, CSV and its relatives, as blocks of rows whose columns are numbers or text.

Python's csv module decides what a row is, and ``float`` what a number is. Where pyarrow is installed, it parses blocks
in which nothing is quoted, many times faster: what it accepts, Python reads as the same numbers. Any block that it
objects to (a typing mistake, a gap with spaces around it, an empty line) is read by the csv module, which knows what
to say.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import chain, islice, product
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.io._files import BYTE_ORDER_MARK, Lines, encoding_of, ending, numbered


def number(text: str) -> float | None:
    """The number that the text stands for; None if it is not one."""
    if "_" in text:  # Python reads 1_000, no other program does
        return None
    try:
        return float(text)
    except ValueError:
        return None


def problem_with(text: str, dtype: np.dtype) -> str:
    """Why the text cannot be a value of type ``dtype``, and what to do; empty if it can."""
    value = number(text)
    if not text.strip():
        return "the value is empty; fill in missing values, or remove the row or the column"
    if value is None:
        return f"{text!r} is not a number"
    if not math.isfinite(value):
        return f"{text!r} is not finite; fill in or remove such values"
    if abs(value) > float(np.finfo(dtype).max):
        return f"{text!r} is too large for {dtype}; scale the data or pass dtype=np.float64"
    return ""


#: What may stand between cells, the commonest first.
SEPARATORS = ",;\t|"
#: A decimal comma, and lines that are looked at where none of these is found.
DECIMAL = re.compile(r"(?<=\d),(?=\d)")
LOOKED_AT = 20
#: Cells that stand for a value that is not known, in lower case.
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?"})
#: Bytes of a block from which on it is worth asking pyarrow, and beyond which pyarrow does not count.
ARROW_LEAST, ARROW_MOST = 2**16, 2**30
#: Columns beyond which pyarrow takes longer than the csv module: each has a reader of its own.
ARROW_COLUMNS = 2**12

Column = FloatArray | Sequence[str]


@dataclass(frozen=True)
class Block:
    """Consecutive rows of a file.

    ``lines`` has the line on which every row begins. A column is an array where all cells are numbers or missing (nan),
    and its cells otherwise. ``trouble`` is what is wrong with the row after these, which has no or too many cells.
    ``rows`` gives all rows once more, as cells with their lines.
    """

    lines: IntArray
    columns: Sequence[Column]
    trouble: ValueError | None
    rows: Callable[[], Iterable[tuple[int, list[str]]]]

    def __len__(self) -> int:
        return len(self.lines)

    def cells(self, column: int) -> list[str]:
        """A column as it stands in the file."""
        return [row[column] for _, row in self.rows()]


class TextFile:
    """A file of text from its first row on, which may hold names.

    Parameters
    ----------
    path : Path
    separator : str or None
        What stands between cells; found by the first line if it is None.
    encoding : str or None
        Found by the bytes of the file if it is None.
    is_header : function
        Whether the first row holds names; it may take as many rows as it has to see.
    """

    def __init__(
        self,
        path: Path,
        separator: str | None,
        is_header: Callable[[Iterator[list[str]]], bool],
        encoding: str | None = None,
    ):
        self.path = path
        self.encoding = encoding or encoding_of(path)
        lines = numbered(path, lambda line: True, self.encoding)
        first = list(islice(lines, 1))
        self.separator = separator or separator_of(path, decoded(path, *first[0]) if first else "")
        if separator is None and first and self.separator not in decoded(path, *first[0]):
            first += islice(lines, LOOKED_AT)
            if spaced([decoded(path, *line) for line in first]):
                self.separator = " "
        rest: Iterator[tuple[int, bytes]] = chain(first, lines)  # one iterator: what the head leaves is still in it
        taken: Lines = []
        start = (row for _, row in self._rows(noted(rest, taken), 0))
        head = list(islice(start, 1))
        used = len(taken)
        named = bool(head) and is_header(chain(head, start))
        self.count = len(head[0]) if head else 0
        self.names = tuple(head[0]) if named else None
        self._lines = chain(taken[used:] if named else taken, rest)
        self._texts: set[int] = set()

    def blocks(self, size: int, texts: Collection[int] = ()) -> Iterator[Block]:
        """The rest of the file, ``size`` rows at a time; the columns in ``texts`` are left as cells."""
        while lines := list(islice(self._lines, size)):
            block = self._by_arrow(lines, texts) or self._by_csv(lines, size, texts)
            if len(block) or block.trouble:
                self._texts = {
                    place for place, column in enumerate(block.columns) if not isinstance(column, np.ndarray)
                }
                yield block

    def _text(self, number: int, line: bytes) -> str:
        """A line as text; where spaces part cells, those at its ends part nothing."""
        text = decoded(self.path, number, line)
        return text if self.separator != " " else text.strip() + "\n"

    def _by_csv(self, lines: Lines, size: int, texts: Collection[int]) -> Block:
        """The rows that begin in these lines, and more if some of them take several."""
        rows: list[tuple[int, list[str]]] = []
        trouble = None
        try:
            for line, row in islice(self._rows(chain(lines, self._lines), lines[0][0] - 1), size):
                if len(row) != self.count:
                    trouble = ValueError(
                        f"{self.path}, line {line}: {len(row)} cells where the first line has {self.count}; complete "
                        f"the line, or quote cells that contain {self.separator!r}"
                    )
                    break
                rows.append((line, row))
        except ValueError as error:
            trouble = error
        columns = list(zip(*(row for _, row in rows), strict=True)) if rows else [()] * self.count
        found = [column if place in texts else numbers(column) for place, column in enumerate(columns)]
        return Block(np.array([line for line, _ in rows], dtype=np.int64), found, trouble, lambda: rows)

    def _by_arrow(self, lines: Lines, texts: Collection[int]) -> Block | None:
        """The rows of these lines by pyarrow; None if it is not there, objects, or might see what Python would not."""
        data = b"".join(line for _, line in lines)
        plain = b'"' not in data and data.count(b"\r") == data.count(b"\r\n") and not data.startswith(BYTE_ORDER_MARK)
        sized = ARROW_LEAST <= len(data) < ARROW_MOST and 1 < self.count <= ARROW_COLUMNS
        if not (plain and sized and self.separator in SEPARATORS):
            return None
        columns = arrow_columns(data, self.separator, [k in texts or k in self._texts for k in range(self.count)])
        if columns is None or len(columns[0]) != len(lines):  # it passes over empty lines
            return None
        found = [
            column if place in texts or isinstance(column, np.ndarray) else numbers(column)
            for place, column in enumerate(columns)
        ]
        places = np.array([line for line, _ in lines], dtype=np.int64)
        return Block(places, found, None, lambda: self._rows(iter(lines), lines[0][0] - 1))

    def _rows(self, lines: Iterator[tuple[int, bytes]], before: int) -> Iterator[tuple[int, list[str]]]:
        """Rows as cells, with the line on which each begins; ``before`` is the number of the line before."""
        reader = csv.reader(
            (self._text(*line) for line in lines), delimiter=self.separator, strict=True, skipinitialspace=True
        )
        while True:
            line = before + reader.line_num + 1
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise ValueError(
                    f"{self.path}, line {line}: the row that begins here cannot be split into cells ({error}); "
                    "look for a quote that is not closed"
                ) from None
            if len(row) > 1 or "".join(row).strip():  # a row of gaps is a row, an empty line is not
                yield line, row


def noted(lines: Iterable[tuple[int, bytes]], taken: Lines) -> Iterator[tuple[int, bytes]]:
    """The lines; those that have been asked for stand in ``taken``."""
    for line in lines:
        taken.append(line)
        yield line


def decoded(path: Path, line_number: int, line: bytes) -> str:
    """A line as text."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        wide = line.startswith((b"\xff\xfe", b"\xfe\xff"))
        saved = "UTF-16" if wide else "an older encoding such as Latin-1"
        raise ValueError(
            f"{path}, line {line_number}: not UTF-8 text ({error.reason} at byte {error.start + 1}); "
            f"it looks like {saved}: save the file as UTF-8, or name the encoding"
        ) from None


def separator_of(path: Path, line: str) -> str:
    """What stands between the cells of the first line most often."""
    if ending(path) == ".tsv":
        return "\t"
    outside = "".join(line.split('"')[::2])
    if any(other in outside for other in SEPARATORS[1:]):
        outside = DECIMAL.sub("", outside)  # a comma between digits is then a decimal's
    return max(SEPARATORS, key=outside.count)


def spaced(lines: list[str]) -> bool:
    """Whether the lines are as many words each, numbers among them: then spaces part the cells."""
    words = [line.split() for line in lines if line.strip()]
    return (
        len(words) > 1
        and len(words[0]) > 1
        and len({len(row) for row in words}) == 1
        and all(any(number(word) is not None for word in row) for row in words[1:])
    )


def is_missing(cell: str) -> bool:
    """Whether the cell stands for a value that is not known."""
    return cell.strip().lower() in MISSING


def numbers(cells: Sequence[str]) -> Column:
    """Cells as numbers, nan where they are missing; the cells themselves if one is text."""
    try:
        if "_" not in "".join(cells):  # Python reads 1_000, no other program does
            return np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
    except ValueError:
        pass
    found = np.empty(len(cells))
    for row, cell in enumerate(cells):
        value = np.nan if is_missing(cell) else number(cell)
        if value is None:
            return cells
        found[row] = value
    return found


def arrow_columns(data: bytes, separator: str, texts: Sequence[bool]) -> list[Array | list[str]] | None:
    """Columns of text without quotes, as cells where ``texts`` says so; None if pyarrow is not there or objects."""
    try:
        import pyarrow as pa
        from pyarrow import csv as arrow
    except ImportError:
        return None
    names = [str(place) for place in range(len(texts))]
    types = {name: pa.string() if text else pa.float64() for name, text in zip(names, texts, strict=True)}
    try:
        table = arrow.read_csv(
            BytesIO(data),
            arrow.ReadOptions(use_threads=False, column_names=names, block_size=len(data)),
            arrow.ParseOptions(delimiter=separator, quote_char=False),
            arrow.ConvertOptions(column_types=types, null_values=GAPS, strings_can_be_null=False),
        )
    except pa.ArrowException:
        return None
    found = [column.to_pylist() if text else column.to_numpy() for column, text in zip(table, texts, strict=True)]
    return None if any(map(odd, table, found)) else found


def odd(column: Any, values: Array | list[str]) -> bool:
    """Whether numbers have come of words, which pyarrow knows more of: infinities, and nan(...)."""
    return isinstance(values, np.ndarray) and np.count_nonzero(np.isfinite(values)) + column.null_count < len(values)


#: What pyarrow takes for a gap: it does not fold cases, and looks at cells with the spaces around them.
GAPS = sorted({"".join(one) for word in MISSING for one in product(*((letter, letter.upper()) for letter in word))})
