"""From a table to training and test rows, with every decision and its reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from maxmargin.cli._columns import Chosen, choose_columns
from maxmargin.cli._data import Source, find_target
from maxmargin.cli._errors import InputError
from maxmargin.cli._notices import find_notices
from maxmargin.cli._options import TrainOptions
from maxmargin.cli._print import counted, listed, share
from maxmargin.cli._task import Question, find_task
from maxmargin.report import Choice, Notice

#: Copies of rows are kept together if at least this share of the rows differ.
MOSTLY_DISTINCT = 0.5


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
    train: np.ndarray  # numbers in X and y
    test: np.ndarray
    together: bool  # whether copies of a row were kept on one side of the split
    scale: bool
    choices: list[Choice]
    notices: list[Notice]

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


def prepare(source: Source, options: TrainOptions) -> Prepared:
    """Everything that comes before a machine."""
    target, why = find_target(source.table, options.target)
    known = source.table.known(target)
    rows, table = np.flatnonzero(known), source.table.take(known)
    question = find_task(table, target, options.task)
    chosen = choose_columns(table, target, options.keep, options.drop)
    choices = [
        Choice("target", target, why, "--target"),
        Choice("task", question.task, question.why, "--task"),
        columns_choice(table, chosen),
    ]
    copies = table.copies(chosen.used)
    notices = unlabelled(len(known) - len(rows), target)
    classifies = question.task != "regression"
    X = table.rows(chosen.used) if table.features is None else table.features
    train, test, together = split(question, copies, options)
    notices += find_notices(table, chosen, question.y, classifies, copies, together, options.seed)
    choices.append(split_choice(question, train, test, options, together))
    scale, scaling = scale_choice(X, chosen, options.scale, table.features is not None)
    choices.append(scaling)
    return Prepared(
        source, target, question, chosen, rows, X, question.y, train, test, together, scale, choices, notices
    )


def unlabelled(number: int, target: str) -> list[Notice]:
    """What to say of rows without an answer."""
    if not number:
        return []
    return [
        Notice("missing", f"{counted(number, 'row')} without a value in {target} cannot be learned from: left out.")
    ]


def columns_choice(table: Any, chosen: Chosen) -> Choice:
    """Which columns are learned from."""
    if table.features is not None:
        return Choice("columns", f"{table.features.shape[1]:,} features", "a sparse file: all of them")
    what = counted(len(chosen.numbers), "number")
    if chosen.categories:
        kinds = "category" if len(chosen.categories) == 1 else "categories"
        what += f", {len(chosen.categories)} {kinds} (a column of 0 and 1 for each value)"
    if not chosen.left_out:
        return Choice("columns", what, "all columns", "--drop")
    left = listed([f"{column.name} ({column.why})" for column in chosen.left_out], 4)
    return Choice("columns", what, f"left out: {left}", "--keep, --drop")


def split(question: Question, copies: np.ndarray, options: TrainOptions) -> tuple[np.ndarray, np.ndarray, bool]:
    """(training rows, test rows, whether copies of a row are on one side).

    Copies stay together unless most rows are copies: then there are few values to tell rows apart by, and equal rows
    are no accident.
    """
    distinct = len(np.unique(copies))
    if MOSTLY_DISTINCT * len(copies) <= distinct < len(copies):
        return *split_rows(question, copies, True, options), True
    return *split_rows(question, copies, False, options), False


def split_rows(
    question: Question, copies: np.ndarray, together: bool, options: TrainOptions
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the training and of the test rows, classes in equal shares."""
    first = np.unique(copies) if together else np.arange(len(copies))
    labels = question.y[first] if question.task != "regression" else None
    try:
        train, test = train_test_split(first, test_size=options.test_size, stratify=labels, random_state=options.seed)
    except ValueError as error:
        raise InputError(
            f"the rows cannot be split into training and test rows ({error}); change --test-size"
        ) from None
    if together:
        train = np.flatnonzero(np.isin(copies, train))
        test = np.flatnonzero(np.isin(copies, test))
    if labels is not None:
        short = [label for label, number in Counter(question.y[train].tolist()).items() if number < 2]
        gone = set(question.y.tolist()) - set(question.y[train].tolist())
        if short or gone:
            named = listed([str(label) for label in (*short, *gone)])
            raise InputError(
                f"too few different rows of {named} are left to train on; remove or merge such classes, or take a "
                "smaller --test-size"
            )
    return np.sort(train), np.sort(test)


def split_choice(question, train, test, options, together) -> Choice:
    """How rows are split."""
    how = "drawn at random" if question.task == "regression" else "drawn at random, classes in equal shares"
    copies = ", copies of a row together" if together else ""
    why = f"{share(options.test_size)} {how}{copies} (seed {options.seed}); no choice below has seen them"
    return Choice("test set", f"{len(test):,} rows, {len(train):,} to train on", why, "--test-size, --seed")


def scale_choice(X: Any, chosen: Chosen, asked: bool | None, sparse: bool) -> tuple[bool, Choice]:
    """Whether columns are scaled."""
    if asked is not None:
        return asked, Choice("scaling", "unit variance" if asked else "none", "you said so", "--scale, --no-scale")
    if not sparse:
        what = "unit variance" if chosen.numbers else "none"
        why = "machines see distances, and columns should count alike" if chosen.numbers else "there are no numbers"
        return True, Choice("scaling", what, why, "--no-scale")
    small = X.nnz == 0 or float(np.abs(X.data).max()) <= 1.0
    if small:
        return False, Choice("scaling", "none", "all values of this sparse file are within -1 and 1", "--scale")
    return True, Choice("scaling", "unit variance", "values of this sparse file reach beyond 1", "--no-scale")


def encoder_steps(numbers: int, categories: int, sparse: bool, scale: bool) -> list[tuple[str, Any]]:
    """Steps of the pipeline before the machine: columns 0 to ``numbers`` are numbers, categories follow."""
    if sparse:
        return [("scale", StandardScaler(with_mean=False))] if scale else []
    fill: list[tuple[str, Any]] = [("fill", SimpleImputer(strategy="median"))]
    filled = [*fill, ("scale", StandardScaler())] if scale else fill
    if not categories:
        return filled
    encode = Pipeline(
        [
            ("fill", SimpleImputer(strategy="constant", fill_value="missing")),
            ("encode", OneHotEncoder(handle_unknown="ignore", sparse_output=False)),
        ]
    )
    parts: list[tuple[str, Any, list[int]]] = []
    if numbers:
        parts.append(("numbers", Pipeline(filled), list(range(numbers))))
    parts.append(("categories", encode, list(range(numbers, numbers + categories))))
    return [("columns", ColumnTransformer(parts))]
