"""Certificates of machines whose w lies in the span of some rows, the landmarks: f(x) = sum_j a_j k(z_j, x) + b.

Such a w is a point of the full problem like any other, and the dual variables of the reduced one are within the full
one's bounds. So both have a gap: of the reduced problem, in which w(beta) is projected onto the landmarks' span, and of
the full one. They differ by 1/2 ||w(beta) - its projection||^2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lstsq, solve_triangular

from maxmargin._foreign import Delivered, delivered_tasks
from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.certificates._certificate import Certificate, Definiteness
from maxmargin.certificates._kernel import BLOCK_VALUES, SNAP, definiteness, scores_at, take, union
from maxmargin.kernels import Kernel, Precomputed
from maxmargin.problems import FEASIBILITY_TOL, Offsets, relative


def is_approximation(model: Any) -> bool:
    """Whether the model is a machine fitted on landmarks."""
    return hasattr(model, "landmark_coef_")


def certify_approximation(model: Any, X: RowData, y: Any, sample_weight: Any, C: float | None) -> list[Certificate]:
    """One certificate per task, of the full problem."""
    kernel, X, tasks = delivered_tasks(model, X, y, sample_weight, C)
    landmarks, n = np.asarray(model.landmarks_), X.shape[0] if hasattr(X, "shape") else len(X)
    if len(landmarks) and int(landmarks.max()) >= n:
        raise ValueError(
            f"the model's landmarks point at row {int(landmarks.max())}, but X has {n} rows; "
            "give the training data, in the same order"
        )
    return judge_approximation(kernel, X, tasks, landmarks, model.landmark_coef_)


def judge_approximation(
    kernel: Kernel,
    X: RowData,
    tasks: Sequence[Delivered],
    landmarks: IntArray,
    coef: FloatArray,
    factor: FloatArray | None = None,
) -> list[Certificate]:
    """Certificates of tasks with coefficients ``coef`` (tasks, m) of landmarks, ``dual_coef`` their dual points.

    Of the full problem; with the factor F of the landmarks' kernel values, K_mm = F F', of the reduced one.
    """
    rows = union([task.rows for task in tasks])
    definite = definiteness(kernel, X, rows)
    beta = np.zeros((1 + int(rows.max()), len(tasks)))
    for k, task in enumerate(tasks):
        beta[task.rows, k] = task.dual_coef
    f, sums = _scores_and_sums(kernel, X, rows, landmarks, coef.T, beta[rows])
    place = np.zeros(len(beta), dtype=np.intp)
    place[rows] = np.arange(len(rows))
    K = _values(kernel, X, landmarks, landmarks)
    certificates = []
    for k, task in enumerate(tasks):
        square_w = max(0.0, float(coef[k] @ K @ coef[k]))
        if factor is None:
            used = np.flatnonzero(task.dual_coef)
            own = scores_at(kernel, X, task.rows[used], task.rows[used], task.dual_coef[used])
            square = max(0.0, float(task.dual_coef[used] @ own))
            distance = max(0.0, 0.5 * (square_w - 2.0 * float(coef[k] @ sums[:, k]) + square))
        else:
            v = _projected(factor, sums[:, k])
            square, distance = float(v @ v), 0.5 * float(np.square(factor.T @ coef[k] - v).sum())
        certificates.append(_judged(task, f[place[task.rows], k], square_w, square, distance, definite))
    return certificates


def _judged(
    task: Delivered, f: FloatArray, square_w: float, square: float, distance: float, definite: Definiteness
) -> Certificate:
    """From the scores ``f`` without intercept, ||w||^2, ||w(beta)||^2 and half of ||w - w(beta)||^2."""
    problem, beta, qp = task.problem, task.dual_coef, task.problem.qp
    gap = float(np.maximum(problem.gap_terms(beta, f, Offsets(task.intercept)), 0.0).sum()) + distance
    slack = problem.primal(beta, f, Offsets(task.intercept)) - 0.5 * float(beta @ f)  # the costs alone
    primal, dual = 0.5 * square_w + slack, -float(qp.linear @ beta) - 0.5 * square
    feasible = qp.infeasibility(beta) <= FEASIBILITY_TOL
    finite = bool(np.isfinite([primal, dual, gap]).all())
    reason = "" if feasible else "the dual point is not feasible"
    return Certificate(
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=relative(gap, primal, dual),
        kkt=float(qp.violation(qp.snapped(beta, SNAP), f + qp.linear)),
        feasible=feasible,
        holds=feasible and finite and definite.psd,
        reason=reason or definite.reason or ("" if finite else "not finite"),
    )


def _scores_and_sums(
    kernel: Kernel, X: RowData, rows: IntArray, landmarks: IntArray, coef: FloatArray, beta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(K_nm coef, K_mn beta) from one pass over the kernel values."""
    f, sums = np.empty((len(rows), coef.shape[1])), np.zeros((len(landmarks), beta.shape[1]))
    height = max(1, BLOCK_VALUES // max(1, len(landmarks)))
    for first in range(0, len(rows), height):
        block = slice(first, first + height)
        values = _values(kernel, X, rows[block], landmarks)
        f[block] = values @ coef
        sums += values.T @ beta[block]
    return f, sums


def _values(kernel: Kernel, X: RowData, rows: IntArray, columns: IntArray) -> FloatArray:
    if isinstance(kernel, Precomputed):
        return np.asarray(X[np.ix_(rows, columns)], dtype=np.float64)
    left, right = take(X, rows), take(X, columns)
    if sp.issparse(right) or not isinstance(right, np.ndarray):
        return np.asarray(kernel(left, right), dtype=np.float64)
    return np.asarray(kernel(left.astype(np.float64, copy=False), right.astype(np.float64, copy=False)))


def _projected(factor: FloatArray, sums: FloatArray) -> FloatArray:
    """F^+ sums: the features' part of w(beta)."""
    if factor.shape[0] == factor.shape[1]:
        return solve_triangular(factor, sums, lower=True)
    return lstsq(factor, sums)[0]
