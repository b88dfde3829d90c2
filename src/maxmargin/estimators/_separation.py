"""Whether a hard margin is one: decided by what was found against what rounding can do to it.

The kernel matrix of a linear kernel holds squares, in which a distance of 1e-8 beside rows of size 1 is lost, and rows
far from the origin lose more. So its rows are centred, which changes neither w nor the margin, and w itself is
computed: its scores have an error of eps ||x|| ||w||, not of eps ||x||^2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._rows import dense, take
from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.delivered import Delivered
from maxmargin.kernels import Kernel, Linear
from maxmargin.problems import HardMarginProblem, Problem
from maxmargin.solvers import Solution

EPS = float(np.finfo(np.float64).eps)
#: Largest rounding error that a published score may have beside the margin, 1.
RESOLVED = 0.5
#: Weights this small beside the largest are 0 when two nearest points are made to meet.
NO_WEIGHT = 1e-9


def centred(kernel: Kernel, X: RowData, rows: IntArray, problems: Sequence[Problem]) -> RowData:
    """X with its origin at the mean of ``rows``, where that changes nothing but rounding; sparse rows as they are."""
    hard = all(isinstance(problem, HardMarginProblem) and problem.fit_intercept for problem in problems)
    if not hard or not isinstance(kernel, Linear) or sp.issparse(X):
        return X
    X = np.asarray(X, dtype=np.float64)
    return X - X[rows].mean(axis=0)


def separated(problem: HardMarginProblem, kernel: Kernel, X: RowData, solution: Solution) -> Solution:
    """The solution, with scores as exact as can be had; or NotSeparableError. ``X`` are the task's own rows."""
    beta, f = solution.beta, solution.f
    if not isinstance(kernel, Linear):
        problem.require_separable(beta, f)
        return solution
    w = np.asarray(X.T @ beta, dtype=np.float64).ravel()
    f = np.asarray(X @ w, dtype=np.float64).ravel()
    size, terms = _largest(X), EPS * (8 + X.shape[1])
    if problem.separates(beta, f, terms * size * float(np.linalg.norm(w))):
        return replace(solution, f=f)
    met = _meeting(problem, X, beta)
    distance = float(np.linalg.norm(np.asarray(X.T @ met).ravel()))
    bound = EPS * (8 + len(beta)) * size * float(np.abs(met).sum())
    raise problem.refusal(met, distance, bound)


def moved_back(task: Delivered, kernel: Kernel, X: RowData, f: FloatArray) -> Delivered:
    """A task of centred rows as one of ``X``, the rows as they came: w is the same, the intercept is not.

    ``f`` are its scores. The intercept is the one with which the published sum has these at the support vectors.
    """
    every: FloatArray = task.problem.sign  # type: ignore[attr-defined]  # two classes
    used = np.flatnonzero(task.dual_coef)
    coef, sign = task.dual_coef[used], every[used]
    K = kernel(take(X, task.rows[used]))
    missing = f[used] - K @ coef
    b = float(np.mean([missing[sign == s].mean() for s in (-1.0, 1.0)]))  # either class is as near to its margin
    separates = np.min(every * f) > 0  # a fit that was stopped need not
    if separates and EPS * float(np.max(np.abs(K) @ np.abs(coef) + abs(b))) > RESOLVED:
        distance = 2.0 / float(np.sqrt(np.abs(coef).sum()))  # sum alpha = ||w||^2
        raise ValueError(
            f"C=inf asks for a hard margin, and the classes can be separated, but they are only {distance:.3g} apart: "
            f"float64 scores of rows of size {_largest(take(X, task.rows)):.3g} do not show it. Centre the features "
            "and scale them to unit variance, or give a finite C"
        )
    return task._replace(intercept=b)


def _meeting(problem: HardMarginProblem, X: RowData, beta: FloatArray) -> FloatArray:
    """The nearest points moved onto each other, if weights near their own can do that; else as they are.

    The least change d of the positive weights with X' d = -X' beta that keeps the sum of each side.
    """
    used = np.flatnonzero(np.abs(beta) > NO_WEIGHT * float(np.abs(beta).max(initial=0.0)))
    near = np.zeros_like(beta)
    near[used] = beta[used]
    rows: Any = X[used]
    table = np.asarray(dense(rows), dtype=np.float64).T
    sides = [beta[used] > 0, beta[used] < 0] if problem.fit_intercept else [np.sign(beta[used])]
    system = np.vstack([table / max(_largest(X), np.finfo(float).tiny), *sides])
    totals = [float(beta @ (beta > 0)), float(beta @ (beta < 0))] if problem.fit_intercept else [np.abs(beta).sum()]
    wanted = np.concatenate([np.zeros(len(table)), totals])
    for _ in range(2):  # the second time for the rounding errors of the first
        near[used] += np.linalg.lstsq(system, wanted - system @ near[used], rcond=None)[0]
    return near if (np.sign(near) == np.sign(beta))[used].all() else beta


def _largest(X: RowData) -> float:
    square = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.square(X, dtype=np.float64).sum(axis=1)
    return float(np.sqrt(np.max(square, initial=0.0)))
