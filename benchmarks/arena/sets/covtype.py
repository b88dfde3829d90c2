"""Forest cover type, class 2 against the rest, 54 columns."""

from __future__ import annotations

from benchmarks.arena.case import Case, Source, Split
from benchmarks.arena.sets._linear import linear_cases
from benchmarks.arena.sets._prepare import CLASSIFY, shuffle, standardise

NAME = "covtype"
BUNDLED = False
CASES = (
    Case("svc", CLASSIFY, "20k", rows=20_000),
    Case("svc", CLASSIFY, "100k", rows=100_000, large=True),
    *linear_cases(large=True, bias=True),
)


def load(source: Source, rows: int | None) -> Split:
    """Rows drawn at random, standardised; 20,000 others to test, unless all are to train."""
    X, y, *_ = source(NAME)
    return standardise(shuffle(X, (y == 2).astype(int), rows, test_rows=0 if rows is None else 20_000))
