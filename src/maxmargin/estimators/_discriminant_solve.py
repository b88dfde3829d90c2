"""The numbers behind kernel discriminant analysis: a span, two scatters and their directions.

Everything happens in coordinates of the span of the landmarks (all rows, unless there are fewer landmarks). With K
their Gram matrix and k(x) the kernel values of a row, z(x) = T' k(x) with T' K T = I are coordinates in an orthonormal
basis, and W = Phi T V for a matrix V of directions. There,

    S_w = sum_i v_i (z_i - m_c(i)) (z_i - m_c(i))' / N,    S_b = sum_c p_c (m_c - m) (m_c - m)',    m = sum_c p_c m_c,

are K L_w K and K L_b K in the basis T (for p_c = N_c / N), and what is solved is

    S_b v = mu (S_w + lam I) v,    V' (S_w + lam I) V = I,    lam = reg trace(S_w).

The ridge lam I is lam |w|^2 in feature space, Mika et al. 1999, section 3; a Cholesky factor C of S_w + lam I turns the
problem into a singular value decomposition of C^-1 (m_c - m) sqrt(p_c), one column per class. K itself is never
inverted: pivoted Cholesky finds its numerical rank r and r rows that span the rest. Cost: m r^2 for the span of m
landmarks, n r^2 for the scatter of n rows.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular, svd
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpstrf, dtrtri

from maxmargin._types import FloatArray, IntArray

#: Random vectors of +-1 on which a factor of K is compared with K.
PROBES = 4
#: A projected class mean this small beside the largest is 0, and has no sign.
NO_SIGN = 1e-6
#: Distance of the sum of priors from 1 that is not worth a warning; scikit-learn's.
PRIORS_SUM = 1e-5


class Span(NamedTuple):
    """Coordinates z = map' k(x), k(x) being the kernel values with the landmarks ``rows``."""

    rows: IntArray  # (q,) some of the landmarks
    map: FloatArray  # (q, r)
    coordinates: FloatArray  # (m, r) of all landmarks
    rounding: float  # squared lengths below this are rounding


class Discriminants(NamedTuple):
    """Directions in the coordinates of a span, the best first."""

    directions: FloatArray  # (r, directions)
    eigenvalues: FloatArray  # (directions,)
    centre: FloatArray  # (r,)
    means: FloatArray  # (classes, directions) of the projected classes


def finite(values: FloatArray) -> FloatArray:
    """Kernel values as they are, or an error."""
    if not np.isfinite(values).all():
        raise ValueError(
            "some kernel values are NaN or infinite; scale the features, for example with "
            "sklearn.preprocessing.StandardScaler, or choose another kernel"
        )
    return values


def resolve_priors(priors: Any, label: IntArray, weight: FloatArray) -> FloatArray:
    """Probabilities of the classes: those given, or their shares of the weights."""
    shares = np.bincount(label, weight) / weight.sum()
    if priors is None:
        return shares
    given = np.asarray(priors, dtype=np.float64)
    if given.shape != shares.shape:
        raise ValueError(f"priors has shape {given.shape}, but there are {len(shares)} classes; give a number for each")
    if not (np.isfinite(given).all() and (given >= 0).all() and np.count_nonzero(given) > 1):
        raise ValueError(f"priors must be non-negative, and positive for two classes at least; got {priors}")
    total = float(given.sum())
    if abs(total - 1.0) > PRIORS_SUM:
        warnings.warn(f"The priors sum to {total:.6g}, not 1, and are divided by that", UserWarning, stacklevel=6)
    return given / total


def span_of(K: FloatArray, weight: FloatArray, eps: float) -> Span:
    """An orthonormal basis of the span of landmarks with Gram matrix K (overwritten), to its numerical rank.

    Weights matter only where the kernel is not positive semi-definite.
    """
    m, size = len(K), float(np.abs(K).max(initial=0.0))
    if size == 0:
        raise _same_point(0.0)
    rounding = m * eps * size
    probes = np.random.default_rng(0).choice([-1.0, 1.0], size=(m, PROBES))
    diagonal, expected = np.diag(K).copy(), K @ probes
    factor, order, rank, _ = dpstrf(K.T, tol=rounding, lower=1, overwrite_a=1)  # K.T has Fortran's order: no copy
    order = order - 1
    coordinates = np.empty((m, rank))
    coordinates[order] = factor[:, :rank]
    for k in range(rank):
        coordinates[order[k], k + 1 :] = 0.0  # above the factor's diagonal K is still there
    # no value of K - LL' is larger than what its diagonal has left, unless K has negative eigenvalues
    missed = np.abs(expected - coordinates @ (coordinates.T @ probes)).max(initial=0.0)
    if not missed <= 2 * m * rounding:
        np.fill_diagonal(factor, diagonal)
        return _indefinite_span(factor, np.sqrt(weight), eps, rounding)
    del K, factor
    rows = order[:rank]
    inverse, _ = dtrtri(coordinates[rows], lower=1)
    return Span(rows, inverse.T, coordinates, rounding)


def _indefinite_span(K: FloatArray, scale: FloatArray, eps: float, rounding: float) -> Span:
    """The basis in which the ridge is a'|K|a, |K| having the sizes of K's eigenvalues; reads the upper triangle of K.

    The eigenvalues are those of K with rows and columns scaled by the roots of the weights, so that a row of weight 2
    and two rows have the same.
    """
    K *= scale
    K *= scale[:, None]
    values, vectors = eigh(K, lower=False, overwrite_a=True, check_finite=False)
    kept = np.abs(values) > len(K) * eps * np.abs(values).max(initial=0.0)
    values, vectors = values[kept], vectors[:, kept]
    root = np.sqrt(np.abs(values))
    coordinates = vectors * (np.sign(values) * root) / scale[:, None]
    return Span(np.arange(len(vectors)), vectors * scale[:, None] / root, coordinates, rounding)


class Scatter:
    """Class means and within-class scatter of weighted rows that come in blocks.

    Rows are measured from ``origins`` (classes, r), a point near each class's mean, so that little cancels.
    """

    def __init__(self, origins: FloatArray):
        self.origins = origins
        self.sums = np.zeros_like(origins)
        self.counts = np.zeros(len(origins))
        self.squares = np.zeros((origins.shape[1], origins.shape[1]), order="F")  # its lower triangle

    def add(self, Z: FloatArray, label: IntArray, weight: FloatArray) -> None:
        """Count the rows Z."""
        shifted = Z - self.origins[label]
        members = sp.csr_array((weight, label, np.arange(len(label) + 1)), shape=(len(label), len(self.counts)))
        self.sums += members.T @ shifted
        self.counts += np.bincount(label, weight, len(self.counts))
        shifted *= np.sqrt(weight)[:, None]
        self.squares = dsyrk(1.0, shifted.T, beta=1.0, c=self.squares, lower=1, overwrite_c=1)

    def means(self) -> FloatArray:
        """(classes, r)."""
        return self.origins + self.sums / self.counts[:, None]

    def within(self) -> FloatArray:
        """S_w, the lower triangle of (r, r); ends the count."""
        moved, share = self.sums / np.sqrt(self.counts)[:, None], 1.0 / self.counts.sum()
        return dsyrk(-share, moved.T, beta=share, c=self.squares, lower=1, overwrite_c=1)


class Directions(NamedTuple):
    """What a fit came to, in the span of some rows."""

    landmarks: IntArray
    span: Span
    found: Discriminants
    priors: FloatArray


def class_means(Z: FloatArray, label: IntArray, n_classes: int) -> FloatArray:
    """Means of the classes; of a class without rows, the mean of all."""
    members = sp.csr_array((np.ones(len(label)), label, np.arange(len(label) + 1)), shape=(len(label), n_classes))
    counts = np.bincount(label, minlength=n_classes)
    means = (members.T @ Z) / np.maximum(counts, 1)[:, None]
    means[counts == 0] = Z.mean(axis=0)
    return means


def discriminants(
    within: FloatArray, means: FloatArray, priors: FloatArray, reg: float, rounding: float
) -> Discriminants:
    """Solve S_b v = mu (S_w + lam I) v."""
    centre = priors @ means
    between = (means - centre) * np.sqrt(priors)[:, None]
    inner, outer = float(np.trace(within)), float((between**2).sum())
    if not inner + outer > rounding:
        raise _same_point(inner + outer)
    ridge = reg * (inner if inner > rounding else outer)
    factor = _factor(within, ridge, reg)
    left, values, _ = svd(solve_triangular(factor, between.T, lower=True, check_finite=False), full_matrices=False)
    left, values = left[:, : len(means) - 1], values[: len(means) - 1]  # class means have no more dimensions
    directions = solve_triangular(factor, left, lower=True, trans="T", check_finite=False)
    projected = (means - centre) @ directions
    sign = _signs(projected)
    return Discriminants(directions * sign, values**2, centre, projected * sign)


def _same_point(distance: float) -> ValueError:
    return ValueError(
        "to this kernel all rows are the same point, up to rounding: their mean squared distance from the mean is "
        f"{max(distance, 0.0):.3g}. Scale the features, or choose another kernel or gamma."
    )


def _factor(within: FloatArray, ridge: float, reg: float) -> FloatArray:
    """Cholesky's, of the within-class scatter (its lower triangle, overwritten) with its ridge."""
    np.einsum("ii->i", within)[:] += ridge  # the diagonal
    smallest = len(within) * np.finfo(np.float64).eps * float(np.trace(within))
    try:
        factor = cholesky(within, lower=True, overwrite_a=True, check_finite=False)
        regular = bool(np.diag(factor).min() ** 2 > smallest)
    except LinAlgError:
        regular = False
    if not regular:
        raise ValueError(
            f"the scatter within the classes is singular, and reg={reg:.3g} is too small to mend that; "
            "give a larger one, such as the default 1e-3"
        )
    return factor


def _signs(projected: FloatArray) -> FloatArray:
    """Signs that put the last class whose mean is not 0 on the positive side."""
    apart = np.abs(projected) > NO_SIGN * np.abs(projected).max(axis=0)
    last = len(projected) - 1 - np.argmax(apart[::-1], axis=0)
    return np.where(np.take_along_axis(projected, last[None], axis=0)[0] < 0, -1.0, 1.0)
