"""Industry sectors, 105 classes each against the rest: 55,197 columns already scaled, 0.3 % dense."""

from __future__ import annotations

from benchmarks.arena.case import Source, Split
from benchmarks.arena.sets._linear import linear_cases
from benchmarks.arena.sets._prepare import draw

NAME = "sector_scale"
BUNDLED = False
CASES = linear_cases(large=True)


def load(source: Source, rows: int | None) -> Split:
    """The published training and test rows."""
    return draw(Split(*source(NAME)), rows)
