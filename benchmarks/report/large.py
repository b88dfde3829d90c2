"""Machines beyond the Gram matrix."""

from __future__ import annotations

from typing import Any

from benchmarks.arena.table import seconds
from benchmarks.report.markdown import table


def tables(found: dict[str, Any]) -> dict[str, str]:
    """One table, ``large``."""
    head = ["set", "rows", "machine", "fit", "gap or residual", "right", "linear SVM", "memory", "goal"]
    return {"large": table(head, [_line(row) for row in found["rows"]])}


def _line(row: dict[str, Any]) -> list[str]:
    off = "none" if row["off"] != row["off"] else f"{row['off']:.1e}"
    return [
        row["set"],
        f"{row['rows']:,}",
        row["name"],
        seconds(row["seconds"]),
        off,
        f"{row['accuracy']:.2%}",
        f"{row['linear']:.2%}",
        f"{row['megabytes']:,.0f} MB",
        row["goal"],
    ]
