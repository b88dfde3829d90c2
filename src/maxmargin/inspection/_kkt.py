"""The conditions of optimality, one by one, each with its residual.

See "Conditions of optimality" in ``docs/theory.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.inspection._training import FittedTask, fitted_tasks

#: The conditions, and how they are written.
CONDITIONS = {
    "stationarity": "w = sum alpha_i t_i phi(x_i)",
    "balance": "sum alpha_i t_i = 0",
    "primal_feasibility": "t_i f(x_i) >= 1 - xi_i",
    "dual_feasibility": "0 <= alpha_i <= C_i",
    "margin_slackness": "alpha_i (t_i f(x_i) - 1 + xi_i) = 0",
    "slack_slackness": "(C_i - alpha_i) xi_i = 0",
}


@dataclass(frozen=True, eq=False)
class TaskKKT:
    """The residual of every condition in one task; an exact optimum has 0 everywhere.

    Attributes
    ----------
    task : str
        What the task asks.
    rows : ndarray of shape (n,)
        Its rows.
    stationarity : float
        ||w - sum alpha_i t_i phi(x_i)||; for penalties other than half the squared norm, the distance of that sum from
        the penalty's subgradients at w.
    balance : float
        \\|sum alpha_i t_i\\|, the stationarity in b; 0 without an intercept. For one-class machines, the sum minus its
        prescribed value.
    primal_feasibility : ndarray of shape (n,)
        max(0, 1 - xi_i - t_i f(x_i)), xi being max(0, 1 - t f), or 0 where no slack is allowed.
    dual_feasibility : ndarray of shape (n,)
        How far alpha_i is outside [0, C_i]; where the square of xi is paid for, how far below 0.
    margin_slackness, slack_slackness : ndarrays of shape (n,)
        \\|alpha_i (t_i f(x_i) - 1 + xi_i)\\| and \\|(C_i - alpha_i) xi_i\\|; where the square of xi is paid for, the
        second is (2 C_i xi_i - alpha_i)^2 / (4 C_i).
    tolerance : ndarray of shape (n,)
        How near to its margin a row counts as on it, see :func:`tolerance`; residuals of the margins up to this size
        are what the fit or float64 left open.
    own_dual : bool
        Whether the model keeps dual variables; if not, alpha is what the slopes of its losses suggest.
    """

    task: str
    rows: IntArray
    stationarity: float
    balance: float
    primal_feasibility: FloatArray
    dual_feasibility: FloatArray
    margin_slackness: FloatArray
    slack_slackness: FloatArray
    tolerance: FloatArray
    own_dual: bool = True

    @property
    def worst(self) -> dict[str, float]:
        """The largest residual of every condition."""
        return {name: float(np.max(getattr(self, name), initial=0.0)) for name in CONDITIONS}

    def __str__(self) -> str:
        made = "" if self.own_dual else " (the model keeps no alpha: taken from the slopes of its losses)"
        lines = [f"  {CONDITIONS[name]:<38} {value:.2e}" for name, value in self.worst.items()]
        return "\n".join([f"{self.task}{made}", *lines])


@dataclass(frozen=True, eq=False)
class KKT:
    """The conditions of every task."""

    tasks: tuple[TaskKKT, ...]

    @property
    def worst(self) -> dict[str, float]:
        """The largest residual of every condition over all tasks."""
        return {name: max(task.worst[name] for task in self.tasks) for name in CONDITIONS}

    def __str__(self) -> str:
        return "\n".join(map(str, self.tasks))


def kkt(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> KKT:
    r"""Every condition of optimality (Karush, Kuhn and Tucker) with its residual.

    .. math:: w = \sum_i \alpha_i t_i \phi(x_i), \quad \sum_i \alpha_i t_i = 0, \quad t_i f(x_i) \ge 1 - \xi_i, \quad
        0 \le \alpha_i \le C_i, \quad \alpha_i (t_i f(x_i) - 1 + \xi_i) = 0, \quad (C_i - \alpha_i) \xi_i = 0

    All hold at an optimum and nowhere else. The last two residuals, summed over the rows, are the rows' share of the
    duality gap, if the model has a feasible dual point of its own. The certificate's ``gap`` may have further terms:

    =====================================  =============================================================================
    machine                                its gap is that sum
    =====================================  =============================================================================
    SVC, SVR, OneClassSVM, SVDD            alone
    linear machines, penalty 'l2'          and half the square of ``stationarity``: w is not quite the sum over the rows
    linear machines, other penalties       and :math:`P(w) + P^*(v) - v\cdot w` with the sum :math:`v` in place of w
    NuSVR                                  and :math:`\varepsilon (\nu \sum_i C_i - \sum_i \alpha_i)`, what is not spent
    NuSVC                                  times :math:`\rho^2`, by which the published model was divided;
                                           :math:`\rho = \nu / \sum_i \alpha_i`; less where another rho is better
    SVC with C = inf                       of the model divided by its least margin m, and
                                           :math:`\tfrac12 (1/m - 1)^2 \|w\|^2`
    =====================================  =============================================================================

    For a regressor, :math:`t_i` is the side of the tube, and :math:`t_i (y_i - f(x_i)) \le \varepsilon + \xi_i` takes
    the place of the margin; for a one-class machine, :math:`f(x_i) \ge -\xi_i` does. Where the square of :math:`\xi` is
    paid for, the last condition is :math:`\alpha_i = 2 C_i \xi_i`, and its residual
    :math:`(2 C_i \xi_i - \alpha_i)^2 / (4 C_i)`, which is what missing it costs. For nu-SVC, :math:`C_i` is the row's
    weight over rho. scikit-learn's LinearSVC penalises its intercept, which shows as a residual of the balance.

    Parameters
    ----------
    model : fitted model
        A classifier, a regressor or a one-class machine, maxmargin's or scikit-learn's. One that keeps no dual
        variables is given those that the slopes of its losses suggest.
    X, y, sample_weight
        Exactly the training data, in the same order.

    Returns
    -------
    KKT
        ``print`` shows the worst residual of every condition.

    References
    ----------
    Karush 1939; Kuhn and Tucker 1951.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> from maxmargin.inspection import kkt
    >>> X, y = load_iris(return_X_y=True)
    >>> found = kkt(SVC(gap_tol=1e-12).fit(X, y), X, y)
    >>> len(found.tasks), max(found.worst.values()) < 1e-9
    (3, True)
    """
    training = fitted_tasks(model, X, y, sample_weight, "kkt", classifier=False)
    return KKT(tuple(_conditions(task) for task in training.tasks))


def _conditions(task: FittedTask) -> TaskKKT:
    alpha, xi, multiplier = task.alpha, task.xi, task.multiplier
    balance = abs(float(alpha @ task.sign) - task.total) if task.fit_intercept else 0.0
    unpaid: FloatArray
    beyond: FloatArray
    if task.squared:
        unpaid, beyond = np.square(multiplier) / (4.0 * task.cost), np.zeros(len(alpha))
    else:
        beyond = -multiplier
        with np.errstate(invalid="ignore"):
            unpaid = np.where(xi == 0, 0.0, np.abs(multiplier * xi))  # no product of infinity and 0
    return TaskKKT(
        task.name,
        task.rows,
        task.off,
        balance,
        np.maximum(task.short - xi, 0.0),
        np.maximum(np.maximum(-alpha, beyond), 0.0),
        np.abs(alpha * (xi - task.short)),
        unpaid,
        np.broadcast_to(task.tol, alpha.shape),
        task.own_dual,
    )
