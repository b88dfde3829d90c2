"""Binary tables: Parquet and Arrow (Feather) files through pyarrow, imported at first use, and NumPy's npz files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin._types import Array
from maxmargin.io._files import grown, held, most_bytes
from maxmargin.io._table import Table, checked_names, text_objects

#: How an error calls a format.
ENDINGS = {"parquet": "Parquet", "arrow": "Arrow or Feather"}
#: Bytes of a column read at a time; without it pyarrow loads whole row groups, and a file may be a single one.
BUFFER = 2**16
#: Bytes that a file may decode to, or times its size if that is more; both formats keep runs of a value in few bytes.
MOST_DECODED, DECODED_TIMES = 2**30, 2000


def pyarrow_for(path: Path) -> Any:
    """The library, or an error that says what it is needed for and how to get it."""
    try:
        import pyarrow as pa
        import pyarrow.parquet  # which brings pa.parquet
    except ImportError as error:
        raise ImportError(f"reading {path} needs pyarrow; install it with `pip install maxmargin[parquet]`") from error
    return pa


def arrow_tables(path: Path, format: str, rows: int) -> Iterator[Table]:
    """A Parquet or Arrow file, ``rows`` rows at a time."""
    pa = pyarrow_for(path)
    first = 0
    with arrow_file(pa, path, format) as file:
        names = checked_names(path, file.schema.names)
        for part in file.parts(rows):
            columns = [values(pa, path, name, column, first) for name, column in zip(names, part, strict=True)]
            yield Table(path, names, tuple(columns), first=first)
            first += part.num_rows
    if not first:
        raise ValueError(f"{path} has no rows; check that it was written completely")


@contextmanager
def arrow_file(pa: Any, path: Path, format: str) -> Iterator[ArrowFile]:
    """The file, open; damage to it is reported by its name."""
    try:
        file = ArrowFile(pa, path, format)
        with file.file:
            yield file
    except (pa.ArrowException, OSError, OverflowError, UnicodeDecodeError) as error:
        if getattr(error, "filename", None) is not None:  # the operating system's own
            raise
        raise ValueError(
            f"{path}: pyarrow cannot read the file ({error}); check that it is {ENDINGS[format]}, written completely"
        ) from error


class ArrowFile:
    """A file with either format's reader behind it."""

    def __init__(self, pa: Any, path: Path, format: str):
        self.pa, self.path, self.format = pa, path, format
        source = held(path)
        if format == "parquet":
            self.file = pa.parquet.ParquetFile(source, buffer_size=BUFFER, pre_buffer=False)
            self.schema = self.file.schema_arrow
            return
        opened = pa.memory_map(str(source)) if isinstance(source, Path) else pa.BufferReader(source.getvalue())
        try:
            self.file = pa.ipc.open_file(opened)
        except pa.ArrowInvalid:  # the other of Arrow's two layouts
            opened.seek(0)
            self.file = pa.ipc.open_stream(opened)
        self.schema = self.file.schema

    def parts(self, rows: int) -> Iterator[Any]:
        """pyarrow's tables of exactly ``rows`` rows, but for the last; its batches may be shorter."""
        left = max(MOST_DECODED, DECODED_TIMES * self.path.stat().st_size)
        waiting: list[Any] = []
        for batch in self._batches(rows):
            batch.validate(full=True)  # a damaged file may point outside itself
            left -= batch.nbytes
            if left < 0:
                raise ValueError(
                    f"{self.path} decodes to more than {DECODED_TIMES:,} times its size, and more than "
                    f"{MOST_DECODED:,} bytes; if you trust it, write its rows into several files, or without "
                    "compression"
                )
            waiting.append(batch)
            if sum(part.num_rows for part in waiting) >= rows:
                table = self.pa.Table.from_batches(waiting)
                waiting = table.slice(rows).to_batches()
                yield table.slice(0, rows)
        if waiting:
            yield self.pa.Table.from_batches(waiting)

    def _batches(self, rows: int) -> Iterator[Any]:
        """Record batches of at most that many rows."""
        if self.format == "parquet":
            yield from self.file.iter_batches(batch_size=rows)
            return
        if hasattr(self.file, "get_batch"):
            whole = (self.file.get_batch(place) for place in range(self.file.num_record_batches))
        else:
            whole = iter(self.file)
        for batch in whole:
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)


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


# -- Tables in NumPy's npz files ------------------------------------------------------------------------------------


def npz_arrays(path: Path) -> dict[str, Array]:
    """The arrays of an npz file by name."""
    source, most = held(path), most_bytes(path)
    try:
        with np.load(source, allow_pickle=False) as file:
            modest = sum(entry.file_size for entry in file.zip.infolist()) <= most
            arrays = {name: file[name] for name in file.files} if modest else {}
    except Exception as error:  # damage shows itself in many ways
        if getattr(error, "filename", None) is not None:  # the operating system's own
            raise
        raise ValueError(
            f"{path}: NumPy cannot read the file ({error}); write it with numpy.savez(path, X=..., y=...), as plain "
            "arrays of numbers or text"
        ) from error
    if not modest:
        raise grown(path)
    return arrays


def npz_table(path: Path) -> Table:
    """The arrays X and y of an npz file; columns are x0, x1, ... and y."""
    arrays = npz_arrays(path)
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
