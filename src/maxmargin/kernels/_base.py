"""The kernel: a frozen expression with an algebra, a NumPy meaning, and a lowering to a flat program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from maxmargin._types import Array, FloatArray, RowData
from maxmargin.kernels._program import Builder, Program


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

    def resolved(self, gamma: float) -> Kernel:
        """The same kernel with every width that was left open set to ``gamma``."""
        return self

    # -- what it can do --------------------------------------------------------------------------------------

    def __call__(self, X: RowData, Z: RowData | None = None) -> FloatArray:
        """The matrix k(X_i, Z_j), Z = X by default, in float64."""
        X = as_rows(X)
        if Z is not None:
            return self._values(X, as_rows(Z))
        values = self._values(X, X)
        if self.composable:
            np.fill_diagonal(values, self._diagonal(X))  # exactly, where a distance is 0 but for rounding
        return values

    def diag(self, X: RowData) -> FloatArray:
        """The vector k(X_i, X_i)."""
        return self._diagonal(as_rows(X))

    def lower(self) -> Program:
        """The flat program that back ends run on tiles."""
        builder = Builder()
        self._emit(builder)
        return builder.program()

    # -- the algebra (M23) -----------------------------------------------------------------------------------

    def __add__(self, other: Kernel | float) -> Kernel:
        return _compose().Sum(as_kernel(self), as_kernel(other, "added to"))

    def __mul__(self, other: Kernel | float) -> Kernel:
        return _compose().Product(as_kernel(self), as_kernel(other, "multiplied with"))

    __radd__ = __add__
    __rmul__ = __mul__

    def __sub__(self, other: Any) -> Kernel:
        raise TypeError("the difference of two kernels is not a kernel in general; use + with positive factors")

    __rsub__ = __sub__

    def __pow__(self, exponent: int) -> Kernel:
        if not isinstance(exponent, Integral) or exponent < 1:
            raise ValueError(f"a kernel's power must be a whole number of at least 1, got {exponent!r}")
        return _compose().Power(as_kernel(self), int(exponent))

    def exp(self) -> Kernel:
        """e^k."""
        return _compose().Exp(as_kernel(self))

    def polynomial(self, coefficients: Sequence[float]) -> Kernel:
        """sum_i coefficients[i] k^i; every coefficient must be non-negative."""
        return _compose().PolynomialOf(as_kernel(self), tuple(float(c) for c in coefficients))

    def warp(self, f: Callable[[RowData], Array], g: Callable[[RowData], Array] | None = None) -> Kernel:
        """f(x) k(x, z) f(z) for ``f`` taking rows (n, d) to values (n,)."""
        if g is not None and g is not f:
            raise ValueError(
                "f(x) k(x, z) g(z) with f != g is not symmetric, hence not a kernel; "
                "pass one function and it multiplies both sides"
            )
        return _compose().Warp(as_kernel(self), f)

    def of(self, phi: Callable[[RowData], RowData]) -> Kernel:
        """k(phi(x), phi(z)) for ``phi`` taking rows (n, d) to rows (n, d')."""
        return _compose().Of(as_kernel(self), phi)


def as_kernel(value: Any, action: str = "used as") -> Kernel:
    """Kernels as they are, positive numbers as constant kernels, names and callables as in estimators."""
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


def as_rows(X: RowData) -> RowData:
    """Numbers as a float64 array or CSR matrix; anything else (strings, sets) untouched."""
    if sp.issparse(X):
        return canonical(sp.csr_array(X, dtype=np.float64))
    if isinstance(X, np.ndarray) and X.dtype in (np.float64, np.float32) and X.ndim == 2:
        return X.astype(np.float64, copy=False)
    array = np.asarray(X)
    if array.dtype.kind in "OUS":
        return array
    return check_array(array, dtype=np.float64, ensure_min_samples=0, ensure_min_features=0)


def canonical(X: sp.csr_array) -> sp.csr_array:
    """The same matrix without repeated entries and with 32-bit column numbers; wider ones only where needed."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.indices.dtype == np.int32 or max(X.shape[1], X.nnz) > np.iinfo(np.int32).max:
        return X
    narrowed = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sp.csr_array(narrowed, shape=X.shape)


def _compose() -> Any:
    from maxmargin.kernels import _compose  # the compositions are kernels themselves: imported on use

    return _compose
