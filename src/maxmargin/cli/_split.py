"""Which rows are tested on, and how the others are folded: at random, later rows after earlier ones, or by groups."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    train_test_split,
)

from maxmargin.cli._errors import InputError
from maxmargin.cli._options import TrainOptions
from maxmargin.cli._print import listed, share
from maxmargin.io import Table
from maxmargin.report import Choice, Notice

#: Copies of rows are kept together if at least this share of the rows differ.
MOSTLY_DISTINCT = 0.5


class Split(NamedTuple):
    """Numbers of the rows to train and to test on, and what keeps folds apart."""

    train: np.ndarray
    test: np.ndarray
    how: Literal["random", "copies", "time", "group", "file"]
    keys: np.ndarray | None = None  # of all rows: their time, or the number of their group

    def folds(self, rows: np.ndarray, y: np.ndarray, classifies: bool, options: TrainOptions) -> list[Any]:
        """(training, held-out) pairs of numbers into ``rows``, some of the training rows; ``y`` are their answers."""
        keys = None if self.keys is None else self.keys[self.train[rows]]
        return folds_of(self.how, keys, y, classifies, options)


def folds_of(how: str, keys: Any, y: np.ndarray, classifies: bool, options: TrainOptions) -> list[Any]:
    """Folds of some rows; classes with few rows mean fewer of them."""
    seed, rarest = options.seed, int(np.unique(y, return_counts=True)[1].min()) if classifies else len(y)
    count = max(2, min(options.folds, rarest))
    nothing = np.zeros(len(y))
    if how == "time":
        order = np.argsort(keys, kind="stable")
        pairs = [(order[train], order[held]) for train, held in TimeSeriesSplit(count).split(nothing)]
        known = [len(np.unique(y[train])) == len(np.unique(y)) for train, _ in pairs]
        useful = [pair for pair, good in zip(pairs, known, strict=True) if good or not classifies]
        return useful or pairs[-1:]
    if how == "group":
        count = max(2, min(count, len(np.unique(keys))))
        grouped = StratifiedGroupKFold(count, shuffle=True, random_state=seed) if classifies else GroupKFold(count)
        return list(grouped.split(nothing, y, keys))
    plain = StratifiedKFold if classifies else KFold
    return list(plain(count, shuffle=True, random_state=seed).split(nothing, y))


def split(table: Table, y: np.ndarray, classifies: bool, copies: np.ndarray, options: TrainOptions) -> Split:
    """Rows to train and to test on, as asked; at random if nothing is asked.

    Copies stay together unless most rows are copies: then there are few values to tell rows apart by, and equal rows
    are no accident.
    """
    if options.time_column is not None:
        found = by_time(times_of(table, options.time_column), options)
    elif options.group is not None:
        found = by_group(groups_of(table, options.group), y, options)
    else:
        distinct = len(np.unique(copies))
        together = MOSTLY_DISTINCT * len(copies) <= distinct < len(copies)
        found = at_random(y, classifies, copies, together, options)
    if classifies:
        check_classes(y, found.train)
    return found


def times_of(table: Table, name: str) -> np.ndarray:
    """A number for every row that grows with time."""
    column = f"{name}: days" if f"{name}: days" in table else name
    if column not in table or table.kind(column) != "number":
        what = "is neither dates nor numbers" if name in table else f"is no column; there are {listed(table.names, 20)}"
        raise InputError(f"{table.path}: --time-column {name!r} {what}")
    gaps = int(np.count_nonzero(~table.known(column)))
    if gaps:
        raise InputError(f"{table.path}: --time-column {name!r} has no value in {gaps:,} rows; remove them first")
    return np.asarray(table[column])


def groups_of(table: Table, name: str) -> np.ndarray:
    """The number of every row's group."""
    if name not in table:
        raise InputError(f"{table.path}: --group {name!r} is no column; there are {listed(table.names, 20)}")
    numbers = np.unique(np.array([str(value) for value in table[name]]), return_inverse=True)[1]
    if numbers.max() < 2:
        raise InputError(f"{table.path}: --group {name!r} has {numbers.max() + 1} groups; it takes three to split by")
    return np.asarray(numbers)


def by_time(times: np.ndarray, options: TrainOptions) -> Split:
    """The latest rows are tested on; rows of one moment stay on one side."""
    cut = np.quantile(times, 1.0 - options.test_size, method="lower")
    train, test = np.flatnonzero(times <= cut), np.flatnonzero(times > cut)
    if not len(test) or not len(train):
        raise InputError("--time-column has too few different times to split by; take another --test-size")
    return Split(train, test, "time", times)


def by_group(groups: np.ndarray, y: np.ndarray, options: TrainOptions) -> Split:
    """Whole groups are tested on."""
    splitter = GroupShuffleSplit(1, test_size=options.test_size, random_state=options.seed)
    train, test = next(splitter.split(np.zeros(len(y)), y, groups))
    return Split(np.sort(train), np.sort(test), "group", groups)


def at_random(y: np.ndarray, classifies: bool, copies: np.ndarray, together: bool, options: TrainOptions) -> Split:
    """Drawn at random, classes in equal shares."""
    first = np.unique(copies) if together else np.arange(len(copies))
    labels = y[first] if classifies else None
    try:
        train, test = train_test_split(first, test_size=options.test_size, stratify=labels, random_state=options.seed)
    except ValueError as error:
        raise InputError(
            f"the rows cannot be split into training and test rows ({error}); change --test-size"
        ) from None
    if together:
        train = np.flatnonzero(np.isin(copies, train))
        test = np.flatnonzero(np.isin(copies, test))
    return Split(np.sort(train), np.sort(test), "copies" if together else "random")


def check_classes(y: np.ndarray, train: np.ndarray) -> None:
    """InputError where a class has too few rows left to train on."""
    short = [label for label, number in Counter(y[train].tolist()).items() if number < 2]
    gone = set(y.tolist()) - set(y[train].tolist())
    if short or gone:
        named = listed([str(label) for label in (*short, *gone)])
        raise InputError(
            f"too few different rows of {named} are left to train on; remove or merge such classes, or take a "
            "smaller --test-size"
        )


def split_choice(found: Split, classifies: bool, options: TrainOptions) -> Choice:
    """How rows are split."""
    what = f"{len(found.test):,} rows, {len(found.train):,} to train on"
    part, unseen = share(options.test_size), "no choice below has seen them"
    if found.how == "file":
        return Choice("test set", what, f"the rows of {options.test}; {unseen}", "--test")
    if found.how == "time":
        why = f"the latest {part} by {options.time_column}; folds are tested on rows after those they learn from"
        return Choice("test set", what, f"{why}; {unseen}", "--time-column, --test-size")
    if found.how == "group":
        why = f"about {part}, whole groups of {options.group}, in folds too (seed {options.seed})"
        return Choice("test set", what, f"{why}; {unseen}", "--group, --test-size, --seed")
    how = "drawn at random, classes in equal shares" if classifies else "drawn at random"
    copies = ", copies of a row together" if found.how == "copies" else ""
    return Choice("test set", what, f"{part} {how}{copies} (seed {options.seed}); {unseen}", "--test-size, --seed")


def in_order(table: Table, dates: Any, options: TrainOptions) -> list[Notice]:
    """What to say where the rows of a file stand in the order of a date and are split at random."""
    if options.time_column or options.group or options.test:
        return []
    for name in dates:
        days = table[f"{name}: days"]
        if np.isfinite(days).all() and (np.diff(days) >= 0).all() and days[0] < days[-1]:
            text = (
                f"The rows are in the order of {name}. If the model is to answer for the future, a test on rows drawn "
                f"at random is too kind: --time-column {name!r} tests on the latest rows and learns from earlier ones."
            )
            return [Notice("time", text)]
    return []
