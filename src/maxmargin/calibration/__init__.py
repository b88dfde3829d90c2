"""From held-out scores to probabilities and to prediction sets.

See "Probabilities" and "Conformal prediction sets" in ``docs/theory.md``.
"""

from maxmargin.calibration._calibrators import (
    KINDS,
    Calibrator,
    Isotonic,
    Sigmoid,
    VennAbers,
    fit_calibrator,
    fit_isotonic,
    fit_sharpness,
    fit_sigmoid,
    fit_venn_abers,
    sharpened,
)
from maxmargin.calibration._conformal import Conformal, fit_conformal

__all__ = [
    "KINDS",
    "Calibrator",
    "Conformal",
    "Isotonic",
    "Sigmoid",
    "VennAbers",
    "fit_calibrator",
    "fit_conformal",
    "fit_isotonic",
    "fit_sharpness",
    "fit_sigmoid",
    "fit_venn_abers",
    "sharpened",
]
