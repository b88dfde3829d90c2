"""What every solver shares: the solution, the reasons to stop, and the watch that decides when to.

A solver is a frozen dataclass of options with one method,
``solve(problem, gram, start, watch) -> Solution``: it improves a dual point, tells the :class:`Watch` after
every round, and stops when the watch names a reason.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol

import numpy as np

from maxmargin._stop import asked_to_stop
from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.backends import LazyRows
from maxmargin.problems import Problem, relative


class Status(Enum):
    """Why a solver stopped; the value is the sentence the user reads."""

    OPTIMAL = "the solution is optimal to the tolerance asked for"
    STATIONARY = "the kernel is not positive semi-definite: the point is stationary, not proven optimal"
    MAX_ITER = "max_iter was reached; raise it, scale the features to unit variance, or fit again with warm_start=True"
    TIME_LIMIT = "time_limit was reached; raise it, or fit again with warm_start=True to go on from here"
    INTERRUPTED = "interrupted; fit again with warm_start=True to go on from here"
    STOPPED = "a callback asked to stop; fit again with warm_start=True to go on from here"
    STALLED = (
        "rounding errors allow no further progress; scale the features to unit variance, or ask for less than this gap"
    )
    UNCONFIRMED = (
        "rounding errors are larger than what it asks for; scale the features to unit variance, or ask for less than "
        "this gap"
    )
    UNPROVEN = "time_limit left no time for the proof; raise it, or call maxmargin.certify(model, X, y)"

    SLOW = "this solver makes next to no progress on these data; use solver='auto', or scale the features"

    @property
    def reached(self) -> bool:
        """Whether the goal was met (no warning is due)."""
        return self in (Status.OPTIMAL, Status.STATIONARY)


#: Said where scores or the objective are beyond float64; no model of infinities is delivered.
OVERFLOW = (
    "the scores of the training rows are too large for floating-point numbers; scale the features (or the kernel "
    "matrix) to unit variance, or choose a smaller C and smaller weights"
)


class Record(NamedTuple):
    """One line of a fit's history."""

    iteration: int
    seconds: float
    primal: float
    dual: float
    gap: float


@dataclass(frozen=True)
class Solution:
    """A dual point, its scores, and how it was reached."""

    beta: FloatArray  # (n,)
    f: FloatArray  # (n,) K beta, float64, as the solver knows it
    status: Status
    n_iter: int
    history: tuple[Record, ...]
    entries: int  # kernel values computed: the work done, for guards that must not look at a clock
    seconds: float = 0.0  # since the task began

    @property
    def scores_are_known(self) -> bool:
        """Whether ``f`` is K beta; if not, there was no time for the scores of the start, and it is an estimate."""
        return not self.history or self.history[-1].dual > -math.inf


class Gram(Protocol):
    """The kernel matrix of the training rows, as solvers see it: no rows, no kernel, no device.

    :class:`maxmargin.backends.KernelGram` is the one there is; a GPU's or a cluster's needs only these.
    """

    diagonal: FloatArray  # (n,) float64
    entries: int  # kernel values computed so far

    @property
    def n(self) -> int:
        """Number of rows."""

    @property
    def dtype(self) -> np.dtype:
        """Precision of the blocks."""

    @property
    def largest_block(self) -> int:
        """Most rows a working set may have."""

    def fits_whole(self, rows: int) -> bool:
        """Whether to hold the whole matrix, of at most ``rows`` rows, instead of working with blocks."""

    def block(self, index: IntArray) -> Array:
        """(q, q) kernel values among the rows ``index``."""

    def matrix(self) -> FloatArray:
        """The whole (n, n) matrix in float64; for small problems."""

    def lazy_matrix(self, index: IntArray) -> tuple[FloatArray, LazyRows | None]:
        """The whole matrix with the rows ``index`` filled; the inner solver fills others, or all are there (None)."""

    def add_product(self, f: FloatArray, index: IntArray, delta: FloatArray) -> None:
        """f += K[:, index] @ delta, in place."""

    def product(self, beta: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """K[rows] @ beta computed afresh in float64; beta is (n,) or (n, k)."""

    @property
    def recomputes(self) -> bool:
        """Whether a kernel row costs no more to compute than to keep, so that it pays to compute parts of rows."""

    def within(self, index: IntArray) -> Gram:
        """The matrix of some of the rows, to be used in turn with this one."""

    def cross(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """K[rows, columns] in float64."""

    def in_float64(self) -> Gram:
        """The same matrix with blocks in float64."""


#: Share of the goal that solvers aim at: whether it was reached is decided by a certificate, which allows for rounding.
AIM = 0.99


def aimed(goal: float | None) -> float | None:
    """What a solver is to reach, so that a certificate shows the goal."""
    return None if goal is None else AIM * goal


@dataclass
class Watch:
    """Stopping rules and history of one fit; made anew for each task.

    ``tol`` is the width of the violated interval (margin units); ``gap_tol``, when given, decides alone.
    """

    tol: float = 1e-3
    gap_tol: float | None = None
    max_iter: int = -1
    deadline: float = math.inf
    interrupted: Callable[[], bool] = field(default_factory=asked_to_stop)
    callback: Callable[[Record], bool] | None = None
    began: float = field(default_factory=time.perf_counter)
    history: list[Record] = field(default_factory=list)

    def look_at(
        self, problem: Problem, beta: FloatArray, f: FloatArray, n_iter: int, violation: float
    ) -> Status | None:
        """Record this round; a reason to stop, or None to go on."""
        record = self._record(problem, beta, f, n_iter)
        if not (np.isfinite(f).all() and record.dual < math.inf):
            raise ValueError(OVERFLOW)
        return self.note(record, violation / problem.unit(beta, f))

    def note(self, record: Record, violation: float = math.inf) -> Status | None:
        """:meth:`judge` of a round whose values are known."""
        self.history.append(record)
        asked_to_stop = self.callback is not None and self.callback(record)
        if self.met(record, violation):
            return Status.OPTIMAL
        return Status.STOPPED if asked_to_stop else self.reason(record.iteration)

    def reason(self, n_iter: int) -> Status | None:
        """A reason to stop that has nothing to do with the solution."""
        if self.interrupted():
            return Status.INTERRUPTED
        if 0 <= self.max_iter <= n_iter:
            return Status.MAX_ITER
        return Status.TIME_LIMIT if time.perf_counter() >= self.deadline else None

    def must_stop(self, n_iter: int) -> bool:
        """Whether there is such a reason."""
        return self.reason(n_iter) is not None

    def nothing_known(self) -> Record:
        """The record of a start whose scores there was no time for: the optimum may be anywhere."""
        return Record(0, time.perf_counter() - self.began, math.inf, -math.inf, math.inf)

    def is_met(self, problem: Problem, beta: FloatArray, f: FloatArray, violation: float) -> bool:
        """Whether the goal is reached at this point, without recording it."""
        return self.met(self._record(problem, beta, f, 0), violation / problem.unit(beta, f))

    def _record(self, problem: Problem, beta: FloatArray, f: FloatArray, n_iter: int) -> Record:
        offsets, seconds = problem.offsets(beta, f), time.perf_counter() - self.began
        primal, dual = problem.primal(beta, f, offsets), problem.dual(beta, f)
        return Record(n_iter, seconds, primal, dual, problem.gap(beta, f, offsets))

    def met(self, record: Record, violation: float) -> bool:
        """Whether the goal is reached."""
        if self.gap_tol is not None:
            return relative(record.gap, record.primal, record.dual) <= self.gap_tol
        return violation <= self.tol

    def steps_left(self, n_iter: int, at_most: int) -> int:
        """How many steps the next compiled call may take."""
        return at_most if self.max_iter < 0 else max(0, min(at_most, self.max_iter - n_iter))

    def solution(self, beta: FloatArray, f: FloatArray, status: Status, n_iter: int, entries: int) -> Solution:
        seconds = time.perf_counter() - self.began
        return Solution(np.ascontiguousarray(beta), f, status, n_iter, tuple(self.history), entries, seconds)


@dataclass
class Crawl:
    """How long there has been no progress worth the name: since none of the measures was halved.

    Halvings are few, some dozens until a number is rounding, so that a solver which gives up, or changes its method,
    after a bounded crawl always ends.
    """

    best: list[float] = field(default_factory=list)
    last: int = 0

    def since(self, now: int, *measures: float) -> int:
        """Steps since one of the ``measures`` was last halved; ``now`` counts the steps."""
        self.best = self.best or [math.inf] * len(measures)
        if any(value < best / 2 for value, best in zip(measures, self.best, strict=True)):
            self.best = [min(value, best) for value, best in zip(measures, self.best, strict=True)]
            self.last = now
        return now - self.last


#: Relative error of a score summed from rounded kernel values.
ROUNDING = 64 * float(np.finfo(np.float64).eps)


def rounding_floor(diagonal: FloatArray, beta: FloatArray) -> float:
    """Violations this small are rounding errors of f = K beta."""
    return ROUNDING * float(np.abs(diagonal).max(initial=0.0)) * float(np.abs(beta).sum())
