"""What a fitted linear model publishes, whichever machine fitted it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maxmargin._rows import dense
from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.certificates import Scaling
from maxmargin.estimators._machine import Training

if TYPE_CHECKING:
    from maxmargin.estimators._linear_base import LinearMachine


class LinearFit(NamedTuple):
    """Weights, intercepts and dual variables of every task, in the units the problem was solved in."""

    W: FloatArray  # (tasks, d)
    intercept: FloatArray  # (tasks,)
    used: IntArray  # the rows, of those that count, which any task uses
    beta: FloatArray  # (tasks, such rows)
    cost: float
    n_iter: int
    history: Array


def used_rows(lines: Sequence[FloatArray], where: Sequence[IntArray | None], n: int) -> tuple[IntArray, FloatArray]:
    """(rows that any task uses, dual variables (tasks, such rows)), from a line for each task.

    ``where`` says which of the n rows a line is about, None for all: no table of a thousand tasks and all rows is made.
    """
    counts = np.zeros(n, dtype=bool)
    for line, own in zip(lines, where, strict=True):
        if own is None:
            counts |= line != 0
        else:
            counts[own[line != 0]] = True
    used, place = np.flatnonzero(counts), np.cumsum(counts) - 1
    beta = np.zeros((len(lines), len(used)))
    for own_beta, line, own in zip(beta, lines, where, strict=True):
        if own is None:
            own_beta[:] = line[used]
        else:
            own_beta[place[own[line != 0]]] = line[line != 0]
    return used, beta


def write_fit(estimator: LinearMachine, data: Training, fit: LinearFit, scaling: Scaling | None) -> None:
    """Everything of a model with dual variables."""
    write_weights(estimator, fit.W, fit.intercept, scaling)
    estimator.support_, estimator.dual_coef_ = data.kept[fit.used], fit.beta
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
