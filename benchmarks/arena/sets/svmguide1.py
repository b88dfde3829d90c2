"""Astroparticles, 4 columns, the first example of the LIBSVM guide."""

from __future__ import annotations

from benchmarks.arena.case import Case, Source, Split
from benchmarks.arena.sets._prepare import CLASSIFY, draw

NAME = "svmguide1"
BUNDLED = False
CASES = (Case("svc", CLASSIFY),)


def load(source: Source, rows: int | None) -> Split:
    """The published training and test rows, unscaled."""
    return draw(Split(*source(NAME)), rows)
