"""Many classes in one problem (M21): Crammer and Singer's machine, and Weston and Watkins'.

    min 1/2 sum_m ||w_m||^2 + sum_i C_i L_i(f_i),    f_im = w_m . phi(x_i) + b_m,    s_im = 1 + f_im - f_iy

with L_i = max(0, max_{m != y} s_im) or L_i = sum_{m != y} max(0, s_im), y being the class of row i. Both duals are in
alpha (n, classes) with sum_m alpha_im = 0 and w_m = sum_i alpha_im phi(x_i), and sum_i alpha_im = 0 with intercepts,
which are not penalised. For m != y, a_im = -alpha_im >= 0 is what row i pushes class m down by: sum_m a_im <= C_i, or
every a_im <= C_i.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray

#: Intercepts are proven optimal among those up to this many times the largest one, or 1.
REACH = 10.0


@dataclass(frozen=True, eq=False)
class AllClassesProblem(ABC):
    """Labels 0 .. n_classes - 1, costs, and whether there are (unpenalised) intercepts."""

    label: IntArray  # (n,)
    C: FloatArray  # (n,)
    n_classes: int
    fit_intercept: bool = True

    #: Whether a row's classes share one bound (a simplex), or have one each (a box): what compiled loops need to know.
    shared_bound = True

    @abstractmethod
    def slack(self, f: FloatArray) -> FloatArray:
        """L_i of every row at scores (n, classes)."""

    @abstractmethod
    def row_gaps(self, f: FloatArray, alpha: FloatArray) -> FloatArray:
        """What every row adds to primal - dual, at least 0."""

    @abstractmethod
    def violations(self, f: FloatArray, alpha: FloatArray, room: float = 0.0) -> FloatArray:
        """How far every row is from optimal, in margin units; within ``room`` C of a bound is at it."""

    @abstractmethod
    def infeasibility(self, alpha: FloatArray) -> float:
        """Largest violation of the rows' constraints, relative to C."""

    def shortfalls(self, f: FloatArray) -> FloatArray:
        """s_im = 1 + f_im - f_iy, and 0 for m = y."""
        rows = np.arange(len(f))
        s = f - f[rows, self.label][:, None] + 1.0
        s[rows, self.label] = 0.0
        return s

    def pushes(self, alpha: FloatArray) -> FloatArray:
        """a = -alpha, with 0 in the column of the row's own class."""
        a = -alpha
        a[np.arange(len(alpha)), self.label] = 0.0
        return a

    def primal(self, square: float, f: FloatArray) -> float:
        """Objective where ``square`` is sum_m ||w_m||^2."""
        return 0.5 * square + float(self.C @ self.slack(f))

    def gap(self, f: FloatArray, alpha: FloatArray, b: FloatArray) -> float:
        """primal - dual at w = w(alpha), a sum of non-negative terms.

        What is left of sum_i alpha_im = 0 is paid for as if every |b_m| up to B = 10 max(1, |b|) were allowed:
        B |s_m| - b_m s_m.
        """
        rows = float(self.row_gaps(f, alpha).sum())
        if not self.fit_intercept:
            return rows
        left = alpha.sum(axis=0)
        reach = REACH * max(1.0, float(np.abs(b).max(initial=0.0)))
        return rows + float(np.sum(reach * np.abs(left) - b * left))

    def masked(self, held: Array) -> Self:
        """The same problem without the rows ``held`` (bool), which keep their places."""
        return replace(self, C=np.where(held, 0.0, self.C))

    def _unbalanced(self, alpha: FloatArray) -> float:
        return float(np.abs(alpha.sum(axis=1)).max(initial=0.0))

    def _relative(self, worst: float) -> float:
        return worst / max(float(self.C.max(initial=0.0)), 1e-300)


@dataclass(frozen=True, eq=False)
class CrammerSingerProblem(AllClassesProblem):
    """The worst rival counts: L_i = max(0, max_{m != y} s_im)."""

    def slack(self, f):
        return self.shortfalls(f).max(axis=1)

    def _parts(self, f, alpha):
        """(s, p): the row's weights p_im >= 0 of its classes, with sum C_i; the own class has what the others leave."""
        p = self.pushes(alpha)
        p[np.arange(len(f)), self.label] = self.C - p.sum(axis=1)
        return self.shortfalls(f), p

    def row_gaps(self, f, alpha):
        s, p = self._parts(f, alpha)
        return np.sum(np.maximum(p, 0.0) * (s.max(axis=1, keepdims=True) - s), axis=1)

    def violations(self, f, alpha, room=0.0):
        s, p = self._parts(f, alpha)
        used = np.where(p > room * self.C[:, None], s, np.inf).min(axis=1)
        return np.where(self.C > 0, s.max(axis=1) - used, 0.0)

    def infeasibility(self, alpha):
        a = self.pushes(alpha)
        over = max(float((a.sum(axis=1) - self.C).max(initial=0.0)), float((-a).max(initial=0.0)))
        return self._relative(max(over, self._unbalanced(alpha)))


@dataclass(frozen=True, eq=False)
class WestonWatkinsProblem(AllClassesProblem):
    """Every rival counts: L_i = sum_{m != y} max(0, s_im)."""

    shared_bound = False

    def slack(self, f):
        return np.maximum(self.shortfalls(f), 0.0).sum(axis=1)

    def row_gaps(self, f, alpha):
        s, a = self.shortfalls(f), self.pushes(alpha)
        return np.sum((self.C[:, None] - a) * np.maximum(s, 0.0) + a * np.maximum(-s, 0.0), axis=1)

    def violations(self, f, alpha, room=0.0):
        s, a = self.shortfalls(f), self.pushes(alpha)
        edge = room * self.C[:, None]
        rising = np.where(a < self.C[:, None] - edge, s, 0.0).max(axis=1)
        return np.maximum(rising, np.where(a > edge, -s, 0.0).max(axis=1))

    def infeasibility(self, alpha):
        a = self.pushes(alpha)
        over = max(float((a - self.C[:, None]).max(initial=0.0)), float((-a).max(initial=0.0)))
        return self._relative(max(over, self._unbalanced(alpha)))


#: The problems by the name that ``multiclass`` gives them.
ALL_CLASSES: dict[str, Callable[..., AllClassesProblem]] = {
    "crammer-singer": CrammerSingerProblem,
    "weston-watkins": WestonWatkinsProblem,
}
