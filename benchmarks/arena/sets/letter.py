"""Distorted capital letters, 26 classes, 16 columns already scaled."""

from __future__ import annotations

from benchmarks.arena.case import Case, Source, Split
from benchmarks.arena.sets._prepare import CLASSIFY, draw

NAME = "letter"
BUNDLED = False
CASES = (Case("svc", CLASSIFY),)


def load(source: Source, rows: int | None) -> Split:
    """The published training and test rows."""
    return draw(Split(*source(NAME)), rows)
