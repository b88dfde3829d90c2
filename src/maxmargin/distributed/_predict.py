"""Predictions of any fitted model over Dask collections: lazily, partition by partition, where the rows are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin.distributed._client import require_dask
from maxmargin.distributed._input import are_chunks, is_collection


def predict(model: Any, X: Any) -> Any:
    """``model.predict`` of every row: a lazy Dask array for a Dask array or data frame, NumPy for NumPy.

    Parameters
    ----------
    model : fitted estimator
        Any of maxmargin's, fitted on a cluster or not.
    X : dask array or data frame, list of delayed chunks, or array
        Rows.
    """
    return lazily(model, model.predict, "predict", X)


def predict_proba(model: Any, X: Any) -> Any:
    """``model.predict_proba`` of every row; see :func:`predict`."""
    return lazily(model, model.predict_proba, "predict_proba", X)


def decision_function(model: Any, X: Any) -> Any:
    """``model.decision_function`` of every row; see :func:`predict`."""
    return lazily(model, model.decision_function, "decision_function", X)


def lazily(model: Any, method: Callable[[Any], Any], name: str, X: Any) -> Any:
    """``method(X)`` of an array; of a collection the same, a partition at a time, once somebody computes it."""
    if not is_collection(X) and not are_chunks(X):
        return method(X)
    require_dask()
    import dask.array as da
    from dask import delayed

    plain = model.ordinary() if hasattr(model, "ordinary") else model
    sent = delayed(plain, pure=True)  # once for each worker, not once for each partition
    example = _example(plain, name, X)
    if not is_collection(X) or hasattr(X, "columns"):
        parts, sizes = (X.to_delayed() if is_collection(X) else X), None
    else:
        X = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        parts, sizes = X.to_delayed().ravel(), X.chunks[0]
    scores = [
        da.from_delayed(
            delayed(predicted, pure=True)(sent, name, part),
            shape=(np.nan if sizes is None else sizes[k], *example.shape[1:]),
            dtype=example.dtype,
        )
        for k, part in enumerate(parts)
    ]
    return da.concatenate(scores, axis=0, allow_unknown_chunksizes=True)


def predicted(model: Any, name: str, rows: Any) -> Any:
    """One partition's."""
    if not rows.shape[0]:
        return _empty(model, name)
    return getattr(model, name)(rows)


def _example(model: Any, name: str, X: Any) -> Any:
    """What the method returns of two rows, which has the type and the width of what it returns of any."""
    d = model.n_features_in_
    rows: Any = np.zeros((2, d))
    if is_collection(X) and hasattr(X, "columns"):
        import pandas as pd

        rows = pd.DataFrame(rows, columns=list(X.columns))
    return np.asarray(getattr(model, name)(rows))


def _empty(model: Any, name: str) -> Any:
    names = getattr(model, "feature_names_in_", None)
    rows: Any = np.zeros((2, model.n_features_in_))
    if names is not None:
        import pandas as pd

        rows = pd.DataFrame(rows, columns=list(names))
    return np.asarray(getattr(model, name)(rows))[:0]
