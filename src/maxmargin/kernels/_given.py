"""Kernels given from outside: as a table of values, or as a function of two blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._rows import as_rows, count, dense
from maxmargin._types import RowData
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
        values = self.function(as_rows(X), as_rows(Z))
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


def require_consistent(kernel: Kernel, X: RowData) -> None:
    """Raise unless a kernel made of functions gives two rows the same value alone as in a larger block."""
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
