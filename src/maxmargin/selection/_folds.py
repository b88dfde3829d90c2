"""Folds of a search: scikit-learn's splitters, checked."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv

from maxmargin._types import Array, IntArray
from maxmargin.estimators.interface import Machine, levels_to_caller

#: Characters of ``cv`` in a message.
LONG = 100


class Fold(NamedTuple):
    """Rows to train on and rows held out."""

    train: IntArray
    held: IntArray


def _numbers(rows: Any) -> IntArray:
    """Row numbers, also of a mask."""
    rows = np.asarray(rows)
    return np.flatnonzero(rows) if rows.dtype == bool else rows


def make_folds(machine: Machine, cv: Any, X: Any, y: Array, groups: Any, kept: IntArray) -> list[Fold]:
    """The splits that ``cv`` makes of all rows, without those that do not count (of weight 0)."""
    splitter, named = check_cv(cv, y, classifier=is_classifier(machine)), repr(cv)
    named = named if len(named) <= LONG else f"{named[:LONG]}..."
    counts = np.zeros(len(y), dtype=bool)
    counts[kept] = True
    folds = []
    for number, (train, held) in enumerate(splitter.split(X, y, groups)):
        train, held = _numbers(train), _numbers(held)
        fold = Fold(train[counts[train]], held[counts[held]])
        if len(fold.train) == 0 or len(fold.held) == 0:
            empty = "train on" if len(fold.train) == 0 else "score"
            raise ValueError(f"fold {number} of cv={named} has no row of positive weight to {empty}; use fewer folds")
        if is_classifier(machine) and len(np.unique(y[fold.train])) < 2:
            raise ValueError(
                f"the training rows of fold {number} of cv={named} are all of class {y[fold.train[0]]}; "
                "use fewer or shuffled folds, for example StratifiedKFold"
            )
        if is_classifier(machine) and len(missing := np.setdiff1d(y[fold.held], y[fold.train])):
            warnings.warn(
                f"fold {number} holds out rows of class {', '.join(map(str, missing))} and trains on none of them, so "
                "that they count as wrong. Use fewer or shuffled folds, for example StratifiedKFold",
                UserWarning,
                stacklevel=levels_to_caller(),
            )
        folds.append(fold)
    if not folds:
        raise ValueError(f"cv={named} makes no split of {len(y)} rows; give at least one")
    return folds
