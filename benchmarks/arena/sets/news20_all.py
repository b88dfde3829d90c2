"""20 newsgroups, each against the rest: 62,061 word counts as published, 0.13 % dense."""

from __future__ import annotations

from benchmarks.arena.case import Source, Split
from benchmarks.arena.sets._linear import linear_cases
from benchmarks.arena.sets._prepare import draw

NAME = "news20_all"
BUNDLED = False
CASES = linear_cases(large=True)


def load(source: Source, rows: int | None) -> Split:
    """The published training rows; there are no test rows."""
    return draw(Split(*source("news20")), rows)
