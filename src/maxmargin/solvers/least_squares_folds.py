"""Kernel least squares on many parts of the rows and for many lam, all at once.

Problem: (K_TT + lam) a = y_T for some sets T of rows and some lam: the folds and strengths of a search.
Algorithm: conjugate gradients on all of these systems together, so that a step reads K once. A set of rows is a mask.
The preconditioner is F F' + lam on the rows of T, where F F' is a pivoted Cholesky factor of K that was stopped early:
rows are drawn with a chance in proportion to what is left of their diagonal (RPCholesky). One F serves all systems.
Invariant: a system counts as solved only if the residual that is computed from its solution, in the end, is small.
Cost: n^2 per step and system, against n^3 / 3 of a Cholesky factor; few steps where lam is not far below what F leaves.
Papers: Chen, Epperly, Tropp and Webber 2023 (the choice of rows); Cutajar, Osborne, Cunningham and Filippone 2016.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs

from maxmargin._stop import heed
from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.backends import run_queue, run_shares

#: Rows that are drawn together, and the shift of their matrix, relative to its trace.
DRAWN, SHIFT = 64, 1e-13
#: Relative residual at which a system ends, the one its solution must have in the end, and the most steps.
GOAL, ACCEPTED, MOST_STEPS = 1e-10, 1e-9, 40


class Systems(NamedTuple):
    """Systems to solve: the rows of each (a column of ``masks``) and its lam."""

    masks: Array  # (n, systems)
    lams: FloatArray  # (systems,)

    def take(self, which: IntArray) -> Systems:
        return Systems(self.masks[:, which], self.lams[which])


def pivoted_factor(K: FloatArray, enough: float, most: int, threads: int = 1) -> tuple[FloatArray, float]:
    """(F, mean of the diagonal of K - F F'): columns are added until that mean is ``enough`` or there are ``most``.

    K must be positive semidefinite; where rounding or the kernel say otherwise, F ends there.
    """
    n, rng = len(K), np.random.default_rng(0)
    F, left, rank = np.zeros((n, most)), np.maximum(np.diag(K), 0.0), 0
    while rank < most and left.mean() > enough:
        heed()
        drawn = np.unique(rng.choice(n, min(DRAWN, most - rank), p=left / left.sum()))
        panel = K[:, drawn] - _product(F[:, :rank], F[drawn, :rank].T, threads)
        among = panel[drawn]
        among.flat[:: len(drawn) + 1] += SHIFT * float(np.trace(K[np.ix_(drawn, drawn)]))
        try:
            factor = cholesky(among, lower=True, check_finite=False)
        except LinAlgError:
            break
        columns = solve_triangular(factor, panel.T, lower=True, check_finite=False).T
        F[:, rank : rank + len(drawn)] = columns
        left = np.maximum(left - np.einsum("ij,ij->i", columns, columns), 0.0)
        left[drawn], rank = 0.0, rank + len(drawn)
    return F[:, :rank], float(left.mean())


def solve_together(
    K: FloatArray, Y: FloatArray, F: FloatArray, systems: Systems, threads: int = 1
) -> tuple[FloatArray, Array]:
    """(K a (n, systems, outputs), whether every system was solved); a is 0 on the rows that a system leaves out."""
    inner = _Preconditioner(F, systems, threads)
    right = np.where(systems.masks[:, :, None], Y[:, None, :], 0.0)
    size = np.maximum(np.linalg.norm(right, axis=0), np.finfo(float).tiny)
    found = np.zeros_like(right)
    going = np.flatnonzero(inner.exists)
    r = right[:, going]
    z = inner(r, going)
    p, rho = z, _inner(r, z)
    for _ in range(MOST_STEPS):
        heed()
        if not len(going):
            break
        some = systems.take(going)
        q = _system(p, some, _product(K, p, threads))
        step = _quotient(rho, _inner(p, q))
        found[:, going] += step * p
        r = r - step * q
        more = (np.linalg.norm(r, axis=0) > GOAL * size[going]).any(axis=1) & (step >= 0).all(axis=1)
        going, r, p, rho = going[more], r[:, more], p[:, more], rho[more]
        z = inner(r, going)
        before, rho = rho, _inner(r, z)
        p = z + _quotient(rho, before) * p
    scores = _product(K, found, threads)
    residual = np.linalg.norm(right - _system(found, systems, scores), axis=0)
    return scores, inner.exists & (residual <= ACCEPTED * size).all(axis=1)


class _Preconditioner:
    """r -> (F_T F_T' + lam)^-1 r of every task, by the Cholesky factor of F_T' F_T + lam."""

    def __init__(self, F: FloatArray, systems: Systems, threads: int):
        self.F, self.systems, self.threads = F, systems, threads
        self.factors: list[FloatArray | None] = [None] * len(systems.lams)
        whole, last, gram = _product(F.T, F, threads), None, F[:0]
        for number, mask in enumerate(systems.masks.T):
            heed()
            if last is None or not np.array_equal(mask, last):
                out, last = F[~mask], mask
                gram = whole - _product(out.T, out, threads)
            self.factors[number] = gram
        run_queue([partial(self._factor, number) for number in range(len(self.factors))], threads)
        self.exists = np.array([factor is not None for factor in self.factors])

    def _factor(self, number: int) -> None:
        heed()
        shifted = np.array(self.factors[number])
        shifted.flat[:: len(shifted) + 1] += self.systems.lams[number]
        factor, info = dpotrf(shifted, lower=1, clean=0)
        self.factors[number] = factor if info == 0 else None

    def __call__(self, r: FloatArray, which: IntArray) -> FloatArray:
        some = self.systems.take(which)
        inside = _product(self.F.T, r, self.threads)

        def solve(column: int) -> None:
            inside[:, column] = dpotrs(self.factors[which[column]], inside[:, column], lower=1)[0]

        run_queue([partial(solve, column) for column in range(len(which))], self.threads)
        left = r - _product(self.F, inside, self.threads)
        return np.where(some.masks[:, :, None], left, 0.0) / some.lams[:, None]


def solve_rows(K: FloatArray, Y: FloatArray, lam: float) -> FloatArray | None:
    """(K + lam)^-1 Y by Cholesky, overwriting K; None if that is not positive definite."""
    K.flat[:: len(K) + 1] += lam
    factor, info = dpotrf(K.T, lower=1, clean=0, overwrite_a=1)
    return dpotrs(factor, Y, lower=1)[0] if info == 0 else None


def _product(A: FloatArray, columns: FloatArray, threads: int) -> FloatArray:
    """A times all columns of an array (n, ...), by shares: threads of BLAS's own would wait for each other."""
    flat = columns.reshape(columns.shape[0], math.prod(columns.shape[1:]))
    out = np.empty((len(A), flat.shape[1]))

    def share(first: int, last: int) -> None:
        np.matmul(A[first:last], flat, out=out[first:last])

    run_shares(share, len(A), threads)
    return out.reshape(len(A), *columns.shape[1:])


def _system(a: FloatArray, systems: Systems, scores: FloatArray) -> FloatArray:
    """(K_TT + lam) a, from K a."""
    return np.where(systems.masks[:, :, None], scores + systems.lams[:, None] * a, 0.0)


def _inner(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.einsum("nto,nto->to", a, b)


def _quotient(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0)
