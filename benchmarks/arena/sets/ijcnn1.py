"""ijcnn1: the neural network competition of 2001, 22 columns, 10 % positive."""

from __future__ import annotations

from benchmarks.arena.case import SCALE, Case, Source, Split
from benchmarks.arena.sets._linear import linear_cases
from benchmarks.arena.sets._prepare import draw

NAME = "ijcnn1"
BUNDLED = False
CASES = (
    Case("svc", {"C": 1.0, "gamma": SCALE}),
    Case("svc", {"C": 32.0, "gamma": 2.0}, "20k", rows=20_000),
    *linear_cases(bias=True),
)


def load(source: Source, rows: int | None) -> Split:
    """The published training and test rows."""
    return draw(Split(*source(NAME)), rows)
