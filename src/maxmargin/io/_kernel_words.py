"""Kernels as scikit-learn and LIBSVM call them."""

from __future__ import annotations

from typing import Any

from maxmargin.kernels import Gaussian, Kernel, Linear, Polynomial, Precomputed, Sigmoid


def kernel_words(kernel: Kernel) -> dict[str, Any] | None:
    """The parameters ``kernel``, ``gamma``, ``degree`` and ``coef0`` that say it; None where it has no name."""
    if type(kernel) is Linear:
        return {"kernel": "linear"}
    if type(kernel) is Precomputed:
        return {"kernel": "precomputed"}
    if type(kernel) is Gaussian and kernel.over is None:
        return {"kernel": "rbf", "gamma": float(kernel._gamma)}
    if type(kernel) is Polynomial and kernel.gamma is not None:
        return {"kernel": "poly", "degree": int(kernel.degree), "gamma": float(kernel.gamma),
                "coef0": float(kernel.coef0)}  # fmt: skip
    if type(kernel) is Sigmoid and kernel.c1 is not None:
        return {"kernel": "sigmoid", "gamma": float(kernel.c1), "coef0": float(kernel.c2)}
    return None
