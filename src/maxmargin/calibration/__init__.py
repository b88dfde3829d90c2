"""From held-out scores to probabilities and to prediction sets.

See "Probabilities" and "Conformal prediction sets" in ``docs/theory.md``.
"""

from maxmargin.calibration._calibrator import KINDS, Calibrator, fit_calibrator
from maxmargin.calibration._conformal import Conformal, fit_conformal
from maxmargin.calibration._isotonic import Isotonic, fit_isotonic
from maxmargin.calibration._sharpen import fit_sharpness, sharpened
from maxmargin.calibration._sigmoid import Sigmoid, fit_sigmoid
from maxmargin.calibration._venn_abers import VennAbers, fit_venn_abers

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
