"""Certificate of a problem for all classes at once, from scores that the caller has computed."""

from __future__ import annotations

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.certificates._certificate import Certificate, Definiteness
from maxmargin.kernels.rounding import UNIT, summed
from maxmargin.problems import FEASIBILITY_TOL, AllClassesProblem, relative

#: Dual variables within this relative distance of a bound count as on it when the KKT violation is measured.
SNAP = 1e-6
#: Rounding steps between a score and its cost.
STEPS = 8


def judge_all_classes(
    problem: AllClassesProblem,
    square: tuple[float, float],
    f: FloatArray,
    error: FloatArray,
    alpha: FloatArray,
    intercept: FloatArray,
    definite: Definiteness | None = None,
    distance: float = 0.0,
) -> Certificate:
    """From sum_m ||w_m||^2 and its error bound, the scores f (n, classes) with intercepts, and alpha.

    Scores are off by at most ``error`` (n,). Where w is not w(alpha), ``distance`` is at least 1/2 ||w - w(alpha)||^2.
    Intercepts are proven optimal among those that are at most ten times as large.
    """
    reach = np.abs(f).max(axis=1, initial=0.0) + float(np.abs(intercept).max(initial=0.0)) + 1.0
    error, n = error + STEPS * UNIT * reach, f.size
    middle, here = problem.primal(square[0], f), problem.gap(f, alpha, intercept)
    # costs are convex in the scores: they can fall by no more than they can rise
    spread = problem.primal(square[0], f, error) - middle + 0.5 * square[1] + summed(n + 20) * middle
    gap = problem.gap(f, alpha, intercept, error) * (1.0 + summed(n + 10)) + distance
    feasible, definite = problem.infeasibility(alpha) <= FEASIBILITY_TOL, definite or Definiteness(True)
    primal, dual = middle + spread, middle - spread - gap
    finite = bool(np.isfinite([primal, gap]).all())
    reason = "" if feasible else "the dual point is not feasible"
    return Certificate(
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=relative(gap, primal, dual),
        kkt=float((problem.violations(f, alpha, SNAP) + 4 * error).max(initial=0.0)),
        feasible=feasible,
        holds=feasible and finite and definite.psd,
        reason=reason or definite.reason or ("" if finite else "not finite"),
        error_bound=float(error.max(initial=0.0)),
        judged=definite.judged,
        rounding=gap - here - distance,
    )
