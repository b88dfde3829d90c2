"""Crammer and Singer's machine (M21): many classes in one problem.

    min 1/2 sum_m ||w_m||^2 + sum_i C_i max_m (1[m != y_i] + f_im - f_iy),    f_im = w_m . x_i + b_m

Dual: alpha_im <= C_i 1[m = y_i], sum_m alpha_im = 0, w_m = sum_i alpha_im x_i, and sum_i alpha_im = 0 with intercepts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._types import FloatArray, IntArray

#: Intercepts are proven optimal among those up to this many times the largest one, or 1.
REACH = 10.0


@dataclass(frozen=True, eq=False)
class CrammerSingerProblem:
    """Labels 0 .. n_classes - 1, costs, and whether there are (unpenalised) intercepts."""

    label: IntArray  # (n,)
    C: FloatArray  # (n,)
    n_classes: int
    fit_intercept: bool = True

    def margins(self, f: FloatArray) -> FloatArray:
        """f_im + 1[m != y_i]: the largest of a row, less its own class's, is its slack."""
        out = f + 1.0
        out[np.arange(len(f)), self.label] -= 1.0
        return out

    def primal(self, W: FloatArray, f: FloatArray) -> float:
        """Objective at weights (classes, d) and scores (n, classes)."""
        return 0.5 * float(np.vdot(W, W)) + float(self.C @ self.slack(f))

    def slack(self, f: FloatArray) -> FloatArray:
        """max_m (1[m != y_i] + f_im - f_iy) of every row."""
        g = self.margins(f)
        return g.max(axis=1) - g[np.arange(len(f)), self.label]

    def gap(self, f: FloatArray, alpha: FloatArray, b: FloatArray) -> float:
        """primal - dual at w = w(alpha), a sum of non-negative terms.

        Row i: sum_m p_im (max_k g_ik - g_im) with p = C_i 1[m = y_i] - alpha >= 0. What is left of sum_i alpha_im = 0
        is paid for as if every |b_m| up to B = 10 max(1, |b|) were allowed: B |s_m| - b_m s_m.
        """
        g = self.margins(f)
        p = -alpha.copy()
        p[np.arange(len(f)), self.label] += self.C
        rows = float(np.sum(np.maximum(p, 0.0) * (g.max(axis=1, keepdims=True) - g)))
        if not self.fit_intercept:
            return rows
        left = alpha.sum(axis=0)
        reach = REACH * max(1.0, float(np.abs(b).max(initial=0.0)))
        return rows + float(np.sum(reach * np.abs(left) - b * left))

    def infeasibility(self, alpha: FloatArray) -> float:
        """Largest violation of the rows' constraints, relative to C."""
        over = alpha.copy()
        over[np.arange(len(alpha)), self.label] -= self.C
        worst = max(float(over.max(initial=0.0)), float(np.abs(alpha.sum(axis=1)).max(initial=0.0)))
        return worst / max(float(self.C.max(initial=0.0)), 1e-300)
