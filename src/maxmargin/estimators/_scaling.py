"""Scaling of features: centred, divided by their weighted standard deviation, remembered with the model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._types import FloatArray, RowData
from maxmargin._validation import Scaling, row_blocks, scaled
from maxmargin.backends import Design
from maxmargin.estimators._caller import levels_to_caller

__all__ = ["fitted_scaling", "require_finite", "scaled", "warn_of_unequal_columns"]

#: Ratio of the largest to the smallest size of a column from which on the user is told.
VERY_UNEQUAL = 1e5
#: Columns named in that warning.
NAMED = 5


def fitted_scaling(X: RowData, weight: FloatArray) -> Scaling:
    """Weighted means (0 for sparse rows, which would no longer be sparse) and standard deviations; constants keep 1."""
    share = weight / weight.sum()
    if sp.issparse(X):
        center = np.zeros(X.shape[1])
        mean = np.asarray(X.T @ share).ravel()
        variance = np.asarray(X.multiply(X).T @ share).ravel() - mean**2
    else:
        center = mean = sum(share[rows] @ X[rows].astype(np.float64) for rows in row_blocks(X))
        with np.errstate(over="ignore"):
            variance = sum(share[rows] @ np.square(X[rows] - center) for rows in row_blocks(X))
    require_finite(variance)
    lost = 64 * np.finfo(X.dtype).eps if sp.issparse(X) else 1e-20  # a difference of squares, or a sum of them
    constant = variance <= lost * np.maximum(mean**2, 1e-300)
    return Scaling(center, np.where(constant, 1.0, np.sqrt(np.maximum(variance, 0.0))))


def require_finite(sizes: FloatArray) -> None:
    """Refuse columns whose squares are too large for a float."""
    too_large = np.flatnonzero(~np.isfinite(sizes))
    if len(too_large):
        shown = ", ".join(map(str, too_large[:NAMED])) + (", ..." if len(too_large) > NAMED else "")
        raise ValueError(f"the squares of the values in columns {shown} of X are not finite; scale them down first")


def warn_of_unequal_columns(design: Design, names: Any = None) -> None:
    """Name the columns whose values are smaller or larger than the others' by orders of magnitude."""
    sums, counts = design.column_sums
    size = np.sqrt(sums / np.maximum(counts, 1.0))
    used = np.flatnonzero((size > 0) & np.isfinite(size))
    if len(used) < 2 or size[used].max() <= VERY_UNEQUAL * size[used].min():
        return
    away = np.abs(np.log(size[used]) - np.median(np.log(size[used])))
    worst = used[np.argsort(-away, kind="stable")[:NAMED]]
    shown = ", ".join(f"{names[j] if names is not None else j} ({size[j]:.1e})" for j in sorted(worst))
    warnings.warn(
        f"the columns of X differ in size by a factor of {size[used].max() / size[used].min():.0e}; furthest off are "
        f"{shown}. The penalty weighs them accordingly; scale=True gives all columns the same say.",
        UserWarning,
        stacklevel=levels_to_caller(),
    )
