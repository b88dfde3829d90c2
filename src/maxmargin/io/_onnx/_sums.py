"""What every machine begins with: sums of kernel values, sum_i coef_i k(x_i, x) + b, or of features, w.x + b."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._types import FloatArray
from maxmargin._validation import Scaling, scaled
from maxmargin.delivered import Fitted, KernelFitted, LinearFitted
from maxmargin.io._onnx._graph import Graph
from maxmargin.io._onnx._kernels import Cross, expression
from maxmargin.kernels import Kernel, Linear, Op, Precomputed

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
    scaling: Scaling | None = None  # of rows, before the kernel sees them

    def values(self, graph: Graph, X: str) -> str:
        """(rows, m) kernel values."""
        if isinstance(self.kernel, Precomputed):
            return graph.take(X, self.columns)
        return expression(self.kernel, Cross(graph, scaled_tensor(graph, X, self.scaling), self.vectors))

    def tensor(self, graph: Graph, X: str) -> str:
        """(rows, sums) values."""
        return graph.op("Add", graph.product(self.values(graph, X), self.coef), self.intercept)

    def rounding(self, X: Any) -> FloatArray:
        """(rows, sums): by how much two ways to add the terms up may differ."""
        given = isinstance(self.kernel, Precomputed)
        K = dense(X)[:, self.columns] if given else self.kernel(scaled(X, self.scaling), self.vectors)
        rooted = not given and any(op == Op.SQRT for op, _ in self.kernel.lower().operations)
        share = ROUNDING_OF_ROOTS if rooted else ROUNDING
        return share * (np.abs(K) @ np.abs(self.coef) + np.abs(self.intercept))


def scaled_tensor(graph: Graph, X: str, scaling: Scaling | None) -> str:
    """Rows as the kernel sees them."""
    if scaling is None:
        return X
    return graph.op("Div", graph.op("Sub", X, scaling.center[None]), scaling.scale[None])


def sums_of(fitted: Fitted) -> LinearSums | KernelSums:
    """What a model adds up for every row, of a linear kernel by its weights; one-class machines without offset."""
    intercept = np.zeros(1) if fitted.machine in ("OneClassSVM", "SVDD") else fitted.intercept
    if isinstance(fitted, LinearFitted):
        return LinearSums(fitted.W, intercept)
    assert isinstance(fitted, KernelFitted)  # there are two families
    coef, vectors = dense(fitted.coef), dense(fitted.vectors)
    if len(coef) == 0:
        return LinearSums(np.zeros((coef.shape[1], fitted.model.n_features_in_)), intercept)
    if isinstance(fitted.kernel, Linear):
        scaling = fitted.scaling or Scaling.none(fitted.model.n_features_in_)
        weights = np.ascontiguousarray((vectors.T @ coef).T) / scaling.scale
        return LinearSums(weights, intercept - weights @ scaling.center)
    return KernelSums(fitted.kernel, vectors, fitted.support, coef, intercept, fitted.scaling)
