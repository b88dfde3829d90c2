"""Which training rows a picture marks, and how: by their status, or as support vectors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.inspection import STATUSES, status, tolerance
from maxmargin.plotting._input import before_last, final_step, points
from maxmargin.plotting._style import INK

SUPPORT, WRONG = "support vectors", "misclassified"
IDLE, STRIP, ODD = STATUSES[0], STATUSES[3], STATUSES[-1]
RING = {"facecolors": "none", "edgecolors": INK}
#: Keywords of ``scatter`` by status; rows without a mark are those that the solution would not miss.
MARKS: dict[str, dict[str, Any]] = {
    "on the margin": {**RING, "s": 95, "linewidths": 1.7},
    "bound, on the margin": {**RING, "s": 85, "linewidths": 1.3, "marker": "s"},
    "inside the strip": {**RING, "s": 58, "linewidths": 0.8},
    "on the hyperplane": {"color": INK, "s": 70, "linewidths": 1.4, "marker": "+"},
    WRONG: {"color": INK, "s": 75, "linewidths": 1.3, "marker": "x", "zorder": 2.5},  # its arms show around the point
    ODD: {"facecolors": "none", "edgecolors": "#b83280", "s": 85, "linewidths": 1.2, "marker": "D"},
    SUPPORT: {**RING, "s": 60, "linewidths": 0.7},
}
#: Share of the rows that may be 'not optimal' before statuses say more about the fit than about the rows.
MOST_ODD = 0.02


class Marked(NamedTuple):
    """Rows that are marked alike."""

    status: str
    rows: NDArray[Any]


def marked_rows(model: Any, X: Any, y: Any, sample_weight: Any, support: str) -> list[Marked]:
    """Rows by status, as ``support`` asks ('auto': as far as the model and the rows can tell)."""
    machine, rows = final_step(model), before_last(model, X)
    if support == "none":
        return []
    if support == "all":
        return [Marked(SUPPORT, _support(machine, rows))]
    try:
        if len(getattr(model, "classes_", ())) != 2:
            return [Marked(SUPPORT, _support(machine, rows)), *_wrong(model, X, y)]
        found = _by_status(machine, rows, y, sample_weight)
        sizes = {mark.status: len(mark.rows) for mark in found}
        if support == "status" or sizes[ODD] <= MOST_ODD * sum(sizes.values()):
            return found
    except (TypeError, ValueError):  # a loss without slack, no dual variables, or not the training rows
        if support == "status":
            raise
    return _wrong(model, X, y)


def _by_status(machine: Any, rows: Any, y: Any, sample_weight: Any) -> list[Marked]:
    found = status(machine, rows, y, sample_weight).status
    return [Marked(name, np.flatnonzero(found == name)) for name in (*STATUSES[1:], IDLE)]


def _wrong(model: Any, X: Any, y: Any) -> list[Marked]:
    """What can be said about any rows of a classifier: which are misclassified and, with two classes, in the strip."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return []
    y = np.asarray(y).ravel()
    if len(classes) > 2:
        return [Marked(WRONG, np.flatnonzero(np.asarray(model.predict(X)) != y))]
    margin = np.where(y == classes[1], 1.0, -1.0) * np.asarray(model.decision_function(X))
    short = margin < 1.0 - _tolerance(model, X)  # rows on the margin are not inside the strip
    return [Marked(STRIP, np.flatnonzero((margin > 0) & short)), Marked(WRONG, np.flatnonzero(margin <= 0))]


def _tolerance(model: Any, X: Any) -> Any:
    """How near counts as on the margin; 0 for machines that inspection does not read."""
    try:
        return tolerance(final_step(model), before_last(model, X))
    except (TypeError, ValueError):
        return 0.0


def _support(machine: Any, rows: Any) -> NDArray[Any]:
    """Numbers of the support vectors among the training rows."""
    name = type(machine).__name__
    if not hasattr(machine, "support_"):
        raise ValueError(f"{name} keeps no support vectors; draw its decisions with support='none'")
    support, n = np.asarray(machine.support_), rows.shape[0] if hasattr(rows, "shape") else len(rows)
    known = int(np.max(support, initial=-1)) < n and getattr(machine, "shape_fit_", (n,))[0] == n
    vectors = getattr(machine, "support_vectors_", None)
    if known and vectors is not None:
        known = np.allclose(points(rows)[support], points(vectors) if len(support) else 0.0, rtol=1e-5, atol=0.0)
    if not known:
        raise ValueError(
            f"the support vectors of {name} are not among the rows of X: pass the training rows, in the same order, or "
            "draw other rows with support='none'"
        )
    return support
