"""The polynomial kernel's own features, written out."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from maxmargin._rows import canonical
from maxmargin._types import RowData
from maxmargin._validation import memory_at_first, resolve_gamma
from maxmargin.maps._base import BLOCK_VALUES, FeatureMap, in_blocks, require_finite
from maxmargin.maps.monomials import Collapsed, Ordered

#: Share of the free memory that features may take unless ``max_bytes`` says more.
FREE_SHARE = 0.5
#: Bytes of a column number of a sparse matrix.
INDEX_BYTES = 8


class PolynomialMap(FeatureMap):
    r"""The features of the polynomial kernel: phi(x).phi(z) = (gamma x.z + coef0)^degree, exactly.

    Collapsed, they are the monomials of x up to degree t with their multinomial weights,

    .. math:: \phi_a(x) = \sqrt{\frac{t!}{a_0!\,a_1! \cdots a_d!}\, c^{a_0} \gamma^{t - a_0}}\;
              x_1^{a_1} \cdots x_d^{a_d}, \qquad a_0 + a_1 + \dots + a_d = t,

    binom(d + t, t) of them, or binom(d + t - 1, t) for c = 0. Ordered, x_1 x_2 and x_2 x_1 are two features: the
    sum of d^i for i <= t, or d^t for c = 0. The kernel costs O(d), the map O(d^t): it pays for few columns, small
    degrees and many rows. Sparse rows give sparse features.

    Parameters
    ----------
    degree : int, default=2
        t. Degree 0 is the constant 1.
    coef0 : float, default=1.0
        c >= 0; with a negative one the kernel would not be positive semi-definite.
    gamma : float, 'scale' or 'auto', default=1.0
        Factor of x.z, at least 0. 'scale' is 1 / (n_features * variance of X), 'auto' 1 / n_features.
    collapse : bool, default=True
        Products that differ in their order only become one feature.
    max_bytes : int or None, default=None
        The most memory that the features of one ``transform`` may take; None is half of the free memory. If they need
        more, it refuses and names the size.

    Attributes
    ----------
    gamma_ : float
        The factor of x.z.
    n_output_features_ : int
        Number of features.
    n_features_in_ : int
        Columns of the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.kernels import Polynomial
    >>> from maxmargin.maps import PolynomialMap
    >>> X = np.array([[1.0, 2.0], [3.0, -1.0]])
    >>> squares = PolynomialMap(degree=2)
    >>> squares.dimension(2), squares.dimension(1000)
    (6, 501501)
    >>> Phi = squares.fit_transform(X)
    >>> squares.get_feature_names_out().tolist()
    ['1', 'x0', 'x1', 'x0^2', 'x0 x1', 'x1^2']
    >>> bool(np.allclose(Phi @ Phi.T, Polynomial(degree=2, coef0=1.0)(X)))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, 0.0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "collapse": ["boolean"],
        "max_bytes": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(self, degree=2, *, coef0=1.0, gamma=1.0, collapse=True, max_bytes=None):
        self.degree = degree
        self.coef0 = coef0
        self.gamma = gamma
        self.collapse = collapse
        self.max_bytes = max_bytes

    def dimension(self, n_features):
        """Number of features that rows with ``n_features`` columns would get; known without a fit.

        Parameters
        ----------
        n_features : int
            Columns of the rows.

        Returns
        -------
        int
        """
        self._validate_params()
        if not isinstance(n_features, Integral) or n_features < 1:
            raise ValueError(f"n_features must be a whole number of at least 1, got {n_features!r}")
        return self._products(int(n_features)).dimension

    def get_feature_names_out(self, input_features=None):
        """The features in words: 'x0^2 x1', or 'x0 x1 x0' for ordered products; weights are left out.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns; by default those of the training rows, or x0, x1, ...

        Returns
        -------
        ndarray of str objects
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.array(self._expansion.names(list(names)), dtype=object)

    def _products(self, n_features: int) -> Collapsed | Ordered:
        return (Collapsed if self.collapse else Ordered)(n_features, self.degree, float(self.coef0))

    def _learn(self, X, weight, kept):
        dimension = self.dimension(X.shape[1])
        if dimension > np.iinfo(np.int64).max or not sp.issparse(X):
            self._require_room(1, dimension, dimension * X.dtype.itemsize)
        self.gamma_ = resolve_gamma(self.gamma, X if len(kept) == len(weight) else X[kept], weight[kept])
        self.n_output_features_ = dimension
        self._expansion = self._products(X.shape[1])

    def _require_room(self, rows: int, dimension: int, needed: int) -> None:
        """Raise if the features would take more memory than they may."""
        allowed = int(FREE_SHARE * memory_at_first()) if self.max_bytes is None else self.max_bytes
        limit = "half of the free memory" if self.max_bytes is None else "max_bytes"
        if needed > allowed:
            raise MemoryError(
                f"PolynomialMap(degree={self.degree}) has {dimension:,} features for {self.n_features_in_} columns: "
                f"{rows:,} row{'s' * (rows > 1)} would take {needed / 2**20:,.1f} MB, "
                f"{allowed / 2**20:,.1f} MB are allowed ({limit}). Map fewer rows at a time, lower the degree, "
                "raise max_bytes, or use the kernel itself: SVC or NystroemMap with kernel='poly'"
            )

    def _map(self, X):
        products = self._expansion
        with np.errstate(over="ignore", invalid="ignore"):
            if sp.issparse(X):
                return self._map_sparse(X, products)
            self._require_room(len(X), products.dimension, len(X) * products.dimension * X.dtype.itemsize)
            out = np.empty((len(X), products.dimension), dtype=X.dtype)

            def fill(first: int, last: int) -> None:
                out[first:last], _ = products.expand(X[first:last] * self._root(X), None)

            in_blocks(fill, len(X), products.dimension)
        require_finite(out, "products of values")
        return out

    def _root(self, X: RowData) -> Any:
        """sqrt(gamma) in the precision of the rows."""
        return X.dtype.type(np.sqrt(self.gamma_))

    def _map_sparse(self, X: RowData, products: Collapsed | Ordered) -> RowData:
        """Features of sparse rows; rows with equally many values are expanded together."""
        kind, X = type(X), canonical(sp.csr_array(X))
        lengths = np.diff(X.indptr)
        widths = {int(p): products.width(int(p)) for p in np.unique(lengths)}
        total = sum(widths[p] * int(number) for p, number in zip(*np.unique(lengths, return_counts=True), strict=True))
        self._require_room(X.shape[0], products.dimension, total * (X.dtype.itemsize + INDEX_BYTES))
        indptr = np.concatenate([[0], np.cumsum([widths[p] for p in lengths])]).astype(np.int64)
        data, indices = np.empty(total, dtype=X.dtype), np.empty(total, dtype=np.int64)
        for p, width in widths.items():
            rows, height = np.flatnonzero(lengths == p), max(1, BLOCK_VALUES // max(1, width))
            for first in range(0, len(rows), height):
                some = rows[first : first + height]
                source = X.indptr[some].astype(np.int64)[:, None] + np.arange(p)
                target = indptr[some][:, None] + np.arange(width)
                data[target], indices[target] = products.expand(
                    X.data[source] * self._root(X), X.indices[source].astype(np.int64)
                )
        require_finite(data, "products of values")
        return kind(canonical(sp.csr_array((data, indices, indptr), shape=(X.shape[0], products.dimension))))

    @property
    def _n_features_out(self) -> int:
        return self.n_output_features_
