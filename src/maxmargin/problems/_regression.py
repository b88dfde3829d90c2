"""Regression problems: epsilon-SVR and nu-SVR, with n variables each.

See "Regression and one class" in ``docs/theory.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.problems._base import Offsets, Problem, middle
from maxmargin.problems._dual_qp import AT_BOUND, DualQP


@dataclass(frozen=True, eq=False)
class SVRProblem(Problem):
    """epsilon-SVR: min 1/2||w||^2 + sum C_i max(0, |y_i - f_i| - epsilon).

    Dual: min 1/2 beta' K beta - y' beta + epsilon |beta|_1, |beta_i| <= C_i, sum beta = 0 with an intercept.
    """

    y: FloatArray
    C: FloatArray
    epsilon: float
    fit_intercept: bool = True

    def dual_qp(self) -> DualQP:
        return DualQP(-self.y, -self.C, self.C, epsilon=self.epsilon, balance=self.fit_intercept)

    def offsets(self, beta, f):
        if not self.fit_intercept:
            return Offsets(epsilon=self.epsilon)
        beta = self.qp.snapped(beta, AT_BOUND)
        up, down = self.qp.slopes(beta, f - self.y)
        free = (beta != 0) & (np.abs(beta) < self.C)
        return Offsets(intercept=-middle(up, down, up[free]), epsilon=self.epsilon)

    def shortfall(self, beta, f, offsets):
        residual = self.y - f - offsets.intercept
        along = np.where(beta >= 0, residual, -residual)
        return np.where(beta == 0, np.abs(residual), along) - offsets.epsilon

    def costs(self, beta, f, offsets):
        return self.C * np.maximum(0.0, np.abs(self.y - f - offsets.intercept) - offsets.epsilon)

    def terms(self, beta, f, offsets):
        residual = self.y - f - offsets.intercept
        tube = np.full(len(f), offsets.epsilon)
        return [self.y, -f, np.full(len(f), -offsets.intercept), np.where(residual > 0, -tube, tube)]

    def gap_terms(self, beta, f, offsets):
        # C max(0, |r| - eps) - beta r + eps |beta|, r = y - f, written as products of non-negative factors
        size = np.abs(beta)
        along = self.shortfall(beta, f, offsets)
        against = np.where(beta == 0, -np.inf, -along - 2 * offsets.epsilon)
        terms = (self.C - size) * np.maximum(0.0, along) + size * np.maximum(0.0, -along)
        return terms + self.C * np.maximum(0.0, against)

    def recovered(self, dual_coef, f, intercept):
        return dual_coef, f, Offsets(intercept=intercept, epsilon=self.epsilon)


@dataclass(frozen=True, eq=False)
class NuSVRProblem(SVRProblem):
    """nu-SVR: epsilon >= 0 is a variable, paid nu * sum(C) * epsilon.

    Dual: min 1/2 beta' K beta - y' beta with sum |beta| <= nu * sum(C); epsilon is that bound's multiplier.
    """

    epsilon: float = 0.0  # of the dual QP, where the tube is not paid for; the tube itself is in Offsets
    nu: float = 0.5

    @property
    def budget(self) -> float:
        return self.nu * float(self.C.sum())

    def dual_qp(self) -> DualQP:
        return DualQP(-self.y, -self.C, self.C, balance=self.fit_intercept, budget=self.budget, budget_is_bound=True)

    def offsets(self, beta, f):
        """The better of two: a tube from the slopes of each side, or (a budget not spent) no tube at all."""
        closed = super().offsets(beta, f)
        tube = self._with_tube(beta, f - self.y)
        if tube.epsilon <= 0:
            return closed
        return tube if self.primal(beta, f, tube) <= self.primal(beta, f, closed) else closed

    def _with_tube(self, beta: FloatArray, grad: FloatArray) -> Offsets:
        beta = self.qp.snapped(beta, AT_BOUND)
        up, down = self.qp.slopes(beta, grad)
        free = np.abs(beta) < self.C
        above, below = (beta > 0) & free, (beta < 0) & free
        if not self.fit_intercept:
            larger = np.concatenate([up[beta >= 0], -down[beta <= 0]])
            smaller = np.concatenate([down[beta > 0], -up[beta < 0]])
            return Offsets(epsilon=-middle(larger, smaller, np.concatenate([grad[above], -grad[below]])))
        high = middle(up[beta >= 0], down[beta > 0], grad[above])  # -b - eps
        low = middle(up[beta < 0], down[beta <= 0], grad[below])  # -b + eps
        return Offsets(intercept=-(high + low) / 2, epsilon=(low - high) / 2)

    def fixed(self, offsets):
        return self.budget * offsets.epsilon

    def gap_terms(self, beta, f, offsets):
        unspent = max(self.budget - float(np.abs(beta).sum()), 0.0)
        return np.append(super().gap_terms(beta, f, offsets), offsets.epsilon * unspent)

    def recovered(self, dual_coef, f, intercept):
        """The published model keeps no epsilon: the best one for it is a weighted quantile of |residual|."""
        residual = np.abs(self.y - f - intercept)
        order = np.argsort(residual)[::-1]
        paid = np.cumsum(self.C[order])
        at = int(np.searchsorted(paid, self.budget * (1 - 1e-12)))
        epsilon = float(residual[order[at]]) if at < len(order) else 0.0
        return dual_coef, f, Offsets(intercept=intercept, epsilon=epsilon)
