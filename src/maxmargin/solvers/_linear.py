"""What the solvers of linear models share: the point, the solution, its honest record, and conjugate gradients."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.backends import Design
from maxmargin.losses import Quadratic
from maxmargin.problems import LinearProblem, constants, relative
from maxmargin.solvers._base import Record, Status, Watch
from maxmargin.solvers.conjugate import conjugate_gradients

#: An estimate of the gap this near the goal is replaced by the gap of a feasible dual point.
NEAR = 3.0
#: An objective this small beside that of a model that has learned nothing is an optimum of 0.
NOTHING = 1e-14
#: Residual, relative, and steps at which conjugate gradients stop.
CG_TOL, CG_STEPS = 0.05, 250


@dataclass(frozen=True)
class LinearPoint:
    """Weights, intercept and dual variables of a linear model."""

    w: FloatArray  # (d,)
    intercept: float
    beta: FloatArray  # (n,)


@dataclass(frozen=True)
class LinearSolution:
    """A point and how it was reached."""

    point: LinearPoint
    status: Status
    n_iter: int
    history: tuple[Record, ...]
    seconds: float


def record_of(
    problem: LinearProblem,
    design: Design,
    point: LinearPoint,
    f: FloatArray,
    v: FloatArray,
    values: tuple[float, float],
    n_iter: int,
    watch: Watch,
    values_of: Callable[[FloatArray, FloatArray], tuple[float, float]],
    sparse: FloatArray | None = None,
) -> tuple[Record, LinearPoint]:
    """One line of history, and the point it is true of.

    ``values`` are the losses and the rows' gap at (f, beta), ``values_of`` gives those elsewhere. Far from the goal the
    gap is an estimate, in which an imbalance of beta is paid for at the rate of the intercept. Near it beta is made
    feasible, weights that a kink holds are set to 0 (``sparse``), and the gap is what it is.
    """
    seconds = time.perf_counter() - watch.began
    factor = problem.penalty.into_domain(v) if problem.has_dual else 1.0
    losses, rows = values if factor == 1 else values_of(f, factor * point.beta)
    primal = problem.penalty.value(point.w) + losses
    unbalanced = abs(float(point.beta.sum())) * max(1.0, abs(point.intercept)) if problem.fit_intercept else 0.0
    gap = rows + problem.weight_gap(point.w, factor * v) + unbalanced
    goal = watch.gap_tol if watch.gap_tol is not None else 0.0
    if relative(gap, primal, primal) > NEAR * goal and factor > 0.5:
        return Record(n_iter, seconds, primal, primal - gap, gap), point
    w = point.w if sparse is None else sparse
    best = made_feasible(problem, design, LinearPoint(w, point.intercept, point.beta))
    f = f if w is point.w else design.scores(w) + point.intercept
    losses, rows = values_of(f, best.beta)
    primal, gap = problem.penalty.value(w) + losses, rows + problem.weight_gap(w, design.combine(best.beta))
    return Record(n_iter, seconds, primal, primal - gap, gap), best


def noted(problem: LinearProblem, watch: Watch, record: Record, w: FloatArray) -> Status | None:
    """Record a round that ended at weights ``w``; a reason to stop, or None.

    An optimum of 0 has no relative gap: its rounding is enough. A start at w = 0 that the tolerance would accept (costs
    are small) but that is not the optimum has learned nothing yet: it takes a step.
    """
    status = watch.note(record)
    if record.primal <= NOTHING * problem.idle < np.inf:
        return Status.OPTIMAL
    untouched = record.iteration == 0 and record.gap > 0 and not w.any()
    return None if status is Status.OPTIMAL and untouched else status


def made_feasible(problem: LinearProblem, design: Design, point: LinearPoint) -> LinearPoint:
    """The point with its beta within bounds, balanced, and X' beta where the penalty's conjugate is finite."""
    beta = problem.feasible(point.beta)
    bounded = problem.has_dual and problem.penalty.quadratic == 0  # else the conjugate is finite everywhere
    factor = problem.penalty.into_domain(design.combine(beta)) if bounded else 1.0
    return LinearPoint(point.w, point.intercept, beta if factor == 1 else (1 - 1e-15) * factor * beta)


def stretched(problem: LinearProblem, design: Design, point: LinearPoint) -> LinearPoint:
    """A feasible start from the solution at smaller costs: as many times that as the dual objective asks for.

    Larger costs make dual variables grow, more or less all of them alike.
    """
    beta, loss, penalty = problem.feasible(point.beta), problem.loss, problem.penalty
    point = replace(point, beta=beta)
    if not (isinstance(loss, Quadratic) and penalty.name == "l2" and beta.any()):
        return point
    form, v = problem.form, design.combine(beta)
    gain = float(form.linear @ beta) - form.eps * float(np.abs(beta).sum())
    curvature = float(v @ v) / penalty.quadratic + float((form.ridge * beta) @ beta)
    used = np.flatnonzero(beta)
    room = float((np.where(beta > 0, form.upper, form.lower)[used] / beta[used]).min())
    factor = max(1.0, min(room, gain / curvature)) if curvature > 0 else 1.0
    return replace(point, beta=factor * beta)  # weights grow less, if at all: those who start at them are right to


def conclude(
    problem: LinearProblem, design: Design, point: LinearPoint, status: Status, n_iter: int, watch: Watch
) -> LinearSolution:
    """The solution at ``point``, whose beta is made feasible however the fit ended.

    Where several intercepts are best for its weights, it has the one in the middle, whichever solver found the weights.
    """
    point = made_feasible(problem, design, point)
    f = design.scores(point.w) if problem.fit_intercept else np.zeros(0)
    if problem.fit_intercept and not problem.settles_intercept(f + point.intercept):
        point = replace(point, intercept=problem.intercept(f, point.intercept))
        f += point.intercept
        primal = problem.primal(point.w, f)
        gap = problem.gap(point.w, f, point.beta, design.combine(point.beta))
        if watch.history:
            watch.history[-1] = watch.history[-1]._replace(primal=primal, dual=primal - gap, gap=gap)
    return LinearSolution(point, status, n_iter, tuple(watch.history), time.perf_counter() - watch.began)


def untouched(problems: Sequence[LinearProblem], d: int, watches: Sequence[Watch]) -> list[LinearSolution]:
    """The models of tasks whose turns came when the time was over: no weights, the best intercepts, no look at X."""
    models, w = [], np.zeros(d)
    for problem, watch, b in zip(problems, watches, constants(problems).tolist(), strict=True):
        beta, f = np.zeros(problem.n), np.full(problem.n, b)
        primal, gap = problem.primal(w, f), problem.gap(w, f, beta, w)
        status = watch.note(Record(0, time.perf_counter() - watch.began, primal, primal - gap, gap))
        seconds = time.perf_counter() - watch.began
        models.append(
            LinearSolution(LinearPoint(w, b, beta), status or Status.STOPPED, 0, tuple(watch.history), seconds)
        )
    return models


def weightless(problem: LinearProblem, d: int, watch: Watch) -> LinearSolution | None:
    """The model of targets that need no features, where there is one: an intercept alone that loses exactly nothing.

    No other model is as good, and any weights at all, as small as rounding leaves them, have an objective above 0.
    """
    n = len(problem.target)
    intercept = float(problem.target.min() + problem.target.max()) / 2 if problem.fit_intercept else 0.0
    for rows in (slice(0, 1), slice(None)):  # one row alone tells of most problems
        some = problem.on_rows(rows)
        if some.primal(np.zeros(d), np.full(some.n, intercept)) != 0:
            return None
    watch.note(Record(0, time.perf_counter() - watch.began, 0.0, 0.0, 0.0))
    point = LinearPoint(np.zeros(d), intercept, np.zeros(n))
    return LinearSolution(point, Status.OPTIMAL, 0, tuple(watch.history), time.perf_counter() - watch.began)


def solve_by_products(
    design: Design, diagonal: FloatArray, weight: FloatArray, rhs: FloatArray, bias: bool
) -> FloatArray:
    """An approximate solution of (diag + X'WX) x = rhs, bordered by the intercept's column of ones."""

    def multiply(columns: FloatArray) -> FloatArray:
        x = columns[:, 0]
        if not bias:
            return (diagonal * x + design.combine(weight * design.scores(x)))[:, None]
        inner = weight * (design.scores(x[:-1]) + x[-1])
        return np.append(diagonal * x[:-1] + design.combine(inner), inner.sum())[:, None]

    x = conjugate_gradients(multiply, np.copy, rhs[:, None], CG_TOL, CG_STEPS)[0][:, 0]
    return x if x.any() else rhs


def within(value: float, low: float, high: float) -> float:
    """The value of [low, high] nearest to ``value``; the middle if that is not a number."""
    return min(max(value, low), high) if np.isfinite(value) else (low + high) / 2
