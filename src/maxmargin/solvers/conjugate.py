"""Conjugate gradients for systems with a positive definite matrix of which only products are known.

Paper: Hestenes and Stiefel 1952; with a preconditioner, Golub and Van Loan, Matrix Computations, 11.5.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin._types import FloatArray


def conjugate_gradients(
    apply: Callable[[FloatArray], FloatArray],
    precondition: Callable[[FloatArray], FloatArray],
    right: FloatArray,
    tol: float | FloatArray,
    max_iter: int,
) -> tuple[FloatArray, int]:
    """(x, steps) of apply(x) = right, a system for each column, until every ||right - apply(x)|| <= tol ||right||.

    All columns take their steps together. A column that meets a direction without curvature stays where it is. The
    residual is what the steps say it is, which rounding errors leave behind: see :func:`solve_refined`.
    """
    x, r = np.zeros_like(right), right.copy()
    z = precondition(r)
    p, rho = z.copy(), np.einsum("ij,ij->j", r, z)
    goal = tol * np.linalg.norm(right, axis=0)
    steps = 0
    while steps < max_iter:
        steps += 1
        q = apply(p)
        curvature = np.einsum("ij,ij->j", p, q)
        step = np.divide(rho, curvature, out=np.zeros_like(rho), where=curvature > 0)
        x += step * p
        r -= step * q
        if not step.any() or (np.linalg.norm(r, axis=0) <= goal).all():
            break
        z = precondition(r)
        rho, before = np.einsum("ij,ij->j", r, z), rho
        p = z + np.divide(rho, before, out=np.zeros_like(rho), where=before > 0) * p
    return x, steps


def solve_refined(
    apply: Callable[[FloatArray], FloatArray],
    precondition: Callable[[FloatArray], FloatArray],
    right: FloatArray,
    tol: float,
    max_iter: int,
) -> tuple[FloatArray, float, int]:
    """(x, relative residual, steps) of apply(x) = right; the residual is that of x itself, computed anew.

    Where it is above ``tol`` although the steps say otherwise, conjugate gradients try to halve it, as long as
    that brings it down by a quarter: iterative refinement (Wilkinson 1963).
    """
    size = np.maximum(np.linalg.norm(right, axis=0), np.finfo(float).tiny)
    x, left, reached, steps = np.zeros_like(right), right, np.ones(right.shape[1]), 0
    while steps < max_iter and (reached > tol).any():
        share = np.where(reached > tol, np.minimum(tol / np.maximum(reached, tol), 0.5), 1.0)
        more, taken = conjugate_gradients(apply, precondition, left, share, max_iter - steps)
        steps += taken
        further = right - apply(x + more)
        now = np.linalg.norm(further, axis=0) / size
        better = now < reached
        x, before = x + np.where(better, more, 0.0), reached
        left, reached = np.where(better, further, left), np.where(better, now, reached)
        if not (now[before > tol] <= 0.75 * before[before > tol]).any():
            break
    return x, float(reached.max(initial=0.0)), steps
