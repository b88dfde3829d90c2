"""What readers are asked for, and what they give: chunks of numbers, and tables as people keep them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from maxmargin._types import Array, IntArray, RowData
from maxmargin.io._dates import order_of, parts_of

#: Options that a format cannot follow; given all the same, they are refused instead of ignored.
MEANINGLESS = {
    "svmlight": ("target", "header"),
    "csv": ("zero_based",),
    "parquet": ("zero_based", "header"),
}


class Chunk(NamedTuple):
    """Consecutive rows of a file.

    Attributes
    ----------
    X : csr_matrix or ndarray of shape (rows, n_features)
        Features: sparse from svmlight files, dense from CSV and Parquet.
    y : ndarray of shape (rows,)
        Labels: float64, or strings where the file has text.
    """

    X: RowData
    y: Array


@dataclass(frozen=True)
class Options:
    """How to read, checked."""

    rows: int = 65536
    target: int | str = -1
    n_features: int | None = None
    dtype: Any = np.float32
    zero_based: bool = False
    header: bool | None = None

    def __post_init__(self) -> None:
        check_count("rows", self.rows)
        if self.n_features is not None:
            check_count("n_features", self.n_features)
        if isinstance(self.target, bool) or not isinstance(self.target, Integral | str):
            raise ValueError(f"target={self.target!r} is no column; pass the name or the index of the label's column")
        if np.dtype(self.dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise ValueError(f"dtype={self.dtype!r} is not supported; pass np.float32 or np.float64")
        object.__setattr__(self, "dtype", np.dtype(self.dtype))

    def check_meaning(self, format: str) -> None:
        """Refuse what the format cannot follow."""
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name in MEANINGLESS[format] and value != option.default:
                raise ValueError(f"{option.name}={value!r} has no meaning for format={format!r}; leave it out")


def check_count(name: str, value: Any) -> None:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name}={value!r} must be a whole number of at least 1")


#: More named columns than this are refused; files of more have to be sparse.
MOST_COLUMNS = 20_000

Kind = Literal["number", "category"]


class Reading(NamedTuple):
    """How a file of text was read: what was found out, or said."""

    encoding: str
    separator: str
    decimals: dict[str, str]  # columns whose numbers have thousands, units or decimal commas: '.' or ','


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a file, as columns.

    Attributes
    ----------
    path : Path
        Where it was read from.
    names : tuple of str
        Names of the columns; no two are the same.
    columns : tuple of ndarrays of shape (rows,)
        float64 for numbers, nan where a value is missing; objects for text: str, nan where it is missing.
    features : csr_matrix or None
        Of svmlight files, whose features have no names: all of them; ``columns`` is then the label alone.
    lines : ndarray of shape (rows,) or None
        The line on which every row begins; None where a file has no lines.
    first : int
        Number of the table's first row in the file, from 0.
    reading : Reading or None
        Of text: how it was read.
    """

    path: Path
    names: tuple[str, ...]
    columns: tuple[Array, ...]
    features: RowData | None = None
    lines: IntArray | None = None
    first: int = 0
    reading: Reading | None = None
    _places: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", {name: place for place, name in enumerate(self.names)})

    def __len__(self) -> int:
        if self.columns:
            return len(self.columns[0])
        return 0 if self.features is None else int(self.features.shape[0])

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def __getitem__(self, name: str) -> Array:
        """The column of that name."""
        return self.columns[self._places[name]]

    def kind(self, name: str) -> Kind:
        """Whether the column holds numbers or text."""
        return "category" if self[name].dtype == object else "number"

    def known(self, name: str) -> Array:
        """Whether the column has a value, for every row."""
        return ~missing(self[name])

    def rows(self, names: Iterable[str]) -> Array:
        """Some columns as the rows of a matrix: float64 if all are numbers, objects otherwise."""
        chosen = [self[name] for name in names]
        dtype = object if any(column.dtype == object for column in chosen) else np.float64
        matrix = np.empty((len(self), len(chosen)), dtype=dtype)
        for place, column in enumerate(chosen):
            matrix[:, place] = column
        return matrix

    def take(self, rows: IntArray | Array) -> Table:
        """The table of some rows, by their numbers or as a mask."""
        return replace(
            self,
            columns=tuple(column[rows] for column in self.columns),
            features=None if self.features is None else self.features[rows],
            lines=None if self.lines is None else self.lines[rows],
        )

    def copies(self, names: Sequence[str] = ()) -> IntArray:
        """For every row, the number of the first row with the same values in these columns (or features)."""
        first: dict[bytes, int] = {}
        keys = sparse_keys(self.features) if self.features is not None else dense_keys(self, names)
        return np.array([first.setdefault(key, row) for row, key in enumerate(keys)], dtype=np.int64)

    def date_order(self, name: str) -> str | None:
        """How the dates of a column are written, as :meth:`with_dates` takes it; None if some cell is no date."""
        return order_of(self[name]) if self.kind(name) == "category" else None

    def with_dates(self, orders: Mapping[str, str]) -> Table:
        """Columns of dates as numbers: ``when: year``, month, weekday (Monday is 0), hour, days since 1970.

        ``orders`` says how the dates are written: 'yyyy-mm-dd', 'dd.mm.yyyy', 'mm/dd/yyyy' or 'dd/mm/yyyy'; what is
        not written so is missing.
        """
        names: list[str] = []
        columns: list[Array] = []
        for name, column in zip(self.names, self.columns, strict=True):
            if name not in orders:
                names.append(name)
                columns.append(column)
                continue
            for part, numbers in parts_of(column, orders[name]).items():
                names.append(f"{name}: {part}")
                columns.append(numbers)
        return replace(self, names=checked_names(self.path, names), columns=tuple(columns))

    def place(self, row: int) -> str:
        """Where a row stands in the file, in words."""
        if self.lines is None:
            return f"{self.path}, row {self.first + row} (from 0)"
        return f"{self.path}, line {self.lines[row]}"


def missing(column: Array) -> Array:
    """Whether every value is missing."""
    if column.dtype == object:
        return np.array([not isinstance(value, str) for value in column], dtype=bool)
    return np.isnan(column)


def dense_keys(table: Table, names: Sequence[str]) -> Iterable[bytes]:
    """One key per row; equal rows have equal keys."""
    matrix = np.empty((len(table), len(names)))
    for place, name in enumerate(names):
        column = table[name]
        # text by its number, minus zero as zero
        matrix[:, place] = numbered_text(column) if column.dtype == object else column + 0.0
    return (row.tobytes() for row in matrix)


def numbered_text(column: Array) -> Array:
    """A number for every distinct text; nan where it is missing."""
    numbers: dict[str, int] = {}
    return np.array(
        [numbers.setdefault(value, len(numbers)) if isinstance(value, str) else np.nan for value in column],
        dtype=np.float64,
    )


def sparse_keys(X: Any) -> Iterable[bytes]:
    """One key per row of a CSR matrix whose indices are sorted."""
    for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        yield X.indices[begin:end].tobytes() + X.data[begin:end].tobytes()


def checked_names(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """The names, gaps filled; too many columns, or two of one name, are an error."""
    if len(names) > MOST_COLUMNS:
        raise ValueError(
            f"{path} has {len(names):,} columns, and a table may have {MOST_COLUMNS:,}; so many are kept as svmlight "
            "text (label index:value ...), which stores what is not zero"
        )
    if not names:
        raise ValueError(f"{path} has no columns; check that it was written completely")
    filled = [name.strip() or f"column {place + 1}" for place, name in enumerate(names)]
    seen: dict[str, int] = {}
    for place, name in enumerate(filled):
        if name in seen:
            raise ValueError(
                f"{path}: columns {seen[name] + 1} and {place + 1} are both named {name!r}; rename one of them"
            )
        seen[name] = place
    return tuple(filled)


def text_objects(items: list[Any]) -> Array:
    """Text, or anything else as it prints; nan where there is nothing."""
    found = np.empty(len(items), dtype=object)
    found[:] = [np.nan if item is None or not str(item).strip() else str(item).strip() for item in items]
    return found
