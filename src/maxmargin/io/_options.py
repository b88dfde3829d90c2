"""What a reader is asked for, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from maxmargin._types import Array, RowData

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
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in MEANINGLESS[format] and value != field.default:
                raise ValueError(f"{field.name}={value!r} has no meaning for format={format!r}; leave it out")


def check_count(name: str, value: Any) -> None:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name}={value!r} must be a whole number of at least 1")
