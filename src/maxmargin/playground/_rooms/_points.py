"""What every point is to a fitted machine: status, zone, dual variable and slack."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.inspection import STATUSES, ZONES, status, zones

#: Scores that differ by less than this, relative to the sum of |coefficients|, are equal but for rounding.
NOISE = 1e-11
#: Of a point or a task that has no status or zone.
NONE = 255
#: Places in STATUSES.
SLACK, WRONG, ODD = 3, 5, 6
#: What the page calls the statuses.
NAMES = {
    "classify": STATUSES,
    "regress": ("inside the tube", "on the tube", "bound, on the tube", "outside the tube", "", "", "not optimal"),
    "one-class": ("inside", "on the border", "bound, on the border", "outside", "", "", "not optimal"),
}
#: What a point is to several machines together: see :func:`_parts`.
PARTS = ("not a support vector", "on a margin", "bound, on a margin", "with slack", "", "misclassified", "not optimal")
#: The same where no optimum is: by the zone.
BY_ZONE = ("beyond its margin", "on its margin", "", "inside the strip", "on the hyperplane", "misclassified", "")
#: And of a perceptron.
BY_SIDE = ("right", "", "", "", "", "misclassified", "")


def point_facts(model: Any, task: str, X: np.ndarray, y: np.ndarray | None, tol: float | None) -> dict[str, np.ndarray]:
    """Arrays of shape (n,), or (n, tasks) with more than one task; what a machine cannot say is left out.

    ``tol`` takes the place of inspection's own tolerance.
    """
    facts: dict[str, np.ndarray] = {}
    if task == "classify":
        facts = {"wrong": (model.predict(X) != y).astype(np.uint8), **_zones(model, X, y, tol)}
    try:
        found = status(model, X, y, tol=tol)
    except TypeError:  # a perceptron, and kernel machines that learn online: no optimum, no statuses
        return {**facts, **_without_status(model, X, y, facts)}
    code = _codes(found.status, STATUSES)
    code[found.status == "outside"] = SLACK
    facts["status"] = code
    facts |= {"alpha": found.alpha.astype(np.float32), "slack": found.slack.astype(np.float32)}
    used = np.nan_to_num(found.alpha).reshape(len(X), -1) > 0
    facts["support"] = np.asarray(used.any(axis=1), dtype=np.uint8)
    if code.ndim == 2:
        facts["part"] = _parts(code, facts["wrong"])
    return facts


def _parts(code: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """One status of a point for the statuses that it has in several tasks: the hardest.

    Slack is slack, on whichever side; 'misclassified' are the points that all machines together put in another class.
    """
    hardest = np.where(code == NONE, 0, code).max(axis=1)
    found = np.where(hardest == ODD, ODD, np.minimum(hardest, SLACK))
    return np.where(wrong == 1, WRONG, found).astype(np.uint8)


def _without_status(model: Any, X: np.ndarray, y: Any, facts: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What is known of points where no optimum is: their zone, and of kernel machines who holds the boundary."""
    found = {}
    if hasattr(model, "support_"):
        found["support"] = _support(model, len(X))
    if hasattr(model, "mistakes_"):  # a perceptron knows right and wrong, no margin
        return {**found, "part": np.where(facts["wrong"] == 1, WRONG, 0).astype(np.uint8)}
    if "zone" not in facts:
        return found
    alpha, margin = np.zeros(len(X)), _margin(model, X, y)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    part = np.array([0, 1, SLACK, 4, WRONG, WRONG, WRONG], dtype=np.uint8)[facts["zone"]]
    slack = np.maximum(0.0, 1.0 - margin)
    return {**found, "part": part, "alpha": alpha.astype(np.float32), "slack": slack.astype(np.float32)}


def part_names(model: Any) -> tuple[str, ...]:
    """What the numbers of a point's part stand for."""
    if hasattr(model, "mistakes_"):
        return BY_SIDE
    return BY_ZONE if type(model).__name__ == "KernelPegasosSVC" else PARTS


def without_noise(model: Any, scores: np.ndarray) -> np.ndarray:
    """Scores of a kernel machine; where w is 0 but for rounding, one and the same for all."""
    noise = NOISE * float(np.abs(getattr(model, "dual_coef_", 0.0)).sum())
    if not hasattr(model, "kernel") or np.ptp(scores) > noise:
        return scores
    level = float(np.median(scores))
    return np.full_like(scores, level if abs(level) > noise else 0.0)


def task_names(model: Any, X: np.ndarray, y: np.ndarray | None) -> tuple[str, ...]:
    """What the columns of the facts of many classes stand for."""
    try:
        return status(model, X, y).tasks
    except TypeError:
        return ()


def _margin(model: Any, X: np.ndarray, y: Any) -> np.ndarray:
    """t f(x) of two classes."""
    return np.where(y == model.classes_[1], 1.0, -1.0) * model.decision_function(X)


def _zones(model: Any, X: np.ndarray, y: Any, tol: float | None) -> dict[str, np.ndarray]:
    try:
        return {"zone": _codes(zones(model, X, y, tol), ZONES)}
    except TypeError:
        if len(model.classes_) > 2:
            return {}
    # inspection does not read kernel machines that learn online; their scores say as much
    margin = _margin(model, X, y)
    code = np.select([margin > 1, margin > 0, margin > -1], [0, 2, 4], 6)
    return {"zone": code.astype(np.uint8)}


def tube_of(model: Any, X: np.ndarray, y: np.ndarray | None) -> float:
    """Half the width of a regressor's tube; nu-SVR chooses its own, on which its unbound support vectors lie."""
    if hasattr(model, "epsilon"):
        return float(model.epsilon)
    residual, found = np.abs(y - model.predict(X)), status(model, X, y).status
    if (found == STATUSES[1]).any():
        return float(np.median(residual[found == STATUSES[1]]))
    return float(residual[model.support_].min(initial=0.0))


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
