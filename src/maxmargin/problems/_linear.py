"""Linear models: any loss and penalty (M13), in primal and dual.

    min  P(w) + sum_i C_i L(t_i, f_i),    f_i = x_i . w + b
    max -P*(v) - sum_i C_i L*(t_i, -beta_i / C_i),    v = X' beta,  sum beta = 0 with an intercept

Everything it is asked is a function of the weights, the scores f, the dual variables beta and v = X' beta: the
problem knows no rows, so whoever multiplies with X (a solver, the judge) brings its own products.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.losses import DualForm, Loss, Quadratic
from maxmargin.penalties import Penalty

#: Rounding forgiven in sum beta = 0, relative to sum |beta|.
BALANCED = 1e-12
#: Halvings of the interval in which the best intercept lies.
HALVINGS = 200


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """Targets and costs of the rows, the loss, the penalty, and whether there is an (unpenalised) intercept."""

    loss: Loss
    penalty: Penalty
    target: FloatArray  # (n,)
    C: FloatArray  # (n,) cost of each row, positive
    fit_intercept: bool = True

    @property
    def n(self) -> int:
        return len(self.target)

    def on_rows(self, rows: slice | IntArray) -> LinearProblem:
        """The same problem on some of its rows."""
        return replace(self, target=self.target[rows], C=self.C[rows])

    @cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """(least, largest) beta of every row: where the dual is finite."""
        lowest, highest = self.loss.dual_bounds(self.target)
        return -self.C * highest, -self.C * lowest

    @cached_property
    def form(self) -> DualForm:
        """Cost of beta where the loss is :class:`~maxmargin.losses.Quadratic`.

        C_i L*(-beta / C_i) = -linear beta + ridge/2 beta^2 + eps |beta| within the bounds.
        """
        if not isinstance(self.loss, Quadratic):
            raise TypeError(f"the {self.loss.name} loss has no quadratic dual")
        form = self.loss.dual_form(self.target)
        return DualForm(*self.bounds, form.linear, form.ridge / self.C, form.eps)

    @cached_property
    def idle(self) -> float:
        """Objective of a model that has learned nothing: scores of 0, or for losses of a margin all wrong by 1."""
        scores = -self.target if self.loss.of_margin else np.zeros(self.n)
        return float(self.C @ self.loss.value(self.target, scores))

    @property
    def has_dual(self) -> bool:
        """Whether there are dual points to speak of: without any penalty X' beta must be 0 exactly."""
        return self.penalty.name != "none"

    def primal(self, w: FloatArray, f: FloatArray) -> float:
        """P(w) + sum C_i L(t_i, f_i)."""
        return self.penalty.value(w) + float(self.C @ self.loss.value(self.target, f))

    def dual(self, beta: FloatArray, v: FloatArray) -> float:
        """-P*(v) - sum C_i L*(t_i, -beta_i / C_i): a lower bound on every primal value if beta is feasible."""
        return -self.penalty.conjugate(v) - float(self.C @ self.loss.conjugate(self.target, -beta / self.C))

    def gap(self, w: FloatArray, f: FloatArray, beta: FloatArray, v: FloatArray) -> float:
        """primal - dual of a feasible beta, as a sum of Fenchel-Young terms that are each non-negative."""
        return self.row_gap(f, beta) + self.weight_gap(w, v)

    def weight_gap(self, w: FloatArray, v: FloatArray) -> float:
        """The penalty's share of the gap, P(w) + P*(v) - v . w.

        Without any penalty, where v should be 0, what is left of it counts at the rate of w: an estimate, not a proof.
        """
        if self.has_dual:
            return penalty_gap(self.penalty, w, v)
        return float(np.abs(v) @ np.abs(w)) if w.any() or not v.any() else np.inf

    def row_gap(self, f: FloatArray, beta: FloatArray) -> float:
        """The rows' share of the gap, sum C_i (L(f_i) + L*(u_i) - u_i f_i) with u = -beta / C."""
        return float(self.C @ loss_gap(self.loss, self.target, f, -beta / self.C))

    def slopes(self, f: FloatArray) -> FloatArray:
        """beta = -C L'(f): the dual point that a primal one suggests."""
        return -self.C * self.loss.subgradient(self.target, f)

    def feasible(self, beta: FloatArray) -> FloatArray:
        """beta within its bounds and, with an intercept, balanced.

        The sign that weighs more is scaled down: its rows inside their bounds if that is enough, else all of them.
        """
        lower, upper = self.bounds
        beta = np.clip(beta, lower, upper)
        excess = float(beta.sum())
        if not self.fit_intercept or abs(excess) <= BALANCED * float(np.abs(beta).sum()):
            return beta
        heavy = np.sign(beta) == np.sign(excess)
        inside = heavy & (beta > lower) & (beta < upper)
        rows = inside if abs(float(beta[inside].sum())) > 2 * abs(excess) else heavy
        beta[rows] *= max(0.0, -float(beta[~rows].sum()) / float(beta[rows].sum()))
        return beta

    def imbalance(self, beta: FloatArray) -> float:
        """|sum beta| relative to sum |beta|; 0 without an intercept."""
        total = float(np.abs(beta).sum())
        return abs(float(beta.sum())) / total if self.fit_intercept and total > 0 else 0.0

    def intercept(self, f: FloatArray, start: float = 0.0) -> float:
        """The best b for scores ``f`` without one: a root of the slope of sum C_i L(t_i, f_i + b) in b."""
        if not self.fit_intercept:
            return 0.0

        def slope(b: float) -> float:
            return float(self.C @ self.loss.subgradient(self.target, f + b))

        low, high = _bracket(slope, start)
        for _ in range(HALVINGS):
            middle = low + (high - low) / 2
            if middle in (low, high):
                break
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
        return low + (high - low) / 2


def _bracket(slope, start: float) -> tuple[float, float]:
    """An interval around ``start`` at whose ends an increasing function is negative and not negative."""
    low = high = start
    width = 1.0
    while slope(low) >= 0 and width < 1e300:
        low, width = start - width, 4 * width
    width = 1.0
    while slope(high) < 0 and width < 1e300:
        high, width = start + width, 4 * width
    return low, high


def loss_gap(loss: Loss, t: FloatArray, y: FloatArray, u: FloatArray) -> FloatArray:
    """L(t, y) + L*(t, u) - u y >= 0, without the cancellation of adding these up where that can be had."""
    if not isinstance(loss, Quadratic):
        return np.maximum(loss.value(t, y) + loss.conjugate(t, u) - u * y, 0.0)
    form, best = loss.dual_form(t), Quadratic.subgradient(loss, t, y)
    # the loss is the maximum over u of u (y - linear) - eps |u| - ridge/2 u^2, attained at ``best``
    lost = (best - u) * (y - form.linear - form.ridge / 2 * (best + u)) - form.eps * (np.abs(best) - np.abs(u))
    return np.where(np.isinf(loss.conjugate(t, u)), np.inf, np.maximum(lost, 0.0))


def penalty_gap(penalty: Penalty, w: FloatArray, v: FloatArray) -> float:
    """P(w) + P*(v) - v . w >= 0, term by term where P is a sum over the weights."""
    q, a = penalty.quadratic, penalty.absolute
    if not penalty.separable:
        return max(0.0, penalty.value(w) + penalty.conjugate(v) - float(v @ w))
    inside = np.clip(v, -a, a)
    terms = np.maximum(a * np.abs(w) - inside * w, 0.0)
    if q > 0:
        return float(terms.sum()) + q / 2 * float(np.square(w - (v - inside) / q).sum())
    return float(terms.sum()) + penalty.conjugate(v)
