"""Many classes and probabilities beside scikit-learn's wrappers: one table each."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.arena.table import seconds
from benchmarks.report.markdown import table


def tables(report: dict[str, Any]) -> dict[str, str]:
    """The tables ``one-vs-all`` and ``probabilities`` of what benchmarks.classes wrote."""
    made = {}
    for name, head, cells in (
        ("one-vs-all", ["set", "machine", "fit", "ratio", "gap", "right"], _proof),
        ("probabilities", ["set", "machine", "fit", "ratio", "log loss", "Brier", "right"], _proper),
    ):
        rows = [row for row in report["rows"] if row["table"] == name]
        if rows:
            ours = {
                row["set"] + _kind(row): row["seconds"] for row in rows if row["competitor"].startswith("maxmargin")
            }
            ratios = [row["seconds"] / ours[row["set"] + _kind(row)] for row in rows]
            lines = [_line(row, ratio, cells(row)) for row, ratio in zip(rows, ratios, strict=True)]
            others = [r for row, r in zip(rows, ratios, strict=True) if not row["competitor"].startswith("maxmargin")]
            mean = float(np.exp(np.mean(np.log(others))))
            made[name] = f"{table(head, lines)}\n\nGeometric mean of the ratios: {mean:.1f}; least: {min(others):.1f}."
    return made


def _kind(row: dict[str, Any]) -> str:
    """What sides must have in common to be compared: the calibration."""
    words = row["competitor"].split(", ")
    return words[1] if row["table"] == "probabilities" else ""


def _line(row: dict[str, Any], ratio: float, more: list[str]) -> list[str]:
    ours = row["competitor"].startswith("maxmargin")
    return [row["set"], row["competitor"], seconds(row["seconds"]), "" if ours else f"{ratio:.1f}", *more]


def _proof(row: dict[str, Any]) -> list[str]:
    return [f"{row['gap']:.0e}", f"{row['score']:.4f}"]


def _proper(row: dict[str, Any]) -> list[str]:
    return [f"{row['log_loss']:.4f}", f"{row['brier']:.4f}", f"{row['score']:.4f}"]
