"""The linear machine: what LinearSVC, LinearSVR, LinearClassifier and LinearRegressor have in common.

``fit`` validates, scales if asked to, states the problems, has them solved and certified, and only then publishes.
"""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context
from sklearn.callback import with_callbacks
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from maxmargin._types import FloatArray, RowData
from maxmargin._validation import kept_rows
from maxmargin.certificates import Certificate, LinearDelivered, Scaling, judge_linear, worst
from maxmargin.estimators._linear_run import linear_history, solve_linear
from maxmargin.estimators._machine import Machine, Training, check_target, labels_of, leaves_no_trace
from maxmargin.estimators._progress import FitReporter
from maxmargin.estimators._scaling import fitted_scaling, scaled, warn_of_unequal_columns
from maxmargin.losses import Loss
from maxmargin.multiclass import OneVsRest
from maxmargin.penalties import Penalty
from maxmargin.problems import LinearProblem
from maxmargin.solvers import LINEAR_NAMES, LinearPoint, LinearSolution, require_convex


class LinearMachine(Machine):
    """Base of the linear machines; subclasses say which loss, penalty and cost they have."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "scale": ["boolean"],
        "solver": [StrOptions(set(LINEAR_NAMES))],
        "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
        "certify": ["boolean"],
        "n_jobs": [Integral, None],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    # -- what a machine must say ------------------------------------------------------------------------------

    @abstractmethod
    def _pair(self) -> tuple[Loss, Penalty]:
        """The loss and the penalty that the parameters ask for."""

    @abstractmethod
    def _targets(self, data: Training) -> list[tuple[FloatArray, FloatArray]]:
        """(targets, weights) of the kept rows for every task."""

    def _cost(self, data: Training) -> float:
        """C, what a row of weight 1 pays for its loss."""
        return float(self.C)

    def _publish_labels(self, data: Training) -> None:
        """Set the attributes that have to do with the targets."""

    # -- fit --------------------------------------------------------------------------------------------------

    @with_callbacks
    @leaves_no_trace
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the model to the training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; float32 stays float32.
        y : array-like of shape (n_samples,)
            Class labels or real targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row: 2 is the row twice; rows of weight 0 or less are left out.

        Returns
        -------
        self
        """
        data = self._validate(X, y, sample_weight)
        return self._fit(data)

    def _fit(self, data: Training):
        rows = data.X if len(data.kept) == data.n else data.X[data.kept]
        loss, penalty = self._pair()
        require_convex(loss, penalty)
        cost = self._cost(data)
        problems = [
            LinearProblem(loss, penalty, target, cost * weight, self.fit_intercept)
            for target, weight in self._targets(data)
        ]
        scaling = fitted_scaling(rows, data.weight) if self.scale else None
        if not self.scale:
            warn_of_unequal_columns(rows, getattr(self, "feature_names_in_", None))
        starts = self._warm_starts(data, problems, scaling)
        reporter = FitReporter(self, data.X, data.y)
        solutions = solve_linear(self, scaled(rows, scaling), problems, starts, reporter)
        certificates = self._certified(rows, problems, solutions, scaling)
        self._forget()
        self._publish(data, problems, solutions, scaling, cost)
        if certificates is not None:
            self.certificates_, self.certificate_ = certificates, worst(certificates)
        reporter.close()
        return self

    def _validate(self, X, y, sample_weight) -> Training:
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", accept_sparse="csr", y="no_validation")
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        target = self._validate_targets(check_target(self, y, X.shape[0]))
        weight, kept = kept_rows(sample_weight, X, X.shape[0])
        return self._described(Training(X, target, weight[kept], kept, X.shape[0]))

    def _validate_targets(self, y: Any) -> Any:
        return y.astype(np.float64, copy=False)

    def _described(self, data: Training) -> Training:
        return data

    def _certified(self, rows: RowData, problems, solutions, scaling) -> list[Certificate] | None:
        if not self.certify:
            return None
        points = [solution.point for solution in solutions]
        delivered = [LinearDelivered(p, s.w, s.intercept, s.beta) for p, s in zip(problems, points, strict=True)]
        return judge_linear(rows, delivered, scaling)

    def _warm_starts(
        self, data: Training, problems: list[LinearProblem], scaling: Scaling | None
    ) -> list[LinearPoint | None]:
        """Where each task starts: at the last fit's weights and dual variables if the data have the same shape."""
        none: list[LinearPoint | None] = [None] * len(problems)
        if not self.warm_start or getattr(self, "shape_fit_", None) != data.X.shape:
            return none
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else np.atleast_2d(self.coef_)
        intercept = np.atleast_1d(self.intercept_)
        if len(coef) != len(problems) or not self._same_labels(data):
            return none
        scaling = scaling or Scaling.none(data.X.shape[1])
        starts: list[LinearPoint | None] = []
        for k, problem in enumerate(problems):
            beta = np.zeros(data.n)
            beta[self.support_] = self.dual_coef_[k]
            b = float(intercept[k] + coef[k] @ scaling.center) if self.fit_intercept else 0.0
            starts.append(LinearPoint(coef[k] * scaling.scale, b, problem.feasible(beta[data.kept])))
        return starts

    def _same_labels(self, data: Training) -> bool:
        return True

    def _publish(self, data: Training, problems, solutions: list[LinearSolution], scaling, cost: float) -> None:
        shift = scaling or Scaling.none(data.X.shape[1])
        points = [solution.point for solution in solutions]
        coef = np.array([point.w for point in points]) / shift.scale
        self.coef_: Any = coef
        self.intercept_: Any = np.array([point.intercept for point in points]) - coef @ shift.center
        if scaling is not None:
            self.center_, self.scale_ = scaling
        used = np.flatnonzero(np.any([point.beta != 0 for point in points], axis=0))
        self.support_ = data.kept[used]
        self.dual_coef_ = np.array([point.beta[used] for point in points])
        self.C_ = cost
        self.margin_ = margins_of(np.array([point.w for point in points]))
        self.n_iter_ = max(solution.n_iter for solution in solutions)
        self.history_ = linear_history(solutions)
        self.shape_fit_ = data.X.shape
        self._publish_labels(data)

    def slack(self, X, y):
        """How far every row falls short of the loss's zero: of margin 1, or of the tube around its target.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_tasks) beyond two classes
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else np.atleast_2d(self.coef_)
        f = np.asarray(safe_sparse_dot(X, coef.T)) + self.intercept_
        slack = self._slack_of(f, check_target(self, y, X.shape[0]))
        return np.squeeze(slack, axis=1 if slack.shape[1] == 1 else ())

    @abstractmethod
    def _slack_of(self, f: FloatArray, y: Any) -> FloatArray:
        """Slack of scores (n, tasks)."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearClassifierMachine(LinearClassifierMixin, SparseCoefMixin, ClassifierMixin, LinearMachine):
    """Linear classifiers: classes, one-vs-all, decisions."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinearMachine._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def _validate_targets(self, y):
        if y.dtype.kind not in "biu":  # whole numbers are classes whatever they are
            check_classification_targets(y)
        return y

    def _described(self, data):
        labels = labels_of(data, self.class_weight)
        counts = labels.factors[labels.label] > 0  # rows of a class without weight are left out like others
        if not counts.any():
            raise ValueError(f"class_weight={self.class_weight!r} leaves no row any weight; give one class more than 0")
        labels = labels._replace(label=labels.label[counts])
        return data._replace(weight=data.weight[counts], kept=data.kept[counts], extra=labels)

    def _targets(self, data):
        labels = data.extra
        weight = labels.weights(data)
        return [(task.sign, weight) for task in OneVsRest(len(labels.classes)).tasks(labels.label)]

    def _publish_labels(self, data):
        self.classes_, self.class_weight_ = data.extra.classes, data.extra.factors

    def _same_labels(self, data):
        return np.array_equal(self.classes_, data.extra.classes)

    def _slack_of(self, f, y):
        label = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        sign = np.column_stack([task.sign for task in OneVsRest(len(self.classes_)).tasks(label)])
        return np.maximum(0.0, 1.0 - sign * f)


class LinearRegressorMachine(RegressorMixin, LinearMachine):
    """Linear regressors: one task, real targets."""

    def _targets(self, data):
        return [(data.y[data.kept], data.weight)]

    def _publish(self, data, problems, solutions, scaling, cost):
        super()._publish(data, problems, solutions, scaling, cost)
        self.coef_ = self.coef_.ravel()

    def predict(self, X):
        """Predicted targets, x . coef_ + intercept_."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return np.asarray(safe_sparse_dot(X, self.coef_)) + self.intercept_[0]

    def _slack_of(self, f, y):
        tube = getattr(self._pair()[0], "epsilon", 0.0)
        return np.maximum(0.0, np.abs(np.asarray(y, dtype=np.float64)[:, None] - f) - tube)


def margins_of(W: FloatArray) -> FloatArray:
    """1 / ||w|| of every line, inf where w is 0."""
    norms = np.linalg.norm(W, axis=1)
    with np.errstate(divide="ignore"):
        return np.where(norms > 0, 1.0 / norms, np.inf)
