"""Chunks of a stream: checked against what came before, with errors that name the chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import validate_data

from maxmargin._types import Array, FloatArray, IntArray, RowData
from maxmargin._validation import kept_rows
from maxmargin.estimators._machine import check_target

if TYPE_CHECKING:
    from maxmargin.estimators._many_classes import ManyClasses

#: Unknown classes named in an error.
NAMED = 5


class Chunk(NamedTuple):
    """Rows of positive weight, with their classes as numbers."""

    X: RowData
    label: IntArray
    weight: FloatArray
    classes: Array
    factors: FloatArray  # one per class


def checked_chunk(estimator: ManyClasses, X: Any, y: Any, classes: Any, sample_weight: Any = None) -> Chunk:
    """The chunk, or a ValueError that names it by its number; the estimator is not changed by an error's time."""
    number = getattr(estimator, "chunks_", 0) + 1
    try:
        return _checked(estimator, X, y, classes, sample_weight)
    except ValueError as error:
        message = f"chunk {number} (of the calls to partial_fit): {error} The model is as it was before this chunk."
        raise ValueError(message) from error


def _checked(estimator: ManyClasses, X: Any, y: Any, classes: Any, sample_weight: Any) -> Chunk:
    first = not hasattr(estimator, "classes_")
    if first and classes is None:
        raise ValueError("classes must be passed on the first call to partial_fit.")
    X = validate_data(
        estimator, X, dtype=[np.float64, np.float32], order="C", accept_sparse="csr", y="no_validation", reset=first
    )
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    y = check_target(estimator, y, X.shape[0])
    check_classification_targets(y)
    known = _known_classes(estimator, classes, first)
    label = np.searchsorted(known, y).clip(max=len(known) - 1)
    strange = np.unique(y[known[label] != y])
    if len(strange):
        raise ValueError(
            f"y has classes that are not among {known.tolist()}: {strange[:NAMED].tolist()}; give all classes in the "
            "first call, partial_fit(X, y, classes=...)."
        )
    weight, kept = kept_rows(sample_weight, X, X.shape[0])
    factors = _factors(estimator, known) if first else getattr(estimator, "class_weight_", np.ones(len(known)))
    whole = len(kept) == X.shape[0]
    return Chunk(X if whole else X[kept], label[kept], weight[kept], known, factors)


def _known_classes(estimator: ManyClasses, classes: Any, first: bool) -> Array:
    known = unique_labels(classes) if first else estimator.classes_
    if not first and classes is not None and not np.array_equal(known, unique_labels(classes)):
        raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}.")
    if len(known) < 2:
        raise ValueError(f"The number of classes has to be greater than one; got {len(known)} class.")
    return known


def _factors(estimator: ManyClasses, classes: Array) -> FloatArray:
    chosen = getattr(estimator, "class_weight", None)
    if chosen == "balanced":
        raise ValueError(
            "class_weight='balanced' counts all rows, which a stream does not have; give a dict of weights, for "
            "example from sklearn.utils.compute_class_weight."
        )
    return np.ones(len(classes)) if chosen is None else compute_class_weight(chosen, classes=classes, y=classes)


def require_finite_weights(weights: Any) -> None:
    """Steps on very large values overflow; a model of infinities is not delivered."""
    if not np.isfinite(weights).all():
        raise ValueError(
            "the steps have left the range of float64 and the weights are no longer finite; scale the features, for "
            "example with scale=True, or make the steps smaller."
        )
