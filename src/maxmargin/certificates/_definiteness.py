"""Whether a kernel matrix is positive semi-definite: by construction, by a Cholesky factor, or by its eigenvalues."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from maxmargin._rows import among, take
from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin._validation import SYMMETRY_PANEL, triangle_panels
from maxmargin.certificates._certificate import Definiteness
from maxmargin.kernels import Kernel, Precomputed, check_mercer
from maxmargin.kernels.rounding import summed

#: Kernels not known to be PSD are checked up to this many rows.
PSD_CHECK_ROWS = 1000
EPS = float(np.finfo(float).eps)
#: A factor may leave the scores to be charged with so many times n eps the largest eigenvalue; eigenvalues take 2.
LOOSE = 8.0
#: Values this small beside the largest are left out of a factor: products of them would be subnormal, which is slow.
NEGLIGIBLE = 1e-100


def definiteness(kernel: Kernel, X: RowData, rows: IntArray) -> Definiteness:
    """PSD by construction, or by a check where that is affordable, or unknown.

    A given matrix K is judged as its PSD part K+ where the two differ by rounding only: no eigenvalue is below -n eps
    times the largest. The difference, its largest eigenvalue or less, is the ``deficit`` that scores are charged with.
    """
    if kernel.is_psd:
        return Definiteness(True)
    if len(rows) > PSD_CHECK_ROWS:
        return Definiteness(False, f"not known to be PSD ({len(rows)} rows are too many to check)")
    K = among(X, rows) if isinstance(kernel, Precomputed) else kernel(take(X, rows))
    return _factored(np.asarray(K, dtype=np.float64)) or _by_eigenvalues(K)


def _by_eigenvalues(K: FloatArray) -> Definiteness:
    check = check_mercer(K, tol=len(K) * EPS)
    if not check.symmetric:
        return Definiteness(False, "the kernel is not symmetric")
    if not check.psd:
        return Definiteness(False, f"the kernel is not PSD: smallest eigenvalue {check.smallest_eigenvalue:.3g}")
    deficit = 2 * check.tolerance + max(0.0, -check.smallest_eigenvalue) + _lopsided(np.asarray(K, dtype=np.float64))
    return _judged_as_psd(deficit)


def _factored(K: FloatArray) -> Definiteness | None:
    """What Cholesky factors prove, which takes less than eigenvalues; None where that is not enough.

    If K + t I has a factor in floating-point arithmetic, no eigenvalue of K is below -t - c, c being gamma_(n + 2)
    times its trace or more (Rump 2006). So t = -2 c shows a positive definite matrix; and t = n eps / 2 times a lower
    bound on the largest eigenvalue, one whose negative eigenvalues are rounding. LAPACK reads one triangle alone: a
    matrix that rounding made lopsided is judged as the mean of itself and its transpose.
    """
    diagonal, n = np.diagonal(K), len(K)
    if n == 0 or not (diagonal > 0).all():
        return None
    c, largest = summed(n + 2) * float(diagonal.sum()), max(float(diagonal.max()), float(K.sum()) / n)
    for shift in (-2 * c, 0.5 * n * EPS * largest):
        mean, lopsided = _lower_mean(K, NEGLIGIBLE * largest)  # what is left out moves eigenvalues by far less than c
        if not lopsided <= 0.5 * n * EPS * largest:
            return None
        mean.flat[:: n + 1] += shift
        try:
            scipy.linalg.cholesky(mean.T, overwrite_a=True, check_finite=False)  # in columns, as LAPACK wants them
        except np.linalg.LinAlgError:
            continue
        deficit = lopsided + (0.0 if shift < 0 else shift + 2 * c)
        if deficit > LOOSE * n * EPS * largest:  # c is large beside what rounding does where many eigenvalues are
            return None
        return _judged_as_psd(deficit) if deficit else Definiteness(True)
    return None


def _lower_mean(K: FloatArray, negligible: float) -> tuple[FloatArray, float]:
    """The lower triangle of the mean of K and its transpose, and a bound on the norm of their difference from it."""
    mean, apart, size, clean = np.empty_like(K), 0.0, 0.0, float(K.min()) >= negligible
    for first, (lower, upper) in zip(range(0, len(K), SYMMETRY_PANEL), triangle_panels(K), strict=True):
        out = mean[first : first + SYMMETRY_PANEL, : lower.shape[1]]
        out[...] = lower
        if not np.array_equal(lower, upper):
            difference = lower - upper
            apart += 2 * float(np.vdot(difference, difference))
            size += 2 * float(np.vdot(lower, lower))
            out -= difference / 2
        if not clean:
            np.copyto(out, 0.0, where=np.abs(out) < negligible)
    return mean, float(np.sqrt(apart)) / 2 + EPS * float(np.sqrt(size))  # the mean is rounded, too


def _lopsided(K: FloatArray) -> float:
    """How far K is from the mean of itself and its transpose, as which it is judged."""
    return float(np.linalg.norm(K - K.T)) / 2


def _judged_as_psd(deficit: float) -> Definiteness:
    return Definiteness(True, deficit=deficit, judged=f"of the PSD part K+ of the kernel matrix, within {deficit:.1e}")
