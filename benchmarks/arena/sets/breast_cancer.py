"""Breast cancer (Wisconsin, diagnostic), 2 classes; carried by scikit-learn."""

from __future__ import annotations

from sklearn.datasets import load_breast_cancer

from benchmarks.arena.case import Case, Source, Split
from benchmarks.arena.sets._prepare import CLASSIFY, NU, hold_out, standardise

NAME = "breast_cancer"
BUNDLED = True
CASES = (
    Case("svc", CLASSIFY),
    Case("nusvc", NU, "nu"),
    Case("oneclass", NU, "one-class"),
)


def load(source: Source, rows: int | None) -> Split:
    """Standardised; a quarter to test."""
    return standardise(hold_out(*load_breast_cancer(return_X_y=True)))
