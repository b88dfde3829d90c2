"""Folds of a search: scikit-learn's splitters, checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv

from maxmargin._types import Array, IntArray


class Fold(NamedTuple):
    """Rows to train on and rows held out."""

    train: IntArray
    held: IntArray


def make_folds(machine: Any, cv: Any, X: Any, y: Array, groups: Any, kept: IntArray) -> list[Fold]:
    """The splits that ``cv`` makes of all rows, without those that do not count (of weight 0)."""
    splitter = check_cv(cv, y, classifier=is_classifier(machine))
    counts = np.zeros(len(y), dtype=bool)
    counts[kept] = True
    folds = []
    for number, (train, held) in enumerate(splitter.split(X, y, groups)):
        train, held = np.asarray(train), np.asarray(held)
        fold = Fold(train[counts[train]], held[counts[held]])
        if len(fold.train) == 0 or len(fold.held) == 0:
            empty = "train on" if len(fold.train) == 0 else "score"
            raise ValueError(f"fold {number} of cv={cv!r} has no row of positive weight to {empty}; use fewer folds")
        if is_classifier(machine) and len(np.unique(y[fold.train])) < 2:
            raise ValueError(
                f"the training rows of fold {number} of cv={cv!r} are all of class {y[fold.train[0]]!r}; "
                "use fewer or shuffled folds, for example StratifiedKFold"
            )
        folds.append(fold)
    if not folds:
        raise ValueError(f"cv={cv!r} makes no split of {len(y)} rows; give at least one")
    return folds
