"""The linear machine: what LinearSVC, LinearSVR, LinearClassifier and LinearRegressor have in common.

``fit`` checks the data and hands over to :func:`maxmargin.estimators._fit.fit`; :class:`LinearTasks` is what linear
machines add to it.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin._validation import kept_rows, row_costs
from maxmargin.backends import backend_for, effective_threads
from maxmargin.certificates import Certificate, Scaling, judge_linear
from maxmargin.delivered import LinearDelivered
from maxmargin.estimators._fit import Family, RefittedFamily, fit
from maxmargin.estimators._linear_model import LinearFit, dense_coef, published_weights, unscaled, used_rows, write_fit
from maxmargin.estimators._linear_run import linear_history, solve_linear
from maxmargin.estimators._machine import Machine, Training, check_rows, check_target, leaves_no_trace
from maxmargin.estimators._options import FitOptions
from maxmargin.estimators._proof import Goal
from maxmargin.estimators._scaling import fitted_scaling, scaled, warn_of_unequal_columns
from maxmargin.estimators._stream import require_finite_weights
from maxmargin.losses import Loss
from maxmargin.penalties import Penalty
from maxmargin.problems import LinearProblem
from maxmargin.solvers import LINEAR_NAMES, LinearPoint, LinearSolution, require_convex


class Target(NamedTuple):
    """Targets and weights of one task's rows; ``rows`` are their numbers among those that count, None for all."""

    values: FloatArray
    weight: FloatArray
    rows: IntArray | None = None


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
    def _targets(self, data: Training) -> list[Target]:
        """What every task is to learn."""

    def _cost(self, data: Training) -> float:
        """C, what a row of weight 1 pays for its loss."""
        return float(self.C)

    def _write_labels(self, data: Training) -> None:
        """The attributes that have to do with the targets; the last ones written."""

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
        return self._fit(self._validate(X, y, sample_weight))

    def _fit(self, data: Training):
        return fit(self, data, self._family(data))

    def _family(self, data: Training) -> Family[Any]:
        """How the machine does the parts of a fit."""
        return LinearTasks(self, data)

    def _problems(self, data: Training, cost: float) -> tuple[list[LinearProblem], list[IntArray | None]]:
        """(problem, its rows among those that count, or None for all of them) of every task."""
        loss, penalty = self._pair()
        require_convex(loss, penalty)
        targets = self._targets(data)
        problems = [
            LinearProblem(loss, penalty, t.values, row_costs(cost, t.weight), self.fit_intercept) for t in targets
        ]
        return problems, [t.rows for t in targets]

    def _validate(self, X, y, sample_weight) -> Training:
        began = time.perf_counter()
        X = check_rows(self, X)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        target = self._validate_targets(check_target(self, y, X.shape[0]))
        weight, kept = kept_rows(sample_weight, X, X.shape[0])
        return self._described(Training(X, target, weight[kept], kept, X.shape[0], began=began))

    def _validate_targets(self, y: Any) -> Any:
        return y.astype(np.float64, copy=False)

    def _described(self, data: Training) -> Training:
        return data

    def _warm_starts(
        self, data: Training, problems: list[LinearProblem], where: list[IntArray | None], scaling: Scaling | None
    ) -> list[LinearPoint | None]:
        """Where each task starts: at the last fit's weights and dual variables if the data have the same shape."""
        none: list[LinearPoint | None] = [None] * len(problems)
        if not self.warm_start or getattr(self, "shape_fit_", None) != data.X.shape or not self._same_labels(data):
            return none
        W, intercept = published_weights(self, scaling)
        if len(W) != len(problems):
            return none
        starts: list[LinearPoint | None] = []
        for k, (problem, own) in enumerate(zip(problems, where, strict=True)):
            beta = np.zeros(data.n)
            beta[self.support_] = self.dual_coef_[k]
            beta = beta[data.kept] if own is None else beta[data.kept[own]]
            starts.append(LinearPoint(W[k], float(intercept[k]) if self.fit_intercept else 0.0, problem.feasible(beta)))
        return starts

    def _same_labels(self, data: Training) -> bool:
        return True

    def slack(self, X, y):
        """How far every row falls short of the loss's zero: of margin 1, or of the tube around its target.

        A row that has no part in a task (all-vs-all) has nan there.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_tasks) beyond two classes
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        f = np.asarray(safe_sparse_dot(X, dense_coef(self).T)) + self.intercept_
        slack = self._slack_of(f, check_target(self, y, X.shape[0]))
        return np.squeeze(slack, axis=1 if slack.shape[1] == 1 else ())

    @abstractmethod
    def _slack_of(self, f: FloatArray, y: Any) -> FloatArray:
        """Slack of scores (n, tasks)."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearRegressorMachine(RegressorMixin, LinearMachine):
    """Linear regressors: one task, real targets."""

    def _targets(self, data):
        return [Target(data.y[data.kept], data.weight)]

    def _write_labels(self, data):
        self.coef_: Any = self.coef_.ravel()

    def predict(self, X):
        """Predicted targets, x . coef_ + intercept_."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return np.asarray(safe_sparse_dot(X, self.coef_)) + self.intercept_[0]

    def _slack_of(self, f, y):
        tube = getattr(self._pair()[0], "epsilon", 0.0)
        return np.maximum(0.0, np.abs(np.asarray(y, dtype=np.float64)[:, None] - f) - tube)


class LinearTasks(RefittedFamily[LinearSolution]):
    """Tasks of a linear machine, on one design."""

    def __init__(self, machine: LinearMachine, data: Training, whole: Training | None = None):
        self.machine, self.data = machine, data
        self.whole = data if whole is None else whole  # with rows that the fit only looks at
        self.rows, self.cost = data.X_kept, machine._cost(data)
        self.problems, self.where = machine._problems(data, self.cost)
        self.scaling = fitted_scaling(self.rows, data.weight) if machine.scale else None

    def goal(self):
        return Goal(np.inf, self.machine.tol)

    def solve(self, reporter):
        machine = self.machine
        design = backend_for("cpu").design(scaled(self.rows, self.scaling), effective_threads(machine.n_jobs))
        if not machine.scale:
            warn_of_unequal_columns(design, getattr(machine, "feature_names_in_", None))
        starts = machine._warm_starts(self.data, self.problems, self.where, self.scaling)
        deadline = machine._solving_ends(self.data)
        solutions = solve_linear(FitOptions.of(machine), design, self.problems, self.where, starts, deadline, reporter)
        for point in (solution.point for solution in solutions):
            require_finite_weights(np.concatenate([point.w, point.beta, [point.intercept]]))
        return solutions

    def prove(self, solutions):
        return judged_tasks(self.rows, self.problems, self.where, solutions, self.scaling)

    def write(self, draft, solutions, certificates, reached):
        points = [solution.point for solution in solutions]
        support = used_rows([point.beta for point in points], self.where, len(self.data.kept))
        W, intercept = np.array([point.w for point in points]), np.array([point.intercept for point in points])
        n_iter = max(solution.n_iter for solution in solutions)
        model = LinearFit(W, intercept, *support, self.cost, n_iter, linear_history(solutions))
        write_fit(draft, self.data, model, self.scaling)

    def scores(self, draft, solutions):
        return draft._raw_scores(self.whole.X_kept)


def judged_tasks(
    rows: RowData,
    problems: list[LinearProblem],
    where: list[IntArray | None],
    solutions: list[LinearSolution],
    scaling: Scaling | None,
) -> list[Certificate]:
    """Certificates of the models as they are published."""
    points = [solution.point for solution in solutions]
    coef, b = unscaled(np.array([p.w for p in points]), np.array([p.intercept for p in points]), scaling)
    tasks = zip(problems, coef, b.tolist(), [p.beta for p in points], where, strict=True)
    return judge_linear(rows, [LinearDelivered(*task) for task in tasks], scaling)
