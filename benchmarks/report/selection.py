"""Searches beside GridSearchCV: tables for kernel machines, everyday sizes, linear machines, kernel least squares."""

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
        shown = _worst_first(rows) if kind == "everyday" else table(HEAD, [_line(row, ours) for row in rows])
        made[f"selection-{kind}"] = f"{shown}\n\n{_means(rows, ours)}"
    return made


def _worst_first(rows: list[dict[str, Any]]) -> str:
    """A line per set, the least ratio first."""
    sets: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        sets.setdefault(row["set"], {})[row["competitor"]] = row
    peers = [name for name in dict.fromkeys(row["competitor"] for row in rows) if name != "maxmargin"]
    lines = []
    for name, sides in sets.items():
        ours = sides["maxmargin"]
        ratios = [sides[peer]["seconds"] / ours["seconds"] if peer in sides else np.inf for peer in peers]
        times = [cell for peer, ratio in zip(peers, ratios, strict=True) for cell in _beside(sides.get(peer), ratio)]
        about = [name, str(ours["rows"]), str(ours["columns"]), seconds(ours["seconds"])]
        scores = [f"{sides[side]['score']:.4f}" if side in sides else "" for side in ("maxmargin", *peers)]
        lines.append((min(ratios, default=np.inf), [*about, *times, *scores]))
    head = [cell for peer in peers for cell in (peer, "ratio")]
    scores = [f"score of {side}" for side in ("maxmargin", *peers)]
    shown = [cells for _, cells in sorted(lines, key=lambda line: line[0])]
    return table(["set", "rows", "columns", "maxmargin", *head, *scores], shown)


def _beside(row: dict[str, Any] | None, ratio: float) -> list[str]:
    return ["", ""] if row is None else [seconds(row["seconds"]), f"{ratio:.1f}"]


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
