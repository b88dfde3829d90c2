"""20 newsgroups, the first against the rest: 62,061 word counts as published, 0.13 % dense, 5 % positive."""

from __future__ import annotations

from benchmarks.arena.case import Source, Split
from benchmarks.arena.sets._linear import linear_cases
from benchmarks.arena.sets._prepare import draw

NAME = "news20"
BUNDLED = False
CASES = linear_cases()


def load(source: Source, rows: int | None) -> Split:
    """The published training rows; there are no test rows."""
    X, y, *_ = source(NAME)
    return draw(Split(X, (y == y.min()).astype(int)), rows)
