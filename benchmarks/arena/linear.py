"""Linear machines: what their problem is, and how good the weights are that somebody delivers for it.

For two classes, and for every class against the rest beyond two,

    min over w (and b)  P(w, b) = 1/2 ||w||^2 + C sum_i max(0, 1 - t_i (w . x_i + b))^k,

k = 1 in ``linear-hinge``, 2 in ``linear-squared-hinge``; ``fit_intercept=False`` leaves b out. Peers deliver weights
and no dual variables, so that all are judged alike: by P, computed here from its definition, against a proven bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

TASKS = ("linear-hinge", "linear-squared-hinge")
POWER = {"linear-hinge": 1, "linear-squared-hinge": 2}
LOSS = {"linear-hinge": "hinge", "linear-squared-hinge": "squared_hinge"}
BLOCK = 2**23  # values of X, or scores, that are in float64 at a time
ROUNDING = 1e-10  # an objective this far below its bound, relatively, is one that rounding put there


def is_linear(task: str) -> bool:
    """Whether a task has a linear machine's problem."""
    return task in TASKS


def signs(y: np.ndarray) -> np.ndarray:
    """(n, tasks) targets -1 and +1: the larger of two labels against the other, or each against the rest."""
    classes = np.unique(y)
    positive = classes[1:] if len(classes) == 2 else classes
    return np.where(np.asarray(y)[:, None] == positive, 1.0, -1.0)


def objective(
    X: Any, y: np.ndarray, coef: np.ndarray, intercept: np.ndarray, C: float, power: int
) -> np.ndarray:  # (tasks,)
    """P of every task, in float64."""
    W = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    target = signs(y)
    if W.shape != (target.shape[1], X.shape[1]):
        raise ValueError(
            f"weights of {target.shape[1]} tasks and {X.shape[1]} columns expected, not of shape {W.shape}"
        )
    loss = np.zeros(len(W))
    for rows in _blocks(X, len(W)):
        f = X[rows].astype(np.float64) @ W.T + intercept
        loss += (np.maximum(0.0, 1.0 - target[rows] * f) ** power).sum(axis=0)
    return 0.5 * np.square(W).sum(axis=1) + C * loss


def _blocks(X: Any, tasks: int) -> Iterator[slice]:
    stored = X.shape[1] if isinstance(X, np.ndarray) else X.nnz // max(1, X.shape[0])
    height = max(1, BLOCK // max(1, stored, tasks))
    for first in range(0, X.shape[0], height):
        yield slice(first, first + height)


def gaps(primal: np.ndarray, dual: np.ndarray) -> np.ndarray:
    """(P - D) / max(|P|, |D|) of every task."""
    size = np.maximum(np.maximum(np.abs(primal), np.abs(dual)), np.finfo(float).tiny)
    return (primal - dual) / size


def judge(model: Any, X: Any, y: np.ndarray, task: str, params: dict[str, Any], dual: list[float]) -> dict[str, Any]:
    """The worst relative gap over the tasks of a fitted model, given lower bounds `dual` of their objectives."""
    intercept = np.asarray(model.intercept_, dtype=np.float64) if params["fit_intercept"] else np.zeros(1)
    primal = objective(X, y, model.coef_, intercept, params["C"], POWER[task])
    found = gaps(primal, np.asarray(dual))
    proven = bool(found.min() >= -ROUNDING)
    reason = "" if proven else f"an objective is {-found.min():.0e} below its bound, relatively: the bound is wrong"
    return {"gap": float(max(0.0, found.max())), "kkt": None, "holds": proven, "reason": reason}
