"""What a fitted linear model delivers, read from its public attributes: ours and scikit-learn's."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.losses import EpsilonInsensitive, Hinge, Loss, SquaredEpsilonInsensitive, resolve_loss
from maxmargin.penalties import resolve_penalty
from maxmargin.problems import ALL_CLASSES, AllClassesProblem, LinearProblem

CLASSIFIERS = ("LinearSVC", "LinearClassifier", "PegasosSVC", "SGDSVC")
REGRESSORS = ("LinearSVR", "LinearRegressor")


class Scaling(NamedTuple):
    """Features as the problem saw them: (x - center) / scale (M19)."""

    center: FloatArray
    scale: FloatArray

    @classmethod
    def none(cls, d: int) -> Scaling:
        """Features as they are."""
        return cls(np.zeros(d), np.ones(d))


def machine_of(model: Any) -> str | None:
    """Which linear machine this is, ours or scikit-learn's."""
    return next((c.__name__ for c in type(model).__mro__ if c.__name__ in CLASSIFIERS + REGRESSORS), None)


def is_linear_model(model: Any) -> bool:
    """Whether the model is one of the linear machines."""
    return machine_of(model) is not None


class TrainingRows(NamedTuple):
    """The training data of a linear model, checked: the rows that count, their targets and their weights."""

    X: RowData
    y: Any
    weight: FloatArray  # class weights included
    kept: IntArray
    n: int
    scaling: Scaling


def training_rows(model: Any, X: RowData, y: Any, sample_weight: Any) -> TrainingRows:
    """What the model was fitted on, as it was weighted and scaled."""
    machine = machine_of(model)
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
    factors = _class_factors(model, target, weight) if machine in CLASSIFIERS else None
    if factors is not None:
        weight = weight * factors[np.searchsorted(model.classes_, target)]
    kept = np.flatnonzero(weight > 0)
    scaled = hasattr(model, "scale_")
    scaling = Scaling(model.center_, model.scale_) if scaled else Scaling.none(X.shape[1])
    return TrainingRows(X if len(kept) == n else X[kept], target[kept], weight[kept], kept, n, scaling)


def _class_factors(model: Any, y: Any, weight: FloatArray) -> FloatArray | None:
    """The weight of every class; scikit-learn's linear models keep the parameter only."""
    if hasattr(model, "class_weight_") or getattr(model, "class_weight", None) is None:
        return getattr(model, "class_weight_", None)
    return compute_class_weight(model.class_weight, classes=model.classes_, y=y, sample_weight=weight)


def linear_tasks(
    model: Any, rows: TrainingRows, C: float | None
) -> list[tuple[LinearProblem, FloatArray, float, FloatArray | None, IntArray | None]]:
    """[problem, w, intercept, beta, rows] of every task of a model with one weight vector per task."""
    machine, scaling = machine_of(model), rows.scaling
    loss, penalty = _loss_of(model, machine, C), resolve_penalty(getattr(model, "penalty", "l2"))
    coef, intercept = weights_of(model)
    tasks = []
    for k, (sign, cost, own) in enumerate(_targets(model, machine, rows.y, rows.weight, C)):
        problem = LinearProblem(loss, penalty, sign, cost, bool(model.fit_intercept))
        w, b = coef[k] * scaling.scale, float(intercept[k]) + float(coef[k] @ scaling.center)
        beta = _dual(model, k, rows.n)[rows.kept] if hasattr(model, "dual_coef_") else None
        tasks.append((problem, w, b, beta if beta is None or own is None else beta[own], own))
    return tasks


def is_all_classes(model: Any) -> bool:
    """Whether many classes were solved as one problem."""
    return _scheme_of(model) in ALL_CLASSES


def _scheme_of(model: Any) -> str:
    return str(getattr(model, "multiclass_", getattr(model, "multi_class", "ovr"))).replace("_", "-")


def all_classes_task(
    model: Any, rows: TrainingRows, C: float | None
) -> tuple[AllClassesProblem, FloatArray, FloatArray, FloatArray]:
    """(problem, weights of all classes, intercepts, dual variables) of a machine for all classes."""
    scheme = _scheme_of(model)
    if not hasattr(model, "dual_coef_"):
        raise ValueError(f"{type(model).__name__} keeps no dual variables, and those of {scheme} cannot be made from w")
    k, scaling = len(model.classes_), rows.scaling
    label = np.searchsorted(model.classes_, rows.y)
    problem = ALL_CLASSES[scheme](label, _cost_of(model, C) * rows.weight, k, bool(model.fit_intercept))
    W, b = weights_of(model)
    if k == 2:  # the model keeps the difference of its two classes, which are opposite
        W, b = np.vstack([-W, W]) / 2, np.concatenate([-b, b]) / 2
    alpha = np.column_stack([_dual(model, m, rows.n)[rows.kept] for m in range(k)])
    return problem, W * scaling.scale, b + W @ scaling.center, alpha


def weights_of(model: Any) -> tuple[FloatArray, FloatArray]:
    """(weights (tasks, d), intercepts (tasks,)) as published."""
    coef = np.atleast_2d(_dense(model.coef_)).astype(np.float64)
    return coef, np.broadcast_to(np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64)), (len(coef),))


def _targets(model: Any, machine: str | None, y: Any, weight: FloatArray, C: float | None):
    """(targets, costs, rows or None for all) of every task."""
    cost = _cost_of(model, C)
    if machine in REGRESSORS:
        return [(y.astype(np.float64), cost * weight, None)]
    if np.isinf(cost):  # beyond the largest dual variable the hinge's optimum is the hard margin's
        cost, weight = 2.0 * float(np.abs(model.dual_coef_).max(initial=0.5)), np.ones(len(y))
    classes, scheme = model.classes_, _scheme_of(model)
    if len(classes) == 2:
        return [(np.where(y == classes[1], 1.0, -1.0), cost * weight, None)]
    if scheme == "ovo":
        pairs = combinations(classes, 2)
        found = [(np.flatnonzero((y == a) | (y == b)), a) for a, b in pairs]
        return [(np.where(y[rows] == a, 1.0, -1.0), cost * weight[rows], rows) for rows, a in found]
    words = model.code_words_ if scheme == "code" else 2.0 * np.eye(len(classes)) - 1.0
    label = np.searchsorted(classes, y)
    return [(bit[label], cost * weight, None) for bit in words.T]


def _cost_of(model: Any, C: float | None) -> float:
    cost = getattr(model, "C_", None) if C is None else C
    return float(model.C) if cost is None else float(cost)


def _loss_of(model: Any, machine: str | None, C: float | None) -> Loss:
    loss = getattr(model, "loss", "hinge")
    if machine in CLASSIFIERS and np.isinf(_cost_of(model, C)):
        return Hinge()
    if machine == "LinearSVR":
        kind = EpsilonInsensitive if loss == "epsilon_insensitive" else SquaredEpsilonInsensitive
        return kind(float(model.epsilon))
    return resolve_loss(loss)


def _dual(model: Any, k: int, n: int) -> FloatArray:
    if len(model.support_) and int(model.support_.max()) >= n:
        raise ValueError(
            f"the model's support vectors point at row {int(model.support_.max())}, but X has {n} rows; "
            "give the training data, in the same order"
        )
    beta = np.zeros(n)
    beta[model.support_] = np.atleast_2d(model.dual_coef_)[k]
    return beta


def _dense(values: Any) -> Any:
    return values.toarray() if sp.issparse(values) else np.asarray(values)
