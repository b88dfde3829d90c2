"""Kernels given from outside: as a table of values, or as a function of two blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._rows import as_rows, count, dense
from maxmargin._types import FloatArray, RowData
from maxmargin.kernels._base import Kernel
from maxmargin.kernels._program import Builder

#: Rows on which functions are tried, and the relative difference that rounding may make.
PROBED, SAME = 5, 1e-9


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The rows are rows of kernel values themselves; columns are the training rows."""

    is_psd = False
    composable = False

    def _values(self, X, Z):
        return np.asarray(X)

    def _diagonal(self, X):
        return np.diag(np.asarray(X)).copy()

    def _emit(self, builder: Builder) -> None:
        builder.load("precomputed")


@dataclass(frozen=True, eq=False)
class Function(Kernel):
    """A user's own function of two blocks of rows, (n, d) and (m, d) to (n, m); not known to be PSD.

    It always receives the rows in float64, whatever type they had.
    """

    function: Any
    is_psd = False

    def _values(self, X, Z):
        return self.called(as_rows(X), as_rows(Z))

    def called(self, X: Any, Z: Any) -> FloatArray:
        """The function's values, checked; the rows reach it as they are."""
        values = self.function(X, Z)
        values = np.array(dense(values), dtype=np.float64)  # always a copy
        if not np.isfinite(values).all():
            raise ValueError("the kernel function returned NaN or infinity; it must return finite numbers")
        if values.shape != (count(X), count(Z)):
            raise ValueError(
                f"the kernel function returned shape {values.shape} for blocks of {count(X)} and {count(Z)} rows; "
                f"it must return ({count(X)}, {count(Z)})"
            )
        return values

    def _diagonal(self, X):
        blocks = [X[i : i + 16] for i in range(0, count(X), 16)]  # few calls, and few values that nobody needs
        return np.concatenate([np.diag(self._values(block, block)) for block in blocks] or [np.zeros(0)])

    def _emit(self, builder: Builder) -> None:
        builder.load("function", self._values)


@dataclass(frozen=True, eq=False)
class Objects(Function):
    """A function of two objects, which may be anything: k(x, z) = function(x, z), a number.

    It is called for every pair of rows, one pair at a time (for half of them where both blocks are the same).

    >>> from maxmargin.kernels import Objects
    >>> shared = Objects(lambda a, b: len(set(a) & set(b)))
    >>> (shared + 1)(["abc", "bcd", "x"])
    array([[4., 3., 1.],
           [3., 4., 1.],
           [1., 1., 2.]])
    """

    def called(self, X, Z):
        first, second = _objects(X), None if Z is X else _objects(Z)
        values = np.empty((len(first), len(first if second is None else second)))
        for i, a in enumerate(first):
            for j, b in enumerate(first[: i + 1] if second is None else second):
                values[i, j] = self.function(a, b)
                if second is None:
                    values[j, i] = values[i, j]
        if not np.isfinite(values).all():
            raise ValueError("the kernel function returned NaN or infinity; it must return finite numbers")
        return values

    def _values(self, X, Z):
        return self.called(X, Z)

    def _diagonal(self, X):
        return np.array([self.function(a, a) for a in _objects(X)], dtype=np.float64)


def _objects(X: Any) -> list[Any]:
    """The rows, one by one; of a frame they are named tuples."""
    return list(X.itertuples(index=False)) if hasattr(X, "itertuples") else list(X)


def values_of(kernel: Kernel, X: Any, Z: Any) -> FloatArray:
    """Kernel values of rows as they are: a function gets them untouched."""
    return kernel.called(X, Z) if isinstance(kernel, Function) else kernel._values(X, Z)


def require_consistent(kernel: Kernel, X: RowData) -> None:
    """Raise unless a kernel made of functions gives two rows the same value alone as in a larger block."""
    if not any(base.kind == "function" for base in kernel.lower().bases):
        return
    few = [X[i] for i in range(min(PROBED, count(X)))] if isinstance(X, list) else X[: min(PROBED, count(X))]
    together = kernel(few, few)
    for i in range(count(few)):
        j = count(few) - 1 - i
        alone = float(kernel(few[i : i + 1], few[j : j + 1])[0, 0])
        if not np.isclose(alone, together[i, j], rtol=SAME, atol=SAME * float(np.abs(together).max())):
            raise ValueError(
                f"the kernel function gives rows {i} and {j} the value {together[i, j]:.9g} among others and "
                f"{alone:.9g} by themselves; it must depend on the two rows only, not on the block it is called with"
            )
