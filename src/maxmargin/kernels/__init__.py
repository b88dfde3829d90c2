"""Kernels and their algebra (M22, M23, M24)."""

from maxmargin.kernels._base import Kernel
from maxmargin.kernels._given import Function, Precomputed
from maxmargin.kernels._mercer import MercerCheck, check_mercer
from maxmargin.kernels._program import Program
from maxmargin.kernels._resolve import resolve_kernel, takes_any_rows
from maxmargin.kernels._standard import (
    ChiSquared,
    Constant,
    Cosine,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    QuadraticForm,
    RationalQuadratic,
    Sigmoid,
)

__all__ = [
    "ChiSquared",
    "Constant",
    "Cosine",
    "Exponential",
    "Function",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "MercerCheck",
    "Polynomial",
    "Precomputed",
    "Program",
    "QuadraticForm",
    "RationalQuadratic",
    "Sigmoid",
    "check_mercer",
    "resolve_kernel",
    "takes_any_rows",
]
