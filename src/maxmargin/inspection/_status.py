"""What every training row is to its machine, and the table of the support vectors.

See "Status of a training row" in ``docs/theory.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.inspection._model import squeezed
from maxmargin.inspection._training import FittedTask, FittedTasks, fitted_tasks, is_one_class

#: What a training row can be at an optimum, and last what it can be at none.
STATUSES = (
    "not a support vector",
    "on the margin",
    "bound, on the margin",
    "inside the strip",
    "on the hyperplane",
    "misclassified",
    "not optimal",
)
#: The status of bound support vectors of a regressor (beyond its tube) or a one-class machine.
OUTSIDE = "outside"
#: Dual variables within this relative distance of C count as C: float32 and rescaling tell no more. Those this small
#: relative to C and to the largest may be what a solver has left of 0.
AT_BOUND = 1e-6
COLUMNS = ("row", "class", "alpha", "slack", "margin", "status", "bound", "influence", "multiplier", "task")


@dataclass(frozen=True, eq=False)
class Statuses:
    """Training rows as a machine sees them: arrays of shape (n,), or (n, n_tasks) with more than one task.

    Attributes
    ----------
    status : ndarray of str
        One of ``names``; '' where a row has no part in a task.
    alpha, slack : ndarrays
        The dual variable and xi, nan where a row has no part in a task.
    bound : ndarray of bool
        Whether alpha is at its largest value.
    multiplier : ndarray
        The multiplier of xi >= 0: C - alpha (2 C xi - alpha where the square of xi is paid for; inf where none is
        allowed).
    tasks : tuple of str
        What every task asks.
    names : tuple of str
        What rows can be: :data:`STATUSES`, or those of a regressor or one-class machine.
    tol : ndarray
        How near counts as equal, nan where a row has no part in a task.
    """

    status: Array
    alpha: FloatArray
    slack: FloatArray
    bound: Array
    multiplier: FloatArray
    tasks: tuple[str, ...]
    names: tuple[str, ...]
    tol: FloatArray

    def counts(self) -> dict[str, int]:
        """How many rows, of all tasks together, have each status."""
        return {name: int(np.count_nonzero(self.status == name)) for name in self.names}

    def __str__(self) -> str:
        return "\n".join(f"{name}: {number}" for name, number in self.counts().items())


def status(model: Any, X: Any, y: Any = None, sample_weight: Any = None, tol: float | None = None) -> Statuses:
    r"""What every training row is to its machine, from its dual variable and its slack.

    =======================  =====================  =====================================================
    alpha_i                  xi_i                   status
    =======================  =====================  =====================================================
    0                        0                      'not a support vector'
    between 0 and C_i        0                      'on the margin': an unbound support vector
    C_i                      0                      'bound, on the margin'
    C_i                      between 0 and 1        'inside the strip': a margin error
    C_i                      1                      'on the hyperplane'
    C_i                      above 1                'misclassified': a training error
    any other pair                                  'not optimal'
    =======================  =====================  =====================================================

    With the squared hinge loss no alpha is bound: a row that falls short has alpha_i = 2 C_i xi_i, which takes the
    place of C_i above. For nu-SVC, C_i is the row's weight over rho.

    With Crammer and Singer's machine a row has one alpha_i and one xi_i, of its class against the best other; with
    Weston and Watkins' it has one of each for every other class, and these are the tasks. A row of a regressor is on
    the margin where it is on the tube, a row of a one-class machine where f = 0; beyond, both are 'outside'.

    Parameters
    ----------
    model : fitted model
        A classifier, a regressor or a one-class machine, maxmargin's or scikit-learn's. One that keeps no dual
        variables (scikit-learn's LinearSVC) is given those that the slopes of its losses suggest, 2 C_i xi_i for the
        squared hinge.
    X, y, sample_weight
        Exactly the training data, in the same order.
    tol : float, optional
        Slacks and margins within this of 0 and 1 are equal to them. By default what the fit and float64 can tell apart,
        see :func:`tolerance`. (A dual variable within a millionth of C is at C. One that is not 0 makes its row a
        support vector, unless it is below a millionth of C and of the largest while its row is not on the margin.)

    Returns
    -------
    Statuses

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVC
    >>> from maxmargin.inspection import status
    >>> X, y = np.array([[0.0], [1.0], [3.0], [4.0], [3.5]]), np.array([0, 0, 1, 1, 0])
    >>> found = status(SVC(kernel="linear", C=1.0).fit(X, y), X, y)
    >>> found.status.tolist()
    ['not a support vector', 'on the margin', 'inside the strip', 'on the margin', 'misclassified']
    """
    training = fitted_tasks(model, X, y, sample_weight, "status", classifier=False, single=True, tol=tol)
    codes = training.spread([_codes(task) for task in training.tasks], len(STATUSES))
    names = status_names(training.tasks[0])
    return Statuses(
        squeezed(np.array([*names, ""])[codes]),
        squeezed(training.spread([task.alpha for task in training.tasks], np.nan)),
        squeezed(training.spread([task.xi for task in training.tasks], np.nan)),
        squeezed(training.spread([at_bounds(task)[1] for task in training.tasks], False)),
        squeezed(training.spread([task.multiplier for task in training.tasks], np.nan)),
        tuple(task.name for task in training.tasks),
        STATUSES if training.tasks[0].classifies else tuple(names[[0, 1, 2, 3, 6]].tolist()),
        squeezed(training.spread([task.tol for task in training.tasks], np.nan)),
    )


def status_names(task: FittedTask) -> Array:
    """:data:`STATUSES`, in which rows with slack are 'outside' where there are no classes."""
    names = np.array(STATUSES)
    if not task.classifies:
        names[3] = OUTSIDE
    return names


def at_bounds(task: FittedTask) -> tuple[Array, Array]:
    """(alpha = 0, alpha = C) of every row, but for rounding.

    The size of alpha says nothing by itself: it falls as rows get longer, and a large C does not limit it. A small one
    is taken for 0 where its row is away from the margin, on which every support vector with an alpha between 0 and C
    lies.
    """
    largest = np.minimum(task.upper, float(task.alpha.max(initial=0.0)))
    idle = (task.alpha <= 0) | ((task.alpha <= AT_BOUND * largest) & (np.abs(task.short) > task.tol))
    with np.errstate(invalid="ignore"):  # without an upper bound
        return idle, np.isfinite(task.upper) & (task.alpha >= task.upper - AT_BOUND * task.upper)


def _codes(task: FittedTask) -> IntArray:
    """The index in STATUSES of every row; for regressors and one-class machines all rows with slack share one."""
    idle, bound = at_bounds(task)
    short, tol = task.short, task.tol
    met, on_margin = short <= tol, np.abs(short) <= tol
    if task.squared:  # alpha = 2 C xi is what 'bound' is elsewhere
        bound = ~idle & (np.abs(task.multiplier) <= np.maximum(2.0 * task.cost * tol, AT_BOUND * task.alpha))
        cases = [idle & met, ~bound, on_margin]
        names = [0, 6, 1]
    else:
        free = ~idle & ~bound
        cases = [idle & met, idle, free & on_margin, free, short < -tol, on_margin]
        names = [0, 6, 1, 6, 6, 2]
    if not task.classifies:
        return np.select(cases, names, 3)
    cases += [np.abs(short - 1.0) <= tol, short < 1.0]
    return np.select(cases, [*names, 4, 3], 5)


def support_table(
    model: Any, X: Any, y: Any = None, sample_weight: Any = None, tol: float | None = None, all_rows: bool = False
) -> Any:
    r"""The support vectors of a fitted model as a pandas DataFrame, with a row for each in each of its tasks.

    =============  ====================================================================================================
    column         holds
    =============  ====================================================================================================
    row            the number of the training row
    class          its class; for a regressor its target, for a one-class machine nothing (None)
    alpha          its dual variable
    slack          xi
    margin         t f(x); for a regressor what is left of the tube, for a one-class machine f(x)
    status         as in :func:`status`; for regressors and one-class machines, rows with slack are 'outside'
    bound          whether alpha is at its largest value
    influence      alpha ||phi(x)|| / ||w||
    multiplier     that of xi >= 0, C - alpha
    task           what the task asks
    =============  ====================================================================================================

    The **influence** is the length of the row's own term in :math:`w = \sum_i \alpha_i t_i \phi(x_i)`, relative to w,

    .. math:: \frac{\alpha_i \sqrt{k(x_i, x_i)}}{\|w\|},

    so that removing the term changes no score f(x) by more than the influence times :math:`\|w\| \|\phi(x)\|`, the
    largest value that the score without intercept can have. The influences of all rows sum to at least 1.

    Parameters
    ----------
    model : fitted model
        A classifier, a regressor or a one-class machine, maxmargin's or scikit-learn's.
    X, y, sample_weight
        Exactly the training data, in the same order.
    tol : float, optional
        As in :func:`status`.
    all_rows : bool, default=False
        Whether rows with alpha = 0 are listed too.

    Returns
    -------
    pandas.DataFrame
        Sorted by task, and within it by decreasing influence.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVC
    >>> from maxmargin.inspection import support_table
    >>> X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> table = support_table(SVC(kernel="linear", C=np.inf).fit(X, y), X, y)
    >>> table[["row", "class", "alpha", "status", "influence"]].round(3)
       row  class  alpha         status  influence
    0    2      1    0.5  on the margin        1.5
    1    1      0    0.5  on the margin        0.5
    """
    pd = _pandas()
    training = fitted_tasks(model, X, y, sample_weight, "support_table", classifier=False, tol=tol)
    parts = [pd.DataFrame(_lines(training, task, y, all_rows)) for task in training.tasks]
    return pd.concat(parts, ignore_index=True)[list(COLUMNS)]


def _lines(training: FittedTasks, task: FittedTask, y: Any, all_rows: bool) -> dict[str, Any]:
    influence = influences(training, task)
    chosen = np.arange(len(task.rows)) if all_rows else np.flatnonzero(task.alpha != 0)
    chosen = chosen[np.argsort(-influence[chosen], kind="stable")]
    rows, names = task.rows[chosen], status_names(task)
    return {
        "row": rows,
        "class": [None] * len(rows) if is_one_class(task) else np.asarray(y)[rows],
        "alpha": task.alpha[chosen],
        "slack": task.xi[chosen],
        "margin": task.margin[chosen],
        "status": names[_codes(task)[chosen]],
        "bound": at_bounds(task)[1][chosen],
        "influence": influence[chosen],
        "multiplier": task.multiplier[chosen],
        "task": task.name,
    }


def influences(training: FittedTasks, task: FittedTask) -> FloatArray:
    """alpha ||phi|| / ||w||, 0 where alpha is 0."""
    used, found = np.flatnonzero(task.alpha), np.zeros(len(task.alpha))
    lengths = np.sqrt(np.maximum(training.diagonal(task.at[used]), 0.0))
    with np.errstate(divide="ignore"):
        found[used] = np.abs(task.alpha[used]) * lengths / task.norm
    return found


def _pandas() -> Any:
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "support_table returns a pandas DataFrame, and pandas is not installed; install it, or use status(), which "
            "has the same numbers as arrays"
        ) from error
    return pd
