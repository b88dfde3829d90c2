"""The Lagrangian of the soft margin at a fitted point, between the dual and the primal value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.inspection._training import FittedTask, fitted_tasks
from maxmargin.problems import LinearProblem, SVCProblem

#: Sums of alpha_i t_i, and distances of alpha_i from [0, C_i], that are rounding: relative to sum alpha_i and to C_i.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class TaskLagrangian:
    """One task's Lagrangian at (w, b, xi, alpha, mu), and along the multiples of w and of alpha.

    Attributes
    ----------
    task : str
        What the task asks.
    rows : ndarray of shape (n,)
        Its rows.
    sign, cost, f : ndarrays of shape (n,)
        t_i, C_i and f(x_i) = w.phi(x_i) + b.
    xi : ndarray of shape (n,)
        The smallest slacks that make (w, b, xi) feasible, max(0, 1 - t_i f(x_i)).
    alpha, mu : ndarrays of shape (n,)
        Multipliers of t_i f(x_i) >= 1 - xi_i and of xi_i >= 0, mu = C - alpha.
    intercept, norm, dual_norm : float
        b, ||w|| and ||sum alpha_i t_i phi(x_i)||, which is the same where w is that sum.
    balance : float
        sum alpha_i t_i, the slope of L in b.
    fit_intercept : bool
        Whether there is a b to minimise over.
    """

    task: str
    rows: IntArray
    sign: FloatArray
    cost: FloatArray
    f: FloatArray
    xi: FloatArray
    alpha: FloatArray
    mu: FloatArray
    intercept: float
    norm: float
    dual_norm: float
    balance: float
    fit_intercept: bool

    @property
    def primal(self) -> float:
        """The largest value of L over alpha, mu >= 0, at (w, b, xi): 1/2 ||w||^2 + sum C_i xi_i."""
        return float(self.primal_at(1.0))

    @property
    def dual(self) -> float:
        """The least value of L over (w, b, xi), at (alpha, mu): sum alpha_i - 1/2 ||sum alpha_i t_i phi(x_i)||^2.

        Minus infinity where there is none: if sum alpha_i t_i is not 0, or alpha not between 0 and C, but for rounding.
        """
        return float(self.dual_at(1.0))

    @property
    def value(self) -> float:
        """L(w, b, xi, alpha, mu), term by term."""
        margins = self.alpha @ (self.sign * self.f - 1.0 + self.xi)
        return float(0.5 * self.norm**2 + self.cost @ self.xi - margins - self.mu @ self.xi)

    @property
    def largest_multiple(self) -> float:
        """The largest r for which no r alpha_i is above C_i."""
        used = self.alpha > 0
        return float(np.min(self.cost[used] / self.alpha[used], initial=np.inf))

    def value_at(self, s: Any, r: Any) -> FloatArray:
        """L at (s w, b) and r alpha; xi does not matter, since mu = C - r alpha takes the rest of its price."""
        s, r = np.asarray(s, dtype=np.float64), np.asarray(r, dtype=np.float64)
        return 0.5 * np.square(s * self.norm) + r * (self.alpha.sum() - s * self._cross - self.intercept * self.balance)

    def primal_at(self, s: Any) -> FloatArray:
        """The primal value at (s w, b) with the smallest slacks."""
        s = np.asarray(s, dtype=np.float64)
        short = 1.0 - self.sign * (s[..., None] * (self.f - self.intercept) + self.intercept)
        return 0.5 * np.square(s * self.norm) + np.maximum(short, 0.0) @ self.cost

    def dual_at(self, r: Any) -> FloatArray:
        """The dual value at r alpha, minus infinity where r alpha is not feasible."""
        r = np.asarray(r, dtype=np.float64)
        total = float(np.abs(self.alpha).sum())
        balanced = not self.fit_intercept or abs(self.balance) <= ROUNDING * total
        positive = bool((self.alpha >= -ROUNDING * self.cost).all())
        feasible = (r >= 0) & (r <= (1 + ROUNDING) * self.largest_multiple) & balanced & positive
        return np.where(feasible, r * self.alpha.sum() - 0.5 * np.square(r * self.dual_norm), -np.inf)

    @property
    def _cross(self) -> float:
        """w . sum alpha_i t_i phi(x_i)."""
        return float((self.alpha * self.sign) @ (self.f - self.intercept))

    def __str__(self) -> str:
        return "\n".join(
            [
                self.task,
                f"  min of L over (w, b, xi), the dual value     {self.dual:.9g}",
                f"  L(w, b, xi, alpha, mu)                       {self.value:.9g}",
                f"  max of L over (alpha, mu), the primal value  {self.primal:.9g}",
                f"  {self.dual:.9g} <= max min L <= min max L <= {self.primal:.9g}",
            ]
        )


@dataclass(frozen=True, eq=False)
class Lagrangian:
    """The Lagrangian of every task."""

    tasks: tuple[TaskLagrangian, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.tasks))


def lagrangian(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Lagrangian:
    r"""The Lagrangian of a soft-margin machine at its fitted point, with the values between which it lies.

    .. math:: L(w, b, \xi, \alpha, \mu) = \tfrac12\|w\|^2 + \sum_i C_i\xi_i
        - \sum_i \alpha_i \bigl(t_i f(x_i) - 1 + \xi_i\bigr) - \sum_i \mu_i \xi_i, \qquad \alpha, \mu \ge 0

    Whoever minimises over :math:`(w, b, \xi)` last knows the multipliers, and whoever maximises over
    :math:`(\alpha, \mu)` last knows the point. So, for every point and all multipliers,

    .. math:: \underbrace{\min_{w, b, \xi} L(\cdot, \alpha, \mu)}_{\text{dual value}} \le L(w, b, \xi, \alpha, \mu) \le
        \underbrace{\max_{\alpha, \mu} L(w, b, \xi, \cdot)}_{\text{primal value}},
        \qquad \max_{\alpha, \mu} \min_{w, b, \xi} L \le \min_{w, b, \xi} \max_{\alpha, \mu} L,

    and for this convex problem the last two are equal: the optimum is a saddle, lowest in :math:`(w, b, \xi)` and
    highest in :math:`(\alpha, \mu)`. What a fit leaves open is on either side of :math:`L`:

    .. math:: \text{primal} - L = \sum_i \alpha_i \bigl(t_i f(x_i) - 1 + \xi_i\bigr) + \sum_i \mu_i \xi_i, \qquad
        L - \text{dual} = \tfrac12 \Bigl\| w - \sum_i \alpha_i t_i \phi(x_i) \Bigr\|^2

    which are the complementary slackness and the stationarity of :func:`kkt`. For a kernel machine w is that sum, and L
    is the dual value.

    Parameters
    ----------
    model : fitted classifier
        With the hinge loss, half the squared norm of w as its penalty, and finite C: SVC, LinearSVC, LinearClassifier,
        PegasosSVC, SGDSVC, maxmargin's or scikit-learn's. One that keeps no dual variables is given those that the
        slopes of its losses suggest.
    X, y, sample_weight
        Exactly the training data, in the same order.

    Returns
    -------
    Lagrangian
        ``tasks`` has a :class:`TaskLagrangian` for every two-class task.

    References
    ----------
    Boyd and Vandenberghe 2004, section 5.4; Cortes and Vapnik 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVC
    >>> from maxmargin.inspection import lagrangian
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [3.0], [-1.5]]), np.array([0, 0, 1, 1, 1])
    >>> print(lagrangian(SVC(kernel="linear", C=1.0, gap_tol=1e-12).fit(X, y), X, y))
    1 against 0
      min of L over (w, b, xi), the dual value     2.5555...
      L(w, b, xi, alpha, mu)                       2.5555...
      max of L over (alpha, mu), the primal value  2.5555...
      2.5555... <= max min L <= min max L <= 2.5555...
    """
    training = fitted_tasks(model, X, y, sample_weight, "lagrangian")
    for task in training.tasks:
        _require_soft_margin(model, task)
    return Lagrangian(tuple(_at(task) for task in training.tasks))


def _require_soft_margin(model: Any, task: FittedTask) -> None:
    problem = task.problem
    soft = isinstance(problem, SVCProblem)
    if isinstance(problem, LinearProblem):
        penalty = problem.penalty
        soft = problem.loss.name == "hinge" and penalty.quadratic == 1 and penalty.absolute == 0
    if not soft or not np.isfinite(task.cost).all():
        raise ValueError(
            "lagrangian is about the soft margin, min 1/2 ||w||^2 + sum C_i xi_i with finite C; got "
            f"{type(model).__name__}, whose problem is another; fit SVC or LinearSVC(loss='hinge') with a finite C"
        )


def _at(task: FittedTask) -> TaskLagrangian:
    alpha = np.where(np.abs(task.alpha - task.cost) <= ROUNDING * task.cost, task.cost, task.alpha)
    cross = float((alpha * task.sign) @ (task.f - task.intercept))
    square = task.off**2 - task.norm**2 + 2.0 * cross  # |v|^2 = |w - v|^2 - |w|^2 + 2 w.v
    return TaskLagrangian(
        task.name,
        task.rows,
        task.sign,
        task.cost,
        task.f,
        task.xi,
        alpha,
        task.cost - alpha,
        float(task.intercept),
        task.norm,
        float(np.sqrt(max(square, 0.0))),
        float(alpha @ task.sign),
        task.fit_intercept,
    )
