"""Steps of a pipeline as graphs, and which type is translated how.

First those that take rows of numbers to rows of numbers: scaling, projections, choices of columns, maxmargin's maps;
then what holds steps: Pipeline, ColumnTransformer, FeatureUnion.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from maxmargin.delivered import read
from maxmargin.estimators import KernelDiscriminantAnalysis
from maxmargin.exceptions import ExportError
from maxmargin.io._onnx import _encoders
from maxmargin.io._onnx._graph import Graph, Table, joined
from maxmargin.io._onnx._kernels import KernelSums, dense, sums_of
from maxmargin.maps import NystroemMap, PolynomialMap, RandomFourierMap
from maxmargin.maps.monomials import Collapsed, multinomial_roots, multisets, starts

#: Most features of a polynomial map that a graph is built for.
MOST_FEATURES = 20_000


def scale_standard(graph: Graph, step: Any, X: str) -> str:
    """StandardScaler."""
    return _shifted(graph, X, step.mean_ if step.with_mean else None, step.scale_ if step.with_std else None)


def scale_robust(graph: Graph, step: Any, X: str) -> str:
    """RobustScaler."""
    return _shifted(graph, X, step.center_ if step.with_centering else None, step.scale_ if step.with_scaling else None)


def _shifted(graph: Graph, X: str, center: Any, scale: Any) -> str:
    """(X - center) / scale."""
    X = X if center is None else graph.op("Sub", X, np.asarray(center)[None])
    return X if scale is None else graph.op("Div", X, np.asarray(scale)[None])


def scale_range(graph: Graph, step: Any, X: str) -> str:
    """MinMaxScaler."""
    X = graph.affine(X, step.scale_[None], step.min_[None])
    return _clipped(graph, X, *step.feature_range) if step.clip else X


def scale_largest(graph: Graph, step: Any, X: str) -> str:
    """MaxAbsScaler."""
    X = graph.op("Div", X, step.scale_[None])
    return _clipped(graph, X, -1.0, 1.0) if getattr(step, "clip", False) else X


def _clipped(graph: Graph, X: str, low: float, high: float) -> str:
    """By comparisons, which leave NaN alone."""
    X = graph.op("Where", graph.op("Less", X, float(low)), float(low), X)
    return graph.op("Where", graph.op("Greater", X, float(high)), float(high), X)


def normalise(graph: Graph, step: Any, X: str) -> str:
    """Normalizer: rows divided by their norm, rows of zeros untouched."""
    if step.norm == "l2":
        norms = graph.op("Sqrt", graph.reduce("SumSquare", X))
    else:
        norms = graph.reduce("Sum" if step.norm == "l1" else "Max", graph.op("Abs", X))
    return graph.op("Div", X, graph.op("Where", graph.op("Equal", norms, 0.0), 1.0, norms))


def project(graph: Graph, step: Any, X: str) -> str:
    """PCA."""
    X = graph.product(graph.op("Sub", X, step.mean_[None]), step.components_.T)
    if not step.whiten:
        return X
    scale = np.sqrt(step.explained_variance_)
    return graph.op("Div", X, np.maximum(scale, np.finfo(scale.dtype).eps)[None])


def project_plainly(graph: Graph, step: Any, X: str) -> str:
    """TruncatedSVD."""
    return graph.product(X, step.components_.T)


def choose(graph: Graph, step: Any, X: str) -> str:
    """VarianceThreshold, SelectKBest and whatever else chooses columns."""
    chosen = np.flatnonzero(step.get_support())
    if not len(chosen):
        raise ExportError(f"{type(step).__name__} keeps no column at all; drop the step")
    return graph.take(X, chosen)


# -- maxmargin's own -------------------------------------------------------------------------------------------


def waves(graph: Graph, step: Any, X: str) -> str:
    """RandomFourierMap."""
    half, total = step.frequencies_.shape[1], step._n_features_out
    angle = graph.product(X, step.frequencies_)
    if step.phase_ is not None:
        angle = graph.op("Add", angle, np.append(np.zeros(half - 1), step.phase_)[None])
    parts = [graph.op("Cos", angle)]
    if total > half:
        parts.append(graph.op("Sin", graph.take(angle, np.arange(total - half))))
    return graph.op("Mul", graph.join(parts), float(np.sqrt(2.0 / total)))


def landmarks(graph: Graph, step: Any, X: str) -> str:
    """NystroemMap: kernel values with the landmarks times the pseudo-inverse of F', K_mm = F F'."""
    F = step.factor_
    if F.shape[0] == F.shape[1]:  # triangular; one made of eigenvectors has fewer columns
        whiten = solve_triangular(F, np.eye(len(F)), lower=True).T
    else:
        whiten = F / np.square(F).sum(axis=0)
    sums = KernelSums(step.kernel_, dense(step.components_), step.component_indices_, whiten, np.zeros(F.shape[1]))
    return graph.product(sums.values(graph, X), whiten)


def monomials(graph: Graph, step: Any, X: str) -> str:
    """PolynomialMap: products of values, one more factor at a time."""
    if step.n_output_features_ > MOST_FEATURES:
        raise ExportError(
            f"PolynomialMap has {step.n_output_features_:,} features, more than the {MOST_FEATURES:,} that a graph is "
            "built for; use an SVC with kernel='poly' instead, or a lower degree"
        )
    expansion = step._expansion
    X = graph.op("Mul", X, float(np.sqrt(step.gamma_)))
    return _collapsed(graph, expansion, X) if isinstance(expansion, Collapsed) else _ordered(graph, expansion, X)


def _ones(graph: Graph, X: str) -> str:
    """(rows, 1) of ones."""
    return graph.affine(graph.take(X, [0]), 0.0, 1.0)


def _collapsed(graph: Graph, expansion: Collapsed, X: str) -> str:
    values, p = X, expansion.d
    if expansion._constant:
        values, p = graph.join([graph.op("Mul", _ones(graph, X), float(np.sqrt(expansion.coef0))), X]), p + 1
    products = _ones(graph, X)
    for size in range(1, expansion.degree + 1):
        before, count = starts(p, size - 1), multisets(p, size - 1)
        first = np.concatenate([np.full(count - before[i], i) for i in range(p)])
        rest = np.concatenate([np.arange(before[i], count) for i in range(p)])
        products = graph.op("Mul", graph.take(values, first), graph.take(products, rest))
    return graph.op("Mul", products, multinomial_roots(p, expansion.degree)[None])


def _ordered(graph: Graph, expansion: Any, X: str) -> str:
    """The same products in every order: each a choice of columns for each of its factors."""
    power, parts = _ones(graph, X), []
    for size in range(expansion.degree + 1):
        if size:
            count = expansion.d ** (size - 1)
            old = graph.take(power, np.repeat(np.arange(count), expansion.d))
            power = graph.op("Mul", old, graph.take(X, np.tile(np.arange(expansion.d), count)))
        if size in expansion._sizes:
            weight = np.sqrt(comb(expansion.degree, size) * expansion.coef0 ** (expansion.degree - size))
            parts.append(graph.op("Mul", power, float(weight)))
    return graph.join(parts)


def discriminants(graph: Graph, step: Any, X: str) -> str:
    """KernelDiscriminantAnalysis as a step: its projection."""
    return graph.take(sums_of(read(step)).tensor(graph, X), np.arange(step._n_features_out))


def width_of(step: Any, before: int) -> int:
    """Columns after a step that has ``before`` of them."""
    names = step.get_feature_names_out() if hasattr(step, "get_feature_names_out") else range(before)
    return len(names)


def on_numbers(translate: Any) -> Any:
    """A translation of tables from one of matrices."""

    def of_table(graph: Graph, step: Any, table: Table, where: str) -> Table:
        X = table.numbers(graph, where)
        return Table.of(translate(graph, step, X), width_of(step, table.width))

    return of_table


# -- Steps of a pipeline by their type, and what holds steps: Pipeline, ColumnTransformer, FeatureUnion -------------


def is_passed(step: Any) -> bool:
    """Whether a step changes nothing."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return True
    return isinstance(step, FunctionTransformer) and step.func is None


def export_step(graph: Graph, step: Any, table: Table, where: str) -> Table:
    """What a fitted step makes of a table; ``where`` names the step."""
    if is_passed(step):
        return table
    for kinds, translate in _TRANSLATIONS:
        if isinstance(step, kinds):
            return translate(graph, step, table, where)
    raise ExportError(f"{where} is a {type(step).__name__}, which cannot be exported; what can be: {SUPPORTED}")


def named_steps(pipeline: Pipeline) -> list[tuple[str, Any]]:
    """(where, step) of a pipeline; the names as a user gave them."""
    return [(f"step {name!r}", step) for name, step in pipeline.steps]


def _chain(graph: Graph, step: Any, table: Table, where: str) -> Table:
    for name, inner in named_steps(step):
        table = export_step(graph, inner, table, f"{name} in {where}")
    return table


def column_parts(step: ColumnTransformer) -> list[tuple[str, Any, list[int], Any]]:
    """(name, fitted transformer, its input columns, its output columns) of every part that has any columns."""
    found = []
    for name, inner, _ in step.transformers_:
        columns = list(step._transformer_to_input_indices[name])
        if columns and not (isinstance(inner, str) and inner == "drop"):
            found.append((name, inner, columns, step.output_indices_[name]))
    return found


def _by_columns(graph: Graph, step: Any, table: Table, where: str) -> Table:
    tables = []
    for name, inner, columns, _ in column_parts(step):
        own = export_step(graph, inner, table.take(graph, columns), f"part {name!r} of {where}")
        tables.append(_weighted(graph, own, (step.transformer_weights or {}).get(name)))
    return joined(graph, tables, where)


def _union(graph: Graph, step: Any, table: Table, where: str) -> Table:
    weights = step.transformer_weights or {}
    tables = [
        _weighted(graph, export_step(graph, inner, table, f"part {name!r} of {where}"), weights.get(name))
        for name, inner in step.transformer_list
        if not (isinstance(inner, str) and inner == "drop")
    ]
    return joined(graph, tables, where)


def _weighted(graph: Graph, table: Table, weight: float | None) -> Table:
    if weight is None:
        return table
    return Table.of(graph.op("Mul", table.numbers(graph, "transformer_weights"), float(weight)), table.width)


_NUMERIC: list[tuple[Any, Any]] = [
    (StandardScaler, scale_standard),
    (MinMaxScaler, scale_range),
    (MaxAbsScaler, scale_largest),
    (RobustScaler, scale_robust),
    (Normalizer, normalise),
    (PCA, project),
    (TruncatedSVD, project_plainly),
    (SelectorMixin, choose),
    (PolynomialMap, monomials),
    (NystroemMap, landmarks),
    (RandomFourierMap, waves),
    (KernelDiscriminantAnalysis, discriminants),
]
_TRANSLATIONS: list[tuple[Any, Any]] = [
    (Pipeline, _chain),
    (ColumnTransformer, _by_columns),
    (FeatureUnion, _union),
    (SimpleImputer, _encoders.impute),
    (OneHotEncoder, _encoders.one_hot),
    (OrdinalEncoder, _encoders.ordinal),
    *((kind, on_numbers(translate)) for kind, translate in _NUMERIC),
]
SUPPORTED = ", ".join(
    "choices of columns (SelectKBest, ...)" if kind is SelectorMixin else kind.__name__ for kind, _ in _TRANSLATIONS
)
