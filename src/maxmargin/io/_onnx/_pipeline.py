"""Steps of a pipeline by their type, and what holds steps: Pipeline, ColumnTransformer, FeatureUnion."""

from __future__ import annotations

from typing import Any

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

from maxmargin.estimators import KernelDiscriminantAnalysis
from maxmargin.exceptions import ExportError
from maxmargin.io._onnx import _encoders, _steps
from maxmargin.io._onnx._graph import Graph
from maxmargin.io._onnx._table import Table, joined
from maxmargin.maps import NystroemMap, PolynomialMap, RandomFourierMap


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


def named_steps(pipeline: Pipeline, where: str = "") -> list[tuple[str, Any]]:
    """(where, step) of a pipeline; the names as a user gave them."""
    return [(f"step {where + name!r}", step) for name, step in pipeline.steps]


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
    (StandardScaler, _steps.scale_standard),
    (MinMaxScaler, _steps.scale_range),
    (MaxAbsScaler, _steps.scale_largest),
    (RobustScaler, _steps.scale_robust),
    (Normalizer, _steps.normalise),
    (PCA, _steps.project),
    (TruncatedSVD, _steps.project_plainly),
    (SelectorMixin, _steps.choose),
    (PolynomialMap, _steps.monomials),
    (NystroemMap, _steps.landmarks),
    (RandomFourierMap, _steps.waves),
    (KernelDiscriminantAnalysis, _steps.discriminants),
]
_TRANSLATIONS: list[tuple[Any, Any]] = [
    (Pipeline, _chain),
    (ColumnTransformer, _by_columns),
    (FeatureUnion, _union),
    (SimpleImputer, _encoders.impute),
    (OneHotEncoder, _encoders.one_hot),
    (OrdinalEncoder, _encoders.ordinal),
    *((kind, _steps.on_numbers(translate)) for kind, translate in _NUMERIC),
]
SUPPORTED = ", ".join(
    "choices of columns (SelectKBest, ...)" if kind is SelectorMixin else kind.__name__ for kind, _ in _TRANSLATIONS
)
