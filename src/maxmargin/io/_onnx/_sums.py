"""What every machine begins with: sums of kernel values, sum_i coef_i k(x_i, x) + b, or of features, w.x + b."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._types import FloatArray
from maxmargin.io._onnx._graph import Graph
from maxmargin.io._onnx._kernels import Cross, expression
from maxmargin.kernels import Kernel, Linear, Precomputed
from maxmargin.kernels._program import Op

#: Rounding errors of a sum, relative to the sum of its terms' sizes: of float64, and where kernel values are functions
#: of the root of a distance, which makes the back end's rounding of a squared distance that is nearly 0 felt.
ROUNDING, ROUNDING_OF_ROOTS = 256 * float(np.finfo(float).eps), 1e-6


def dense(values: Any) -> FloatArray:
    """As a dense float64 array."""
    return np.asarray(values.toarray() if sp.issparse(values) else values, dtype=np.float64)


@dataclass(frozen=True)
class LinearSums:
    """w.x + b for every line w of ``weights``."""

    weights: FloatArray  # (sums, d)
    intercept: FloatArray  # (sums,)

    def tensor(self, graph: Graph, X: str) -> str:
        """(rows, sums) values."""
        return graph.op("Add", graph.product(X, self.weights.T), self.intercept)

    def rounding(self, X: Any) -> FloatArray:
        """(rows, sums): by how much two ways to add the terms up may differ."""
        return ROUNDING * (np.abs(dense(X)) @ np.abs(self.weights.T) + np.abs(self.intercept))


@dataclass(frozen=True)
class KernelSums:
    """sum_i coef_i k(x_i, x) + b for every column of ``coef``; a precomputed kernel has columns instead of rows x_i."""

    kernel: Kernel
    vectors: FloatArray  # (m, d)
    columns: Any  # numbers of the m training rows
    coef: FloatArray  # (m, sums)
    intercept: FloatArray  # (sums,)

    def values(self, graph: Graph, X: str) -> str:
        """(rows, m) kernel values."""
        if isinstance(self.kernel, Precomputed):
            return graph.take(X, self.columns)
        return expression(self.kernel, Cross(graph, X, self.vectors))

    def tensor(self, graph: Graph, X: str) -> str:
        """(rows, sums) values."""
        return graph.op("Add", graph.product(self.values(graph, X), self.coef), self.intercept)

    def rounding(self, X: Any) -> FloatArray:
        """(rows, sums): by how much two ways to add the terms up may differ."""
        given = isinstance(self.kernel, Precomputed)
        K = dense(X)[:, self.columns] if given else self.kernel(X, self.vectors)
        rooted = not given and any(op == Op.SQRT for op, _ in self.kernel.lower().operations)
        share = ROUNDING_OF_ROOTS if rooted else ROUNDING
        return share * (np.abs(K) @ np.abs(self.coef) + np.abs(self.intercept))


def kernel_sums(model: Any, coef: FloatArray, intercept: Any) -> LinearSums | KernelSums:
    """The sums of a kernel model over its support vectors; of a linear kernel, by its weights."""
    vectors, intercept = model.support_vectors_, np.asarray(intercept, dtype=np.float64)
    if len(coef) == 0:
        return LinearSums(np.zeros((coef.shape[1], model.n_features_in_)), intercept)
    if isinstance(model.kernel_, Linear):
        return LinearSums(np.ascontiguousarray((dense(vectors).T @ coef).T), intercept)
    return KernelSums(model.kernel_, dense(vectors), np.asarray(model.support_), coef, intercept)
