"""Two-class problems: soft margin, least squares, hard margin, nu-SVC.

See "Soft margin", "Hard margin" and "Regression and one class" in ``docs/theory.md``.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from maxmargin._types import Array, FloatArray
from maxmargin.exceptions import NotSeparableError
from maxmargin.problems._base import BoxProblem, Offsets, Problem, middle
from maxmargin.problems._dual_qp import AT_BOUND, DualQP

#: Squared distance of two hulls, relative to the largest k(x, x), at which there is nothing left to find.
TOUCHING = 1e-30
#: Relative error of a score summed from rounded kernel values.
ROUNDING = 64 * float(np.finfo(np.float64).eps)
#: A squared distance below minus this, relative to the largest k(x, x), shows that the kernel is not one.
NO_KERNEL = 1e-9
#: Margin rho of a nu machine, relative to the largest it could have, below which it counts as 0.
NO_MARGIN = 1e-12
#: Least unit in which violations are measured, relative to the largest possible score.
LEAST_UNIT = 1e-6


@dataclass(frozen=True, eq=False)
class SVCProblem(BoxProblem):
    r"""Soft margin: min 1/2||w||^2 + sum C_i max(0, 1 - t_i f_i).

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

    def box(self, beta):
        return self.sign * beta, self.C

    def shortfall(self, beta, f, offsets):
        return 1.0 - self.sign * (f + offsets.intercept)

    def terms(self, beta, f, offsets):
        n = len(f)
        return [f, np.full(n, offsets.intercept), -self.sign]


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

    def shortfall(self, beta, f, offsets):
        # what is left of the row's equation
        return self.sign - self.ridged(beta, f) - offsets.intercept

    def costs(self, beta, f, offsets):
        return 0.5 * self.C * np.square(self.sign - f - offsets.intercept)

    def gradient(self, beta, f):
        return super().gradient(beta, self.ridged(beta, f))

    def dual(self, beta, f):
        return -self.qp.objective(beta, self.ridged(beta, f))

    def gap_terms(self, beta, f, offsets):
        return 0.5 * self.C * np.square(self.shortfall(beta, f, offsets))

    def terms(self, beta, f, offsets):
        ridge = self.ridged(beta, np.zeros(len(beta)))
        return [self.sign, -f, -ridge, np.full(len(f), -offsets.intercept)]


class _Hull(BoxProblem):
    """Shared by the problems whose rows must reach a margin rho: t_i f_i >= rho - xi_i.

    min 1/2||w||^2 - rho * budget + sum upper_i xi_i; dual: min 1/2 beta' K beta with sum|beta| = budget.
    """

    sign: FloatArray
    fit_intercept: bool

    @abstractmethod
    def sizes(self) -> tuple[FloatArray, float]:
        """``(upper bounds of alpha, budget)``."""

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

    def box(self, beta):
        return self.sign * beta, self.sizes()[0]

    def shortfall(self, beta, f, offsets):
        return offsets.rho - self.sign * (f + offsets.intercept)

    def fixed(self, offsets):
        return -offsets.rho * self.sizes()[1]

    def terms(self, beta, f, offsets):
        return [f, np.full(len(f), offsets.intercept), -self.sign * offsets.rho]


@dataclass(frozen=True, eq=False)
class NuSVCProblem(_Hull):
    """nu-SVC: min 1/2||w||^2 - nu rho + sum (v_i / V) xi_i, V = sum v_i.

    The QP is in LIBSVM's scale, in which w, rho and xi are V times as large, so that one margin unit is about 1:
    0 <= alpha_i <= v_i, sum alpha = nu V. Objectives and gaps are those of the statement: the QP's over V^2.
    Each class must hold half of sum alpha, so nu is cut at twice the lighter class's share.
    """

    cost_name = "weight"

    sign: FloatArray
    weight: FloatArray
    nu: float
    fit_intercept: bool = True
    largest_square: float = 0.0  # the largest k(x, x): what "no margin" is measured against

    @property
    def largest_nu(self) -> float:
        """The largest feasible nu."""
        if not self.fit_intercept:
            return 1.0
        sums = [float(self.weight[self.sign == s].sum()) for s in (1.0, -1.0)]
        return 2.0 * min(sums) / sum(sums)

    @property
    def value_scale(self) -> float:
        total = float(self.weight.sum())
        share = 1.0 / total if total > 0 else 1.0
        return share * share  # a power would raise an error where a product is infinite

    def primal(self, beta, f, offsets):
        return self.value_scale * super().primal(beta, f, offsets)

    def dual(self, beta, f):
        return self.value_scale * super().dual(beta, f)

    def gap_terms(self, beta, f, offsets):
        return self.value_scale * super().gap_terms(beta, f, offsets)

    def sizes(self):
        return self.weight, min(self.nu, self.largest_nu) * float(self.weight.sum())

    def unit(self, beta, f):
        """The smaller of 1 (LIBSVM's) and rho, the margin before rescaling: tiny kernels need tiny tolerances."""
        return least_unit(self.offsets(beta, f).rho, self.sizes()[1] * self.largest_square)

    def delivered(self, beta, offsets):
        vanishes = offsets.rho <= NO_MARGIN * self.sizes()[1] * self.largest_square  # the hulls touch and f is constant
        rho = 1.0 if vanishes or offsets.rho <= 0 else offsets.rho
        return beta / rho, offsets.intercept / rho

    def recovered(self, dual_coef, f, intercept):
        mass = float(np.abs(dual_coef).sum())
        rho = self.sizes()[1] / mass if mass > 0 else 1.0  # sum alpha = budget fixes the scale
        beta, f, b = dual_coef * rho, f * rho, intercept * rho
        scaled, best = Offsets(b, rho), Offsets(b, self.offsets(beta, f).rho)
        # a model without a margin was published as it is: its scale does not show rho
        return beta, f, scaled if self.primal(beta, f, scaled) <= self.primal(beta, f, best) else best


def least_unit(size: float, largest: float) -> float:
    """The unit of violations: ``size`` within [LEAST_UNIT * largest, 1]."""
    unit = max(size, LEAST_UNIT * largest)
    return min(1.0, unit) if unit > 0 else 1.0


@dataclass(frozen=True, eq=False)
class HardMarginProblem(_Hull):
    """Hard margin, C = inf, solved as the nearest points of the two convex hulls.

    min 1/2||sum beta phi||^2 with sum alpha = 1 in each class (in all, without an intercept) is bounded
    whatever the data, and its optimum is either the maximum-margin hyperplane up to scale or a point common
    to both hulls: the witness that no hyperplane separates the classes.
    """

    sign: FloatArray
    largest_square: float  # the largest k(x, x): what "distance 0" is measured against
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
        unit = max(self.offsets(beta, f).rho, TOUCHING * self.largest_square)
        # without a positive k(x, x) there is no space to measure in: require_separable says so
        return np.inf if float(beta @ f) <= TOUCHING * self.largest_square or unit <= 0 else unit

    def recovered(self, dual_coef, f, intercept):
        scale = self.sizes()[1] / max(float(np.abs(dual_coef).sum()), np.finfo(float).tiny)
        return dual_coef * scale, f * scale, Offsets(intercept=intercept * scale, rho=scale)

    def separates(self, beta: FloatArray, f: FloatArray, error: float) -> bool:
        """Whether every row is on its own side of the middle hyperplane, for all scores within ``error``."""
        margins = self.sign * (f + self.offsets(beta, f).intercept)
        return bool(np.min(margins if self.held is None else margins[~self.held]) > error)

    def require_separable(self, beta: FloatArray, f: FloatArray) -> None:
        """Raise with the witness unless the hyperplane separates the classes, by scores from kernel values."""
        mass, square = float(np.abs(beta).sum()), float(beta @ f)
        # ||sum beta phi|| <= sum |beta| max ||phi||
        most = (1 + NO_KERNEL) * self.sizes()[1] ** 2 * self.largest_square
        if not -NO_KERNEL * self.largest_square <= square <= most:
            raise ValueError(
                "C=inf asks for a hard margin, but the kernel is not positive semi-definite on these rows: the largest "
                f"k(x, x) is {self.largest_square:.3g}, and two points of its space have the squared distance "
                f"{square:.3g}, so "
                "that no hyperplane is farthest from the classes. Give a finite C, or a kernel that is one"
            )
        error = ROUNDING * self.largest_square * mass
        if not self.separates(beta, f, error):
            raise self.refusal(beta, float(np.sqrt(max(square, 0.0))), float(np.sqrt(mass * error)))

    def refusal(self, beta: FloatArray, distance: float, bound: float) -> NotSeparableError:
        """The error to raise where no hyperplane was found; rounding can make ``bound`` of a distance of 0."""
        positive, negative = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
        witness = (positive, negative) if self.fit_intercept else positive + negative
        what = (
            "one point is a convex combination of the rows of each class"
            if self.fit_intercept
            else "0 is a convex combination of the rows times their signs, so no hyperplane through the origin does it"
        )
        if distance <= bound:
            said = (
                f"but no hyperplane separates the classes: {what}, as far as float64 can tell (distance "
                f"{distance:.3g}, of which rounding may be {bound:.3g})"
            )
        else:
            said = (
                "and float64 cannot tell whether there is one: the nearest points found of the two classes are "
                f"{distance:.3g} apart, more than rounding explains ({bound:.3g}), but the hyperplane between them "
                "is not known well enough to have every row on its side. Scale the features to unit variance"
            )
        return NotSeparableError(
            f"C=inf asks for a hard margin, {said}. Give a finite C, or a richer kernel; "
            "the exception's .witness holds the combination.",
            witness,
            distance,
            bound,
        )
