"""A table that somebody pasted, as points of the plane: two of its columns, or a projection of all of them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from maxmargin import KernelDiscriminantAnalysis
from maxmargin.playground._checks import MOST_POINTS, BadRequest, choice
from maxmargin.playground._frames import Answer
from maxmargin.playground._jobs import Job

MOST_COLUMNS, MOST_CLASSES = 100, 9
#: A number as half of the world writes it.
DECIMAL_COMMA = re.compile(r"^(\s*[-+]?\d*),(\d+(?:[eE][-+]?\d+)?\s*)$")
#: Half the width and height that the points get: a little less than the view has.
ROOM = (3.6, 2.6)
#: A column of numbers with at most so many different ones may be a column of classes.
FEW = 9


class Table(NamedTuple):
    """Names and columns; a column is an array of numbers, or of words."""

    names: list[str]
    columns: list[np.ndarray]
    notes: list[str]

    def numeric(self) -> list[str]:
        return [name for name, column in zip(self.names, self.columns, strict=True) if column.dtype.kind == "f"]

    def column(self, name: str) -> np.ndarray:
        return self.columns[self.names.index(name)]


def read_table(body: Mapping[str, Any], job: Job) -> Answer:
    """Points of a pasted table. What is not said (columns, classes) is guessed, and the guess is told."""
    text = body.get("text")
    if not isinstance(text, str):
        raise BadRequest("text must be the table")
    table = _parsed(text)
    method = choice(body, "method", ("columns", "pca", "kda"), "columns")
    numeric = table.numeric()
    label = body.get("label", _guessed_label(table))
    if label is not None and label not in table.names:
        raise BadRequest(f"there is no column {label!r:.60}")
    features = [name for name in numeric if name != label]
    if not features or (len(features) < 2 and method != "columns"):
        raise BadRequest("two columns of numbers are needed" + (f"; the classes are in {label!r:.60}" if label else ""))
    x = choice({"x": body.get("x", features[0])}, "x", numeric)
    y = choice({"y": body.get("y", features[min(1, len(features) - 1)])}, "y", numeric)
    classes, names, kept = _classes(table, label)
    axes = [x, y]
    if method == "columns":
        plane = np.column_stack([table.column(x), table.column(y)])[kept]
    else:
        plane, axes = _projected(np.column_stack([table.column(name) for name in features])[kept], classes, method)
    chosen = np.sort(np.random.default_rng(0).permutation(len(plane))[:MOST_POINTS])
    notes = table.notes + ([f"{MOST_POINTS:,} of {len(plane):,} rows are shown"] if len(chosen) < len(plane) else [])
    places = _fitted(plane[chosen])
    values = {"columns": table.names, "numeric": numeric, "x": x, "y": y, "label": label, "method": method}
    return Answer(
        {**values, "axes": axes, "classes": names, "notes": notes, "rows": len(chosen)},
        {"px": places[:, 0], "py": places[:, 1], "c": classes[chosen].astype(np.uint8)},
    )


def _parsed(text: str) -> Table:
    """The table: separated by commas, semicolons, tabs or blanks, with a line of names or without."""
    lines = [
        line
        for line in text.lstrip("\ufeff").strip().splitlines()
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not lines:
        raise BadRequest("paste a table: a line for each row, with commas, semicolons or tabs between the values")
    even = [one for one in "\t;" if lines[0].count(one) and len({line.count(one) for line in lines[:20]}) == 1]
    separator = even[0] if even else max(",;\t", key=lines[0].count)  # numbers may have commas
    if separator in lines[0]:
        try:
            rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=separator, skipinitialspace=True))
        except csv.Error as error:
            raise BadRequest(f"the table cannot be read: {error}") from None
    else:
        rows = [line.split() for line in lines]
    if separator != ",":
        rows = [[DECIMAL_COMMA.sub(r"\1.\2", cell) for cell in row] for row in rows]
    width = len(rows[0])
    if not 1 <= width <= MOST_COLUMNS:
        raise BadRequest(f"a table may have {MOST_COLUMNS} columns, got {width}")
    whole = [row for row in rows if len(row) == width]
    notes = [f"{counted(len(rows) - len(whole))} of another length left out"] if len(whole) < len(rows) else []
    named = not any(_is_number(cell) for cell in whole[0]) and len(whole) > 1
    names = _distinct([cell.strip() or f"column {k + 1}" for k, cell in enumerate(whole[0])] if named else [])
    cells = whole[1:] if named else whole
    names = names or [f"column {k + 1}" for k in range(width)]
    return _typed(names, cells, notes)


def _typed(names: list[str], cells: list[list[str]], notes: list[str]) -> Table:
    """Columns in which most cells are numbers are numeric; rows in which such a cell is not a number are left out."""
    by_column = list(zip(*cells, strict=True))
    numeric = [sum(map(_is_number, column)) > len(column) / 2 for column in by_column]
    kept = [
        i
        for i in range(len(cells))
        if all(_is_number(c[i]) for c, is_one in zip(by_column, numeric, strict=True) if is_one)
    ]
    if len(kept) < len(cells):
        notes.append(f"{counted(len(cells) - len(kept))} with missing numbers left out")
    if len(kept) < 2:
        raise BadRequest("the table needs two rows with numbers at least")
    columns = [
        np.array([float(column[i]) for i in kept]) if is_one else np.array([column[i].strip() for i in kept])
        for column, is_one in zip(by_column, numeric, strict=True)
    ]
    return Table(names, columns, notes)


def _guessed_label(table: Table) -> str | None:
    """The last column of words, or of few whole numbers, if it has two values at least."""
    for name, column in reversed(list(zip(table.names, table.columns, strict=True))):
        values = np.unique(column)
        words = column.dtype.kind != "f" and len(values) < max(3, len(column))
        few = column.dtype.kind == "f" and len(values) <= FEW and (values == values.round()).all()
        if len(values) >= 2 and (words or (few and len(table.numeric()) > 2)):
            return name
    return None


def _classes(table: Table, label: str | None) -> tuple[np.ndarray, list[str], np.ndarray]:
    """(numbers 1 to 9, their names, which rows are kept): the most frequent classes, in the order of their names."""
    n = len(table.columns[0])
    if label is None:
        return np.ones(n, dtype=np.int64), ["all"], np.arange(n)
    column = table.column(label)
    values, counts = np.unique(column, return_counts=True)
    chosen = np.sort(values[np.argsort(-counts, kind="stable")[:MOST_CLASSES]])
    if len(chosen) < len(values):
        table.notes.append(f"the {MOST_CLASSES} most frequent of {len(values)} classes are shown")
    kept = np.flatnonzero(np.isin(column, chosen))
    names = [f"{value:g}" if column.dtype.kind == "f" else str(value)[:40] for value in chosen]
    return np.searchsorted(chosen, column[kept]) + 1, names, kept


def _projected(X: np.ndarray, y: np.ndarray, method: str) -> tuple[np.ndarray, list[str]]:
    """Two directions of scaled columns: principal components, or kernel discriminants (one per class but one)."""
    from sklearn.decomposition import PCA

    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    components = PCA(min(2, *X.shape)).fit_transform(X)
    if method == "pca":
        return _two(components), ["principal component 1", "principal component 2"]
    classes = len(np.unique(y))
    if classes < 2:
        raise BadRequest("kernel discriminants tell classes apart: choose the column that holds them")
    rows = np.random.default_rng(0).permutation(len(X))[:MOST_POINTS]
    model = KernelDiscriminantAnalysis(n_components=min(2, classes - 1), kernel="rbf").fit(X[rows], y[rows])
    found = model.transform(X)
    if found.shape[1] == 2:
        return found, ["discriminant 1", "discriminant 2"]
    return np.column_stack([found[:, 0], components[:, 0]]), ["discriminant", "principal component 1"]


def _two(values: np.ndarray) -> np.ndarray:
    return values if values.shape[1] == 2 else np.column_stack([values[:, 0], np.zeros(len(values))])


def _fitted(plane: np.ndarray) -> np.ndarray:
    """The points moved and scaled, each axis by itself, into the view, to a thousandth."""
    low, high = plane.min(axis=0), plane.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    return np.round((2 * (plane - low) / span - np.where(high > low, 1.0, 0.0)) * np.array(ROOM), 3)


def _distinct(names: list[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        cut = name[:40]
        found.append(cut if cut not in found else f"{cut} ({len(found) + 1})")
    return found


def counted(rows: int) -> str:
    """The number of rows in words."""
    return "1 row" if rows == 1 else f"{rows:,} rows"


def _is_number(cell: str) -> bool:
    try:
        return bool(np.isfinite(float(cell))) and abs(float(cell)) < 1e100
    except ValueError:
        return False
