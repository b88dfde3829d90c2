"""Choosing C, lambda and the kernel by cross-validation, inside the solver."""

from __future__ import annotations

from maxmargin.selection._l1_min_c import l1_min_c
from maxmargin.selection._least_squares import leave_one_out_residuals
from maxmargin.selection._path import Path, regularization_path
from maxmargin.selection._public import (
    SGDSVCCV,
    SVCCV,
    SVRCV,
    KernelLeastSquaresCV,
    LinearClassifierCV,
    LinearRegressorCV,
    LinearSVCCV,
    LinearSVRCV,
    NuSVCCV,
    NuSVRCV,
    PegasosSVCCV,
)

__all__ = [
    "SGDSVCCV",
    "SVCCV",
    "SVRCV",
    "KernelLeastSquaresCV",
    "LinearClassifierCV",
    "LinearRegressorCV",
    "LinearSVCCV",
    "LinearSVRCV",
    "NuSVCCV",
    "NuSVRCV",
    "Path",
    "PegasosSVCCV",
    "l1_min_c",
    "leave_one_out_residuals",
    "regularization_path",
]
