"""What every point is to a fitted machine: status, zone, dual variable and slack (M2, M3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.inspection import STATUSES, ZONES, status, zones

#: Of a point or a task that has no status or zone.
NONE = 255
#: What inspection says of regressors' and one-class machines' points beyond their bound.
NAMES = {
    "classify": STATUSES,
    "regress": ("inside the tube", "on the tube", "bound, on the tube", "outside the tube", "", "", "not optimal"),
    "one-class": ("inside", "on the border", "bound, on the border", "outside", "", "", "not optimal"),
}
#: Slacks and dual variables this near to a bound, relative to it, are there.
NEAR = 1e-3


def point_facts(model: Any, task: str, X: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
    """Arrays of shape (n,), or (n, tasks) with more than two classes; what a machine cannot say is left out."""
    if task != "classify":
        return _one_machine(model, task, X, y)
    facts = {"wrong": (model.predict(X) != y).astype(np.uint8)}
    facts |= _zones(model, X, y)
    try:
        found = status(model, X, y)
    except (TypeError, ValueError):  # a perceptron, or one problem for all classes: there are no statuses
        facts["support"] = _support(model, len(X))
        return facts
    facts["status"] = _codes(found.status, STATUSES)
    facts["alpha"], facts["slack"] = (np.asarray(v, dtype=np.float32) for v in (found.alpha, found.slack))
    facts["support"] = (np.nan_to_num(found.alpha).reshape(len(X), -1) > 0).any(axis=1).astype(np.uint8)
    return facts


def task_names(model: Any, X: np.ndarray, y: np.ndarray | None) -> tuple[str, ...]:
    """What the columns of the facts of many classes stand for."""
    try:
        return status(model, X, y).tasks
    except (TypeError, ValueError):
        return ()


def _zones(model: Any, X: np.ndarray, y: Any) -> dict[str, np.ndarray]:
    try:
        return {"zone": _codes(zones(model, X, y), ZONES)}
    except (TypeError, ValueError):
        if len(model.classes_) > 2:
            return {}
    # inspection does not read kernel machines that learn online; their scores say as much
    margin = np.where(y == model.classes_[1], 1.0, -1.0) * model.decision_function(X)
    code = np.select([margin > 1, margin > 0, margin > -1], [0, 2, 4], 6)
    return {"zone": code.astype(np.uint8)}


def _one_machine(model: Any, task: str, X: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
    """Regressors and one-class machines: alpha from their coefficients, slack from their scores."""
    alpha = np.zeros(len(X))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    if task == "regress":
        tube, most = tube_of(model, X, y), float(model.C)
        short = np.abs(y - model.predict(X)) - tube
    else:
        most = 1.0
        short = -model.decision_function(X)
    scale = max(NEAR, NEAR * float(np.abs(short).max(initial=0.0)))
    idle, bound, on = alpha <= 1e-6 * most, alpha >= (1 - 1e-6) * most, np.abs(short) <= scale
    cases = [idle & (short <= scale), idle, ~bound & on, ~bound, on, short > 0]
    code = np.select(cases, [0, 6, 1, 6, 2, 3], 6).astype(np.uint8)
    return {
        "status": code,
        "alpha": alpha.astype(np.float32),
        "slack": np.maximum(short, 0.0).astype(np.float32),
        "support": (alpha > 0).astype(np.uint8),
    }


def tube_of(model: Any, X: np.ndarray, y: np.ndarray | None) -> float:
    """Half the width of a regressor's tube; nu-SVR chooses its own, on which its unbound support vectors lie."""
    if hasattr(model, "epsilon"):
        return float(model.epsilon)
    residual, alpha = np.abs(y - model.predict(X))[model.support_], np.abs(model.dual_coef_[0])
    free = (alpha > 1e-6 * model.C) & (alpha < (1 - 1e-6) * model.C)
    if free.any():
        return float(np.median(residual[free]))
    return float(residual.min(initial=0.0))


def _codes(names: np.ndarray, order: tuple[str, ...]) -> np.ndarray:
    found = np.full(np.shape(names), NONE, dtype=np.uint8)
    for code, name in enumerate(order):
        found[names == name] = code
    return found


def _support(model: Any, n: int) -> np.ndarray:
    found = np.zeros(n, dtype=np.uint8)
    rows = np.asarray(getattr(model, "support_", []), dtype=np.int64)
    found[rows[(rows >= 0) & (rows < n)]] = 1
    return found
