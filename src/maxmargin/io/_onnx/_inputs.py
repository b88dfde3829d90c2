"""Inputs of a graph, and rows to check it with. An input is one matrix ``X`` of numbers, or there is one per column.

Columns have inputs of their own where some are text, or where a table has columns with names that nobody looks at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from maxmargin._types import Array, FloatArray
from maxmargin.exceptions import ExportError
from maxmargin.io._onnx._encoders import NO_TEXT, is_missing, is_text
from maxmargin.io._onnx._graph import DOUBLE, STRING, Columns, Graph, Table
from maxmargin.io._onnx._kernels import dense
from maxmargin.io._onnx._steps import column_parts, is_passed
from maxmargin.maps import NystroemMap

#: Names of outputs.
RESERVED = ("label", "scores", "probabilities", "prediction", "projection")


def text_columns(step: Any) -> set[int]:
    """Which of a fitted step's input columns hold text."""
    if isinstance(step, Pipeline):
        return next((text_columns(inner) for _, inner in step.steps if not is_passed(inner)), set())
    if isinstance(step, ColumnTransformer):
        return {columns[j] for _, inner, columns, _ in column_parts(step) for j in text_columns(inner)}
    if isinstance(step, FeatureUnion):
        return set().union(*(text_columns(inner) for _, inner in step.transformer_list))
    if isinstance(step, (OneHotEncoder, OrdinalEncoder)):
        return {j for j, categories in enumerate(step.categories_) if is_text(categories)}
    if isinstance(step, SimpleImputer):
        return {j for j, value in enumerate(step.statistics_) if isinstance(value, str)}
    return set()


def _used_columns(step: Any, count: int) -> list[int]:
    """Columns that a table's first step looks at."""
    if isinstance(step, Pipeline):
        return next(
            (_used_columns(inner, count) for _, inner in step.steps if not is_passed(inner)), list(range(count))
        )
    if isinstance(step, ColumnTransformer):
        return sorted({j for _, _, columns, _ in column_parts(step) for j in columns})
    return list(range(count))


@dataclass(frozen=True)
class Inputs:
    """What a graph takes."""

    names: list[str]  # of all columns
    text: set[int]  # numbers of the columns that hold text
    used: list[int]  # and of those that count
    framed: bool  # whether the model was fitted to a table with names
    named: bool = False  # whether somebody named the columns

    @property
    def by_column(self) -> bool:
        """Whether every column is an input."""
        return self.named or bool(self.text) or (self.framed and len(self.used) < len(self.names))

    def _input_name(self, j: int) -> str:
        """The column's name, unless an output has it."""
        name = self.names[j]
        return f"{name}_input" if name in RESERVED else name

    @classmethod
    def of(cls, model: Any, wanted: Sequence[str] | None = None) -> Inputs:
        """The inputs that a fitted model needs."""
        steps = [step for _, step in model.steps if not is_passed(step)] if isinstance(model, Pipeline) else [model]
        count, known = getattr(steps[0], "n_features_in_", None), getattr(steps[0], "feature_names_in_", None)
        if count is None:
            raise ExportError(
                f"{type(steps[0]).__name__} was not fitted to rows of numbers, so that its kernel must be a Python "
                "function, which an ONNX graph cannot hold; use kernel='precomputed'"
            )
        names = [f"x{j}" for j in range(count)] if known is None else [str(name) for name in known]
        if wanted is not None:
            if known is not None or len(wanted) != count:
                reason = "the model has names already" if known is not None else f"the model has {count} columns"
                raise ValueError(f"names has {len(wanted)} names, and {reason}")
            names = [str(name) for name in wanted]
        return cls(names, text_columns(model), _used_columns(model, count), known is not None, wanted is not None)

    def table(self, graph: Graph) -> Table:
        """The graph's inputs as a table."""
        if not self.by_column:
            return Table.of(graph.input("X", DOUBLE, len(self.names)), len(self.names))
        chosen = [self._input_name(j) for j in self.used]
        if len(set(chosen)) < len(chosen):
            raise ExportError(
                f"the inputs of the graph would be named {chosen}, some of them twice; rename the columns"
            )
        parts = [Columns("", 1, j in self.text) for j in range(len(self.names))]  # those not used have no tensor
        for j in self.used:
            kind = STRING if j in self.text else DOUBLE
            parts[j] = Columns(graph.input(self._input_name(j), kind, 1), 1, j in self.text)
        return Table(parts)

    # -- rows to check with -----------------------------------------------------------------------------------

    def rows(self, sample: Any) -> Any:
        """Rows as the model wants them: float64 where they are numbers, a table where it was fitted to one."""
        if self.framed:
            try:
                import pandas as pd
            except ImportError:
                return np.asarray(sample)
            frame = sample if isinstance(sample, pd.DataFrame) else pd.DataFrame(np.asarray(sample), columns=self.names)
            frame = frame[self.names] if set(self.names) <= set(frame.columns) else frame
            numbers = [name for j, name in enumerate(self.names) if j in self.used and j not in self.text]
            return frame.astype(dict.fromkeys([name for name in numbers if name in frame.columns], np.float64))
        if self.text:
            return np.asarray(sample, dtype=object)
        return dense(sample)

    def feeds(self, rows: Any) -> dict[str, Array]:
        """The same rows as onnxruntime wants them."""
        if not self.by_column:
            return {"X": np.ascontiguousarray(np.asarray(rows, dtype=np.float64))}
        columns = [np.asarray(rows[name], dtype=object) for name in self.names] if hasattr(rows, "columns") else rows.T
        return {self._input_name(j): self._column(columns[j], j) for j in self.used}

    def _column(self, values: Array, j: int) -> Array:
        if j not in self.text:
            return np.array([np.nan if is_missing(value) else float(value) for value in values])[:, None]
        wrong = next((value for value in values if not isinstance(value, str) and not is_missing(value)), None)
        if wrong is not None:
            raise ExportError(f"column {self.names[j]!r} holds text, but the sample has {wrong!r} there")
        return np.array([NO_TEXT if is_missing(value) else value for value in values], dtype=object)[:, None]


# -- Rows to check an export with: backwards through the model's steps, from rows that its machine knows --------------


#: Rows that are made, and shares of values that are missing or of no known category, where steps take such.
ROWS, SHARE = 512, 0.05
#: A category that no encoder knows.
UNKNOWN_TEXT = "(unknown)"
_INVERTIBLE = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, PCA, TruncatedSVD)

Random = np.random.Generator


def rows_for(steps: list[Any], machine: Any) -> Array:
    """Rows for the first step, of numbers or of objects."""
    rng = np.random.default_rng(0)
    rows: Array = _for_machine(machine, rng)
    for step in reversed(steps):
        rows = _before(step, rows, rng)
    return rows


def _for_machine(machine: Any, rng: Random) -> FloatArray:
    """Around its support vectors, or where its scores are neither all tiny nor all huge."""
    vectors = getattr(machine, "support_vectors_", None)
    if vectors is not None and vectors.shape[0] and vectors.shape[1]:
        return _around(dense(vectors), rng)
    d = machine.n_features_in_
    return rng.normal(size=(ROWS, d)) * getattr(machine, "scale_", 1.0) + getattr(machine, "center_", 0.0)


def _around(points: FloatArray, rng: Random) -> FloatArray:
    """Some of the points, means of two of them, points moved a little, and others of their centre and spread."""
    part = ROWS // 4
    spread = points.std(axis=0)
    some = [points[rng.integers(len(points), size=part)] for _ in range(4)]
    share = rng.uniform(size=(part, 1))
    moved = some[3] + 0.1 * spread * rng.normal(size=some[3].shape)
    far = points.mean(axis=0) + 2.0 * spread * rng.normal(size=some[0].shape)
    rows = np.vstack([some[0], share * some[1] + (1 - share) * some[2], moved, far])
    return np.abs(rows) if points.min() >= 0 else rows  # some kernels take no negative values


def _before(step: Any, rows: Array, rng: Random) -> Array:
    """Rows that a step would take to rows like these."""
    if is_passed(step):
        return rows
    for kinds, back in _BACK:
        if isinstance(step, kinds):
            return back(step, rows, rng)
    gamma = float(getattr(step, "gamma_", 1.0))
    return rng.normal(size=(len(rows), step.n_features_in_)) / np.sqrt(gamma if gamma > 0 else 1.0)


def _back_through(step: Any, rows: Array, rng: Random) -> Array:
    for _, inner in reversed(step.steps):
        rows = _before(inner, rows, rng)
    return rows


def _by_columns(step: Any, rows: Array, rng: Random) -> Array:
    result = np.zeros((len(rows), step.n_features_in_), dtype=object)
    for _, inner, columns, outputs in column_parts(step):
        result[:, columns] = _before(inner, rows[:, outputs], rng)
    return result


def _union(step: Any, rows: Array, rng: Random) -> Array:
    """Through the first part; the others get what they get."""
    name, inner = next((name, t) for name, t in step.transformer_list if not (isinstance(t, str) and t == "drop"))
    return _before(inner, rows[:, : len(step.named_transformers[name].get_feature_names_out())], rng)


def _lengthened(step: Any, rows: Array, rng: Random) -> Array:
    return rows * rng.uniform(0.1, 10.0, size=(len(rows), 1))


def _filled_up(step: Any, rows: Array, rng: Random) -> Array:
    """Columns that were left out are noise."""
    full = rng.normal(size=(len(rows), step.n_features_in_))
    full[:, step.get_support()] = rows
    return full


def _with_gaps(step: Any, rows: Array, rng: Random) -> Array:
    """Some values are missing; columns of which the imputer knows nothing are missing altogether."""
    full = np.empty((len(rows), len(step.statistics_)), dtype=object)
    full[:] = step.missing_values
    kept = [j for j, value in enumerate(step.statistics_) if step.keep_empty_features or not is_missing(value)]
    full[:, kept] = rows[:, : len(kept)]
    seen = step.indicator_.features_ if step.add_indicator else kept  # others may not have gaps
    gaps = np.zeros(full.shape, dtype=bool)
    gaps[:, seen] = rng.uniform(size=(len(rows), len(seen))) < SHARE
    full[gaps] = step.missing_values
    return full


def _categories(step: Any, rows: Array, rng: Random) -> Array:
    """Every category, and some that are unknown where the encoder takes them."""
    full = np.empty((len(rows), len(step.categories_)), dtype=object)
    for j, categories in enumerate(step.categories_):
        values = np.asarray(categories, dtype=object)
        full[:, j] = values[rng.integers(len(values), size=len(rows))]
        if step.handle_unknown != "error":
            known = [float(value) for value in values if not isinstance(value, str) and not is_missing(value)]
            unknown = UNKNOWN_TEXT if is_text(values) else max(known, default=0.0) + 1.0
            full[rng.uniform(size=len(rows)) < SHARE, j] = unknown
    return full


def _like_landmarks(step: Any, rows: Array, rng: Random) -> Array:
    points = step.components_
    return _around(dense(points), rng) if points.shape[1] else rng.normal(size=(len(rows), step.n_features_in_))


_BACK: list[tuple[Any, Any]] = [
    (Pipeline, _back_through),
    (ColumnTransformer, _by_columns),
    (FeatureUnion, _union),
    (SimpleImputer, _with_gaps),
    ((OneHotEncoder, OrdinalEncoder), _categories),
    (_INVERTIBLE, lambda step, rows, rng: step.inverse_transform(np.asarray(rows, dtype=np.float64))),
    (Normalizer, _lengthened),
    (SelectorMixin, _filled_up),
    (NystroemMap, _like_landmarks),
]
