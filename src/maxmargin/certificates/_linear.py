"""Certificates of linear models: scores and X' beta are computed here, from the data, in float64."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin._stop import heed
from maxmargin._types import Array, FloatArray, RowData
from maxmargin._validation import Scaling
from maxmargin.certificates._all_classes import judge_all_classes
from maxmargin.certificates._certificate import Certificate
from maxmargin.certificates._linear_rows import RowValues, off_rows, over_rows
from maxmargin.certificates._scores import ROOM, UNDERFLOW, norms
from maxmargin.delivered import LinearDelivered, LinearTrained
from maxmargin.kernels.rounding import UNIT, summed, terms
from maxmargin.penalties import Penalty
from maxmargin.problems import FEASIBILITY_TOL, AllClassesProblem, LinearProblem, relative, two_sum

#: Values of X that are converted to float64 at a time.
BLOCK_VALUES = 2**17
#: Dense rows that are put side by side to find the largest values of their columns.
SIDE_BY_SIDE = 64
#: Errors of the scores of sparse rows, in margins, from which on a third pass over X for a closer bound is worth it.
CRUDE = 1e-9
#: Rounding steps between a score and its cost.
STEPS = 4


def certify_linear_tasks(trained: LinearTrained) -> list[Certificate]:
    """One certificate per task of a fitted linear model."""
    if trained.fitted.single:
        return [judge_linear_all_classes(trained.X, *trained.all_classes(), trained.scaling)]
    return judge_linear(trained.X, trained.tasks(), trained.scaling)


def judge_linear(X: RowData, tasks: Sequence[LinearDelivered], scaling: Scaling | None = None) -> list[Certificate]:
    """Certificates of tasks on rows of ``X``; X is read twice, however many tasks there are on all of its rows.

    Where a task brings no dual point one is made from the slopes of the losses, which is sharp for smooth losses and
    pessimistic at kinks.
    """
    scaling = scaling or Scaling.none(X.shape[1])
    if any(task.rows is not None for task in tasks):
        return list(_one_by_one(X, tasks, scaling))
    products = Products(X, scaling, centred=all(task.problem.fit_intercept for task in tasks))
    b = np.array([task.intercept for task in tasks])
    f, error, drift = products.scores(np.column_stack([task.coef for task in tasks]), b)
    beta = np.column_stack([_dual_point(task, f[:, k]) for k, task in enumerate(tasks)])
    v, off = products.combined(beta)
    return [
        (_hard_margin if np.isinf(task.problem.C).any() else _judged)(
            task.problem, task.coef * scaling.scale, f[:, k], float(error[k]), beta[:, k], v[:, k], off[:, k],
            products.largest, 0.0 if task.problem.fit_intercept else float(drift[k]),
        )
        for k, task in enumerate(tasks)
    ]  # fmt: skip


def _one_by_one(X: RowData, tasks: Sequence[LinearDelivered], scaling: Scaling) -> Iterator[Certificate]:
    """Certificates of tasks on rows of their own."""
    values = 0  # of X that were read since somebody could ask to stop
    for task in tasks:
        if values >= BLOCK_VALUES:
            heed()
            values = 0
        rows = X if task.rows is None else X[task.rows]
        values += rows.size
        yield judge_linear(rows, [task._replace(rows=None)], scaling)[0]


def _dual_point(task: LinearDelivered, f: FloatArray) -> FloatArray:
    """The task's dual point, or one that its losses suggest, within its bounds and balanced but for rounding."""
    problem = task.problem
    if task.beta is not None and np.isinf(problem.C).any():  # a hard margin: dual variables have no upper bounds
        return problem.target * np.maximum(problem.target * task.beta, 0.0)
    if task.beta is None:
        beta = problem.feasible(problem.slopes(f))
    else:
        beta = np.clip(task.beta, *problem.bounds)
    if problem.fit_intercept and 0 < problem.imbalance(beta) <= FEASIBILITY_TOL:
        rest, (lower, upper) = math.fsum(beta.tolist()), problem.bounds
        room = (beta - rest >= lower) & (beta - rest <= upper) & (beta != 0)
        if room.any():  # one row makes up for what rounding has left
            beta[int(np.argmin(np.where(room, off_rows(problem, f, beta), np.inf)))] -= rest
    return beta


def _judged(
    problem: LinearProblem,
    w: FloatArray,
    f: FloatArray,
    error: float,
    beta: FloatArray,
    v: FloatArray,
    off_v: FloatArray,
    largest: FloatArray,
    drift: float,
) -> Certificate:
    """From scores within ``error`` and sums v = X' beta within ``off_v`` of the true ones.

    ``drift`` is the intercept that rounding leaves where there should be none; sum beta times it belongs to the gap.
    """
    rest = abs(math.fsum(beta.tolist())) if problem.fit_intercept else 0.0
    off_v = off_v + rest * largest
    factor = shrunk(problem, v, off_v)
    beta, v = factor * beta, factor * v
    rows = over_rows(problem, f, error + _slips(problem, w, f), beta)
    farthest, balanced = float(np.abs(f).max(initial=0.0)), problem.imbalance(beta) <= FEASIBILITY_TOL
    whole = RowSums(len(f), rows, rest, float(np.abs(beta).sum()), farthest, balanced)
    return verdict(problem, w, v, off_v, largest, error, drift, whole)


class RowSums(NamedTuple):
    """What a certificate must know of the rows."""

    n: int
    values: RowValues
    rest: float  # |sum beta|, which an intercept wants to be 0
    mass: float  # sum |beta|
    farthest: float  # the largest |f|
    balanced: bool


def shrunk(problem: LinearProblem, v: FloatArray, off_v: FloatArray) -> float:
    """The factor of beta that keeps X' beta in the dual's domain, whatever rounding did."""
    if not problem.has_dual:
        return 1.0
    factor = problem.penalty.into_domain(np.abs(v) + off_v)
    return factor if factor == 1.0 else factor * (1.0 - summed(8))


def verdict(
    problem: LinearProblem,
    w: FloatArray,
    v: FloatArray,
    off_v: FloatArray,
    largest: FloatArray,
    error: float,
    drift: float,
    whole: RowSums,
) -> Certificate:
    """From sums over the rows; ``problem`` is asked for its loss and penalty alone."""
    n, rows, rest, balanced = whole.n, whole.values, whole.rest, whole.balanced
    here = rows.gap + problem.weight_gap(w, v)  # infinite outside the dual's domain
    spread = rows.raised + _weights_raised(problem, w, v, off_v)
    spread += drift * whole.mass
    spread += 2 * ROOM * rest * (rows.off + whole.farthest * summed(8)) + 4 * UNIT * rows.push
    gap = (here + spread) * (1.0 + summed(n + 20))
    penalty = problem.penalty.value(w)
    middle = penalty + rows.losses
    width = rows.costlier + summed(n + 20) * middle + summed(len(w) + 8) * penalty
    primal, dual = middle + width, middle - width - gap if np.isfinite(gap) else -np.inf
    feasible = balanced and np.isfinite(gap)
    finite = bool(np.isfinite([primal, gap]).all())
    reason = "" if feasible else "the dual point is not feasible"
    if not problem.has_dual:
        feasible = False
        reason = (
            "without a penalty the dual asks for X' beta = 0, which rounding does not allow; the gap is an estimate"
        )
    return Certificate(
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=relative(gap, primal, dual),
        kkt=max(rows.off + error, float((_off_weights(problem.penalty, w, v) * largest).max(initial=0.0))),
        feasible=bool(feasible),
        holds=bool(feasible and finite),
        reason=reason or ("" if finite else "not finite"),
        error_bound=error,
        rounding=gap - here if np.isfinite(gap) else 0.0,
    )


def _hard_margin(
    problem: LinearProblem,
    w: FloatArray,
    f: FloatArray,
    error: float,
    beta: FloatArray,
    v: FloatArray,
    off_v: FloatArray,
    largest: FloatArray,
    drift: float,
) -> Certificate:
    """For a hard margin: w / margin, which reaches 1 on every row, against sum alpha - 1/2 ||v||^2.

    Their difference is sum alpha_i (margin_i / margin - 1) + 1/2 ||w / margin - v||^2, all terms >= 0.
    """
    n, alpha, margins = len(f), np.abs(beta), problem.target * f
    errors = error + STEPS * UNIT * np.abs(f)
    margin, here = float((margins - errors).min()), float(margins.min())
    rest = abs(math.fsum(beta.tolist())) if problem.fit_intercept else 0.0
    balanced = rest <= FEASIBILITY_TOL * float(alpha.sum())
    off_v = off_v + rest * largest
    rounding = 1.0 + summed(n + len(w) + 20)
    dual = float(alpha.sum()) / rounding - rest - 0.5 * float(np.square(np.abs(v) + off_v).sum()) * rounding
    primal = 0.5 * float(w @ w) / margin / margin * rounding if margin > 0 else np.inf
    gap = exact = np.inf
    if margin > 0:
        share = np.maximum((margins + errors) / margin - 1.0, 0.0)
        away = np.abs(w / margin - v)
        gap = float(alpha @ share) + 0.5 * float(np.square(away + off_v + 4 * UNIT * np.abs(v)).sum())
        gap = gap * rounding + rest * float(share.max(initial=0.0)) + drift / margin * float(alpha.sum())
        exact = float(alpha @ (margins / here - 1.0)) + 0.5 * float(np.square(w / here - v).sum())
    holds = bool(balanced and np.isfinite([primal, dual, gap]).all())
    why = "the dual point is not feasible" if not balanced else "no finite primal value: some row is on the wrong side"
    return Certificate(
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=relative(gap, primal, dual),
        kkt=float(np.max(np.where(alpha > 0, np.abs(1.0 - margins), np.maximum(1.0 - margins, 0.0)), initial=0.0))
        + error,
        feasible=balanced,
        holds=holds,
        reason="" if holds else why,
        error_bound=error,
        rounding=max(0.0, gap - exact) if np.isfinite(gap) else 0.0,
    )


def _slips(problem: LinearProblem, w: FloatArray, f: FloatArray) -> FloatArray:
    """What rounding does between a score and its loss; without weights, 0 where the sum is exact."""
    if w.any():
        return STEPS * UNIT * (np.abs(f) + np.abs(problem.target) + 1.0)
    apart, lost = two_sum(f, -problem.target)
    return 2 * np.abs(lost) + np.where(apart == 0, 0.0, STEPS * UNIT * (np.abs(apart) + np.abs(problem.target) + 1.0))


def _weights_raised(problem: LinearProblem, w: FloatArray, v: FloatArray, off: FloatArray) -> float:
    """How much larger the weights' share of the gap can be at sums within ``off`` of v."""
    penalty, rounding = problem.penalty, summed(len(w) + 8)
    if not penalty.separable or not problem.has_dual:
        size = float(np.abs(w) @ np.abs(v))
        return float(np.abs(w) @ off) + rounding * (size + penalty.value(w))
    q, a = penalty.quadratic, penalty.absolute
    raised = float(np.abs(w) @ off) + rounding * a * float(np.abs(w).sum()) if a > 0 else 0.0
    if q > 0:
        away = np.abs(w - (v - np.clip(v, -a, a)) / q)
        more = off / q + 4 * UNIT * (np.abs(w) + np.abs(v) / q)
        raised += q / 2 * float((more * (2 * away + more)).sum())
    return raised


def _off_weights(penalty: Penalty, w: FloatArray, v: FloatArray) -> FloatArray:
    if not penalty.separable:
        return np.zeros_like(w)
    q, a = penalty.quadratic, penalty.absolute
    if q > 0:
        return np.abs(w - (v - np.clip(v, -a, a)) / q)
    if a > 0:  # a weight that is not 0 asks for |v_j| = a: what is missing, as a share
        return np.where(w != 0, np.abs(v - a * np.sign(w)) / a * np.abs(w), 0.0)
    return np.zeros_like(w)


class Products:
    """X w and X' beta of rows as the problem saw them, from the data in float64, with bounds on their error.

    Rows are x = (x_given - center) / scale. Where there is an intercept (``centred``) products are of x - c, c being
    the columns' means, and c.w is the same for all rows: so far-away data lose no digits. A sum of m products is off by
    at most gamma_m of the sum of their sizes, which the largest values of the columns bound.
    """

    def __init__(self, X: RowData, scaling: Scaling, centred: bool):
        self.X, self.scaling, self.d = X, scaling, X.shape[1]
        self.dense = isinstance(X, np.ndarray)
        self.origin = scaling.center
        if self.dense and centred and len(X) and not scaling.center.any():
            self.origin = X.mean(axis=0, dtype=np.float64)
        self.apart = (self.origin - scaling.center) / scaling.scale  # c, as the problem sees it
        self.largest = _largest(X, scaling)
        self.near = _largest(X, Scaling(self.origin, scaling.scale)) if self.apart.any() else self.largest

    def scores(self, coef: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(n, tasks) scores of unscaled rows, from weights (d, tasks) and intercepts; (tasks,) error bounds.

        Third, the most that the problem's own intercept can be, origin . coef + b.
        """
        out = np.empty((self.X.shape[0], coef.shape[1]))
        for rows in self._blocks():
            out[rows] = self._block(rows) @ coef
        weight = np.abs(coef)
        size, far = (self.near * self.scaling.scale) @ weight, np.abs(self.origin) @ weight
        gamma, shift = ROOM * summed(min(self.d, terms(self.X)) + 6), self.origin @ coef + b
        if not self.dense and (gamma * size > CRUDE).any():  # one large value would stand for all
            size = ROOM * (np.abs(self.X) @ weight).max(axis=0, initial=0.0)
        drift = np.abs(shift) + ROOM * summed(self.d + 6) * far + 2 * UNIT * np.abs(b)
        moved = np.where(weight.any(axis=0), 2 * UNIT * np.abs(b), 0.0)  # weights of 0 leave the intercept as it is
        return out + shift, gamma * (size + far) + moved, drift

    def combined(self, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(d, tasks) sums X' beta of dual variables (n, tasks), and bounds on their errors."""
        v, off = self.combined_near(beta)
        if not self.apart.any():
            return v, off + 8 * UNIT * np.abs(v)
        whole = np.array([math.fsum(column.tolist()) for column in beta.T])
        v = v + np.outer(self.apart, whole)
        return v, off + 8 * UNIT * (np.abs(v) + np.outer(np.abs(self.apart), np.abs(whole)))

    def combined_near(self, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same for the rows x - c."""
        total, count, longest = np.zeros((self.d, beta.shape[1])), 0, 0
        for rows in self._blocks():
            total += self._block(rows).T @ beta[rows]
            count, longest = count + 1, max(longest, rows.stop - rows.start)
        v, sums = total / self.scaling.scale[:, None], np.abs(beta).sum(axis=0)
        off = ROOM * (summed(count + longest + 8) * np.outer(self.near, sums) + 8 * UNIT * np.abs(v))
        return v, off

    def sizes(self) -> FloatArray:
        """At least ||x - c|| of every row."""
        inverse = 1.0 / self.scaling.scale
        found = []
        for rows in self._blocks():
            block = self._block(rows)
            found.append(norms(block * inverse if self.dense else block.multiply(inverse).tocsr()))
        return ROOM * np.concatenate([np.zeros(0), *found]) + UNDERFLOW

    def _block(self, rows: slice) -> Any:
        if not self.dense:
            return self.X  # all of them at once; a product with float64 numbers is made of such
        block = self.X[rows].astype(np.float64, copy=False)
        return block - self.origin if self.origin.any() else block

    def _blocks(self) -> Iterator[slice]:
        n = self.X.shape[0]
        height = max(1, BLOCK_VALUES // max(1, self.d)) if self.dense else max(1, n)
        for first in range(0, n, height):
            if first:
                heed()
            yield slice(first, min(first + height, n))


def _largest(X: RowData, scaling: Scaling) -> FloatArray:
    """The largest |x_ij| of every column after scaling; for sparse rows, which are not centred, the largest of all."""
    if X.shape[0] == 0:
        return np.zeros(X.shape[1])
    if isinstance(X, np.ndarray):
        high, low = (_extreme(of, X).astype(np.float64) for of in (np.maximum, np.minimum))
        return np.maximum(np.abs(high - scaling.center), np.abs(low - scaling.center)) / scaling.scale
    plain = bool((scaling.scale == 1.0).all())
    values = X.data if plain else X.data / scaling.scale[X.indices]
    return np.full(X.shape[1], max(float(values.max(initial=0.0)), -float(values.min(initial=0.0))))


def _extreme(of: np.ufunc, X: Array) -> Array:
    """The largest or smallest value of every column: rows side by side make long lines, on which NumPy is quick."""
    height = min(SIDE_BY_SIDE, len(X))
    whole = len(X) - len(X) % height
    wide = of.reduce(X[:whole].reshape(-1, height * X.shape[1]), axis=0).reshape(height, X.shape[1])
    return of.reduce(np.concatenate([wide, X[whole:]]), axis=0)


def judge_linear_all_classes(
    X: RowData,
    problem: AllClassesProblem,
    coef: FloatArray,
    intercept: FloatArray,
    alpha: FloatArray,
    scaling: Scaling | None = None,
) -> Certificate:
    """Certificate of a linear machine for all classes, from its published weights (classes, d) and dual variables."""
    scaling = scaling or Scaling.none(X.shape[1])
    products = Products(X, scaling, problem.fit_intercept)
    f, error, drift = products.scores(coef.T, intercept)
    inside = problem.inside(alpha)
    v, off = products.combined_near(inside)
    off = off + problem.imbalance(inside) * products.near[:, None]
    W = coef * scaling.scale
    away = np.abs(W - v.T) + off.T
    square = float(np.vdot(W, W))
    distance = 0.5 * float(np.square(away).sum()) * (1.0 + summed(W.size + 8))
    if not problem.fit_intercept:  # what rounding leaves of intercepts that should be 0
        distance += float(drift @ np.abs(alpha).sum(axis=0)) * (1.0 + summed(alpha.size + 8))
    rounding, errors = summed(W.size + 8) * square, np.full(len(f), float(error.max(initial=0.0)))
    sizes = products.sizes()
    return judge_all_classes(problem, (square, rounding), f, errors, alpha, intercept, sizes, distance=distance)
