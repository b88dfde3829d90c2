"""The kernel: a frozen expression with an algebra, a NumPy meaning, and a lowering to a flat program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin._rows import as_rows
from maxmargin._types import Array, FloatArray, RowData
from maxmargin.kernels._program import Builder, Program
from maxmargin.kernels.rounding import Rounding

if TYPE_CHECKING:
    from maxmargin.kernels._why import KernelProof


class Kernel(ABC):
    """A kernel k(x, z) = phi(x).phi(z).

    Kernels add, multiply and take whole powers; numbers are constant kernels. ``kernel(X, Z)`` is the matrix
    of values in plain NumPy (the reference every back end is tested against).

    >>> import numpy as np
    >>> from maxmargin.kernels import Gaussian, Linear
    >>> X = np.array([[0.0], [1.0]])
    >>> (0.5 * Gaussian(gamma=1.0) + Linear() ** 2)(X).round(3)
    array([[0.5  , 0.184],
           [0.184, 1.5  ]])
    """

    #: True: positive semi-definite by construction. False: not known to be.
    is_psd: bool = True
    #: False for precomputed values: there are no rows to compute another kernel from.
    composable: bool = True

    # -- what a kernel must say ------------------------------------------------------------------------------

    @abstractmethod
    def _values(self, X: RowData, Z: RowData) -> FloatArray:
        """(n, m) values in float64 NumPy."""

    @abstractmethod
    def _diagonal(self, X: RowData) -> FloatArray:
        """(n,) values k(x, x)."""

    @abstractmethod
    def _emit(self, builder: Builder) -> None:
        """Append the operations that leave the kernel's value on the stack."""

    def rounding(self, X: RowData) -> Rounding:
        """A bound on the rounding errors of ``kernel(X)``, for rows as :func:`as_rows` returns them.

        A kernel without a bound is taken at its computed values, and certificates are about those.
        """
        return Rounding(np.sqrt(np.abs(self._diagonal(X))), 0.0)

    def resolved(self, gamma: float) -> Kernel:
        """The same kernel with every open width set to ``gamma``."""
        return self

    # -- what it can do --------------------------------------------------------------------------------------

    def __call__(self, X: RowData, Z: RowData | None = None) -> FloatArray:
        """The matrix k(X_i, Z_j), Z = X by default, in float64."""
        X = as_rows(X)
        if Z is not None:
            return self._values(X, as_rows(Z))
        values = self._values(X, X)
        if self.composable:
            np.fill_diagonal(values, self._diagonal(X))  # the same values, whichever way they are asked for
        return values

    def diag(self, X: RowData) -> FloatArray:
        """The vector k(X_i, X_i)."""
        return self._diagonal(as_rows(X))

    def lower(self) -> Program:
        """The flat program that back ends run on tiles."""
        builder = Builder()
        self._emit(builder)
        return builder.program()

    def why(self) -> KernelProof:
        """Why this is a kernel: the rule behind every node of the expression, or the step that is missing.

        >>> from maxmargin.kernels import Cosine, Linear, Sigmoid
        >>> print((2 * Cosine() + Linear() ** 2).why())
        k1 + k2 is a kernel: the features of both, side by side
        ├─ 2 k is a kernel: the features of k times the root of a positive number
        │  └─ Cosine() is a kernel: the features are x / |x|
        └─ k ** 2 is a kernel: a product of kernels
           └─ Linear() is a kernel: the features are x itself
        >>> [step.verdict for step in (Linear() + Sigmoid()).why().missing]
        ['is not a kernel']
        """
        from maxmargin.kernels._why import proof  # which knows all kernels: imported on use

        return proof(self)

    # -- the algebra -----------------------------------------------------------------------------------------

    def __add__(self, other: Kernel | float) -> Kernel:
        return _compositions().Sum(as_kernel(self), as_kernel(other, "added to"))

    def __mul__(self, other: Kernel | float) -> Kernel:
        return _compositions().Product(as_kernel(self), as_kernel(other, "multiplied with"))

    __radd__ = __add__
    __rmul__ = __mul__

    def __sub__(self, other: Any) -> Kernel:
        raise TypeError("the difference of two kernels is not a kernel in general; use + with positive factors")

    __rsub__ = __sub__

    def __pow__(self, exponent: int) -> Kernel:
        if not isinstance(exponent, Integral) or exponent < 1:
            raise ValueError(f"a kernel's power must be a whole number of at least 1, got {exponent!r}")
        return _compositions().Power(as_kernel(self), int(exponent))

    def exp(self) -> Kernel:
        """e^k."""
        return _compositions().Exp(as_kernel(self))

    def polynomial(self, coefficients: Sequence[float]) -> Kernel:
        """sum_i coefficients[i] k^i; every coefficient must be non-negative."""
        return _compositions().PolynomialOf(as_kernel(self), tuple(float(c) for c in coefficients))

    def warp(self, f: Callable[[RowData], Array], g: Callable[[RowData], Array] | None = None) -> Kernel:
        """f(x) k(x, z) f(z) for ``f`` taking rows (n, d) to values (n,)."""
        if g is not None and g is not f:
            raise ValueError(
                "f(x) k(x, z) g(z) with f != g is not symmetric, hence not a kernel; "
                "pass one function and it multiplies both sides"
            )
        return _compositions().Warp(as_kernel(self), f)

    def of(self, phi: Callable[[RowData], RowData]) -> Kernel:
        """k(phi(x), phi(z)) for ``phi`` taking rows (n, d) to rows (n, d')."""
        return _compositions().Of(as_kernel(self), phi)


def as_kernel(value: Any, action: str = "used as") -> Kernel:
    """Convert to a kernel: a positive number is a constant kernel; names and callables are read as in estimators."""
    if isinstance(value, Kernel):
        if not value.composable:
            raise TypeError("a precomputed kernel cannot be part of another one; combine the matrices instead")
        return value
    if isinstance(value, Real) and not isinstance(value, bool):
        from maxmargin.kernels._standard import Constant

        return Constant(float(value))
    if isinstance(value, str) or callable(value):
        from maxmargin.kernels._resolve import resolve_kernel

        return resolve_kernel(value, gamma=None)  # the width stays open: it is the estimator's to choose
    raise TypeError(f"only kernels, positive numbers and callables can be {action} a kernel, got {value!r}")


def _compositions() -> Any:
    from maxmargin.kernels import compositions  # the compositions are kernels themselves: imported on use

    return compositions
