"""Kernel expressions as graphs: k(x, z) of every input row with some fixed rows, and k(x, x).

An expression is walked from the leaves up. Its leaves ask a *base* for a value of the pair: the dot product, a
distance, ... There are two bases, :class:`Cross` (x against fixed rows z) and :class:`Diagonal` (x against itself), so
that one translation of every kernel serves both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._types import FloatArray
from maxmargin._validation import Scaling, scaled
from maxmargin.delivered import Fitted, KernelFitted, LinearFitted
from maxmargin.exceptions import ExportError
from maxmargin.io._onnx._graph import Graph
from maxmargin.kernels import (
    ChiSquared,
    Constant,
    Cosine,
    Exponential,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Op,
    Polynomial,
    Precomputed,
    QuadraticForm,
    RationalQuadratic,
    Sigmoid,
)
from maxmargin.kernels.compositions import Exp, PolynomialOf, Power, Product, Sum

#: Values of fixed rows whose differences with an input row are computed together: memory is this per input row.
BLOCK_VALUES = 2**14


class Cross:
    """Input rows against fixed rows Z: (rows, m) values."""

    def __init__(self, graph: Graph, X: str, Z: FloatArray):
        self.graph, self.X, self.Z = graph, X, Z

    @cached_property
    def _sq_norms(self) -> str:
        return self.graph.reduce("SumSquare", self.X)

    @cached_property
    def dot(self) -> str:
        """x.z"""
        return self.graph.product(self.X, self.Z.T)

    @cached_property
    def square(self) -> str:
        """||x - z||^2, by ||x||^2 + ||z||^2 - 2 x.z around the mean of Z, so that far-away data lose no digits."""
        g, center = self.graph, self.Z.mean(axis=0)
        x, z = g.op("Sub", self.X, center), self.Z - center
        norms = g.op("Add", g.reduce("SumSquare", x), np.square(z).sum(axis=1)[None])
        return g.op("Max", g.op("Sub", norms, g.product(x, 2.0 * z.T)), 0.0)

    def _by_features(self, value: Callable[[str, FloatArray], str]) -> str:
        """value(x, z), (rows, some of Z), of x (rows, 1, d) and z (1, some of Z, d): for all of Z."""
        g, height = self.graph, max(1, BLOCK_VALUES // self.Z.shape[1])
        x = g.op("Unsqueeze", self.X, np.array([1]))
        blocks = [self.Z[None, first : first + height] for first in range(0, len(self.Z), height)]
        return g.join([value(x, block) for block in blocks])

    @cached_property
    def root(self) -> str:
        """||x - z||, by differences: near z a root would lift rounding errors of the expansion to 1e-8."""
        g = self.graph
        return g.op("Sqrt", self._by_features(lambda x, z: g.reduce("SumSquare", g.op("Sub", x, z), 2, keep=False)))

    @cached_property
    def l1(self) -> str:
        """||x - z||_1"""
        g = self.graph
        return self._by_features(lambda x, z: g.reduce("Sum", g.op("Abs", g.op("Sub", x, z)), 2, keep=False))

    @cached_property
    def chi2(self) -> str:
        """sum_j (x_j - z_j)^2 / (x_j + z_j)"""
        g = self.graph

        def value(x: str, z: FloatArray) -> str:
            delta, total = g.op("Sub", x, z), g.op("Add", x, z)
            nothing = g.op("Equal", total, 0.0)
            shares = g.op("Div", g.op("Mul", delta, delta), g.op("Where", nothing, 1.0, total))
            return g.reduce("Sum", shares, 2, keep=False)

        return self._by_features(value)

    @property
    def cosine(self) -> str:
        """x.z / (||x|| ||z||)"""
        g = self.graph
        norms = g.op("Sqrt", self._sq_norms)
        positive = g.op("Greater", norms, 0.0)
        inverse = g.op("Where", positive, g.op("Div", 1.0, norms), 0.0)
        own = np.linalg.norm(self.Z, axis=1)
        return g.op("Mul", g.op("Mul", self.dot, inverse), np.divide(1.0, own, out=np.zeros_like(own), where=own > 0))

    def form(self, kernel: Any) -> str:
        """x' A z"""
        return self.graph.product(self.X, kernel.A @ self.Z.T)

    def over(self, kernel: Kernel) -> str:
        """k(x, x) + k(z, z) - 2 k(x, z)"""
        g = self.graph
        own = expression(kernel, Diagonal(g, self.X))
        norms = g.op("Add", own, kernel._diagonal(self.Z)[None])
        return g.op("Max", g.op("Sub", norms, g.op("Mul", expression(kernel, self), 2.0)), 0.0)

    def full(self, value: float) -> str:
        """The same value for every pair."""
        return self.graph.constant(np.full((1, len(self.Z)), value))


class Diagonal:
    """Input rows against themselves: (rows, 1) values."""

    def __init__(self, graph: Graph, X: str):
        self.graph, self.X = graph, X

    @cached_property
    def dot(self) -> str:
        return self.graph.reduce("SumSquare", self.X)

    @property
    def square(self) -> str:
        return self.full(0.0)

    root = l1 = chi2 = square

    @property
    def cosine(self) -> str:
        return self.graph.number(self.graph.op("Greater", self.dot, 0.0))

    def form(self, kernel: Any) -> str:
        return self.graph.reduce("SumSquare", self.graph.product(self.X, kernel._root))

    def over(self, kernel: Kernel) -> str:
        return self.full(0.0)

    def full(self, value: float) -> str:
        return self.graph.constant(np.full((1, 1), value))


Base = Cross | Diagonal


# -- one line per kernel ---------------------------------------------------------------------------------------


def _exp(base: Base, tensor: str, rate: float) -> str:
    return base.graph.op("Exp", base.graph.op("Mul", tensor, rate))


def _gaussian(kernel: Gaussian, base: Base) -> str:
    return _exp(base, base.square if kernel.over is None else base.over(kernel.over), -kernel._gamma)


def _polynomial(kernel: Polynomial, base: Base) -> str:
    return base.graph.op("Pow", base.graph.affine(base.dot, kernel.gamma, kernel.coef0), float(kernel.degree))


def _matern(kernel: Matern, base: Base) -> str:
    g = base.graph
    r = g.op("Mul", base.root, kernel._rate)
    decay = g.op("Exp", g.op("Neg", r))
    if kernel.nu == 0.5:
        return decay
    factor = g.op("Add", r, 1.0)
    if kernel.nu == 2.5:
        factor = g.op("Add", factor, g.op("Mul", g.op("Mul", r, r), 1.0 / 3.0))
    return g.op("Mul", factor, decay)


def _rational(kernel: RationalQuadratic, base: Base) -> str:
    return base.graph.op("Pow", base.graph.affine(base.square, kernel._rate, 1.0), -float(kernel.alpha))


def _polynomial_of(kernel: PolynomialOf, base: Base) -> str:
    """By Horner's rule."""
    inner, result = expression(kernel.inner, base), base.full(kernel.coefficients[-1])
    for coefficient in reversed(kernel.coefficients[:-1]):
        result = base.graph.op("Add", base.graph.op("Mul", result, inner), coefficient)
    return result


def _pair(operator: str) -> Callable[[Any, Base], str]:
    return lambda kernel, base: base.graph.op(operator, expression(kernel.left, base), expression(kernel.right, base))


_TRANSLATIONS: dict[type, Callable[[Any, Base], str]] = {
    Linear: lambda kernel, base: base.dot,
    Constant: lambda kernel, base: base.full(kernel.c),
    Polynomial: _polynomial,
    Sigmoid: lambda kernel, base: base.graph.op("Tanh", base.graph.affine(base.dot, kernel.c1, kernel.c2)),
    Gaussian: _gaussian,
    Exponential: lambda kernel, base: _exp(base, base.root, -kernel.gamma),
    Matern: _matern,
    RationalQuadratic: _rational,
    Laplacian: lambda kernel, base: _exp(base, base.l1, -kernel.gamma),
    ChiSquared: lambda kernel, base: _exp(base, base.chi2, -kernel.gamma),
    Cosine: lambda kernel, base: base.cosine,
    QuadraticForm: lambda kernel, base: base.form(kernel),
    Sum: _pair("Add"),
    Product: _pair("Mul"),
    Power: lambda kernel, base: base.graph.op("Pow", expression(kernel.inner, base), float(kernel.exponent)),
    Exp: lambda kernel, base: base.graph.op("Exp", expression(kernel.inner, base)),
    PolynomialOf: _polynomial_of,
}


def expression(kernel: Kernel, base: Base) -> str:
    """The tensor of a kernel's values."""
    translate = _TRANSLATIONS.get(type(kernel))
    if translate is None:
        raise ExportError(
            f"the kernel {type(kernel).__name__} contains a Python function, which an ONNX graph cannot hold; use "
            "kernels of maxmargin.kernels without .warp() and .of(), or kernel='precomputed'"
        )
    return translate(kernel, base)


# -- What every machine begins with: sums of kernel values, sum_i coef_i k(x_i, x) + b, or of features, w.x + b -----


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
