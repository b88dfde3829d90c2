"""Parquet as dense chunks, through pyarrow, which is imported at first use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin._types import Array
from maxmargin.io._columns import Columns, columns_of
from maxmargin.io._options import Chunk, Options

#: Bytes of a column read at a time; without it pyarrow loads whole row groups, and a file may be a single one.
BUFFER = 2**16


def chunks(path: Path, options: Options) -> Iterator[Chunk]:
    """The file, ``options.rows`` rows at a time."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(f"reading {path} needs pyarrow; install it with `pip install maxmargin[parquet]`") from error
    return stream(pa, pq, path, options)


def stream(pa: Any, pq: Any, path: Path, options: Options) -> Iterator[Chunk]:
    """The chunks, with damage to the file reported by its name."""
    try:
        with pq.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
            schema = file.schema_arrow
            columns = columns_of(path, schema.names, len(schema.names), options)
            check_types(pa, path, columns, schema)
            start = 0
            for table in tables(pa, file, options.rows):
                yield converted(pa, path, columns, table, start, options.dtype)
                start += table.num_rows
    except (pa.ArrowException, OSError) as error:
        raise ValueError(
            f"{path}: pyarrow cannot read the file ({error}); check that it is Parquet, written completely"
        ) from error


def tables(pa: Any, file: Any, rows: int) -> Iterator[Any]:
    """Tables of exactly ``rows`` rows, but for the last; pyarrow's batches may be shorter."""
    waiting: list[Any] = []
    for batch in file.iter_batches(batch_size=rows):
        waiting.append(batch)
        if sum(part.num_rows for part in waiting) >= rows:
            table = pa.Table.from_batches(waiting)
            waiting = table.slice(rows).to_batches()
            yield table.slice(0, rows)
    if waiting:
        yield pa.Table.from_batches(waiting)


def plain(pa: Any, kind: Any) -> Any:
    """A column's type, that of its values if they are kept in a dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_numeric(pa: Any, kind: Any) -> bool:
    """Whether values of this type are numbers; true and false count as 1 and 0."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(plain(pa, kind)) for test in tests)


def is_text(pa: Any, kind: Any) -> bool:
    """Whether values of this type are strings."""
    return any(test(plain(pa, kind)) for test in (pa.types.is_string, pa.types.is_large_string))


def check_types(pa: Any, path: Path, columns: Columns, schema: Any) -> None:
    """Features must be numbers, labels numbers or text."""
    for column, kind in enumerate(schema.types):
        if is_numeric(pa, kind) or (column == columns.target and is_text(pa, kind)):
            continue
        wanted = "numbers or text" if column == columns.target else "numbers"
        raise ValueError(
            f"{path}, {columns.called(column)}: its type is {kind}, not {wanted}; "
            "convert or remove the column, or, if it holds the labels, pass it as target="
        )


def converted(pa: Any, path: Path, columns: Columns, table: Any, start: int, dtype: np.dtype) -> Chunk:
    """A table as arrays."""
    X = np.empty((table.num_rows, columns.count - 1), dtype=dtype)
    with np.errstate(over="ignore"):  # what is too large is complained about by name
        for place, column in enumerate(columns.features):
            X[:, place] = values(pa, path, columns, table, column, start)
            check_finite(path, columns, column, X[:, place], table, start)
    y = values(pa, path, columns, table, columns.target, start)
    if y.dtype.kind == "f":
        check_finite(path, columns, columns.target, y, table, start)
    return Chunk(X, y)


def values(pa: Any, path: Path, columns: Columns, table: Any, column: int, start: int) -> Array:
    """One column, float64 or text, without gaps."""
    data = table.column(column)
    if data.null_count:
        row = int(np.argmax(data.is_null().to_numpy()))
        raise ValueError(
            f"{path}, row {start + row} (from 0), {columns.called(column)}: the value is null; "
            "fill in missing values, or remove the row or the column"
        )
    if is_text(pa, data.type):
        return np.asarray(data.to_numpy(), dtype=str)
    return np.array(data.cast(pa.float64(), safe=False).to_numpy())


def check_finite(path: Path, columns: Columns, column: int, converted: Array, table: Any, start: int) -> None:
    """Refuse NaN, infinities and what does not fit into the type."""
    if np.isfinite(converted).all():
        return
    row = int(np.argmin(np.isfinite(converted)))
    value = table.column(column)[row].as_py()
    remedy = "scale the data or pass dtype=np.float64" if np.isfinite(float(value)) else "fill in or remove such values"
    raise ValueError(
        f"{path}, row {start + row} (from 0), {columns.called(column)}: {value!r} is not finite as {converted.dtype}; "
        f"{remedy}"
    )
