"""A fitted model as tasks with a score each: ours and scikit-learn's, kernel and linear, from public attributes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from maxmargin._rows import count, dense, take
from maxmargin._types import Array, FloatArray, IntArray, RowData
from maxmargin._validation import Scaling, scaled
from maxmargin.delivered._machines import LINEAR, ONLINE, has_scheme, is_approximation, machine_of, scheme_name
from maxmargin.kernels import Kernel, Linear, Precomputed, resolve_kernel, takes_any_rows
from maxmargin.multiclass import SINGLE, Scheme, make_scheme

#: Kernel values computed at a time.
BLOCK_VALUES = 2**21


@dataclass(frozen=True, eq=False)
class Fitted(ABC):
    """The tasks of a fitted model: two-class ones, or the only one of a regressor or one-class machine."""

    model: Any
    machine: str
    classes: Array | None  # of a classifier
    scheme: Scheme | None
    multiclass: str  # the scheme's name
    intercept: FloatArray  # (tasks,)
    scaling: Scaling | None  # of the rows, before the problem sees them

    # -- what a family must say -------------------------------------------------------------------------------

    @abstractmethod
    def checked(self, X: Any) -> RowData:
        """Rows that the model can score."""

    @abstractmethod
    def scores(self, X: RowData) -> FloatArray:
        """(n, tasks) decision functions of checked rows."""

    @abstractmethod
    def norms(self, X: RowData) -> FloatArray:
        """||w|| of every task; ``X``, checked rows, is used by kernels that are tables of values."""

    @abstractmethod
    def squares(self, X: RowData) -> FloatArray:
        """k(x, x) of checked rows."""

    # -- what follows -----------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """What every task asks; of a machine for all classes, the class that every score is for."""
        if self.scheme is None or self.classes is None:
            return [self.machine]
        if self.single and len(self.classes) > 2:
            return [str(c) for c in self.classes]
        return self.scheme.names(self.classes)

    @property
    def single(self) -> bool:
        """Whether all classes are one problem."""
        return self.scheme is not None and self.multiclass in SINGLE

    def labels(self, y: Any, n: int) -> IntArray:
        """The number of every row's class."""
        if y is None:
            raise ValueError("the classes y of the rows are needed; got None")
        y = column_or_1d(y)
        if len(y) != n:
            raise ValueError(f"X has {n} rows but y has {len(y)}; give one class for each row")
        assert self.classes is not None  # asked of classifiers only
        label = self.near_labels(y)
        unknown = np.flatnonzero(self.classes[label] != y)
        if len(unknown):
            raise ValueError(
                f"row {int(unknown[0])} is of class {y[unknown[0]]}, which the model does not know; "
                f"its classes are {self.classes.tolist()}"
            )
        return label

    def near_labels(self, y: Any) -> IntArray:
        """The same of training rows, among which rows of weight 0 may be of classes that the model does not know."""
        assert self.classes is not None  # asked of classifiers only
        return np.searchsorted(self.classes, column_or_1d(y)).clip(max=len(self.classes) - 1)

    def signs(self, label: IntArray) -> FloatArray:
        """(n, tasks) signs, nan where a row has no part in a task."""
        assert self.scheme is not None  # asked of classifiers only
        tasks = self.scheme.tasks(label)
        signs = np.full((len(label), len(tasks)), np.nan)
        for k, task in enumerate(tasks):
            signs[task.rows, k] = task.sign
        return signs


@dataclass(frozen=True, eq=False)
class KernelFitted(Fitted):
    """f(x) = sum_i coef_i k(x_i, x) + b over the support vectors; for SVDD twice the sum, minus k(x, x), plus b."""

    kernel: Kernel
    support: IntArray  # rows of the training data
    vectors: RowData  # the same rows, as the kernel sees them; nothing for a precomputed kernel
    lines: FloatArray  # dual_coef_, dense

    @cached_property
    def coef(self) -> FloatArray:
        """(support vectors, tasks) coefficients."""
        if self.scheme is None or self.classes is None or self.machine in ONLINE or is_approximation(self.model):
            return self.lines.T
        return self.scheme.per_task(self.lines, np.repeat(np.arange(len(self.classes)), self.model.n_support_))

    @property
    def precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed)

    def checked(self, X: Any) -> RowData:
        if takes_any_rows(self.model.kernel) and not _is_table(X):
            return list(X)
        return scaled(_table(self.model, X), self.scaling)

    def values(self, X: RowData) -> FloatArray:
        """K between rows and support vectors."""
        if self.precomputed:
            return np.asarray(X[:, self.support], dtype=np.float64)
        return self.kernel(X, self._kept_vectors)

    @property
    def _kept_vectors(self) -> RowData:
        if count(self.vectors) != len(self.support):
            raise ValueError(
                f"this {type(self.model).__name__} keeps no support vectors, as scikit-learn's do with a callable "
                "kernel; fit maxmargin's, or pass kernel='precomputed' and kernel values"
            )
        return self.vectors

    def scores(self, X: RowData) -> FloatArray:
        n = count(X)
        f = np.zeros((n, self.coef.shape[1]))
        height = max(1, BLOCK_VALUES // max(1, len(self.support)))
        for first in range(0, n if len(self.support) else 0, height):
            rows = np.arange(first, min(first + height, n))
            f[rows] = self.values(take(X, rows)) @ self.coef
        if self.machine == "SVDD":
            f = 2.0 * f - self.kernel.diag(X)[:, None]
        return f + self.intercept

    def norms(self, X: RowData) -> FloatArray:
        square = np.einsum("ij,ij->j", self.coef, self._between() if not self.precomputed else self._in(X))
        return np.sqrt(np.maximum(square, 0.0))

    def _between(self) -> FloatArray:
        """K coef among the support vectors."""
        out = np.zeros_like(self.coef)
        height = max(1, BLOCK_VALUES // max(1, len(self.support)))
        for first in range(0, len(self.support), height):
            rows = np.arange(first, min(first + height, len(self.support)))
            out[rows] = self.kernel(take(self._kept_vectors, rows), self.vectors) @ self.coef
        return out

    def _in(self, X: RowData) -> FloatArray:
        self._require_gram(X, "||w||")
        return np.asarray(X[np.ix_(self.support, self.support)], dtype=np.float64) @ self.coef

    def squares(self, X: RowData) -> FloatArray:
        if self.precomputed:
            self._require_gram(X, "k(x, x)")
        return np.asarray(self.kernel.diag(X), dtype=np.float64)

    def _require_gram(self, X: RowData, what: str) -> None:
        if X.shape[0] != X.shape[1] or not np.allclose(X, X.T, rtol=1e-5, atol=1e-8 * float(np.abs(X).max(initial=0))):
            raise ValueError(
                f"{what} cannot be read from kernel values with the training rows alone, got a matrix of shape "
                f"{X.shape}; give the symmetric Gram matrix of the training rows, or {what} itself"
            )


@dataclass(frozen=True, eq=False)
class LinearFitted(Fitted):
    """f(x) = w . x + b; ||w|| and k(x, x) are those of the rows as the problem saw them, scaled if it scaled them."""

    W: FloatArray  # (tasks, d), for unscaled rows

    def checked(self, X: Any) -> RowData:
        return _table(self.model, X)

    def seen(self, X: RowData) -> RowData:
        """Rows as the problem saw them, in float64."""
        return scaled(X.astype(np.float64, copy=False), self.scaling)

    def scores(self, X: RowData) -> FloatArray:
        return np.asarray(X.astype(np.float64, copy=False) @ self.W.T) + self.intercept

    def norms(self, X: RowData) -> FloatArray:
        return np.linalg.norm(self.W if self.scaling is None else self.W * self.scaling.scale, axis=1)

    def squares(self, X: RowData) -> FloatArray:
        return np.asarray(Linear().diag(self.seen(X)), dtype=np.float64)


def read(model: Any) -> Fitted:
    """What a fitted model is by itself, without its training data."""
    return read_linear(model) if machine_of(model, LINEAR) else read_kernel(model)


def read_linear(model: Any) -> LinearFitted:
    """The same of a linear machine."""
    shared = _shared(model)
    W = np.atleast_2d(dense(model.coef_)).astype(np.float64)
    b = np.broadcast_to(np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64)), (len(W),))
    scaling = Scaling(model.center_, model.scale_) if hasattr(model, "scale_") else None
    return LinearFitted(*shared, b, scaling, W)


def read_kernel(model: Any, X: RowData = None) -> KernelFitted:
    """The same of a kernel machine; ``X`` are its training rows, for models that do not keep the width they used."""
    shared, scaling, kernel = _shared(model), Scaling.of(model), _kernel_of(model, X)
    rows, vectors, lines = model.support_, model.support_vectors_, model.dual_coef_
    if is_approximation(model):
        rows, vectors, lines = model.landmarks_, model.landmark_vectors_, model.landmark_coef_
    lines = dense(lines)
    if shared[1] == "KernelLeastSquares":
        lines = lines.reshape(len(lines), -1)
    if shared[1] in ("KernelLeastSquares", "KernelDiscriminantAnalysis"):  # which publish a column per score
        lines = lines.T
    b = np.asarray(getattr(model, "intercept_", np.zeros(len(lines))), dtype=np.float64)
    return KernelFitted(*shared, b, scaling, kernel, np.asarray(rows), scaled(vectors, scaling), lines)


def _shared(model: Any) -> tuple[Any, str, Array | None, Scheme | None, str]:
    """(model, machine, classes, scheme, its name)."""
    machine = machine_of(model)
    if machine is None:
        raise TypeError(f"a machine of maxmargin's or scikit-learn's is needed; got {type(model).__name__}")
    check_is_fitted(model)
    if not has_scheme(model):
        return model, machine, None, None, ""
    classes, name = np.asarray(model.classes_), scheme_name(model)
    return model, machine, classes, make_scheme(name, len(classes), getattr(model, "code_words_", "one-hot")), name


def _kernel_of(model: Any, X: RowData) -> Kernel:
    if hasattr(model, "kernel_"):
        return model.kernel_
    gamma = model.gamma
    if hasattr(model, "_gamma"):
        gamma = model._gamma
    elif gamma == "auto":
        gamma = 1.0 / X.shape[1]
    elif gamma == "scale":
        variance = X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else X.var()
        gamma = 1.0 / (X.shape[1] * variance) if variance != 0 else 1.0
    return resolve_kernel(model.kernel, float(gamma), model.degree, model.coef0)


def _is_table(X: Any) -> bool:
    return hasattr(X, "shape") and getattr(getattr(X, "dtype", None), "kind", "") not in ("O", "U", "S")


def _table(model: Any, X: Any) -> RowData:
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    wanted = getattr(model, "n_features_in_", X.shape[1])
    if X.shape[1] != wanted:
        raise ValueError(f"X has {X.shape[1]} columns, but {type(model).__name__} was fitted on {wanted}")
    return X
