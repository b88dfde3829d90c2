"""What a model keeps of its cross-validation."""

from __future__ import annotations

from typing import Any, NamedTuple

from maxmargin._types import FloatArray, IntArray


class Basis(NamedTuple):
    """Training rows that a model predicts with."""

    rows: IntArray
    vectors: Any


#: The number of the rows of a fold that there was no time for.
NOT_FITTED = -2


class FoldModels(NamedTuple):
    """The models of a cross-validation, each fitted without the rows of its fold."""

    number: IntArray  # the fold of every row that counts; -1: in none; NOT_FITTED: in one that was not fitted
    coef: Any  # per fold, what the family keeps
    intercept: FloatArray  # (folds, tasks)


class FoldTables(NamedTuple):
    """Coefficients of all folds' machines on the rows that any of them uses."""

    support: Basis
    label: IntArray  # of these rows
    tables: FloatArray  # (folds, lines, rows), as the scheme packs them
