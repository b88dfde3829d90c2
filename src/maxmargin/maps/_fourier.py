"""Random Fourier features: waves whose frequencies are drawn from the spectrum of a kernel of differences."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import FloatArray
from maxmargin._validation import resolve_gamma
from maxmargin.backends import effective_threads
from maxmargin.maps._base import FeatureMap, generator_of, in_blocks, require_finite


class RandomFourierMap(FeatureMap):
    r"""Cosines and sines of random projections, whose dot products are kernel values on average.

    A kernel of differences is the mean of cos(w.(x - z)) over frequencies w drawn from its spectrum, so with D / 2
    of them

    .. math:: \phi(x) = \sqrt{2 / D}\,(\cos w_1\cdot x, \dots, \cos w_{D/2}\cdot x, \sin w_1\cdot x, \dots),
              \qquad E\,\phi(x)\cdot\phi(z) = k(x, z),

    with phi(x).phi(x) = 1 exactly and an error that falls like 1 / sqrt(D). The map needs no kernel values and keeps no
    training rows: it suits streams. At the same D, Nystroem features are usually closer.

    Parameters
    ----------
    gamma : 'scale', 'auto' or float, default='scale'
        Width of the kernel. 'scale' is 1 / (n_features * variance of X), 'auto' 1 / n_features.
    kernel : {'rbf', 'laplacian'}, default='rbf'
        exp(-gamma ||x - z||^2), with normal frequencies, or exp(-gamma ||x - z||_1), with Cauchy ones.
    n_components : int, default=100
        Features D. If odd, the last one is a single cosine with a random phase: still right on average.
    orthogonal : bool, default=False
        Frequencies orthogonal to each other, n_features at a time, with the lengths they would have had: as right on
        average, but with a smaller error, especially for wide kernels ('rbf' only; Yu et al. 2016).
    random_state : int, RandomState or None, default=None
        Seed of the frequencies; None is 0.
    n_jobs : int or None, default=None
        Threads. None: all cores, or one inside a worker of joblib's.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features, ceil(n_components / 2))
        One column per frequency.
    phase_ : float or None
        Phase of the single cosine, None where there is none.
    random_weights_, random_offset_ : ndarrays of shape (n_features, n_components) and (n_components,)
        The same map as scikit-learn's ``RBFSampler`` has it: sqrt(2 / D) cos(X @ random_weights_ + random_offset_).
    gamma_ : float
        The width.
    n_features_in_ : int
        Columns of the training rows.

    References
    ----------
    Rahimi and Recht 2007; Yu et al. 2016 (orthogonal frequencies).

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.kernels import Gaussian
    >>> from maxmargin.maps import RandomFourierMap
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> waves = RandomFourierMap(gamma=0.5, n_components=4000).fit_transform(X)
    >>> bool(np.abs(waves @ waves.T - Gaussian(0.5)(X)).max() < 0.1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "kernel": [StrOptions({"rbf", "laplacian"})],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "orthogonal": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self, gamma="scale", *, kernel="rbf", n_components=100, orthogonal=False, random_state=None, n_jobs=None
    ):
        self.gamma = gamma
        self.kernel = kernel
        self.n_components = n_components
        self.orthogonal = orthogonal
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learn(self, X, weight, kept):
        if self.orthogonal and self.kernel != "rbf":
            raise ValueError(
                f"orthogonal=True needs a kernel of distances, 'rbf'; got kernel={self.kernel!r}; use orthogonal=False"
            )
        self.gamma_ = resolve_gamma(self.gamma, X if len(kept) == len(weight) else X[kept], weight[kept])
        rng, shape = generator_of(self.random_state), (X.shape[1], -(-self.n_components // 2))
        if self.kernel == "laplacian":
            self.frequencies_ = self.gamma_ * rng.standard_cauchy(shape)
        else:
            directions = orthogonal_normal(rng, *shape) if self.orthogonal else rng.standard_normal(shape)
            self.frequencies_ = np.sqrt(2.0 * self.gamma_) * directions
        self.phase_ = float(rng.uniform(0.0, 2.0 * np.pi)) if self.n_components % 2 else None

    def _map(self, X):
        half = self.frequencies_.shape[1]
        total = self._n_features_out
        out = np.empty((X.shape[0], total), dtype=X.dtype)
        scale = np.sqrt(2.0 / total)

        def fill(first: int, last: int) -> None:
            # always in float64: the larger an argument, the fewer digits its wave has
            angle = safe_sparse_dot(X[first:last].astype(np.float64), self.frequencies_, dense_output=True)
            require_finite(angle, "projections onto the frequencies")
            if self.phase_ is not None:
                angle[:, -1] += self.phase_
            out[first:last, :half] = scale * np.cos(angle)
            out[first:last, half:] = scale * np.sin(angle[:, : total - half])

        in_blocks(fill, X.shape[0], total, effective_threads(self.n_jobs))
        return out

    @property
    def random_weights_(self) -> FloatArray:
        check_is_fitted(self)
        half = self.frequencies_.shape[1]
        return np.hstack([self.frequencies_, self.frequencies_[:, : self._n_features_out - half]])

    @property
    def random_offset_(self) -> FloatArray:
        """A sine is the cosine of a quarter turn less."""
        check_is_fitted(self)
        half = self.frequencies_.shape[1]
        offset = np.concatenate([np.zeros(half), np.full(self._n_features_out - half, -0.5 * np.pi)])
        if self.phase_ is not None:
            offset[half - 1] = self.phase_
        return offset

    @property
    def _n_features_out(self) -> int:
        return 2 * self.frequencies_.shape[1] - (self.phase_ is not None)


def orthogonal_normal(rng: np.random.Generator, d: int, count: int) -> FloatArray:
    """(d, count) normal vectors, made orthogonal d at a time without a change of their lengths' distribution.

    The signs that a QR factorisation chooses do not matter: cosines of differences are even.
    """
    blocks = [np.linalg.qr(rng.standard_normal((d, min(d, count - first))))[0] for first in range(0, count, d)]
    return np.hstack(blocks) * np.sqrt(rng.chisquare(d, size=count))
