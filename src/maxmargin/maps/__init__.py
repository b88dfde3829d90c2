"""Explicit feature maps: finite features whose dot products are, or approximate, kernel values (M25)."""

from maxmargin.maps._design import MappedDesign
from maxmargin.maps._fourier import RandomFourierMap
from maxmargin.maps._landmarks import choose_landmarks
from maxmargin.maps._nystroem import NystroemMap
from maxmargin.maps._polynomial import PolynomialMap

__all__ = ["MappedDesign", "NystroemMap", "PolynomialMap", "RandomFourierMap", "choose_landmarks"]
