"""The rows of a linear model, dense or sparse, as its solvers see them: three products, in float64."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dsyrk

from maxmargin._types import Array, FloatArray, IntArray, RowData
from maxmargin.backends._rows import Csr, as_csr
from maxmargin.backends._threads import run_shares

#: Rows of a dense design that are converted to float64 and multiplied at a time.
HEIGHT = 2048
#: Values of X that are worth a second thread.
WORTH_A_THREAD = 2**20


class Design:
    """X as a linear operator; float32 rows stay float32, sums are float64.

    ``threads`` share the rows; the same number gives the same bits.
    """

    def __init__(self, X: RowData, threads: int = 1):
        self.X: Array | Csr = as_csr(_in_order(X)) if sp.issparse(X) else np.ascontiguousarray(X)
        self.n, self.d = X.shape
        self.nnz = len(self.X.data) if isinstance(self.X, Csr) else self.n * self.d
        self.threads = max(1, min(threads, self.nnz // WORTH_A_THREAD))
        self.curvature_threads = threads

    #: Whether rows are computed when they are needed: then passes over them are what costs.
    streamed: ClassVar[bool] = False

    @property
    def sparse(self) -> bool:
        return isinstance(self.X, Csr)

    @property
    def matrix(self) -> Any:
        """The rows as NumPy or SciPy have them."""
        return self.X.matrix() if isinstance(self.X, Csr) else self.X

    def with_threads(self, threads: int) -> Design:
        """The same rows, for so many threads."""
        other = copy(self)
        other.threads = other.curvature_threads = threads
        return other

    def take(self, index: IntArray) -> Design:
        """Some of the rows."""
        return type(self)(self.matrix[index], self.threads)

    def columns(self, index: IntArray) -> Design:
        """Some of the columns."""
        return type(self)(self.matrix[:, index], self.threads)

    def scores(self, w: FloatArray) -> FloatArray:
        """X w."""
        out = np.empty(self.n)
        run_shares(lambda first, last: self._scores(w, out, first, last), self.n, self.threads)
        return out

    def combine(self, beta: FloatArray) -> FloatArray:
        """X' beta."""
        return self._summed((self.d,), self.threads, lambda out, first, last: self._combine(beta, out, first, last))

    def curvature(self, weight: FloatArray) -> FloatArray:
        """X' diag(weight) X for weights >= 0."""
        upper = np.empty((self.d, self.d))
        self.upper_curvature(weight, upper)
        return np.triu(upper) + np.triu(upper, 1).T

    def upper_curvature(self, weight: FloatArray, out: FloatArray) -> None:
        """Upper triangle of X' diag(weight) X, for weights >= 0, into ``out``; what is below it means nothing."""
        shape = (self.d, self.d)
        if self.d == 0:  # a kernel of rank 0: BLAS would complain, in a line of its own on the screen
            return
        per_row = self.nnz / max(1, self.n)
        products = int(np.count_nonzero(weight) * per_row * per_row / 2)
        threads = max(1, min(self.curvature_threads, products // WORTH_A_THREAD))
        out[...] = self._summed(shape, threads, lambda part, a, b: self._curvature(weight, part, a, b))

    def products(self) -> FloatArray:
        """X X', for few rows."""
        X = self.matrix.astype(np.float64)
        return (X @ X.T).toarray() if self.sparse else X @ X.T

    @cached_property
    def squares(self) -> FloatArray:
        """||x_i||^2 of every row."""
        if isinstance(self.X, Csr):
            squares = np.square(self.X.data, dtype=np.float64)
            return np.bincount(np.repeat(np.arange(self.n), np.diff(self.X.indptr)), squares, self.n).astype(float)
        return np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)

    @property
    def column_squares(self) -> FloatArray:
        """sum_i x_ij^2 of every column."""
        return self.column_sums[0]

    @cached_property
    def column_sums(self) -> tuple[FloatArray, FloatArray]:
        """(sum_i x_ij^2, number of values that are stored) of every column."""
        if isinstance(self.X, Csr):
            with np.errstate(over="ignore"):
                squares = np.square(self.X.data, dtype=np.float64)
            counts = np.bincount(self.X.indices, minlength=self.d)
            return np.bincount(self.X.indices, squares, self.d).astype(float), counts.astype(float)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("ij,ij->j", self.X, self.X, dtype=np.float64)
        return squares, np.full(self.d, float(self.n))

    def _summed(self, shape: tuple[int, ...], threads: int, work: Any) -> FloatArray:
        """Every thread sums into an array of its own; the sums are added in order."""
        parts: dict[int, FloatArray] = {}

        def share(first: int, last: int) -> None:
            parts[first] = np.zeros(shape)
            work(parts[first], first, last)

        run_shares(share, self.n, threads)
        return sum((parts[first] for first in sorted(parts)), np.zeros(shape)) if len(parts) != 1 else parts[0]

    # -- on the rows first to last, by NumPy and SciPy; the compiled back end replaces these ---------------------

    def _scores(self, w: FloatArray, out: FloatArray, first: int, last: int) -> None:
        out[first:last] = self.matrix[first:last].astype(np.float64) @ w

    def _combine(self, beta: FloatArray, out: FloatArray, first: int, last: int) -> None:
        out += self.matrix[first:last].astype(np.float64).T @ beta[first:last]

    def _curvature(self, weight: FloatArray, out: FloatArray, first: int, last: int) -> None:
        if isinstance(self.X, Csr):
            part = self.matrix[first:last].astype(np.float64)
            out += (part.T @ sp.diags_array(weight[first:last]) @ part).toarray()
            return
        used = first + np.flatnonzero(weight[first:last])
        for start in range(0, len(used), HEIGHT):
            index = used[start : start + HEIGHT]
            part = self.X[index] * np.sqrt(weight[index])[:, None]
            # the transpose of a C array is Fortran's: no copy; the lower triangle there is our upper one
            out += dsyrk(1.0, part.T, lower=1).T


def _in_order(X: RowData) -> RowData:
    """Sparse rows with every column once and in order, which is what compiled loops and squares rely on."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
