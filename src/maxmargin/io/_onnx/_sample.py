"""Rows to check an export with, made from the model: backwards through its steps, from rows that its machine knows."""

from __future__ import annotations

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
from maxmargin.io._onnx._encoders import is_missing, is_text
from maxmargin.io._onnx._pipeline import column_parts, is_passed
from maxmargin.io._onnx._sums import dense
from maxmargin.maps import NystroemMap

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


_BACK: list[tuple[Any, Any]] = [
    (Pipeline, _back_through),
    (ColumnTransformer, _by_columns),
    (FeatureUnion, _union),
    (SimpleImputer, _with_gaps),
    ((OneHotEncoder, OrdinalEncoder), _categories),
    (_INVERTIBLE, lambda step, rows, rng: step.inverse_transform(np.asarray(rows, dtype=np.float64))),
    (Normalizer, _lengthened),
    (SelectorMixin, _filled_up),
]


def _like_landmarks(step: Any, rows: Array, rng: Random) -> Array:
    points = step.components_
    return _around(dense(points), rng) if points.shape[1] else rng.normal(size=(len(rows), step.n_features_in_))


_BACK.append((NystroemMap, _like_landmarks))
