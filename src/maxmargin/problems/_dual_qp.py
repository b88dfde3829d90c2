r"""The one quadratic programme to which every kernel machine lowers.

.. math::
    \min_\beta \tfrac12 \beta' K \beta + p'\beta + \varepsilon\|\beta\|_1
    \quad\text{s.t.}\quad l \le \beta \le u,\;\; l \le 0 \le u,

together with, where the machine asks for it,

* **balance** (the machine has an intercept): ``sum(beta) = total``;
* **budget** (nu machines, hard margin): ``sum(|beta|) = budget``, or ``<= budget`` when ``budget_is_bound``.

Because zero always lies in the box, ``|beta|`` is linear on each side of 0 and a budget splits the
variables into two sides, the positive and the negative ones: moving weight inside a side keeps both
sums. That is all a solver needs to know to run nu-SVC, nu-SVR and the nearest points of two hulls with
n variables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._types import FloatArray, IntArray

#: Relative slack allowed in the equality constraints before a point counts as infeasible.
FEASIBILITY_TOL = 1e-9
#: Values within this relative distance of a bound count as on it.
AT_BOUND = 1e-12
#: Values this near a bound, or 0, beside the largest one are what rounding has left of it.
RESIDUE = 2.0**-50


@dataclass(frozen=True)
class DualQP:
    """Data of the quadratic programme above; ``K`` is known to the back end alone."""

    linear: FloatArray  # (n,) p
    lower: FloatArray  # (n,) <= 0
    upper: FloatArray  # (n,) >= 0
    epsilon: float = 0.0
    balance: bool = True
    total: float = 0.0
    budget: float | None = None
    budget_is_bound: bool = False

    @property
    def n(self) -> int:
        return len(self.linear)

    def objective(self, beta: FloatArray, f: FloatArray) -> float:
        """Value at ``beta`` whose scores are ``f = K beta``."""
        return float(0.5 * beta @ f + self.linear @ beta + self.epsilon * np.abs(beta).sum())

    def start(self) -> FloatArray:
        """A feasible point: zero where that is allowed, else the first rows are filled until the sums are right."""
        if self.budget is not None and not self.budget_is_bound:
            if not self.balance:
                size = _fill(np.maximum(self.upper, -self.lower), self.budget)
                return np.where(self.upper >= -self.lower, size, -size)
            return _fill(self.upper, self.budget / 2) - _fill(-self.lower, self.budget / 2)
        if self.balance and self.total:
            return _fill(self.upper, self.total)
        return np.zeros(self.n)

    def nearby(self, beta: FloatArray) -> FloatArray:
        """A feasible point close to ``beta``: clipped to the box, then each side is scaled to its sum."""
        beta = np.clip(beta, self.lower, self.upper)
        if self.infeasibility(beta) <= FEASIBILITY_TOL:
            return beta
        above, below = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
        if self.budget is not None and not self.budget_is_bound:
            if self.balance:
                above = _with_sum(above, self.upper, self.budget / 2)
                return above - _with_sum(below, -self.lower, self.budget / 2)
            size = _with_sum(np.abs(beta), np.maximum(self.upper, -self.lower), self.budget)
            return np.where(self.upper >= -self.lower, size, -size)
        if self.balance and self.total:
            return _with_sum(above, self.upper, self.total)
        if self.balance:  # shrink the heavier side
            smaller = min(float(above.sum()), float(below.sum()))
            above, below = _with_sum(above, self.upper, smaller), _with_sum(below, -self.lower, smaller)
        beta = above - below
        if self.budget is not None and np.abs(beta).sum() > self.budget:
            beta *= self.budget / np.abs(beta).sum()
        return beta

    def snapped(self, beta: FloatArray, tol: float) -> FloatArray:
        """``beta`` with values within ``tol`` (relative) of a bound, or of 0, moved onto it."""
        width = self.upper - self.lower
        return self.settled(
            beta, tol * np.where(np.isinf(width), 0.0, width)
        )  # without bounds there is none to be near

    def settled(self, beta: FloatArray, room: FloatArray | float) -> FloatArray:
        """``beta`` with values within ``room`` of a bound, or of 0, moved onto it."""
        beta = np.where(np.abs(beta) <= room, 0.0, beta)
        beta = np.where(beta >= self.upper - room, self.upper, beta)
        return np.where(beta <= self.lower + room, self.lower, beta)

    def slopes(self, beta: FloatArray, grad: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Directional derivatives ``(up, down)``: what moving each variable up costs, moving it down gains.

        ``grad = K beta + p``. A move that the box forbids has slope +inf (up) or -inf (down).
        """
        up = np.where(beta >= 0, grad + self.epsilon, grad - self.epsilon)
        down = np.where(beta > 0, grad + self.epsilon, grad - self.epsilon)
        return np.where(beta < self.upper, up, np.inf), np.where(beta > self.lower, down, -np.inf)

    def sides(self, beta: FloatArray, grad: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """:meth:`slopes` of each set of variables among which weight may move: with a budget, of each side of 0."""
        up, down = self.slopes(beta, grad)
        if self.budget is None:
            return [(up, down)]
        rises, falls = beta >= 0, beta > 0
        return [(np.where(a, up, np.inf), np.where(b, down, -np.inf)) for a, b in ((rises, falls), (~rises, ~falls))]

    def free(self, beta: FloatArray) -> IntArray:
        """Variables strictly inside their bounds and away from 0, where |beta| has its kink."""
        return np.flatnonzero((beta > self.lower) & (beta < self.upper) & (beta != 0))

    def slack(self, beta: FloatArray) -> float:
        """What is left of the budget (inf where there is none, exactly 0 where it must be spent)."""
        if self.budget is None:
            return np.inf
        if not self.budget_is_bound:
            return 0.0
        left = self.budget - float(np.abs(beta).sum())
        return left if left > 1e-12 * self.budget else 0.0

    def violation(
        self, beta: FloatArray, grad: FloatArray, errors: FloatArray | None = None, slack: float | None = None
    ) -> float:
        """Width m - M of the violated interval: the largest first-order gain of a feasible move, at least 0.

        With balance and no budget this is LIBSVM's stopping measure. With ``errors``, bounds on the errors of
        ``grad``, it is the largest width possible. ``slack`` is what is left of the budget; it is given where ``beta``
        does not tell, because values that were moved onto their bounds have another sum.
        """
        up, down = self.slopes(beta, grad)
        if errors is not None:
            up, down = up - errors, down + errors
        if self.budget is None:
            if self.balance:
                return _width(up, down)
            return max(0.0, -float(np.min(up, initial=np.inf)), float(np.max(down, initial=-np.inf)))
        grow, shrink = (self.slack(beta) if slack is None else slack) > 0, self.budget_is_bound
        positive_up, positive_down = up[beta >= 0], down[beta > 0]
        negative_up, negative_down = up[beta < 0], down[beta <= 0]
        if self.balance:
            width = max(_width(positive_up, positive_down), _width(negative_up, negative_down))
            if shrink:
                width = max(width, _width(negative_up, positive_down))
            if grow:
                width = max(width, _width(positive_up, negative_down))
            return width
        larger = np.concatenate([positive_up, -negative_down])  # slopes of moves away from zero
        smaller = np.concatenate([positive_down, -negative_up])  # gains of moves towards zero
        width = _width(larger, smaller)
        if shrink:
            width = max(width, float(np.max(smaller, initial=0.0)))
        if grow:
            width = max(width, -float(np.min(larger, initial=0.0)))
        return width

    def infeasibility(self, beta: FloatArray) -> float:
        """Largest relative violation of the box and the sums (0 for a feasible point)."""
        if not np.isfinite(beta).all():
            return np.inf
        worst = 0.0
        if (beta < self.lower).any() or (beta > self.upper).any():
            size = np.maximum(np.maximum(self.upper, -self.lower), np.finfo(float).tiny)
            outside = np.maximum(self.lower - beta, beta - self.upper)
            there = outside > 0
            worst = float(np.max(outside[there] / size[there]))
        mass = float(np.abs(beta).sum())
        if self.balance and max(mass, abs(self.total)) > 0:
            worst = max(worst, abs(float(beta.sum()) - self.total) / max(mass, abs(self.total)))
        if self.budget is not None and self.budget > 0:
            excess = mass - self.budget
            worst = max(worst, (max(excess, 0.0) if self.budget_is_bound else abs(excess)) / self.budget)
        return worst


def _width(up: FloatArray, down: FloatArray) -> float:
    return max(0.0, float(np.max(down, initial=-np.inf) - np.min(up, initial=np.inf)))


def _with_sum(values: FloatArray, capacity: FloatArray, total: float) -> FloatArray:
    """Values scaled down to ``total``, or raised towards their capacity until they reach it."""
    present = float(values.sum())
    if present >= total:
        return values * (total / present) if present > 0 else values
    room = capacity - values
    return values + room * min(1.0, (total - present) / max(float(room.sum()), np.finfo(float).tiny))


def _fill(capacity: FloatArray, total: float) -> FloatArray:
    """Spread ``total`` over ``capacity`` from the first row on."""
    before = np.concatenate([[0.0], np.cumsum(capacity)[:-1]])
    return np.clip(total - before, 0.0, capacity)
