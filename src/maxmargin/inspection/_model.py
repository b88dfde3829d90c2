"""A fitted model as machines with a score each: ours and scikit-learn's, kernel and linear, from public attributes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from maxmargin._foreign import MACHINES, kernel_of
from maxmargin._types import Array, FloatArray, IntArray, RowData
from maxmargin.certificates import Scaling, is_approximation, take, weights_of
from maxmargin.kernels import Kernel, Linear, Precomputed, takes_any_rows
from maxmargin.multiclass import SINGLE, CodeWords, OneVsOne, Scheme, make_scheme

#: Kernel values computed at a time.
BLOCK_VALUES = 2**21
#: Linear machines, ours and scikit-learn's.
LINEAR = ("LinearSVC", "LinearClassifier", "PegasosSVC", "SGDSVC", "Perceptron", "LinearSVR", "LinearRegressor")
#: Machines without classes.
OTHERS = ("SVR", "NuSVR", "OneClassSVM", "SVDD", "LinearSVR", "LinearRegressor")


@dataclass(frozen=True, eq=False)
class Fitted(ABC):
    """One machine per two-class task, or the only one of a regressor or one-class model."""

    model: Any
    machine: str
    classes: Array | None  # of a classifier
    scheme: Scheme | None
    single: bool  # all classes in one problem
    intercept: FloatArray  # (tasks,)

    # -- what a family must say -------------------------------------------------------------------------------

    @abstractmethod
    def checked(self, X: Any) -> RowData:
        """Rows that the model can score."""

    @abstractmethod
    def scores(self, X: RowData) -> FloatArray:
        """(n, tasks) decision functions of checked rows."""

    @abstractmethod
    def norms(self, X: RowData) -> FloatArray:
        """||w|| of every task; ``X`` are checked rows, for kernels that are tables of values."""

    @abstractmethod
    def squares(self, X: RowData) -> FloatArray:
        """k(x, x) of checked rows."""

    # -- what follows -----------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """What every task asks."""
        if self.scheme is None or self.classes is None:
            return [self.machine]
        shown = [str(c) for c in self.classes]
        if len(shown) == 2:
            return [f"{shown[1]} against {shown[0]}"]
        if self.single:
            return shown
        if isinstance(self.scheme, OneVsOne):
            return [f"{shown[a]} against {shown[b]}" for a, b in self.scheme.pairs]
        if isinstance(self.scheme, CodeWords) and not self.scheme.per_class:
            return [f"bit {k}" for k in range(self.scheme.words.shape[1])]
        return [f"{name} against the rest" for name in shown]

    def labels(self, y: Any, n: int) -> IntArray:
        """The number of every row's class."""
        if y is None:
            raise ValueError("the classes y of the rows are needed; got None")
        y = column_or_1d(y)
        if len(y) != n:
            raise ValueError(f"X has {n} rows but y has {len(y)}; give one class for each row")
        assert self.classes is not None  # asked of classifiers only
        label = np.searchsorted(self.classes, y).clip(max=len(self.classes) - 1)
        unknown = np.flatnonzero(self.classes[label] != y)
        if len(unknown):
            raise ValueError(
                f"row {int(unknown[0])} is of class {y[unknown[0]]}, which the model does not know; "
                f"its classes are {self.classes.tolist()}"
            )
        return label

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
    """f(x) = sum_i coef_i k(x_i, x) + b over the support vectors; SVDD's has -k(x, x) besides."""

    kernel: Kernel
    support: IntArray  # rows of the training data
    vectors: RowData  # the same rows; nothing for a precomputed kernel
    coef: FloatArray  # (support vectors, tasks)

    @property
    def precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed)

    def checked(self, X: Any) -> RowData:
        if takes_any_rows(self.model.kernel) and not _is_table(X):
            return list(X)
        return _table(self.model, X)

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
            f -= self.kernel.diag(X)[:, None]
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

    W: FloatArray  # (tasks, d), of rows as they come
    scaling: Scaling | None

    def checked(self, X: Any) -> RowData:
        return _table(self.model, X)

    def scores(self, X: RowData) -> FloatArray:
        return np.asarray(X.astype(np.float64, copy=False) @ self.W.T) + self.intercept

    def norms(self, X: RowData) -> FloatArray:
        return np.linalg.norm(self.W if self.scaling is None else self.W * self.scaling.scale, axis=1)

    def squares(self, X: RowData) -> FloatArray:
        return np.asarray(Linear().diag(scaled_rows(X, self.scaling)), dtype=np.float64)


def read(model: Any) -> Fitted:
    """The machines of a fitted model."""
    machine = next((c.__name__ for c in type(model).__mro__ if c.__name__ in (*MACHINES, *LINEAR)), None)
    if machine is None:
        raise TypeError(
            f"inspection reads {', '.join((*MACHINES, *LINEAR))}, maxmargin's and scikit-learn's; got "
            f"{type(model).__name__}. Of a pipeline, pass its last step and the rows as they reach it"
        )
    check_is_fitted(model)
    classes = None if machine in OTHERS else np.asarray(model.classes_)
    name = scheme_name(model, machine)
    scheme = None if classes is None else make_scheme(name, len(classes), getattr(model, "code_words_", "one-hot"))
    shared = (model, machine, classes, scheme, classes is not None and name in SINGLE)
    if machine in LINEAR:
        W, b = weights_of(model)
        scaling = Scaling(model.center_, model.scale_) if hasattr(model, "scale_") else None
        return LinearFitted(*shared, b, W, scaling)
    if is_approximation(model):
        b, coef = np.asarray(model.intercept_), model.landmark_coef_.T
        return KernelFitted(*shared, b, kernel_of(model), model.landmarks_, model.landmark_vectors_, coef)
    table = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else np.asarray(model.dual_coef_)
    coef = table.T
    if scheme is not None and classes is not None:
        coef = scheme.per_task(table, np.repeat(np.arange(len(classes)), model.n_support_))
    intercept = np.asarray(model.intercept_, dtype=np.float64)
    support = np.asarray(model.support_)
    return KernelFitted(*shared, intercept, kernel_of(model), support, model.support_vectors_, coef)


def scheme_name(model: Any, machine: str) -> str:
    """How many classes became tasks: scikit-learn's kernel machines are all-vs-all, its linear ones one-vs-all."""
    known = getattr(model, "multiclass_", None) or getattr(model, "multi_class", None)
    return str(known or ("ovr" if machine in LINEAR else "ovo")).replace("_", "-")


def read_classifier(model: Any, what: str, scores_only: bool = False) -> Fitted:
    """The machines of a classifier with two-class tasks; ``what`` is what they are wanted for.

    ``scores_only``: whether that asks for no more than scores, which of two classes are a task's whatever the problem.
    """
    fitted = read(model)
    if fitted.classes is None:
        raise TypeError(f"{what} is for classifiers; got {type(model).__name__}, which has no classes")
    if fitted.single and not (scores_only and len(fitted.classes) == 2):
        raise ValueError(
            f"{what} is for two-class tasks, and multiclass={scheme_name(model, fitted.machine)!r} is one problem for "
            "all classes; fit with multiclass='ovo', 'ovr' or 'code'"
        )
    return fitted


def scaled_rows(X: RowData, scaling: Scaling | None) -> RowData:
    """The rows as a linear problem saw them, in float64."""
    X = X.astype(np.float64, copy=False)
    if scaling is None:
        return X
    if sp.issparse(X):
        return sp.csr_array(X.multiply(1.0 / scaling.scale[None, :]))
    return (X - scaling.center) / scaling.scale


def squeezed(values: Any) -> Any:
    """(n, 1) to (n,), and arrays of one number to that number; everything else as it is."""
    values = np.asarray(values)
    if values.ndim == 2 and values.shape[1] == 1:
        return values[:, 0]
    return values[0].item() if values.ndim == 1 and len(values) == 1 else values


def count(X: RowData) -> int:
    """The number of rows."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def _is_table(X: Any) -> bool:
    return hasattr(X, "shape") and getattr(getattr(X, "dtype", None), "kind", "") not in ("O", "U", "S")


def _table(model: Any, X: Any) -> RowData:
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    wanted = getattr(model, "n_features_in_", X.shape[1])
    if X.shape[1] != wanted:
        raise ValueError(f"X has {X.shape[1]} columns, but {type(model).__name__} was fitted on {wanted}")
    return X
