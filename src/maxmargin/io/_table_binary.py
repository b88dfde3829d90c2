"""Tables in binary files: Parquet, Arrow (Feather) and NumPy's npz."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin._types import Array
from maxmargin.io._files import COMPRESSED, DAMAGE, damaged, opened
from maxmargin.io._parquet import BUFFER, is_numeric, tables
from maxmargin.io._table import Table, checked_names

#: How an error calls a format.
ENDINGS = {"parquet": "Parquet", "arrow": "Arrow or Feather"}


def source_of(path: Path) -> Any:
    """What readers of binary files take: the path, or what it decompresses to."""
    if path.suffix.lower() not in COMPRESSED:
        return path
    try:
        with opened(path) as file:
            return BytesIO(file.read())
    except DAMAGE as error:
        raise damaged(str(path), error) from error


def arrow_tables(path: Path, format: str, rows: int) -> Iterator[Table]:
    """A Parquet or Arrow file, ``rows`` rows at a time."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(f"reading {path} needs pyarrow; install it with `pip install maxmargin[parquet]`") from error
    try:
        with Batches(pa, pq, source_of(path), format) as file:
            names = checked_names(path, file.names)
            first = 0
            for table in tables(pa, file, rows):
                table.validate(full=True)  # a damaged file may point outside itself
                columns = [values(pa, path, name, column, first) for name, column in zip(names, table, strict=True)]
                yield Table(path, names, tuple(columns), first=first)
                first += table.num_rows
    except (pa.ArrowException, OSError, OverflowError, UnicodeDecodeError) as error:
        if getattr(error, "filename", None) is not None:  # the operating system's own
            raise
        raise ValueError(
            f"{path}: pyarrow cannot read the file ({error}); check that it is {ENDINGS[format]}, written completely"
        ) from error
    if not first:
        raise ValueError(f"{path} has no rows; check that it was written completely")


class Batches:
    """Batches of a file with either format's reader behind them."""

    def __init__(self, pa: Any, pq: Any, source: Any, format: str):
        self.pa, self.format = pa, format
        if format == "parquet":
            self.file = pq.ParquetFile(source, buffer_size=BUFFER, pre_buffer=False)
            self.names = self.file.schema_arrow.names
            return
        opened = pa.memory_map(str(source)) if isinstance(source, Path) else pa.BufferReader(source.getvalue())
        try:
            self.file = pa.ipc.open_file(opened)
        except pa.ArrowInvalid:  # the other of Arrow's two layouts
            opened.seek(0)
            self.file = pa.ipc.open_stream(opened)
        self.names = self.file.schema.names

    def iter_batches(self, batch_size: int) -> Iterator[Any]:
        """Record batches of at most that many rows."""
        if self.format == "parquet":
            yield from self.file.iter_batches(batch_size=batch_size)
            return
        if hasattr(self.file, "get_batch"):
            whole = (self.file.get_batch(place) for place in range(self.file.num_record_batches))
        else:
            whole = iter(self.file)
        for batch in whole:
            for start in range(0, batch.num_rows, batch_size):
                yield batch.slice(start, batch_size)

    def __enter__(self) -> Batches:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.__exit__(*_)


def values(pa: Any, path: Path, name: str, column: Any, first: int) -> Array:
    """One column: float64 with nan, or text with nan."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if is_numeric(pa, column.type) or pa.types.is_null(column.type):
        found = np.array(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
        if np.isinf(found).any():
            row = first + int(np.argmax(np.isinf(found)))
            raise ValueError(
                f"{path}, row {row} (from 0), column {name!r}: {found[row - first]} is not finite; correct it, or make "
                "it null if the value is not known"
            )
        return found
    return text_objects(column.to_pylist())


def text_objects(items: list[Any]) -> Array:
    """Text, or anything else as it prints; nan where there is nothing."""
    found = np.empty(len(items), dtype=object)
    found[:] = [np.nan if item is None or not str(item).strip() else str(item).strip() for item in items]
    return found


def npz_table(path: Path) -> Table:
    """The arrays X and y of an npz file; columns are x0, x1, ... and y."""
    try:
        with np.load(source_of(path), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except Exception as error:  # damage shows itself in many ways
        if getattr(error, "filename", None) is not None:  # the operating system's own
            raise
        raise ValueError(
            f"{path}: NumPy cannot read the file ({error}); write it with numpy.savez(path, X=..., y=...), as plain "
            "arrays of numbers or text"
        ) from error
    if "X" not in arrays:
        listed = ", ".join(map(repr, arrays)) or "nothing"
        raise ValueError(f"{path} holds {listed}, and no array 'X'; write it with numpy.savez(path, X=..., y=...)")
    X = arrays["X"]
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(f"{path}: X has shape {X.shape} and type {X.dtype}; it must be a matrix of numbers")
    if not X.size:
        raise ValueError(f"{path}: X has shape {X.shape}, so there is nothing to learn from")
    names = checked_names(path, [f"x{place}" for place in range(X.shape[1])])
    X = np.asarray(X, dtype=np.float64)
    columns = [np.ascontiguousarray(X[:, place]) for place in range(X.shape[1])]
    if "y" in arrays:
        names, columns = (*names, "y"), [*columns, labels(path, arrays["y"], len(X))]
    for name, column in zip(names, columns, strict=True):
        if column.dtype != object and np.isinf(column).any():
            raise ValueError(f"{path}, row {int(np.argmax(np.isinf(column)))} (from 0), {name}: it is not finite")
    return Table(path, names, tuple(columns))


def labels(path: Path, y: Array, n: int) -> Array:
    """The array y as a column."""
    y = y.ravel() if y.ndim == 2 and 1 in y.shape else y
    if y.shape != (n,):
        raise ValueError(f"{path}: y has shape {y.shape} and X has {n} rows; y needs one value for each")
    if y.dtype.kind in "US":
        return text_objects([item.decode() if isinstance(item, bytes) else item for item in y.tolist()])
    if y.dtype.kind not in "biuf":
        raise ValueError(f"{path}: y has type {y.dtype}; it must hold numbers or text")
    return np.asarray(y, dtype=np.float64)
