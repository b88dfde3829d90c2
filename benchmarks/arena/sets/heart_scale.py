"""Heart disease, 13 columns already scaled, 270 rows."""

from __future__ import annotations

from benchmarks.arena.case import Case, Source, Split
from benchmarks.arena.sets._prepare import CLASSIFY, draw

NAME = "heart_scale"
BUNDLED = False
CASES = (Case("svc", CLASSIFY),)


def load(source: Source, rows: int | None) -> Split:
    """All rows; there are none to test."""
    return draw(Split(*source(NAME)), rows)
