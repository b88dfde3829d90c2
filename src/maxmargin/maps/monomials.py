"""Products of the values of a row: the features of (gamma x.z + c)^t, collapsed or ordered.

Both expansions work on a few values per row, dense rows (all of them) or the non-zeros of sparse ones, whose column
numbers ``index`` then give the column number of each product. Columns are in lexicographic order.

Collapsed: with the constant sqrt(c) as one more variable (the first), the features are the monomials of degree t of
D = d + 1 variables, weighted by sqrt(t! / (a_1! ... a_D!)). Those of size s that begin with variable i are variable i
times those of size s - 1 that begin with i or later: a suffix of them.

Ordered: the blocks sqrt(binom(t, i) c^(t-i)) x (x) ... (x) x, i factors, for i = 0..t.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement, groupby, product
from math import comb
from typing import Any

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray


def multisets(variables: int, size: int) -> int:
    """Monomials of degree ``size``."""
    return comb(max(variables + size - 1, 0), size)


def starts(variables: int, size: int) -> list[int]:
    """Number of monomials of degree ``size`` that begin with a variable before 0, 1, ..., ``variables``."""
    whole = multisets(variables, size)
    return [whole - multisets(variables - first, size) for first in range(variables + 1)]


@dataclass(frozen=True)
class Collapsed:
    """Monomials of ``degree`` in x_1..x_d and, unless it is 0, a constant variable."""

    d: int
    degree: int
    coef0: float

    @property
    def _constant(self) -> int:
        return int(self.coef0 > 0)

    @property
    def dimension(self) -> int:
        return self.width(self.d)

    def width(self, values: int) -> int:
        """How many features of a row with this many non-zero values are not 0."""
        return multisets(values + self._constant, self.degree)

    @cached_property
    def _shifts(self) -> list[Array]:
        """How much putting variable i before a monomial of size s - 1 changes its column number: [s - 1][i]."""
        D = self.d + self._constant
        counts = [[multisets(D - 1 - i, size) for i in range(D)] for size in range(1, self.degree + 1)]
        return [np.array([multisets(D - 1, s + 1) - n for n in row], dtype=np.int64) for s, row in enumerate(counts)]

    def expand(self, values: Array, index: IntArray | None) -> tuple[Array, Any]:
        """(products, their columns if ``index`` has those of the values)."""
        if self._constant:
            root = np.full((len(values), 1), np.sqrt(self.coef0), dtype=values.dtype)
            values = np.hstack([root, values])
            index = None if index is None else np.hstack([np.zeros((len(index), 1), dtype=np.int64), index + 1])
        n, p = values.shape
        products = np.ones((n, 1), dtype=values.dtype)
        columns = None if index is None else np.zeros((n, 1), dtype=np.int64)
        for size in range(1, self.degree + 1):
            before, at = starts(p, size - 1), starts(p, size)
            longer = np.empty((n, at[-1]), dtype=values.dtype)
            for i in range(p):
                np.multiply(values[:, i : i + 1], products[:, before[i] :], out=longer[:, at[i] : at[i + 1]])
            products = longer
            if index is not None and columns is not None:
                shift = self._shifts[size - 1][index]
                parts = [columns[:, before[i] :] + shift[:, i : i + 1] for i in range(p)]
                columns = np.hstack([np.empty((n, 0), dtype=np.int64), *parts])
        products *= multinomial_roots(p, self.degree).astype(values.dtype, copy=False)
        return products, columns

    def names(self, features: list[str]) -> list[str]:
        """The products in words, 'x0^2 x1'."""
        variables = ["", *features] if self._constant else features
        return [_power_name(chosen) for chosen in combinations_with_replacement(variables, self.degree)]


@lru_cache(maxsize=1)  # every block of rows needs the same
def multinomial_roots(variables: int, degree: int) -> FloatArray:
    """sqrt(t! / (a_1! ... a_D!)) of every monomial x^a of degree t."""
    squares, repeats = np.ones(1), np.zeros(1)
    for size in range(1, degree + 1):
        before, at = starts(variables, size - 1), starts(variables, size)
        longer, counts = np.empty(at[-1]), np.ones(at[-1])
        for i in range(variables):
            same = before[i + 1] - before[i]  # how many of the shorter ones begin with variable i already
            counts[at[i] : at[i] + same] += repeats[before[i] : before[i + 1]]
            longer[at[i] : at[i + 1]] = squares[before[i] :] * size / counts[at[i] : at[i + 1]]
        squares, repeats = longer, counts
    return np.sqrt(squares)


@dataclass(frozen=True)
class Ordered:
    """All products of up to ``degree`` values in every order; without a constant, of exactly ``degree``."""

    d: int
    degree: int
    coef0: float

    @property
    def _sizes(self) -> range:
        return range(0 if self.coef0 > 0 else self.degree, self.degree + 1)

    @property
    def dimension(self) -> int:
        return self.width(self.d)

    def width(self, values: int) -> int:
        """How many features of a row with this many non-zero values are not 0."""
        return sum(values**size for size in self._sizes)

    def expand(self, values: Array, index: IntArray | None) -> tuple[Array, Any]:
        """(products, their columns if ``index`` has those of the values)."""
        n = len(values)
        power = np.ones((n, 1), dtype=values.dtype)
        column = np.zeros((n, 1), dtype=np.int64)
        parts, columns = [], []
        for size in range(self.degree + 1):
            if size:
                power = (power[:, :, None] * values[:, None, :]).reshape(n, -1)
                column = column if index is None else (column[:, :, None] * self.d + index[:, None, :]).reshape(n, -1)
            if size in self._sizes:
                weight = np.sqrt(comb(self.degree, size) * self.coef0 ** (self.degree - size))
                parts.append(power * values.dtype.type(weight))
                columns.append(column + sum(self.d**smaller for smaller in self._sizes if smaller < size))
        return np.hstack(parts), None if index is None else np.hstack(columns)

    def names(self, features: list[str]) -> list[str]:
        """The products in words, 'x0 x1' and 'x1 x0'."""
        return [" ".join(chosen) or "1" for size in self._sizes for chosen in product(features, repeat=size)]


def _power_name(variables: tuple[str, ...]) -> str:
    """'x0^2 x1' for ('', 'x0', 'x0', 'x1'); variables are in order, the constant has no name."""
    powers = [(name, len(list(same))) for name, same in groupby(variables) if name]
    return " ".join(name if times == 1 else f"{name}^{times}" for name, times in powers) or "1"
