"""Rows: the data as a back end wants them for one kernel program. Sparse and dense meet here and in the tiles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms

from maxmargin._rows import canonical, count
from maxmargin._types import Array, FloatArray, IntArray, RowData
from maxmargin.kernels import Program

#: Above this share of non-zeros a dense product beats the sparse one.
DENSE_ABOVE = 0.5
#: Rows looked at to find a value that a column often has, and the share of them that is often.
PROBED, FREQUENT = 500, 0.2
#: Bytes of a feature in a panel: two vectors of 512 bits.
PANEL = 128
#: Sparse rows are made dense only while that takes at most this many bytes.
DENSE_BYTES = 2**29


class Csr(NamedTuple):
    """A CSR matrix or a slice of one (``indptr`` keeps the offsets of the whole)."""

    indptr: IntArray
    indices: IntArray
    data: FloatArray
    d: int

    def matrix(self) -> sp.csr_array:
        """As SciPy sees it."""
        first, last = self.indptr[0], self.indptr[-1]
        shape = (len(self.indptr) - 1, self.d)
        return sp.csr_array((self.data[first:last], self.indices[first:last], self.indptr - first), shape=shape)


class Lookup(NamedTuple):
    """Precomputed values: this row is line ``row`` of ``matrix``, and column ``row`` when on the other side."""

    matrix: Array
    row: IntArray


@dataclass(frozen=True)
class Rows:
    """Prepared rows: one entry of ``bases`` per base of the program, ``scalars`` (n_scalars, n)."""

    bases: tuple[Any, ...]
    scalars: FloatArray
    centers: tuple[FloatArray | None, ...]

    @property
    def n(self) -> int:
        return int(self.scalars.shape[1])

    @property
    def dtype(self) -> np.dtype:
        return self.scalars.dtype

    @property
    def features(self) -> float:
        """Mean number of values of a row that enter a dot product."""
        base = self.bases[0] if self.bases else None
        if isinstance(base, Csr):
            return float(base.indptr[-1] - base.indptr[0]) / max(1, self.n)
        return float(base.shape[1]) if isinstance(base, np.ndarray) else 1.0

    @cached_property
    def panels(self) -> Array:
        """Dense rows feature by feature, PANEL bytes of them at a time: (n / lanes, d, lanes), zeros last."""
        rows = as_dense(self.bases[0])
        lanes = PANEL // rows.itemsize
        n, d = rows.shape
        out = np.zeros((-(-n // lanes), d, lanes), dtype=rows.dtype)
        whole = n // lanes
        out[:whole] = rows[: whole * lanes].reshape(whole, lanes, d).transpose(0, 2, 1)
        if whole < len(out):
            out[whole, :, : n - whole * lanes] = rows[whole * lanes :].T
        return out

    def take(self, index: IntArray) -> Rows:
        """The rows ``index``, copied."""
        bases = tuple(_take(base, index) for base in self.bases)
        return Rows(bases, np.ascontiguousarray(self.scalars[:, index]), self.centers)

    def slice(self, start: int, stop: int) -> Rows:
        """Rows start..stop without a copy of the data."""
        bases = tuple(_slice(base, start, stop) for base in self.bases)
        return Rows(bases, np.ascontiguousarray(self.scalars[:, start:stop]), self.centers)


def prepare(
    program: Program,
    X: RowData,
    dtype: Any,
    like: Rows | None = None,
    columns: IntArray | None = None,
    may_be_sparse: bool = False,
) -> Rows:
    """Rows of ``X`` for ``program``, in ``dtype``; ``like`` are the rows they will meet (same centres, same layout).

    For precomputed kernels ``columns`` says which training row each row of ``X`` is. ``may_be_sparse`` lets dense
    rows become sparse where most values of a column are equal.
    """
    bases: list[Any] = []
    centers: list[FloatArray | None] = []
    for number, base in enumerate(program.bases):
        if base.kind == "precomputed":
            bases.append(Lookup(X, np.arange(X.shape[0]) if columns is None else columns))
            centers.append(None)
            continue
        viewed = base.view(X)
        if base.kind == "function":
            bases.append(viewed)
            centers.append(None)
            continue
        sparse = may_be_sparse and base.kind == "dot"
        if like is not None:
            center, sparse = like.centers[number], isinstance(like.bases[number], Csr)
        else:
            center = _center(program, number, viewed, sparse)
        bases.append(_numbers(viewed, dtype, center, dense=base.kind != "dot", may_be_sparse=sparse))
        centers.append(center)
        if base.kind == "chi2" and np.min(bases[-1], initial=0.0) < 0:
            raise ValueError(f"the chi-squared kernel takes non-negative values, got {np.min(bases[-1]):.3g}")
    scalars = [_scalar(scalar, X, bases) for scalar in program.scalars]
    n = count(X)
    table = np.array(scalars, dtype=np.float64).reshape(len(scalars), n)
    if not np.isfinite(table).all():
        raise ValueError(
            "the squares of some values overflow, so the kernel is not finite; "
            "scale the features, for example with sklearn.preprocessing.StandardScaler"
        )
    return Rows(tuple(bases), table.astype(dtype), tuple(centers))


def _center(program: Program, number: int, X: RowData, may_be_sparse: bool) -> FloatArray | None:
    """A row to subtract where only distances matter: small norms keep ||x||^2 + ||z||^2 - 2 x.z accurate.

    The mean, or in columns where zero or the median fills many rows that value: it makes them sparse.
    """
    if not (X.shape[0] and program.shift_invariant(number)) or _stays_sparse(X):
        return None
    center = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    if not np.isfinite(center).all():
        return None
    if may_be_sparse and not sp.issparse(X):
        probe = np.sort(X[:: max(1, X.shape[0] // PROBED)], axis=0)
        median = probe[len(probe) // 2]  # a value that more than half of the rows have is their median
        zeros, medians = (probe == 0).mean(axis=0), (probe == median).mean(axis=0)
        center = np.where(np.maximum(zeros, medians) >= FREQUENT, np.where(zeros >= medians, 0.0, median), center)
    return center if center.any() else None


def _stays_sparse(X: RowData) -> bool:
    if not sp.issparse(X):
        return False
    cells = X.shape[0] * X.shape[1]
    return X.nnz < DENSE_ABOVE * cells or 4 * cells > DENSE_BYTES


def _numbers(X: RowData, dtype: Any, center: FloatArray | None, dense: bool, may_be_sparse: bool) -> Array | Csr:
    if sp.issparse(X) and not dense and center is None and _stays_sparse(X):
        return as_csr(canonical(sp.csr_array(X)), dtype)
    array = X.toarray() if sp.issparse(X) else np.asarray(X)
    if center is None:
        out = np.ascontiguousarray(array, dtype=dtype)
    else:
        out = np.empty(array.shape, dtype=dtype)
        np.subtract(array, center, out=out, casting="same_kind")
    return _sparsified(out) if may_be_sparse and np.count_nonzero(out) < DENSE_ABOVE * out.size else out


def _sparsified(rows: Array) -> Csr:
    """Dense rows in CSR; several times faster than SciPy, which looks for lines and columns of each value."""
    where = np.flatnonzero(rows)
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(rows, axis=1))]).astype(np.int64)
    first = np.repeat(np.arange(0, rows.size, max(1, rows.shape[1])), np.diff(indptr))
    return Csr(indptr, (where - first).astype(np.int32), rows.reshape(-1)[where], rows.shape[1])


def as_csr(base: Any, dtype: Any = None) -> Csr:
    """Rows in CSR, with the index types compiled code expects."""
    if isinstance(base, Csr):
        return base
    csr = sp.csr_array(base)
    data = csr.data if dtype is None else csr.data.astype(dtype, copy=False)
    return Csr(csr.indptr.astype(np.int64), csr.indices.astype(np.int32, copy=False), data, csr.shape[1])


def as_dense(base: Any) -> Array:
    """Rows as an array."""
    return base.matrix().toarray() if isinstance(base, Csr) else base


def _scalar(scalar: Any, X: RowData, bases: list[Any]) -> FloatArray:
    if scalar.kind == "function":
        for view in scalar.views:
            X = view(X)
        return np.asarray(scalar.function(X), dtype=np.float64)
    data = bases[scalar.base]
    if isinstance(data, Csr):
        square = row_norms(data.matrix().astype(np.float64), squared=True)
    else:
        square = np.einsum("ij,ij->i", data, data, dtype=np.float64)
    if scalar.kind == "sq_norm":
        return square
    norms = np.sqrt(square)
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def _take(base: Any, index: IntArray) -> Any:
    if isinstance(base, Csr):
        return as_csr(base.matrix()[index])
    if isinstance(base, Lookup):
        return Lookup(base.matrix, base.row[index])
    if isinstance(base, list):
        return [base[i] for i in index]
    return base[index]


def _slice(base: Any, start: int, stop: int) -> Any:
    if isinstance(base, Csr):
        return base._replace(indptr=base.indptr[start : stop + 1])
    if isinstance(base, Lookup):
        return Lookup(base.matrix, base.row[start:stop])
    return base[start:stop]


def by_appearance(rows: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """(the rows in the order in which they first appear, the place of each position): of pairs of classes, by class."""
    first = np.full(n, len(rows), dtype=np.int64)
    first[rows[::-1]] = np.arange(len(rows) - 1, -1, -1)
    order = first.argsort(kind="stable")[: np.count_nonzero(first < len(rows))]
    place = np.full(n, -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    return order, place[rows]
