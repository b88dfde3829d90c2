"""One-class problems: the one-class SVM and the smallest ball (SVDD).

See "Regression and one class" in ``docs/theory.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.problems._base import BoxProblem, Offsets, middle
from maxmargin.problems._classification import least_unit
from maxmargin.problems._dual_qp import AT_BOUND, DualQP


@dataclass(frozen=True, eq=False)
class OneClassProblem(BoxProblem):
    """One-class SVM in LIBSVM's scale: min 1/2||w||^2 - rho nu sum(v) + sum v_i max(0, rho - w.phi(x_i)).

    Dual: min 1/2 beta' K beta, 0 <= beta_i <= v_i, sum beta = nu sum(v); the published intercept is -rho.
    """

    cost_name = "weight"

    weight: FloatArray
    nu: float
    largest_square: float = 0.0  # the largest k(x, x)

    def unit(self, beta, f):
        """The smaller of 1 (LIBSVM's) and |rho|: tiny kernels need tiny tolerances."""
        return least_unit(abs(self.offsets(beta, f).rho), self.total * self.largest_square)

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

    def box(self, beta):
        return beta, self.weight

    def shortfall(self, beta, f, offsets):
        return offsets.rho - f

    def fixed(self, offsets):
        return -offsets.rho * self.total

    def terms(self, beta, f, offsets):
        return [np.full(len(f), offsets.rho), -f]

    def recovered(self, dual_coef, f, intercept):
        return dual_coef, f, Offsets(intercept=intercept, rho=-intercept)


@dataclass(frozen=True, eq=False)
class SVDDProblem(BoxProblem):
    """The smallest ball: min R^2 + sum C_i max(0, ||phi(x_i) - a||^2 - R^2).

    Dual (halved): min 1/2 beta' K beta - 1/2 diag(K)' beta, 0 <= beta_i <= C_i, sum beta = 1; a = sum beta phi.
    ``rho`` is R^2 and the decision function R^2 - ||phi(x) - a||^2 = 2 a.phi(x) - k(x, x) + R^2 - ||a||^2, whose
    constant is the published intercept; the published coefficients are beta, those of the centre.
    """

    diagonal: FloatArray  # (n,) k(x_i, x_i)
    C: FloatArray

    def dual_qp(self) -> DualQP:
        return DualQP(-0.5 * self.diagonal, np.zeros(len(self.C)), self.C, total=1.0)

    def unit(self, beta, f):
        """The smaller of 1 and R^2."""
        return least_unit(self.offsets(beta, f).rho, float(self.diagonal.max(initial=0.0)))

    def box(self, beta):
        return beta, self.C

    def shortfall(self, beta, f, offsets):
        # ||phi(x_i) - a||^2 - R^2
        return self.diagonal - 2.0 * f + (-offsets.intercept if offsets.exact else float(beta @ f) - offsets.rho)

    def terms(self, beta, f, offsets):
        return [self.diagonal, -2.0 * f, np.full(len(f), -offsets.intercept)]

    def fixed(self, offsets):
        return offsets.rho

    def offsets(self, beta, f):
        norm, beta = float(beta @ f), self.qp.snapped(beta, AT_BOUND)
        up, down = self.qp.slopes(beta, f + self.qp.linear)
        free = (beta > 0) & (beta < self.C)
        radius = norm - 2.0 * middle(up, down, (f + self.qp.linear)[free])
        return Offsets(intercept=radius - norm, rho=radius, exact=True)

    def primal(self, beta, f, offsets):
        return offsets.rho + float(self.costs(beta, f, offsets).sum())

    def dual(self, beta, f):
        return float(beta @ (self.diagonal - f))

    def recovered(self, dual_coef, f, intercept):
        return dual_coef, f, Offsets(intercept, intercept + float(dual_coef @ f), exact=True)
