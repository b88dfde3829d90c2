"""Crammer and Singer's machine by sequential dual descent: one row at a time, all of its classes exactly.

Problem: :class:`~maxmargin.problems.CrammerSingerProblem` with a linear kernel.
Invariant: W = X' alpha; the rows' constraints. Intercepts by the method of multipliers: b = shift + rate sum(alpha).
Cost of an epoch: twice the non-zeros of X times the classes. Paper: Keerthi et al. 2008.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from maxmargin._types import FloatArray, RowData
from maxmargin.backends import Backend, as_csr
from maxmargin.problems import CrammerSingerProblem
from maxmargin.solvers._base import Record, Status, Watch

#: Epochs between two looks at the gap at most, growing with their number.
LOOK, GROWTH = 5, 1.5
#: Looks without any gain of the gap that end the fit.
PATIENCE = 20


@dataclass(frozen=True)
class CrammerSingerSolution:
    """Weights, intercepts and dual variables of all classes."""

    W: FloatArray  # (classes, d)
    intercept: FloatArray  # (classes,)
    alpha: FloatArray  # (n, classes)
    status: Status
    n_iter: int
    history: tuple[Record, ...]


@dataclass(frozen=True)
class CrammerSinger:
    """Options: ``seed`` of the order of the rows."""

    backend: Backend
    seed: int = 0

    def solve(self, problem: CrammerSingerProblem, X: RowData, watch: Watch) -> CrammerSingerSolution:
        """From zero until the watch says stop."""
        rows, k = as_csr(sp.csr_array(X)), problem.n_classes
        matrix = rows.matrix().astype(np.float64)
        squares = np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()
        rate = float(squares.mean()) if problem.fit_intercept else 0.0
        alpha, W = np.zeros((len(problem.label), k)), np.zeros((X.shape[1], k))
        shift, sums, order = np.zeros(k), np.zeros(k), np.arange(len(problem.label))
        seed = np.uint64((2 * self.seed + 0x9E3779B97F4A7C15) % 2**64 | 1)
        epochs, look, best, in_vain = 0, LOOK, np.inf, 0
        while True:
            worst, following = self.backend.crammer_singer_epoch(
                rows, W, alpha, problem.label, problem.C, squares, order, shift, rate, sums, seed
            )
            seed, epochs = np.uint64(following), epochs + 1
            shift += rate * sums
            if epochs < look and worst > 0 and not watch.must_stop(epochs):
                continue
            look = int(max(look + 1, GROWTH * epochs)) if epochs >= look else look
            look = min(look, epochs + 50)
            W = matrix.T @ alpha
            f = matrix @ W + shift
            primal, gap = problem.primal(W.T, f), problem.gap(f, alpha, shift)
            status = watch.note(Record(epochs, time.perf_counter() - watch.began, primal, primal - gap, gap))
            in_vain = 0 if gap < 0.999 * best else in_vain + 1
            best = min(best, gap)
            if status is None and in_vain > PATIENCE:
                status = Status.STALLED
            if status is not None:
                return CrammerSingerSolution(W.T.copy(), shift.copy(), alpha, status, epochs, tuple(watch.history))
