"""Support vectors of LIBSVM's model files: coefficients, then ``index:value`` pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.io._model_text import INT, ModelText


class Rows(NamedTuple):
    """Support vectors and their coefficients."""

    coef: FloatArray  # (lines, vectors)
    vectors: RowData
    numbers: IntArray  # rows of the training data, -1 where unknown
    n_features: int

    def take(self, order: IntArray) -> Rows:
        """The same vectors in another order; the coefficients are not looked at."""
        vectors = self.vectors[order] if self.vectors.shape[0] else self.vectors
        return self._replace(vectors=vectors, numbers=self.numbers[order])


def read_rows(text: ModelText, total: int, lines: int, precomputed: bool, n_features: int | None) -> Rows:
    """The body of a model file."""
    if len(text.body) != total:
        raise text.wrong(f"total_sv={total}, but there are {len(text.body)} support vectors; the file may be cut off")
    coef = np.empty((lines, total))
    data: list[float] = []
    indices: list[int] = []
    ends = [0]
    for number, line in enumerate(text.body):
        at = text.first + number
        words = line.split()
        if len(words) < lines:
            raise text.wrong(f"a support vector needs {lines} coefficients", at)
        coef[:, number] = text.floats(words[:lines], at)
        own, values = _pairs(text, words[lines:], at, precomputed)
        indices += own
        data += values
        ends.append(len(indices))
    if precomputed:
        return _columns(text, coef, np.array(data), ends, n_features)
    d = max(indices, default=0)
    if n_features is not None and n_features < d:
        raise text.wrong(f"n_features={n_features}, but the file has feature {d}")
    d = max(1, d if n_features is None else n_features)
    matrix = sp.csr_array(
        (np.array(data), np.array(indices, dtype=np.int32) - 1, ends), shape=(total, d), dtype=np.float64
    )
    return Rows(coef, dense_or_sparse(matrix), np.full(total, -1), d)


def _pairs(text: ModelText, words: list[bytes], line: int, precomputed: bool) -> tuple[list[int], list[float]]:
    """(indices, values) of a support vector; of a precomputed kernel the one pair 0:row."""
    parts = [word.split(b":") for word in words]
    if any(len(part) != 2 for part in parts):
        raise text.wrong("a support vector has pairs index:value", line)
    indices = text.floats([part[0] for part in parts], line)
    if not all(index.is_integer() and index <= INT - 1 for index in indices):
        raise text.wrong("an index must be a whole number", line)
    if precomputed:
        if [int(i) for i in indices] != [0]:
            raise text.wrong("a support vector of a precomputed kernel reads 0:row", line)
    elif any(b <= a for a, b in zip([0.0, *indices], indices, strict=False)):
        raise text.wrong("indices must increase, from 1 on", line)
    return [int(i) for i in indices], text.floats([part[1] for part in parts], line)


def _columns(text: ModelText, coef: FloatArray, rows: FloatArray, ends: list[int], n_features: int | None) -> Rows:
    """Numbers of training rows, counted from 1 in the file."""
    if not all(value.is_integer() and 1 <= value < INT for value in rows):
        raise text.wrong("the rows of a precomputed kernel are whole numbers from 1 on")
    most = int(max(rows, default=1))
    if n_features is not None and n_features < most:
        raise text.wrong(f"n_features={n_features}, but the file has row {most}")
    return Rows(coef, np.empty((0, 0)), rows.astype(np.int64) - 1, most if n_features is None else n_features)


def dense_or_sparse(X: RowData) -> RowData:
    """A sparse matrix as an array where that is not much larger."""
    cells = X.shape[0] * X.shape[1]
    return X.toarray() if cells <= max(2**16, 4 * X.nnz) else X
