"""Searches beside GridSearchCV: tables for kernel machines, linear ones, and kernel least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.arena.table import seconds
from benchmarks.report.markdown import table

HEAD = ["set", "search", "time", "ratio", "dropped", "cross-validated", "test"]


def tables(report: dict[str, Any]) -> dict[str, str]:
    """The tables ``selection-kernel``, ``selection-linear`` and so on of what benchmarks.selection wrote."""
    made = {}
    for kind in dict.fromkeys(row["table"] for row in report["rows"]):
        rows = [row for row in report["rows"] if row["table"] == kind]
        ours = {row["set"]: row["seconds"] for row in rows if row["competitor"] == "maxmargin"}
        made[f"selection-{kind}"] = f"{table(HEAD, [_line(row, ours) for row in rows])}\n\n{_means(rows, ours)}"
    return made


def _line(row: dict[str, Any], ours: dict[str, float]) -> list[str]:
    mine = row["competitor"].startswith("maxmargin")
    return [
        row["set"],
        row["competitor"],
        seconds(row["seconds"]),
        "" if mine else f"{row['seconds'] / ours[row['set']]:.1f}",
        f"{row['dropped']} of {row['cells']}" if mine else "",
        f"{row['score']:.4f}",
        f"{row['test']:.4f}",
    ]


def _means(rows: list[dict[str, Any]], ours: dict[str, float]) -> str:
    """Geometric means of the ratios, competitor by competitor."""
    said = []
    for name in dict.fromkeys(row["competitor"] for row in rows if not row["competitor"].startswith("maxmargin")):
        ratios = [row["seconds"] / ours[row["set"]] for row in rows if row["competitor"] == name]
        mean = float(np.exp(np.mean(np.log(ratios))))
        said.append(f"{name}: {mean:.1f}, least {min(ratios):.1f}")
    return f"Geometric means of the ratios: {'; '.join(said)}."
