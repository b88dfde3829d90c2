"""Certificates of machines whose w lies in the span of some rows, the landmarks: f(x) = sum_j a_j k(z_j, x) + b.

Such a w is a point of the full problem like any other, and the dual variables of the reduced one are within the full
one's bounds. So there are two gaps: that of the reduced problem, in which w(beta) is projected onto the landmarks'
span, and that of the full one. They differ by 1/2 ||w(beta) - its projection||^2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lstsq, solve_triangular

from maxmargin._rows import count, take
from maxmargin._stop import heed
from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.certificates._certificate import Certificate, Definiteness
from maxmargin.certificates._kernel import SNAP, STEPS, definiteness
from maxmargin.certificates._scores import BLOCK_VALUES, ErrorBounds, Scores, scores_at, union
from maxmargin.delivered import Delivered, KernelTrained
from maxmargin.kernels import Kernel, Precomputed
from maxmargin.kernels.rounding import UNIT, summed
from maxmargin.problems import FEASIBILITY_TOL, Offsets, relative


def certify_approximation(trained: KernelTrained) -> list[Certificate]:
    """One certificate per task, of the full problem."""
    fitted, landmarks, n = trained.fitted, trained.fitted.support, count(trained.X)
    if len(landmarks) and int(landmarks.max()) >= n:
        raise ValueError(
            f"the model's landmarks point at row {int(landmarks.max())}, but X has {n} rows; "
            "give the training data, in the same order"
        )
    return judge_approximation(fitted.kernel, trained.X, trained.tasks(), landmarks, fitted.lines)


def judge_approximation(
    kernel: Kernel,
    X: RowData,
    tasks: Sequence[Delivered],
    landmarks: IntArray,
    coef: FloatArray,
    factor: FloatArray | None = None,
) -> list[Certificate]:
    """Certificates of tasks with coefficients ``coef`` (tasks, m) of landmarks, whose dual points are ``dual_coef``.

    They are for the full problem; with ``factor``, F of the landmarks' kernel values K_mm = F F', for the reduced one.
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
    bounds = ErrorBounds(kernel, X, union([rows, landmarks]), definite)
    certificates = []
    for k, task in enumerate(tasks):
        if k:
            heed()
        square_w = max(0.0, float(coef[k] @ K @ coef[k]))
        off = float(np.abs(coef[k]) @ bounds.of(landmarks, coef[k]))  # of ||w||^2
        off += 2 * float(np.abs(task.dual_coef) @ bounds.of(task.rows, coef[k], landmarks))  # of w.w(beta)
        off += float(np.abs(task.dual_coef) @ bounds.of(task.rows, task.dual_coef))  # of ||w(beta)||^2
        if factor is None:
            used = np.flatnonzero(task.dual_coef)
            own = scores_at(kernel, X, task.rows[used], task.rows[used], task.dual_coef[used])
            square = max(0.0, float(task.dual_coef[used] @ own))
            distance = max(0.0, 0.5 * (square_w - 2.0 * float(coef[k] @ sums[:, k]) + square))
        else:
            v = _projected(factor, sums[:, k])
            square, distance = float(v @ v), 0.5 * float(np.square(factor.T @ coef[k] - v).sum())
        scores = Scores(f[place[task.rows], k], bounds.of(task.rows, coef[k], landmarks), bounds.largest)
        certificates.append(_judged(task, scores, square_w, square, distance, 2 * off, definite))
    return certificates


def _judged(
    task: Delivered,
    scores: Scores,
    square_w: float,
    square: float,
    distance: float,
    off: float,
    definite: Definiteness,
) -> Certificate:
    """From the scores without intercept, ||w||^2, ||w(beta)||^2 and half of ||w - w(beta)||^2, each within ``off``."""
    problem, beta, qp, f, n = task.problem, task.dual_coef, task.problem.qp, scores.f, len(scores.f)
    offsets = Offsets(task.intercept)
    error = scores.error + STEPS * UNIT * problem.reach(beta, f, offsets)
    ends = (f, f - error, f + error)
    here, *shares = (problem.gap_terms(beta, at, offsets) for at in ends)
    slack = np.maximum.reduce([problem.costs(beta, at, offsets) for at in ends]).sum()
    rest = abs(math.fsum(beta.tolist())) if qp.balance else 0.0
    short = float(np.abs(problem.shortfall(beta, f, offsets)).max(initial=0.0))
    gap = float(np.maximum(*shares).clip(min=0.0).sum()) * (1.0 + summed(n + 10)) + distance + off + rest * short
    off += 2 * summed(n + 10) * float(slack + np.abs(beta) @ np.abs(qp.linear) + square_w + square)
    off += 2 * rest * (short + abs(task.intercept))
    primal, dual = 0.5 * square_w + slack + off, -float(qp.linear @ beta) - 0.5 * square - off
    feasible = qp.infeasibility(beta) <= FEASIBILITY_TOL
    finite = bool(np.isfinite([primal, dual, gap]).all())
    reason = "" if feasible else "the dual point is not feasible"
    return Certificate(
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=relative(gap, primal, dual),
        kkt=float(qp.violation(qp.snapped(beta, SNAP), f + qp.linear, error)),
        feasible=feasible,
        holds=feasible and finite and definite.psd,
        reason=reason or definite.reason or ("" if finite else "not finite"),
        error_bound=float(error.max(initial=0.0)),
        judged=definite.judged,
        rounding=gap - float(here.clip(min=0.0).sum()) - distance,
    )


def _scores_and_sums(
    kernel: Kernel, X: RowData, rows: IntArray, landmarks: IntArray, coef: FloatArray, beta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(K_nm coef, K_mn beta) from one pass over the kernel values."""
    f, sums = np.empty((len(rows), coef.shape[1])), np.zeros((len(landmarks), beta.shape[1]))
    height = max(1, BLOCK_VALUES // max(1, len(landmarks)))
    for first in range(0, len(rows), height):
        if first:
            heed()
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
    """F^+ sums: w(beta), projected onto the landmarks' span, in its coordinates."""
    if factor.shape[0] == factor.shape[1]:
        return solve_triangular(factor, sums, lower=True)
    return lstsq(factor, sums)[0]
