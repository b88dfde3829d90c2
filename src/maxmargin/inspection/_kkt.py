"""The conditions of optimality, one by one, with what is missing of each (M7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.inspection._training import TrainingTask, read_training

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
    """What is missing of every condition in one task; 0 everywhere is an exact optimum.

    Attributes
    ----------
    task : str
        What the task asks.
    rows : ndarray of shape (n,)
        Its rows.
    stationarity : float
        ||w - sum alpha_i t_i phi(x_i)||; of another penalty than half the squared norm, the distance of that sum from
        its subgradients at w.
    balance : float
        \\|sum alpha_i t_i\\|, the stationarity in b; 0 without an intercept. One-class machines: the sum less what it
        must be.
    primal_feasibility : ndarray of shape (n,)
        max(0, 1 - xi_i - t_i f(x_i)), xi being max(0, 1 - t f), or 0 where no slack is allowed.
    dual_feasibility : ndarray of shape (n,)
        How far alpha_i is outside [0, C_i].
    margin_slackness, slack_slackness : ndarrays of shape (n,)
        \\|alpha_i (t_i f(x_i) - 1 + xi_i)\\| and \\|(C_i - alpha_i) xi_i\\|.
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
    r"""Every condition of optimality (Karush, Kuhn and Tucker) with what is missing of it (M7).

    .. math:: w = \sum_i \alpha_i t_i \phi(x_i), \quad \sum_i \alpha_i t_i = 0, \quad t_i f(x_i) \ge 1 - \xi_i, \quad
        0 \le \alpha_i \le C_i, \quad \alpha_i (t_i f(x_i) - 1 + \xi_i) = 0, \quad (C_i - \alpha_i) \xi_i = 0

    All hold at an optimum and nowhere else. Where :math:`w` is that sum, as in kernel machines, the last two residuals,
    summed over the rows, are the duality gap; where not, half the square of the first comes on top.

    Of a regressor, :math:`t_i` is the side of the tube, and :math:`t_i (y_i - f(x_i)) \le \varepsilon + \xi_i` stands
    in place of the margin; of a one-class machine, :math:`f(x_i) \ge -\xi_i`. Of the squared hinge loss the last two
    conditions are :math:`\alpha_i = 2 C_i \xi_i`, and :math:`2 C_i \xi_i` stands in place of :math:`C_i`. Of nu-SVC,
    :math:`C_i` is the row's weight over rho. scikit-learn's LinearSVC penalises its intercept, and what is missing of
    the balance is what that does.

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
    training = read_training(model, X, y, sample_weight, "kkt", classifier=False)
    return KKT(tuple(_conditions(task) for task in training.tasks))


def _conditions(task: TrainingTask) -> TaskKKT:
    alpha, xi, multiplier = task.alpha, task.xi, task.multiplier
    balance = abs(float(alpha @ task.sign) - task.total) if task.fit_intercept else 0.0
    with np.errstate(invalid="ignore"):
        unpaid = np.where(xi == 0, 0.0, np.abs(multiplier * xi))  # infinity never meets zero in a product
    return TaskKKT(
        task.name,
        task.rows,
        task.off,
        balance,
        np.maximum(task.short - xi, 0.0),
        np.maximum(np.maximum(-alpha, -multiplier), 0.0),
        np.abs(alpha * (xi - task.short)),
        unpaid,
        task.own_dual,
    )
