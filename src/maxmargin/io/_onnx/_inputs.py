"""Inputs of a graph: one matrix ``X`` of numbers, or one input per column.

Columns have inputs of their own where some are text, or where a table has columns with names that nobody looks at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from maxmargin._rows import dense
from maxmargin._types import Array
from maxmargin.exceptions import ExportError
from maxmargin.io._onnx._encoders import NO_TEXT, is_missing, is_text
from maxmargin.io._onnx._graph import DOUBLE, STRING, Graph
from maxmargin.io._onnx._pipeline import column_parts, is_passed
from maxmargin.io._onnx._table import Columns, Table

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

    @property
    def by_column(self) -> bool:
        """Whether every column is an input."""
        return bool(self.text) or (self.framed and len(self.used) < len(self.names))

    def _input_name(self, j: int) -> str:
        """The column's name, unless an output has it."""
        name = self.names[j]
        return f"{name}_input" if name in RESERVED else name

    @classmethod
    def of(cls, model: Any) -> Inputs:
        """The inputs that a fitted model needs."""
        steps = [step for _, step in model.steps if not is_passed(step)] if isinstance(model, Pipeline) else [model]
        count, known = getattr(steps[0], "n_features_in_", None), getattr(steps[0], "feature_names_in_", None)
        if count is None:
            raise ExportError(
                f"{type(steps[0]).__name__} was not fitted to rows of numbers, so that its kernel must be a Python "
                "function, which an ONNX graph cannot hold; use kernel='precomputed'"
            )
        names = [f"x{j}" for j in range(count)] if known is None else [str(name) for name in known]
        return cls(names, text_columns(model), _used_columns(model, count), known is not None)

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
        return np.asarray(dense(sample), dtype=np.float64)

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
