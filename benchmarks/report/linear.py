"""Linear machines: one table per loss with seconds, or the gap at which somebody stopped; and the means."""

from __future__ import annotations

from typing import Any

from benchmarks.arena.fastest import Blocks, free, linear_only, mean, ratio, reached, stopped
from benchmarks.arena.linear import TASKS
from benchmarks.arena.row import Row
from benchmarks.arena.table import seconds
from benchmarks.report.markdown import table
from benchmarks.report.results import by_goal, ending, names

SAID = (
    "A time is that of a fit that reaches the goal; in brackets the gap at which others stop, whatever their `tol`,\n"
    "and when; - does not solve this problem; ¹ timed once. Last column: the fastest peer that reaches the goal over\n"
    "maxmargin."
)


def tables(reports: list[dict[str, Any]]) -> dict[str, str]:
    """``linear-hinge``, ``linear-squared-hinge`` and ``linear-means``, as far as there are such cases."""
    found: dict[str, str] = {}
    for number, (goal, blocks) in enumerate(by_goal(reports, linear_only).items()):
        title = "At each one's default tol." if goal is None else f"Certified relative gap {goal:g}."
        for task in TASKS:
            of_task = [rows for rows in blocks if rows[0].task == task]
            if of_task:
                found[task + ending(number)] = f"{title} {SAID}\n\n{one(of_task)}"
        found[f"linear-means{ending(number)}"] = f"{title}\n\n{means(blocks)}"
    return found


def one(blocks: Blocks) -> str:
    """Rows are cases, columns competitors; below, the geometric mean over the cases without an intercept."""
    sides = [
        side
        for side in names(blocks)
        if any(_took_part(row) for rows in blocks for row in rows if row.competitor == side)
    ]
    lines = []
    for rows in blocks:
        by_name = {row.competitor: row for row in rows}
        cells = [_cell(by_name[side]) if side in by_name else "" for side in sides]
        lines.append([_name(rows[0]), *cells, _times(ratio(rows))])
    known = mean(blocks)
    lines.append(
        ["geometric mean, no intercept", *[""] * len(sides), "-" if known is None else f"**{known[0]:.2f} x**"]
    )
    return table(["case", *sides, "fastest peer"], lines)


def means(blocks: Blocks) -> str:
    """The geometric mean for each loss and in all, and how many cases it leaves out: no peer, or not we, got there."""
    kinds = [(task, [rows for rows in blocks if rows[0].task == task]) for task in TASKS]
    lines = []
    for what, chosen in [*kinds, ("all", blocks)]:
        plain = [rows for rows in chosen if not free(rows)]
        if not plain:
            continue
        known = mean(plain)
        ratios = [value for rows in plain if (value := ratio(rows)) is not None]
        least = "-" if not ratios else f"{min(ratios):.2f} x"
        middle = "-" if known is None else f"{known[0]:.2f} x"
        lines.append([what, middle, least, str(len(ratios)), str(len(plain) - len(ratios))])
    head = ["fastest peer over maxmargin", "geometric mean", "least", "cases", "cases without both"]
    return table(head, lines)


def _took_part(row: Row) -> bool:
    return row.status != "absent"


def _name(row: Row) -> str:
    """The case without its task, which the table has in its title."""
    return row.case.replace(f"/{row.task}", "") + ("¹" if row.large else "")


def _cell(row: Row) -> str:
    if row.status == "absent":
        return "-"
    return seconds(row.fit) if reached(row) else f"({stopped(row)})"


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f} x"
