"""A linear machine on one partition: scores and dual variables of its rows, and its share of every sum over the rows.

Rows meet weights here and nowhere else: X w, X' beta and X' D X of the partition. What leaves it are d numbers, d x d
at most, and sums. The losses of the rows are those of :mod:`maxmargin.solvers._smoothing`, on these rows alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray, RowData
from maxmargin._validation import Scaling, scaled
from maxmargin.backends import Design, backend_for, single_threaded_blas
from maxmargin.certificates import LinearPart, largest_values, linear_part, linear_sums
from maxmargin.distributed._seat import Seat
from maxmargin.distributed._tasks import Lost
from maxmargin.estimators.interface import Labels, Training
from maxmargin.problems import LinearProblem
from maxmargin.solvers import RowLosses, smooth_rows

#: Rows that are scaled, or taken out of a partition, at a time.
HEIGHT = 8192


class LinearPlan(NamedTuple):
    """What a partition must know of a fit."""

    machine: Any
    cost: float
    scaling: Scaling | None
    labels: Labels | None
    height: float  # unit of the scores: 1, or the spread of the targets

    def problems(self, seat: Seat, rows: RowData) -> list[tuple[IntArray, LinearProblem]]:
        """(rows of the partition, problem) of every task."""
        labels, kept, y = self.labels, seat.kept, seat.y
        if labels is not None:
            label = np.searchsorted(labels.classes, y[kept])
            counts = labels.factors[label] > 0
            labels, kept = replace(labels, label=label[counts]), kept[counts]
        else:
            y = y.astype(np.float64)
        data = Training(rows, y, seat.weight[kept], kept, seat.n, extra=labels)
        problems, where = self.machine._problems(data, self.cost)
        return [(kept if own is None else kept[own], p) for own, p in zip(where, problems, strict=True)]


@dataclass
class LinearState:
    """One task on this partition."""

    index: IntArray  # its rows
    problem: LinearProblem
    rows: RowLosses
    f: FloatArray
    beta: FloatArray
    version: int
    df: FloatArray | None = None
    along: Callable[[float], float] | None = None
    best: FloatArray | None = None  # feasible dual variables
    steps: Any = None  # of the slope along shifts of all scores, once the fit is over


class Point(NamedTuple):
    """Weights and intercept."""

    w: FloatArray
    b: float


class Sums(NamedTuple):
    """A partition's share of what a round must know."""

    beta: float
    mass: float  # sum |beta|
    losses: float
    gap: float
    v: FloatArray  # X' beta


class Sides(NamedTuple):
    """What balancing the dual variables must know: sums of each sign, of all and of those inside their bounds."""

    positive: float
    negative: float
    positive_inside: float
    negative_inside: float


def designs(rows: RowData, index: IntArray, scaling: Scaling | None) -> Iterator[tuple[slice, Design]]:
    """The rows ``index`` as the problem sees them; whole where they are that, else a block at a time."""
    backend = backend_for("cpu")
    if scaling is None and len(index) == rows.shape[0]:
        yield slice(0, len(index)), backend.design(rows)
        return
    whole = len(index) == rows.shape[0]
    for first in range(0, len(index), HEIGHT):
        at = slice(first, min(first + HEIGHT, len(index)))
        yield at, backend.design(scaled(rows[at] if whole else rows[index[at]], scaling))


def product(plan: LinearPlan, rows: RowData, index: IntArray, w: FloatArray) -> FloatArray:
    """X w."""
    out = np.zeros(len(index))
    for at, design in designs(rows, index, plan.scaling):
        out[at] = design.scores(w)
    return out


def combined(plan: LinearPlan, rows: RowData, index: IntArray, beta: FloatArray) -> FloatArray:
    """X' beta."""
    total = np.zeros(rows.shape[1])
    for at, design in designs(rows, index, plan.scaling):
        total += design.combine(beta[at])
    return total


def _tasks(seat: Seat, rows: RowData, plan: LinearPlan) -> list[tuple[IntArray, LinearProblem]]:
    states = seat.states
    if "problems" not in states:
        states["problems"] = plan.problems(seat, rows)
    return states["problems"]


def begin(
    seat: Seat, rows: RowData, plan: LinearPlan, task: int, point: Point, narrow: float, version: int, start: Any
) -> tuple[int, float, float]:
    """The state of a task at a point; (number of rows, cost of all, loss of a model that has learned nothing)."""
    index, problem = _tasks(seat, rows, plan)[task]
    kept = None
    if start is not None:
        kept = np.zeros(len(index))
        place = np.searchsorted(index, start[0])
        kept[place] = start[1]
        kept = np.clip(kept, *problem.bounds)
    losses = smooth_rows(backend_for("cpu"), problem, kept, height=plan.height)
    if narrow != 1.0:
        losses.tighten(losses.centre, narrow)  # type: ignore[attr-defined]  # what is narrowed has a centre
    f = product(plan, rows, index, point.w) + point.b
    seat.states[task] = LinearState(index, problem, losses, f, losses.slopes(f), version)
    return len(index), float(problem.C.sum()), problem.idle


def column_squares(seat: Seat, rows: RowData, plan: LinearPlan, task: int) -> FloatArray:
    """sum_i x_ij^2."""
    total = np.zeros(rows.shape[1])
    for _, design in designs(rows, _tasks(seat, rows, plan)[task][0], plan.scaling):
        total += design.column_squares
    return total


def _state(seat: Seat, task: int, version: int) -> Any:
    state = seat.states.get(task)
    return state if isinstance(state, LinearState) and state.version == version else None


def look(seat: Seat, rows: RowData, plan: LinearPlan, task: int, version: int, step: float, narrower: float) -> Any:
    """Go ``step`` along the direction, or make parabolas narrower; then all sums at this point."""
    state = seat.states.get(task)
    if not isinstance(state, LinearState) or state.version not in (version, version - 1):
        return Lost()
    if state.version < version:
        if step:
            if state.df is None:
                return Lost()
            state.f = state.f + step * state.df
        if narrower != 1.0:
            state.rows.tighten(state.beta, narrower)
        state.version, state.df, state.along = version, None, None
        state.beta = state.rows.slopes(state.f)
    losses, gap = state.rows.values(state.f, state.beta)
    v = combined(plan, rows, state.index, state.beta)
    return Sums(float(state.beta.sum()), float(np.abs(state.beta).sum()), losses, gap, v)


def curvature(seat: Seat, rows: RowData, plan: LinearPlan, task: int, version: int) -> Any:
    """(X'DX upper, X'D1, sum D, largest curvature of a row)."""
    state = _state(seat, task, version)
    if state is None:
        return Lost()
    weight = state.rows.curvature(state.f, state.beta)
    d = rows.shape[1]
    matrix, border, part = np.zeros((d, d)), np.zeros(d), np.empty((d, d))
    if weight.any():
        with single_threaded_blas():
            for at, design in designs(rows, state.index, plan.scaling):
                design.upper_curvature(weight[at], part)
                matrix += part
                border += design.combine(weight[at])
    largest = state.rows.largest if len(weight) else 0.0
    return matrix, border, float(weight.sum()), largest


def curvature_times(
    seat: Seat, rows: RowData, plan: LinearPlan, task: int, version: int, x: FloatArray, shift: float
) -> Any:
    """(X' D (X x + shift), sum of D (X x + shift)): a product with the matrix that is too large to be formed."""
    state = _state(seat, task, version)
    if state is None:
        return Lost()
    weight, total, whole = state.rows.curvature(state.f, state.beta), np.zeros(len(x)), 0.0
    for at, design in designs(rows, state.index, plan.scaling):
        inner = weight[at] * (design.scores(x) + shift)
        total += design.combine(inner)
        whole += float(inner.sum())
    largest = state.rows.largest if len(weight) else 0.0
    return total, whole, float(weight.sum()), largest


def direct(seat: Seat, rows: RowData, plan: LinearPlan, task: int, version: int, dw: FloatArray, db: float) -> Any:
    """Take a direction; the slope of the losses at its end."""
    state = _state(seat, task, version)
    if state is None:
        return Lost()
    state.df = product(plan, rows, state.index, dw) + db
    state.along = state.rows.along(state.f, state.df, state.beta)
    return state.along(1.0)


def along(seat: Seat, rows: RowData, task: int, version: int, step: float) -> Any:
    """The slope of the losses on the way."""
    state = _state(seat, task, version)
    return Lost() if state is None or state.along is None else state.along(step)


# -- dual variables that are feasible ---------------------------------------------------------------------------------


def sides(seat: Seat, rows: RowData, task: int, version: int) -> Any:
    """What balancing must know, of dual variables within their bounds."""
    state = _state(seat, task, version)
    if state is None:
        return Lost()
    lower, upper = state.problem.bounds
    beta = state.best = np.clip(state.beta, lower, upper)
    inside = (beta > lower) & (beta < upper)
    return Sides(
        *(float(beta[where].sum()) for where in (beta > 0, beta < 0, (beta > 0) & inside, (beta < 0) & inside))
    )


def balanced(
    seat: Seat, rows: RowData, plan: LinearPlan, task: int, version: int, sign: int, only_inside: bool, factor: float
) -> Any:
    """Scale the variables of one sign; X' beta afterwards."""
    state = _state(seat, task, version)
    if state is None:
        return Lost()
    lower, upper = state.problem.bounds
    beta = np.clip(state.beta, lower, upper)  # from the beginning: the call may come twice
    if sign:
        chosen = np.sign(beta) == sign
        if only_inside:
            chosen &= (beta > lower) & (beta < upper)
        beta[chosen] *= factor
    state.best = beta
    return combined(plan, rows, state.index, beta)


def feasible_values(
    seat: Seat, rows: RowData, plan: LinearPlan, task: int, version: int, factor: float, point: Point | None
) -> Any:
    """(losses, gap of the rows) of ``factor`` times the feasible variables at the scores, or at those of a point."""
    state = _state(seat, task, version)
    if state is None or state.best is None:
        return Lost()
    f = state.f if point is None else product(plan, rows, state.index, point.w) + point.b
    return state.rows.values(f, factor * state.best)


def settles(seat: Seat, rows: RowData, task: int, version: int) -> Any:
    """Whether a row settles the intercept."""
    state = _state(seat, task, version)
    return Lost() if state is None else state.problem.n > 0 and state.problem.settles_intercept(state.f)


def slopes_at(seat: Seat, rows: RowData, task: int, version: int, shifts: FloatArray) -> Any:
    """(sum of the losses' slopes, sum of their sizes) at the scores, moved by each of the shifts."""
    state = _state(seat, task, version)
    if state is None:
        return Lost()
    problem, found = state.problem, []
    if not problem.loss.smooth:  # made of lines: the slope is a sum of steps
        if state.steps is None:
            state.steps = _steps(problem, state.f)
        kinks, sums, size = state.steps
        return np.column_stack([sums[np.searchsorted(kinks, shifts)], np.full(len(shifts), size)])
    for shift in shifts.tolist():
        slopes = problem.C * problem.loss.subgradient(problem.target, state.f + shift)
        found.append((float(slopes.sum()), float(np.abs(slopes).sum())))
    return np.array(found).reshape(-1, 2)


def _steps(problem: LinearProblem, f: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """(shifts at which the slope of a loss made of lines changes, the slope before and after each, size of all)."""
    form = problem.form
    kinks = np.concatenate([form.linear - form.eps - f, form.linear + form.eps - f])
    order = np.argsort(kinks)
    steps = np.concatenate([form.upper, -form.lower])[order]
    first = float(form.upper.sum())
    return kinks[order], np.concatenate([[-first], np.cumsum(steps) - first]), first - float(form.lower.sum())


def duals(seat: Seat, rows: RowData, task: int, version: int, factor: float) -> Any:
    """(numbers in the partition, values) of the feasible dual variables that are not 0."""
    state = _state(seat, task, version)
    if state is None or state.best is None:
        return Lost()
    used = np.flatnonzero(state.best)
    return state.index[used], factor * state.best[used]


def done(seat: Seat, rows: RowData, task: int) -> None:
    """Forget a task."""
    seat.states.pop(task, None)


# -- the proof --------------------------------------------------------------------------------------------------------


class LinearClaim(NamedTuple):
    """What a model says of one task: its published weights and intercept, and dual variables of one partition."""

    coef: FloatArray
    intercept: float
    numbers: IntArray
    values: FloatArray

    def beta(self, index: IntArray) -> Array:
        """On the rows ``index`` of the partition."""
        order = np.argsort(index, kind="stable")
        beta = np.zeros(len(index))
        beta[order[np.searchsorted(index[order], self.numbers)]] = self.values
        return beta


def judged_sums(seat: Seat, rows: RowData, plan: LinearPlan, task: int, claim: LinearClaim) -> Any:
    """(X' beta, bounds on its errors, largest values of the columns, sum beta), afresh."""
    index, problem = _tasks(seat, rows, plan)[task]
    X = rows if len(index) == rows.shape[0] else rows[index]
    beta = np.clip(claim.beta(index), *problem.bounds)
    return *linear_sums(X, plan.scaling, beta), largest_values(X, plan.scaling), math.fsum(beta.tolist())


def judged(seat: Seat, rows: RowData, plan: LinearPlan, task: int, claim: LinearClaim, factor: float) -> LinearPart:
    """This partition's part of the certificate."""
    index, problem = _tasks(seat, rows, plan)[task]
    X = rows if len(index) == rows.shape[0] else rows[index]
    beta = factor * np.clip(claim.beta(index), *problem.bounds)
    return linear_part(X, plan.scaling, problem, claim.coef, claim.intercept, beta)


def target_moments(seat: Seat, rows: RowData) -> tuple[float, float, float]:
    """(weight, mean, weighted squares around it) of the targets that count."""
    weight = seat.weight[seat.kept]
    total = float(weight.sum())
    if total == 0:
        return 0.0, 0.0, 0.0
    y = seat.y[seat.kept].astype(np.float64)
    mean = float(weight @ y) / total
    return total, mean, float(weight @ np.square(y - mean))
