"""A fitted linear machine with its training data: every task's weights, dual variables and problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin._validation import Scaling
from maxmargin.delivered._machines import LINEAR_CLASSIFIERS, LINEAR_REGRESSORS, machine_of
from maxmargin.delivered._model import LinearFitted, read_linear
from maxmargin.delivered._tasks import LinearDelivered
from maxmargin.losses import EpsilonInsensitive, Hinge, Loss, SquaredEpsilonInsensitive, resolve_loss
from maxmargin.penalties import resolve_penalty
from maxmargin.problems import ALL_CLASSES, AllClassesProblem, LinearProblem


@dataclass(frozen=True, eq=False)
class LinearTrained:
    """A linear machine on those of its training rows that count."""

    fitted: LinearFitted
    X: RowData  # as they come
    y: Any
    weight: FloatArray  # class weights included
    kept: IntArray  # which of the rows as given they are
    n: int  # rows as given
    C: float

    @classmethod
    def of(cls, model: Any, X: RowData, y: Any, sample_weight: Any, C: float | None) -> LinearTrained:
        """The model and its data, checked against each other."""
        machine = machine_of(model, LINEAR_CLASSIFIERS + LINEAR_REGRESSORS)
        check_is_fitted(model)
        if y is None:
            raise ValueError(f"the targets y that {machine} was fitted on are needed; got None")
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        n, target = X.shape[0], column_or_1d(y)
        weight = np.ones(n) if sample_weight is None else np.array(sample_weight, dtype=np.float64)
        for name, values in (("y", target), ("sample_weight", weight)):
            if len(values) != n:
                raise ValueError(f"X has {n} rows but {name} has {len(values)}; give the training data")
        held = np.asarray(getattr(model, "held_out_", []), dtype=np.intp)
        weight[held[held < n]] = 0.0  # rows that a fit only looked at
        fitted = read_linear(model)
        factors = None if fitted.scheme is None else _class_factors(model, target, weight)
        if factors is not None:
            weight = weight * factors[fitted.near_labels(target)]
        kept = np.flatnonzero(weight > 0)
        cost = getattr(model, "C_", None) if C is None else C
        cost = float(model.C if cost is None else cost)
        return cls(fitted, X if len(kept) == n else X[kept], target[kept], weight[kept], kept, n, cost)

    @property
    def scaling(self) -> Scaling:
        """What the fit did to the features, if only nothing."""
        return self.fitted.scaling or Scaling.none(self.X.shape[1])

    def tasks(self) -> list[LinearDelivered]:
        """What every task of a model with one weight vector per task delivers, on rows of :attr:`X`."""
        fitted, bias = self.fitted, bool(self.fitted.model.fit_intercept)
        loss, penalty = self._loss(), resolve_penalty(getattr(fitted.model, "penalty", "l2"))
        tasks = []
        for k, (target, rows) in enumerate(self._targets()):
            cost = self.C * (self.weight if rows is None else self.weight[rows])
            problem = LinearProblem(loss, penalty, target, cost, bias)
            beta = self._dual(k) if hasattr(fitted.model, "dual_coef_") else None
            beta = beta if beta is None or rows is None else beta[rows]
            tasks.append(LinearDelivered(problem, fitted.W[k], float(fitted.intercept[k]), beta, rows))
        return tasks

    def all_classes(self) -> tuple[AllClassesProblem, FloatArray, FloatArray, FloatArray]:
        """(problem, weights of all classes, intercepts, dual variables) of a machine for all classes."""
        fitted, model = self.fitted, self.fitted.model
        if not hasattr(model, "dual_coef_"):
            raise ValueError(
                f"{type(model).__name__} keeps no dual variables, and those of {fitted.multiclass} cannot be made from"
                " w"
            )
        assert fitted.classes is not None  # one problem for all of them
        k, label = len(fitted.classes), fitted.near_labels(self.y)
        problem = ALL_CLASSES[fitted.multiclass](label, self.C * self.weight, k, bool(model.fit_intercept))
        W, b = fitted.W, fitted.intercept
        if k == 2:  # the model keeps the difference of its two classes, which are opposite
            W, b = np.vstack([-W, W]) / 2, np.concatenate([-b, b]) / 2
        return problem, W, b, np.column_stack([self._dual(m) for m in range(k)])

    def _targets(self) -> list[tuple[FloatArray, IntArray | None]]:
        """(targets, rows or None for all) of every task."""
        fitted = self.fitted
        if fitted.scheme is None:
            return [(self.y.astype(np.float64), None)]
        tasks = fitted.scheme.tasks(fitted.near_labels(self.y))
        orders = [np.argsort(task.rows) for task in tasks]
        return [
            (task.sign[order], None if len(order) == len(self.y) else task.rows[order])
            for task, order in zip(tasks, orders, strict=True)
        ]

    def _loss(self) -> Loss:
        model = self.fitted.model
        loss = getattr(model, "loss", "hinge")
        if self.fitted.scheme is not None and np.isinf(self.C):
            return Hinge()
        if self.fitted.machine == "LinearSVR":
            kind = EpsilonInsensitive if loss == "epsilon_insensitive" else SquaredEpsilonInsensitive
            return kind(float(model.epsilon))
        return resolve_loss(loss)

    def _dual(self, k: int) -> FloatArray:
        """Line ``k`` of the dual variables."""
        model = self.fitted.model
        if len(model.support_) and int(model.support_.max()) >= self.n:
            raise ValueError(
                f"the model's support vectors point at row {int(model.support_.max())}, but X has {self.n} rows; "
                "give the training data, in the same order"
            )
        beta = np.zeros(self.n)
        beta[model.support_] = np.atleast_2d(model.dual_coef_)[k]
        return beta[self.kept]


def _class_factors(model: Any, y: Any, weight: FloatArray) -> FloatArray | None:
    """The weight of every class; scikit-learn's linear models keep the parameter only."""
    if hasattr(model, "class_weight_") or getattr(model, "class_weight", None) is None:
        return getattr(model, "class_weight_", None)
    return compute_class_weight(model.class_weight, classes=model.classes_, y=y, sample_weight=weight)
