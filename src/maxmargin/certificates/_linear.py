"""Certificates of linear models: scores and X' beta are computed here, from the data, in float64."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.certificates._all_classes import judge_all_classes
from maxmargin.certificates._certificate import Certificate
from maxmargin.certificates._linear_models import (
    Scaling,
    all_classes_task,
    is_all_classes,
    linear_tasks,
    training_rows,
)
from maxmargin.losses import Quadratic
from maxmargin.penalties import Penalty
from maxmargin.problems import FEASIBILITY_TOL, AllClassesProblem, LinearProblem, relative

#: Values of X that are converted to float64 at a time.
BLOCK_VALUES = 2**17
#: Rows that are judged at a time: what is computed on the way stays in the cache.
BLOCK_ROWS = 2**13
#: Dual variables this close to a bound, relatively, are on it when the KKT violation is measured.
SNAP = 1e-6


class LinearDelivered(NamedTuple):
    """One task of a linear model, in the units its problem was solved in (see :class:`Scaling`)."""

    problem: LinearProblem
    w: FloatArray  # (d,)
    intercept: float
    beta: FloatArray | None  # (n,) dual point, or None if the model has none
    rows: IntArray | None = None  # the task's rows; None for all


def certify_linear_tasks(model: Any, X: RowData, y: Any, sample_weight: Any, C: float | None) -> list[Certificate]:
    """One certificate per task of a fitted linear model."""
    rows = training_rows(model, X, y, sample_weight)
    if is_all_classes(model):
        return [judge_linear_all_classes(rows.X, *all_classes_task(model, rows, C), rows.scaling)]
    return judge_linear(rows.X, [LinearDelivered(*task) for task in linear_tasks(model, rows, C)], rows.scaling)


def judge_linear(X: RowData, tasks: Sequence[LinearDelivered], scaling: Scaling | None = None) -> list[Certificate]:
    """Certificates of tasks on rows of ``X``; X is read twice, however many tasks there are on all of its rows.

    Where a task brings no dual point one is made from the slopes of the losses, which is sharp for smooth losses and
    pessimistic at kinks.
    """
    scaling = scaling or Scaling.none(X.shape[1])
    if any(task.rows is not None for task in tasks):
        own = [(X if task.rows is None else X[task.rows], task._replace(rows=None)) for task in tasks]
        return [judge_linear(rows, [task], scaling)[0] for rows, task in own]
    f = _scores(X, scaling, np.column_stack([task.w for task in tasks]))
    f += np.array([task.intercept for task in tasks])
    beta = np.column_stack([_dual_point(task, f[:, k]) for k, task in enumerate(tasks)])
    v, largest = _combined(X, scaling, beta), _largest(X, scaling)
    return [_judged(task, f[:, k], beta[:, k], v[:, k], largest) for k, task in enumerate(tasks)]


def _dual_point(task: LinearDelivered, f: FloatArray) -> FloatArray:
    return task.problem.feasible(task.problem.slopes(f)) if task.beta is None else task.beta


def _judged(task: LinearDelivered, f: FloatArray, beta: FloatArray, v: FloatArray, largest: FloatArray) -> Certificate:
    problem, w = task.problem, task.w
    if task.beta is None and problem.has_dual:
        factor = problem.penalty.into_domain(v)
        beta, v = factor * beta, factor * v
    losses, row_gap, off = _over_rows(problem, f, beta)
    primal = problem.penalty.value(w) + losses
    gap = row_gap + problem.weight_gap(w, v)  # infinite outside the dual's domain
    dual = primal - gap if np.isfinite(gap) else -np.inf
    feasible = problem.imbalance(beta) <= FEASIBILITY_TOL and np.isfinite(gap)
    finite = bool(np.isfinite([primal, gap]).all())
    reason = "" if feasible else "the dual point is not feasible"
    if not problem.has_dual:
        feasible = False
        reason = (
            "without a penalty the dual asks for X' beta = 0, which rounding does not allow; the gap is an estimate"
        )
    return Certificate(
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=relative(gap, primal, dual),
        kkt=max(off, float((_off_weights(problem.penalty, w, v) * largest).max(initial=0.0))),
        feasible=bool(feasible),
        holds=bool(feasible and finite),
        reason=reason or ("" if finite else "not finite"),
    )


def _over_rows(problem: LinearProblem, f: FloatArray, beta: FloatArray) -> tuple[float, float, float]:
    """(sum of losses, the rows' share of the gap, how far a score is from where beta wants it), some rows at a time."""
    losses, gap, off = 0.0, 0.0, 0.0
    for first in range(0, len(f), BLOCK_ROWS):
        rows = slice(first, first + BLOCK_ROWS)
        part = problem.on_rows(rows)
        losses += float(part.C @ part.loss.value(part.target, f[rows]))
        gap += part.row_gap(f[rows], beta[rows])
        off = max(off, float(_off_rows(part, f[rows], beta[rows]).max(initial=0.0)))
    return losses, gap, off


def _off_rows(problem: LinearProblem, f: FloatArray, beta: FloatArray) -> FloatArray:
    if not isinstance(problem.loss, Quadratic):
        return np.abs(beta - problem.slopes(f)) / problem.C
    form = problem.form
    grad = f - form.linear + form.ridge * beta
    room = SNAP * problem.C
    up = grad + np.where(beta >= -room, form.eps, -form.eps)
    down = grad + np.where(beta > room, form.eps, -form.eps)
    rises = np.where(beta < form.upper - room, np.maximum(-up, 0.0), 0.0)
    return np.maximum(rises, np.where(beta > form.lower + room, np.maximum(down, 0.0), 0.0))


def _off_weights(penalty: Penalty, w: FloatArray, v: FloatArray) -> FloatArray:
    if not penalty.separable:
        return np.zeros_like(w)
    q, a = penalty.quadratic, penalty.absolute
    if q > 0:
        return np.abs(w - (v - np.clip(v, -a, a)) / q)
    if a > 0:  # a weight that is not 0 asks for |v_j| = a: what is missing, as a share
        return np.where(w != 0, np.abs(v - a * np.sign(w)) / a * np.abs(w), 0.0)
    return np.zeros_like(w)


def _blocks(X: RowData) -> Iterator[slice]:
    height = max(1, BLOCK_VALUES // max(1, X.shape[1])) if isinstance(X, np.ndarray) else X.shape[0]
    for first in range(0, X.shape[0], height):
        yield slice(first, min(first + height, X.shape[0]))


def _scores(X: RowData, scaling: Scaling, W: FloatArray) -> FloatArray:
    """(n, tasks) scores of weights (d, tasks)."""
    weights = W / scaling.scale[:, None]
    out = np.empty((X.shape[0], W.shape[1]))
    for rows in _blocks(X):
        out[rows] = X[rows].astype(np.float64, copy=False) @ weights
    return out - scaling.center @ weights


def _combined(X: RowData, scaling: Scaling, beta: FloatArray) -> FloatArray:
    """(d, tasks) sums X' beta of dual variables (n, tasks)."""
    total = np.zeros((X.shape[1], beta.shape[1]))
    for rows in _blocks(X):
        total += X[rows].astype(np.float64, copy=False).T @ beta[rows]
    return (total - np.outer(scaling.center, beta.sum(axis=0))) / scaling.scale[:, None]


def _largest(X: RowData, scaling: Scaling) -> FloatArray:
    """The largest |x_ij| of every column after scaling; of sparse rows, which are not centred, the largest of all."""
    if X.shape[0] == 0:
        return np.zeros(X.shape[1])
    if isinstance(X, np.ndarray):
        high, low = X.max(axis=0).astype(np.float64), X.min(axis=0).astype(np.float64)
        return np.maximum(np.abs(high - scaling.center), np.abs(low - scaling.center)) / scaling.scale
    plain = bool((scaling.scale == 1.0).all())
    largest = np.max(np.abs(X.data) if plain else np.abs(X.data) / scaling.scale[X.indices], initial=0.0)
    return np.full(X.shape[1], float(largest))


def judge_linear_all_classes(
    X: RowData,
    problem: AllClassesProblem,
    W: FloatArray,
    intercept: FloatArray,
    alpha: FloatArray,
    scaling: Scaling | None = None,
) -> Certificate:
    """Certificate of a linear machine for all classes, from its weights (classes, d) and dual variables."""
    scaling = scaling or Scaling.none(X.shape[1])
    f = _scores(X, scaling, W.T) + intercept
    v = _combined(X, scaling, alpha).T
    distance = 0.5 * float(np.square(W - v).sum())
    return judge_all_classes(problem, float(np.vdot(W, W)), f, alpha, intercept, distance=distance)
