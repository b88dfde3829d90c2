"""One-class problems: the one-class SVM and the smallest ball (SVDD), M10."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.problems._base import Offsets, Problem, middle
from maxmargin.problems._classification import least_unit
from maxmargin.problems._dual_qp import AT_BOUND, DualQP


@dataclass(frozen=True, eq=False)
class OneClassProblem(Problem):
    """One-class SVM in LIBSVM's scale: min 1/2||w||^2 - rho nu sum(v) + sum v_i max(0, rho - w.phi(x_i)).

    Dual: min 1/2 beta' K beta, 0 <= beta_i <= v_i, sum beta = nu sum(v); the published intercept is -rho.
    """

    cost_name = "weight"

    weight: FloatArray
    nu: float
    scale: float = 0.0  # the largest k(x, x)

    def unit(self, beta, f):
        """The smaller of 1 (LIBSVM's) and |rho|: tiny kernels need tiny tolerances."""
        return least_unit(abs(self.offsets(beta, f).rho), self.total * self.scale)

    @property
    def total(self) -> float:
        return self.nu * float(self.weight.sum())

    def dual_qp(self) -> DualQP:
        zero = np.zeros(len(self.weight))
        return DualQP(zero, zero, self.weight, total=self.total)

    def offsets(self, beta, f):
        beta = self.qp.snapped(beta, AT_BOUND)
        up, down = self.qp.slopes(beta, f)
        free = (beta > 0) & (beta < self.weight)
        rho = middle(up, down, f[free])
        return Offsets(intercept=-rho, rho=rho)

    def primal(self, beta, f, offsets):
        xi = np.maximum(0.0, offsets.rho - f)
        return float(0.5 * beta @ f - offsets.rho * self.total + self.weight @ xi)

    def gap_terms(self, beta, f, offsets):
        short = offsets.rho - f
        return (self.weight - beta) * np.maximum(0.0, short) + beta * np.maximum(0.0, -short)

    def recovered(self, dual_coef, f, intercept):
        return dual_coef, f, Offsets(intercept=intercept, rho=-intercept)


@dataclass(frozen=True, eq=False)
class SVDDProblem(Problem):
    """The smallest ball: min R^2 + sum C_i max(0, ||phi(x_i) - a||^2 - R^2).

    Dual (halved): min 1/2 beta' K beta - 1/2 diag(K)' beta, 0 <= beta_i <= C_i, sum beta = 1; a = sum beta phi.
    ``rho`` is R^2 and the published decision function is R^2 - ||phi(x) - a||^2, so its constant, the
    published intercept, is R^2 - ||a||^2 and its coefficients are 2 beta.
    """

    diagonal: FloatArray  # (n,) k(x_i, x_i)
    C: FloatArray

    def dual_qp(self) -> DualQP:
        return DualQP(-0.5 * self.diagonal, np.zeros(len(self.C)), self.C, total=1.0)

    def unit(self, beta, f):
        """The smaller of 1 and R^2."""
        return least_unit(self.offsets(beta, f).rho, float(self.diagonal.max(initial=0.0)))

    def _distances(self, beta: FloatArray, f: FloatArray) -> FloatArray:
        """Squared distances ||phi(x_i) - a||^2."""
        return self.diagonal - 2.0 * f + beta @ f

    def offsets(self, beta, f):
        norm, beta = float(beta @ f), self.qp.snapped(beta, AT_BOUND)
        up, down = self.qp.slopes(beta, f + self.qp.linear)
        free = (beta > 0) & (beta < self.C)
        radius = norm - 2.0 * middle(up, down, (f + self.qp.linear)[free])
        return Offsets(intercept=radius - norm, rho=radius)

    def primal(self, beta, f, offsets):
        return float(offsets.rho + self.C @ np.maximum(0.0, self._distances(beta, f) - offsets.rho))

    def dual(self, beta, f):
        return float(beta @ (self.diagonal - f))

    def gap_terms(self, beta, f, offsets):
        outside = self._distances(beta, f) - offsets.rho
        return (self.C - beta) * np.maximum(0.0, outside) + beta * np.maximum(0.0, -outside)

    def delivered(self, beta, offsets):
        return 2.0 * beta, offsets.intercept

    def recovered(self, dual_coef, f, intercept):
        beta, f = dual_coef / 2.0, f / 2.0
        return beta, f, Offsets(intercept=intercept, rho=intercept + float(beta @ f))
