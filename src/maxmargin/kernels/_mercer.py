"""Is it a kernel? Mercer's condition checked on data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from maxmargin._types import FloatArray, RowData
from maxmargin.kernels._resolve import resolve_kernel

#: Eigenvalues above -MERCER_TOL * largest |eigenvalue| are rounding, not indefiniteness.
MERCER_TOL = 1e-10
#: Largest difference between K and its transpose, relative to the largest value, that is rounding.
SYMMETRY_TOL = 1e-7


@dataclass(frozen=True)
class MercerCheck:
    """Result of :func:`check_mercer`; true as a condition if the Gram matrix is positive semi-definite."""

    psd: bool
    smallest_eigenvalue: float
    tolerance: float
    witness: FloatArray | None  # v with v' K v < 0, or None
    symmetric: bool = True  # k(x, z) = k(z, x); without it there are no real eigenvalues to check

    def __bool__(self) -> bool:
        return self.psd


def check_mercer(kernel: Any, X: RowData | None = None, tol: float = MERCER_TOL) -> MercerCheck:
    """Check that the Gram matrix of ``kernel`` on ``X`` is positive semi-definite.

    Parameters
    ----------
    kernel : Kernel, name, callable, or ndarray of shape (n, n)
        Anything an estimator takes as a kernel (an open width is 1 / d here), or a Gram matrix (then without ``X``).
    X : rows, shape (n, d)
    tol : float
        Eigenvalues above ``-tol`` times the largest absolute one count as non-negative.

    Returns
    -------
    MercerCheck
        With the smallest eigenvalue and, where the check fails, its eigenvector as the witness.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.kernels import Gaussian, Sigmoid, check_mercer
    >>> X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, -1.0]])
    >>> bool(check_mercer(Gaussian(gamma=1.0), X))
    True
    >>> check = check_mercer(Sigmoid(1.0, -1.0), X)
    >>> v = check.witness
    >>> bool(v @ Sigmoid(1.0, -1.0)(X) @ v < 0)
    True
    """
    if X is None:
        K: FloatArray = np.asarray(kernel, dtype=np.float64)
    else:
        resolved = resolve_kernel(kernel, gamma=None)
        K = (resolved.resolved(1.0 / np.shape(X)[1]) if len(np.shape(X)) == 2 else resolved)(X)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"a Gram matrix is square, got shape {K.shape}")
    if not np.isfinite(K).all():
        raise ValueError("the Gram matrix holds NaN or infinity; only finite matrices can be checked")
    if K.shape[0] == 0:
        return MercerCheck(True, 0.0, 0.0, None)
    if not np.allclose(K, K.T, rtol=0.0, atol=SYMMETRY_TOL * float(np.abs(K).max())):
        return MercerCheck(False, np.nan, 0.0, None, symmetric=False)
    values, vectors = scipy.linalg.eigh((K + K.T) / 2)
    tolerance = tol * max(abs(values[0]), abs(values[-1]))
    psd = bool(values[0] >= -tolerance)
    return MercerCheck(psd, float(values[0]), float(tolerance), None if psd else vectors[:, 0])
