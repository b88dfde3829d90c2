"""Nystroem features: kernel values with some landmarks, whitened so that their dot products approximate the kernel."""

from __future__ import annotations

import warnings
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, solve_triangular
from scipy.linalg.lapack import dpstrf
from sklearn.utils._param_validation import Interval, StrOptions

from maxmargin._rows import count
from maxmargin._types import Array, FloatArray, IntArray, RowData
from maxmargin._validation import check_gram, not_numbers, resolve_gamma
from maxmargin.backends import Rows, backend_for, effective_threads, float32_is_safe
from maxmargin.exceptions import NotPSDError
from maxmargin.kernels import NAMES, Kernel, Precomputed, require_consistent, resolve_kernel, takes_any_rows
from maxmargin.maps._base import FeatureMap, generator_of, in_blocks, require_finite
from maxmargin.maps._landmarks import LANDMARK_METHODS, choose_landmarks

#: Remainders and negative eigenvalues of a Gram matrix up to this share of its largest value are rounding.
PSD_TOL = 1e-6
#: Rounding of kernel values in either precision.
EPS32, EPS64 = float(np.finfo(np.float32).eps), float(np.finfo(np.float64).eps)
#: What scikit-learn's kernels take for a parameter that is None; for gamma that depends on the kernel.
DEFAULTS: dict[str, Any] = {"gamma": None, "degree": 3, "coef0": 1.0}
#: Columns of the triangular factor that are solved for at a time; all else is matrix products.
PANEL = 256


class NystroemMap(FeatureMap):
    r"""Features from kernel values with some of the training rows, the landmarks.

    With landmarks z_1..z_m, k_m(x) = (k(x, z_1), ..., k(x, z_m)) and K_mm = L L' their own kernel values,

    .. math:: \phi(x) = L^{-1} k_m(x), \qquad \phi(x)\cdot\phi(x') = k_m(x)' K_{mm}^{-1} k_m(x') \approx k(x, x').

    phi(x).phi(x') is exact where x or x' is a landmark, so everywhere if all training rows are landmarks and x is one
    of them, and it never exceeds k on the diagonal. L is a Cholesky factor with pivoting: a landmark that lies within
    m eps max k(z, z) (squared distance, eps = 2.2e-16) of the span of the others is dropped, so that singular matrices
    do no harm. For float32 rows, whose kernel values have seven digits, the share is 1.2e-7 (times m, if they are
    precomputed).

    A fit takes n m kernel values at most and m^3 / 3 multiplications; mapping a row takes m kernel values and m^2 / 2
    multiplications.

    Parameters
    ----------
    kernel : str, Kernel or callable, default='rbf'
        A name of scikit-learn's, a kernel of :mod:`maxmargin.kernels`, or a function of two blocks of rows. With
        'precomputed', ``fit`` takes the square matrix of kernel values of the training rows and ``transform`` values
        (n_samples, n_training_rows). A kernel that turns out not to be positive semi-definite on the landmarks, as
        'sigmoid' may, has no exact map: a warning says what was left out. If nothing would remain,
        :class:`~maxmargin.exceptions.NotPSDError` is raised.
    gamma : 'scale', 'auto', float or None, default='scale'
        Width of 'rbf', factor of 'poly' and 'sigmoid', and every width that a kernel object leaves open. 'scale' is
        1 / (n_features * variance of X), 'auto' 1 / n_features; None, for which scikit-learn's ``Nystroem`` has other
        values than its SVC, is 'auto', and 1 for 'chi2'.
    degree : int or None, default=3
        Degree of 'poly'; None is 3.
    coef0 : float or None, default=0.0
        Constant in 'poly' and 'sigmoid'; None is 1.
    kernel_params : dict or None, default=None
        Keyword arguments of a callable kernel, or ``gamma``, ``degree`` and ``coef0`` of one by name, where these are
        None.
    n_components : int, default=100
        Landmarks. Where there are fewer rows all of them are landmarks, with a warning.
    landmarks : {'uniform', 'k-means++', 'leverage'}, default='uniform'
        'uniform' draws rows in proportion to their weights, 'k-means++' rows far from each other in the kernel's own
        distance, 'leverage' rows in proportion to approximate ridge leverage scores. Never two equal rows.
    random_state : int, RandomState or None, default=None
        Seed of the draw; None is 0.
    n_jobs : int or None, default=None
        Threads. None: all cores, or one inside a worker of joblib's.

    Attributes
    ----------
    components_ : array or CSR matrix of shape (landmarks in use, n_features)
        The landmarks in use (a list where rows are not numbers, empty for 'precomputed').
    component_indices_ : ndarray of shape (landmarks in use,)
        Their row numbers in the training data.
    factor_ : ndarray of shape (landmarks in use, features)
        L, lower triangular; for a kernel that is not positive semi-definite, scaled eigenvectors of K_mm.
    kernel_ : Kernel
        The kernel with its widths.
    n_features_in_ : int
        Columns of the training rows.

    References
    ----------
    Williams and Seeger 2001; Musco and Musco 2017 (leverage scores).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.maps import NystroemMap
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(NystroemMap(n_components=200), LinearSVC(C=10)).fit(X[:1000], y[:1000])
    >>> model.score(X[1000:], y[1000:]) > 0.94
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(NAMES)), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left"), None],
        "degree": [Interval(Integral, 0, None, closed="left"), None],
        "coef0": [Interval(Real, None, None, closed="neither"), None],
        "kernel_params": [dict, None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "landmarks": [StrOptions(set(LANDMARK_METHODS))],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        kernel="rbf",
        *,
        gamma="scale",
        degree=3,
        coef0=0.0,
        n_components=100,
        landmarks="uniform",
        random_state=None,
        n_jobs=None,
        kernel_params=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.landmarks = landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.kernel_params = kernel_params

    # -- rows and kernel --------------------------------------------------------------------------------------

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed) or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def _checked(self, X, reset):
        if takes_any_rows(self.kernel) and not_numbers(X):
            if reset:
                self.__dict__.pop("n_features_in_", None)
            return list(X)
        if sp.issparse(X) and self._precomputed:
            raise TypeError("Sparse precomputed kernels are not supported; pass a dense array.")
        X = super()._checked(X, reset)
        if reset and self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"a precomputed kernel is fitted to a square matrix, got {X.shape[0]} x {X.shape[1]}; "
                "pass the kernel values of all pairs of training rows"
            )
        return X

    def _resolved(self, X: RowData, weight: FloatArray, kept: IntArray) -> Kernel:
        given = dict(self.kernel_params or {})
        if takes_any_rows(self.kernel) and not isinstance(self.kernel, Kernel):
            return resolve_kernel(partial(self.kernel, **given) if given else self.kernel)
        if self._precomputed or isinstance(X, list):
            return resolve_kernel(self.kernel, None)
        unknown = sorted(given.keys() - DEFAULTS.keys())
        if unknown:
            raise ValueError(f"kernel_params of kernel={self.kernel!r} has {unknown[0]!r}; it may have {[*DEFAULTS]}")
        own = {name: getattr(self, name) for name in DEFAULTS}
        own = {name: given.get(name, DEFAULTS[name]) if value is None else value for name, value in own.items()}
        if own["gamma"] is None:
            own["gamma"] = 1.0 if isinstance(self.kernel, str) and self.kernel == "chi2" else "auto"
        gamma = resolve_gamma(own["gamma"], X if len(kept) == len(weight) else X[kept], weight[kept])
        return resolve_kernel(self.kernel, gamma, own["degree"], own["coef0"])

    # -- fit --------------------------------------------------------------------------------------------------

    def _learn(self, X, weight, kept):
        if len(kept) < self.n_components:
            warnings.warn(
                f"n_components={self.n_components}, but only {len(kept)} rows count: all of them become landmarks, "
                "and the map is no shorter than the kernel matrix; ask for fewer to save time",
                stacklevel=4,
            )
        self.kernel_ = self._resolved(X, weight, kept)
        require_consistent(self.kernel_, X)
        rng, threads = generator_of(self.random_state), effective_threads(self.n_jobs)
        rows = choose_landmarks(self.kernel_, X, self.n_components, self.landmarks, rng, weight, threads)
        K = self._landmark_values(X, rows, threads)
        order, self.factor_ = factorise(K, self._cut(X, rows))
        self.component_indices_ = rows[order]
        if self._precomputed:
            self.components_ = np.empty((0, 0))
        else:
            self.components_ = _taken(X, self.component_indices_)

    def _landmark_values(self, X: RowData, rows: IntArray, threads: int) -> FloatArray:
        """K_mm in float64."""
        if self._precomputed:
            K = X[np.ix_(rows, rows)].astype(np.float64)
            check_gram(K)
            return K
        backend, program, points = backend_for("cpu"), self.kernel_.lower(), _taken(X, rows)
        K = backend.symmetric_tile(program, backend.prepare(program, points), threads)
        np.fill_diagonal(K, self.kernel_.diag(points))
        require_finite(K, "kernel values of the landmarks")
        return K

    def _cut(self, X: RowData, rows: IntArray) -> float:
        """Share of the largest k(z, z) that counts as rounding, in K_mm or in kernel values with other rows."""
        if getattr(X, "dtype", None) != np.float32:
            return len(rows) * EPS64
        if self._precomputed:
            return len(rows) * EPS32
        return max(len(rows) * EPS64, EPS32 if float32_is_safe(self.kernel_, X[rows]) else 0.0)

    # -- transform --------------------------------------------------------------------------------------------

    def _map(self, X):
        program, backend = self.kernel_.lower(), backend_for("cpu")
        dtype = getattr(X, "dtype", np.dtype(np.float64))
        landmarks = self._prepared(dtype)
        out = np.empty((count(X), self._n_features_out), dtype=dtype)
        whiten = Whitening(self.factor_, landmarks.dtype)

        def fill(first: int, last: int) -> None:
            rows = backend.prepare(program, X[first:last], like=landmarks, dtype=landmarks.dtype)
            values = backend.tile(program, rows, landmarks)
            require_finite(values, "kernel values")
            out[first:last] = whiten(values)

        in_blocks(fill, len(out), landmarks.n, effective_threads(self.n_jobs))
        return out

    def expansion(self, w: FloatArray) -> FloatArray:
        """Coefficients a with phi(x).w = sum_j a_j k(z_j, x), for one w or several, (features,) or (features, k)."""
        if _triangular(self.factor_):
            return solve_triangular(self.factor_, w, lower=True, trans=1)
        return (self.factor_ / np.square(self.factor_).sum(axis=0)) @ w

    def _prepared(self, dtype: Any) -> Rows:
        """The landmarks as the back end wants them; float32 rows meet them in float32 where that is safe."""
        program, backend = self.kernel_.lower(), backend_for("cpu")
        if isinstance(self.kernel_, Precomputed):
            return backend.prepare(program, np.empty((len(self.factor_), 0)), columns=self.component_indices_)
        points = self.components_
        same = dtype == np.float32 and getattr(points, "dtype", None) == np.float32
        narrow = same and float32_is_safe(self.kernel_, points)
        return backend.prepare(program, points, dtype=np.float32 if narrow else np.float64)

    @property
    def _n_features_out(self) -> int:
        return self.factor_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags


class Whitening:
    """Kernel values with the landmarks times the pseudo-inverse of F', for K_mm = F F'.

    Triangular: solved panel by panel, products of matrices between them. With orthogonal columns: one product.
    """

    def __init__(self, factor: FloatArray, dtype: Any):
        self.factor = factor.astype(dtype, copy=False)
        self.inverses: list[Array] = []
        if not _triangular(factor):
            self.factor = (factor / np.square(factor).sum(axis=0)).astype(dtype, copy=False)
            return
        for first in range(0, len(factor), PANEL):
            corner = factor[first : first + PANEL, first : first + PANEL]
            self.inverses.append(solve_triangular(corner, np.eye(len(corner)), lower=True).astype(dtype, copy=False))

    def __call__(self, values: Array) -> Array:
        """Features of some rows; overwrites their kernel values."""
        if not self.inverses:
            return values @ self.factor
        for number, inverse in enumerate(self.inverses):
            first = number * PANEL
            part = values[:, first : first + PANEL]
            if first:
                part -= values[:, :first] @ self.factor[first : first + PANEL, :first].T
            part[...] = part @ inverse.T
        return values


def _triangular(factor: FloatArray) -> bool:
    """Whether a factor is triangular: one made of eigenvectors has fewer columns than rows."""
    return factor.shape[0] == factor.shape[1]


def factorise(K: FloatArray, cut: float) -> tuple[IntArray, FloatArray]:
    """(order, F) with K[order][:, order] = F F', F lower triangular, for the rows that add to the span.

    The next row is always the one farthest from the span of those before; once its squared distance is no more than
    ``cut`` times the largest diagonal entry, the rest is left out. An indefinite K is replaced by its part with
    eigenvalues larger than the most negative one is in size, and F has a column for each of them.
    """
    if not K.any():
        raise ValueError(
            "the kernel is 0 for all pairs of landmarks, so that there is nothing to map to; "
            "are all training rows 0? Use another kernel, or a coef0 that is not 0"
        )
    largest = float(K.diagonal().max())
    table, pivots, rank, _ = dpstrf(K, tol=cut * largest, lower=1)
    order, below = pivots - 1, table[rank:, :rank]
    left = K[np.ix_(order[rank:], order[rank:])] - below @ below.T
    if np.abs(left).max(initial=0.0) > PSD_TOL * max(largest, 0.0):  # a singular PSD matrix leaves nothing
        return np.arange(len(K)), _positive_part(K)
    return order[:rank], np.tril(table[:rank, :rank])


def _positive_part(K: FloatArray) -> FloatArray:
    """F with orthogonal columns for a matrix with negative eigenvalues; warns unless they are rounding."""
    values, vectors = eigh(K)
    kept = values > max(-values[0], PSD_TOL * values[-1])
    kept[0] = False
    what = f"the kernel is not positive semi-definite: on the landmarks its least eigenvalue is {values[0]:.3g}"
    if not kept.any():
        raise NotPSDError(
            f"{what} and its largest {values[-1]:.3g}, so that it has no feature map; use a kernel that is",
            witness=vectors[:, 0],
        )
    if values[0] < -PSD_TOL * values[-1]:
        warnings.warn(
            f"{what}. The map keeps the {kept.sum()} directions of {len(K)} with eigenvalues above {-values[0]:.3g}; "
            "use a kernel that is, or SVC, which needs no map",
            stacklevel=6,
        )
    return vectors[:, kept][:, ::-1] * np.sqrt(values[kept][::-1])


def _taken(X: RowData, rows: IntArray) -> RowData:
    return [X[i] for i in rows] if isinstance(X, list) else X[rows]
