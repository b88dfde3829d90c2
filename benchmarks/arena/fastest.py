"""Linear machines: the fastest peer that reaches the goal against us, case by case, and the mean over cases."""

from __future__ import annotations

import math

from benchmarks.arena.linear import is_linear
from benchmarks.arena.row import Row
from benchmarks.arena.table import OURS, seconds

Blocks = list[list[Row]]


def linear_only(blocks: Blocks) -> Blocks:
    """The cases of linear machines."""
    return [rows for rows in blocks if rows and is_linear(rows[0].task)]


def others(blocks: Blocks) -> Blocks:
    """All other cases."""
    return [rows for rows in blocks if rows and not is_linear(rows[0].task)]


def reached(row: Row) -> bool:
    """Whether this row is timed at a gap that is proven and as small as asked for."""
    return bool(row.status == "ok" and row.fit and row.gap is not None and row.holds)


def fastest(rows: list[Row]) -> Row | None:
    """The fastest peer that reaches the goal, if any does."""
    peers = [row for row in rows if row.competitor != OURS and reached(row)]
    return min(peers, key=lambda row: row.fit or math.inf, default=None)


def ratio(rows: list[Row]) -> float | None:
    """Time of the fastest peer over ours; None unless both reach the goal."""
    ours = next((row for row in rows if row.competitor == OURS and reached(row)), None)
    peer = fastest(rows)
    return None if ours is None or peer is None or not ours.fit or not peer.fit else peer.fit / ours.fit


def mean(blocks: Blocks) -> tuple[float, int] | None:
    """Geometric mean of the ratios and their number, over cases without an intercept: all peers solve those."""
    found = [value for rows in blocks if not free(rows) and (value := ratio(rows)) is not None]
    return (math.exp(sum(map(math.log, found)) / len(found)), len(found)) if found else None


def free(rows: list[Row]) -> bool:
    """Whether the case has a free intercept, which few peers have."""
    return bool(rows[0].params.get("fit_intercept"))


def summary(blocks: Blocks, goal: str = "") -> str:
    """Ratios by case, their mean by loss and in all, and who stopped at which gap."""
    lines = [f"Linear machines{goal}: the fastest peer that reaches the goal over maxmargin"]
    lines += [f"  {rows[0].case:36}{_one(rows)}" for rows in blocks]
    tasks = list(dict.fromkeys(rows[0].task for rows in blocks))
    for what, of_task in [(t, [rows for rows in blocks if rows[0].task == t]) for t in tasks] + [("all", blocks)]:
        known = mean(of_task)
        said = "nothing to compare" if known is None else f"{known[0]:.2f} x over {known[1]} cases"
        lines.append(f"  geometric mean, no intercept, {what}: {said}")
    short = [f"  {row.case}: {row.competitor}: {stopped(row)}" for rows in blocks for row in rows if _fell_short(row)]
    return "\n".join(lines + (["Did not reach the goal", *short] if short else []))


def _one(rows: list[Row]) -> str:
    ours = next((row for row in rows if row.competitor == OURS), None)
    peer, value = fastest(rows), ratio(rows)
    mine = "-" if ours is None else seconds(ours.fit) if reached(ours) else stopped(ours)
    theirs = "no peer reaches it" if peer is None else f"{peer.competitor} {seconds(peer.fit)}"
    return f"{mine}, {theirs}" + ("" if value is None else f", {value:.2f} x")


def _fell_short(row: Row) -> bool:
    return row.status != "absent" and not reached(row)


def stopped(row: Row) -> str:
    """Where somebody stopped who does not reach the goal: its gap, or what became of it."""
    if row.gap is None:
        return f"cut off at {seconds(row.fit)}" if row.status == "cut off" else row.status
    return f"gap {row.gap:.0e}" + ("" if row.holds else "?") + f" after {seconds(row.fit)}"
