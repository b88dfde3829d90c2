"""The features of a Nystroem map as a linear operator: computed when they are needed, never stored.

With L the factor of the landmarks' kernel values, X = K_nm L^-T, so that products with vectors need kernel values only:

    X w = K_nm (L^-T w),    X' beta = L^-1 (K_mn beta).

Only X'DX needs features themselves, of the rows that D keeps.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dsyrk, ssyrk

from maxmargin._types import Array, FloatArray, IntArray, RowData
from maxmargin.backends import Design, backend_for
from maxmargin.maps._nystroem import NystroemMap, Whitening

#: Rows whose features a thread computes at a time, and rows that are gathered for a product.
HEIGHT, GATHERED = 2048, 2**16


class MappedDesign(Design):
    """``NystroemMap.transform(X)`` for the solvers of linear models, for more rows than fit into memory."""

    streamed: ClassVar[bool] = True

    def __init__(self, fitted: NystroemMap, X: RowData, threads: int = 1):
        self.map, self.X, self.backend = fitted, X, backend_for("cpu")
        self.program = fitted.kernel_.lower()
        self.landmarks = fitted._prepared(getattr(X, "dtype", np.dtype(np.float64)))
        self.points = self.backend.prepare(self.program, X, like=self.landmarks, dtype=self.landmarks.dtype)
        self.whiten = Whitening(fitted.factor_, self.landmarks.dtype)
        self.n, self.d = self.points.n, fitted.factor_.shape[1]
        self.nnz, self.threads, self.curvature_threads = self.n * self.d, threads, threads

    @property
    def sparse(self) -> bool:
        return False

    @property
    def matrix(self) -> Array:
        """All features; for few rows."""
        return self._features(np.arange(self.n))

    def take(self, index: IntArray) -> Design:
        """Some of the rows: streamed as well or, if they are few, as stored features."""
        if len(index) * self.d > HEIGHT * HEIGHT:
            return type(self)(self.map, self.X[index], self.threads)
        return self.backend.design(self._features(index).astype(np.float64), self.threads)

    def scores(self, w: FloatArray) -> FloatArray:
        f = np.zeros(self.n)
        self.backend.add_product(self.program, self.landmarks, self.points, self.map.expansion(w), f, self.threads)
        return f

    def combine(self, beta: FloatArray) -> FloatArray:
        total, used = np.zeros(self.landmarks.n), np.flatnonzero(beta)
        for first in range(0, len(used), GATHERED):
            index = used[first : first + GATHERED]
            rows = self.points if len(index) == self.n else self.points.take(index)
            self.backend.add_product(self.program, rows, self.landmarks, beta[index], total, self.threads)
        return self._whitened(total)

    def _whitened(self, values: FloatArray) -> FloatArray:
        factor = self.map.factor_
        if not self.whiten.inverses:
            return (factor / np.square(factor).sum(axis=0)).T @ values
        return solve_triangular(factor, values, lower=True, check_finite=False)

    def _features(self, index: IntArray) -> Array:
        rows = self.points.take(index)
        return self.whiten(self.backend.tile(self.program, rows, self.landmarks))

    def _curvature(self, weight: FloatArray, out: FloatArray, first: int, last: int) -> None:
        syrk: Any = ssyrk if self.landmarks.dtype == np.float32 else dsyrk
        used = first + np.flatnonzero(weight[first:last])
        for start in range(0, len(used), HEIGHT):
            index = used[start : start + HEIGHT]
            part = self._features(index)
            part *= np.sqrt(weight[index])[:, None].astype(part.dtype)
            out += syrk(1.0, part.T, lower=1).T

    @cached_property
    def squares(self) -> FloatArray:
        """k(x, x) of every row: an upper bound on the squared norm of its features."""
        return np.asarray(self.map.kernel_.diag(self.X), dtype=np.float64)

    @property
    def column_squares(self) -> FloatArray:
        """An estimate of sum_i x_ij^2 for every column: an equal share of the sum of k(x, x)."""
        return np.full(self.d, float(self.squares.sum()) / self.d)
