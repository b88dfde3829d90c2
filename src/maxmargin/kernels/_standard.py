"""The standard kernels of a dot product; those of a distance are in ``_stationary``."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from maxmargin._rows import as_rows, count
from maxmargin._types import Array, FloatArray, RowData
from maxmargin.exceptions import NotPSDError
from maxmargin.kernels._base import Kernel
from maxmargin.kernels._check import given, require, require_finite, require_positive
from maxmargin.kernels._distances import dot
from maxmargin.kernels._program import Builder, Op, RowScalar
from maxmargin.kernels.rounding import FUNCTION, UNIT, Rounding, terms

#: Eigenvalues of a (d, d) matrix A above -EIGENVALUE_TOL * d * largest are rounding, and count as 0.
EIGENVALUE_TOL = 10 * float(np.finfo(float).eps)
#: Largest difference between A and its transpose, relative to the largest value, that is rounding.
SYMMETRY_TOL = 1e-10


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = x.z"""

    def _values(self, X, Z):
        return dot(X, Z)

    def _diagonal(self, X):
        return row_norms(X, squared=True)

    def rounding(self, X):
        return Rounding(row_norms(X), UNIT * (terms(X) + 2))

    def _emit(self, builder: Builder) -> None:
        builder.load("dot")


@dataclass(frozen=True)
class Constant(Kernel):
    """k(x, z) = c, c > 0."""

    c: float

    def __post_init__(self) -> None:
        require_positive(self.c, "a constant kernel, and a factor of a kernel,")

    def _values(self, X, Z):
        return np.full((count(X), count(Z)), self.c)

    def _diagonal(self, X):
        return np.full(count(X), self.c)

    def rounding(self, X):
        return Rounding(np.full(count(X), np.sqrt(self.c)), UNIT)

    def _emit(self, builder: Builder) -> None:
        builder.emit(Op.CONSTANT, self.c)


@dataclass(frozen=True)
class Polynomial(Kernel):
    """k(x, z) = (gamma x.z + coef0)^degree; positive semi-definite for gamma, coef0 >= 0."""

    degree: int = 3
    coef0: float = 1.0
    gamma: float | None = 1.0

    def __post_init__(self) -> None:
        whole = 0 <= self.degree < np.inf and self.degree == int(self.degree)
        require(whole, "degree must be a whole number >= 0", self.degree)
        require_finite(self.coef0, "coef0")
        require_finite(self.gamma, "gamma")

    @property
    def is_psd(self) -> bool:  # type: ignore[override]  # depends on the parameters
        return self.coef0 >= 0 and (self.gamma is None or self.gamma >= 0)

    def resolved(self, gamma):
        return replace(self, gamma=gamma) if self.gamma is None else self

    def _values(self, X, Z):
        return (given(self.gamma, self) * dot(X, Z) + self.coef0) ** self.degree

    def _diagonal(self, X):
        return (given(self.gamma, self) * row_norms(X, squared=True) + self.coef0) ** self.degree

    def rounding(self, X):
        # Cauchy-Schwarz: with size^2 = |gamma| |x|^2 + |coef0|, powers of sizes bound powers of the kernel
        size = np.sqrt(abs(given(self.gamma, self)) * row_norms(X, squared=True) + abs(self.coef0))
        return Rounding(size**self.degree, self.degree * UNIT * (terms(X) + 5) + FUNCTION)

    def _emit(self, builder: Builder) -> None:
        builder.load("dot")
        builder.emit(Op.AFFINE, given(self.gamma, self), self.coef0)
        builder.emit(Op.POWER, self.degree)


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """k(x, z) = tanh(c1 x.z + c2); **not** positive semi-definite in general, so its optimum is only stationary."""

    c1: float | None = 1.0
    c2: float = 0.0
    is_psd = False

    def __post_init__(self) -> None:
        require_finite(self.c1, "c1")
        require_finite(self.c2, "c2")

    def resolved(self, gamma):
        return replace(self, c1=gamma) if self.c1 is None else self

    def _values(self, X, Z):
        return np.tanh(given(self.c1, self) * dot(X, Z) + self.c2)

    def _diagonal(self, X):
        return np.tanh(given(self.c1, self) * row_norms(X, squared=True) + self.c2)

    def rounding(self, X):
        largest = float(row_norms(X, squared=True).max(initial=0.0))
        argument = abs(given(self.c1, self)) * (terms(X) + 4) * largest + 2 * abs(self.c2)
        return Rounding(np.ones(count(X)), UNIT * argument + FUNCTION)

    def _emit(self, builder: Builder) -> None:
        builder.load("dot")
        builder.emit(Op.AFFINE, given(self.c1, self), self.c2)
        builder.emit(Op.TANH)


@dataclass(frozen=True)
class Cosine(Kernel):
    """k(x, z) = x.z / (||x|| ||z||), 0 where a row is 0."""

    def _values(self, X, Z):
        return dot(directions(X), directions(Z))

    def _diagonal(self, X):
        return np.asarray(largest_values(X) > 0, dtype=np.float64)

    def rounding(self, X):
        return Rounding(np.ones(count(X)), UNIT * (2 * terms(X) + 12))

    def _emit(self, builder: Builder) -> None:
        base = builder.load("dot")
        builder.emit(Op.SCALE, operand=builder.scalar(RowScalar("inverse_norm", base)))


@dataclass(frozen=True, eq=False)
class QuadraticForm(Kernel):
    """k(x, z) = x' A z for a symmetric positive semi-definite matrix A."""

    A: Array

    def __post_init__(self) -> None:
        A = np.asarray(self.A, dtype=np.float64)
        square = A.ndim == 2 and A.shape[0] == A.shape[1] and A.size > 0
        require(bool(np.isfinite(A).all()), "A must be finite", A)
        if not square or not np.allclose(A, A.T, rtol=0.0, atol=SYMMETRY_TOL * float(np.abs(A).max())):
            raise ValueError(f"A must be a symmetric square matrix, got shape {A.shape}")
        values, vectors = np.linalg.eigh(A)
        if values[0] < -EIGENVALUE_TOL * len(A) * max(values[-1], np.finfo(float).tiny):
            raise NotPSDError(
                f"A must be positive semi-definite, its smallest eigenvalue is {values[0]:.3g}; "
                "replace A by A'A or add a multiple of the identity",
                witness=vectors[:, 0],
            )
        object.__setattr__(self, "A", A)
        object.__setattr__(self, "_root", vectors * np.sqrt(np.maximum(values, 0.0)))  # A = root root'

    def _values(self, X, Z):
        return dot(self._map(X), self._map(Z))

    def _diagonal(self, X):
        return row_norms(self._map(X), squared=True)

    def rounding(self, X):
        # errors of the maps, of their product and of the eigenvalues behind the root, relative to |x| |A|^(1/2)
        size = row_norms(X) * float(np.linalg.norm(self._root))  # type: ignore[attr-defined]  # set in __post_init__
        return Rounding(size, UNIT * (3 * terms(X) + 40 * len(self.A) + 8))

    def _map(self, X: RowData) -> FloatArray:
        return np.asarray(as_rows(X) @ self._root)  # type: ignore[attr-defined]  # set in __post_init__

    def _emit(self, builder: Builder) -> None:
        outer = builder.views
        builder.views = (*outer, self._map)
        builder.load("dot")
        builder.views = outer


def inverse_norms(X: RowData) -> FloatArray:
    """1 / ||x||, and 0 for a zero row."""
    norms = row_norms(X)
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def largest_values(X: RowData) -> FloatArray:
    """The largest |x_j| of every row."""
    if sp.issparse(X):
        return (
            np.asarray(abs(X).max(axis=1).toarray(), dtype=np.float64).ravel() if X.shape[1] else np.zeros(X.shape[0])
        )
    return np.abs(X).max(axis=1, initial=0.0)


def directions(X: RowData) -> RowData:
    """x / ||x||, and 0 for a zero row; first divided by the largest value, so that squares stay in range."""
    for norms in (largest_values, row_norms):
        size = norms(X)
        size = np.where(size > 0, size, 1.0)
        X = sp.csr_array(sp.diags_array(1.0 / size) @ X) if sp.issparse(X) else X / size[:, None]
    return X
