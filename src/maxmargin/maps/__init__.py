"""Explicit feature maps: finite features whose dot products are, or approximate, kernel values.

See "Explicit maps" in ``docs/theory.md``.
"""

from maxmargin.maps._design import MappedDesign
from maxmargin.maps._fourier import RandomFourierMap
from maxmargin.maps._landmarks import LANDMARK_METHODS, choose_landmarks, distinct_rows
from maxmargin.maps._nystroem import NystroemMap
from maxmargin.maps._polynomial import PolynomialMap

__all__ = [
    "LANDMARK_METHODS",
    "MappedDesign",
    "NystroemMap",
    "PolynomialMap",
    "RandomFourierMap",
    "choose_landmarks",
    "distinct_rows",
]
