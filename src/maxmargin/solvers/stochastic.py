"""Stochastic subgradient descent for linear machines with the hinge loss: Pegasos and SGD with a bias.

Problem: min lam/2 ||w||^2 + (1/n) sum_i max(0, 1 - t_i (x_i.w + b)), a :class:`~maxmargin.problems.LinearProblem` with
C = 1/(n lam), divided by n C.
Algorithm: steps on one row or a small batch at a time; the model is the last iterate or an average of the later ones.
Invariant: w = X' beta, where beta_i sums the steps that row i has caused. If every row is visited once in a pass,
eta_t = 1/(lam t) keeps 0 <= t_i beta_i <= C by itself. Made feasible, and improved by a few epochs of exact dual moves
(:func:`~maxmargin.solvers.dual_coordinate.dual_ascent`), it is the dual point that the gap is judged at: an averaged
w is much closer to the optimum than its beta, which is why those epochs leave w alone.
Cost of a step: twice the non-zeros of its rows at most, whatever n.
Papers: Shalev-Shwartz, Singer, Srebro and Cotter 2011; Lacoste-Julien, Schmidt and Bach 2012 (averages weighted by t).

See "Pegasos" in ``docs/theory.md``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.backends import Design
from maxmargin.problems import LinearProblem
from maxmargin.solvers._base import Record, Status, Watch
from maxmargin.solvers._linear import LinearPoint, LinearSolution
from maxmargin.solvers.dual_coordinate import dual_ascent

#: Visits made in one compiled call: enough to make Python's share small, few enough to look at the clock.
BLOCK = 2**16
LARGEST_BLOCK = 2**20
#: Share of the passes, the last ones, whose iterates are averaged; one pass at least.
AVERAGED = 0.1
#: Weights are copies of rows if they are whole numbers and sum to at most this many times the rows.
MOST_COPIES = 8
#: The multiple of an old model that suits a new problem is looked for up to here, in so many steps.
LARGEST_MULTIPLE, HALVINGS = 2.0**30, 40
#: Epochs of dual ascent from the dual point that the steps have left.
EPOCHS = 4


class Vectors(NamedTuple):
    """What steps change: w = s v and the sum p v + u of all iterates, with the same for the dual variables."""

    v: FloatArray  # (d,)
    u: FloatArray  # (d,)
    dual: FloatArray  # (n, 2), or (0, 2) if nobody asks for the dual point
    state: FloatArray  # steps, s, p, sum of the weights of the average, b, weighted sum of b, ||v||^2

    def copy(self) -> Vectors:
        """The same numbers in arrays of their own."""
        return Vectors(*(array.copy() for array in self))


def started(d: int, n: int, start: LinearPoint | None = None, steps: float = 0.0) -> Vectors:
    """Vectors at 0 or at ``start``, after so many steps."""
    vectors = Vectors(np.zeros(d), np.zeros(d), np.zeros((n, 2)), np.array([steps, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    if start is not None:
        vectors.v[:], vectors.state[4] = start.w, start.intercept
        vectors.dual[:, 0] = start.beta[:n]
    return vectors


class Progress(NamedTuple):
    """How far the last fit or stream of a machine has come; steps are counted on only where the problem is the same.

    With a rate of 1/(lam t) the counter says how much the past weighs: kept while lam, the rows or their weights change
    it would hold the next fit where the last one ended.
    """

    problem: str  # a digest of rows, targets, costs and lam; empty for a stream, whose rows are gone
    lam: float
    steps: FloatArray  # (tasks,)
    seasons: int  # epochs or seasons that the rate has come down for


class Visits:
    """The order in which rows are visited, pass by pass; a visit costs the same however many rows there are.

    ``order`` 'shuffle' visits every row once in a pass, in random order, 'draw' draws each visit independently, and
    'given' takes the rows as they come. A row of weight 2 is there twice. Where weights are not whole numbers (or
    there would be very many copies), a pass has as many visits as rows, at equal distances of the summed weight, and a
    visit looks its row up by bisection.
    """

    def __init__(self, backend: Any, rows: IntArray, weight: FloatArray, order: str, seed: int):
        self._backend, self._order, self._rows = backend, order, rows
        whole = bool((weight == np.floor(weight)).all()) and weight.sum() <= MOST_COPIES * len(rows)
        self._times = weight[rows].astype(np.int64) if whole else np.ones(len(rows), dtype=np.int64)
        self._edges = None if whole else np.cumsum(weight[rows])
        #: What is shuffled: rows with their copies or, where weights are not whole, numbers of visits.
        self._pool = np.repeat(rows if whole else np.arange(len(rows)), self._times)
        self._place, self.length = 0, len(self._pool)
        self._rng = np.random.default_rng(seed)
        self._start = self._new_starts(1)[0]
        self._seed = np.uint64((2 * seed + 0x9E3779B97F4A7C15) % 2**64 | 1)

    def take(self, passes: int) -> Array:
        """(passes, length) rows to visit."""
        return self.next(passes * self.length).reshape(passes, self.length)

    def next(self, count: int) -> Array:
        """(1, count) rows to visit, going on where the last call ended, over as many passes as needed."""
        visits = np.empty(count, dtype=np.int64)
        if count == 0:
            return visits[None]
        before = self._place % self.length
        if self._order == "shuffle":
            self._place, self._seed = self._backend.shuffled(self._pool, before, visits, self._seed)
        else:
            self._place = (before + count) % self.length
            if self._order == "draw":
                self._seed = self._backend.drawn(self._pool, visits, self._seed)
            else:
                visits[:] = self._pool[(before + np.arange(count)) % self.length]
        return (visits if self._edges is None else self._picked(visits, before, self._edges))[None]

    def spread(self, count: int) -> IntArray:
        """At most ``count`` rows at equal distances, a row of weight 2 counting twice; always the same ones."""
        return np.repeat(self._rows, self._times)[:: -(-self.length // count)]

    def _picked(self, numbers: IntArray, before: int, edges: FloatArray) -> IntArray:
        """Rows of these visits by their weights, ``before`` visits of the pass being done; each pass has its start."""
        which = (before + np.arange(len(numbers))) // self.length
        starts = np.array([self._start, *self._new_starts(int(which[-1]) if len(which) else 0)])
        places = (numbers + starts[which]) * (edges[-1] / self.length)
        self._start = starts[-1] if self._place % self.length else self._new_starts(1)[0]
        return self._rows[np.minimum(np.searchsorted(edges, places, side="right"), len(self._rows) - 1)]

    def _new_starts(self, count: int) -> FloatArray:
        """Where in the first of the equal parts the visits of a pass lie."""
        return np.full(count, 0.5) if self._order == "given" else self._rng.random(count)


@dataclass
class Run:
    """Steps on one task, from where the vectors are."""

    backend: Any
    design: Design
    push: FloatArray  # (n,) sign times the weight of the class
    lam: float
    batch: int
    bias: bool
    vectors: Vectors
    radius: float = 0.0  # of the ball that iterates are projected onto; 0 for none

    @property
    def steps(self) -> int:
        return int(self.vectors.state[0])

    def advance(self, visits: Array, eta: float = 0.0, averaged: bool = False) -> int:
        """Steps over ``visits`` (passes, rows) at the rate ``eta``, or 1/(lam t) if that is 0; the violations."""
        return self.backend.stochastic_steps(
            self.design.X, self.push, visits, self.batch, self.vectors, self.lam, float(eta), self.radius, self.bias,
            averaged,
        )  # fmt: skip

    def forget_average(self) -> None:
        """The average begins anew."""
        _, u, dual, state = self.vectors
        u[:], dual[:, 1] = 0.0, 0.0
        state[[2, 3, 5]] = 0.0

    def model(self) -> tuple[FloatArray, float]:
        """(w, b): the average if there is one, else the last iterate."""
        v, u, _, (_, s, p, total, b, b_sum, _) = self.vectors
        return (s * v, float(b)) if total == 0 else ((p * v + u) / total, float(b_sum / total))

    def duals(self) -> list[FloatArray]:
        """Dual variables of the last iterate and, if there is one, of the average; not yet feasible."""
        _, _, dual, (_, s, p, total, _, _, _) = self.vectors
        last = [s * dual[:, 0]]
        return last if total == 0 else [*last, (p * dual[:, 0] + dual[:, 1]) / total]


def best_multiple(problem: LinearProblem, design: Design, point: LinearPoint) -> LinearPoint:
    """The best multiples, for this problem, of the weights and of the dual variables: a start never worse than 0.

    The slope of 1/2 ||s w||^2 + sum_i C_i max(0, 1 - s m_i), m_i = t_i f_i, grows with s; its root is found by halving.
    """
    margin, square = problem.target * (design.scores(point.w) + point.intercept), float(point.w @ point.w)

    def slope(s: float) -> float:
        short = s * margin < 1.0
        return s * square - float(problem.C[short] @ margin[short])

    low, high = 0.0, 1.0
    while square > 0 and slope(high) < 0 and high < LARGEST_MULTIPLE:
        low, high = high, 2.0 * high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    beta, _ = _scaled(problem, design, problem.feasible(point.beta))
    return LinearPoint(low * point.w, low * point.intercept, beta)


def best_dual(problem: LinearProblem, design: Design, guesses: list[FloatArray]) -> FloatArray:
    """A feasible beta, as good as its guesses and the lines between them give one."""
    points = [_scaled(problem, design, problem.feasible(beta)) for beta in guesses]
    values = [problem.dual(beta, v) for beta, v in points]
    beta, v = points.pop(int(np.argmax(values)))
    for other, other_v in points:
        # max over theta of t.(beta + theta e) - 1/2 ||v + theta g||^2
        e, g = other - beta, other_v - v
        square = float(g @ g)
        theta = (float(problem.target @ e) - float(g @ v)) / square if square > 0 else 0.0
        theta = min(max(theta, 0.0), 1.0)
        beta, v = beta + theta * e, v + theta * g
    return beta


def _scaled(problem: LinearProblem, design: Design, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(s beta, X' s beta), s being the best multiple of ``beta`` that stays within the bounds."""
    v = design.combine(beta)
    square = float(v @ v)
    room = 1.0 / max(float(np.max(np.abs(beta) / problem.C, initial=0.0)), 1e-300)
    s = min(max(float(problem.target @ beta) / square, 0.0), room) if square > 0 else 1.0
    return s * beta, s * v


def look(
    problem: LinearProblem, run: Run, n_iter: int, watch: Watch, model: tuple[FloatArray, float] | None = None
) -> tuple[Record, LinearPoint]:
    """The run's model (or another that is to be delivered) with its dual point, and one line of history."""
    w, b = run.model() if model is None else model
    if not np.isfinite(w).all() or not np.isfinite(b):  # the steps have overflowed: whoever asked must say so
        nowhere = Record(n_iter, time.perf_counter() - watch.began, np.inf, -np.inf, np.inf)
        return nowhere, LinearPoint(np.full_like(w, np.nan), b, np.zeros(problem.n))
    f = run.design.scores(w) + b
    first = best_dual(problem, run.design, [*run.duals(), problem.slopes(f)])
    second = dual_ascent(run.backend, problem, run.design, LinearPoint(w, b, first), EPOCHS, watch)
    beta = best_dual(problem, run.design, [first, second])
    primal, gap = problem.primal(w, f), problem.gap(w, f, beta, run.design.combine(beta))
    return Record(n_iter, time.perf_counter() - watch.began, primal, primal - gap, gap), LinearPoint(w, b, beta)


def unseen(problem: LinearProblem, run: Run, model: tuple[FloatArray, float] | None = None) -> LinearPoint:
    """:func:`look` without a look at the rows: the dual variables that the steps have left, made feasible."""
    w, b = run.model() if model is None else model
    return LinearPoint(w, b, problem.feasible(run.duals()[-1]))


@dataclass(frozen=True)
class Pegasos:
    """Options: how many ``visits`` are made, whether the later iterates are averaged, whether the end is looked at."""

    visits: int
    average: bool = True
    looks: bool = True

    def solve(self, problem: LinearProblem, run: Run, order: Visits, watch: Watch) -> LinearSolution:
        """Steps until all visits are made or the watch says stop; looks at 1, 2, 4, ... passes if anybody wants to."""
        whole, rest = divmod(self.visits, order.length)
        asked = watch.gap_tol is not None or watch.callback is not None
        marks = [2**k for k in range(whole.bit_length()) if asked and 2**k < whole]
        done, status = 0, None
        for mark in [*marks, whole]:
            stopped = self._until(run, order, done, mark, watch)
            if rest and mark == whole and not stopped:
                _advance(run, order, 1, rest, self.average, watch)
            done = max(mark, 1)
            if asked or self.looks:
                record, point = look(problem, run, done, watch)
                status = watch.note(record)
            else:
                point, status = unseen(problem, run), watch.reason(done)
            if status is not None:
                break
        if status is None:
            status = Status.OPTIMAL if watch.gap_tol is None else Status.MAX_ITER
        return LinearSolution(point, status, done, tuple(watch.history), time.perf_counter() - watch.began)

    def _until(self, run: Run, order: Visits, done: int, mark: int, watch: Watch) -> bool:
        """Passes from ``done`` to ``mark``, the last ones averaged; whether the watch stopped them."""
        begin = max(done, mark - max(1, int(AVERAGED * mark)))
        for goal, averaged in ((begin, False), (mark, self.average)):
            if averaged:
                run.forget_average()
            while done < goal:
                passes = max(1, min(BLOCK // order.length, goal - done))
                if _advance(run, order, passes, order.length, averaged, watch):
                    return True
                done += passes
        return False


def _advance(run: Run, order: Visits, passes: int, length: int, averaged: bool, watch: Watch) -> bool:
    """Passes of ``length`` visits, in blocks of whole batches; whether the watch stopped them."""
    if passes > 1 or length <= LARGEST_BLOCK or run.batch >= LARGEST_BLOCK:
        run.advance(order.next(passes * length).reshape(passes, length), averaged=averaged)
        return watch.must_stop(0)
    width = LARGEST_BLOCK // run.batch * run.batch
    for first in range(0, length, width):
        run.advance(order.next(min(width, length - first)), averaged=averaged)
        if watch.must_stop(0):
            return True
    return False
