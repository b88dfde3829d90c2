"""Two-class problems: soft margin (M6), least squares, hard margin (M5), nu-SVC (M10)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxmargin._types import Array, FloatArray
from maxmargin.exceptions import NotSeparableError
from maxmargin.problems._base import Judged, Offsets, Problem, middle
from maxmargin.problems._dual_qp import AT_BOUND, DualQP

#: Squared distance of two hulls, relative to the largest k(x, x), that is a rounding error: they touch.
TOUCHING = 1e-14
#: Squared distances below minus this, relative to the largest k(x, x), are those of no kernel.
NO_KERNEL = 1e-9
#: Margin rho of a nu machine, relative to the largest it could have, below which it is 0 but for rounding.
NO_MARGIN = 1e-12
#: Least unit in which violations are measured, relative to the largest possible score.
LEAST_UNIT = 1e-6


@dataclass(frozen=True, eq=False)
class SVCProblem(Problem):
    r"""Soft margin (M6): min 1/2||w||^2 + sum C_i max(0, 1 - t_i f_i).

    Dual in ``beta = t * alpha``: max sum t_i beta_i - 1/2 beta' K beta, 0 <= t_i beta_i <= C_i, and
    sum beta = 0 with an intercept.
    """

    sign: FloatArray  # (n,) -1 or +1
    C: FloatArray  # (n,) cost of each row
    fit_intercept: bool = True

    def dual_qp(self) -> DualQP:
        bound = self.sign * self.C
        return DualQP(-self.sign, np.minimum(bound, 0.0), np.maximum(bound, 0.0), balance=self.fit_intercept)

    def offsets(self, beta, f):
        if not self.fit_intercept:
            return Offsets()
        beta, grad = self.qp.snapped(beta, AT_BOUND), f + self.qp.linear
        free = grad[(beta > self.qp.lower) & (beta < self.qp.upper)]
        if len(free):
            return Offsets(intercept=-float(free.sum()) / len(free))
        return Offsets(intercept=-middle(*self.qp.slopes(beta, grad), free))

    def primal(self, beta, f, offsets):
        slack = np.maximum(0.0, 1.0 - self.sign * (f + offsets.intercept))
        return float(0.5 * beta @ f + self.C @ slack)

    def gap_terms(self, beta, f, offsets):
        # (C_i - alpha_i) max(0, m_i) + alpha_i max(0, -m_i), m_i = 1 - t_i f_i
        short = 1.0 - self.sign * (f + offsets.intercept)
        alpha = self.sign * beta
        return (self.C - alpha) * np.maximum(0.0, short) + alpha * np.maximum(0.0, -short)


@dataclass(frozen=True, eq=False)
class LSSVCProblem(Problem):
    r"""Least-squares SVM: min 1/2||w||^2 + sum C_i/2 (1 - t_i f_i)^2 (Suykens and Vandewalle 1999).

    Dual in ``beta = t * alpha``: max sum t_i beta_i - 1/2 beta' (K + diag(1/C)) beta, and sum beta = 0 with an
    intercept; there are no bounds. So the QP is that of the kernel matrix K + diag(1/C), with the scores f + beta / C.
    """

    sign: FloatArray
    C: FloatArray  # 0: a row held out, whose beta is 0
    fit_intercept: bool = True

    def dual_qp(self) -> DualQP:
        bound = np.where(self.C > 0, np.inf, 0.0)
        return DualQP(-self.sign, -bound, bound, balance=self.fit_intercept)

    def ridged(self, beta: FloatArray, f: FloatArray) -> FloatArray:
        """(K + diag(1/C)) beta from f = K beta."""
        return f + np.divide(beta, self.C, out=np.zeros(len(beta)), where=self.C > 0)

    def offsets(self, beta, f):
        return Offsets(intercept=float(self.C @ (self.sign - f) / self.C.sum()) if self.fit_intercept else 0.0)

    def primal(self, beta, f, offsets):
        return float(0.5 * beta @ f + 0.5 * self.C @ np.square(self.sign - f - offsets.intercept))

    def dual(self, beta, f):
        return -self.qp.objective(beta, self.ridged(beta, f))

    def gap_terms(self, beta, f, offsets):
        # C_i/2 (e_i - beta_i / C_i)^2, e_i = t_i - f_i: what is left of the row's equation
        return 0.5 * self.C * np.square(self.sign - self.ridged(beta, f) - offsets.intercept)

    def judged(self, dual_coef, f, intercept):
        return super().judged(dual_coef, f, intercept)._replace(f=self.ridged(dual_coef, f))


class _Hull(Problem):
    """Shared by the problems whose rows must reach a margin rho: t_i f_i >= rho - xi_i.

    min 1/2||w||^2 - rho * budget + sum upper_i xi_i; dual: min 1/2 beta' K beta with sum|beta| = budget.
    """

    sign: FloatArray
    fit_intercept: bool

    def sizes(self) -> tuple[FloatArray, float]:
        """``(upper bounds of alpha, budget)``."""
        raise NotImplementedError  # abstract: the two subclasses below fill it in

    def dual_qp(self) -> DualQP:
        upper, budget = self.sizes()
        bound = self.sign * upper
        return DualQP(
            np.zeros(len(bound)),
            np.minimum(bound, 0.0),
            np.maximum(bound, 0.0),
            balance=self.fit_intercept,
            budget=budget,
        )

    def offsets(self, beta, f):
        beta = self.qp.snapped(beta, AT_BOUND)
        up, down = self.qp.slopes(beta, f)
        free = (beta > self.qp.lower) & (beta < self.qp.upper)
        positive = self.sign > 0
        if not self.fit_intercept:  # sum alpha is the only constraint: rho = t_i f_i on the free rows
            larger = np.where(positive, up, -down)
            smaller = np.where(positive, down, -up)
            return Offsets(rho=middle(larger, smaller, (self.sign * f)[free]))
        level = middle(up[positive], down[positive], f[free & positive])  # rho - b
        other = middle(up[~positive], down[~positive], f[free & ~positive])  # -(rho + b)
        return Offsets(intercept=-(level + other) / 2, rho=(level - other) / 2)

    def primal(self, beta, f, offsets):
        upper, budget = self.sizes()
        xi = np.maximum(0.0, offsets.rho - self.sign * (f + offsets.intercept))
        return float(0.5 * beta @ f - offsets.rho * budget + upper @ xi)

    def gap_terms(self, beta, f, offsets):
        upper, _ = self.sizes()
        short = offsets.rho - self.sign * (f + offsets.intercept)
        alpha = self.sign * beta
        return (upper - alpha) * np.maximum(0.0, short) + alpha * np.maximum(0.0, -short)


@dataclass(frozen=True, eq=False)
class NuSVCProblem(_Hull):
    """nu-SVC (M10) in LIBSVM's scale: 0 <= alpha_i <= weight_i, sum alpha = nu * sum(weight).

    Each class must hold half of that sum, so nu is cut at twice the lighter class's share.
    """

    cost_name = "weight"

    sign: FloatArray
    weight: FloatArray
    nu: float
    fit_intercept: bool = True
    scale: float = 0.0  # the largest k(x, x): what "no margin" is measured against

    @property
    def largest_nu(self) -> float:
        """The largest feasible nu."""
        if not self.fit_intercept:
            return 1.0
        sums = [float(self.weight[self.sign == s].sum()) for s in (1.0, -1.0)]
        return 2.0 * min(sums) / sum(sums)

    def sizes(self):
        return self.weight, min(self.nu, self.largest_nu) * float(self.weight.sum())

    def unit(self, beta, f):
        """The smaller of 1 (LIBSVM's) and rho, the margin before rescaling: tiny kernels need tiny tolerances."""
        return least_unit(self.offsets(beta, f).rho, self.sizes()[1] * self.scale)

    def delivered(self, beta, offsets):
        vanishes = offsets.rho <= NO_MARGIN * self.sizes()[1] * self.scale  # the hulls touch and f is constant
        rho = 1.0 if vanishes or offsets.rho <= 0 else offsets.rho
        return beta / rho, offsets.intercept / rho

    def recovered(self, dual_coef, f, intercept):
        mass = float(np.abs(dual_coef).sum())
        rho = self.sizes()[1] / mass if mass > 0 else 1.0  # sum alpha = budget fixes the scale
        beta, f, b = dual_coef * rho, f * rho, intercept * rho
        scaled, best = Offsets(b, rho), Offsets(b, self.offsets(beta, f).rho)
        # a model without margin was published as it is, with a rho that does not show in its scale
        return beta, f, scaled if self.primal(beta, f, scaled) <= self.primal(beta, f, best) else best


def least_unit(size: float, largest: float) -> float:
    """The unit of violations: ``size`` within [LEAST_UNIT * largest, 1]."""
    unit = max(size, LEAST_UNIT * largest)
    return min(1.0, unit) if unit > 0 else 1.0


@dataclass(frozen=True, eq=False)
class HardMarginProblem(_Hull):
    """Hard margin (M5), C = inf, solved as the nearest points of the two convex hulls.

    min 1/2||sum beta phi||^2 with sum alpha = 1 in each class (in all, without an intercept) is bounded
    whatever the data, and its optimum is either the maximum-margin hyperplane up to scale or a point common
    to both hulls: the witness that no hyperplane separates the classes.
    """

    sign: FloatArray
    scale: float  # the largest k(x, x): what "distance 0" is measured against
    fit_intercept: bool = True
    held: Array | None = None  # rows left out of a fold

    def masked(self, held):
        return replace(self, held=held)

    def sizes(self):
        # the cap is out of reach: a class with one support vector, alpha = 1, must not look as if it were at a bound
        cap = np.full(len(self.sign), 2.0) if self.held is None else np.where(self.held, 0.0, 2.0)
        return cap, 2.0 if self.fit_intercept else 1.0

    def delivered(self, beta, offsets):
        # margin rho > 0 on every row in the limit: dividing by rho makes the hyperplane canonical
        rho = offsets.rho if offsets.rho > 0 else 1.0  # stopped before the hulls were told apart
        return beta / rho, offsets.intercept / rho

    def unit(self, beta, f):
        """rho, the margin before rescaling; inf once the hulls touch, for then there is nothing left to find."""
        if float(beta @ f) <= TOUCHING * self.scale:
            return np.inf
        return max(self.offsets(beta, f).rho, TOUCHING * self.scale)

    def recovered(self, dual_coef, f, intercept):
        scale = self.sizes()[1] / max(float(np.abs(dual_coef).sum()), np.finfo(float).tiny)
        return dual_coef * scale, f * scale, Offsets(intercept=intercept * scale, rho=scale)

    def judged(self, dual_coef, f, intercept):
        """Judge M5 itself: (w, b) rescaled to functional margin 1 against the dual sum alpha - 1/2||w||^2.

        With w' = w / margin the gap is sum alpha_i (t_i f'_i - 1) + 1/2 ||w' - w||^2, all terms >= 0.
        """
        alpha = self.sign * dual_coef
        square = max(float(dual_coef @ f), 0.0)
        dual = float(alpha.sum() - 0.5 * square)
        beta, hull_f, _ = self.recovered(dual_coef, f, intercept)
        margins = self.sign * (f + intercept)
        margin = float(margins.min())
        if margin <= 0:
            return Judged(np.inf, dual, np.array([np.inf]), beta, hull_f)
        terms = np.append(alpha * (margins / margin - 1.0), 0.5 * (1.0 / margin - 1.0) ** 2 * square)
        return Judged(0.5 * square / margin**2, dual, terms, beta, hull_f)

    def require_separable(self, beta: FloatArray, f: FloatArray) -> None:
        """Raise with the witness unless the nearest points found are apart."""
        if float(beta @ f) < -NO_KERNEL * self.scale:
            raise ValueError(
                "C=inf asks for a hard margin, but the kernel is not positive semi-definite on these rows: two points "
                f"of its space have the squared distance {float(beta @ f):.3g}, and no hyperplane is farthest from the "
                "classes. Give a finite C, or a kernel that is one"
            )
        square = max(float(beta @ f), 0.0)
        margins = self.sign * (f + self.offsets(beta, f).intercept)
        separates = np.min(margins if self.held is None else margins[~self.held]) > 0
        if square > TOUCHING * self.scale and separates:
            return
        positive, negative = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
        witness = (positive, negative) if self.fit_intercept else positive + negative
        what = (
            "one point is a convex combination of the rows of each class"
            if self.fit_intercept
            else "0 is a convex combination of the rows times their signs, so no hyperplane through the origin does it"
        )
        raise NotSeparableError(
            f"C=inf asks for a hard margin, but no hyperplane separates the classes: {what} "
            f"(squared distance {square:.3g}). Give a finite C, or a richer kernel; "
            "the exception's .witness holds the combination.",
            witness,
            float(np.sqrt(square)),
        )
