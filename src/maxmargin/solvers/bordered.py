"""Least-squares machines with an intercept: one bordered system, any number of tasks on the same rows.

Problem: min 1/2||w||^2 + sum_i C_i/2 (t_i - f_i)^2, f = w.phi + b; its optimum solves

    [ K + diag(1/C)   1 ] [ beta ]   [ t ]
    [ 1'              0 ] [  b   ] = [ 0 ]

Algorithm: with A = K + diag(1/C), v = A^-1 1 and s = 1'v it is b = v't / s and beta = A^-1 t - b v, so one Cholesky
factor of A serves all t. Without an intercept b = 0. (Conjugate gradients: ``balanced`` in least_squares.)
Leaving rows H out: with P = A^-1 - vv'/s, the inverse's upper left block, and e = P_HH^-1 beta_H, the machine without
them has beta - P_H e, b - v_H'e / s, and on them the scores t_H - e: exact, for the price of P.
Cost: n^3 / 3 operations, twice that more for P.
Papers: Suykens and Vandewalle 1999; Cawley and Talbot 2004 (leave-one-out).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve

from maxmargin._types import Array, FloatArray
from maxmargin.solvers._dense import eigenvalues
from maxmargin.solvers.least_squares import Ridge

#: Negative eigenvalues of R K R up to this many roundings per row, relative to the largest, are rounding.
ROUNDINGS = 10.0


@dataclass(frozen=True)
class Bordered:
    """Coefficients and intercepts of all tasks, and what leaving rows out takes."""

    beta: FloatArray  # (n, tasks)
    intercept: FloatArray  # (tasks,)
    inverse: FloatArray | None = None  # (n, n) P
    border: FloatArray | None = None  # (n,) v / s

    def without(self, held: Array, T: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(beta, intercepts, scores of the rows held out) of the machines without the rows ``held`` (bool)."""
        assert self.inverse is not None  # asked for when it was solved
        assert self.border is not None  # then too
        if not held.any():
            return self.beta, self.intercept, T[:0]
        e = _solved(self.inverse[np.ix_(held, held)], self.beta[held])
        beta = self.beta - self.inverse[:, held] @ e
        beta[held] = 0.0
        return beta, self.intercept - self.border[held] @ e, T[held] - e

    def each_left_out(self, T: FloatArray) -> FloatArray:
        """(n, tasks) scores of every row by the machines without it."""
        assert self.inverse is not None  # asked for when it was solved
        return T - self.beta / np.diag(self.inverse)[:, None]


def solve_bordered(K: FloatArray, T: FloatArray, C: FloatArray, fit_intercept: bool, inverse: bool) -> Bordered:
    """All tasks with targets T (n, tasks) in closed form; with ``inverse`` what leaving rows out takes besides."""
    try:
        system = Ridge(K, C, 1.0)
    except LinAlgError:
        system = Spectrum(K, C, 1.0)
    beta, intercept, v = _bordered(system, T) if fit_intercept else (system.solve(T), np.zeros(T.shape[1]), None)
    if not inverse:
        return Bordered(beta, intercept)
    P, border = system.inverse(), np.zeros(len(T))
    if v is not None:
        border = v / v.sum()
        P -= np.outer(v, border)
    return Bordered(beta, intercept, P, border)


def _solved(P: FloatArray, right: FloatArray) -> FloatArray:
    """P^-1 right, P being symmetric and, if K is a kernel, positive definite."""
    try:
        return cho_solve(cho_factor(P), right)
    except LinAlgError:
        return solve(P, right, assume_a="sym")


def _bordered(system: Ridge, T: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(beta, intercepts, v)."""
    solved = system.solve(np.column_stack([T, np.ones(len(T))]))
    beta, v = solved[:, :-1], solved[:, -1]
    intercept = beta.sum(axis=0) / v.sum()
    beta = beta - np.outer(v, intercept)
    return beta - np.outer(v / v.sum(), beta.sum(axis=0)), intercept, v  # again, for what rounding left of the sums


class Spectrum(Ridge):
    """The same by eigenvalues, where R K R + lam is not positive definite.

    Either C is so large that rounding alone makes it so, or K is no kernel: then the solution is a stationary point.
    """

    def _factorise(self, system: FloatArray) -> None:
        values, self.vectors = eigenvalues(system)
        lam = float(self.shift[0, 0] * self.root[0, 0] ** 2)
        rounding = ROUNDINGS * len(values) * np.finfo(float).eps * float(np.abs(values).max())
        self.values = np.where(np.abs(values - lam) <= rounding, lam, values)
        if np.abs(self.values).min() <= rounding and values[0] < lam - rounding:
            raise ValueError(
                "K + diag(1/C) is singular, for the kernel matrix has negative eigenvalues (the smallest of R K R, "
                f"R = sqrt(C), is {values[0] - lam:.3g}); take a positive semi-definite kernel, or another C"
            )

    def _once(self, Y: FloatArray) -> FloatArray:
        return self.root * (self.vectors @ ((self.vectors.T @ (self.root * Y)) / self.values[:, None]))

    def inverse(self) -> FloatArray:
        return self.root * (self.vectors / self.values @ self.vectors.T) * self.root.T
