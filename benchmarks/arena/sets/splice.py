"""Splice junctions in DNA, 60 columns, 2 classes."""

from __future__ import annotations

from benchmarks.arena.case import Case, Source, Split
from benchmarks.arena.sets._prepare import CLASSIFY, draw

NAME = "splice"
BUNDLED = False
CASES = (Case("svc", CLASSIFY),)


def load(source: Source, rows: int | None) -> Split:
    """The published training and test rows."""
    return draw(Split(*source(NAME)), rows)
