"""The optimisation problems behind the machines, as frozen values: primal, dual, gap, and the QP they lower to."""

from maxmargin.problems._all_classes import (
    ALL_CLASSES,
    AllClassesProblem,
    CrammerSingerProblem,
    WestonWatkinsProblem,
)
from maxmargin.problems._base import Judged, Offsets, Problem, relative
from maxmargin.problems._classification import HardMarginProblem, LSSVCProblem, NuSVCProblem, SVCProblem
from maxmargin.problems._dual_qp import FEASIBILITY_TOL, DualQP
from maxmargin.problems._linear import LinearProblem
from maxmargin.problems._one_class import OneClassProblem, SVDDProblem
from maxmargin.problems._regression import NuSVRProblem, SVRProblem

__all__ = [
    "ALL_CLASSES",
    "FEASIBILITY_TOL",
    "AllClassesProblem",
    "CrammerSingerProblem",
    "DualQP",
    "HardMarginProblem",
    "Judged",
    "LSSVCProblem",
    "LinearProblem",
    "NuSVCProblem",
    "NuSVRProblem",
    "Offsets",
    "OneClassProblem",
    "Problem",
    "SVCProblem",
    "SVDDProblem",
    "SVRProblem",
    "WestonWatkinsProblem",
    "relative",
]
