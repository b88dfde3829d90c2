"""What a kernel machine's problem knows: its dual QP, its two objectives, its gap, and what it delivers.

A problem holds targets, per-row costs and options, but neither rows nor kernel: everything it is asked is a
function of the dual variables ``beta`` and their scores ``f = K beta``. So one Gram matrix serves many
problems (all pairs of classes, all folds), and the judge can hand in scores it computed by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.problems._dual_qp import DualQP


@dataclass(frozen=True)
class Offsets:
    """The scalars of the primal that go with ``beta``: f(x) = sum beta k(x, .) + intercept.

    ``rho`` is the nu machines' margin (or SVDD's squared radius), ``epsilon`` the width of nu-SVR's tube.
    """

    intercept: float = 0.0
    rho: float = 1.0
    epsilon: float = 0.0


class Judged(NamedTuple):
    """What a certificate is made of: the two objectives, the gap's terms, the dual point and its scores in the QP."""

    primal: float
    dual: float
    terms: FloatArray
    beta: FloatArray
    f: FloatArray


class Problem(ABC):
    """Abstract base of the problems; ``K`` enters only through ``f = K beta``."""

    #: The field with the rows' costs.
    cost_name: ClassVar[str] = "C"

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
    def primal(self, beta: FloatArray, f: FloatArray, offsets: Offsets) -> float:
        """Primal objective at ``w = sum beta phi`` and the given scalars."""

    @abstractmethod
    def gap_terms(self, beta: FloatArray, f: FloatArray, offsets: Offsets) -> FloatArray:
        """Fenchel-Young terms, each non-negative, whose sum is primal - dual."""

    def on_rows(self, index: IntArray) -> Problem:
        """The same problem on some of its rows."""
        # every problem is a dataclass, which this base class cannot say of itself, hence the ignores
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return replace(self, **{k: v[index] for k, v in values.items() if isinstance(v, np.ndarray)})  # type: ignore[type-var]

    def masked(self, held: Array) -> Problem:
        """The same problem without the rows ``held`` (bool), which keep their places: what they may cost becomes 0."""
        costs = getattr(self, self.cost_name)
        return replace(self, **{self.cost_name: np.where(held, 0.0, costs)})  # type: ignore[type-var]  # as above

    def unit(self, beta: FloatArray, f: FloatArray) -> float:
        """How many units of ``f`` one margin unit of the published model is."""
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

    def judged(self, dual_coef: FloatArray, f: FloatArray, intercept: float) -> Judged:
        """Primal, dual and gap terms of a published model with scores ``f = K dual_coef`` (no intercept)."""
        beta, f, offsets = self.recovered(dual_coef, f, intercept)
        return Judged(self.primal(beta, f, offsets), self.dual(beta, f), self.gap_terms(beta, f, offsets), beta, f)

    def recovered(
        self, dual_coef: FloatArray, f: FloatArray, intercept: float
    ) -> tuple[FloatArray, FloatArray, Offsets]:
        """Invert :meth:`delivered`: ``(beta, f, offsets)`` of a published model, ``f`` without intercept."""
        return dual_coef, f, Offsets(intercept=intercept)


def relative(gap: float, primal: float, dual: float) -> float:
    """gap / max(|primal|, |dual|); 0 when the gap is 0, inf when it is not a number."""
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
    high, low = float(np.min(up, initial=np.inf)), float(np.max(down, initial=-np.inf))
    if np.isinf(high) and np.isinf(low):
        return 0.0
    if np.isinf(high):
        return low
    if np.isinf(low):
        return high
    return (high + low) / 2
