"""MAGIC gamma telescope, 10 columns, 2 classes, published in the order of its classes."""

from __future__ import annotations

from benchmarks.arena.case import SCALE, Case, Source, Split
from benchmarks.arena.sets._prepare import CLASSIFY, NU, shuffle, standardise

NAME = "magic04"
BUNDLED = False
CASES = (
    Case("svc", CLASSIFY),
    Case("svc", {"C": 1000.0, "gamma": SCALE}, "C1000"),
    Case("nusvc", NU, "nu"),
    Case("oneclass", NU, "one-class"),
)


def load(source: Source, rows: int | None) -> Split:
    """All rows, shuffled and standardised; none are left to test."""
    X, y, *_ = source(NAME)
    return standardise(shuffle(X, y, rows))
