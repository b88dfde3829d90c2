"""From what a user may pass as ``kernel`` to a :class:`Kernel`."""

from __future__ import annotations

from typing import Any

from maxmargin.kernels._base import Kernel
from maxmargin.kernels._given import Function, Objects, Precomputed
from maxmargin.kernels._standard import Cosine, Linear, Polynomial, Sigmoid
from maxmargin.kernels._stationary import ChiSquared, Gaussian, Laplacian

#: Names of scikit-learn's; 'polynomial' is its other spelling of 'poly'.
NAMES = ("linear", "poly", "polynomial", "rbf", "sigmoid", "laplacian", "chi2", "cosine", "precomputed")


def resolve_kernel(kernel: Any, gamma: float | None = 1.0, degree: int = 3, coef0: float = 0.0) -> Kernel:
    """The kernel for one of scikit-learn's names, a maxmargin kernel, a gaussian_process kernel or a callable.

    ``gamma`` also fills the widths that a maxmargin kernel leaves open; None leaves them open.
    """
    if isinstance(kernel, Kernel):
        return kernel if gamma is None else kernel.resolved(gamma)
    if isinstance(kernel, str):
        named = {
            "linear": Linear,
            "poly": lambda: Polynomial(degree=degree, coef0=coef0, gamma=gamma),
            "polynomial": lambda: Polynomial(degree=degree, coef0=coef0, gamma=gamma),
            "rbf": lambda: Gaussian(gamma=gamma),
            "sigmoid": lambda: Sigmoid(c1=gamma, c2=coef0),
            "laplacian": lambda: Laplacian(gamma=gamma),
            "chi2": lambda: ChiSquared(gamma=gamma),
            "cosine": Cosine,
            "precomputed": Precomputed,
        }
        if kernel in named:
            return named[kernel]()
    if callable(kernel) and not isinstance(kernel, type):
        return Function(kernel)
    raise ValueError(
        f"kernel must be one of {NAMES}, a kernel object or a callable of two blocks of rows, got {kernel!r}"
    )


def takes_any_rows(kernel: Any) -> bool:
    """Whether rows may be anything (strings, sets): plain callables and expressions with :class:`Objects`."""
    if isinstance(kernel, Objects):
        return True
    if isinstance(kernel, Function):
        return takes_any_rows(kernel.function)
    if isinstance(kernel, Kernel):
        return any(_of_objects(part) for part in vars(kernel).values())
    if isinstance(kernel, str):
        return False
    from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel  # slow to import, rarely needed

    return callable(kernel) and not isinstance(kernel, GaussianProcessKernel)


def _of_objects(part: Any) -> bool:
    """Whether a part of an expression is one of objects; a function of blocks inside an expression gets numbers."""
    if isinstance(part, Objects):
        return True
    return isinstance(part, Kernel) and any(_of_objects(own) for own in vars(part).values())
