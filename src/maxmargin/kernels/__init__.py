"""Kernels and their algebra.

See "Positive semi-definite kernels", "Kernels made of kernels" and "Standard kernels" in ``docs/theory.md``.
"""

from maxmargin.kernels._base import Kernel
from maxmargin.kernels._given import Function, Objects, Precomputed, require_consistent, values_of
from maxmargin.kernels._mercer import MercerCheck, check_mercer
from maxmargin.kernels._program import Code, Op, Program
from maxmargin.kernels._resolve import NAMES, resolve_kernel, takes_any_rows
from maxmargin.kernels._standard import Constant, Cosine, Linear, Polynomial, QuadraticForm, Sigmoid
from maxmargin.kernels._stationary import ChiSquared, Exponential, Gaussian, Laplacian, Matern, RationalQuadratic
from maxmargin.kernels._why import KernelProof

__all__ = [
    "NAMES",
    "ChiSquared",
    "Code",
    "Constant",
    "Cosine",
    "Exponential",
    "Function",
    "Gaussian",
    "Kernel",
    "KernelProof",
    "Laplacian",
    "Linear",
    "Matern",
    "MercerCheck",
    "Objects",
    "Op",
    "Polynomial",
    "Precomputed",
    "Program",
    "QuadraticForm",
    "RationalQuadratic",
    "Sigmoid",
    "check_mercer",
    "require_consistent",
    "resolve_kernel",
    "takes_any_rows",
    "values_of",
]
