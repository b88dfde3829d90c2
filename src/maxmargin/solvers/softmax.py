"""Multinomial logistic regression by Newton's method, with conjugate gradients where there are many weights.

Problem: :class:`~maxmargin.problems.SoftmaxProblem` with a linear kernel, in the primal: smooth and strictly convex in
the weights.
Algorithm: H Z = -gradient with H = 1 + (X, 1)' D (X, 1), D the rows' C (diag q - q q'), q = softmax(f); a step along Z
by an exact line search. Up to some thousands of weights the equations are solved; beyond, conjugate gradients,
preconditioned by the diagonal, get to a share of the gradient that shrinks with it (inexact Newton).
Dual point: alpha = C (e_y - q). Its sums over the rows, which intercepts want to be 0, are the gradient in these.
Invariant: F = X W + b. Cost of a step: a d x d block for every two classes; or per product with H one of X and one of
X' for every class.
Papers: Boehning 1992 (multinomial logistic regression by Newton's method); Dembo, Eisenstat and Steihaug 1982 (inexact
steps); Lin, Weng and Keerthi 2008 (conjugate gradients inside, for logistic regression).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from maxmargin._stop import Stopped
from maxmargin._types import FloatArray, RowData
from maxmargin.backends import Backend, Design
from maxmargin.problems import SoftmaxProblem
from maxmargin.solvers._base import Record, Status, Watch
from maxmargin.solvers.all_classes import AllClassesPoint, AllClassesSolution
from maxmargin.solvers.all_classes_newton import Point, combine, point_at, scores, solve_classes
from maxmargin.solvers.conjugate import conjugate_gradients
from maxmargin.solvers.semismooth import DIRECT, line_search

#: Steps without any gain of the gap that end the fit.
PATIENCE = 8
#: Share of the gradient that conjugate gradients may leave: at most, and at least.
LEFT, LEAST_LEFT = 0.1, 1e-10
#: Products with H of one step at most.
PRODUCTS = 500


@dataclass(frozen=True)
class SoftmaxNewton:
    """No options."""

    backend: Backend

    def solve(
        self, problem: SoftmaxProblem, X: RowData, watch: Watch, start: AllClassesPoint | None = None
    ) -> AllClassesSolution:
        """From ``start`` (or zero) until the watch says stop."""
        return _Run(problem, self.backend.design(X), watch, start).solve()


class _Run:
    """One fit."""

    def __init__(self, problem: SoftmaxProblem, design: Design, watch: Watch, start: AllClassesPoint | None):
        self.problem, self.design, self.watch = problem, design, watch
        k = problem.n_classes
        self.W = np.zeros((design.d, k)) if start is None or start.W is None else start.W
        self.b = np.zeros(k) if start is None or not problem.fit_intercept else start.intercept
        self.F = scores(design, self.W) + self.b
        self.direct = k * (design.d + 1) <= DIRECT
        self.size = 0.0  # of the first gradient

    def solve(self) -> AllClassesSolution:
        n_iter, since, best = 0, 0, None
        while True:
            here = point_at(self.problem, self.design, self.problem.slopes(self.F), self.b, self.W)
            seconds = time.perf_counter() - self.watch.began
            status = self.watch.note(Record(n_iter, seconds, here.primal, here.primal - here.gap, here.gap))
            gained = best is None or here.gap < best.gap
            since = 0 if gained else since + 1
            best = here if best is None or gained or status is Status.OPTIMAL else best
            if status is None:
                status = self._moved(here, since)
            if status is not None:
                W = best.W.T.copy()
                return AllClassesSolution(best.alpha, best.b, best.f, status, n_iter, tuple(self.watch.history), W)
            n_iter += 1

    def _moved(self, here: Point, since: int) -> Status | None:
        """A step; why there is none."""
        gradient = self.W - combine(self.design, here.alpha)
        if self.problem.fit_intercept:
            gradient = np.vstack([gradient, -here.alpha.sum(axis=0)])
        try:
            return None if since <= PATIENCE and self._step(gradient) else Status.STALLED
        except Stopped:
            return self.watch.reason(0) or Status.STOPPED

    def _step(self, gradient: FloatArray) -> bool:
        """Newton's step with an exact line search; whether anything moved."""
        q, C, d = self.problem.probabilities(self.F), self.problem.C, self.design.d
        if self.direct:
            bias, most = self.problem.fit_intercept, float(C.max(initial=0.0))
            Z = solve_classes(self.design, bias, lambda m, o: C * q[:, m] * (float(m == o) - q[:, o]), -gradient, most,
                              self.watch)  # fmt: skip
        else:
            Z = self._conjugate_gradients(q, -gradient)
        slope = float(np.vdot(gradient, Z))
        if not slope < 0:
            return False
        dW, db = Z[:d], Z[d] if self.problem.fit_intercept else np.zeros(Z.shape[1])
        dF = scores(self.design, dW) + db

        def slope_at(step: float) -> float:
            alpha = self.problem.slopes(self.F + step * dF)
            return float(np.vdot(self.W + step * dW, dW)) - float(np.vdot(alpha, dF))

        step = line_search(slope_at, slope)
        self.W, self.b, self.F = self.W + step * dW, self.b + step * db, self.F + step * dF
        return step > 0

    def _conjugate_gradients(self, q: FloatArray, rhs: FloatArray) -> FloatArray:
        """Z with ||H Z - rhs|| a share of ||rhs||."""
        inverse = 1.0 / np.maximum(self._diagonal(q), 1e-300).reshape(-1, 1)
        size = float(np.linalg.norm(rhs))
        self.size = self.size or size
        share = max(min(LEFT, float(np.sqrt(size / self.size))), LEAST_LEFT) if size > 0 else 0.0

        def multiply(column: FloatArray) -> FloatArray:
            if self.watch.must_stop(0):
                raise Stopped("asked to stop within a step")
            return self._product(q, column.reshape(rhs.shape)).reshape(-1, 1)

        Z = conjugate_gradients(multiply, lambda left: inverse * left, rhs.reshape(-1, 1), share, PRODUCTS)[0]
        return Z.reshape(rhs.shape)

    def _product(self, q: FloatArray, Z: FloatArray) -> FloatArray:
        """H Z."""
        d, bias = self.design.d, self.problem.fit_intercept
        dF = scores(self.design, Z[:d]) + (Z[d] if bias else 0.0)
        moved = self.problem.C[:, None] * q * (dF - (q * dF).sum(axis=1, keepdims=True))
        found = Z[:d] + combine(self.design, moved)
        return np.vstack([found, moved.sum(axis=0)]) if bias else found

    def _diagonal(self, q: FloatArray) -> FloatArray:
        """The diagonal of H."""
        curvature = self.problem.C[:, None] * q * (1.0 - q)
        squares = self.design.matrix.astype(np.float64)
        squares = squares.multiply(squares).T if self.design.sparse else np.square(squares).T
        found = 1.0 + np.asarray(squares @ curvature)
        return np.vstack([found, curvature.sum(axis=0)]) if self.problem.fit_intercept else found
