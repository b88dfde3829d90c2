"""The arena's results: times and ratios, gaps, memory, predictions, and their means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from benchmarks.arena.fastest import Blocks, others
from benchmarks.arena.row import Row
from benchmarks.arena.table import OURS, means, ratio, seconds
from benchmarks.report.markdown import table

KNOWN = {f.name for f in fields(Row)}
MARKS = "*floor*: its gap falls no further; > cut off; ? its certificate does not hold; ¹ timed once."


def by_goal(reports: list[dict[str, Any]], chosen: Callable[[Blocks], Blocks] = others) -> dict[float | None, Blocks]:
    """The rows of all reports by goal, the largest gap first, then by case; kernel machines unless asked otherwise."""
    found: dict[float | None, dict[str, list[Row]]] = {}
    for report in reports:
        for entry in report["rows"]:
            row = Row(**{k: v for k, v in entry.items() if k in KNOWN})
            found.setdefault(_goal(row, report), {}).setdefault(row.case, []).append(row)
    goals = sorted(found, key=lambda goal: -(goal or 0.0))
    kept = {goal: chosen(list(found[goal].values())) for goal in goals}
    return {goal: blocks for goal, blocks in kept.items() if blocks}


def _goal(row: Row, report: dict[str, Any]) -> float | None:
    """The goal of a row; of one written before rows carried it, that of its run."""
    gap = report.get("options", {}).get("gap")
    old = isinstance(gap, float) and report["options"].get("tol") is None
    return gap if row.goal is None and old else row.goal


def tables(reports: list[dict[str, Any]]) -> dict[str, str]:
    """Every table by name: ``fit``, ``gap``, ... of the first goal, ``fit-tight``, ... of the next."""
    found: dict[str, str] = {}
    for number, (goal, blocks) in enumerate(by_goal(reports).items()):
        end = ending(number)
        title = "At each one's default tol." if goal is None else f"Certified relative gap {goal:g}."
        for name, make in (("fit", fits), ("gap", gaps), ("memory", memories), ("predict", predictions)):
            found[name + end] = f"{title} {MARKS}\n\n{make(blocks)}"
        found[f"means{end}"] = f"{title}\n\n{summary(blocks)}"
    return found


def ending(number: int) -> str:
    """What the tables of a goal are called beyond their name: nothing, "-tight", "-3" ..."""
    return ("", "-tight")[number] if number < 2 else f"-{number + 1}"


def names(blocks: Blocks) -> list[str]:
    """All competitors, in the arena's order."""
    return list(dict.fromkeys(row.competitor for rows in blocks for row in rows))


def fits(blocks: Blocks) -> str:
    """Our fit time, and theirs with the ratio to ours."""
    return _by_case(blocks, lambda row, ours: _timed(row, ours, "fit"))


def gaps(blocks: Blocks) -> str:
    """The certified gap of each."""
    return _by_case(blocks, lambda row, ours: _gap(row))


def memories(blocks: Blocks) -> str:
    """Peak memory of the fits of each."""
    return _by_case(blocks, lambda row, ours: "-" if row.memory is None else f"{row.memory:.0f} MB")


def predictions(blocks: Blocks) -> str:
    """The time to predict, and theirs with the ratio to ours."""
    return _by_case(blocks, lambda row, ours: _timed(row, ours, "predict"))


def _by_case(blocks: Blocks, cell: Callable[[Row, Row | None], str]) -> str:
    sides = names(blocks)
    lines = []
    for rows in blocks:
        by_name = {row.competitor: row for row in rows}
        ours = by_name.get(OURS)
        cells = [cell(by_name[side], ours) if side in by_name else "" for side in sides]
        lines.append([rows[0].case + ("¹" if rows[0].large else ""), *cells])
    return table(["case", *sides], lines)


def _timed(row: Row, ours: Row | None, what: str) -> str:
    """A time and its ratio to ours; the status where that is all there is."""
    value = getattr(row, what)
    if value is None:
        return "-" if row.status in ("ok", "floor") else row.status
    cut = ">" if what == "fit" and row.status == "cut off" else ""
    known = ratio(ours, row, what)
    sign = "" if known is None or known[1] == "=" else known[1]
    times = "" if known is None else f", {sign}{known[0]:.2f} x"
    floor = ", *floor*" if what == "fit" and row.status == "floor" else ""
    return f"{cut}{seconds(value)}{times}{floor}"


def _gap(row: Row) -> str:
    if row.gap is None:
        return "-" if row.status in ("ok", "floor") else row.status
    return f"{row.gap:.1e}" + ("?" if row.holds is False else "") + (" *floor*" if row.status == "floor" else "")


def summary(blocks: Blocks) -> str:
    """Geometric means and least ratios of fits and predictions."""
    lines = []
    for what in ("fit", "predict"):
        for name, mean in means(blocks, what).items():
            sign = "" if mean["sign"] == "=" else mean["sign"]
            where = _least(blocks, name, what)
            cells = [f"{sign}{mean['mean']:.2f} x", f"{mean['least']:.2f} x ({where})", str(mean["cases"])]
            lines.append([f"{what}, {name}", *cells, str(_floors(blocks, name)), _off_the_floor(blocks, name, what)])
    head = ["their time over ours", "geometric mean", "least", "cases", "at a floor", "geometric mean without floors"]
    return table(head, lines)


def _off_the_floor(blocks: Blocks, name: str, what: str) -> str:
    """The mean over the cases in which a competitor reached the goal: the last step to a floor may take very long."""
    kept = [[row for row in rows if row.competitor == OURS or row.status != "floor"] for rows in blocks]
    mean = means(kept, what).get(name)
    return "-" if mean is None else f"{'' if mean['sign'] == '=' else mean['sign']}{mean['mean']:.2f} x"


def _least(blocks: Blocks, name: str, what: str) -> str:
    """The case in which a competitor comes nearest to us."""
    found = []
    for rows in blocks:
        ours = next((row for row in rows if row.competitor == OURS), None)
        known = [ratio(ours, row, what) for row in rows if row.competitor == name]
        found += [(value[0], rows[0].case) for value in known if value is not None]
    return min(found)[1]


def _floors(blocks: Blocks, name: str) -> int:
    return sum(row.competitor == name and row.status == "floor" for rows in blocks for row in rows)
