"""Satellite images, 6 classes, 36 columns."""

from __future__ import annotations

from benchmarks.arena.case import Case, Source, Split
from benchmarks.arena.sets._prepare import CLASSIFY, draw, standardise

NAME = "satimage"
BUNDLED = False
CASES = (Case("svc", CLASSIFY),)


def load(source: Source, rows: int | None) -> Split:
    """The published training and test rows, standardised."""
    return standardise(draw(Split(*source(NAME)), rows))
