"""Wine cultivars, 3 classes; carried by scikit-learn."""

from __future__ import annotations

from sklearn.datasets import load_wine

from benchmarks.arena.case import Case, Source, Split
from benchmarks.arena.sets._prepare import CLASSIFY, hold_out, standardise

NAME = "wine"
BUNDLED = True
CASES = (Case("svc", CLASSIFY),)


def load(source: Source, rows: int | None) -> Split:
    """Standardised; a quarter to test."""
    return standardise(hold_out(*load_wine(return_X_y=True)))
