"""The docstrings of the parameters and attributes that the stochastic machines share, written once."""

from __future__ import annotations

from typing import Any

from maxmargin.estimators._params import document_classes, fill_docstring

BATCH = """batch_size : int, default=1
    Rows in a step; the last batch of a pass may be smaller.
order : {'shuffle', 'draw', 'given'}, default='shuffle'
    'shuffle' visits every row once in each pass, in random order, which is more accurate than to 'draw' rows
    independently; 'given' takes them as they come. With the first two neither the order of the rows nor copies of
    them in place of whole weights make any difference. Weights that are not whole numbers decide how often a row
    is visited."""

SHARED = """{many_classes}
class_weight : dict, 'balanced' or None, default=None
    Factor of the loss for each class; 'balanced' uses the (weighted) class counts.
scale : bool, default=False
    Centre every feature (not of sparse rows) and divide it by its weighted standard deviation first. The model
    remembers: it takes unscaled rows, and ``coef_`` belongs to these.
time_limit : float or None, default=None
    Seconds after which the fit ends with what it has; all tasks and folds share them. A proof that they leave no time
    for is not made, and the certificate says so.
certify : bool or 'sample', default=True
    Whether to publish a certificate, computed from all rows in float64. 'sample' judges 5,000 rows drawn at random
    instead, so that a fit costs one look at the rows and its steps: the certificate is then an estimate (``method``
    'estimated') and never holds. Without a full one ``dual_coef_`` is what the steps have left, made feasible.
n_jobs : int or None, default=None
    Threads; classes are fitted side by side. None: all cores, or one inside a worker of joblib's.
warm_start : bool, default=False
    Start from the last fit, if the data have the same shape. If the problem is the same (rows, classes, weights and
    lam) it goes on, with the next step of the same rate; if not, from the best multiple of the last weights with the
    first step.
verbose : bool or int, default=0
    Show a progress line: the relative gap against time.
random_state : int, RandomState or None, default=None
    Seed of the order in which rows are visited, of a calibration's folds and of random code words; None is 0."""

ATTRIBUTES = """coef_, intercept_, n_features_in_
    As in scikit-learn.
{many_attributes}
certificate_ : Certificate
    How far from optimal the fit stopped, proven (estimated with ``certify='sample'``); the worst over the tasks. The
    dual point is made of the steps that the rows have caused. None of these after ``partial_fit``: the rows of earlier
    chunks are gone.
certificates_ : list of Certificate
    One per task.
support_, dual_coef_ : ndarrays
    Rows with a dual variable that is not 0, and their dual variables, (n_tasks, n_support).
margin_ : ndarray of shape (n_tasks,)
    1 / ||w||: the distance from the boundary to the margin, in the units the problem was solved in.
C_ : float
    Cost of a row of weight 1 in 1/2 ||w||^2 + C sum of losses: 1 / (n lam), n being the sum of the weights.
n_iter_ : int
    Passes, epochs or seasons made; a chunk of ``partial_fit`` counts as one.
t_ : int
    Number of the last step (``offset`` included).
chunks_ : int
    Calls to ``partial_fit``.
history_ : structured array
    {history}
center_, scale_ : ndarrays
    What ``scale=True`` subtracted and divided by."""

PEGASOS_HISTORY = """task, iteration (passes), seconds, primal, dual and gap whenever the gap was looked at: at the end
for a full certificate, and on the way for ``tol``."""
SGD_HISTORY = """task, season (or epoch), steps, eta, error (on the held-out rows; nan without) and objective (on at
most 10,000 of the rows) after every season."""


def documented_stochastic(cls: Any) -> Any:
    """Fill {batch}, {shared} and {attributes} in a class's docstring."""
    history = SGD_HISTORY if cls.__name__ == "SGDSVC" else PEGASOS_HISTORY
    fill_docstring(cls, batch=BATCH, shared=SHARED, attributes=ATTRIBUTES)
    return document_classes(fill_docstring(cls, history=history))
