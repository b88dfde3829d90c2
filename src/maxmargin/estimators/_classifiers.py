"""Classification: SVC and NuSVC."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from maxmargin._types import FloatArray
from maxmargin._validation import Scaling, row_costs, scaled
from maxmargin.delivered import is_approximation
from maxmargin.estimators._base import KernelTasks
from maxmargin.estimators._kernel_classifier import SupportVectorClassifier
from maxmargin.estimators._params import documented
from maxmargin.estimators._run import Outcome, Task
from maxmargin.multiclass import SINGLE
from maxmargin.problems import HardMarginProblem, NuSVCProblem, SoftMargins, SVCProblem

#: Margin of a nu-SVC, relative to the largest possible, below which class weights are not given a larger C.
LEAST_MARGIN = 1e-3


@documented
class SVC(SupportVectorClassifier):
    r"""Support vector classifier, exact, with a proof of optimality.

    For two classes with signs t_i, and C_i = C * class weight * sample weight,

    .. math:: \min_{w,b,\xi}\; \tfrac12\|w\|^2 + \sum_i C_i \xi_i \quad\text{s.t.}\quad
        t_i (w\cdot\phi(x_i) + b) \ge 1 - \xi_i,\; \xi_i \ge 0.

    Beyond, ``multiclass`` says which machines there are.

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
        True is scikit-learn's spelling of ``calibration='sigmoid'``. The default is its spelling of False.
    break_ties : bool, default=False
        Ties are always broken by the scores; True with shape 'ovo' is an error, as in scikit-learn.
    random_state : int, RandomState or None, default=None
        Seed of the rows that a bounded certificate recomputes, of the folds of a calibration, of random code words and
        of landmarks.
    fit_intercept : bool, default=True
        False drops b and with it the dual's equality constraint.
    {many_classes}
    approximation : {'nystroem'} or None, default=None
        'nystroem' looks for w only in the span of some rows, the landmarks: for more rows than the exact machine can
        take. That reduced problem is solved to a relative gap of ``gap_tol`` (or, if None, ``tol``), and the
        certificate is its own. How far the model is from the optimum of the full problem, ``certify='full'`` and
        :func:`maxmargin.certify` say, at the cost of all kernel values between support vectors. With
        ``warm_start=True`` a fit with ``approximation=None`` goes on from it.
    n_components : int, default=1000
        Landmarks, drawn at random; only with an approximation.

    Attributes
    ----------
    {attributes}
    {many_attributes}
    coef_ : ndarray of shape (n_tasks, n_features)
        Weights of the features, of the linear kernel.
    landmarks_, landmark_vectors_, landmark_coef_
        Row numbers of the landmarks, these rows, and their coefficients (n_tasks, n_landmarks), which the scores of an
        approximation are made of; ``dual_coef_`` then holds the dual variables of the reduced problem.

    References
    ----------
    Cortes and Vapnik 1995, eq. (8)-(12); Chang and Lin 2011, section 2.1; Williams and Seeger 2001 (landmarks).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC(C=10).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.99
    >>> tight = SVC(C=10, gap_tol=1e-8).fit(X, y)
    >>> tight.certificate_.holds, bool(tight.certificate_.relative_gap < 1e-8)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SupportVectorClassifier._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "approximation": [StrOptions({"nystroem"}), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
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
        code_words="one-hot",
        calibration=None,
        approximation=None,
        n_components=1000,
        scale=False,
    ):
        self._store(locals())

    def _family(self, data):
        if self.approximation is not None:
            from maxmargin.estimators._approximation import Landmarks  # with all of the linear machines, for few fits

            return Landmarks(self, data)
        if self._multiclass in SINGLE:
            from maxmargin.estimators._single_machine import OneProblem

            return OneProblem(self, data)
        return super()._family(data)

    def _task_scores(self, X):
        if is_approximation(self):
            from maxmargin.estimators._approximation import landmark_scores

            return landmark_scores(self, X, self.landmark_coef_) + self.intercept_
        return super()._task_scores(X)

    def _fold_scores(self, X):
        if is_approximation(self):
            from maxmargin.estimators._approximation import landmark_fold_scores

            return landmark_fold_scores(self, X)
        return super()._fold_scores(X)

    def _linear_weights(self):
        if is_approximation(self):
            return np.asarray(self.landmark_coef_ @ scaled(self.landmark_vectors_, Scaling.of(self)))
        return super()._linear_weights()

    def _soft_margins(self, data):
        if np.isinf(self.C):
            return None
        labels = data.extra
        tasks = labels.end_to_end
        costs = row_costs(self.C, labels.weights(data))
        return data.kept[tasks.rows], SoftMargins(tasks.pointers, tasks.sign, costs[tasks.rows], self.fit_intercept)

    def _problem(self, task, data, weight, kernel):
        if np.isinf(self.C):
            scale = float(kernel.diag(data.X)[data.kept[task.rows]].max())
            return HardMarginProblem(task.sign, scale, self.fit_intercept)
        return SVCProblem(task.sign, row_costs(self.C, weight), self.fit_intercept)


@documented
class NuSVC(SupportVectorClassifier):
    r"""nu-support vector classifier: nu bounds the shares of margin errors (from above) and of support vectors.

    For every pair of classes, with v_i the row's weight (1 unless given: then 1 / n stands before the sum),

    .. math:: \min_{w,b,\rho,\xi}\; \tfrac12\|w\|^2 - \nu\rho + \frac{1}{\sum_i v_i}\sum_i v_i \xi_i
        \quad\text{s.t.}\quad t_i (w\cdot\phi(x_i) + b) \ge \rho - \xi_i,\; \xi_i \ge 0.

    That is what the certificate is about, for scikit-learn's NuSVC too. The model published is this one divided by rho,
    so that the margin is at 1.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        Where the classes are too unbalanced for it, the largest feasible nu is used, with a warning.
    {shared}
    class_weight : dict, 'balanced' or None, default=None
        scikit-learn's NuSVC ignores it. Here nu first picks the margin rho without it, and with that C; then
        the classes' costs are C times their weights, as in SVC, whose certificate it then has. ``C_`` holds that C, 1 /
        (rho sum(v)), for every pair; where nu leaves (nearly) no margin it is 1000 / (nu sum(v) mean k(x, x)).
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of the decision function beyond two classes.
    probability : bool, default='deprecated'
        True is scikit-learn's spelling of ``calibration='sigmoid'``. The default is its spelling of False.
    break_ties : bool, default=False
        Ties are always broken by the scores; True with shape 'ovo' is an error, as in scikit-learn.
    random_state : int, RandomState or None, default=None
        Seed of the rows that a bounded certificate recomputes, of the folds of a calibration and of random code words.
    fit_intercept : bool, default=True
        False drops b.
    {many_classes}

    Attributes
    ----------
    {attributes}
    {many_attributes}
    coef_ : ndarray of shape (n_tasks, n_features)
        Weights of the features, of the linear kernel.

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
        **SupportVectorClassifier._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    _singles = ()
    _no_single = (
        "nu is the share of margin errors of a two-class problem, and one problem for all classes has no such "
        "parameter; use SVC, or 'ovo', 'ovr' or 'code'"
    )

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
        code_words="one-hot",
        calibration=None,
        scale=False,
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

    def _family(self, data):
        return KernelTasks(self, data) if self.class_weight is None else WeightedNuTasks(self, data)


class WeightedNuTasks(KernelTasks):
    """Tasks of a NuSVC with class weights: nu chooses the margin, rho in LIBSVM's scale, and with it C = 1 / rho.

    Then it is SVC with class weights; its costs are published with the model, whose certificate is about them.
    """

    def _solved(self, reporter, flag):
        machine, data = self.machine, self.data
        first = self._run([Task(*task) for task in machine._problems(data, self.kernel)], None, flag)
        weights, diagonal = data.extra.weights(data), self.kernel.diag(data.X)
        self.costs = np.array([1.0 / self._margin(outcome, diagonal) for outcome in first])
        tasks = zip(data.extra.scheme.tasks(data.extra.label), first, self.costs.tolist(), strict=True)
        return self._run(
            [
                Task(before.delivered.rows, SVCProblem(task.sign, C * weights[task.rows], machine.fit_intercept))
                for task, before, C in tasks
            ],
            reporter,
            flag,
        )

    def _margin(self, outcome: Outcome, diagonal: FloatArray) -> float:
        problem, solution = outcome.delivered.problem, outcome.solution
        least = LEAST_MARGIN * (problem.qp.budget or 0.0) * float(diagonal[outcome.delivered.rows].mean())
        rho = max(problem.offsets(solution.beta, solution.f).rho, least)
        if not rho * float(np.finfo(float).max) > 1.0:  # 1 / rho is out of range
            raise ValueError(
                f"the margin that nu={self.machine.nu} chooses is {rho:.3g}, too small for floating-point numbers: the "
                "rows are all but equal, or tiny; scale the features, for example with "
                "sklearn.preprocessing.StandardScaler, or use SVC, whose C needs no margin"
            )
        return rho

    def write(self, draft, solutions, certificates, reached):
        super().write(draft, solutions, certificates, reached)
        draft.C_ = self.costs
