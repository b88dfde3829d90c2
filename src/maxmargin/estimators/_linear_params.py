"""The docstring of the parameters that all linear machines share, written once."""

from __future__ import annotations

from typing import Any

from maxmargin.estimators._params import document_classes, fill_docstring

SHARED = """tol : float, default=1e-4
    Goal: the relative duality gap.
fit_intercept : bool, default=True
    Whether there is an intercept; it is never penalised.
scale : bool, default=False
    Centre every feature (not of sparse rows) and divide it by its weighted standard deviation first. The model
    remembers: it takes unscaled rows, and ``coef_`` belongs to these.
solver : {'auto', 'newton', 'dual-coordinate', 'primal-dual', 'subgradient'}, default='auto'
    'newton' is semismooth Newton inside the method of multipliers, 'dual-coordinate' coordinate descent in the dual
    for sparse rows of many features, 'primal-dual' takes any penalty, 'subgradient' is the textbook's batch method.
    'auto' picks by the shape of X, the loss and the penalty.
max_iter : int, default=1000
    Most Newton steps, epochs of coordinate descent or rounds of 20 primal-dual steps; -1 for no limit.
time_limit : float or None, default=None
    Seconds after which the fit ends with what it has; all tasks and folds share them. A proof that they leave no time
    for is not made, and the certificate says so.
certify : bool, default=True
    Whether to publish a certificate, computed from the data in float64.
n_jobs : int or None, default=None
    Threads. None: all cores, or one inside a worker of joblib's.
warm_start : bool, default=False
    Start from the last fit, if the data have the same shape.
verbose : bool or int, default=0
    Show a progress line: the relative gap against time.
random_state : int, RandomState or None, default=None
    Seed of the order in which coordinate descent visits the rows, and of the folds of a calibration."""

ATTRIBUTES = """coef_, intercept_, n_iter_, n_features_in_
    As in scikit-learn.
certificate_ : Certificate
    Proof of optimality; the worst over the tasks. See :class:`maxmargin.certificates.Certificate`.
certificates_ : list of Certificate
    One per task.
history_ : structured array
    task, iteration, seconds, primal, dual and gap after every round.
support_ : ndarray
    Rows that decide: those with a dual variable that is not 0.
dual_coef_ : ndarray of shape (n_tasks, n_support)
    Their dual variables beta; with the penalty 'l2', coef_ is the sum of beta_i x_i up to the gap.
margin_ : ndarray of shape (n_tasks,)
    1 / ||w||: the distance from the boundary to the margin, in the units the problem was solved in.
C_ : float
    Cost of a row of weight 1.
center_, scale_ : ndarrays
    What ``scale=True`` subtracted and divided by."""


def documented_linear(cls: Any) -> Any:
    """Fill {shared} and {attributes} in a class's docstring."""
    return document_classes(fill_docstring(cls, shared=SHARED, attributes=ATTRIBUTES))
