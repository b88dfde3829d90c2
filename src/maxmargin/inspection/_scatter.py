"""Scatter within and between classes, and what directions make of them: the criteria of discriminants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.utils.validation import check_array, column_or_1d

from maxmargin._rows import dense
from maxmargin._types import FloatArray, IntArray
from maxmargin.inspection._model import EPS, checked_weights
from maxmargin.kernels import resolve_kernel


@dataclass(frozen=True, eq=False)
class ScatterMatrices:
    """The scatters of rows of several classes, per unit of weight, and the criteria of directions.

    Attributes
    ----------
    within, between, total : ndarrays of shape (d, d), or (n, n) with a kernel
        S_w, S_b and S_t = S_w + S_b; with a kernel K L_w K, K L_b K and K L_t K, those of directions
        sum_i a_i phi(x_i) by their coefficients a.
    spread : float
        trace(S_w) in feature space: the mean squared distance of a row from the mean of its class.
    gram : ndarray of shape (n, n) or None
        K, with which a'Ka is the squared length of a direction; None without a kernel, where it is w'w.
    """

    within: FloatArray
    between: FloatArray
    total: FloatArray
    spread: float
    gram: FloatArray | None = None

    def trace_ratio(self, directions: Any, reg: float = 0.0) -> float:
        """tr(W' S_b W) / tr(W' (S_w + reg spread I) W): the same for W and WQ if Q is orthogonal.

        ``directions`` are the columns of W, of shape (d, q), or coefficients of shape (n, q) with a kernel; one
        direction may be a vector.
        """
        between, within = self._projected(directions, reg)
        if not np.trace(within) > 0:
            raise self._flat(reg)
        return float(np.trace(between) / np.trace(within))

    def ratio_trace(self, directions: Any, reg: float = 0.0) -> float:
        """tr((W' (S_w + reg spread I) W)^-1 W' S_b W): the same for W and WA if A is regular.

        ``directions`` are as in :meth:`trace_ratio`. Its largest value is what discriminant analysis looks for: the sum
        of its eigenvalues.
        """
        between, within = self._projected(directions, reg)
        sizes = np.sqrt(np.maximum(np.diag(within), 0.0))
        if not (sizes > 0).all():
            raise self._flat(reg)
        between, within = between / np.outer(sizes, sizes), within / np.outer(sizes, sizes)  # lengths do not matter
        if scipy.linalg.eigvalsh(within)[0] <= 8 * len(within) * EPS:
            raise self._flat(reg)
        return float(np.trace(scipy.linalg.solve(within, between, assume_a="pos")))

    def _projected(self, directions: Any, reg: float) -> tuple[FloatArray, FloatArray]:
        """(W' S_b W, W' (S_w + reg spread I) W)."""
        W = np.asarray(directions, dtype=np.float64)
        W = W[:, None] if W.ndim == 1 else W
        if W.ndim != 2 or len(W) != len(self.within) or W.shape[1] == 0 or not np.isfinite(W).all():
            raise ValueError(
                f"directions must be finite columns of {len(self.within)} numbers each, one for every "
                f"{'feature' if self.gram is None else 'row'}; got shape {np.shape(directions)}"
            )
        if not (np.isfinite(reg) and reg >= 0):
            raise ValueError(f"reg must be a finite number of at least 0; got {reg!r}")
        within = W.T @ self.within @ W
        if reg > 0:
            within = within + reg * self.spread * (W.T @ W if self.gram is None else W.T @ self.gram @ W)
        return W.T @ self.between @ W, within

    @staticmethod
    def _flat(reg: float) -> ValueError:
        return ValueError(
            "the classes have no scatter within them along some combination of the directions, so that the criterion "
            f"is infinite or undefined (reg={reg:g}); give a larger reg, or other directions"
        )

    def __str__(self) -> str:
        between = float(np.trace(self.between))
        where = "" if self.gram is None else " of the rows' kernel values"
        return (
            f"scatter{where}: within {np.trace(self.within):.6g} + between {between:.6g} = {np.trace(self.total):.6g}"
        )


def scatter_matrices(X: Any, y: Any, kernel: Any = None, sample_weight: Any = None) -> ScatterMatrices:
    r"""The scatters within classes, between them and in total, and with them the criteria of any directions.

    .. math:: S_w = \frac1N \sum_i v_i (x_i - m_{c(i)})(x_i - m_{c(i)})', \quad
        S_b = \sum_c \frac{N_c}{N} (m_c - m)(m_c - m)', \quad
        S_t = \frac1N \sum_i v_i (x_i - m)(x_i - m)' = S_w + S_b

    with weights :math:`v_i`, class means :math:`m_c`, and :math:`N_c` the weight of a class. Two criteria say how well
    directions :math:`W` tell the classes apart,

    .. math:: \text{trace ratio } \frac{\operatorname{tr} W'S_bW}{\operatorname{tr} W'S_wW}, \qquad
        \text{ratio trace } \operatorname{tr}\bigl[(W'S_wW)^{-1} W'S_bW\bigr].

    For one direction they are the same, Fisher's. For more they differ: discriminant analysis maximises the second,
    which has a closed form; the first does not forget the lengths of the directions.

    With a kernel, rows are :math:`\phi(x_i)` and a direction is :math:`\sum_i a_i \phi(x_i)`. Then
    :math:`w'S_ww = a' K L_w K a`, and the matrices are those in the middle, with
    :math:`L_w = \frac1N \sum_c (J_c - 1_c1_c'/N_c)` for rows of weight 1 and so on: the scatters of the columns of K.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows; the Gram matrix for ``kernel='precomputed'``.
    y : array-like of shape (n,)
        Their classes.
    kernel : Kernel, name or callable, optional
        As of an estimator; a width that is left open is 1 / d. None: no kernel, and matrices of shape (d, d).
    sample_weight : array-like of shape (n,), optional
        Weights of the rows: 2 is the row twice.

    Returns
    -------
    ScatterMatrices

    References
    ----------
    Fisher 1936; Fukunaga 1990, section 10.2; Mika et al. 1999 for kernels; Wang et al. 2007 on the trace ratio.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    >>> from maxmargin.inspection import scatter_matrices
    >>> X, y = load_iris(return_X_y=True)
    >>> scatter = scatter_matrices(X, y)
    >>> bool(np.allclose(scatter.total, scatter.within + scatter.between))
    True
    >>> best = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).scalings_[:, :2]
    >>> bool(scatter.ratio_trace(best) > scatter.ratio_trace(np.eye(4)[:, 2:]))
    True
    """
    rows, gram = _rows(X, kernel)
    y = column_or_1d(y)
    if len(y) != len(rows):
        raise ValueError(f"X has {len(rows)} rows but y has {len(y)}; give one class for each row")
    weight = checked_weights(sample_weight, len(y))
    label = np.unique(y, return_inverse=True)[1]
    share = weight / weight.sum()
    means, shares = _means(rows, label, share)
    centre = share @ rows
    inner, outer = rows - means[label], means - centre
    within = (inner * share[:, None]).T @ inner
    spread = float(np.trace(within)) if gram is None else _spread(gram, label, share, shares)
    total = ((rows - centre) * share[:, None]).T @ (rows - centre)
    return ScatterMatrices(within, (outer * shares[:, None]).T @ outer, total, spread, gram)


def _rows(X: Any, kernel: Any) -> tuple[FloatArray, FloatArray | None]:
    """(rows, None), or the Gram matrix twice: its rows are what the scatters are of."""
    if kernel is None:
        X = check_array(X, accept_sparse="csr", dtype=np.float64)
        return dense(X), None
    resolved = resolve_kernel(kernel, gamma=None)
    if len(np.shape(X)) == 2:
        resolved = resolved.resolved(1.0 / np.shape(X)[1])
    K = np.asarray(resolved(X), dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not np.isfinite(K).all():
        raise ValueError(f"a Gram matrix is square and finite; got one of shape {K.shape}")
    return K, K


def _means(rows: FloatArray, label: IntArray, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(class means, shares of the classes); a class of weight 0 has its mean at 0 and counts nothing."""
    members = np.zeros((int(label.max()) + 1, len(rows)))
    members[label, np.arange(len(rows))] = share
    shares = members.sum(axis=1)
    return members @ rows / np.where(shares > 0, shares, 1.0)[:, None], shares


def _spread(K: FloatArray, label: IntArray, share: FloatArray, shares: FloatArray) -> float:
    """sum_i v_i |phi_i - m_c|^2 / N = sum_i v_i k_ii / N - sum_c (N_c / N) |m_c|^2."""
    lengths = 0.0
    for c in np.flatnonzero(shares):
        own = np.flatnonzero(label == c)
        lengths += float(share[own] @ K[np.ix_(own, own)] @ share[own] / shares[c])
    return float(share @ np.diag(K)) - lengths
