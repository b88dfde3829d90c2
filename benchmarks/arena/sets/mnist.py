"""Handwritten digits, 28 by 28 pixels, 10 classes."""

from __future__ import annotations

from benchmarks.arena.case import Case, Source, Split
from benchmarks.arena.sets._prepare import CLASSIFY, draw

NAME = "mnist"
BUNDLED = False
CASES = (
    Case("svc", CLASSIFY, "12k", rows=12_000),
    Case("svc", CLASSIFY, "60k", large=True),
)


def load(source: Source, rows: int | None) -> Split:
    """Pixels from 0 to 1; the published test rows."""
    X, y, X_test, y_test = source(NAME)
    return draw(Split(X / 255.0, y, X_test / 255.0, y_test), rows)
