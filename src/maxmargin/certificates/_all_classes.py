"""Certificate of one problem for all classes, from scores that were computed here or by whoever judges."""

from __future__ import annotations

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.certificates._certificate import Certificate, Definiteness
from maxmargin.problems import FEASIBILITY_TOL, AllClassesProblem, relative

#: Dual variables this close to a bound, relatively, are on it when the KKT violation is measured.
SNAP = 1e-6


def judge_all_classes(
    problem: AllClassesProblem,
    square: float,
    f: FloatArray,
    alpha: FloatArray,
    intercept: FloatArray,
    definite: Definiteness | None = None,
    distance: float = 0.0,
) -> Certificate:
    """From sum_m ||w_m||^2, the scores f (n, classes) with intercepts, and alpha.

    ``distance`` is 1/2 ||w - w(alpha)||^2, where w is another one. Intercepts are proven optimal among those of up to
    ten times the size.
    """
    primal = problem.primal(square, f)
    gap = problem.gap(f, alpha, intercept) + distance
    feasible, definite = problem.infeasibility(alpha) <= FEASIBILITY_TOL, definite or Definiteness(True)
    finite = bool(np.isfinite([primal, gap]).all())
    reason = "" if feasible else "the dual point is not feasible"
    return Certificate(
        primal=primal,
        dual=primal - gap,
        gap=gap,
        relative_gap=relative(gap, primal, primal - gap),
        kkt=float(problem.violations(f, alpha, SNAP).max(initial=0.0)),
        feasible=feasible,
        holds=feasible and finite and definite.psd,
        reason=reason or definite.reason or ("" if finite else "not finite"),
    )
