"""scikit-learn's own SVC and SVR: LIBSVM, one thread, kernel matrix in float32 with float64 gradients.

Its LinearSVC is LIBLINEAR with a limit of steps that can be raised, so that `tol` decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.arena import linear
from benchmarks.arena.competitors import _common

NAME = "sklearn"
TASKS = ("svc", "nusvc", "svr", "oneclass", *linear.TASKS)
MOST_STEPS = 2**31 - 1


def available() -> str | None:
    """Whether the package can be imported."""
    return _common.absent("sklearn")


def make(task: str, params: dict[str, Any], tol: float | None) -> Any:
    """An unfitted estimator; LIBLINEAR solves the hinge loss in the dual only."""
    if linear.is_linear(task):
        from sklearn.svm import LinearSVC

        dual = True if task == "linear-hinge" else "auto"
        return LinearSVC(**_common.linear_params(task, params, tol), dual=dual, max_iter=MOST_STEPS, random_state=0)
    return _common.build("sklearn.svm", task, params, tol)


def cast(X: Any, task: str) -> Any:
    """Dense float64: faster to fit here than CSR, even on data that are 11 % dense (0.70 s against 0.90 s).

    LIBLINEAR makes its own sparse rows of whatever it gets.
    """
    return _common.sparse_or_dense(X, np.float64) if linear.is_linear(task) else _common.dense(X, np.float64)


def cannot(task: str, params: dict[str, Any]) -> str | None:
    """Its LinearSVC has no free intercept."""
    return _common.PENALISED if linear.is_linear(task) and params["fit_intercept"] else None


def note(model: Any) -> str:
    """Nothing to say."""
    return ""
