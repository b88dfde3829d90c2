"""w8a: web pages, 300 binary columns, 4 % dense, 3 % positive."""

from __future__ import annotations

from benchmarks.arena.case import Case, Source, Split
from benchmarks.arena.sets._linear import linear_cases
from benchmarks.arena.sets._prepare import draw

NAME = "w8a"
BUNDLED = False
CASES = (
    Case("svc", {"C": 10.0, "gamma": 0.5}, "20k", rows=20_000),
    Case("svc", {"C": 10.0, "gamma": 0.5}, "all", large=True),
    *linear_cases(bias=True),
)


def load(source: Source, rows: int | None) -> Split:
    """The published training rows; there are no test rows."""
    return draw(Split(*source(NAME)), rows)
