"""The front door to tables: which format a file has, the whole of it, or a stream of it."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin._types import Array
from maxmargin.io._binary import arrow_tables, npz_table
from maxmargin.io._files import DAMAGE, FORMATS, damaged, ending, located, opened, replayable
from maxmargin.io._numerals import DECIMALS, decimal_of, numbers_in
from maxmargin.io._sheets import excel_table, json_table
from maxmargin.io._svmlight import chunks as svmlight_chunks
from maxmargin.io._table import Kind, Options, Reading, Table, check_count, checked_names
from maxmargin.io._text import Block, TextFile, is_missing, number

#: Endings of file names, by format; what has none of them is looked into.
TABLE_FORMATS = {
    **FORMATS,
    "svmlight": (".svm", ".svmlight", ".libsvm"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "npz": (".npz",),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "xlsx": (".xlsx", ".xlsm"),
}
#: Formats that are read as a whole.
WHOLE: dict[str, Callable[[Path], Table]] = {
    "npz": npz_table,
    "json": partial(json_table, lines=False),
    "jsonl": partial(json_table, lines=True),
    "xlsx": excel_table,
}
SVMLIGHT_LINE = re.compile(rb"\s*[^\s:,;#]+(\s+\d+:[^\s:,;]+)+\s*(#.*)?")
#: Rows of a text that are parsed at a time where the whole of it is asked for.
ROWS = 4096
#: Name of the column of labels of an svmlight file.
LABEL = "label"


def read_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Table:
    """Read a whole table: numbers, text and gaps.

    A column is numbers if every cell that is not missing is one, and text otherwise. Empty cells and ``NA``, ``N/A``,
    ``NaN``, ``null``, ``None`` and ``?`` are missing. What cannot be a table is an error that names file and line.

    Parameters
    ----------
    path : str or path-like
        A file of text (CSV, TSV, svmlight), JSON (a list of objects, or one on each line), Excel (.xlsx, the first
        sheet), Parquet, Arrow (Feather) or NumPy's npz with arrays X and y; ending also
        in ``.gz``, ``.bz2`` or ``.xz`` if it is compressed. A pipe is copied to the disk first, up to 8 GiB; devices
        and sockets are refused. So are lines of more than 16 MiB, and what decompresses to more than 64 MiB and 200
        times its size (20 times for binary files; what Parquet and Arrow pack by themselves: 1 GiB and 2,000 times).
    format : {'csv', 'svmlight', 'json', 'jsonl', 'xlsx', 'parquet', 'arrow', 'npz'}, optional
        By default the name's ending decides, or, if that says nothing, the first line.
    separator : str, optional
        CSV: what stands between cells. By default tabs in ``.tsv`` files, and elsewhere the one of comma, semicolon,
        tab and bar that the first line has most of; spaces, if all lines have as many words.
    header : bool, optional
        CSV: whether the first line holds names. By default it does if it is all text, or has text above a number.
    decimal : {'.', ','}, optional
        CSV: the sign for decimals. By default it is found: a column in which every cell is a number with a decimal
        comma, thousands in groups, one currency or percent is read as numbers; percent as shares.
    encoding : str, optional
        CSV: by default UTF-8, UTF-16 where the first bytes say so, or Latin-1 as Windows has it.

    Returns
    -------
    Table

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin.io import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     written = path.write_text("age,town,buys\\n31,Ulm,yes\\n,Bonn,no\\n54,?,yes\\n")
    ...     table = read_table(path)
    >>> table.names, table["age"].tolist(), table["town"].tolist()
    (('age', 'town', 'buys'), [31.0, nan, 54.0], ['Ulm', 'Bonn', nan])
    """
    place = located(path)
    with replayable(place) as file:
        kind = table_format(file, format)
        if kind == "csv":
            table = whole_text(file, Style(separator, header, decimal, encoding))
        else:
            table = joined(tables_of(file, kind, 65536, None))
    return replace(table, path=place)


class Style(NamedTuple):
    """How a file of text is written; None is 'find out'."""

    separator: str | None = None
    header: bool | None = None
    decimal: str | None = None
    encoding: str | None = None

    def check(self) -> None:
        """ValueError for what no reader could follow."""
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n'):
            raise ValueError(f"separator={self.separator!r} must be one character, and no quote")
        if self.decimal is not None and (self.decimal not in DECIMALS or self.decimal == self.separator):
            raise ValueError(f"decimal={self.decimal!r} must be '.' or ',', and not the separator")
        try:
            codecs.lookup(self.encoding or "utf-8")
        except LookupError:
            raise ValueError(f"encoding={self.encoding!r} is unknown; pass one of Python's, such as 'cp1252'") from None


def whole_text(path: Path, style: Style) -> Table:
    """A text table, its columns of one kind from the first row to the last."""
    style.check()
    parts: list[Table] = []
    text: set[str] = set()
    for part in text_tables(path, ROWS, style):
        parts.append(part)
        text.update(name for name in part.names if part.kind(name) == "category")
    mixed: dict[str, Kind] = {name: "category" for name in text if any(part.kind(name) == "number" for part in parts)}
    if mixed:  # cells that were read as numbers are needed as they were written
        parts = list(text_tables(path, ROWS, style, mixed))
    return with_numerals(joined(parts), style, mixed)


def with_numerals(table: Table, style: Style, mixed: dict[str, Kind]) -> Table:
    """The table with columns of text as numbers where all cells are numbers as people write them."""
    reading = table.reading
    assert reading is not None
    texts = [name for name in table.names if table.kind(name) == "category"]
    broken = [name for name in table.names if table.kind(name) == "number" and has_fractions(table[name])]
    decimal = style.decimal or decimal_of((table[name] for name in texts), reading.separator, bool(broken))
    if decimal == "," and broken and (style.decimal or any(numbers_in(table[name], ",") is not None for name in texts)):
        again = joined(list(text_tables(table.path, ROWS, style, {**mixed, **dict.fromkeys(broken, "category")})))
        table, texts = replace(table, columns=tuple(
            again[name] if name in broken and numbers_in(again[name], ",") is not None else table[name]
            for name in table.names
        )), [*texts, *broken]  # fmt: skip
    columns, decimals = dict(zip(table.names, table.columns, strict=True)), {}
    for name in texts:
        found = numbers_in(columns[name], decimal) if columns[name].dtype == object else None
        if found is not None:
            columns[name], decimals[name] = found, decimal
    return replace(table, columns=tuple(columns.values()), reading=reading._replace(decimals=decimals))


def has_fractions(column: Array) -> bool:
    """Whether some numbers are not whole."""
    known = column[np.isfinite(column)]
    return bool((known != np.round(known)).any())


def read_table_chunks(
    path: str | os.PathLike[str],
    rows: int = 65536,
    *,
    kinds: dict[str, Kind] | None = None,
    format: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    n_features: int | None = None,
    decimals: Mapping[str, str] | None = None,
    encoding: str | None = None,
) -> Generator[Table, None, None]:
    """Read a table of any size, some rows at a time.

    Parameters
    ----------
    path, format, separator, header
        As in :func:`read_table`, but that text is read from a pipe as it comes, which needs ``format``.
    rows : int, default=65536
        Rows of each table but the last.
    kinds : dict of str to {'number', 'category'}, optional
        What columns of text files have to be; text in a column of numbers is an error that names the line. Columns
        that are not named may be numbers in one table and text in the next.
    n_features : int, optional
        svmlight: the number of features, which files do not say.
    decimals : mapping of str to {'.', ','}, optional
        Columns of text files whose numbers have decimal commas, thousands or units, as ``table.reading.decimals`` of a
        whole table has them.
    encoding : str, optional
        As in :func:`read_table`; that of a pipe is UTF-8 by default.

    Returns
    -------
    generator of Table

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin.io import read_table_chunks
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "long.csv")
    ...     written = path.write_text("a,b\\n1,2\\n3,4\\n5,6\\n")
    ...     [table["b"].tolist() for table in read_table_chunks(path, rows=2)]
    [[2.0, 4.0], [6.0]]
    """
    check_count("rows", rows)
    file = located(path)
    kind = table_format(file, format)
    if kind in ("parquet", "arrow", "npz", "json", "jsonl", "xlsx"):
        file = located(path, pipes=False)
    if kind == "csv":
        style = Style(separator, header, None, encoding)
        style.check()
        return (part for part in text_tables(file, rows, style, kinds, decimals or {}))
    return (part for part in tables_of(file, kind, rows, n_features))


def table_format(path: Path, asked: str | None) -> str:
    """The format asked for, the one the name stands for, or the one the first line looks like."""
    if asked is not None and asked not in TABLE_FORMATS:
        raise ValueError(f"format={asked!r} is unknown; pass one of {', '.join(map(repr, TABLE_FORMATS))}")
    found = asked or next((name for name, ends in TABLE_FORMATS.items() if ending(path) in ends), None)
    if found is not None:
        return found
    if path.is_fifo():
        raise ValueError(f"{path} is a pipe, which can be read only once; pass format= ('csv', 'svmlight')")
    try:
        with opened(path) as file:
            line = file.readline(2**20)
    except DAMAGE as error:
        raise damaged(str(path), error) from error
    if b"\0" in line and not line.startswith((b"\xff\xfe", b"\xfe\xff")):
        known = ", ".join(f"{name} ({', '.join(ends)})" for name, ends in TABLE_FORMATS.items())
        raise ValueError(f"{path} is not text, and its name does not tell the format; known are {known}")
    return "svmlight" if SVMLIGHT_LINE.fullmatch(line.strip(b"\r\n")) else "csv"


def tables_of(path: Path, format: str, rows: int, n_features: int | None) -> Iterator[Table]:
    """The tables of a file that is not CSV."""
    if format in WHOLE:
        whole = WHOLE[format](path)
        for start in range(0, len(whole), rows):
            part = whole.take(np.arange(start, min(start + rows, len(whole))))
            yield Table(path, part.names, part.columns, lines=part.lines, first=start)
    elif format == "svmlight":
        yield from svmlight_tables(path, rows, n_features)
    else:
        yield from arrow_tables(path, format, rows)


def svmlight_tables(path: Path, rows: int, n_features: int | None) -> Iterator[Table]:
    """Labels as a column, features as they are."""
    first = 0
    for X, y in svmlight_chunks(path, Options(rows=rows, n_features=n_features, dtype=np.float64)):
        X.sort_indices()
        yield Table(path, (LABEL,), (y,), features=X, first=first)
        first += len(y)
    if not first:
        raise ValueError(f"{path} has no rows of data; check that it was written completely")


def joined(parts: Iterable[Table]) -> Table:
    """One table of all rows."""
    parts = list(parts)
    first = parts[0]
    columns = tuple(stacked([part.columns[place] for part in parts]) for place in range(len(first.names)))
    features = None if first.features is None else sp.csr_matrix(sp.vstack([part.features for part in parts]))
    lines = None if first.lines is None else np.concatenate([part.lines for part in parts if part.lines is not None])
    return Table(first.path, first.names, columns, features, lines, reading=first.reading)


def stacked(pieces: list[Array]) -> Array:
    """One column; where a file stores text in one part and nothing in another, it is text."""
    if any(piece.dtype == object for piece in pieces):
        pieces = [piece.astype(object) for piece in pieces]
    return np.concatenate(pieces)


# -- Tables in text. A column is numbers if every cell that is not missing is one; the first text makes it text -----


DECIMAL_COMMA = re.compile(r"[+-]?\d{1,3}(\.?\d{3})*,\d+")


def text_tables(
    path: Path,
    rows: int,
    style: Style,
    kinds: Mapping[str, Kind] | None = None,
    decimals: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Table]:
    """The file, some rows at a time; a column without a kind may be numbers in one table and text in the next."""
    header = style.header
    file = TextFile(path, style.separator, has_header if header is None else lambda rows: header, style.encoding)
    if not file.count:
        raise ValueError(f"{path} is empty; it needs a line of names and lines of values")
    names = checked_names(path, file.names or [""] * file.count)
    wanted = [(kinds or {}).get(name) for name in names]
    first = 0
    reading = Reading(file.encoding, file.separator, {})
    as_text = {place for place, name in enumerate(names) if wanted[place] == "category" or name in decimals}
    for block in file.blocks(rows, as_text):
        columns = [column_of(path, block, place, name, wanted[place], decimals.get(name)) for place, name in
                   enumerate(names)]  # fmt: skip
        if block.trouble is not None:
            raise block.trouble
        yield Table(path, names, tuple(columns), lines=block.lines, first=first, reading=reading)
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


def column_of(path: Path, block: Block, place: int, name: str, kind: Kind | None, decimal: str | None) -> Array:
    """A column of a table: finite numbers with nan, or text with nan."""
    values = block.columns[place]
    if decimal is not None and not isinstance(values, np.ndarray):
        cells = texts(values)
        found = numbers_in(cells, decimal)
        if found is not None:
            return found
        if all(isinstance(cell, float) for cell in cells):  # gaps only
            return np.full(len(cells), np.nan)
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
