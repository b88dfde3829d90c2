"""Where data come from: a file, or one of scikit-learn's sets by its name."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from maxmargin.cli._errors import InputError
from maxmargin.io import Table, read_table

#: Built-in sets: what each is about.
BUILT_IN = {
    "digits": "handwritten digits, 8 x 8 grey values",
    "iris": "three species of iris by the size of their leaves",
    "breast_cancer": "malignant and benign tumours",
    "wine": "three cultivars by a chemical analysis",
    "diabetes": "progress of a disease after a year, a number",
}
#: What stands for standard input, the most that is read from it, and formats by how files begin.
STDIN, MOST_PIPED = "-", 2**33
BEGINNINGS = {
    b"PAR1": ".parquet", b"ARROW1": ".arrow", b"PK": ".xlsx", b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz",
}  # fmt: skip
#: Names that a column of answers goes by.
TARGET_NAMES = ("target", "label", "class", "y")


class Source(NamedTuple):
    """A table, what to call it, and the checksum of its bytes."""

    table: Table
    name: str
    checksum: str
    built_in: bool
    dates: Mapping[str, str] = MappingProxyType({})  # columns of dates that became numbers, and how they are written

    def dated(self, target: str | None, drop: list[str]) -> Source:
        """The same with columns of dates as numbers, but for the target and what is left out."""
        name, _ = find_target(self.table, target)
        dates = {
            column: order
            for column in self.table.names
            if column not in (name, *drop) and self.table.kind(column) == "category"
            if (order := self.table.date_order(column)) is not None
        }
        return self._replace(table=self.table.with_dates(dates), dates=dates) if dates else self


def read_source(data: str, **how: Any) -> Source:
    """The table of a file or of a built-in set; a file of that name goes first."""
    path = Path(data)
    if data == STDIN:
        with copied_stdin() as copy:
            found = read_source(str(copy), **how)
        name = "standard input"
        return found._replace(name=name, table=replace(found.table, path=Path(name)))
    if data in BUILT_IN and not path.exists():
        table = built_in(data)
        return Source(table, data, checksum_of_rows(table), True)
    if not path.exists() and not path.suffix:
        near = difflib.get_close_matches(data, BUILT_IN, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"there is no file {data!r} and no built-in set of that name ({', '.join(BUILT_IN)}){hint}")
    table = read_table(path, **how)
    checksum = checksum_of_rows(table) if path.is_fifo() else checksum_of(path)  # what a pipe said is gone
    return Source(table, path.name, checksum, False)


@contextlib.contextmanager
def copied_stdin() -> Iterator[Path]:
    """What standard input delivers, as a file whose name tells its format."""
    with tempfile.TemporaryDirectory(prefix="maxmargin-") as folder:
        copy = Path(folder, "standard input")
        with open(copy, "wb") as file:
            while block := sys.stdin.buffer.read(2**20):
                file.write(block)
                if file.tell() > MOST_PIPED:
                    raise InputError(f"standard input delivers more than {MOST_PIPED:,} bytes; save it as a file")
        with open(copy, "rb") as file:
            start = file.read(4096)
        ending = next((ending for begins, ending in BEGINNINGS.items() if start.startswith(begins)), "")
        if not ending and start.lstrip()[:1] in (b"{", b"["):
            ending = ".json" if start.lstrip()[:1] == b"[" else ".jsonl"
        yield copy.rename(copy.with_name(f"standard input{ending}"))


def built_in(name: str) -> Table:
    """One of scikit-learn's sets; classes go by their names."""
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    names = [str(feature) for feature in bunch.feature_names]
    columns = [np.asarray(column, dtype=np.float64) for column in bunch.data.T]
    target = np.asarray(bunch.target)
    if name in ("iris", "breast_cancer", "wine"):
        target = np.asarray(bunch.target_names)[target].astype(object)
    else:
        target = target.astype(np.float64)
    return Table(Path(name), (*names, "target"), (*columns, target))


def checksum_of(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksum_of_rows(table: Table) -> str:
    """SHA-256 of what a built-in set, or a pipe, held."""
    digest = hashlib.sha256()
    if table.features is not None:
        for part in (table.features.indptr, table.features.indices, table.features.data):
            digest.update(np.ascontiguousarray(part).tobytes())
    for column in table.columns:
        text = column.dtype == object
        digest.update("\n".join(map(str, column)).encode() if text else np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


def find_target(table: Table, asked: str | None) -> tuple[str, str]:
    """(the column of answers, why it is the one)."""
    if asked is not None:
        if asked in table:
            return asked, "you said so"
        folded = [name for name in table.names if name.lower() == asked.lower()]
        near = folded or difflib.get_close_matches(asked, table.names, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else "take one of them"
        names = ", ".join(map(repr, table.names[:20])) + (", ..." if len(table.names) > 20 else "")
        raise InputError(f"{table.path} has no column {asked!r} to predict; {hint} It has {names}")
    for wanted in TARGET_NAMES:
        for name in table.names:
            if name.lower() == wanted:
                return name, "its name says so"
    return table.names[-1], "it is the last one"
