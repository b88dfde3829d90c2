"""A fitted kernel machine with its training data: every task's rows, coefficients and problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from maxmargin._rows import count, dense
from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin._validation import scaled
from maxmargin.delivered._lookup import with_known_rows
from maxmargin.delivered._machines import KERNEL, ONLINE, STOCHASTIC, is_ours, machine_of
from maxmargin.delivered._model import KernelFitted, read_kernel
from maxmargin.delivered._tasks import Delivered
from maxmargin.kernels import Precomputed, takes_any_rows
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


@dataclass(frozen=True, eq=False)
class KernelTrained:
    """A kernel machine on all of its training rows, those of no weight among them."""

    fitted: KernelFitted
    X: RowData  # as the kernel sees them
    y: Any
    weight: FloatArray
    kept: IntArray  # rows of positive weight
    C: Any

    @classmethod
    def of(cls, model: Any, X: RowData, y: Any, sample_weight: Any, C: float | None) -> KernelTrained:
        """The model and its data, checked against each other."""
        known = (*KERNEL, *STOCHASTIC)
        machine = machine_of(model, known)
        if machine is None:
            raise TypeError(f"the kernel machines known are {', '.join(known)}, got {type(model).__name__}")
        if machine not in STOCHASTIC:  # vectors of a budget or of a stream are no rows of X
            model = with_known_rows(model, X, y)
        check_is_fitted(model)
        if len(model.support_) and np.min(model.support_) < 0:
            raise ValueError(
                f"this {machine} keeps vectors that are no training rows (it was fitted with a budget, or to a stream),"
                " so that it has no dual point to judge; fit without a budget, on all rows"
            )
        if not takes_any_rows(model.kernel):
            X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        n = count(X)
        weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        kept = np.flatnonzero(weight > 0)
        fitted = read_kernel(model, X)
        _require_training_rows(model, X, n, kept)
        for name, values in (("y", y), ("sample_weight", sample_weight)):
            if values is not None and len(values) != n:
                raise ValueError(f"X has {n} rows but {name} has {len(values)}; give the training data")
        if y is None and machine not in ("OneClassSVM", "SVDD"):
            raise ValueError(f"the targets y that {machine} was fitted on are needed; got None")
        return cls(fitted, scaled(X, fitted.scaling), y, weight, kept, getattr(model, "C", C) if C is None else C)

    def tasks(self) -> list[Delivered]:
        """What every task delivers: its rows of :attr:`X` in their order, its problem, its coefficients."""
        fitted, kept = self.fitted, self.kept
        if fitted.scheme is None:
            return [Delivered(kept, self._only_problem(), self._dual()[0, kept], float(fitted.intercept[0]))]
        label, weight = self._labels_and_weights()
        table, pairs = self._dual()[:, kept], fitted.scheme.tasks(label[kept])
        if fitted.machine in ONLINE:  # a line per task
            coefs = [line[task.rows] for line, task in zip(table, pairs, strict=True)]
        else:
            coefs = fitted.scheme.unpack(table, label[kept])
        diagonal, tasks = fitted.kernel.diag(self.X), []
        for k, (task, coef) in enumerate(zip(pairs, coefs, strict=True)):
            order = np.argsort(task.rows)
            rows = kept[task.rows[order]]
            problem = self._two_class_problem(k, task.sign[order], weight[rows], diagonal[rows])
            tasks.append(Delivered(rows, problem, coef[order], float(fitted.intercept[k])))
        return tasks

    def all_classes(self) -> tuple[IntArray, AllClassesProblem, FloatArray, FloatArray]:
        """(rows, problem, alpha, intercepts) of a machine for all classes."""
        fitted, kept = self.fitted, self.kept
        assert fitted.classes is not None  # one problem for all of them
        label, weight = self._labels_and_weights()
        k, bias = len(fitted.classes), fitted.model.fit_intercept
        problem = ALL_CLASSES[fitted.multiclass](label[kept], self.C * weight[kept], k, bias)
        alpha, b = self._dual()[:, kept], fitted.intercept
        if k == 2:  # the model keeps the difference of its two classes, which are opposite
            alpha, b = np.vstack([-alpha, alpha]) / 2, np.concatenate([-b, b]) / 2
        return kept, problem, np.ascontiguousarray(alpha.T), b

    def _dual(self) -> FloatArray:
        """(lines, n) dual variables as published; those of a machine on landmarks are of other rows than these."""
        model = self.fitted.model
        lines = dense(model.dual_coef_)
        table = np.zeros((len(lines), len(self.weight)))
        table[:, _support(model, self.kept)] = lines
        return table

    def _labels_and_weights(self) -> tuple[IntArray, FloatArray]:
        """Classes as numbers, and weights with the classes' factors."""
        fitted = self.fitted
        label, weight = fitted.near_labels(self.y), self.weight
        if fitted.machine != "NuSVC" or hasattr(fitted.model, "C_"):  # LIBSVM's nu-SVC does not look at class weights
            weight = weight * np.asarray(fitted.model.class_weight_)[label]
        return label, weight

    def _only_problem(self) -> Problem:
        """The problem of a machine without classes."""
        model, machine, weight = self.fitted.model, self.fitted.machine, self.weight[self.kept]
        bias = getattr(model, "fit_intercept", True)
        if machine in ("OneClassSVM", "SVDD"):
            diagonal = self.fitted.kernel.diag(self.X)[self.kept]
            if machine == "SVDD":
                return SVDDProblem(diagonal, float(model.C_) * weight)
            return OneClassProblem(weight, float(model.nu), float(diagonal.max(initial=0.0)))
        target = column_or_1d(self.y).astype(np.float64)[self.kept]
        if machine == "SVR":
            return SVRProblem(target, self.C * weight, float(model.epsilon), bias)
        return NuSVRProblem(target, self.C * weight, fit_intercept=bias, nu=float(model.nu))

    def _two_class_problem(self, k: int, sign: FloatArray, weight: FloatArray, diagonal: FloatArray) -> Problem:
        """The problem of task ``k``."""
        model, machine = self.fitted.model, self.fitted.machine
        bias = getattr(model, "fit_intercept", True)
        if hasattr(model, "C_"):  # our NuSVC with class weights is an SVC with a C of its own per task
            return SVCProblem(sign, model.C_[k] * weight, bias)
        if machine == "LSSVC":
            return LSSVCProblem(sign, self.C * weight, bias)
        if machine == "NuSVC":
            return NuSVCProblem(sign, weight, float(model.nu), bias, float(diagonal.max()))
        if np.isinf(self.C):
            return HardMarginProblem(sign, float(diagonal.max()), bias)
        return SVCProblem(sign, self.C * weight, bias)


def _support(model: Any, kept: IntArray) -> IntArray:
    """Rows of the support vectors; scikit-learn's count only the rows of positive weight."""
    return np.asarray(model.support_) if is_ours(model) else kept[np.asarray(model.support_)]


def _require_training_rows(model: Any, X: RowData, n: int, kept: IntArray) -> None:
    if len(model.support_) and int(np.max(model.support_)) >= (n if is_ours(model) else len(kept)):
        raise ValueError(
            f"the model's support vectors point at row {int(np.max(model.support_))}, but X has {n} rows; "
            "give the training data, in the same order"
        )
    if isinstance(model.kernel, Precomputed) or model.kernel == "precomputed" or takes_any_rows(model.kernel):
        return  # nothing numeric to compare
    given, vectors = dense(X[_support(model, kept)]), dense(model.support_vectors_)
    if sp.issparse(X) and vectors.shape[1] < given.shape[1]:  # some libraries drop empty columns at the end
        vectors = np.pad(vectors, ((0, 0), (0, given.shape[1] - vectors.shape[1])))
    if given.shape != vectors.shape or not np.allclose(given, vectors, rtol=1e-5, atol=0.0):
        raise ValueError("the support vectors are not among the rows of X; give the training data")
