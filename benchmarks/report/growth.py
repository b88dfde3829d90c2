"""How the time grows: one table per series, with the fitted exponents."""

from __future__ import annotations

from typing import Any

from benchmarks.arena.table import seconds
from benchmarks.report.markdown import table


def tables(report: dict[str, Any]) -> dict[str, str]:
    """One table per series: ``scaling-covtype``, ``scaling-a9a``, ``scaling-digits``."""
    series = dict.fromkeys(row["series"] for row in report["rows"])
    return {f"scaling-{name.split()[0]}": one(report, name) for name in series}


def one(report: dict[str, Any], name: str) -> str:
    """Seconds and certified gap of each competitor, by size."""
    rows = [row for row in report["rows"] if row["series"] == name]
    sides = list(dict.fromkeys(row["competitor"] for row in rows))
    cells = {(row["size"], row["competitor"]): _cell(row) for row in rows}
    lines = [
        [str(size), *(cells.get((size, side), "not tried") for side in sides)]
        for size in dict.fromkeys(row["size"] for row in rows)
    ]
    fitted = [report["exponents"].get(name, {}).get(side) for side in sides]
    lines.append(["exponent", *("-" if p is None else f"**{p:.2f}**" for p in fitted)])
    said = f"{name}: seconds of a fit and its certified relative gap, each at its default tol"
    return f"{said}.\n\n{table([rows[0]['by'], *sides], lines)}"


def _cell(row: dict[str, Any]) -> str:
    if row["status"] == "cut off":
        return f">{seconds(row['fit'])}"
    if row["fit"] is None:
        return str(row["status"])
    return seconds(row["fit"]) + ("" if row["gap"] is None else f" ({row['gap']:.0e})")
