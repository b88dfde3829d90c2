"""a9a: income above 50k, 123 binary columns, 11 % dense."""

from __future__ import annotations

from benchmarks.arena.case import SCALE, Case, Source, Split
from benchmarks.arena.sets._linear import linear_cases
from benchmarks.arena.sets._prepare import NU, draw

NAME = "a9a"
BUNDLED = False
CASES = (
    Case("svc", {"C": 1.0, "gamma": SCALE}),
    Case("svc", {"C": 100.0, "gamma": 0.5}, "10k", rows=10_000),
    Case("nusvc", NU, "10k-nu", rows=10_000),
    Case("oneclass", NU, "10k-one-class", rows=10_000),
    *linear_cases(bias=True),
)


def load(source: Source, rows: int | None) -> Split:
    """The published training and test rows."""
    return draw(Split(*source(NAME)), rows)
