"""What the maps share: fit and transform, weights, seeds, and rows that are mapped block by block."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils.validation import check_is_fitted, validate_data

from maxmargin._rows import count
from maxmargin._stop import heed
from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin._validation import kept_rows, unchanged_by_errors
from maxmargin.backends import run_queue, single_threaded_blas

#: Feature values that a thread computes at a time, so that memory stays bounded however many rows there are.
BLOCK_VALUES = 2**22
#: The most rows of a block.
BLOCK_ROWS = 4096


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the maps: subclasses say what they learn from rows and how they map them."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Prepare the map for rows like these.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : object, default=None
            Ignored; there for pipelines.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts; a weight of 2 is the row twice, rows of weight 0 are left out.

        Returns
        -------
        self, fitted; after an error it is what it was before.
        """
        with unchanged_by_errors(self):
            X = self._checked(X, reset=True)
            weight, kept = kept_rows(sample_weight, X, count(X))
            self._learn(X, weight, kept)
        return self

    def transform(self, X):
        """Features of every row; they do not depend on the other rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, features), float32 for float32 rows and float64 otherwise.
        """
        check_is_fitted(self)
        return self._map(self._checked(X, reset=False))

    def _checked(self, X: Any, reset: bool) -> RowData:
        """Rows as arrays or CSR matrices of finite numbers."""
        return validate_data(self, X, dtype=[np.float64, np.float32], order="C", accept_sparse="csr", reset=reset)

    @abstractmethod
    def _learn(self, X: RowData, weight: FloatArray, kept: IntArray) -> None:
        """Find what the map needs to know, from the rows ``kept`` of X."""

    @abstractmethod
    def _map(self, X: RowData) -> Any:
        """Features of checked rows."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def generator_of(random_state: Any) -> np.random.Generator:
    """Random numbers from a ``random_state``; None is 0, so that equal fits are equal."""
    if random_state is None or isinstance(random_state, Integral):
        return np.random.default_rng(int(random_state or 0))
    return np.random.default_rng(int(random_state.randint(2**31 - 1)))


def in_blocks(fill: Callable[[int, int], None], n: int, width: int, threads: int = 1) -> None:
    """``fill(first, last)`` for blocks of n rows with ``width`` features each, by some threads side by side."""
    height = max(1, min(BLOCK_ROWS, BLOCK_VALUES // max(1, width), -(-n // threads)))

    def block(first: int) -> None:
        heed()
        fill(first, min(first + height, n))

    with single_threaded_blas():
        run_queue([partial(block, first) for first in range(0, n, height)], threads)


def require_finite(values: Any, what: str) -> None:
    """Raise if a value is NaN or infinite, for instance by overflow."""
    if not np.isfinite(values).all():
        raise ValueError(
            f"{what} overflow: some are NaN or infinite; "
            "scale the features, for example with sklearn.preprocessing.StandardScaler"
        )
