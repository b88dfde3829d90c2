"""What a fitted linear model publishes, whichever machine fitted it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maxmargin._rows import dense
from maxmargin._types import Array, FloatArray
from maxmargin.certificates import Scaling
from maxmargin.estimators._machine import Training

if TYPE_CHECKING:
    from maxmargin.estimators._linear_base import LinearMachine


class LinearFit(NamedTuple):
    """Weights, intercepts and dual variables of every task, in the units the problem was solved in."""

    W: FloatArray  # (tasks, d)
    intercept: FloatArray  # (tasks,)
    beta: FloatArray  # (tasks, rows that count)
    cost: float
    n_iter: int
    history: Array


def write_fit(estimator: LinearMachine, data: Training, fit: LinearFit, scaling: Scaling | None) -> None:
    """Everything of a model with dual variables."""
    write_weights(estimator, fit.W, fit.intercept, scaling)
    counts = np.zeros(fit.beta.shape[1], dtype=bool)
    for line in fit.beta:  # no table of a thousand tasks in between
        counts |= line != 0
    used = np.flatnonzero(counts)
    beta = fit.beta if counts.all() else fit.beta[:, used]
    estimator.support_, estimator.dual_coef_ = data.kept[used], np.ascontiguousarray(beta)
    estimator.C_, estimator.n_iter_, estimator.history_ = fit.cost, fit.n_iter, fit.history
    estimator.shape_fit_ = data.X.shape
    estimator._write_labels(data)


def write_weights(estimator: LinearMachine, W: FloatArray, intercept: FloatArray, scaling: Scaling | None) -> None:
    """coef_ and intercept_ for rows as they come, margin_, and the scaling if there was one."""
    estimator.coef_, estimator.intercept_ = unscaled(W, intercept, scaling)
    estimator.margin_ = margins_of(W)
    if scaling is not None:
        estimator.center_, estimator.scale_ = scaling


def unscaled(W: FloatArray, intercept: FloatArray, scaling: Scaling | None) -> tuple[FloatArray, FloatArray]:
    """(weights, intercepts) for rows as they come: what is published, and judged."""
    if scaling is None:
        return W, intercept
    coef = W / scaling.scale
    return coef, intercept - coef @ scaling.center


def published_weights(estimator: LinearMachine, scaling: Scaling | None) -> tuple[FloatArray, FloatArray]:
    """Invert :func:`write_weights`: (W, intercepts) in scaled units, as arrays of their own."""
    coef = dense_coef(estimator)
    shift = scaling or Scaling.none(coef.shape[1])
    return shift.seen(coef, np.atleast_1d(estimator.intercept_))


def dense_coef(estimator: LinearMachine) -> FloatArray:
    """coef_ as (tasks, d), whatever it was turned into."""
    return np.atleast_2d(dense(estimator.coef_))


def margins_of(W: FloatArray) -> FloatArray:
    """1 / ||w|| of every line, inf where w is 0."""
    norms = np.linalg.norm(W, axis=1)
    with np.errstate(divide="ignore"):
        return np.where(norms > 0, 1.0 / norms, np.inf)
