"""Many classes in one problem: Crammer and Singer's machine, and Weston and Watkins'.

    min 1/2 sum_m ||w_m||^2 + sum_i C_i L_i(f_i),    f_im = w_m . phi(x_i) + b_m,    s_im = 1 + f_im - f_iy

with L_i = max(0, max_{m != y} s_im) or L_i = sum_{m != y} max(0, s_im), y being the class of row i; a third loss is in
:mod:`._softmax`. The duals are in alpha (n, classes) with sum_m alpha_im = 0 and w_m = sum_i alpha_im phi(x_i), and
sum_i alpha_im = 0 with intercepts, which are not penalised. For m != y, a_im = -alpha_im >= 0 is what row i pushes
class m down by: sum_m a_im <= C_i, or every a_im <= C_i.

See "Schemes for many classes" in ``docs/theory.md``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.kernels.rounding import summed


@dataclass(frozen=True, eq=False)
class AllClassesProblem(ABC):
    """Labels 0 .. n_classes - 1, costs, and whether there are (unpenalised) intercepts."""

    label: IntArray  # (n,)
    C: FloatArray  # (n,)
    n_classes: int
    fit_intercept: bool = True

    @abstractmethod
    def slack(self, f: FloatArray, error: FloatArray | None = None) -> FloatArray:
        """L_i of every row at scores (n, classes), or its largest value at scores within ``error`` (n,) of them."""

    @abstractmethod
    def row_gaps(self, f: FloatArray, alpha: FloatArray, error: FloatArray | None = None) -> FloatArray:
        """What every row adds to primal - dual, at least 0; with ``error``, the most it can add."""

    @abstractmethod
    def violations(self, f: FloatArray, alpha: FloatArray, room: float = 0.0) -> FloatArray:
        """How far every row is from optimal, in margin units; variables within ``room`` C of a bound count as on it."""

    def infeasibility(self, alpha: FloatArray) -> float:
        """How far the rows' constraints are missed, relative to C."""
        return float(np.abs(alpha - self.inside(alpha)).max(initial=0.0)) / max(float(self.C.max(initial=0.0)), 1e-300)

    def inside(self, alpha: FloatArray) -> FloatArray:
        """Dual variables beside ``alpha`` that meet the rows' constraints, also before their sums are rounded."""
        return self.alphas(self.bounded(np.maximum(self.pushes(alpha), 0.0)))

    def bounded(self, a: FloatArray) -> FloatArray:
        """Pushes within their bound, which classes share unless told otherwise."""
        total, room = a.sum(axis=1), summed(self.n_classes + 4)
        several = np.count_nonzero(a, axis=1) > 1  # whose sum is rounded
        over = np.where(several, total * (1.0 + room), total) > self.C
        return np.where(over, self.C / np.maximum(total, 1e-300) * (1.0 - room), 1.0)[:, None] * a

    def alphas(self, a: FloatArray) -> FloatArray:
        """Dual variables of pushes, whatever stands in the column of the row's own class."""
        rows, alpha = np.arange(len(a)), -a
        alpha[rows, self.label] = 0.0
        alpha[rows, self.label] = -alpha.sum(axis=1)
        return alpha

    def pushes(self, alpha: FloatArray) -> FloatArray:
        """a = -alpha, with 0 in the column of the row's own class."""
        a = -alpha
        a[np.arange(len(alpha)), self.label] = 0.0
        return a

    def primal(self, square: float, f: FloatArray, error: FloatArray | None = None) -> float:
        """Objective where ``square`` is sum_m ||w_m||^2."""
        return 0.5 * square + float(self.C @ self.slack(f, error))

    def gap(
        self, f: FloatArray, alpha: FloatArray, error: FloatArray | None = None, apart: float | None = None
    ) -> float:
        """primal - dual at w = w(alpha), a sum of non-negative terms.

        Where s_m = sum_i alpha_im is not exactly 0, the optimal intercepts may gain sum_m (b*_m - b_m) s_m. These sums
        add up to 0, so that it is at most half the sum of all |s_m| times the spread of b* - b, which is ``apart``: a
        guess, with the present w for the optimal one, unless it is given. With ``error`` the sums are exact, and those
        of the rows, which rounding keeps from being 0, are moved to the row's own class and charged, too.
        """
        rows = float(self.row_gaps(f, alpha, error).sum())
        if not self.fit_intercept:
            return rows
        if error is None:
            moved = float(np.abs(alpha.sum(axis=0)).sum())
        else:
            moved = sum(abs(math.fsum(column.tolist())) for column in alpha.T) + self.imbalance(alpha)
        if moved == 0:
            return rows
        return rows + 0.5 * moved * (self.apart(float(self.C @ self.slack(f)), f, 0.0) if apart is None else apart)

    def apart(self, losses: float, f: FloatArray, shift: FloatArray | float) -> float:
        """The most by which max (b* - b) and min (b* - b) differ, if the losses at w* and b* cost at most ``losses``.

        ``shift`` is, for every row, the most that f_m - f_o changes on the way from w to w*. A row's loss is at least
        f_o - f_y, so that C_i (b*_o - b_o - b*_m + b_m) <= losses + C_i (f_im - f_io + shift_i) for the rows of class
        m; the same is true of their sum.
        """
        rows = np.arange(len(f))
        lead, shift = f[rows, self.label][:, None] - f, np.broadcast_to(shift, len(f))
        lead[rows, self.label] = -np.inf
        found = 0.0
        for m in range(self.n_classes):
            own = np.flatnonzero((self.C > 0) & (self.label == m))
            if not len(own):  # nothing keeps this intercept from falling
                return np.inf
            C, ahead = self.C[own], lead[own][:, np.arange(self.n_classes) != m]
            alone = losses / C + ahead.max(axis=1) + shift[own]
            most = float(C.max())
            share = C / most
            total, lost = float(share.sum()), summed(2 * len(own) + 8) * np.abs(ahead).max(axis=1)
            together = losses / most + float((share @ ahead).max()) + float(share @ (shift[own] + lost))
            found = max(found, min(together / total, float(alone.min())))
        return found

    def imbalance(self, alpha: FloatArray) -> float:
        """A bound on sum_i |sum_m alpha_im|, which is 0 but for rounding."""
        lost = summed(self.n_classes) * float(np.abs(alpha).sum())
        return float(np.abs(alpha.sum(axis=1)).sum()) + lost

    def masked(self, held: Array) -> Self:
        """The same problem without the rows ``held`` (bool), which keep their places."""
        return replace(self, C=np.where(held, 0.0, self.C))


@dataclass(frozen=True, eq=False)
class ShortfallProblem(AllClassesProblem):
    """Problems whose losses are made of shortfalls: piecewise linear, and smoothed by solvers."""

    #: Whether a row's classes share one bound (a simplex), or have one each (a box): what compiled loops need to know.
    shared_bound = True

    # A row's loss is the largest value of p . s over p in a set: its pushes, and where these share a bound, what they
    # leave of it as the weight of the row's own class. Solvers that smooth the loss project onto that set.

    @abstractmethod
    def weights(self, alpha: FloatArray) -> FloatArray:
        """p of dual variables alpha (n, classes), of which :meth:`alphas` makes alpha again."""

    @abstractmethod
    def nearest(self, z: FloatArray) -> FloatArray:
        """The p nearest to ``z`` (n, classes)."""

    @abstractmethod
    def between(self, p: FloatArray) -> Array:
        """Classes (n, classes) of bool in which :meth:`nearest` moves with z: those with p between its bounds."""

    @abstractmethod
    def coupling(self, between: Array, m: int, o: int) -> FloatArray:
        """By how much alpha_im falls where f_io rises by 1 and z with it; never positive for m != o."""

    def shortfalls(self, f: FloatArray) -> FloatArray:
        """s_im = 1 + f_im - f_iy, and 0 for m = y."""
        rows = np.arange(len(f))
        s = f - f[rows, self.label][:, None] + 1.0
        s[rows, self.label] = 0.0
        return s


@dataclass(frozen=True, eq=False)
class CrammerSingerProblem(ShortfallProblem):
    """The worst rival counts: L_i = max(0, max_{m != y} s_im)."""

    def slack(self, f, error=None):
        s = self.shortfalls(f)
        return s.max(axis=1) if error is None else np.maximum(self._raised(s, error).max(axis=1), 0.0)

    def _raised(self, s: FloatArray, error: FloatArray) -> FloatArray:
        """The largest shortfalls that errors in both scores allow; 0 for the row's own class."""
        raised = s + 2.0 * error[:, None]
        raised[np.arange(len(s)), self.label] = 0.0
        return raised

    def weights(self, alpha):
        p = self.pushes(alpha)
        p[np.arange(len(p)), self.label] = self.C - p.sum(axis=1)
        return p

    def nearest(self, z):
        # p = max(0, z - level) with the level that makes the sum C (Held, Wolfe and Crowder 1974)
        falling = -np.sort(-z, axis=1)
        levels = (np.cumsum(falling, axis=1) - self.C[:, None]) / np.arange(1, z.shape[1] + 1)
        count = np.maximum(np.count_nonzero(falling > levels, axis=1), 1)
        level = levels[np.arange(len(z)), count - 1]
        return np.where(self.C[:, None] > 0, np.maximum(z - level[:, None], 0.0), 0.0)

    def between(self, p):
        positive = p > 0
        return positive & (np.count_nonzero(positive, axis=1) > 1)[:, None]

    def coupling(self, between, m, o):
        share = float(m == o) - 1.0 / np.maximum(np.count_nonzero(between, axis=1), 1)
        return np.where(between[:, m] & between[:, o], share, 0.0)

    def row_gaps(self, f, alpha, error=None):
        s, p = self.shortfalls(f), self.weights(alpha)
        if error is None:
            return np.sum(np.maximum(p, 0.0) * (s.max(axis=1, keepdims=True) - s), axis=1)
        # every class against the largest of the others: none falls short of itself, whatever the error
        raised, rows = self._raised(s, error), np.arange(len(s))
        several = np.count_nonzero(alpha, axis=1) > 2  # rivals, whose sum is rounded
        p[rows, self.label] += np.where(several, summed(self.n_classes) * self.C, 0.0)
        first = raised.argmax(axis=1)
        largest = raised[rows, first]
        raised[rows, first] = -np.inf
        others = np.repeat(largest[:, None], s.shape[1], axis=1)
        others[rows, first] = raised.max(axis=1)
        lowered = s - 2.0 * error[:, None]
        lowered[rows, self.label] = 0.0
        return np.sum(np.maximum(p, 0.0) * np.maximum(others - lowered, 0.0), axis=1)

    def violations(self, f, alpha, room=0.0):
        s, p = self.shortfalls(f), self.weights(alpha)
        used = np.where(p > room * self.C[:, None], s, np.inf).min(axis=1)
        return np.where(self.C > 0, s.max(axis=1) - used, 0.0)


@dataclass(frozen=True, eq=False)
class WestonWatkinsProblem(ShortfallProblem):
    """Every rival counts: L_i = sum_{m != y} max(0, s_im)."""

    shared_bound = False

    def _ends(self, f: FloatArray, error: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """The least and the largest shortfalls that errors in both scores allow."""
        s = self.shortfalls(f)
        if error is None:
            return s, s
        width = np.repeat(2.0 * error[:, None], s.shape[1], axis=1)
        width[np.arange(len(s)), self.label] = 0.0
        return s - width, s + width

    def slack(self, f, error=None):
        return np.maximum(self._ends(f, error)[1], 0.0).sum(axis=1)

    def row_gaps(self, f, alpha, error=None):
        (low, high), a = self._ends(f, error), self.pushes(alpha)
        return np.sum((self.C[:, None] - a) * np.maximum(high, 0.0) + a * np.maximum(-low, 0.0), axis=1)

    def weights(self, alpha):
        return self.pushes(alpha)

    def nearest(self, z):
        p = np.clip(z, 0.0, self.C[:, None])
        p[np.arange(len(p)), self.label] = 0.0
        return p

    def between(self, p):
        return (p > 0) & (p < self.C[:, None])  # 0 in the column of the row's own class

    def coupling(self, between, m, o):
        if m == o:
            return np.where(self.label == m, np.count_nonzero(between, axis=1), between[:, m]).astype(np.float64)
        pulled = np.where(self.label == m, between[:, o], (self.label == o) & between[:, m])
        return -pulled.astype(np.float64)

    def violations(self, f, alpha, room=0.0):
        s, a = self.shortfalls(f), self.pushes(alpha)
        edge = room * self.C[:, None]
        rising = np.where(a < self.C[:, None] - edge, s, 0.0).max(axis=1)
        return np.maximum(rising, np.where(a > edge, -s, 0.0).max(axis=1))

    def bounded(self, a):
        return np.minimum(a, self.C[:, None])
