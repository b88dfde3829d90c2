"""Dot products and squared distances of all pairs of rows, the distances right to rounding wherever the rows lie.

||x||^2 + ||z||^2 - 2 x.z is a matrix product and fast, but loses the digits that the three have in common: rows
that are equal are not at distance 0. It is used where rows are far apart relative to their norms (after centring), so
that its error is a small multiple of the distance's own rounding; for pairs that are near each other, and for rows of
few features, differences are taken.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.kernels.rounding import UNIT, terms

#: Values of sparse rows that may be made dense for a product.
DENSE_VALUES = 2**23
#: Features up to which differences of all pairs cost no more than the passes over their products.
FEW_FEATURES = 32
#: Pairs whose squared distance is less than this share of ||x||^2 + ||z||^2 are near: their products cancel.
NEAR = 1 / 4
#: Share of near pairs above which differences of all pairs are cheaper.
MANY = 1 / 8
#: Differences that are laid out at a time.
BLOCK_VALUES = 2**20


def dot(X: RowData, Z: RowData) -> FloatArray:
    """X Z' as a dense array."""
    if sp.issparse(X) and sp.issparse(Z) and X.shape[0] * X.shape[1] <= DENSE_VALUES:  # two sparse ones are slow
        return np.ascontiguousarray(np.asarray(Z @ X.toarray().T).T)
    return np.asarray(safe_sparse_dot(X, Z.T, dense_output=True))


def squared_distances(X: RowData, Z: RowData) -> FloatArray:
    """||x - z||^2 of all pairs, each right to a relative error of :func:`distance_error`; exactly 0 for equal rows."""
    if sp.issparse(X) or sp.issparse(Z):
        return _by_products(sp.csr_array(X), sp.csr_array(Z))
    if X.shape[1] <= FEW_FEATURES or not (len(X) and len(Z)):
        return cdist(X, Z, "sqeuclidean") if len(X) and len(Z) else np.zeros((len(X), len(Z)))
    center = Z.mean(axis=0)
    return _by_products(X - center, Z - center, X, Z)


def distance_error(X: RowData) -> float:
    """Largest relative error of :func:`squared_distances` between rows like these."""
    m = terms(X)
    if not sp.issparse(X) and m <= FEW_FEATURES:
        return UNIT * (m + 3)
    # ||x||^2, ||z||^2 and 2 x.z: at most (m + 3) u of ||x||^2 + ||z||^2 each; centred rows are off by u, relatively
    return UNIT * (3 * (m + 3) / NEAR + 8 / NEAR**0.5)


def _by_products(X: RowData, Z: RowData, X_as_given: RowData = None, Z_as_given: RowData = None) -> FloatArray:
    squares_x, squares_z = row_norms(X, squared=True), row_norms(Z, squared=True)
    square = dot(X, Z)
    square *= -2.0
    square += squares_x[:, None]
    square += squares_z
    limit = NEAR * squares_x[:, None] + NEAR * squares_z
    i, j = np.nonzero(~(square > limit))  # NaN counts as near
    X, Z = (X, Z) if X_as_given is None else (X_as_given, Z_as_given)
    if len(i) > MANY * square.size and not sp.issparse(X):
        return cdist(X, Z, "sqeuclidean")
    step = max(1, BLOCK_VALUES // max(1, X.shape[1]))
    for first in range(0, len(i), step):
        pairs = slice(first, first + step)
        square[i[pairs], j[pairs]] = _of_pairs(X, Z, i[pairs], j[pairs])
    return square


def _of_pairs(X: RowData, Z: RowData, i: IntArray, j: IntArray) -> FloatArray:
    difference = X[i] - Z[j]
    return row_norms(difference, squared=True)
