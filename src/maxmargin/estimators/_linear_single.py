"""LinearSVC with all classes in one problem: Crammer and Singer's or Weston and Watkins'."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from maxmargin.backends import backend_for, single_threaded_blas
from maxmargin.certificates import Scaling, judge_linear_all_classes
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._linear_model import LinearFit, publish_fit, published_weights
from maxmargin.estimators._linear_run import linear_history
from maxmargin.estimators._machine import Training, seed_of
from maxmargin.estimators._progress import FitReporter
from maxmargin.estimators._run import warn_unless_reached
from maxmargin.estimators._scaling import fitted_scaling, scaled
from maxmargin.estimators._single_machine import all_classes_problem
from maxmargin.solvers import AllClassesLinear, AllClassesPoint, Watch


def fit_linear_all_classes(estimator: Any, data: Training) -> Any:
    """Fit ``estimator``, a LinearSVC, as one problem; its ``loss`` is not used, as in scikit-learn."""
    if estimator.penalty != "l2":
        raise ValueError(
            f"multiclass={estimator._multiclass!r} needs penalty='l2' and a finite C; got penalty={estimator.penalty!r}"
        )
    problem = all_classes_problem(estimator, data)
    rows = data.rows
    scaling = fitted_scaling(rows, data.weight) if estimator.scale else None
    reporter = FitReporter(estimator, data.X, data.y)
    reporter.begin(1)
    deadline = math.inf if estimator.time_limit is None else time.perf_counter() + estimator.time_limit
    after_round, end = reporter.round_callback(0)
    with InterruptFlag() as interrupted, single_threaded_blas():
        watch = Watch(0.0, estimator.tol, estimator.max_iter, deadline, interrupted, after_round)
        solver = AllClassesLinear(backend_for("cpu"), seed_of(estimator))
        solution = solver.solve(problem, scaled(rows, scaling), watch, _warm_start(estimator, data, scaling))
    end()
    warn_unless_reached([solution])
    W, b, alpha = solution.W, solution.intercept, solution.alpha
    certificate = judge_linear_all_classes(rows, problem, W, b, alpha, scaling) if estimator.certify else None
    estimator._forget()
    two = problem.n_classes == 2
    fit = LinearFit(
        W[1:] - W[:1] if two else W,
        b[1:] - b[:1] if two else b,
        alpha.T,
        float(estimator.C),
        solution.n_iter,
        linear_history([solution]),
    )
    publish_fit(estimator, data, fit, scaling)
    if certificate is not None:
        estimator.certificates_, estimator.certificate_ = [certificate], certificate
    reporter.close()
    return estimator


def _warm_start(estimator: Any, data: Training, scaling: Scaling | None) -> AllClassesPoint | None:
    """The last fit's dual variables and intercepts, if the data have the same shape and the classes are the same."""
    known = estimator.warm_start and getattr(estimator, "shape_fit_", None) == data.X.shape
    if not known or not estimator._same_labels(data):
        return None
    alpha = np.zeros((data.n, len(estimator.classes_)))
    alpha[estimator.support_] = estimator.dual_coef_.T
    _, b = published_weights(estimator, scaling)
    b = np.concatenate([-b, b]) / 2 if len(b) == 1 else b
    alpha = alpha[data.kept]
    return AllClassesPoint(alpha, b)
