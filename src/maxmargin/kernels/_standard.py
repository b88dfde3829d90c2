"""The standard kernels (M24)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import additive_chi2_kernel, manhattan_distances
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from maxmargin._types import Array, FloatArray, RowData
from maxmargin.exceptions import NotPSDError
from maxmargin.kernels._base import Kernel, as_kernel
from maxmargin.kernels._program import Builder, Op, RowScalar

#: Eigenvalues of a matrix A above -EIGENVALUE_TOL * largest count as non-negative.
EIGENVALUE_TOL = 1e-10
#: Values of sparse rows that may be made dense for a product.
DENSE_VALUES = 2**23


def dot(X: RowData, Z: RowData) -> FloatArray:
    """X Z' as a dense array."""
    if sp.issparse(X) and sp.issparse(Z) and X.shape[0] * X.shape[1] <= DENSE_VALUES:  # two sparse ones are slow
        return np.ascontiguousarray(np.asarray(Z @ X.toarray().T).T)
    return np.asarray(safe_sparse_dot(X, Z.T, dense_output=True))


def squared_distances(X: RowData, Z: RowData) -> FloatArray:
    """||x - z||^2 of all pairs; dense rows are centred first, so that far-away data lose no digits."""
    if not sp.issparse(X) and not sp.issparse(Z) and len(Z):
        center = Z.mean(axis=0)
        X, Z = X - center, Z - center
    square = dot(X, Z)
    square *= -2.0
    square += row_norms(X, squared=True)[:, None]
    square += row_norms(Z, squared=True)
    return np.maximum(square, 0.0, out=square)


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = x.z"""

    def _values(self, X, Z):
        return dot(X, Z)

    def _diagonal(self, X):
        return row_norms(X, squared=True)

    def _emit(self, builder: Builder) -> None:
        builder.load("dot")


@dataclass(frozen=True)
class Constant(Kernel):
    """k(x, z) = c, c > 0."""

    c: float

    def __post_init__(self) -> None:
        require(self.c > 0, "a constant kernel, and a factor of a kernel, must be positive", self.c)

    def _values(self, X, Z):
        return np.full((count(X), count(Z)), self.c)

    def _diagonal(self, X):
        return np.full(count(X), self.c)

    def _emit(self, builder: Builder) -> None:
        builder.emit(Op.CONSTANT, self.c)


@dataclass(frozen=True)
class Polynomial(Kernel):
    """k(x, z) = (gamma x.z + coef0)^degree; positive semi-definite for gamma, coef0 >= 0."""

    degree: int = 3
    coef0: float = 1.0
    gamma: float | None = 1.0

    def __post_init__(self) -> None:
        require(self.degree >= 0 and self.degree == int(self.degree), "degree must be a whole number >= 0", self.degree)

    @property
    def is_psd(self) -> bool:  # type: ignore[override]  # depends on the parameters
        return self.coef0 >= 0 and (self.gamma is None or self.gamma >= 0)

    def resolved(self, gamma):
        return replace(self, gamma=gamma) if self.gamma is None else self

    def _values(self, X, Z):
        return (given(self.gamma, self) * dot(X, Z) + self.coef0) ** self.degree

    def _diagonal(self, X):
        return (given(self.gamma, self) * row_norms(X, squared=True) + self.coef0) ** self.degree

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

    def resolved(self, gamma):
        return replace(self, c1=gamma) if self.c1 is None else self

    def _values(self, X, Z):
        return np.tanh(given(self.c1, self) * dot(X, Z) + self.c2)

    def _diagonal(self, X):
        return np.tanh(given(self.c1, self) * row_norms(X, squared=True) + self.c2)

    def _emit(self, builder: Builder) -> None:
        builder.load("dot")
        builder.emit(Op.AFFINE, given(self.c1, self), self.c2)
        builder.emit(Op.TANH)


class _Stationary(Kernel):
    """A kernel that is 1 on the diagonal and a function of a distance."""

    def _diagonal(self, X):
        return np.ones(count(X))


@dataclass(frozen=True)
class Gaussian(_Stationary):
    """k(x, z) = exp(-gamma ||x - z||^2) with gamma = 1 / (2 sigma^2); give one of the two.

    With neither, an estimator uses its own ``gamma`` ('scale' by default). ``over`` takes the distance in
    another kernel's feature space: ||phi(x) - phi(z)||^2 = k(x,x) + k(z,z) - 2 k(x,z).
    """

    gamma: float | None = None
    sigma: float | None = None
    over: Kernel | None = None

    def __post_init__(self) -> None:
        if self.over is not None:
            object.__setattr__(self, "over", as_kernel(self.over))
        if self.gamma is not None and self.sigma is not None:
            raise ValueError(f"give gamma or sigma, not both; got gamma={self.gamma!r} and sigma={self.sigma!r}")
        if self.sigma is not None:
            require(self.sigma > 0, "sigma must be positive", self.sigma)
        if self.gamma is not None:
            require(self.gamma >= 0, "gamma must not be negative", self.gamma)

    @property
    def is_psd(self) -> bool:  # type: ignore[override]  # depends on the inner kernel
        return self.over is None or self.over.is_psd

    @property
    def _gamma(self) -> float:
        return given(self.gamma, self) if self.sigma is None else 0.5 / self.sigma**2

    def resolved(self, gamma):
        over = None if self.over is None else self.over.resolved(gamma)
        open_width = self.gamma is None and self.sigma is None
        return replace(self, gamma=gamma if open_width else self.gamma, over=over)

    def _values(self, X, Z):
        if self.over is None:
            square = squared_distances(X, Z)
        else:
            square = self.over._diagonal(X)[:, None] + self.over._diagonal(Z) - 2 * self.over._values(X, Z)
            np.maximum(square, 0.0, out=square)
        square *= -self._gamma
        return np.exp(square, out=square)

    def _emit(self, builder: Builder) -> None:
        if self.over is None:
            builder.squared_distance()
        else:
            self.over._emit(builder)
            diagonal = RowScalar("function", views=builder.views, function=self.over._diagonal)
            builder.emit(Op.DISTANCE, operand=builder.scalar(diagonal))
        builder.emit(Op.AFFINE, -self._gamma)
        builder.emit(Op.EXP)


@dataclass(frozen=True)
class Exponential(_Stationary):
    """k(x, z) = exp(-gamma ||x - z||), of the Euclidean distance."""

    gamma: float | None = None

    def __post_init__(self) -> None:
        require(self.gamma is None or self.gamma >= 0, "gamma must not be negative", self.gamma)

    def resolved(self, gamma):
        return replace(self, gamma=gamma) if self.gamma is None else self

    def _values(self, X, Z):
        return np.exp(-given(self.gamma, self) * np.sqrt(squared_distances(X, Z)))

    def _emit(self, builder: Builder) -> None:
        emit_distance(builder, -given(self.gamma, self))
        builder.emit(Op.EXP)


@dataclass(frozen=True)
class Matern(_Stationary):
    """Matern kernel of smoothness nu = 0.5, 1.5 or 2.5 and length scale ``length``.

    With r = sqrt(2 nu) ||x - z|| / length: e^-r, (1 + r) e^-r, (1 + r + r^2/3) e^-r.
    """

    nu: float = 1.5
    length: float = 1.0

    def __post_init__(self) -> None:
        require(self.nu in (0.5, 1.5, 2.5), "nu must be 0.5, 1.5 or 2.5", self.nu)
        require(self.length > 0, "length must be positive", self.length)

    @property
    def _rate(self) -> float:
        return float(np.sqrt(2 * self.nu) / self.length)

    def _values(self, X, Z):
        r = self._rate * np.sqrt(squared_distances(X, Z))
        factor = {0.5: 1.0, 1.5: 1.0 + r, 2.5: 1.0 + r + r**2 / 3}[self.nu]
        return factor * np.exp(-r)

    def _emit(self, builder: Builder) -> None:
        emit_distance(builder, -self._rate)
        builder.emit(Op.EXP)
        if self.nu == 0.5:
            return
        emit_distance(builder, self._rate, 1.0)
        if self.nu == 2.5:
            builder.squared_distance()
            builder.emit(Op.AFFINE, self._rate**2 / 3)
            builder.emit(Op.ADD)
        builder.emit(Op.MULTIPLY)


@dataclass(frozen=True)
class RationalQuadratic(_Stationary):
    """k(x, z) = (1 + ||x - z||^2 / (2 alpha length^2))^-alpha."""

    alpha: float = 1.0
    length: float = 1.0

    def __post_init__(self) -> None:
        require(self.alpha > 0, "alpha must be positive", self.alpha)
        require(self.length > 0, "length must be positive", self.length)

    @property
    def _rate(self) -> float:
        return 1.0 / (2 * self.alpha * self.length**2)

    def _values(self, X, Z):
        return (1.0 + self._rate * squared_distances(X, Z)) ** -self.alpha

    def _emit(self, builder: Builder) -> None:
        builder.squared_distance()
        builder.emit(Op.AFFINE, self._rate, 1.0)
        builder.emit(Op.REAL_POWER, -self.alpha)


@dataclass(frozen=True)
class Laplacian(_Stationary):
    """k(x, z) = exp(-gamma ||x - z||_1)."""

    gamma: float | None = None

    def __post_init__(self) -> None:
        require(self.gamma is None or self.gamma >= 0, "gamma must not be negative", self.gamma)

    def resolved(self, gamma):
        return replace(self, gamma=gamma) if self.gamma is None else self

    def _values(self, X, Z):
        return np.exp(-given(self.gamma, self) * _pairwise(manhattan_distances, X, Z))

    def _emit(self, builder: Builder) -> None:
        builder.load("l1")
        builder.emit(Op.AFFINE, -given(self.gamma, self))
        builder.emit(Op.EXP)


@dataclass(frozen=True)
class ChiSquared(_Stationary):
    """k(x, z) = exp(-gamma sum_j (x_j - z_j)^2 / (x_j + z_j)) for rows of non-negative values."""

    gamma: float | None = 1.0

    def __post_init__(self) -> None:
        require(self.gamma is None or self.gamma >= 0, "gamma must not be negative", self.gamma)

    def resolved(self, gamma):
        return replace(self, gamma=gamma) if self.gamma is None else self

    def _values(self, X, Z):
        X, Z = (rows.toarray() if sp.issparse(rows) else rows for rows in (X, Z))
        return np.exp(given(self.gamma, self) * _pairwise(additive_chi2_kernel, X, Z))

    def _emit(self, builder: Builder) -> None:
        builder.load("chi2")
        builder.emit(Op.AFFINE, -given(self.gamma, self))
        builder.emit(Op.EXP)


@dataclass(frozen=True)
class Cosine(Kernel):
    """k(x, z) = x.z / (||x|| ||z||), 0 where a row is 0."""

    def _values(self, X, Z):
        return inverse_norms(X)[:, None] * dot(X, Z) * inverse_norms(Z)

    def _diagonal(self, X):
        return np.asarray(row_norms(X) > 0, dtype=np.float64)

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
        if not square or not np.allclose(A, A.T, rtol=0.0, atol=EIGENVALUE_TOL * float(np.abs(A).max())):
            raise ValueError(f"A must be a symmetric square matrix, got shape {A.shape}")
        values, vectors = np.linalg.eigh(A)
        if values[0] < -EIGENVALUE_TOL * max(values[-1], np.finfo(float).tiny):
            raise NotPSDError(
                f"A must be positive semi-definite, its smallest eigenvalue is {values[0]:.3g}; "
                "replace A by A'A or add a multiple of the identity",
                witness=vectors[:, 0],
            )
        object.__setattr__(self, "A", A)
        object.__setattr__(self, "_root", vectors * np.sqrt(np.maximum(values, 0.0)))  # A = root root'

    def _values(self, X, Z):
        return dot(np.asarray(X @ self.A), Z)

    def _diagonal(self, X):
        return row_norms(self._map(X), squared=True)

    def _map(self, X: RowData) -> FloatArray:
        return np.asarray(X @ self._root)  # type: ignore[attr-defined]  # set in __post_init__

    def _emit(self, builder: Builder) -> None:
        outer = builder.views
        builder.views = (*outer, self._map)
        builder.load("dot")
        builder.views = outer


def require(ok: bool, what: str, value: Any) -> None:
    """Raise unless ``ok``; NaN fails every comparison and so is refused too."""
    if not ok:
        raise ValueError(f"{what}, got {value!r}")


def given(gamma: float | None, kernel: Kernel) -> float:
    """The width, or an error that says how to get one."""
    if gamma is None:
        name = type(kernel).__name__
        raise ValueError(f"{name} has no width yet: give it one, as in {name}(1.0), or let an estimator's gamma set it")
    return float(gamma)


def inverse_norms(X: RowData) -> FloatArray:
    """1 / ||x||, and 0 for a zero row."""
    norms = row_norms(X)
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def emit_distance(builder: Builder, a: float, b: float = 0.0) -> None:
    """Push a ||x - z|| + b."""
    builder.squared_distance()
    builder.emit(Op.SQRT)
    builder.emit(Op.AFFINE, a, b)


def _pairwise(function: Any, X: RowData, Z: RowData) -> FloatArray:
    """scikit-learn's pairwise functions refuse empty input; there, the answer is an empty table."""
    return function(X, Z) if count(X) and count(Z) else np.zeros((count(X), count(Z)))


def count(X: RowData) -> int:
    """Number of rows of an array, a sparse matrix or a sequence."""
    return X.shape[0] if hasattr(X, "shape") else len(X)
