"""From a table to training and test rows: what is asked, what is learned from, and every decision with its reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from maxmargin.cli._columns import Chosen, choose_columns
from maxmargin.cli._data import Source, find_target
from maxmargin.cli._errors import InputError
from maxmargin.cli._notices import find_notices
from maxmargin.cli._options import TrainOptions
from maxmargin.cli._print import counted, figure, listed
from maxmargin.cli._split import Split, in_order, split, split_choice
from maxmargin.io import Table
from maxmargin.report import Choice, Notice

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


def find_question(table: Table, target: str, asked: str | None) -> Question:
    """What a target's values ask for; ``table`` has none that is missing."""
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


class Step(NamedTuple):
    """An encoder of scikit-learn's and its options, to be made or to be written out as code."""

    name: str
    encoder: Any
    options: dict[str, Any]

    def make(self) -> tuple[str, Any]:
        """The step of a pipeline."""
        return self.name, self.encoder(**self.options)


class Part(NamedTuple):
    """What becomes of the columns from ``begin`` to ``end``."""

    name: str
    steps: list[Step]
    begin: int
    end: int

    def make(self) -> tuple[str, Pipeline, list[int]]:
        """The part of a ColumnTransformer."""
        return self.name, Pipeline([step.make() for step in self.steps]), list(range(self.begin, self.end))


FILL, SCALE = Step("fill", SimpleImputer, {"strategy": "median"}), Step("scale", StandardScaler, {})
ENCODE = [
    Step("fill", SimpleImputer, {"strategy": "constant", "fill_value": "missing"}),
    Step("encode", OneHotEncoder, {"handle_unknown": "ignore", "sparse_output": False}),
]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows to learn from and rows to test on; ``rows`` are numbers in the file of those that have a target."""

    source: Source
    target: str
    question: Question
    chosen: Chosen
    rows: np.ndarray
    X: Any
    y: np.ndarray
    split: Split  # numbers in X and y
    scale: bool
    choices: list[Choice]
    notices: list[Notice]

    @property
    def train(self) -> np.ndarray:
        return self.split.train

    @property
    def test(self) -> np.ndarray:
        return self.split.test

    @property
    def together(self) -> bool:
        """Whether copies of a row were kept on one side of the split."""
        return self.split.how == "copies"

    @property
    def classifies(self) -> bool:
        return self.question.task != "regression"

    @property
    def sparse(self) -> bool:
        """Whether the rows are a sparse matrix whose columns have no names."""
        return self.source.table.features is not None

    @property
    def train_rows(self) -> np.ndarray:
        return self.X[self.train]

    @property
    def test_rows(self) -> np.ndarray:
        return self.X[self.test]

    @property
    def steps(self) -> list[Step]:
        """What becomes of all columns before the machine sees them, where it is the same for all."""
        if self.sparse:
            return [Step("scale", StandardScaler, {"with_mean": False})] if self.scale else []
        return [FILL, SCALE] if self.scale else [FILL]

    @property
    def parts(self) -> list[Part]:
        """The same of numbers and of categories, where there are categories; numbers come first."""
        numbers, both = len(self.chosen.numbers), len(self.chosen.used)
        parts = [Part("numbers", self.steps, 0, numbers), Part("categories", ENCODE, numbers, both)]
        return [part for part in parts if part.begin < part.end] if both > numbers else []

    def encoders(self) -> list[tuple[str, Any]]:
        """Steps of the pipeline before the machine."""
        if self.parts:
            return [("columns", ColumnTransformer([part.make() for part in self.parts]))]
        return [step.make() for step in self.steps]


def prepare(source: Source, options: TrainOptions, tested: int | None = None) -> Prepared:
    """Everything that comes before a machine; rows from number ``tested`` on are those to test on, if it is given."""
    check_width(source.table)
    target, why = find_target(source.table, options.target)
    known = source.table.known(target)
    rows, table = np.flatnonzero(known), source.table.take(known)
    question = find_question(table, target, options.task)
    aside = [name for name in (options.group,) if name is not None and name in table]
    chosen = choose_columns(table, target, options.keep, [*options.drop, *aside])
    choices = [
        Choice("target", target, why, "--target"),
        Choice("task", question.task, question.why, "--task"),
        columns_choice(source, table, chosen),
    ]
    copies = table.copies(chosen.used)
    notices = unlabelled(len(known) - len(rows), target)
    classifies = question.task != "regression"
    X = table.rows(chosen.used) if table.features is None else table.features
    if tested is None:
        found = split(table, question.y, classifies, copies, options)
    else:
        found = Split(*parted(rows, tested), "file")
    notices += in_order(table, source.dates, options)
    notices += find_notices(table, chosen, question.y, classifies, copies, found.how == "copies", options.seed)
    choices.append(split_choice(found, classifies, options))
    scale, scaling = scale_choice(X, chosen, options.scale, table.features is not None)
    choices.append(scaling)
    return Prepared(source, target, question, chosen, rows, X, question.y, found, scale, choices, notices)


def parted(rows: np.ndarray, tested: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows to train on, and of those that a second file brought."""
    return np.flatnonzero(rows < tested), np.flatnonzero(rows >= tested)


def check_width(table: Table) -> None:
    """InputError for a table of one column, which is mostly one whose separator was not found."""
    if len(table.names) == 1 and table.features is None:
        raise InputError(
            f"{table.path} has one column, {table.names[0][:60]!r}, so there is nothing to learn from; if something "
            "else than commas, semicolons, tabs, bars or spaces stands between its cells, say --sep"
        )


def unlabelled(number: int, target: str) -> list[Notice]:
    """What to say of rows without an answer."""
    if not number:
        return []
    return [
        Notice(
            "missing",
            f"{counted(number, 'row')} without a value in {target}: left out, for nothing can be learned from them.",
        )
    ]


def columns_choice(source: Source, table: Table, chosen: Chosen) -> Choice:
    """Which columns are learned from."""
    if table.features is not None:
        return Choice("columns", f"{table.features.shape[1]:,} features", "a sparse file: all of them")
    what = counted(len(chosen.numbers), "number")
    if chosen.categories:
        kinds = "category" if len(chosen.categories) == 1 else "categories"
        what += f", {len(chosen.categories)} {kinds} (a column of 0 and 1 for each value)"
    if source.dates:
        listing = listed([f"{name} ({order})" for name, order in source.dates.items()], 4)
        what += f"; dates became year, month, weekday, hour and days: {listing}"
    if not chosen.left_out:
        return Choice("columns", what, "all columns", "--drop")
    left = listed([f"{column.name} ({column.why})" for column in chosen.left_out], 4)
    return Choice("columns", what, f"left out: {left}", "--keep, --drop")


def scale_choice(X: Any, chosen: Chosen, asked: bool | None, sparse: bool) -> tuple[bool, Choice]:
    """Whether columns are scaled."""
    if asked is not None:
        return asked, Choice("scaling", "unit variance" if asked else "none", "you said so", "--scale, --no-scale")
    if not sparse:
        what = "unit variance" if chosen.numbers else "none"
        why = "so that every column counts the same, whatever its unit" if chosen.numbers else "there are no numbers"
        return True, Choice("scaling", what, why, "--no-scale")
    small = X.nnz == 0 or float(np.abs(X.data).max()) <= 1.0
    if small:
        return False, Choice("scaling", "none", "all values of this sparse file are within -1 and 1", "--scale")
    return True, Choice("scaling", "unit variance", "values of this sparse file reach beyond 1", "--no-scale")
