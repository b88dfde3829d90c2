"""Handwritten digits, 8 by 8 pixels, 10 classes; carried by scikit-learn."""

from __future__ import annotations

from sklearn.datasets import load_digits

from benchmarks.arena.case import Case, Source, Split
from benchmarks.arena.sets._prepare import CLASSIFY, hold_out

NAME = "digits"
BUNDLED = True
CASES = (Case("svc", CLASSIFY),)


def load(source: Source, rows: int | None) -> Split:
    """Pixels from 0 to 1; a quarter to test."""
    X, y = load_digits(return_X_y=True)
    return hold_out(X / 16.0, y)
