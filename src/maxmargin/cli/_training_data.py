"""The rows that a model was trained on, found again in its data."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.cli._data import find_target, read_source
from maxmargin.cli._errors import InputError
from maxmargin.cli._models import Model, rows_for


class TrainingData(NamedTuple):
    """Training rows as the machine saw them, their answers and their numbers in the file."""

    X: Any
    y: np.ndarray
    rows: np.ndarray
    checked: bool  # whether the file is known to be the one that the model was trained on


def training_data(model: Model, data: str, target: str | None, changed: bool = False, **how: Any) -> TrainingData:
    """Read the data that a model was trained on; another file than that is refused unless ``changed``."""
    record = model.record
    if how.get("header") is None:
        how["header"] = record.get("read", {}).get("header")
    source = read_source(data, **how)
    checked = record.get("sha256") == source.checksum
    if record and not checked and not changed:
        raise InputError(
            f"{data} is not the file that {model.path} was trained on: that was {record.get('data')!r} with SHA-256 "
            f"{str(record.get('sha256'))[:12]}..., and this one has {source.checksum[:12]}... If it differs in nothing "
            "that matters, say --changed"
        )
    name, _ = find_target(source.table, target or record.get("target"))
    rows = np.asarray(record.get("train_rows", np.flatnonzero(source.table.known(name))), dtype=np.int64)
    if len(rows) and rows.max() >= len(source.table):
        raise InputError(
            f"{data} has {len(source.table):,} rows, and the model was trained on row {rows.max():,} of it"
        )
    table = source.table.take(rows)
    X, _ = rows_for(model, table)
    return TrainingData(model.encoded(X), answers_like(model, table[name]), rows, checked)


def answers_like(model: Model, column: np.ndarray) -> np.ndarray:
    """Answers in the type of the model's classes."""
    classes = getattr(model.machine, "classes_", None)
    if classes is None:
        return column
    if classes.dtype.kind in "iu" and column.dtype != object:
        return column.astype(classes.dtype)
    return column.astype(str) if classes.dtype.kind in "UO" else column
