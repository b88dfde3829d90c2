"""Checks of what a user hands to a display; every error says what was wrong, the value and the way out."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline


def final_step(model: Any) -> Any:
    """The machine at the end of a pipeline, or the model itself."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def before_last(model: Any, X: Any) -> Any:
    """Rows as they reach the machine at the end of a pipeline."""
    return model[:-1].transform(X) if isinstance(model, Pipeline) and len(model) > 1 else X


def require_fitted(model: Any, attribute: str, why: str) -> Any:
    """A fitted attribute, or an error that says what it is needed for."""
    machine = final_step(model)
    if not hasattr(machine, attribute):
        raise ValueError(f"{type(machine).__name__} has no {attribute}: {why}")
    return getattr(machine, attribute)


def points(X: Any, what: str = "X") -> NDArray[np.float64]:
    """Rows of finite numbers as a dense array of two dimensions."""
    dense = X.toarray() if sp.issparse(X) else np.asarray(X)
    if dense.dtype.kind not in "biuf":
        try:
            dense = dense.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{what} must be numbers to be drawn; got values of type {dense.dtype}") from None
    if dense.ndim != 2:
        raise ValueError(f"{what} must have two dimensions, (rows, columns); got shape {dense.shape}")
    if len(dense) == 0:
        raise ValueError(f"{what} has no rows; there is nothing to draw")
    if not np.isfinite(dense).all():
        raise ValueError(f"{what} holds NaN or infinity; leave those rows out")
    return dense.astype(np.float64, copy=False)


def labels(y: Any, n: int, rows: str = "X") -> NDArray[Any]:
    """One label per row."""
    found = np.asarray(y)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1 or len(found) != n:
        raise ValueError(f"y must have one label for each of the {n} rows of {rows}; got shape {found.shape}")
    return found


def column_names(X: Any, fallback: str) -> list[str]:
    """Names of the columns of a data frame, or numbered ones."""
    count = X.shape[1] if hasattr(X, "shape") else len(X[0])
    names = getattr(X, "columns", None)
    return [str(name) for name in names] if names is not None else [f"{fallback} {k}" for k in range(1, count + 1)]


def task_names(model: Any, count: int) -> list[str]:
    """What each of a classifier's tasks tells apart; numbers where the model does not say."""
    machine = final_step(model)
    classes, scheme = getattr(machine, "classes_", None), getattr(machine, "multiclass_", "ovo")
    if count == 1 or classes is None:
        names = [f"task {k + 1}" for k in range(count)]
    elif scheme == "ovo":
        names = [f"{a} against {b}" for a, b in combinations(classes, 2)]
    elif scheme == "ovr":
        names = [f"{a} against the rest" for a in classes]
    else:
        names = [f"bit {k + 1}" for k in range(count)]
    return names if len(names) == count else [f"task {k + 1}" for k in range(count)]
