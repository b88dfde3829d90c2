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
#: How often a proven gap is used to prove a smaller one, and factors that make up for rounding.
TIGHTENED, WIDER, SPARED = 3, 1.0 + 2.0**-20, 2.0**-20


def judge_all_classes(
    problem: AllClassesProblem,
    square: tuple[float, float],
    f: FloatArray,
    error: FloatArray,
    alpha: FloatArray,
    intercept: FloatArray,
    size: FloatArray,
    definite: Definiteness | None = None,
    distance: float = 0.0,
) -> Certificate:
    """From sum_m ||w_m||^2 and its error bound, the scores f (n, classes) with intercepts, alpha and ||phi(x)|| (n,).

    Scores are off by at most ``error`` (n,). Judged is the dual point beside alpha that is inside its bounds; where w
    is not that point's, ``distance`` is at least 1/2 the square of how far it is.
    """
    reach = np.abs(f).max(axis=1, initial=0.0) + float(np.abs(intercept).max(initial=0.0)) + 1.0
    error, n = error + STEPS * UNIT * reach, f.size
    feasible, alpha = problem.infeasibility(alpha) <= FEASIBILITY_TOL, problem.inside(alpha)
    middle = problem.primal(square[0], f)
    # costs are convex in the scores: they can fall by no more than they can rise
    spread = problem.primal(square[0], f, error) - middle + 0.5 * square[1] + summed(n + 20) * middle
    gap, apart = _gap(problem, middle + spread, square[0] + square[1], f, error, alpha, size, distance)
    here = problem.gap(f, alpha, apart=apart)
    definite = definite or Definiteness(True)
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


def _gap(
    problem: AllClassesProblem,
    primal: float,
    square: float,
    f: FloatArray,
    error: FloatArray,
    alpha: FloatArray,
    size: FloatArray,
    distance: float,
) -> tuple[float, float]:
    """(the gap, the spread of optimal intercepts around the model's, which it is charged for).

    No better point has 1/2 ||w*||^2 > primal, so that w* is at most ||w|| + sqrt(2 primal) away. The objective is
    strongly convex in w: once some gap is proven, the optimal w is at most sqrt(2 gap) away, and costs at least
    1/2 (||w|| - sqrt(2 gap))^2, which leaves less for the losses. So one proof leads to a better one.
    """
    if not problem.fit_intercept:
        return problem.gap(f, alpha, error) * (1.0 + summed(f.size + 10)) + distance, 0.0
    norm, primal = float(np.sqrt(max(square, 0.0))), max(primal, 0.0)
    away, apart, gap = norm + float(np.sqrt(2.0 * primal)), np.inf, np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(1 + TIGHTENED):
            least = max(norm - away * WIDER, 0.0)
            losses = primal - 0.5 * (1.0 - SPARED) * least * least
            shift = WIDER * np.sqrt(2.0) * away * size + 4.0 * error
            apart = min(apart, problem.apart(losses * WIDER, f, shift) * WIDER)
            gap = problem.gap(f, alpha, error, apart) * (1.0 + summed(f.size + 10)) + distance
            if not np.isfinite(gap):
                break
            away = min(away, float(np.sqrt(2.0 * gap)))
    return float(gap), float(apart)
