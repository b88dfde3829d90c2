"""Linear machines over partitions: semismooth Newton steps inside the method of multipliers, whose sums are added up.

Problem and algorithm: those of :mod:`maxmargin.solvers.semismooth`. Scores, dual variables and multipliers of the rows
stay in their partitions; the driver has w, X' beta, and X'DX, which is added up in a tree over the workers, or of more
columns than :data:`DIRECT` products with it, for conjugate gradients.
Invariant: f = X w + b in every partition that has the version it is asked for.
Cost: four calls for a step, and one for each look of the line search; d^2 numbers travel in one of them, d in others.
Faults: a partition that has lost its state begins at w again, its multipliers where the slopes of its losses are.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.distributed._crew import ATTEMPTS, Apart, Crew, in_tree
from maxmargin.distributed._linear_part import LinearPlan, Point, Sums
from maxmargin.distributed._tasks import Lost
from maxmargin.exceptions import ClusterError
from maxmargin.problems import LinearProblem, relative
from maxmargin.solvers import Record, SmoothPenalty, Status, Watch
from maxmargin.solvers._linear import CG_STEPS, CG_TOL, NEAR, noted
from maxmargin.solvers.conjugate import conjugate_gradients
from maxmargin.solvers.semismooth import (
    DIRECT,
    INNER,
    MOST,
    PATIENCE,
    line_search,
    narrower,
    solve_equilibrated,
)

#: Points of the line on which the best intercept is looked for at a time, and how often.
POINTS, SEARCHES = 64, 12
#: Bytes of a share of X'DX from which on the shares are added up on the workers.
LARGE_SHARE = 2**20


class Vanished(Exception):
    """Partitions have lost their state."""

    def __init__(self, partitions: list[int]):
        super().__init__(partitions)
        self.partitions = partitions


@dataclass
class LinearOutcome:
    """What a task came to; its dual variables by partition (numbers, values)."""

    w: FloatArray
    b: float
    beta: list[tuple[IntArray, FloatArray]]
    status: Status
    n_iter: int
    history: tuple[Record, ...]
    seconds: float


@dataclass
class LinearRounds:
    """One task on all partitions; ``problem`` has its loss, penalty and options, and no rows."""

    crew: Crew
    plan: LinearPlan
    task: int
    problem: LinearProblem
    d: int
    watch: Watch
    point: Point
    start: list[Any] | None = None  # dual variables by partition
    version: int = 0
    narrow: float = 1.0
    idle: float = 0.0
    pending: tuple[float, float] = field(default=(0.0, 1.0))  # step and narrowing that the next look makes

    def solve(self) -> LinearOutcome:
        """From the point given until the watch says stop."""
        everyone = list(range(len(self.crew)))
        counts, costs, idle = zip(*self._begin(everyone), strict=True)
        self.idle, n = float(np.sum(idle)), sum(counts)
        squares = np.sum(self.crew.call("column_squares", self.plan, self.task), axis=0)
        scale = np.sqrt(squares / max(1, n)) * np.sqrt(float(np.sum(costs)))
        penalty = SmoothPenalty(self.problem.penalty, scale, self.point.w, None)
        if self.start is not None and penalty.absolute > 0:
            penalty = SmoothPenalty(self.problem.penalty, scale, self.point.w, np.zeros(self.d))
        run = _State(penalty, self._is_exact() and penalty.exact)
        faults = 0
        while True:
            try:
                status = self._round(run)
                if status is not None:
                    return self._concluded(status, run)
            except Vanished as gone:
                faults += 1
                if faults > ATTEMPTS * (1 + run.n_iter):
                    raise ClusterError(f"partitions {gone.partitions} lose their state again and again") from None
                self._begin(gone.partitions)

    def _round(self, run: _State) -> Status | None:
        """One Newton step, or a reason to stop."""
        sums = self._look()
        record, run.best = self._record(sums, run)
        status = noted(SimpleNamespace(idle=self.idle), self.watch, record, self.point.w)  # type: ignore[arg-type]
        run.since = 0 if record.gap < run.least else run.since + 1
        run.least = min(run.least, record.gap) if run.n_iter else run.least
        if status is None and (run.since > PATIENCE or run.stuck > 1):
            status = Status.STALLED
        if status is not None:
            return status
        left, gradient = self._gradient(run, sums)
        smoothing = sums.gap + run.penalty.kink_gap(self.point.w)
        tired = left <= INNER * smoothing or run.inner >= MOST or run.stuck
        if run.inner > 0 and not run.smooth and tired:
            factor = narrower(run.inner)
            self.version, self.pending, self.narrow = self.version + 1, (0.0, factor), self.narrow * factor
            run.penalty.tighten(self.point.w, factor)
            run.inner = 0
            left, gradient = self._gradient(run, self._look())
        moved = self._step(run, gradient)
        run.stuck = 0 if moved else run.stuck + 1
        run.n_iter, run.inner = run.n_iter + 1, run.inner + 1
        return None

    # -- calls --------------------------------------------------------------------------------------------------

    def _begin(self, numbers: list[int]) -> list[Any]:
        start = Apart({p: None if self.start is None else self.start[p] for p in numbers})
        return self.crew.call(
            "linear_begin", self.plan, self.task, self.point, self.narrow, self.version, start, only=numbers
        )

    def _all(self, name: str, *arguments: Any) -> list[Any]:
        found = self.crew.call(name, *arguments)
        lost = [p for p, own in enumerate(found) if isinstance(own, Lost)]
        if lost:
            raise Vanished(lost)
        return found

    def _look(self) -> Sums:
        parts = self._all("look", self.plan, self.task, self.version, *self.pending)
        return Sums(*(np.sum(column, axis=0) for column in zip(*parts, strict=True)))

    def _is_exact(self) -> bool:
        return self.problem.loss.smooth

    # -- a record -----------------------------------------------------------------------------------------------

    def _record(self, sums: Sums, run: _State) -> tuple[Record, FloatArray]:
        """One line of history, as :func:`maxmargin.solvers._linear.record_of` has it, and weights it is true of."""
        problem, (w, b) = self.problem, self.point
        seconds = time.perf_counter() - self.watch.began
        factor = problem.penalty.into_domain(sums.v) if problem.has_dual else 1.0
        losses, rows = float(sums.losses), float(sums.gap)
        if factor != 1:  # an estimate will do as long as the gap is far from the goal
            losses, rows = losses, rows + (1 - factor) * float(sums.mass) * max(1.0, abs(b))
        primal = problem.penalty.value(w) + losses
        unbalanced = abs(float(sums.beta)) * max(1.0, abs(b)) if problem.fit_intercept else 0.0
        gap = rows + problem.weight_gap(w, factor * sums.v) + unbalanced
        goal = self.watch.gap_tol if self.watch.gap_tol is not None else 0.0
        if relative(gap, primal, primal) > NEAR * goal and factor > 0.5:
            return Record(run.n_iter, seconds, primal, primal - gap, gap), w
        sparse = run.penalty.sparse(w)
        v, _ = self._feasible()
        factor = self._domain(v)
        other = None if sparse is w else Point(sparse, b)
        values = np.sum(self._all("feasible_values", self.plan, self.task, self.version, factor, other), axis=0)
        primal = problem.penalty.value(sparse) + float(values[0])
        gap = float(values[1]) + problem.weight_gap(sparse, factor * v)
        return Record(run.n_iter, seconds, primal, primal - gap, gap), sparse

    def _domain(self, v: FloatArray) -> float:
        bounded = self.problem.has_dual and self.problem.penalty.quadratic == 0
        factor = self.problem.penalty.into_domain(v) if bounded else 1.0
        return factor if factor == 1 else (1 - 1e-15) * factor

    def _feasible(self) -> tuple[FloatArray, float]:
        """Have the dual variables clipped and balanced, by the rule of ``LinearProblem.feasible``; their X' beta."""
        sign, only_inside, factor = 0, False, 1.0
        if self.problem.fit_intercept:
            s = np.sum(self._all("sides", self.task, self.version), axis=0)
            excess = float(s[0] + s[1])
            if abs(excess) > 1e-12 * float(s[0] - s[1]):
                sign = 1 if excess > 0 else -1
                heavy, inside = float(s[0 if sign > 0 else 1]), float(s[2 if sign > 0 else 3])
                only_inside = abs(inside) > 2 * abs(excess)
                whole = inside if only_inside else heavy
                factor = max(0.0, -(excess - whole) / whole) if whole else 0.0
        v = np.sum(self._all("balanced", self.plan, self.task, self.version, sign, only_inside, factor), axis=0)
        return v, factor

    def _gradient(self, run: _State, sums: Sums) -> tuple[float, FloatArray]:
        """What keeps the smooth problem from being solved, as a share of the objective; its gradient."""
        problem, (w, b) = self.problem, self.point
        by_weight, by_bias = run.penalty.slope(w) - sums.v, -float(sums.beta)
        if problem.penalty.quadratic > 0:
            left = float(by_weight @ by_weight) / (2 * problem.penalty.quadratic)
        else:
            left = float(np.abs(by_weight) @ np.abs(w))
        if problem.fit_intercept:
            return left + abs(by_bias) * max(1.0, abs(b)), np.append(by_weight, by_bias)
        return left, by_weight

    # -- a step -------------------------------------------------------------------------------------------------

    def _step(self, run: _State, gradient: FloatArray) -> bool:
        direction = self._direction(run, gradient)
        bias = self.problem.fit_intercept
        dw, db = (direction[:-1], float(direction[-1])) if bias else (direction, 0.0)
        slope = float(gradient @ direction)
        self.pending = (0.0, 1.0)
        if not slope < 0:
            return False
        w = self.point.w
        whole = float(np.sum(self._all("direct", self.plan, self.task, self.version, dw, db)))

        def slope_at(step: float) -> float:
            rows = whole if step == 1.0 else float(np.sum(self._all("along", self.task, self.version, step)))
            return float(run.penalty.slope(w + step * dw) @ dw) - rows

        step = line_search(slope_at, slope)
        self.point = Point(w + step * dw, self.point.b + step * db)
        self.version, self.pending = self.version + 1, (step, 1.0)
        return step > 0

    def _direction(self, run: _State, gradient: FloatArray) -> FloatArray:
        diagonal, d = run.penalty.curvature(self.point.w), self.d
        if d > DIRECT:
            return self._by_products(diagonal, gradient)
        shares = in_tree(self.crew, "curvature", self.plan, self.task, self.version, large=8 * d * d > LARGE_SHARE)
        if isinstance(shares, list):
            raise Vanished(shares)
        upper, border, whole, largest = shares
        if whole == 0:
            return _untied(diagonal, gradient, largest)
        matrix = np.zeros((len(gradient), len(gradient)))
        matrix[:d, :d] = upper
        matrix.flat[: (len(gradient) + 1) * d : len(gradient) + 1] += diagonal
        if self.problem.fit_intercept:
            matrix[:d, d], matrix[d, d] = border, whole
        return solve_equilibrated(matrix, -gradient)

    def _by_products(self, diagonal: FloatArray, gradient: FloatArray) -> FloatArray:
        """An approximate solution by conjugate gradients: a call for every product with the matrix."""
        bias, known = self.problem.fit_intercept, [0.0, 0.0]

        def multiply(columns: FloatArray) -> FloatArray:
            x = columns[:, 0]
            w, shift = (x[:-1], float(x[-1])) if bias else (x, 0.0)
            parts = self._all("curvature_times", self.plan, self.task, self.version, w, shift)
            total, inner = np.sum([p[0] for p in parts], axis=0), float(np.sum([p[1] for p in parts]))
            known[:] = float(np.sum([p[2] for p in parts])), max(p[3] for p in parts)
            return (np.append(diagonal * w + total, inner) if bias else diagonal * w + total)[:, None]

        def precondition(columns: FloatArray) -> FloatArray:
            return columns.copy()

        x = conjugate_gradients(multiply, precondition, -gradient[:, None], CG_TOL, CG_STEPS)[0][:, 0]
        if known[0] == 0:
            return _untied(diagonal, gradient, known[1])
        return x if x.any() else -gradient

    # -- the end --------------------------------------------------------------------------------------------------

    def _concluded(self, status: Status, run: _State) -> LinearOutcome:
        """The solution, with feasible dual variables and the middle of all intercepts that are best for its weights."""
        v, _ = self._feasible()
        factor = self._domain(v)
        b = self.point.b
        if self.problem.fit_intercept and not any(self._all("settles", self.task, self.version)):
            b += self._middle_shift()
        beta = self._all("duals", self.task, self.version, factor)
        self.crew.call("done", self.task)
        seconds = time.perf_counter() - self.watch.began
        return LinearOutcome(run.best, b, beta, status, run.n_iter, tuple(self.watch.history), seconds)

    def _middle_shift(self) -> float:
        """From the intercept to the middle of the interval of the best ones; 0 where that is not found."""
        least = self._edge(lambda slope, size: slope >= -1e-12 * size)
        most = self._edge(lambda slope, size: slope > 1e-12 * size)
        return (least + most) / 2 if np.isfinite([least, most]).all() else 0.0

    def _edge(self, holds: Any) -> float:
        """The least shift at which a condition on the slope holds that, once true, stays so."""
        reach = np.concatenate([-np.geomspace(1e6, 1e-9, POINTS // 2), [0.0], np.geomspace(1e-9, 1e6, POINTS // 2)])
        reach *= max(1.0, abs(self.plan.height))
        for _ in range(SEARCHES):
            sums = np.sum(self._all("slopes_at", self.task, self.version, reach), axis=0)
            true = holds(sums[:, 0], sums[:, 1])
            if true.all() or not true.any():
                return -np.inf if true.all() else np.inf
            at = int(np.argmax(true))
            low, high = reach[at - 1], reach[at]
            if high - low <= 1e-14 * max(abs(low), abs(high), 1e-300):
                break
            reach = np.linspace(low, high, POINTS)
        return float(high)


@dataclass
class _State:
    """Where a run stands."""

    penalty: SmoothPenalty
    smooth: bool
    best: FloatArray = field(default_factory=lambda: np.zeros(0))
    n_iter: int = 0
    inner: int = 0
    since: int = 0
    stuck: int = 0
    least: float = np.inf


def _untied(diagonal: FloatArray, gradient: FloatArray, largest: float) -> FloatArray:
    """No row is on its parabola: nothing ties the weights to the intercept, which goes until one is."""
    curvature = np.append(diagonal, largest)[: len(gradient)]
    return -gradient / np.where(curvature > 0, curvature, 1.0)
