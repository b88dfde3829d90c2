"""Classification: SVC and NuSVC."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators._base import KernelMachine, _dense
from maxmargin.estimators._machine import labels_of
from maxmargin.estimators._params import documented
from maxmargin.estimators._probability import ProbabilityMixin
from maxmargin.estimators._run import Outcome, Task, run_tasks
from maxmargin.multiclass import OneVsOne
from maxmargin.problems import HardMarginProblem, NuSVCProblem, SVCProblem

#: Margin of a nu-SVC, relative to the largest possible, below which class weights are not given a larger C.
LEAST_MARGIN = 1e-3


class KernelClassifier(ProbabilityMixin, ClassifierMixin, KernelMachine):
    """What the two classifiers share: labels, pairs of classes, decisions."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelMachine._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
        "probability": ["boolean", StrOptions({"deprecated"})],
        "fit_intercept": ["boolean"],
        "multiclass": [StrOptions({"ovo"})],
    }

    def _validate_targets(self, y):
        if y.dtype.kind not in "biu":  # whole numbers are classes whatever they are
            check_classification_targets(y)
        return y

    def _describe(self, data):
        return labels_of(data, self.class_weight)

    def _problems(self, data, kernel):
        labels = data.extra
        tasks = OneVsOne(len(labels.classes)).tasks(labels.label)
        return [
            (data.kept[task.rows], self._problem(task, data, labels.weights(data)[task.rows], kernel)) for task in tasks
        ]

    def _publish(self, data, outcomes: list[Outcome]):
        labels = data.extra
        self.classes_, self.class_weight_ = labels.classes, labels.factors
        table = OneVsOne(len(self.classes_)).pack([outcome.delivered.dual_coef for outcome in outcomes], labels.label)
        used = np.flatnonzero(np.any(table != 0, axis=0))
        order = used[np.argsort(labels.label[used], kind="stable")]  # by class, then by row, as LIBSVM does
        self.n_support_ = np.bincount(labels.label[order], minlength=len(self.classes_)).astype(np.int32)
        self.intercept_ = np.array([outcome.delivered.intercept for outcome in outcomes])
        self.n_iter_ = np.array([outcome.solution.n_iter for outcome in outcomes], dtype=np.int64)
        self._publish_support(data, data.kept[order], table[:, order])
        if self._wants_probability:
            self._calibrate(data, outcomes)

    def _fitted_coefs(self, data, problems):
        labels = data.extra
        if not np.array_equal(labels.classes, self.classes_):
            return [None] * len(problems)
        table = np.zeros((len(labels.classes) - 1, data.n))
        table[:, self.support_] = _dense(self.dual_coef_)
        return list(OneVsOne(len(labels.classes)).unpack(table[:, data.kept], labels.label))

    # -- prediction -------------------------------------------------------------------------------------------

    def _pair_scores(self, X):
        """(n, pairs) scores of the binary machines."""
        label = np.repeat(np.arange(len(self.classes_)), self.n_support_)
        coef = OneVsOne(len(self.classes_)).per_pair(_dense(self.dual_coef_), label)
        return self._scores(X, coef) + self.intercept_

    def decision_function(self, X):
        """Scores whose arg-max is the prediction.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes: positive means ``classes_[1]``. Beyond, (n_samples, n_classes),
        or (n_samples, pairs) for ``decision_function_shape='ovo'``: positive means the first class of the pair.
        """
        check_is_fitted(self)
        scores = self._pair_scores(X)
        if len(self.classes_) == 2:
            return scores.ravel()
        return scores if self.decision_function_shape == "ovo" else OneVsOne(len(self.classes_)).decide(scores)

    def predict(self, X):
        """Class of every row: the arg-max of the decision function (a score of exactly 0 is ``classes_[0]``).

        With ``probability=True`` it is the arg-max of the probabilities.
        """
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        if self._wants_probability and hasattr(self, "probA_"):
            return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        scores = self._pair_scores(X)
        if len(self.classes_) == 2:
            return self.classes_[(scores.ravel() > 0).astype(int)]
        return self.classes_[np.argmax(OneVsOne(len(self.classes_)).decide(scores), axis=1)]

    def _linear_weights(self):
        label = np.repeat(np.arange(len(self.classes_)), self.n_support_)
        coef = OneVsOne(len(self.classes_)).per_pair(_dense(self.dual_coef_), label)
        weights = coef.T @ self.support_vectors_
        return type(self.dual_coef_)(weights) if sp.issparse(self.dual_coef_) else np.asarray(weights)


@documented
class SVC(KernelClassifier):
    r"""Support vector classifier, exact, with a proof of optimality.

    For every pair of classes, with signs t_i and C_i = C * class weight * sample weight,

    .. math:: \min_{w,b,\xi}\; \tfrac12\|w\|^2 + \sum_i C_i \xi_i \quad\text{s.t.}\quad
        t_i (w\cdot\phi(x_i) + b) \ge 1 - \xi_i,\; \xi_i \ge 0.

    Parameters
    ----------
    C : float, default=1.0
        Cost of slack. ``np.inf`` is the hard margin: classes that no hyperplane separates then raise
        :class:`~maxmargin.exceptions.NotSeparableError` with a witness.
    {shared}
    class_weight : dict, 'balanced' or None, default=None
        Factor of C for each class; 'balanced' uses the (weighted) class counts.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of the decision function beyond two classes.
    probability : bool, default='deprecated'
        True fits Platt's sigmoid on cross-validated scores, for :meth:`predict_proba`. The default is scikit-learn's
        spelling of False.
    break_ties : bool, default=False
        Ties are always broken by the scores; True with shape 'ovo' is an error, as in scikit-learn.
    random_state : int, RandomState or None, default=None
        Seed of the rows that a bounded certificate recomputes, and of the folds of ``probability=True``.
    fit_intercept : bool, default=True
        False drops b and with it the dual's equality constraint.
    multiclass : {'ovo'}, default='ovo'
        All-vs-all.

    Attributes
    ----------
    {attributes}
    classes_, class_weight_, coef_ (linear kernel)
        As in scikit-learn.

    References
    ----------
    Cortes and Vapnik 1995, eq. (8)-(12); Chang and Lin 2011, section 2.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC(C=10).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.99
    >>> model.certificate_.holds, bool(model.certificate_.relative_gap < 1e-8)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right")],
    }

    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability="deprecated",
        tol=1e-3,
        cache_size="auto",
        class_weight=None,
        verbose=False,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
        fit_intercept=True,
        solver="auto",
        multiclass="ovo",
        gap_tol=None,
        time_limit=None,
        certify="auto",
        device="auto",
        n_jobs=None,
        warm_start=False,
    ):
        self._store(locals())

    def _problem(self, task, data, weight, kernel):
        if np.isinf(self.C):
            scale = float(kernel.diag(data.X)[data.kept[task.rows]].max())
            return HardMarginProblem(task.sign, scale, self.fit_intercept)
        return SVCProblem(task.sign, self.C * weight, self.fit_intercept)


@documented
class NuSVC(KernelClassifier):
    r"""nu-support vector classifier: nu bounds the shares of margin errors (from above) and of support vectors.

    For every pair of classes, in LIBSVM's scale, with v_i the row's weight,

    .. math:: \min_{w,b,\rho,\xi}\; \tfrac12\|w\|^2 - \nu\rho\textstyle\sum_i v_i + \sum_i v_i \xi_i
        \quad\text{s.t.}\quad t_i (w\cdot\phi(x_i) + b) \ge \rho - \xi_i,

    then everything is divided by rho, so that the margin is at 1.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        Where the classes are too unbalanced for it, the largest feasible nu is used, with a warning.
    {shared}
    class_weight : dict, 'balanced' or None, default=None
        scikit-learn's NuSVC ignores it. Here nu first picks the margin rho without it, and with that C = 1 / rho; then
        the classes' costs are C times their weights, as in SVC. ``C_`` holds that C for every pair; where nu leaves
        (nearly) no margin it is 1000 / (nu sum(v) mean k(x, x)).
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of the decision function beyond two classes.
    probability : bool, default='deprecated'
        True fits Platt's sigmoid on cross-validated scores, for :meth:`predict_proba`. The default is scikit-learn's
        spelling of False.
    break_ties : bool, default=False
        Ties are always broken by the scores; True with shape 'ovo' is an error, as in scikit-learn.
    random_state : int, RandomState or None, default=None
        Seed of the rows that a bounded certificate recomputes, and of the folds of ``probability=True``.
    fit_intercept : bool, default=True
        False drops b.
    multiclass : {'ovo'}, default='ovo'
        All-vs-all.

    Attributes
    ----------
    {attributes}
    classes_, class_weight_, coef_ (linear kernel)
        As in scikit-learn.

    References
    ----------
    Schoelkopf, Smola, Williamson and Bartlett 2000, eq. (13)-(20).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> round(NuSVC(nu=0.1).fit(X, y).score(X, y), 2)
    0.99
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        *,
        nu=0.5,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability="deprecated",
        tol=1e-3,
        cache_size="auto",
        class_weight=None,
        verbose=False,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
        fit_intercept=True,
        solver="auto",
        multiclass="ovo",
        gap_tol=None,
        time_limit=None,
        certify="auto",
        device="auto",
        n_jobs=None,
        warm_start=False,
    ):
        self._store(locals())

    def _problem(self, task, data, weight, kernel):
        scale = float(kernel.diag(data.X)[data.kept[task.rows]].max())
        problem = NuSVCProblem(task.sign, data.weight[task.rows], float(self.nu), self.fit_intercept, scale)
        if self.nu > problem.largest_nu:
            warnings.warn(
                f"specified nu is infeasible: nu={self.nu} asks for more than the lighter class has; "
                f"the largest feasible value, {problem.largest_nu:.6g}, is used",
                UserWarning,
                stacklevel=2,
            )
        return problem

    def _solve(self, data, kernel, reporter):
        if self.class_weight is None:
            return super()._solve(data, kernel, reporter)
        # nu chooses the margin rho, and with it C = 1 / rho; from there on it is SVC with class weights
        first = [Task(rows, problem) for rows, problem in self._problems(data, kernel)]
        outcomes = run_tasks(self, kernel, data.X, first)
        weights, diagonal = data.extra.weights(data), kernel.diag(data.X)
        tasks = []
        for task, outcome in zip(OneVsOne(len(data.extra.classes)).tasks(data.extra.label), outcomes, strict=True):
            problem, solution = outcome.delivered.problem, outcome.solution
            least = LEAST_MARGIN * (problem.qp.budget or 0.0) * float(diagonal[outcome.delivered.rows].mean())
            rho = max(problem.offsets(solution.beta, solution.f).rho, least)
            tasks.append(
                Task(outcome.delivered.rows, SVCProblem(task.sign, weights[task.rows] / rho, self.fit_intercept))
            )
        return run_tasks(self, kernel, data.X, tasks, reporter)

    def _publish(self, data, outcomes):
        super()._publish(data, outcomes)
        if self.class_weight is not None:
            weights = data.extra.weights(data)
            tasks = OneVsOne(len(data.extra.classes)).tasks(data.extra.label)
            first = [
                (outcome.delivered.problem.C / weights[t.rows])[0] for t, outcome in zip(tasks, outcomes, strict=True)
            ]
            self.C_ = np.array(first)
