"""What is asked: classes or a number, and the answers as the machine learns them."""

from __future__ import annotations

from collections import Counter
from typing import Literal, NamedTuple

import numpy as np

from maxmargin.cli._errors import InputError
from maxmargin.cli._print import figure, listed
from maxmargin.io import Table

#: Whole numbers with at most this many distinct values are classes.
MOST_CLASSES_BY_NUMBER = 20
#: A class needs so many rows: one to test on and two to choose by.
LEAST_PER_CLASS = 3
LEAST_ROWS = 10

Task = Literal["two classes", "many classes", "regression"]


class Question(NamedTuple):
    """The kind of answer, why it is that, and the answers of all rows that have one."""

    task: Task
    why: str
    y: np.ndarray


def find_task(table: Table, target: str, asked: str | None) -> Question:
    """The task that a target's values mean; ``table`` has none that is missing."""
    values = table[target]
    if len(values) < LEAST_ROWS:
        raise InputError(
            f"{table.path} has {len(values)} rows with a value in {target!r}; training and testing need at least "
            f"{LEAST_ROWS}"
        )
    distinct = len(set(values.tolist()))
    if distinct < 2:
        raise InputError(
            f"{table.path}: {target!r} is {values[0]!s} in every row, so there is nothing to tell apart; choose "
            "another column with --target, or more rows"
        )
    if asked == "regression":
        return regression(table, target, values, "you said so")
    if values.dtype == object:
        return classes(table, target, values.astype(str), f"{target} is text", asked)
    whole = bool((values == np.round(values)).all()) and float(np.abs(values).max()) < 2**53
    if whole and (distinct <= MOST_CLASSES_BY_NUMBER or asked == "classification"):
        labels = values.astype(np.int64)
        return classes(table, target, labels, f"{target} is one of {distinct} whole numbers", asked)
    if distinct == 2 or asked == "classification":
        return classes(table, target, values.astype(str), f"{target} has {distinct} values", asked)
    what = "whole numbers" if whole else "numbers"
    return regression(table, target, values, f"{target} has {distinct:,} distinct {what}")


def classes(table: Table, target: str, labels: np.ndarray, why: str, asked: str | None) -> Question:
    """Two classes or many; each needs a few rows."""
    counts = Counter(labels.tolist())
    if len(counts) > len(labels) / 3:
        raise InputError(
            f"{table.path}: {target!r} has {len(counts):,} distinct values in {len(labels):,} rows, too many for "
            "classes; choose another column with --target"
        )
    rare = [label for label, number in counts.items() if number < LEAST_PER_CLASS]
    if rare:
        row = int(np.flatnonzero(labels == rare[0])[0])
        raise InputError(
            f"{table.place(row)}: class {rare[0]!r} of {target!r} has {counts[rare[0]]} of {len(labels):,} rows, and "
            f"{LEAST_PER_CLASS} are needed to train and test; correct the label, or remove or merge such classes "
            f"({listed([str(label) for label in rare])})"
        )
    why = "you said so" if asked == "classification" else why
    return Question("two classes" if len(counts) == 2 else "many classes", why, labels)


def regression(table: Table, target: str, values: np.ndarray, why: str) -> Question:
    """A number; text cannot be one."""
    if values.dtype == object:
        raise InputError(f"{table.path}: {target!r} is text ({values[0]!r}), so it cannot be a number to predict")
    spread = float(values.std())
    if not np.isfinite(spread) or spread == 0:
        raise InputError(f"{table.path}: {target!r} reaches {figure(float(values.max()))}; scale it down to train on")
    return Question("regression", why, values)
