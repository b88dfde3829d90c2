"""A calibrator by its name."""

from __future__ import annotations

from collections.abc import Callable

from maxmargin._types import FloatArray
from maxmargin.calibration._isotonic import Isotonic, fit_isotonic
from maxmargin.calibration._sigmoid import Sigmoid, fit_sigmoid
from maxmargin.calibration._venn_abers import VennAbers, fit_venn_abers

Calibrator = Sigmoid | Isotonic | VennAbers
Fit = Callable[[FloatArray, FloatArray, FloatArray], Calibrator]
KINDS: dict[str, Fit] = {"sigmoid": fit_sigmoid, "isotonic": fit_isotonic, "venn-abers": fit_venn_abers}


def fit_calibrator(kind: str, scores: FloatArray, sign: FloatArray, weight: FloatArray) -> Calibrator:
    """A function from scores to the probability of the positive side; ``weight`` counts the rows."""
    return KINDS[kind](scores, sign, weight)
