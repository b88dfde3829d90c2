"""Columns of a table: their names, and which of them holds the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from maxmargin.io._options import Options

#: So many names are listed in an error.
LISTED = 20


@dataclass(frozen=True)
class Columns:
    """Names, None where the file has none, the number of columns, and the index of the labels'."""

    names: tuple[str, ...] | None
    count: int
    target: int

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
    return Columns(names, count, target_of(path, names, count, options.target))


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
