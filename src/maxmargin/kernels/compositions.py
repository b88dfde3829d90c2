"""Kernels made of kernels; each construction refuses what would break positive semi-definiteness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from maxmargin._rows import as_rows
from maxmargin._types import Array, FloatArray, RowData
from maxmargin.kernels._base import Kernel
from maxmargin.kernels._program import Builder, Op, RowScalar
from maxmargin.kernels.rounding import FUNCTION, UNIT, Rounding


class _Composite(Kernel):
    """Valid when its parts are; resolves open widths in each part."""

    def _parts(self) -> dict[str, Kernel]:
        return {name: value for name, value in vars(self).items() if isinstance(value, Kernel)}

    @property
    def is_psd(self) -> bool:  # type: ignore[override]  # depends on the parts
        return all(part.is_psd for part in self._parts().values())

    def resolved(self, gamma):
        # every composite is a dataclass, which this base class cannot say of itself, hence the ignore
        return replace(self, **{name: part.resolved(gamma) for name, part in self._parts().items()})  # type: ignore[type-var]


@dataclass(frozen=True)
class Sum(_Composite):
    """k1 + k2"""

    left: Kernel
    right: Kernel

    def _values(self, X, Z):
        return self.left._values(X, Z) + self.right._values(X, Z)

    def _diagonal(self, X):
        return self.left._diagonal(X) + self.right._diagonal(X)

    def rounding(self, X):
        left, right = self.left.rounding(X), self.right.rounding(X)
        return Rounding(np.hypot(left.size, right.size), max(left.relative, right.relative) + UNIT)

    def _emit(self, builder: Builder) -> None:
        self.left._emit(builder)
        self.right._emit(builder)
        builder.emit(Op.ADD)


@dataclass(frozen=True)
class Product(_Composite):
    """k1 * k2 (elementwise)"""

    left: Kernel
    right: Kernel

    def _values(self, X, Z):
        return self.left._values(X, Z) * self.right._values(X, Z)

    def _diagonal(self, X):
        return self.left._diagonal(X) * self.right._diagonal(X)

    def rounding(self, X):
        left, right = self.left.rounding(X), self.right.rounding(X)
        relative = left.relative + right.relative + left.relative * right.relative + 2 * UNIT
        return Rounding(left.size * right.size, relative)

    def _emit(self, builder: Builder) -> None:
        self.left._emit(builder)
        self.right._emit(builder)
        builder.emit(Op.MULTIPLY)


@dataclass(frozen=True)
class Power(_Composite):
    """k^n for a whole number n >= 1"""

    inner: Kernel
    exponent: int

    def _values(self, X, Z):
        return self.inner._values(X, Z) ** self.exponent

    def _diagonal(self, X):
        return self.inner._diagonal(X) ** self.exponent

    def rounding(self, X):
        inner = self.inner.rounding(X)
        return Rounding(inner.size**self.exponent, compounded(inner.relative, self.exponent) + FUNCTION)

    def _emit(self, builder: Builder) -> None:
        self.inner._emit(builder)
        builder.emit(Op.POWER, self.exponent)


@dataclass(frozen=True)
class Exp(_Composite):
    """e^k"""

    inner: Kernel

    def _values(self, X, Z):
        return np.exp(self.inner._values(X, Z))

    def _diagonal(self, X):
        return np.exp(self.inner._diagonal(X))

    def rounding(self, X):
        inner = self.inner.rounding(X)  # k <= (size(x)^2 + size(z)^2) / 2
        exponent = inner.relative * float(inner.size.max(initial=0.0)) ** 2
        return Rounding(np.exp(np.square(inner.size) / 2), float(np.expm1(exponent)) + FUNCTION)

    def _emit(self, builder: Builder) -> None:
        self.inner._emit(builder)
        builder.emit(Op.EXP)


@dataclass(frozen=True)
class PolynomialOf(_Composite):
    """sum_i c_i k^i with c_i >= 0"""

    inner: Kernel
    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.coefficients or not all(0 <= c < np.inf for c in self.coefficients):
            raise ValueError(
                "a polynomial of a kernel needs finite, non-negative coefficients, lowest power first; got "
                f"{self.coefficients}"
            )

    def _horner(self, values: FloatArray) -> FloatArray:
        result = np.zeros_like(values)
        for coefficient in reversed(self.coefficients):
            result = result * values + coefficient
        return result

    def _values(self, X, Z):
        return self._horner(self.inner._values(X, Z))

    def _diagonal(self, X):
        return self._horner(self.inner._diagonal(X))

    def rounding(self, X):
        inner, degree = self.inner.rounding(X), len(self.coefficients)
        relative = compounded(inner.relative + 2 * UNIT, degree)
        return Rounding(np.sqrt(self._horner(np.square(inner.size))), relative)

    def _emit(self, builder: Builder) -> None:
        builder.emit(Op.CONSTANT, self.coefficients[-1])
        for coefficient in reversed(self.coefficients[:-1]):
            self.inner._emit(builder)
            builder.emit(Op.MULTIPLY)
            builder.emit(Op.AFFINE, 1.0, coefficient)


@dataclass(frozen=True, eq=False)
class Warp(_Composite):
    """f(x) k(x, z) f(z)"""

    inner: Kernel
    f: Callable[[RowData], Array]

    def _factors(self, X: RowData) -> FloatArray:
        values = np.asarray(self.f(as_rows(X)), dtype=np.float64)
        if values.shape != (X.shape[0],):
            raise ValueError(f"the warping function must take (n, d) rows to (n,) values, got shape {values.shape}")
        return values

    def _values(self, X, Z):
        return self._factors(X)[:, None] * self.inner._values(X, Z) * self._factors(Z)

    def _diagonal(self, X):
        return self._factors(X) ** 2 * self.inner._diagonal(X)

    def rounding(self, X):
        inner = self.inner.rounding(X)
        return Rounding(np.abs(self._factors(X)) * inner.size, inner.relative + 4 * UNIT)

    def _emit(self, builder: Builder) -> None:
        self.inner._emit(builder)
        factor = RowScalar("function", views=builder.views, function=self._factors)
        builder.emit(Op.SCALE, operand=builder.scalar(factor))


@dataclass(frozen=True, eq=False)
class Of(_Composite):
    """k(phi(x), phi(z))"""

    inner: Kernel
    phi: Callable[[RowData], RowData]

    def _map(self, X: RowData) -> RowData:
        return as_rows(self.phi(as_rows(X)))

    def _values(self, X, Z):
        return self.inner._values(self._map(X), self._map(Z))

    def _diagonal(self, X):
        return self.inner._diagonal(self._map(X))

    def rounding(self, X):
        return self.inner.rounding(self._map(X))

    def _emit(self, builder: Builder) -> None:
        outer = builder.views
        builder.views = (*outer, self._map)
        self.inner._emit(builder)
        builder.views = outer


def compounded(relative: float, factors: int) -> float:
    """Relative error of a product of ``factors`` numbers, each off by ``relative``."""
    return float(np.expm1(factors * np.log1p(relative)))
