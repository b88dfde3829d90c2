"""All classes in one linear machine: sequential dual descent, or Newton's method where there are few enough weights.

One row at a time, all of its classes exactly, is cheap, and quick where C ||x||^2 is small; where it is not, thousands
of epochs lead nowhere. So :mod:`.all_classes_newton` has the machines whose equations can be solved, after a few epochs
where these are of use; more weights than that leave nothing but epochs.
Problem: :class:`~maxmargin.problems.ShortfallProblem` with a linear kernel.
Invariant: W = X' alpha; the rows' constraints. Intercepts by the method of multipliers: b = shift + rate sum(alpha).
Cost of an epoch: twice the non-zeros of X times the classes. Paper: Keerthi et al. 2008.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin._types import FloatArray, RowData
from maxmargin.backends import as_csr
from maxmargin.problems import ShortfallProblem
from maxmargin.solvers._base import Record, Status, Watch
from maxmargin.solvers.all_classes_newton import Point, newton, point_at
from maxmargin.solvers.head_start import EASY
from maxmargin.solvers.semismooth import DIRECT

if TYPE_CHECKING:
    from maxmargin.backends import NumbaBackend

#: Epochs between two looks at the gap at most, growing with their number.
LOOK, GROWTH = 5, 1.5
#: Epochs before Newton's method takes over.
BEGIN = 20
#: Epochs without any gain of the gap that end the fit: so many, and this multiple of those before. Moving multipliers
#: makes the gap go up and down for long.
PATIENCE, SHARE = 1000, 3


class AllClassesPoint(NamedTuple):
    """Where to start."""

    alpha: FloatArray  # (n, classes)
    intercept: FloatArray  # (classes,)
    W: FloatArray | None = None  # (d, classes), of a linear machine whose weights are not those of alpha


@dataclass(frozen=True)
class AllClassesSolution:
    """Dual variables and intercepts of all classes."""

    alpha: FloatArray  # (n, classes)
    intercept: FloatArray  # (classes,)
    f: FloatArray  # (n, classes) scores of the training rows, intercepts included
    status: Status
    n_iter: int
    history: tuple[Record, ...]
    W: Any = None  # (classes, d), of a linear machine


@dataclass(frozen=True)
class AllClassesLinear:
    """Options: ``seed`` of the order of the rows."""

    backend: NumbaBackend
    seed: int = 0

    def solve(
        self, problem: ShortfallProblem, X: RowData, watch: Watch, start: AllClassesPoint | None = None
    ) -> AllClassesSolution:
        """From ``start`` (or zero) until the watch says stop; rows without cost are passed over."""
        alpha, b = started(problem, start)
        design = self.backend.design(X)
        few = problem.n_classes * (design.d + 1) <= DIRECT
        reached, status, epochs = None, None, 0
        if not few or (start is None and float(np.median(problem.C * design.squares)) <= EASY):
            reached, status, epochs = self._epochs(problem, X, watch, alpha, b, BEGIN if few else np.inf)
        if reached is None or status is None:
            begin = point_at(problem, design, alpha, b, None if start is None else start.W)
            reached, status, epochs = newton(problem, design, begin, watch, epochs)
        history = tuple(watch.history)
        return AllClassesSolution(reached.alpha, reached.b, reached.f, status, epochs, history, reached.W.T.copy())

    def _epochs(
        self, problem: ShortfallProblem, X: RowData, watch: Watch, alpha: FloatArray, shift: FloatArray, most: float
    ) -> tuple[Point, Status | None, int]:
        """At most so many epochs, which change ``alpha`` and ``shift``; no status if there is no reason to stop."""
        rows = as_csr(sp.csr_array(X))
        matrix = rows.matrix().astype(np.float64)
        squares = np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()
        rate = float(squares.mean()) if problem.fit_intercept else 0.0
        W, sums, order = matrix.T @ alpha, alpha.sum(axis=0), np.arange(len(problem.label))
        seed = np.uint64((2 * self.seed + 0x9E3779B97F4A7C15) % 2**64 | 1)
        epochs, look, best, gained = 0, LOOK, np.inf, 0
        while True:
            worst, following = self.backend.all_classes_epoch(
                problem.shared_bound, rows, W, alpha, problem.label, problem.C, squares, order, shift, rate, sums, seed
            )
            seed, epochs = np.uint64(following), epochs + 1
            shift += rate * sums
            if epochs < min(look, most) and worst > 0 and not watch.must_stop(epochs):
                continue
            look = int(max(look + 1, GROWTH * epochs)) if epochs >= look else look
            look = min(look, epochs + 50)
            W = matrix.T @ alpha
            f = matrix @ W + shift
            primal, gap = problem.primal(float(np.vdot(W, W)), f), problem.gap(f, alpha)
            status = watch.note(Record(epochs, time.perf_counter() - watch.began, primal, primal - gap, gap))
            gained = epochs if gap < 0.999 * best else gained
            best = min(best, gap)
            if status is None and epochs - gained > max(PATIENCE, SHARE * gained):
                status = Status.STALLED
            if status is not None or epochs >= most:
                return Point(alpha, shift, W, f, primal, gap), status, epochs


def started(problem: ShortfallProblem, start: AllClassesPoint | None) -> tuple[FloatArray, FloatArray]:
    """(alpha, intercepts) to begin with: those of ``start``, each row scaled into the problem's constraints."""
    if start is None:
        return np.zeros((len(problem.label), problem.n_classes)), np.zeros(problem.n_classes)
    a = problem.pushes(start.alpha)
    size = a.sum(axis=1) if problem.shared_bound else a.max(axis=1, initial=0.0)
    a *= np.minimum(1.0, problem.C / np.maximum(size, 1e-300))[:, None]
    alpha = -a
    alpha[np.arange(len(a)), problem.label] = a.sum(axis=1)
    return alpha, start.intercept.copy() if problem.fit_intercept else np.zeros(problem.n_classes)
