"""LSSVC: the least-squares support vector classifier."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from maxmargin.estimators._base import KernelTasks
from maxmargin.estimators._kernel_classifier import KernelClassifier
from maxmargin.estimators._lssvc_solve import left_out_scores, solve_tasks, without_folds
from maxmargin.estimators._params import document_classes, document_kernel

#: Parameters of the machines whose solver iterates, which this one has no use for.
OTHERS = ("shrinking", "gap_tol", "time_limit", "warm_start")


@document_classes
@document_kernel
class LSSVC(KernelClassifier):
    r"""Least-squares support vector classifier: a linear system instead of a quadratic programme, with its proof.

    For two classes with signs t_i, and C_i = C * class weight * sample weight,

    .. math:: \min_{w,b}\; \tfrac12\|w\|^2 + \sum_i \tfrac{C_i}{2} \big(1 - t_i (w\cdot\phi(x_i) + b)\big)^2,

    whose optimum :math:`w = \sum_i \beta_i\, \phi(x_i)` solves :math:`(K + \mathrm{diag}(1/C))\beta + b = t`,
    :math:`\sum_i \beta_i = 0`. Every row is a support vector. Machines of the same rows (one-vs-all, code words) share
    one factorisation, and machines without some rows, for calibrations and leave-one-out, are had in closed form.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the squared errors; finite.
    kernel : str, Kernel or callable, default='rbf'
        As in :class:`~maxmargin.SVC`. Of one that is not positive semi-definite the solution is a stationary point,
        and the certificate does not hold; where K + diag(1/C) is singular it is an error.
    {kernel_options}
    class_weight : dict, 'balanced' or None, default=None
        Factor of C for each class; 'balanced' uses the (weighted) class counts.
    fit_intercept : bool, default=True
        False drops b.
    {many_classes}
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Shape of the decision function beyond two classes; 'ovo' needs ``multiclass='ovo'``.
    leave_one_out : bool, default=False
        Whether to publish ``loo_decision_`` (closed form only).
    solver : {'auto', 'cholesky', 'cg'}, default='auto'
        'cholesky' is the closed form. 'cg', conjugate gradients with a Nystroem preconditioner, stores no matrix.
        'auto' takes it where a task has more than 12,000 rows, or matrices that do not fit.
    tol : float, default=1e-6
        Relative residual at which conjugate gradients end; a closed form that rounding leaves with more warns.
    max_iter : int, default=200
        Most of their steps.
    cache_size : 'auto' or float, default='auto'
        Most megabytes for the closed form's matrices: 24e-6 times the square of a task's rows, for each task solved
        at the same time. 'auto' is half of the free memory.
    certify : {'auto', 'full', False}, default='auto'
        'full' recomputes every score from the data; 'auto' does so where it is cheap and bounds the error otherwise;
        False publishes no certificate.
    device : {'auto', 'cpu'}, default='auto'
        Where to compute.
    n_jobs : int or None, default=None
        Threads. None: all cores, or one inside a worker of joblib's.
    verbose : bool or int, default=False
        Show a progress line.
    random_state : int, RandomState or None, default=None
        Seed of the preconditioner's landmarks, of the rows that a bounded certificate recomputes, of the folds of a
        calibration and of random code words.
    {scale}

    Attributes
    ----------
    {many_attributes}
    dual_coef_ : ndarray of shape (n_tasks, n_rows)
        beta; of all pairs, more than two classes, in LIBSVM's layout as in :class:`~maxmargin.SVC`.
    loo_decision_ : ndarray of shape (n_samples,) or of the decision function's
        With ``leave_one_out=True``: the decision function on every training row by the machines fitted without it
        (whatever its weight). Rows of weight 0: nan.
    residual_ : float
        Largest relative residual of the linear systems: what is left to solve.
    certificate_ : Certificate
        Proof of optimality; the worst over the tasks. See :class:`maxmargin.certificates.Certificate`.
    certificates_ : list of Certificate
        One per task.
    history_ : structured array
        task, iteration, seconds, primal, dual and gap at the end.
    kernel_ : Kernel
        The kernel used, with its width.
    n_iter_ : ndarray of shape (n_tasks,)
        Steps of conjugate gradients; 1 for the closed form.
    coef_ : ndarray of shape (n_tasks, n_features)
        Weights of the features, of the linear kernel.
    support_, support_vectors_, intercept_, n_support_, fit_status_, shape_fit_
        As in :class:`~maxmargin.SVC`.
    {scaling}

    References
    ----------
    Suykens and Vandewalle 1999; Cawley and Talbot 2004 (leave-one-out).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LSSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LSSVC(C=10, leave_one_out=True).fit(X, y)
    >>> round(model.score(X, y), 2), round(float(np.mean(model.loo_decision_.argmax(axis=1) == y)), 2)
    (0.99, 0.98)
    >>> model.certificate_.holds, bool(model.certificate_.relative_gap < 1e-12)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: rule for name, rule in KernelClassifier._parameter_constraints.items() if name not in OTHERS},
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "leave_one_out": ["boolean"],
        "solver": [StrOptions({"auto", "cholesky", "cg"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    _singles = ()
    _no_single = (
        "least squares on one-hot targets, as one problem for all classes, falls apart into one machine per class, "
        "which is 'ovr'; use 'ovr', 'ovo' or 'code'"
    )

    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        class_weight=None,
        fit_intercept=True,
        multiclass="ovr",
        code_words="one-hot",
        calibration=None,
        decision_function_shape="ovr",
        leave_one_out=False,
        solver="auto",
        tol=1e-6,
        max_iter=200,
        cache_size="auto",
        certify="auto",
        device="auto",
        n_jobs=None,
        verbose=False,
        random_state=None,
        scale=False,
    ):
        self._store(locals())

    def _write(self, data, outcomes):
        super()._write(data, outcomes)
        self.residual_ = max(outcome.residual for outcome in outcomes)
        if self.leave_one_out:
            decided = self._decisions(left_out_scores(self, data, outcomes))
            self.loo_decision_ = np.full((data.n, *decided.shape[1:]), np.nan)
            self.loo_decision_[data.kept] = decided

    def _family(self, data):
        return LeastSquaresTasks(self, data)


class LeastSquaresTasks(KernelTasks):
    """Tasks of an LSSVC, whose folds came with their solutions."""

    def goal(self):
        return None  # tol is about the residual of the linear system

    def solve(self, reporter):
        self.tabulate()
        machine, data = self.machine, self.data
        number = None if machine._wanted_calibration is None else machine._new_folds(self.given)
        return solve_tasks(machine, data, self.kernel, reporter, number)

    def folds(self, draft, solutions, number):
        return without_folds(self.data, solutions)
