"""Files of any size as chunks of features and labels: which reader, which columns, and what is wrong with a value."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from maxmargin._types import Array
from maxmargin.io import _svmlight
from maxmargin.io._binary import arrow_file, is_numeric, is_text, pyarrow_for
from maxmargin.io._files import ending, format_of, located
from maxmargin.io._table import Chunk, Options
from maxmargin.io._text import Block, TextFile, number, problem_with

LABEL = np.dtype(np.float64)
#: So many names are listed in an error.
LISTED = 20


def read_chunks(
    path: str | os.PathLike[str],
    rows: int = 65536,
    *,
    format: str | None = None,
    target: int | str = -1,
    n_features: int | None = None,
    dtype: npt.DTypeLike = np.float32,
    zero_based: bool = False,
    header: bool | None = None,
) -> Generator[Chunk, None, None]:
    """Read a file of any size as a stream of chunks ``(X, y)``, for models that have ``partial_fit``.

    One chunk, its text and little else are in memory at a time. All chunks have the same columns, and all but the
    last exactly ``rows`` rows. A value that is missing, not a number or not finite ends the stream with an error
    that names the file, the line and the value.

    Parameters
    ----------
    path : str or path-like
        The file, or a pipe with text. Text ending in ``.gz``, ``.bz2`` or ``.xz`` is decompressed on the way, to at
        most 64 MiB or 200 times the size of the file. Lines may have 16 MiB. Devices and sockets are refused.
    rows : int, default=65536
        Rows in a chunk.
    format : {'svmlight', 'csv', 'parquet'}, optional
        By default the name decides: ``.svm``, ``.svmlight``, ``.libsvm`` and ``.txt`` are svmlight, ``.csv`` and
        ``.tsv`` (separated by tabs) are CSV, ``.parquet`` is Parquet (``pip install maxmargin[parquet]``, with which
        CSV is read faster, too).
    target : int or str, default=-1
        CSV and Parquet: the column of the labels, by name or index; negative ones count from the end. All other
        columns are features.
    n_features : int, optional
        Number of features. svmlight files do not say it: without it the file is read once more, beforehand, to
        count them. Give it where files must agree, such as training and test data. In CSV and Parquet a check.
    dtype : {np.float32, np.float64}, default=np.float32
        Type of X.
    zero_based : bool, default=False
        svmlight: whether the file counts columns from 0; LIBSVM counts from 1.
    header : bool, optional
        CSV: whether the first line holds names. By default it does if one of its cells is text, so a file without
        names whose labels are text needs ``header=False``.

    Returns
    -------
    generator of Chunk
        Named tuples of ``X``, a ``csr_matrix`` from svmlight files and an ndarray from others, and ``y``: float64,
        or strings if a label of the first chunk is not a number.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin.io import read_chunks
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "small.svm")
    ...     lines = path.write_text("+1 1:0.5 3:2  # a comment\\n-1 2:1\\n+1 3:4\\n")
    ...     for X, y in read_chunks(path, rows=2):
    ...         print(X.toarray().tolist(), y.tolist())
    [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]] [1.0, -1.0]
    [[0.0, 0.0, 4.0]] [1.0]
    """
    options = Options(rows, target, n_features, dtype, zero_based, header)
    file = located(path)
    kind = format_of(file, format)
    options.check_meaning(kind)
    return at_least_one(file, READERS[kind](file, options))


def at_least_one(path: Path, chunks: Iterator[Chunk]) -> Generator[Chunk, None, None]:
    """The chunks; a file without any is an error, not a loop that silently does nothing."""
    first = next(chunks, None)
    if first is None:
        raise ValueError(f"{path}: the file has no rows of data; check that it was written completely")
    yield first
    del first  # or it would stay in memory as long as the stream
    yield from chunks


# -- columns ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Columns:
    """The file, the names of its columns, None where it has none, their number, and the index of the labels'."""

    path: Path
    names: tuple[str, ...] | None
    count: int
    target: int
    dtype: np.dtype

    def called(self, column: int) -> str:
        """How an error calls a column."""
        return f"column {column} (from 0)" if self.names is None else f"column {self.names[column]!r}"

    @property
    def features(self) -> list[int]:
        """All columns but the labels'."""
        return [column for column in range(self.count) if column != self.target]


def columns_of(path: Path, names: Sequence[str] | None, count: int, options: Options) -> Columns:
    """The columns of a file, with the target found among them."""
    if count < 2:
        raise ValueError(
            f"{path}: there is one column only, and labels and features need two; "
            "in text, cells must be separated by commas, or by tabs in a .tsv file"
        )
    if options.n_features is not None and options.n_features != count - 1:
        raise ValueError(
            f"{path} has {count - 1} columns besides the target, not n_features={options.n_features}; "
            "leave n_features out or select the columns beforehand"
        )
    names = None if names is None else tuple(name.strip() for name in names)
    return Columns(path, names, count, target_of(path, names, count, options.target), options.dtype)


def target_of(path: Path, names: Sequence[str] | None, count: int, target: int | str) -> int:
    """The index of the target's column."""
    if not isinstance(target, str):
        if not -count <= target < count:
            raise ValueError(
                f"{path}: there is no column {target}; pass target={-count} to {count - 1}, {count} columns being there"
            )
        return int(target) % count
    if names is None:
        raise ValueError(f"{path}: without a header line there is no column {target!r}; pass target= as an index")
    found = [column for column, name in enumerate(names) if name == target]
    if len(found) != 1:
        listed = ", ".join(repr(name) for name in names[:LISTED]) + (", ..." if len(names) > LISTED else "")
        many = f"there are {len(found)} columns" if found else "there is no column"
        raise ValueError(f"{path}: {many} named {target!r}; pass target= as an index, or as one of {listed}")
    return found[0]


# -- text -------------------------------------------------------------------------------------------------------------


def text_chunks(path: Path, options: Options) -> Iterator[Chunk]:
    """The file, ``options.rows`` rows at a time."""
    header = options.header
    separator = "\t" if ending(path) == ".tsv" else ","
    file = TextFile(path, separator, is_header if header is None else lambda rows: header)
    if not file.count:
        return
    columns = columns_of(path, file.names, file.count, options)
    texts: set[int] = set()
    text_labels = None
    for block in file.blocks(options.rows, texts):
        if text_labels is None and len(block):
            text_labels = has_text_labels(block, columns.target)
            if text_labels:
                texts.add(columns.target)
        yield text_chunk(columns, block, text_labels)


def is_header(rows: Iterator[list[str]]) -> bool:
    """Whether a cell of the first line is text; an empty one says nothing."""
    return any(cell.strip() and number(cell) is None for cell in next(rows))


def has_text_labels(block: Block, target: int) -> bool:
    """Whether a label of the first block is not a number."""
    labels = block.columns[target]
    if isinstance(labels, np.ndarray) and np.isfinite(labels).all():
        return False
    return any(label.strip() and number(label) is None for label in block.cells(target))


def text_chunk(columns: Columns, block: Block, text_labels: bool | None) -> Chunk:
    """The rows of a block; what is wrong in its first bad row is an error."""
    X = np.empty((len(block), columns.count - 1), dtype=columns.dtype)
    features, labels = [block.columns[column] for column in columns.features], block.columns[columns.target]
    if text_labels:
        cells = block.cells(columns.target) if isinstance(labels, np.ndarray) else labels
        labels = np.strings.strip(np.array(cells, dtype=str))
    if not all(isinstance(values, np.ndarray) for values in (labels, *features)):
        raise complaint(columns, block, text_labels)
    y = np.asarray(labels)
    with np.errstate(over="ignore"):  # what is too large is complained about by name
        for place, values in enumerate(features):
            X[:, place] = values
    if not (np.isfinite(X).all() and (y != "" if text_labels else np.isfinite(y)).all()):
        raise complaint(columns, block, text_labels)
    if block.trouble is not None:
        raise block.trouble
    return Chunk(X, y)


def complaint(columns: Columns, block: Block, text_labels: bool | None) -> ValueError:
    """The error that names the first bad cell of the block."""
    for line, cells in block.rows():
        for column, cell in enumerate(cells):
            label = column == columns.target
            problem = problem_of_label(cell, text_labels) if label else problem_of_feature(cell, columns.dtype)
            if problem:
                return ValueError(f"{columns.path}, line {line}, {columns.called(column)}: {problem}")
    where = f"{columns.path}, lines {block.lines[0]} to {block.lines[-1]}"
    return ValueError(f"{where}: not a table of numbers; write cells as plain numbers, and labels as numbers or text")


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


# -- Parquet ----------------------------------------------------------------------------------------------------------


def arrow_chunks(pa: Any, path: Path, options: Options) -> Iterator[Chunk]:
    """The file, ``options.rows`` rows at a time."""
    with arrow_file(pa, path, "parquet") as file:
        columns = columns_of(path, file.schema.names, len(file.schema.names), options)
        check_types(pa, columns, file.schema)
        start = 0
        for table in file.parts(options.rows):
            yield arrow_chunk(pa, columns, table, start)
            start += table.num_rows


def check_types(pa: Any, columns: Columns, schema: Any) -> None:
    """Features must be numbers, labels numbers or text."""
    for column, kind in enumerate(schema.types):
        if is_numeric(pa, kind) or (column == columns.target and is_text(pa, kind)):
            continue
        wanted = "numbers or text" if column == columns.target else "numbers"
        raise ValueError(
            f"{columns.path}, {columns.called(column)}: its type is {kind}, not {wanted}; "
            "convert or remove the column, or, if it holds the labels, pass it as target="
        )


def arrow_chunk(pa: Any, columns: Columns, table: Any, start: int) -> Chunk:
    """A table as arrays."""
    X = np.empty((table.num_rows, columns.count - 1), dtype=columns.dtype)
    with np.errstate(over="ignore"):  # what is too large is complained about by name
        for place, column in enumerate(columns.features):
            X[:, place] = without_gaps(pa, columns, table, column, start)
            check_finite(columns, column, X[:, place], table, start)
    y = without_gaps(pa, columns, table, columns.target, start)
    if y.dtype.kind == "f":
        check_finite(columns, columns.target, y, table, start)
    return Chunk(X, y)


def without_gaps(pa: Any, columns: Columns, table: Any, column: int, start: int) -> Array:
    """One column, float64 or text."""
    data = table.column(column)
    if data.null_count:
        row = int(np.argmax(data.is_null().to_numpy()))
        raise ValueError(
            f"{columns.path}, row {start + row} (from 0), {columns.called(column)}: the value is null; "
            "fill in missing values, or remove the row or the column"
        )
    if is_text(pa, data.type):
        return np.asarray(data.to_numpy(), dtype=str)
    return np.array(data.cast(pa.float64(), safe=False).to_numpy())


def check_finite(columns: Columns, column: int, converted: Array, table: Any, start: int) -> None:
    """Refuse NaN, infinities and what does not fit into the type."""
    if np.isfinite(converted).all():
        return
    row = int(np.argmin(np.isfinite(converted)))
    value = table.column(column)[row].as_py()
    remedy = "scale the data or pass dtype=np.float64" if np.isfinite(float(value)) else "fill in or remove such values"
    raise ValueError(
        f"{columns.path}, row {start + row} (from 0), {columns.called(column)}: {value!r} is not finite as "
        f"{converted.dtype}; {remedy}"
    )


#: By format; each takes the file and the options.
READERS: dict[str, Callable[[Path, Options], Iterator[Chunk]]] = {
    "svmlight": _svmlight.chunks,
    "csv": text_chunks,
    "parquet": lambda path, options: arrow_chunks(pyarrow_for(path), path, options),
}
