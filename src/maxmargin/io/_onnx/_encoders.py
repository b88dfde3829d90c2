"""Steps that know categories and missing values: SimpleImputer, OneHotEncoder and OrdinalEncoder.

Text that is missing (None or NaN in Python) is the empty string in a graph.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from maxmargin._types import Array, FloatArray
from maxmargin.exceptions import ExportError
from maxmargin.io._onnx._graph import Columns, Graph, Table, joined

#: What stands for missing text.
NO_TEXT = ""


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or pandas' NA."""
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and np.isnan(value))


def is_text(values: Any) -> bool:
    """Whether categories are text; those that are missing do not count."""
    return any(isinstance(value, str) for value in np.asarray(values, dtype=object).tolist())


def _as_tensor_values(categories: Any, where: str) -> Array:
    """Categories as the graph sees them: text, or numbers."""
    values = np.asarray(categories, dtype=object).tolist()
    if not is_text(categories):
        odd = next((v for v in values if not is_missing(v) and not isinstance(v, (Real, np.bool_))), None)
        if odd is not None:
            raise ExportError(f"{where} has categories of type {type(odd).__name__}; make them text or numbers")
        return np.array([np.nan if is_missing(value) else float(value) for value in values])
    wrong = [value for value in values if not isinstance(value, str) and not is_missing(value)]
    if wrong:
        raise ExportError(f"{where} has a column with both text and {type(wrong[0]).__name__}; make it one of them")
    if NO_TEXT in values and any(map(is_missing, values)):
        raise ExportError(
            f"{where} has both the empty string and missing values as categories, which ONNX cannot tell apart; "
            "replace one of them"
        )
    return np.array([NO_TEXT if is_missing(value) else value for value in values], dtype=object)


def _matches(graph: Graph, part: Columns, categories: Array, where: str) -> str:
    """(rows, categories): 1.0 where a row has the category."""
    if part.text != (categories.dtype == object):
        raise ExportError(f"{where} has a column with both text and numbers; make it one of them")
    equal = graph.op("Equal", part.tensor, categories[None])
    if part.text or not np.isnan(categories).any():
        return graph.number(equal)
    missing = graph.op("And", graph.op("IsNaN", part.tensor), np.isnan(categories)[None])
    return graph.number(graph.op("Or", equal, missing))


# -- missing values --------------------------------------------------------------------------------------------


def impute(graph: Graph, step: Any, table: Table, where: str) -> Table:
    """SimpleImputer: its statistics in place of what is missing; columns of which it knows nothing are left out."""
    indicators = list(step.indicator_.features_) if step.add_indicator else []
    kept = [j for j, value in enumerate(step.statistics_) if step.keep_empty_features or not is_missing(value)]
    if not any(part.text for part in table.parts):
        X = table.numbers(graph, where)
        missing = _missing(graph, X, step.missing_values, where)
        fill = np.array([np.nan if is_missing(value) else float(value) for value in step.statistics_])
        filled = [graph.take(graph.op("Where", missing, fill[None], X), kept)] if kept else []
        flags = [graph.take(graph.number(missing), indicators)] if indicators else []
        return Table.of(graph.join(filled + flags), len(kept) + len(indicators))
    parts = [_imputed(graph, step, table.column(graph, j), j, where) for j in kept]
    shown = [_flag(graph, step, table.column(graph, j), where) for j in indicators]
    return joined(graph, [Table([part]) for part in parts + shown], where)


def _missing(graph: Graph, X: str, marker: Any, where: str) -> str:
    if is_missing(marker):
        return graph.op("IsNaN", X)
    if isinstance(marker, str):
        raise ExportError(f"{where}: missing_values={marker!r} is text, but the column holds numbers")
    return graph.op("Equal", X, float(marker))


def _imputed(graph: Graph, step: Any, part: Columns, j: int, where: str) -> Columns:
    fill = step.statistics_[j]
    if not part.text:
        return Columns(
            graph.op("Where", _missing(graph, part.tensor, step.missing_values, where), float(fill), part.tensor), 1
        )
    gone = graph.op("Equal", part.tensor, np.array(_marker(step), dtype=object))
    return Columns(graph.op("Where", gone, np.array([[str(fill)]], dtype=object), part.tensor), 1, text=True)


def _flag(graph: Graph, step: Any, part: Columns, where: str) -> Columns:
    if part.text:
        return Columns(graph.number(graph.op("Equal", part.tensor, np.array(_marker(step), dtype=object))), 1)
    return Columns(graph.number(_missing(graph, part.tensor, step.missing_values, where)), 1)


def _marker(step: Any) -> list[list[str]]:
    """What stands for missing text, as a (1, 1) constant."""
    return [[NO_TEXT if is_missing(step.missing_values) else str(step.missing_values)]]


# -- categories ------------------------------------------------------------------------------------------------


def one_hot(graph: Graph, step: Any, table: Table, where: str) -> Table:
    """OneHotEncoder: a column per category; infrequent ones share one, and one may be dropped."""
    parts, width = [], 0
    for j, categories in enumerate(step.categories_):
        values = _as_tensor_values(categories, where)
        codes = _output_codes(step, j, len(values))
        n_out = int(codes.max(initial=-1)) + 1
        indicator = np.zeros((len(values), n_out))
        indicator[np.arange(len(values)), codes] = 1.0
        unknown = np.zeros(n_out)
        if step.handle_unknown in ("infrequent_if_exist", "warn") and _grouping(step, j) is not None:
            unknown[-1] = 1.0  # infrequent categories come last
        if step.handle_unknown == "error":
            unknown[:] = np.nan
        drop = _dropped(step, j)
        kept = np.array([k for k in range(n_out) if k != drop], dtype=int)
        if len(kept):
            found = _matches(graph, table.column(graph, j), values, where)
            parts.append(_looked_up(graph, found, indicator[:, kept], unknown[kept]))
            width += len(kept)
    if not parts:
        raise ExportError(f"{where} makes no columns at all; drop the step")
    return Table.of(graph.join(parts), width)


def ordinal(graph: Graph, step: Any, table: Table, where: str) -> Table:
    """OrdinalEncoder: the number of the category."""
    parts = []
    for j, categories in enumerate(step.categories_):
        values = _as_tensor_values(categories, where)
        codes = _output_codes(step, j, len(values)).astype(np.float64)
        gone = [is_missing(value) for value in np.asarray(categories, dtype=object).tolist()]
        codes[gone] = step.encoded_missing_value
        unknown = step.unknown_value if step.handle_unknown == "use_encoded_value" else np.nan
        found = _matches(graph, table.column(graph, j), values, where)
        parts.append(_looked_up(graph, found, codes[:, None], np.array([float(unknown)])))
    return Table.of(graph.join(parts), len(parts))


def _grouping(step: Any, j: int) -> Any:
    """The output of every category of column j, if some are infrequent: those have the last one in common."""
    mappings = getattr(step, "_default_to_infrequent_mappings", None)
    return None if mappings is None else mappings[j]


def _output_codes(step: Any, j: int, count: int) -> Array:
    """The output of every category of column j."""
    grouping = _grouping(step, j)
    return np.arange(count) if grouping is None else np.asarray(grouping)


def _dropped(step: Any, j: int) -> int | None:
    dropped = getattr(step, "_drop_idx_after_grouping", None)
    return None if dropped is None else dropped[j]


def _looked_up(graph: Graph, found: str, values: FloatArray, unknown: FloatArray) -> str:
    """The line of ``values`` of the category that a row has, ``unknown`` where it has none of them."""
    empty = np.isnan(values)  # 0 times NaN is NaN: put in afterwards
    result = graph.product(found, np.where(empty, 0.0, values))
    if empty.any():
        result = graph.op("Where", graph.op("Greater", graph.product(found, empty * 1.0), 0.0), np.nan, result)
    if not unknown.any():
        return result
    known = graph.op("Greater", graph.reduce("Sum", found), 0.0)
    return graph.op("Where", known, result, unknown[None])
