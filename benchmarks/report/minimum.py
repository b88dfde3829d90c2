"""The least work: kernel values between rows and support vectors, at the computer's rate, beside our fit time.

Whoever is to know the scores of a solution needs these values once: rows times support vectors, over all pairs of
classes. A value is taken to cost what our fused tile takes for the features of the case, dense or sparse, whichever
is less.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.arena.row import Row
from benchmarks.arena.table import OURS, seconds
from benchmarks.report.markdown import table
from benchmarks.report.results import by_goal


def rate(computer: dict[str, Any], shape: dict[str, float]) -> tuple[float, str]:
    """ns per kernel value of rows of this shape, and how they are stored: 'dense' or 'sparse'."""
    dense = _between(computer["dense"], shape["columns"])
    if shape["features"] > shape["columns"] / 2:
        return dense, "dense"
    return min((dense, "dense"), (_between(computer["sparse"], shape["features"]), "sparse"))


def _between(rates: dict[str, float], features: float) -> float:
    """Straight lines between the measured points; beyond them in proportion above, the first point's rate below."""
    x = np.array(sorted(map(float, rates)))
    t = np.array([rates[str(int(value))] for value in x])
    if features > x[-1]:
        return float(t[-1] * features / x[-1])
    return float(np.interp(features, x, t))


def least_work(reports: list[dict[str, Any]], computer: dict[str, Any]) -> str:
    """The table, at the first goal."""
    blocks = next(iter(by_goal(reports).values()), [])
    ours = [row for rows in blocks for row in rows if row.competitor == OURS]
    head = [
        "case",
        "rows",
        "support vectors",
        "kernel values",
        "features",
        "ns per value",
        "least",
        "fit",
        "fit / least",
    ]
    return table(head, [_line(row, computer) for row in ours if row.values and row.fit and row.shape])


def _line(row: Row, computer: dict[str, Any]) -> list[str]:
    ns, stored = rate(computer, row.shape)
    assert row.values is not None
    assert row.fit is not None
    least = 1e-9 * ns * row.values
    features = row.shape["features" if stored == "sparse" else "columns"]
    sizes = [f"{row.shape['rows']:.0f}", str(row.support), f"{row.values:.2e}", f"{features:.0f} {stored}"]
    return [row.case, *sizes, f"{ns:.2f}", seconds(least), seconds(row.fit), f"{row.fit / least:.1f}"]
