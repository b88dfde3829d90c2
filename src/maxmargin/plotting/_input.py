"""Checks of a display's input; every error says what was wrong, the value received, and what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from maxmargin.delivered import machine_of, read


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
    """What each task of a model asks; numbers where there are not as many tasks as names."""
    machine = final_step(model)
    names = read(machine).names if machine_of(machine) is not None else []
    return names if len(names) == count else numbered_tasks(count)


def numbered_tasks(count: int) -> list[str]:
    """Names of tasks of which nothing is known but the numbers that the history gives them."""
    return [f"task {k}" for k in range(count)]
