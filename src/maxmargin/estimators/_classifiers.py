"""Classification: SVC and NuSVC."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators._base import KernelMachine, Training, _dense
from maxmargin.estimators._params import documented
from maxmargin.estimators._run import Outcome
from maxmargin.multiclass import OneVsOne
from maxmargin.problems import HardMarginProblem, NuSVCProblem, SVCProblem


class KernelClassifier(ClassifierMixin, KernelMachine):
    """What the two classifiers share: labels, pairs of classes, decisions."""

    _parameter_constraints: dict = {
        **KernelMachine._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
        "fit_intercept": ["boolean"],
        "multiclass": [StrOptions({"ovo"})],
    }

    def _validate_targets(self, y):
        check_classification_targets(y)
        return y

    def _classes(self, data: Training) -> tuple[Any, Any]:
        """(classes of the rows that count, label of every row; -1 for rows whose class is left out)."""
        classes, label = np.unique(data.y[data.kept], return_inverse=True)
        if len(classes) < 2:
            only = "with positive weights " if len(data.kept) < data.n else ""
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class: "
                f"Invalid input - all samples {only}belong to the same class."
            )
        labels = np.full(data.n, -1)
        labels[data.kept] = label
        return classes, labels

    def _row_weights(self, data: Training, classes, labels):
        """(weight of every kept row including its class's, class weights)."""
        kept_y = data.y[data.kept]
        by_class = compute_class_weight(self.class_weight, classes=classes, y=kept_y, sample_weight=data.weight)
        return data.weight * by_class[labels[data.kept]], by_class

    def _problems(self, data, kernel):
        classes, labels = self._classes(data)
        weight, _ = self._row_weights(data, classes, labels)
        tasks = OneVsOne(len(classes)).tasks(labels[data.kept])
        return [(data.kept[t.rows], self._problem(t.sign, weight[t.rows], kernel, data, data.kept[t.rows])) for t in tasks]

    def _publish(self, data, outcomes: list[Outcome]):
        self.classes_, labels = self._classes(data)
        _, self.class_weight_ = self._row_weights(data, self.classes_, labels)
        scheme = OneVsOne(len(self.classes_))
        kept_labels = labels[data.kept]
        coefs = [outcome.delivered.dual_coef for outcome in outcomes]
        table = scheme.pack(coefs, kept_labels)
        used = np.flatnonzero(np.any(table != 0, axis=0))
        order = used[np.argsort(kept_labels[used], kind="stable")]  # by class, then by row, as LIBSVM does
        self.n_support_ = np.bincount(kept_labels[order], minlength=len(self.classes_)).astype(np.int32)
        self.intercept_ = np.array([outcome.delivered.intercept for outcome in outcomes])
        self.n_iter_ = np.array([outcome.solution.n_iter for outcome in outcomes], dtype=np.int64)
        self._publish_support(data, data.kept[order], table[:, order])

    def _fitted_coefs(self, data, problems):
        classes, labels = self._classes(data)
        if not np.array_equal(classes, self.classes_):
            return [None] * len(problems)
        table = np.zeros((len(classes) - 1, data.n))
        table[:, self.support_] = _dense(self.dual_coef_)
        return list(OneVsOne(len(classes)).unpack(table[:, data.kept], labels[data.kept]))

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
        """Class of every row: the arg-max of the decision function (a score of exactly 0 is ``classes_[0]``)."""
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        scores = self._pair_scores(X)
        if len(self.classes_) == 2:
            return self.classes_[(scores.ravel() > 0).astype(int)]
        return self.classes_[np.argmax(OneVsOne(len(self.classes_)).decide(scores), axis=1)]

    def _linear_weights(self):
        label = np.repeat(np.arange(len(self.classes_)), self.n_support_)
        coef = OneVsOne(len(self.classes_)).per_pair(_dense(self.dual_coef_), label)
        weights = coef.T @ self.support_vectors_
        return sp.csr_array(weights) if sp.issparse(self.dual_coef_) else np.asarray(weights)


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
    break_ties : bool, default=False
        Ties are always broken by the scores; True with shape 'ovo' is an error, as in scikit-learn.
    random_state : int, RandomState or None, default=None
        Seed of the rows that a bounded certificate recomputes.
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
    0.98
    >>> model.certificate_.holds, bool(model.certificate_.relative_gap < 1e-8)
    (True, True)
    """

    _parameter_constraints: dict = {
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

    def _problem(self, sign, weight, kernel, data, rows):
        if np.isinf(self.C):
            scale = float(kernel.diag(data.X)[rows].max())
            return HardMarginProblem(sign, scale, self.fit_intercept)
        return SVCProblem(sign, self.C * weight, self.fit_intercept)


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
        Too large a nu for the balance of the classes is an error.
    {shared}
    class_weight : dict, 'balanced' or None, default=None
        Factor of the cost v_i for each class (scikit-learn's NuSVC ignores it). Where nu is not feasible with it, the
        largest feasible nu is used, with a warning.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of the decision function beyond two classes.
    break_ties : bool, default=False
        Ties are always broken by the scores; True with shape 'ovo' is an error, as in scikit-learn.
    random_state : int, RandomState or None, default=None
        Seed of the rows that a bounded certificate recomputes.
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
    0.98
    """

    _parameter_constraints: dict = {
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

    def _problem(self, sign, weight, kernel, data, rows):
        problem = NuSVCProblem(sign, weight, float(self.nu), self.fit_intercept)
        if self.nu > problem.largest_nu:
            message = (
                f"specified nu is infeasible: nu={self.nu} asks for more than the lighter class has; "
                f"the largest nu these classes allow is {problem.largest_nu:.6g}"
            )
            if self.class_weight is None:
                raise ValueError(message)
            warnings.warn(f"{message}, which is used", UserWarning, stacklevel=2)
        return problem
