"""Many classes in one problem: multinomial logistic regression, the softmax loss.

    min 1/2 sum_m ||w_m||^2 + sum_i C_i L_i,    L_i = log sum_m e^{s_im},    s_im = f_im - f_iy

with f_im = w_m . x_i + b_m, in natural logarithms. L_i = max over p in the simplex of p . s + H(p), where
H(p) = -sum_m p_m log p_m is the entropy (Boyd and Vandenberghe 2004, section 3.3), so the dual is

    max -1/2 sum_m ||sum_i alpha_im x_i||^2 + sum_i C_i H(p_i),    alpha_im = C_i (1[m = y] - p_im)

with sum_i alpha_im = 0 where there are intercepts, which are not penalised. A row adds to the gap C_i times the
Kullback-Leibler divergence of p from q = softmax(f): L + sum_m p_m (log p_m - s_m).

See "Multinomial logistic regression" in ``docs/theory.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from maxmargin._types import FloatArray
from maxmargin.kernels.rounding import UNIT, summed
from maxmargin.problems._all_classes import AllClassesProblem

#: Rounding steps, besides those that grow with the classes, between differences of scores and a row's share of the gap.
STEPS = 40


class _Row(NamedTuple):
    """A row's share of the gap over C, and the size of the numbers that it is a sum of."""

    share: FloatArray  # (n,)
    size: FloatArray  # (n,)


@dataclass(frozen=True, eq=False)
class SoftmaxProblem(AllClassesProblem):
    """L_i = log sum_m e^{f_im - f_iy}: the negative log-likelihood of the row's class."""

    def differences(self, f: FloatArray) -> FloatArray:
        """s_im = f_im - f_iy."""
        return f - f[np.arange(len(f)), self.label][:, None]

    def probabilities(self, f: FloatArray) -> FloatArray:
        """q = softmax(f), (n, classes)."""
        q = np.exp(f - f.max(axis=1, keepdims=True))
        return q / q.sum(axis=1, keepdims=True)

    def slopes(self, f: FloatArray) -> FloatArray:
        """alpha = C (e_y - q): minus the slopes of the losses, and the dual point that scores suggest.

        The value of a row's own class is the sum of the others, so that no digit is lost where q_y is nearly 1.
        """
        return self.alphas(self.C[:, None] * self.probabilities(f))

    def slack(self, f, error=None):
        s = self.differences(f)
        if error is not None:
            s = s + 2.0 * error[:, None]
            s[np.arange(len(s)), self.label] = 0.0
        return _log_sum(s)

    def row_gaps(self, f, alpha, error=None):
        s, p = self.differences(f), np.maximum(self.pushes(alpha), 0.0) / np.maximum(self.C, 1e-300)[:, None]
        row = self._divergence(s, p)
        if error is None:
            return self.C * row.share
        # a convex function of s with the slopes q - p; its second derivative along a change of at most 2 error is at
        # most (2 error)^2, the largest variance of a number between the two ends
        q, k = self.probabilities(f), self.n_classes
        rises = np.abs(q - p)
        rises[np.arange(len(s)), self.label] = 0.0
        more = 2.0 * error * (rises.sum(axis=1) + summed(4 * k + STEPS)) + 2.0 * np.square(error)
        return self.C * (row.share + more + summed(4 * k + STEPS) * row.size)

    def _divergence(self, s: FloatArray, p: FloatArray) -> _Row:
        """L + sum_m p_m (log p_m - s_m); ``p`` is 0 in the column of the row's class, which has what the others leave.

        Sizes say how far off rounding can leave it, in units of some dozens of roundings: of every term, and of what
        the sum t of the others, which is not exact, does to (1 - t) log(1 - t).
        """
        t = p.sum(axis=1)
        rest = np.log1p(-np.minimum(t, 1.0 - UNIT))
        losses, entropies = _log_sum(s), xlogy(p, p)
        share = losses + (entropies - p * s).sum(axis=1) + np.maximum(1.0 - t, 0.0) * rest
        size = losses + (np.abs(entropies) + np.abs(p * s) + p).sum(axis=1) + np.abs(rest)
        return _Row(np.maximum(share, 0.0), size)

    def violations(self, f, alpha, room=0.0):
        away = np.abs(self.slopes(f) - alpha).max(axis=1)
        return np.where(self.C > 0, away / np.maximum(self.C, 1e-300), 0.0)


def _log_sum(s: FloatArray) -> FloatArray:
    """log sum_m e^{s_m} of rows in which some s_m is 0: a sum of non-negative numbers, so exact to some roundings."""
    rows, largest = np.arange(len(s)), s.argmax(axis=1)
    top = s[rows, largest]
    others = np.exp(s - top[:, None])
    others[rows, largest] = 0.0
    found: FloatArray = top + np.log1p(others.sum(axis=1))
    return found
