"""The standard kernels of a distance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin._rows import count, dense
from maxmargin._types import FloatArray, RowData
from maxmargin.kernels._base import Kernel, as_kernel
from maxmargin.kernels._check import given, require, require_nonnegative, require_positive, require_rate
from maxmargin.kernels._distances import distance_error, squared_distances
from maxmargin.kernels._program import Builder, Op, RowScalar
from maxmargin.kernels.rounding import FUNCTION, UNIT, Rounding, terms

#: Largest slope of exp(-x) in log x, x exp(-x) = 1/e: what a relative error of the exponent does to the value.
DAMPED = 0.4
#: Rounding of the exponent beyond that of the distance: the rate, and its product with the distance.
EXPONENT = 8 * UNIT


class _Stationary(Kernel):
    """A kernel that is 1 on the diagonal and a function of a distance."""

    #: How a relative error of the squared distance is magnified in the value.
    sensitivity = DAMPED

    def _diagonal(self, X):
        return np.ones(count(X))

    def _evaluation(self) -> float:
        return FUNCTION + DAMPED * EXPONENT

    def rounding(self, X):
        return Rounding(np.ones(count(X)), self.sensitivity * distance_error(X) + self._evaluation())


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
        require_positive(self.sigma, "sigma")
        require_nonnegative(self.gamma, "gamma")
        if self.sigma is not None:
            require_rate(lambda: self._gamma, "sigma", self.sigma)

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

    def rounding(self, X):
        if self.over is None:
            return super().rounding(X)
        inner = self.over.rounding(X)  # k(x,x) + k(z,z) - 2 k(x,z): each off by the inner kernel's error
        exponent = self._gamma * 4 * (inner.relative + 2 * UNIT) * float(inner.size.max(initial=0.0)) ** 2
        return Rounding(np.ones(count(X)), float(min(1.0, np.expm1(exponent))) + self._evaluation())

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
        require_nonnegative(self.gamma, "gamma")

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
    sensitivity = 1.0

    def __post_init__(self) -> None:
        require(self.nu in (0.5, 1.5, 2.5), "nu must be 0.5, 1.5 or 2.5", self.nu)
        require_positive(self.length, "length")
        require_rate(lambda: self._rate**2, "length", self.length)

    @property
    def _rate(self) -> float:
        return float(np.sqrt(2 * self.nu)) / float(self.length)

    def _evaluation(self) -> float:
        return 2 * FUNCTION + EXPONENT

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
    sensitivity = 1.0

    def __post_init__(self) -> None:
        require_positive(self.alpha, "alpha")
        require_positive(self.length, "length")
        require_rate(lambda: self._rate, "length", self.length)

    @property
    def _rate(self) -> float:
        return 1.0 / (2 * self.alpha * self.length**2)

    def _evaluation(self) -> float:
        return FUNCTION + EXPONENT + UNIT * self.alpha  # the power multiplies the rounding of its base

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
        require_nonnegative(self.gamma, "gamma")

    def resolved(self, gamma):
        return replace(self, gamma=gamma) if self.gamma is None else self

    def _values(self, X, Z):
        from sklearn.metrics.pairwise import manhattan_distances  # slow to import, and other kernels do without

        return np.exp(-given(self.gamma, self) * _pairwise(manhattan_distances, X, Z))

    def rounding(self, X):
        # sums of non-negative terms, each a difference: relative errors throughout
        return Rounding(np.ones(count(X)), DAMPED * UNIT * (terms(X) + 8) + self._evaluation())

    def _emit(self, builder: Builder) -> None:
        builder.load("l1")
        builder.emit(Op.AFFINE, -given(self.gamma, self))
        builder.emit(Op.EXP)


@dataclass(frozen=True)
class ChiSquared(_Stationary):
    """k(x, z) = exp(-gamma sum_j (x_j - z_j)^2 / (x_j + z_j)) for rows of non-negative values."""

    gamma: float | None = 1.0

    def __post_init__(self) -> None:
        require_nonnegative(self.gamma, "gamma")

    def resolved(self, gamma):
        return replace(self, gamma=gamma) if self.gamma is None else self

    def _values(self, X, Z):
        from sklearn.metrics.pairwise import additive_chi2_kernel

        X, Z = (dense(rows) for rows in (X, Z))
        return np.exp(given(self.gamma, self) * _pairwise(additive_chi2_kernel, X, Z))

    def rounding(self, X):
        # sums of non-negative terms, each a difference: relative errors throughout
        return Rounding(np.ones(count(X)), DAMPED * UNIT * (terms(X) + 8) + self._evaluation())

    def _emit(self, builder: Builder) -> None:
        builder.load("chi2")
        builder.emit(Op.AFFINE, -given(self.gamma, self))
        builder.emit(Op.EXP)


def emit_distance(builder: Builder, a: float, b: float = 0.0) -> None:
    """Push a ||x - z|| + b."""
    builder.squared_distance()
    builder.emit(Op.SQRT)
    builder.emit(Op.AFFINE, a, b)


def _pairwise(function: Any, X: RowData, Z: RowData) -> FloatArray:
    """An empty table for empty input, which scikit-learn's pairwise functions refuse."""
    return function(X, Z) if count(X) and count(Z) else np.zeros((count(X), count(Z)))
