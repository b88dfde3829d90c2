"""Diabetes progression, a regression; carried by scikit-learn."""

from __future__ import annotations

from sklearn.datasets import load_diabetes

from benchmarks.arena.case import Case, Source, Split
from benchmarks.arena.sets._prepare import REGRESS, hold_out, standardise

NAME = "diabetes"
BUNDLED = True
CASES = (Case("svr", REGRESS),)


def load(source: Source, rows: int | None) -> Split:
    """Rows and target standardised; a quarter to test."""
    return standardise(hold_out(*load_diabetes(return_X_y=True)), target=True)
