"""Kernels given from outside: as a table of values, or as a function of two blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.kernels._base import Kernel
from maxmargin.kernels._program import Builder
from maxmargin.kernels._standard import count


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
    """A user's own function of two blocks of rows, (n, d) and (m, d) to (n, m); not known to be PSD."""

    function: Any
    is_psd = False

    def _values(self, X, Z):
        values = self.function(X, Z)
        values = np.array(values.toarray() if sp.issparse(values) else values, dtype=np.float64)  # the user's stays
        if not np.isfinite(values).all():
            raise ValueError("the kernel function returned NaN or infinity; it must return finite numbers")
        if values.shape != (count(X), count(Z)):
            raise ValueError(
                f"the kernel function returned shape {values.shape} for blocks of {count(X)} and {count(Z)} rows; "
                f"it must return ({count(X)}, {count(Z)})"
            )
        return values

    def _diagonal(self, X):
        blocks = [X[i : i + 16] for i in range(0, count(X), 16)]  # few calls, few values computed in vain
        return np.concatenate([np.diag(self._values(block, block)) for block in blocks] or [np.zeros(0)])

    def _emit(self, builder: Builder) -> None:
        builder.load("function", self._values)
