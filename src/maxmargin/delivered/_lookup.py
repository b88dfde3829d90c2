"""Which training rows the support vectors of a model file are, where the file does not say."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, column_or_1d

from maxmargin._rows import dense
from maxmargin._types import IntArray, RowData

#: LIBSVM prints eight digits of a support vector.
PRINTED = 1e-6


def with_known_rows(model: Any, X: RowData, y: Any) -> Any:
    """The model; one from a file that does not keep the rows of its support vectors with these looked up in X."""
    if not len(getattr(model, "support_", ())) or int(np.min(model.support_)) >= 0:
        return model
    rows = check_array(X, accept_sparse="csr", dtype=np.float64)
    vectors = model.support_vectors_
    if rows.shape[1] != vectors.shape[1]:
        raise ValueError(
            f"X has {rows.shape[1]} features, but the model has {vectors.shape[1]}; give the training data"
        )
    classes = getattr(model, "classes_", None)
    own, of_row = np.zeros(vectors.shape[0], dtype=int), np.zeros(rows.shape[0], dtype=int)
    if classes is not None and y is not None:
        own = np.repeat(np.arange(len(classes)), model.n_support_)
        of_row = np.searchsorted(classes, column_or_1d(y))
    found = copy.copy(model)
    found.support_ = np.full(len(own), -1)
    for label in np.unique(own):
        at, candidates = np.flatnonzero(own == label), np.flatnonzero(of_row == label)
        found.support_[at] = candidates[_matches(rows[candidates], vectors[at])]
    return found


def _matches(rows: RowData, vectors: RowData) -> IntArray:
    """For every vector a row of its own that equals it but for the digits that were not printed."""
    squares = np.asarray(dense(rows.multiply(rows).sum(axis=1) if sp.issparse(rows) else (rows * rows).sum(axis=1)))
    squares, free, found = squares.ravel(), np.ones(rows.shape[0], dtype=bool), []
    for i in range(vectors.shape[0]):
        vector = dense(vectors[[i]])[0]
        distance = squares - 2 * np.asarray(rows @ vector) + vector @ vector
        near = np.flatnonzero(free & (distance <= PRINTED**2 * (squares + 1e-300)))
        same = [row for row in near if np.allclose(dense(rows[[row]])[0], vector, rtol=PRINTED, atol=0.0)]
        if not same:
            raise ValueError("the support vectors are not among the rows of X; give the training data")
        free[same[0]] = False
        found.append(same[0])
    return np.array(found, dtype=np.intp)
