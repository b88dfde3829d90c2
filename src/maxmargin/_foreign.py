"""What a fitted model delivers, read from its public attributes: ours, scikit-learn's and its relatives'."""

from __future__ import annotations

import copy
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.kernels import Kernel, Precomputed, resolve_kernel, takes_any_rows
from maxmargin.problems import (
    ALL_CLASSES,
    AllClassesProblem,
    HardMarginProblem,
    LSSVCProblem,
    NuSVCProblem,
    NuSVRProblem,
    OneClassProblem,
    Problem,
    SVCProblem,
    SVDDProblem,
    SVRProblem,
)

#: LIBSVM prints eight digits of a support vector.
PRINTED = 1e-6
MACHINES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "SVDD", "LSSVC")
#: Kernel machines whose coefficients are dual variables on average only.
STOCHASTIC = ("KernelPegasosSVC",)


class Delivered(NamedTuple):
    """One binary, regression or one-class problem of a model: its rows of X, its coefficients, its intercept."""

    rows: IntArray
    problem: Problem
    dual_coef: FloatArray  # one per row of the task
    intercept: float
    distance: float = 0.0  # 1/2 ||w - w(dual_coef)||^2, where the model's w is another one


class _Training(NamedTuple):
    """The model's machine and kernel, its training data as checked, and C."""

    machine: str
    kernel: Kernel
    X: RowData
    weight: FloatArray
    kept: IntArray
    C: Any


def is_stochastic(model: Any) -> bool:
    """Whether the model is one of the stochastic kernel machines."""
    return any(c.__name__ in STOCHASTIC for c in type(model).__mro__)


def delivered_tasks(
    model: Any, X: RowData, y: Any, sample_weight: Any, C: float | None
) -> tuple[Kernel, RowData, list[Delivered]]:
    """(kernel, X as checked, tasks) of a fitted model and its training data."""
    model = _with_known_rows(model, X, y)
    given = _training(model, X, y, sample_weight, C)
    if given.machine in ("SVC", "NuSVC", "LSSVC", *STOCHASTIC):
        return given.kernel, given.X, _classifier_tasks(model, given, y)
    kept = given.kept
    coef = np.zeros(len(given.weight))
    coef[_support(model, kept)] = _dense(model.dual_coef_).ravel()
    problem = _single(model, given.machine, given.kernel, given.X, y, given.weight[kept], kept, given.C)
    return given.kernel, given.X, [Delivered(kept, problem, coef[kept], float(model.intercept_[0]))]


def delivered_all_classes(
    model: Any, X: RowData, y: Any, sample_weight: Any, C: float | None
) -> tuple[Kernel, RowData, IntArray, AllClassesProblem, FloatArray, FloatArray]:
    """(kernel, X, rows, problem, alpha, intercepts) of a kernel machine for all classes."""
    given = _training(model, X, y, sample_weight, C)
    label, coef, weight = _labels_and_coef(model, given, y)
    kept, k = given.kept, len(model.classes_)
    problem = ALL_CLASSES[model.multiclass_](label[kept], given.C * weight[kept], k, model.fit_intercept)
    alpha, b = coef[:, kept], np.asarray(model.intercept_, dtype=np.float64)
    if k == 2:  # the model keeps the difference of its two classes, which are opposite
        alpha, b = np.vstack([-alpha, alpha]) / 2, np.concatenate([-b, b]) / 2
    return given.kernel, given.X, kept, problem, np.ascontiguousarray(alpha.T), b


def _machine_of(model: Any) -> str | None:
    """Which kernel machine this is, ours or somebody else's of the same name."""
    return next((c.__name__ for c in type(model).__mro__ if c.__name__ in (*MACHINES, *STOCHASTIC)), None)


def _training(model: Any, X: RowData, y: Any, sample_weight: Any, C: float | None) -> _Training:
    """The training data, checked against the model."""
    known, machine = (*MACHINES, *STOCHASTIC), _machine_of(model)
    if machine is None:
        raise TypeError(f"the kernel machines known are {', '.join(known)}, got {type(model).__name__}")
    check_is_fitted(model)
    if len(model.support_) and np.min(model.support_) < 0:
        raise ValueError(
            f"this {machine} keeps vectors that are no training rows (it was fitted with a budget, or to a stream), so "
            "that it has no dual point to judge; fit without a budget, on all rows"
        )
    if not takes_any_rows(model.kernel):
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    kept = np.flatnonzero(weight > 0)
    kernel = kernel_of(model, X)
    _require_training_rows(model, X, n, kept)
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if values is not None and len(values) != n:
            raise ValueError(f"X has {n} rows but {name} has {len(values)}; give the training data")
    if y is None and machine not in ("OneClassSVM", "SVDD"):
        raise ValueError(f"the targets y that {machine} was fitted on are needed; got None")
    return _Training(machine, kernel, X, weight, kept, getattr(model, "C", C) if C is None else C)


def _single(model: Any, machine: str, kernel: Kernel, X: RowData, y: Any, weight: FloatArray, kept: IntArray, C: Any):
    bias = getattr(model, "fit_intercept", True)
    if machine == "OneClassSVM":
        return OneClassProblem(weight, float(model.nu), float(kernel.diag(X)[kept].max(initial=0.0)))
    if machine == "SVDD":
        return SVDDProblem(kernel.diag(X)[kept], float(model.C_) * weight)
    target = column_or_1d(y).astype(np.float64)[kept]
    if machine == "SVR":
        return SVRProblem(target, C * weight, float(model.epsilon), bias)
    return NuSVRProblem(target, C * weight, fit_intercept=bias, nu=float(model.nu))


def _labels_and_coef(model: Any, given: _Training, y: Any) -> tuple[IntArray, FloatArray, FloatArray]:
    """(classes as numbers, coefficients (lines, n), weights with the classes' factors) of a classifier."""
    classes = model.classes_
    label = np.searchsorted(classes, column_or_1d(y)).clip(max=len(classes) - 1)  # rows of weight 0 may have others
    coef = np.zeros((model.dual_coef_.shape[0], len(label)))
    coef[:, _support(model, given.kept)] = _dense(model.dual_coef_)
    weight = given.weight
    if given.machine != "NuSVC" or hasattr(model, "C_"):  # LIBSVM's nu-SVC does not look at class weights
        weight = weight * np.asarray(model.class_weight_)[label]
    return label, coef, weight


def _classifier_tasks(model: Any, given: _Training, y: Any) -> list[Delivered]:
    label, coef, weight = _labels_and_coef(model, given, y)
    costs = getattr(model, "C_", None)  # our NuSVC with class weights is an SVC with a C of its own per task
    bias, diagonal = getattr(model, "fit_intercept", True), given.kernel.diag(given.X)
    words = _words(model)
    if words is not None:
        binary = _bits(words, label, coef, given)
    elif given.machine in STOCHASTIC:  # a line of coefficients per pair
        binary = _pairs(len(model.classes_), label, given.kept, coef)
    else:
        binary = _packed_pairs(len(model.classes_), label, coef, given.kept)
    tasks: list[Delivered] = []
    for rows, sign, task_coef in binary:
        problem: Problem
        if costs is not None:
            problem = SVCProblem(sign, costs[len(tasks)] * weight[rows], bias)
        elif given.machine == "LSSVC":
            problem = LSSVCProblem(sign, given.C * weight[rows], bias)
        elif given.machine == "NuSVC":
            problem = NuSVCProblem(sign, weight[rows], float(model.nu), bias, float(diagonal[rows].max()))
        elif np.isinf(given.C):
            problem = HardMarginProblem(sign, float(diagonal[rows].max()), bias)
        else:
            problem = SVCProblem(sign, given.C * weight[rows], bias)
        tasks.append(Delivered(rows, problem, task_coef, float(model.intercept_[len(tasks)])))
    return tasks


def _words(model: Any) -> FloatArray | None:
    """The code words of the model's scheme, (classes, tasks), one-vs-all's being one-hot; None for all pairs."""
    k, scheme = len(model.classes_), getattr(model, "multiclass_", "ovo")
    if scheme == "ovo" or k == 2:
        return None
    return 2.0 * np.eye(k) - 1.0 if scheme == "ovr" else model.code_words_


def _bits(words: FloatArray, label: IntArray, coef: FloatArray, given: _Training):
    """(rows, signs, coefficients) of a task per bit, with all rows; line k of the coefficients is task k's."""
    return [(given.kept, bit[label[given.kept]], line[given.kept]) for bit, line in zip(words.T, coef, strict=True)]


def _pairs(k: int, label: IntArray, kept: IntArray, coef: FloatArray):
    """The same of all pairs, each with a line of coefficients of its own."""
    for line, (a, b) in zip(coef, combinations(range(k), 2), strict=True):
        rows = kept[(label[kept] == a) | (label[kept] == b)]
        sign = np.where(label[rows] == a, 1.0, -1.0)
        yield rows, -sign if k == 2 else sign, line[rows]


def _packed_pairs(k: int, label: IntArray, coef: FloatArray, kept: IntArray):
    """The same in LIBSVM's layout of ``dual_coef_``: class a's rows hold pair (a, b) in line b - 1."""
    if k == 2:
        return _pairs(k, label, kept, coef)
    lines = [np.where(label == a, coef[b - 1], coef[a]) for a, b in combinations(range(k), 2)]
    return _pairs(k, label, kept, np.array(lines))


def kernel_of(model: Any, X: RowData = None) -> Kernel:
    """The kernel of a fitted machine; ``X`` are its training rows, for models that do not keep the width they used."""
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


def _support(model: Any, kept: IntArray) -> IntArray:
    """Rows of the support vectors; scikit-learn's count only the rows of positive weight."""
    ours = type(model).__module__.startswith("maxmargin.")
    return np.asarray(model.support_) if ours else kept[np.asarray(model.support_)]


def _with_known_rows(model: Any, X: RowData, y: Any) -> Any:
    """The model; one from a file that does not keep the rows of its support vectors with these looked up in X."""
    if _machine_of(model) is None or not len(getattr(model, "support_", ())) or int(np.min(model.support_)) >= 0:
        return model
    if is_stochastic(model):  # vectors of a budget or of a stream are no rows of X
        return model
    rows = check_array(X, accept_sparse="csr", dtype=np.float64)
    vectors = model.support_vectors_
    if rows.shape[1] != vectors.shape[1]:
        raise ValueError(
            f"X has {rows.shape[1]} features, but the model has {vectors.shape[1]}; give the training data"
        )
    classes = getattr(model, "classes_", None)
    own, of_row = np.zeros(vectors.shape[0], dtype=int), np.zeros(rows.shape[0], dtype=int)
    if classes is not None and y is not None:
        own = np.repeat(np.arange(len(classes)), model.n_support_)
        of_row = np.searchsorted(classes, column_or_1d(y))
    found = copy.copy(model)
    found.support_ = np.full(len(own), -1)
    for label in np.unique(own):
        at, candidates = np.flatnonzero(own == label), np.flatnonzero(of_row == label)
        found.support_[at] = candidates[_matches(rows[candidates], vectors[at])]
    return found


def _matches(rows: RowData, vectors: RowData) -> IntArray:
    """For every vector a row of its own that equals it but for the digits that were not printed."""
    squares = np.asarray(_dense(rows.multiply(rows).sum(axis=1) if sp.issparse(rows) else (rows * rows).sum(axis=1)))
    squares, free, found = squares.ravel(), np.ones(rows.shape[0], dtype=bool), []
    for i in range(vectors.shape[0]):
        vector = _dense(vectors[[i]])[0]
        distance = squares - 2 * np.asarray(rows @ vector) + vector @ vector
        near = np.flatnonzero(free & (distance <= PRINTED**2 * (squares + 1e-300)))
        same = [row for row in near if np.allclose(_dense(rows[[row]])[0], vector, rtol=PRINTED, atol=0.0)]
        if not same:
            raise ValueError("the support vectors are not among the rows of X; give the training data")
        free[same[0]] = False
        found.append(same[0])
    return np.array(found, dtype=np.intp)


def _require_training_rows(model: Any, X: RowData, n: int, kept: IntArray) -> None:
    ours = type(model).__module__.startswith("maxmargin.")
    if len(model.support_) and int(np.max(model.support_)) >= (n if ours else len(kept)):
        raise ValueError(
            f"the model's support vectors point at row {int(np.max(model.support_))}, but X has {n} rows; "
            "give the training data, in the same order"
        )
    if isinstance(model.kernel, Precomputed) or model.kernel == "precomputed" or takes_any_rows(model.kernel):
        return  # nothing numeric to compare
    given, vectors = _dense(X[_support(model, kept)]), _dense(model.support_vectors_)
    if sp.issparse(X) and vectors.shape[1] < given.shape[1]:  # some libraries drop empty columns at the end
        vectors = np.pad(vectors, ((0, 0), (0, given.shape[1] - vectors.shape[1])))
    if given.shape != vectors.shape or not np.allclose(given, vectors, rtol=1e-5, atol=0.0):
        raise ValueError("the support vectors are not among the rows of X; give the training data")


def _dense(values: Any) -> Any:
    return values.toarray() if sp.issparse(values) else np.asarray(values)
