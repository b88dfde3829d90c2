"""Kernel least squares: closed forms, and conjugate gradients where the matrix is too large.

Problem: min over f of sum_i weight_i |y_i - f(x_i)|^2 + lam ||f||^2, f = sum_j a_j k(x_j, .), many outputs at once.
With D = sqrt(weight): a = D (D K D + lam)^-1 D y; for lam = 0 the pseudo-inverse, the smallest f of the best ones.
Algorithms: an eigendecomposition (any lam, also 0; leave-one-out for free), Cholesky (lam > 0), and for many rows
conjugate gradients. With landmarks f lies in the span of m rows and (K_nm' W K_nm + lam K_mm) a = K_nm' W y is solved,
kernel values streamed, preconditioned by the same matrix with K_nm' K_nm replaced by n/m K_mm K_mm.
Papers: Saunders, Gammerman and Vovk 1998; Rudi, Carratino and Rosasco 2017 (Falkon: the preconditioner).

See "Kernel least squares" in ``docs/theory.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from maxmargin._types import FloatArray
from maxmargin.solvers._dense import eigenvalues, factorise, invert

#: Shift of the diagonal of K_mm, relative to its trace, that makes it positive definite.
JITTER = 1e-12
#: Rows of a matrix that are mirrored at a time.
MIRRORED = 256


@dataclass(frozen=True)
class LeastSquaresSolution:
    """Coefficients (n, outputs), and what is known besides."""

    coef: FloatArray
    residual: float  # of the linear system, relative
    rank: int | None = None  # of K, as far as it was used
    left_out: FloatArray | None = None  # (n, outputs) residuals of leave-one-out
    n_iter: int = 0


Eigen = tuple[FloatArray, FloatArray]


def solve_eigen(
    K: FloatArray, Y: FloatArray, weight: FloatArray, lam: float, cut: float, known: Eigen | None = None
) -> LeastSquaresSolution:
    """By an eigendecomposition (``known``: that of D K D): eigenvalues up to ``cut`` times the largest count as 0."""
    root = np.sqrt(weight)[:, None]
    values, U = eigenvalues(root * K * root.T) if known is None else known
    used = np.abs(values) > cut * max(float(np.abs(values).max(initial=0.0)), np.finfo(float).tiny)
    inverse = np.zeros_like(values)
    inverse[used] = 1.0 / (values[used] + lam)
    if lam > 0:
        inverse[~used] = 1.0 / lam
    projected = U.T @ (root * Y)
    a = U @ (inverse[:, None] * projected)
    own = np.einsum("ij,j,ij->i", U, inverse, U)[:, None]
    if lam == 0:  # the limit: where a part of y cannot be fitted, that part decides
        outside = U[:, ~used]
        share = np.einsum("ij,ij->i", outside, outside)[:, None]
        there = share > cut
        a_out = outside @ projected[~used]
        left_out = np.where(there, a_out, a) / np.where(there, share, np.where(own == 0, np.inf, own))
    else:
        left_out = a / own
    system = root * K @ (root * a) + lam * a
    fitted = U[:, used] @ projected[used] if lam == 0 else root * Y
    return LeastSquaresSolution(root * a, _relative(system - fitted, Y), int(used.sum()), left_out / root)


class Ridge:
    """(K + lam diag(1/weight)) a = Y for any number of Y: the Cholesky factor of R K R + lam, R = sqrt(weight).

    Raises ``LinAlgError`` if that is not positive definite.
    """

    def __init__(self, K: FloatArray, weight: FloatArray, lam: float):
        self.K, self.root, self.shift = K, np.sqrt(weight)[:, None], lam / weight[:, None]
        self._factorise(self.scaled(lam))

    def scaled(self, lam: float) -> FloatArray:
        """R K R + lam, in memory of its own."""
        system = self.root * self.K
        system *= self.root.T
        system.flat[:: len(system) + 1] += lam
        return system

    def _factorise(self, system: FloatArray) -> None:
        factorise(system)
        self.factor = system

    def _once(self, Y: FloatArray) -> FloatArray:
        # transposed: LAPACK's order, no copy
        return self.root * cho_solve((self.factor.T, False), self.root * Y, check_finite=False)

    def left(self, a: FloatArray, Y: FloatArray) -> FloatArray:
        """What is left of the equations, Y - (K + lam diag(1/weight)) a."""
        return Y - self.K @ a - self.shift * a

    def solve(self, Y: FloatArray) -> FloatArray:
        """a, refined once."""
        a = self._once(Y)
        return a + self._once(self.left(a, Y))

    def inverse(self) -> FloatArray:
        """(K + lam diag(1/weight))^-1; takes the factor's memory, so nothing can be solved afterwards."""
        whole = self.factor
        del self.factor
        invert(whole)
        _mirror(whole)
        whole *= self.root
        whole *= self.root.T
        return whole


def _mirror(matrix: FloatArray) -> None:
    """Copy what is below the diagonal to above it, in place."""
    for first in range(0, len(matrix), MIRRORED):
        last = first + MIRRORED
        matrix[first:last, last:] = matrix[last:, first:last].T
        corner = np.tril(matrix[first:last, first:last])
        matrix[first:last, first:last] = corner + np.tril(corner, -1).T


def solve_cholesky(
    K: FloatArray, Y: FloatArray, weight: FloatArray, lam: float, leave_one_out: bool
) -> LeastSquaresSolution | None:
    """By Cholesky, lam > 0; None if the matrix is not positive definite."""
    try:
        system = Ridge(K, weight, lam)
    except LinAlgError:
        return None
    a = system.solve(Y)
    residual = _relative(system.root * system.left(a, Y), Y)
    left_out = a / np.diag(system.inverse())[:, None] if leave_one_out else None
    return LeastSquaresSolution(a, residual, len(K), left_out)


def balanced(
    u: FloatArray, apply: Callable[[FloatArray], FloatArray], precondition: Callable[[FloatArray], FloatArray]
) -> tuple[Callable[[FloatArray], FloatArray], Callable[[FloatArray], FloatArray]]:
    """A system and its preconditioner for vectors orthogonal to u (n, 1), in which all steps then stay.

    Where the preconditioner is the system's inverse, this is that of the bordered one (Gould, Hribar and Nocedal 2001).
    """
    solved = precondition(u)
    along = float((u * solved).sum())

    def projected_precondition(v: FloatArray) -> FloatArray:
        z = precondition(v)
        return without(z - solved * ((u.T @ z) / along), u)

    return lambda v: without(apply(v), u), projected_precondition


def without(v: FloatArray, u: FloatArray) -> FloatArray:
    """The part of every column of v that is orthogonal to u (n, 1)."""
    return v - u * ((u.T @ v) / float((u * u).sum()))


def falkon(K_mm: FloatArray, n: float, lam: float) -> Callable[[FloatArray], FloatArray]:
    """v -> M^-1 v with M = n/m K_mm K_mm + lam K_mm, from two Cholesky factors."""
    m = len(K_mm)
    shifted = K_mm + JITTER * max(float(np.trace(K_mm)), np.finfo(float).tiny) * np.eye(m)
    T = cholesky(shifted)  # K_mm = T'T
    A = cholesky(n / m * (T @ T.T) + lam * np.eye(m))  # M = T' (n/m T T' + lam) T = T'A'A T

    def solve(v: FloatArray) -> FloatArray:
        half = solve_triangular(A, solve_triangular(T, v, trans=1), trans=1)
        return solve_triangular(T, solve_triangular(A, half))

    return solve


def _relative(residual: FloatArray, Y: FloatArray) -> float:
    size = float(np.linalg.norm(Y))
    return float(np.linalg.norm(residual)) / size if size > 0 else float(np.linalg.norm(residual))
