"""Many classes in one problem: LinearSVC with Crammer and Singer's loss."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from maxmargin.backends import backend_for, single_threaded_blas
from maxmargin.certificates import judge_crammer_singer
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._linear_base import margins_of
from maxmargin.estimators._linear_run import linear_history, seed_of
from maxmargin.estimators._machine import Training
from maxmargin.estimators._progress import FitReporter
from maxmargin.estimators._run import warn_unless_reached
from maxmargin.estimators._scaling import fitted_scaling, scaled
from maxmargin.problems import CrammerSingerProblem
from maxmargin.solvers import CrammerSinger, Watch


def fit_crammer_singer(estimator: Any, data: Training) -> Any:
    """Fit ``estimator``, a LinearSVC, as one problem; its ``loss`` is not used, as in scikit-learn."""
    if estimator.penalty != "l2" or np.isinf(estimator.C):
        raise ValueError(
            "Crammer and Singer's machine needs penalty='l2' and a finite C; got "
            f"penalty={estimator.penalty!r}, C={estimator.C!r}"
        )
    rows = data.X if len(data.kept) == data.n else data.X[data.kept]
    labels = data.extra
    problem = CrammerSingerProblem(
        labels.label, estimator.C * labels.weights(data), len(labels.classes), estimator.fit_intercept
    )
    scaling = fitted_scaling(rows, data.weight) if estimator.scale else None
    reporter = FitReporter(estimator, data.X, data.y)
    reporter.begin(1)
    deadline = math.inf if estimator.time_limit is None else time.perf_counter() + estimator.time_limit
    after_round, end = reporter.round_callback(0)
    with InterruptFlag() as interrupted, single_threaded_blas():
        watch = Watch(0.0, estimator.tol, estimator.max_iter, deadline, interrupted, after_round)
        solution = CrammerSinger(backend_for("cpu"), seed_of(estimator)).solve(problem, scaled(rows, scaling), watch)
    end()
    warn_unless_reached([solution])
    certificate = judge_crammer_singer(rows, problem, solution.W, solution.intercept, solution.alpha, scaling)
    estimator._forget()
    W, b = solution.W, solution.intercept
    if scaling is not None:
        W = W / scaling.scale
        b = b - W @ scaling.center
        estimator.center_, estimator.scale_ = scaling
    two = len(labels.classes) == 2
    estimator.coef_ = W[1:] - W[:1] if two else W
    estimator.intercept_ = b[1:] - b[:1] if two else b
    used = np.flatnonzero(np.any(solution.alpha != 0, axis=1))
    estimator.support_, estimator.dual_coef_ = data.kept[used], solution.alpha[used].T.copy()
    estimator.C_, estimator.margin_ = float(estimator.C), margins_of(estimator.coef_)
    estimator.n_iter_, estimator.history_ = solution.n_iter, linear_history([solution])
    estimator.shape_fit_ = data.X.shape
    estimator._publish_labels(data)
    if estimator.certify:
        estimator.certificates_, estimator.certificate_ = [certificate], certificate
    reporter.close()
    return estimator
