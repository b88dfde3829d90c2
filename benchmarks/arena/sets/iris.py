"""Iris flowers, 3 classes; carried by scikit-learn."""

from __future__ import annotations

from sklearn.datasets import load_iris

from benchmarks.arena.case import Case, Source, Split
from benchmarks.arena.sets._prepare import CLASSIFY, hold_out

NAME = "iris"
BUNDLED = True
CASES = (Case("svc", CLASSIFY),)


def load(source: Source, rows: int | None) -> Split:
    """As published; a quarter to test."""
    return hold_out(*load_iris(return_X_y=True))
