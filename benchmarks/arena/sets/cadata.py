"""House prices in California, a regression, 8 columns."""

from __future__ import annotations

from benchmarks.arena.case import Case, Source, Split
from benchmarks.arena.sets._prepare import REGRESS, draw, standardise

NAME = "cadata"
BUNDLED = False
CASES = (Case("svr", REGRESS),)


def load(source: Source, rows: int | None) -> Split:
    """All rows, rows and target standardised; there are none to test."""
    return standardise(draw(Split(*source(NAME)), rows), target=True)
