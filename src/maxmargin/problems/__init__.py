"""The optimisation problems behind the machines, as frozen values: primal, dual, gap, and the QP they lower to."""

from collections.abc import Callable

from maxmargin.problems._all_classes import (
    AllClassesProblem,
    CrammerSingerProblem,
    ShortfallProblem,
    WestonWatkinsProblem,
)
from maxmargin.problems._base import Offsets, Problem, relative, two_sum
from maxmargin.problems._classification import HardMarginProblem, LSSVCProblem, NuSVCProblem, SVCProblem
from maxmargin.problems._dual_qp import FEASIBILITY_TOL, RESIDUE, DualQP
from maxmargin.problems._linear import LinearProblem, constants, loss_gap
from maxmargin.problems._one_class import OneClassProblem, SVDDProblem
from maxmargin.problems._regression import NuSVRProblem, SVRProblem
from maxmargin.problems._soft_margins import SoftMargins
from maxmargin.problems._softmax import SoftmaxProblem

#: Problems for all classes at once, by the name that ``multiclass`` gives them.
ALL_CLASSES: dict[str, Callable[..., AllClassesProblem]] = {
    "crammer-singer": CrammerSingerProblem,
    "weston-watkins": WestonWatkinsProblem,
    "softmax": SoftmaxProblem,
}

__all__ = [
    "ALL_CLASSES",
    "FEASIBILITY_TOL",
    "RESIDUE",
    "AllClassesProblem",
    "CrammerSingerProblem",
    "DualQP",
    "HardMarginProblem",
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
    "ShortfallProblem",
    "SoftMargins",
    "SoftmaxProblem",
    "WestonWatkinsProblem",
    "constants",
    "loss_gap",
    "relative",
    "two_sum",
]
