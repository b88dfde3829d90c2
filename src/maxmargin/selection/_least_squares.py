"""Least squares needs no folds: leave-one-out residuals in closed form.

With A = [K + R, 1; 1', 0], R the diagonal of the rows' ridges, and [a; b] = A^-1 [y; 0] the solution, the residual of
row i by the model fitted without it is a_i / (A^-1)_ii (Cook 1977). One eigendecomposition serves all strengths.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import LeaveOneOut
from sklearn.utils.extmath import safe_sparse_dot

from maxmargin._types import FloatArray
from maxmargin.estimators import LinearRegressor
from maxmargin.estimators.interface import Machine
from maxmargin.selection._trainer import Line, SearchInput, Trained, Trainer
from maxmargin.solvers import eigenvalues

#: Most rows of a closed form: it takes an eigendecomposition of their Gram matrix.
MOST_ROWS = 4000
#: Part of a row's own weight in its prediction that rounding cannot tell from 1.
ALL_OF_IT = 1e-12


def leave_one_out_residuals(
    K: FloatArray,
    y: FloatArray,
    ridges: Sequence[float],
    sample_weight: FloatArray | None = None,
    fit_intercept: bool = True,
) -> FloatArray:
    """y_i minus the prediction of the least-squares model fitted without row i, for every ridge.

    The model minimises sum_i weight_i (y_i - f_i)^2 + ridge ||w||^2 over f = w.phi(x) + b.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Gram matrix.
    y : ndarray of shape (n_samples,)
        Targets.
    ridges : sequence of float
        Strengths, positive.
    sample_weight : ndarray of shape (n_samples,), optional
        Weights, positive.
    fit_intercept : bool, default=True
        Whether there is a b.

    Returns
    -------
    ndarray of shape (n_ridges, n_samples)

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.selection import leave_one_out_residuals
    >>> x = np.array([0.0, 1.0, 2.0])
    >>> leave_one_out_residuals(np.outer(x, x), np.array([0.0, 1.0, 3.0]), [1e-9]).round(3)
    array([[ 1. , -0.5,  1. ]])
    """
    ridges = [float(ridge) for ridge in np.atleast_1d(ridges)]
    if not all(0 < ridge < np.inf for ridge in ridges):
        raise ValueError(f"ridges must be positive and finite; got {ridges}")
    K, y = np.asarray(K, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if K.ndim != 2 or y.ndim != 1 or K.shape != (len(y), len(y)):
        raise ValueError(f"K must be the square Gram matrix of the rows of y; got shapes {K.shape} and {y.shape}")
    root = np.ones(len(y)) if sample_weight is None else np.sqrt(np.asarray(sample_weight, dtype=np.float64))
    values, U = eigenvalues(root[:, None] * K * root)  # K + ridge / weight = D^-1 (D K D + ridge) D^-1
    values, U = np.maximum(values, 0.0), root[:, None] * U
    residuals = np.empty((len(ridges), len(y)))
    for line, ridge in zip(residuals, ridges, strict=True):
        scaled = U / (values + ridge)
        own = np.einsum("ij,ij->i", scaled, U)  # diagonal of (K + R)^-1
        a = scaled @ (U.T @ y)
        if fit_intercept:
            ones = scaled @ U.sum(axis=0)
            a -= ones * (a.sum() / ones.sum())
            own = own - ones**2 / ones.sum()
        if np.any(own * ridge <= ALL_OF_IT * root**2):
            raise ValueError("a row is predicted by itself alone: leave-one-out has no answer there; raise the ridge")
        line[:] = a / own
    return residuals


def has_closed_form(machine: Machine, cv: Any, n: int) -> bool:
    """Whether every fold of this search is one row, and the machine plain least squares."""
    return (
        isinstance(cv, LeaveOneOut)
        and type(machine) is LinearRegressor
        and (machine.loss, machine.penalty, machine.scale) == ("squared", "l2", False)
        and n <= MOST_ROWS
    )


class ClosedFormTrainer(Trainer):
    """Leave-one-out of least squares: every fold of a cell from one eigendecomposition."""

    method = "leave-one-out in closed form"

    def __init__(self, machine: Machine, data: SearchInput):
        self.machine, self.data, self.at_once = machine, data, len(data.folds)
        rows = data.X[data.kept]
        self.K = np.asarray(safe_sparse_dot(rows, rows.T, dense_output=True), dtype=np.float64)

    def line(self, params, folds):
        return _ClosedFormLine(self, copy.copy(self.machine).set_params(**params))


class _ClosedFormLine(Line):
    def __init__(self, trainer: ClosedFormTrainer, machine: Machine):
        self.trainer, self.machine, self.lock = trainer, machine, threading.Lock()
        self.predictions: dict[float, FloatArray] = {}

    def train(self, fold, strength, gap):
        data, machine = self.trainer.data, self.machine
        with self.lock:
            if strength not in self.predictions:
                y, weight = data.y[data.kept], data.weight[data.kept]
                ridge = 1.0 / (2.0 * strength)  # min 1/2 ||w||^2 + C sum weight (y - f)^2
                error = leave_one_out_residuals(self.trainer.K, y, [ridge], weight, machine.fit_intercept)[0]
                self.predictions[strength] = np.full(len(data.y), np.nan)
                self.predictions[strength][data.kept] = y - error
        scores = self.predictions[strength][data.folds[fold].held][:, None]
        return Trained(data.held_out(fold, machine, None, scores), float("nan"), 0.0)
