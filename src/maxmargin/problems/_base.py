"""What a kernel machine's problem knows: its dual QP, its two objectives, its gap, and what it delivers.

A problem holds targets, per-row costs and options, but neither rows nor kernel: everything it is asked is a
function of the dual variables ``beta`` and their scores ``f = K beta``. So one Gram matrix serves many
problems (all pairs of classes, all folds), and the judge can hand in scores that it computed itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.problems._dual_qp import DualQP


@dataclass(frozen=True)
class Offsets:
    """The scalars of the primal that go with ``beta``: f(x) = sum beta k(x, .) + intercept.

    ``rho`` is the nu machines' margin (or SVDD's squared radius), ``epsilon`` the width of nu-SVR's tube. For SVDD,
    ``exact`` says that the intercept is rho - ||a||^2: then nothing has to be computed from two large numbers.
    """

    intercept: float = 0.0
    rho: float = 1.0
    epsilon: float = 0.0
    exact: bool = False


class Problem(ABC):
    """Abstract base of the problems; ``K`` enters only through ``f = K beta``.

    The primal is the sum of ``1/2 beta.f``, the rows' costs, and a part that depends on the scalars alone
    (:meth:`fixed`). A row's cost and its share of the gap are convex functions of its own score: where a score is known
    within an error bound, their largest values are at the ends of that interval.
    """

    #: The field with the rows' costs.
    cost_name: ClassVar[str] = "C"

    @property
    def value_scale(self) -> float:
        """The stated objective divided by the value of the same point in the QP."""
        return 1.0

    @cached_property
    def qp(self) -> DualQP:
        """The dual quadratic programme (made once)."""
        return self.dual_qp()

    @abstractmethod
    def dual_qp(self) -> DualQP:
        """Lower to the QP in ``beta`` that the solvers minimise."""

    @abstractmethod
    def offsets(self, beta: FloatArray, f: FloatArray) -> Offsets:
        """Best scalars for this ``beta``: the mean over unbound rows, or the middle of the feasible interval."""

    @abstractmethod
    def shortfall(self, beta: FloatArray, f: FloatArray, offsets: Offsets) -> FloatArray:
        """By how much each row falls short: the gain per unit of |beta|, and 0 for free variables at the optimum."""

    @abstractmethod
    def costs(self, beta: FloatArray, f: FloatArray, offsets: Offsets) -> FloatArray:
        """What each row costs."""

    @abstractmethod
    def gap_terms(self, beta: FloatArray, f: FloatArray, offsets: Offsets) -> FloatArray:
        """Fenchel-Young terms, each non-negative, whose sum is primal - dual."""

    @abstractmethod
    def terms(self, beta: FloatArray, f: FloatArray, offsets: Offsets) -> list[FloatArray]:
        """The terms whose sum is each row's shortfall up to its sign, in the order in which they are added."""

    def reach(self, beta: FloatArray, f: FloatArray, offsets: Offsets) -> FloatArray:
        """Sum of the absolute values of :meth:`parts`, to which the shortfall's rounding is proportional."""
        return np.sum([np.abs(part) for part in self.terms(beta, f, offsets)], axis=0)

    def slips(self, beta: FloatArray, f: FloatArray, offsets: Offsets) -> FloatArray:
        """Rounding error of each row's shortfall as :meth:`parts` are added up; 0 where every sum is exact."""
        total, *others = self.terms(beta, f, offsets)
        lost = np.zeros(len(f))
        for part in others:
            total, off = two_sum(total, part)
            lost += np.abs(off)
        return lost

    def gradient(self, beta: FloatArray, f: FloatArray) -> FloatArray:
        """Gradient of the QP's objective, without its 1-norm."""
        return f + self.qp.linear

    def fixed(self, offsets: Offsets) -> float:
        """The part of the primal that depends on the scalars alone."""
        return 0.0

    def primal(self, beta: FloatArray, f: FloatArray, offsets: Offsets) -> float:
        """Primal objective at ``w = sum beta phi`` and the given scalars."""
        return float(0.5 * beta @ f + self.costs(beta, f, offsets).sum()) + self.fixed(offsets)

    def on_rows(self, index: IntArray) -> Problem:
        """The same problem on some of its rows."""
        # every problem is a dataclass, which this base class cannot say of itself, hence the ignores
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return replace(self, **{k: v[index] for k, v in values.items() if isinstance(v, np.ndarray)})  # type: ignore[type-var]

    def masked(self, held: Array) -> Problem:
        """The same problem without the rows ``held`` (bool), which keep their places: their costs become 0."""
        costs = getattr(self, self.cost_name)
        return replace(self, **{self.cost_name: np.where(held, 0.0, costs)})  # type: ignore[type-var]  # as above

    def unit(self, beta: FloatArray, f: FloatArray) -> float:
        """One margin unit of the published model, in units of ``f``."""
        return 1.0

    def dual(self, beta: FloatArray, f: FloatArray) -> float:
        """Dual objective: a lower bound on the primal optimum when ``beta`` is feasible."""
        return -self.qp.objective(beta, f)

    def gap(self, beta: FloatArray, f: FloatArray, offsets: Offsets) -> float:
        """Duality gap as a sum of non-negative terms, never as a difference of the two objectives."""
        return float(self.gap_terms(beta, f, offsets).sum())

    def delivered(self, beta: FloatArray, offsets: Offsets) -> tuple[FloatArray, float]:
        """``(dual_coef, intercept)`` as the model publishes them."""
        return beta, offsets.intercept

    def recovered(
        self, dual_coef: FloatArray, f: FloatArray, intercept: float
    ) -> tuple[FloatArray, FloatArray, Offsets]:
        """Invert :meth:`delivered`: ``(beta, f, offsets)`` of a published model, ``f`` without intercept."""
        return dual_coef, f, Offsets(intercept=intercept)


class BoxProblem(Problem):
    """Rows pay ``upper`` for each unit by which they fall short; their dual variables are at most that large."""

    @abstractmethod
    def box(self, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``(sizes of the dual variables, their upper bounds)``."""

    def costs(self, beta, f, offsets):
        return self.box(beta)[1] * np.maximum(0.0, self.shortfall(beta, f, offsets))

    def gap_terms(self, beta, f, offsets):
        alpha, upper = self.box(beta)
        short = self.shortfall(beta, f, offsets)
        return (upper - alpha) * np.maximum(0.0, short) + alpha * np.maximum(0.0, -short)


def two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(a + b rounded, its rounding error), the error being exact (Knuth)."""
    total = a + b
    second = total - a
    return total, (a - (total - second)) + (b - second)


def relative(gap: float, primal: float, dual: float) -> float:
    """gap / max(|primal|, |dual|); 0 when the gap is 0, inf when it is NaN."""
    if gap == 0:
        return 0.0
    size = max(abs(primal), abs(dual))
    value = gap / size if size > 0 else np.inf
    return float(value) if np.isfinite(value) else np.inf


def middle(up: FloatArray, down: FloatArray, free: FloatArray) -> float:
    """The multiplier of an equality: mean slope of the free rows, else the middle of [max down, min up].

    ``up`` and ``down`` are the slopes of the allowed moves (+inf and -inf where a move is not allowed).
    """
    if len(free):
        return float(np.mean(free))
    return centre(float(np.max(down, initial=-np.inf)), float(np.min(up, initial=np.inf)))


def centre(low: float, high: float) -> float:
    """The middle of an interval; its finite end where it has only one, 0 where it has none."""
    if np.isinf(high) and np.isinf(low):
        return 0.0
    if np.isinf(high):
        return low
    if np.isinf(low):
        return high
    return (high + low) / 2
