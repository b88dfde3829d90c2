"""Kernel discriminant analysis: directions in feature space along which classes are far apart and narrow.

With L_w = sum_c (J_c - 1_c 1_c'/N_c)(...)' and L_b = sum_c N_c (1_c/N_c - 1/N)(...)' the scatters within and between
classes are S_w = Phi L_w Phi' and S_b = Phi L_b Phi'. For W = Phi A

    maximise  Tr[ (A' K L_w K A)^-1 (A' K L_b K A) ],    the leading solutions of  K L_b K a = mu K L_w K a,

regularised by a ridge on |w|^2 = a'Ka. There are at most classes - 1 of them with mu > 0. How they are found stands in
:mod:`maxmargin.estimators._discriminant_solve`.

Mika, Raetsch, Weston, Schoelkopf and Mueller 1999, "Fisher discriminant analysis with kernels", eq. (4)-(10), two
classes; Baudat and Anouar 2000, "Generalized discriminant analysis using a kernel approach", many classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from maxmargin._rows import count, take
from maxmargin._types import FloatArray, IntArray
from maxmargin._validation import cache_bytes, kept_rows, memory_at_first
from maxmargin.backends import Rows, backend_for, blas_threads, effective_threads, factor_threads, single_threaded_blas
from maxmargin.estimators._discriminant_solve import (
    Directions,
    Discriminants,
    Scatter,
    Span,
    class_means,
    discriminants,
    finite,
    resolve_priors,
    span_of,
)
from maxmargin.estimators._fit import fit
from maxmargin.estimators._kernel_model import PREDICT_ROWS, KernelModel
from maxmargin.estimators._machine import Training, check_target, labels_of, leaves_no_trace, seed_of
from maxmargin.estimators._one_system import OneSystem
from maxmargin.estimators._params import document_kernel
from maxmargin.estimators._streamed import draw_landmarks
from maxmargin.kernels import Kernel
from maxmargin.maps import LANDMARK_METHODS, distinct_rows

#: Most kernel values computed at a time.
BLOCK_VALUES = 2**22
#: Matrices of the landmarks' size that a fit takes room for, and the share of the free memory it may take.
MATRICES, MEMORY_SHARE = 5, 0.5


@document_kernel
class KernelDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, KernelModel):
    r"""Kernel Fisher discriminant analysis: a projection that separates classes, and the classifier that goes with it.

    With S_w and S_b the scatters within and between classes in feature space, per unit of weight,

    .. math:: \max_W \operatorname{tr}\big[(W'(S_w + \lambda I)W)^{-1}\, W' S_b W\big],
        \qquad \lambda = \mathrm{reg}\cdot\operatorname{tr} S_w.

    The solutions of :math:`S_b w = \mu (S_w + \lambda I) w` are the directions, largest :math:`\mu` first, scaled so
    that the regularised scatter is 1 along each. A row belongs to the class whose projected mean is nearest, corrected
    for the prior: classes are Gaussian with common covariance :math:`S_w + \lambda I`. With ``kernel='linear'`` and
    ``reg`` towards 0 this is scikit-learn's ``LinearDiscriminantAnalysis``.

    Parameters
    ----------
    n_components : int or None, default=None
        Directions that :meth:`transform` returns, at most n_classes - 1; None: all. As in scikit-learn, the classifier
        uses all of them in any case.
    kernel : str, Kernel or callable, default='rbf'
        A name of scikit-learn's, an expression of :mod:`maxmargin.kernels`, a kernel of scikit-learn's
        ``gaussian_process`` or any function of two blocks of rows. If it is not positive semi-definite, the ridge is
        on a'\|K\|a.
    {kernel_options}
    reg : float, default=1e-3
        Ridge, as a share of the mean squared distance of a row from its class's mean in feature space (of the class
        means from the centre, where every class is a single point): a factor on the kernel changes nothing. Small
        values trust the scatter found in all its directions, large ones only that of the class means. 0 is allowed
        where the scatter within classes is regular, as of a linear kernel with more rows than features.
    n_landmarks : int or None, default=None
        None: directions may be any combination of all rows, which needs the Gram matrix of them. A number: of this many
        rows; kernel values are then computed in blocks, and time is proportional to n_samples * n_landmarks^2.
    landmarks : {'uniform', 'k-means++', 'leverage'}, default='uniform'
        How they are drawn from the rows that differ: with equal chances, or as in :class:`~maxmargin.NystroemMap`.
    priors : array-like of shape (n_classes,) or None, default=None
        Probabilities of the classes, in sorted order; they weigh the classes in S_b and in the predictions. None:
        their shares of the weights.
    cache_size : 'auto' or float, default='auto'
        Most megabytes for matrices of landmarks (of all rows, without ``n_landmarks``): 40e-6 times the square of their
        number. What would not fit is refused. 'auto' is half of the free memory.
    device : {'auto', 'cpu'}, default='auto'
        Where to compute.
    n_jobs : int or None, default=None
        Threads. None: all cores, or one inside a worker of joblib's.
    random_state : int, RandomState or None, default=None
        Seed of the draw of landmarks; None is 0, so that equal fits are equal.
    {scale}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    priors_ : ndarray of shape (n_classes,)
        Their probabilities.
    eigenvalues_ : ndarray of shape (n_components,)
        The criterion :math:`\mu` of every direction: scatter between classes over regularised scatter within.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Their shares of the sum over all directions.
    means_ : ndarray of shape (n_classes, n_directions)
        Class means, projected onto all directions.
    support_, support_vectors_
        Rows that span the directions (their numbers, and they themselves): as many as the numerical rank of the kernel.
    dual_coef_ : ndarray of shape (n_support, n_directions)
        Coefficients of these rows.
    intercept_ : ndarray of shape (n_directions,)
        What is added to their sums, so that the classes' centre is at 0.
    kernel_ : Kernel
        The kernel used, with its width.
    {scaling}
    n_features_in_, feature_names_in_, shape_fit_
        As in scikit-learn.

    References
    ----------
    Mika, Raetsch, Weston, Schoelkopf and Mueller 1999, eq. (4)-(10); Baudat and Anouar 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import KernelDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelDiscriminantAnalysis().fit(X, y)
    >>> model.transform(X).shape, round(model.score(X, y), 2)
    ((150, 2), 0.99)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "reg": [Interval(Real, 0.0, None, closed="left")],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "landmarks": [StrOptions(set(LANDMARK_METHODS))],
        "priors": ["array-like", None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        reg=1e-3,
        n_landmarks=None,
        landmarks="uniform",
        priors=None,
        cache_size="auto",
        device="auto",
        n_jobs=None,
        random_state=None,
        scale=False,
    ):
        self._store(locals())

    # -- fit --------------------------------------------------------------------------------------------------

    @with_callbacks
    @leaves_no_trace
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Find the directions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            Training rows; the Gram matrix for ``kernel='precomputed'``; any sequence for a callable kernel.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row: 2 is the row twice; rows of weight 0 or less are left out.

        Returns
        -------
        self
        """
        data = self._validate(X, y, sample_weight)
        return fit(self, data, OneSystem(self, data))

    def _solved(self, data: Training, kernel: Kernel) -> Directions:
        priors = resolve_priors(self.priors, data.extra.label, data.weight)
        landmarks = self._landmarks(data, kernel)
        self._check_memory(len(landmarks))
        with blas_threads(factor_threads(len(landmarks), self.n_jobs)):
            weight = data.weight if self.n_landmarks is None else np.ones(len(landmarks))
            span = span_of(self._gram(data, kernel, landmarks), weight, self._precision(data))
            return Directions(landmarks, span, self._solve(data, kernel, landmarks, span, priors), priors)

    def _validate(self, X, y, sample_weight) -> Training:
        X = self._checked_rows(X)
        X = X.astype(np.float64) if self.scale and hasattr(X, "astype") else X  # as large coefficients want them
        n = count(X)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = check_target(self, y, n)
        check_classification_targets(y)
        weight, kept = kept_rows(sample_weight, X, n)
        data = Training(X, y, weight[kept], kept, n)
        labels = labels_of(data, None)
        self._check_gram(X)
        most = len(labels.classes) - 1
        if self.n_components is not None and self.n_components > most:
            raise ValueError(
                f"n_components={self.n_components} is more than n_classes - 1 = {most}, the number of directions "
                "there are; give at most that, or None"
            )
        return self._scaled(data._replace(extra=labels))

    def _landmarks(self, data: Training, kernel: Kernel) -> IntArray:
        """The rows that span the directions, as positions among those that count.

        What is drawn depends on which rows there are, not on their order or on how often they occur.
        """
        if self.n_landmarks is None:
            return np.arange(len(data.kept))
        if self.landmarks != "uniform":
            return np.searchsorted(data.kept, draw_landmarks(self, data, kernel, self.n_landmarks, self.landmarks))
        different, _ = distinct_rows(kernel, take(data.X, data.kept), None)
        size = min(int(self.n_landmarks), len(different))
        return np.sort(np.random.default_rng(seed_of(self)).choice(different, size, replace=False))

    def _check_memory(self, m: int) -> None:
        needed = MATRICES * 8 * m**2
        auto = isinstance(self.cache_size, str)
        allowed = MEMORY_SHARE * memory_at_first() if auto else cache_bytes(self.cache_size)
        if needed > allowed:
            raise ValueError(
                f"matrices of {m} rows take {needed / 2**20:.0f} MB, more than cache_size={self.cache_size!r} allows, "
                f"{allowed / 2**20:.0f} MB; set n_landmarks (1000, say) or give a larger cache_size"
            )

    def _precision(self, data: Training) -> float:
        """Relative rounding error of kernel values: those computed here are float64, those given may be float32."""
        return float(np.finfo(data.X.dtype if self._precomputed else np.float64).eps)

    # -- kernel values ----------------------------------------------------------------------------------------

    def _gram(self, data: Training, kernel: Kernel, landmarks: IntArray) -> FloatArray:
        rows = self._prepared_rows(data, kernel, landmarks)
        with single_threaded_blas():
            K = backend_for(self.device).symmetric_tile(kernel.lower(), rows, effective_threads(self.n_jobs))
        return finite(K)

    def _prepared_rows(self, data: Training, kernel: Kernel, index: IntArray, like: Rows | None = None) -> Rows:
        """Some of the rows that count, for kernel values in float64."""
        backend, program = backend_for(self.device), kernel.lower()
        rows = data.kept[index]
        if self._precomputed:
            return backend.prepare(program, data.X, like=like).take(rows)
        return backend.prepare(program, self._basis(data, rows, seen=True).vectors, like=like)

    def _blocks(
        self, data: Training, kernel: Kernel, landmarks: IntArray, span: Span
    ) -> Iterator[tuple[IntArray, FloatArray]]:
        """(positions, coordinates) of all rows that count, block by block."""
        n, height = len(data.kept), min(PREDICT_ROWS, BLOCK_VALUES // len(span.rows) + 1)
        blocks = np.split(np.arange(n), np.arange(height, n, height))
        if len(landmarks) == n:  # all rows are landmarks, in their order
            yield from ((block, span.coordinates[block]) for block in blocks)
            return
        backend, program, threads = backend_for(self.device), kernel.lower(), effective_threads(self.n_jobs)
        right = self._prepared_rows(data, kernel, landmarks[span.rows])
        for block in blocks:
            left = self._prepared_rows(data, kernel, block, like=right)
            with single_threaded_blas():
                values = backend.tile(program, left, right, threads=threads)
            yield block, finite(values) @ span.map

    # -- directions -------------------------------------------------------------------------------------------

    def _solve(
        self, data: Training, kernel: Kernel, landmarks: IntArray, span: Span, priors: FloatArray
    ) -> Discriminants:
        label, n_classes = data.extra.label, len(data.extra.classes)
        rank = span.coordinates.shape[1]
        if self.n_components is not None and rank < self.n_components:
            raise ValueError(
                f"n_components={self.n_components}, but the kernel matrix has numerical rank {rank}, so there are no "
                "more directions than that; give fewer components, or another kernel"
            )
        scatter = Scatter(class_means(span.coordinates, label[landmarks], n_classes))
        for block, Z in self._blocks(data, kernel, landmarks, span):
            scatter.add(Z, label[block], data.weight[block])
        return discriminants(scatter.within(), scatter.means(), priors, float(self.reg), span.rounding)

    def _write(self, data: Training, solved: Directions) -> None:
        landmarks, span, found, priors = solved
        basis = self._basis(data, data.kept[landmarks[span.rows]])
        self.classes_, self.priors_, self.means_ = data.extra.classes, priors, found.means
        self.eigenvalues_ = found.eigenvalues[: self.n_components]
        total = float(found.eigenvalues.sum())
        self.explained_variance_ratio_ = self.eigenvalues_ / (total if total > 0 else 1.0)
        self.support_ = basis.rows.astype(np.int32)
        # coefficients may be large and cancel, so that float32 would not do
        wide = hasattr(basis.vectors, "astype") and basis.vectors.dtype == np.float32
        self.support_vectors_: Any = basis.vectors.astype(np.float64) if wide else basis.vectors
        self.dual_coef_ = span.map @ found.directions
        self.intercept_ = -(found.centre @ found.directions)

    # -- use --------------------------------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        """Number of directions, for the names of the output's columns."""
        return len(self.eigenvalues_)

    def transform(self, X):
        """Project rows onto the directions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; their kernel values with all training rows for ``kernel='precomputed'``.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        count = self._n_features_out
        return self._scores(X, self.dual_coef_[:, :count]) + self.intercept_[:count]

    def _log_posteriors(self, X) -> FloatArray:
        """(n, classes) logarithms of the classes' probabilities, but for a term that they share."""
        Z = self._scores(X, self.dual_coef_) + self.intercept_
        with np.errstate(divide="ignore"):  # a prior of 0 is a class that is never chosen
            priors = np.log(self.priors_)
        return Z @ self.means_.T - 0.5 * (self.means_**2).sum(axis=1) + priors

    def decision_function(self, X):
        """Logarithms of the classes' probabilities, but for a term that they share; two classes: the log-odds.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes: positive means ``classes_[1]``. Beyond, (n_samples, n_classes).
        """
        check_is_fitted(self)
        scores = self._log_posteriors(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """Class of every row: that with the nearest projected mean, corrected for the priors.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.classes_[np.argmax(self._log_posteriors(X), axis=1)]

    def predict_proba(self, X):
        """Probability of every class, from Gaussian classes with a common covariance.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), in the order of ``classes_``
        """
        check_is_fitted(self)
        return softmax(self._log_posteriors(X), axis=1)

    def predict_log_proba(self, X):
        """Logarithm of :meth:`predict_proba`."""
        check_is_fitted(self)
        return log_softmax(self._log_posteriors(X), axis=1)
