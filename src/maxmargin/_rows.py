"""Rows of any kind: arrays, sparse matrices, and sequences of anything that a user's kernel takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing, check_array

from maxmargin._types import Array, IntArray, RowData


def take(X: RowData, rows: IntArray) -> RowData:
    """Some of the rows."""
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return X[rows]
    return _safe_indexing(X, rows) if is_frame(X) else [X[i] for i in rows]


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns, of whatever library."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "__dataframe__"))


def _holds_numbers(X: Any) -> bool:
    """Whether all columns of a frame are numbers; nullable ones would become objects otherwise."""
    return is_frame(X) and all(getattr(kind, "kind", "O") in "fiub" for kind in getattr(X, "dtypes", [None]))


def is_table(X: Any) -> bool:
    """Whether X is two-dimensional and all of it finite numbers: what kernels other than a user's function take."""
    if sp.issparse(X):
        return True
    try:
        array = np.asarray(X, dtype=np.float64 if _holds_numbers(X) else None)
    except (TypeError, ValueError):  # rows of different lengths
        return False
    return array.ndim == 2 and array.dtype.kind in "fiub" and bool(np.isfinite(array).all())


def count(X: RowData) -> int:
    """Number of rows of an array, a sparse matrix or a sequence."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def dense(values: Any) -> Any:
    """An array of the same values and of the same precision."""
    return values.toarray() if sp.issparse(values) else np.asarray(values)


def as_rows(X: RowData) -> RowData:
    """Numbers as a float64 array or CSR matrix; anything else (strings, sets) untouched."""
    if sp.issparse(X):
        return canonical(sp.csr_array(X, dtype=np.float64))
    if isinstance(X, np.ndarray) and X.dtype in (np.float64, np.float32) and X.ndim == 2:
        return X.astype(np.float64, copy=False)
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths
        array = np.empty(len(X), dtype=object)
        array[:] = X
    if array.dtype.kind in "OUS":
        return array
    return check_array(array, dtype=np.float64, ensure_min_samples=0, ensure_min_features=0)


def canonical(X: sp.csr_array) -> sp.csr_array:
    """The same matrix without repeated entries and with 32-bit column numbers; wider ones only where needed."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.indices.dtype == np.int32 or max(X.shape[1], X.nnz) > np.iinfo(np.int32).max:
        return X
    narrowed = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sp.csr_array(narrowed, shape=X.shape)


def among(K: Array, rows: IntArray) -> Array:
    """The values of a square matrix among some of its rows, given in order; not copied where these are all rows."""
    return K if len(rows) == len(K) else K[np.ix_(rows, rows)]
