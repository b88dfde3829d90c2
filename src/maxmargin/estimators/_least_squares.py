"""Kernel least squares."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_y, check_is_fitted

from maxmargin._rows import count
from maxmargin._types import FloatArray, IntArray
from maxmargin._validation import free_memory, kept_rows
from maxmargin.backends import blas_threads, factor_threads, single_threaded_blas
from maxmargin.estimators._fit import fit
from maxmargin.estimators._kernel_model import KernelModel
from maxmargin.estimators._machine import Training, leaves_no_trace
from maxmargin.estimators._one_system import OneSystem
from maxmargin.estimators._options import FitOptions
from maxmargin.estimators._params import document_kernel
from maxmargin.estimators._streamed import (
    DIRECT_ROWS,
    StreamedValues,
    draw_landmarks,
    gram_of,
    solve_streamed,
    warn_unless_solved,
)
from maxmargin.kernels import Kernel
from maxmargin.maps import LANDMARK_METHODS
from maxmargin.solvers.conjugate import solve_refined
from maxmargin.solvers.least_squares import (
    LeastSquaresSolution,
    falkon,
    solve_cholesky,
    solve_eigen,
)

#: Most rows of a closed form by eigendecomposition, unless it is asked for.
EIGEN_ROWS = 500
#: Matrices of n x n doubles that a closed form has at the same time.
MATRICES = {"eigen": 6, "cholesky": 3}


@document_kernel
class KernelLeastSquares(MultiOutputMixin, RegressorMixin, KernelModel):
    r"""Kernel least squares, with a ridge or without, exact, with its leave-one-out residuals.

    .. math:: \min_f\; \sum_i v_i\, |y_i - f(x_i)|^2 + \lambda \|f\|^2, \qquad f = \sum_j a_j\, k(x_j, \cdot)

    With ``lam > 0`` it is scikit-learn's ``KernelRidge(alpha=lam)``. With ``lam=0`` the coefficients are the
    pseudo-inverse's: of all f that fit best, the smallest; on a kernel matrix of full rank it interpolates. There is no
    intercept.

    Parameters
    ----------
    kernel : str, Kernel or callable, default='rbf'
        A name of scikit-learn's, an expression of :mod:`maxmargin.kernels`, or any function of two blocks of rows.
    lam : float, default=0.0
        The ridge, at least 0.
    degree : int, default=3
        Degree of 'poly'.
    gamma : {'scale', 'auto'} or float, default='scale'
        Width of 'rbf', 'poly' and 'sigmoid', and of kernels that leave theirs open.
    coef0 : float, default=0.0
        Constant of 'poly' and 'sigmoid'.
    solver : {'auto', 'eigen', 'cholesky', 'cg'}, default='auto'
        'eigen' takes any lam and finds the rank; 'cholesky' is faster and wants lam > 0; 'cg', conjugate gradients with
        a Nystroem preconditioner, stores no matrix and wants lam > 0. 'auto' takes the first for few rows and lam=0,
        the last for more than 12,000 rows.
    rank_tol : float or None, default=None
        Eigenvalues up to this share of the largest count as 0; None: n times the rounding error of a float.
    n_landmarks : int or None, default=None
        When given, f lies in the span of so many rows, drawn at random: for very many rows. Kernel values are streamed.
    landmarks : {'uniform', 'k-means++', 'leverage'}, default='uniform'
        How they are drawn, as in :class:`~maxmargin.NystroemMap`.
    leave_one_out : bool, default=False
        Whether to publish ``loo_residuals_`` (closed forms only).
    tol : float, default=1e-6
        Relative residual at which conjugate gradients end.
    max_iter : int, default=200
        Most of their steps.
    cache_size : 'auto' or float, default='auto'
        Kept for the kernel machines' sake: the closed forms store the whole matrix.
    device : {'auto', 'cpu'}, default='auto'
        Where to compute.
    n_jobs : int or None, default=None
        Threads. None: all cores, or one inside a worker of joblib's.
    random_state : int, RandomState or None, default=None
        Seed of the landmarks.
    {scale}

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        a; of the landmarks, if there are any.
    support_ : ndarray of shape (n_rows,)
        Numbers of the rows that a belongs to.
    support_vectors_ : ndarray or sparse matrix
        These rows.
    {scaling}
    residual_ : float
        Of the linear system that was solved, relative to the targets: what is left to solve.
    rank_ : int
        Rank of the kernel matrix as far as it was used; only of closed forms.
    loo_residuals_ : ndarray of the shape of y
        Target minus prediction by the model fitted without the row; with ``leave_one_out=True``. Rows of weight 0: nan.
    n_iter_ : int
        Steps of conjugate gradients; 1 for closed forms.
    kernel_ : Kernel
        The kernel with all its widths.
    n_features_in_, feature_names_in_, shape_fit_
        As in scikit-learn.

    References
    ----------
    Saunders, Gammerman and Vovk 1998; Rudi, Carratino and Rosasco 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import KernelLeastSquares
    >>> X = np.linspace(0, 3, 30)[:, None]
    >>> model = KernelLeastSquares(lam=1e-3, leave_one_out=True).fit(X, np.sin(X.ravel()))
    >>> bool(model.score(X, np.sin(X.ravel())) > 0.999), bool(np.abs(model.loo_residuals_).max() < 0.05)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "lam": [Interval(Real, 0.0, None, closed="left")],
        "solver": [StrOptions({"auto", "eigen", "cholesky", "cg"})],
        "rank_tol": [Interval(Real, 0.0, 1.0, closed="left"), None],
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
        "landmarks": [StrOptions(set(LANDMARK_METHODS))],
        "leave_one_out": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel="rbf",
        lam=0.0,
        *,
        degree=3,
        gamma="scale",
        coef0=0.0,
        solver="auto",
        rank_tol=None,
        n_landmarks=None,
        landmarks="uniform",
        leave_one_out=False,
        tol=1e-6,
        max_iter=200,
        cache_size="auto",
        device="auto",
        n_jobs=None,
        random_state=None,
        scale=False,
    ):
        self._store(locals())

    @leaves_no_trace
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the model to the training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            Training rows; the Gram matrix for ``kernel='precomputed'``; any sequence for a callable kernel.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row: 2 is the row twice; rows of weight 0 or less are left out.

        Returns
        -------
        self
        """
        data = self._validate(X, y, sample_weight)
        return fit(self, data, OneSystem(self, data))

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> Training:
        """Checked input; the targets have a column per output, ``extra`` says how many dimensions they had."""
        X = self._checked_rows(X)
        n = count(X)
        if y is None:
            raise ValueError("KernelLeastSquares requires y to be passed, but the target y is None.")
        Y = np.asarray(_check_y(y, multi_output=True, y_numeric=True, estimator=self), dtype=np.float64)
        if len(Y) != n:
            raise ValueError(f"X and y have incompatible shapes: X has {n} samples, but y has {len(Y)}.")
        self._check_gram(X)
        weight, kept = kept_rows(sample_weight, X, n)
        return self._scaled(Training(X, Y.reshape(n, -1), weight[kept], kept, n, extra=Y.ndim))

    def _solved(self, data: Training, kernel: Kernel) -> tuple[LeastSquaresSolution, IntArray]:
        """(solution, the rows of X that its coefficients belong to)."""
        n, name = len(data.kept), self.solver
        if self.n_landmarks is not None and self.n_landmarks < n:
            return self._by_landmarks(data, kernel)
        if name == "auto":
            few = self.lam == 0 or n <= EIGEN_ROWS
            name = "eigen" if few else "cholesky" if n <= DIRECT_ROWS else "cg"
        if self.lam == 0 and name != "eigen":
            raise ValueError(f"solver={name!r} takes lam > 0, got lam=0; use solver='eigen', or a small lam")
        if name == "cg":
            return self._by_gradients(data, kernel), data.kept
        _require_memory(n, name)
        K, Y = gram_of(FitOptions.of(self), data, kernel).matrix(heeds=True), data.y[data.kept]
        if not np.isfinite(K).all():
            raise ValueError("the kernel matrix is not finite; scale the features, for example with StandardScaler")
        cut = n * np.finfo(float).eps if self.rank_tol is None else float(self.rank_tol)
        with blas_threads(factor_threads(n, self.n_jobs)):
            if name == "cholesky":
                found = solve_cholesky(K, Y, data.weight, float(self.lam), self.leave_one_out)
                if found is not None:
                    return found, data.kept
            return solve_eigen(K, Y, data.weight, float(self.lam), cut), data.kept

    # -- many rows --------------------------------------------------------------------------------------------

    def _by_landmarks(self, data: Training, kernel: Kernel) -> tuple[LeastSquaresSolution, IntArray]:
        """f in the span of some rows: conjugate gradients on the normal equations, kernel values streamed."""
        chosen = draw_landmarks(self, data, kernel, self.n_landmarks, self.landmarks)
        blocks = StreamedValues(self, data, kernel, chosen)
        K_mm, mass = blocks.among(), float(data.weight.sum())
        if self.lam == 0:
            raise ValueError("n_landmarks takes lam > 0, got lam=0; give a small lam")
        lam = float(self.lam)
        right = blocks.collect(lambda K, rows: K.T @ (data.weight[rows, None] * data.y[data.kept[rows]]))

        def apply(a: FloatArray) -> FloatArray:
            return blocks.collect(lambda K, rows: K.T @ (data.weight[rows, None] * (K @ a))) + lam * (K_mm @ a)

        with single_threaded_blas():
            a, residual, steps = solve_refined(apply, falkon(K_mm, mass, lam), right, self.tol, self.max_iter)
        warn_unless_solved(FitOptions.of(self), residual, steps, "take a larger lam")
        return LeastSquaresSolution(a, residual, n_iter=steps), chosen

    def _by_gradients(self, data: Training, kernel: Kernel) -> LeastSquaresSolution:
        """All rows: K is never stored."""
        Y = data.y[data.kept]
        a, residual, steps = solve_streamed(self, data, kernel, data.weight, float(self.lam), Y)
        warn_unless_solved(FitOptions.of(self), residual, steps, "take a larger lam")
        return LeastSquaresSolution(a, residual, n_iter=steps)

    def _write(self, data: Training, solved: tuple[LeastSquaresSolution, IntArray]) -> None:
        (solution, rows), flat = solved, data.extra == 1
        self.dual_coef_ = solution.coef[:, 0] if flat else solution.coef
        self.support_ = rows.astype(np.int32)
        self.support_vectors_: Any = self._basis(data, rows).vectors
        self.residual_, self.n_iter_ = solution.residual, max(1, solution.n_iter)
        if solution.rank is not None:
            self.rank_ = solution.rank
        if self.leave_one_out:
            if solution.left_out is None:
                raise ValueError("leave_one_out=True is for closed forms: fewer rows, and no n_landmarks")
            table = np.full((data.n, solution.coef.shape[1]), np.nan)
            table[data.kept] = solution.left_out
            self.loo_residuals_ = table[:, 0] if flat else table

    def predict(self, X):
        """Predicted target of every row."""
        check_is_fitted(self)
        return self._scores(X, self.dual_coef_)


def _require_memory(n: int, solver: str) -> None:
    """MemoryError, before the work, where the matrices of a closed form cannot be stored."""
    needed, free = MATRICES[solver] * 8 * n**2, free_memory()
    if needed > free:
        raise MemoryError(
            f"solver={solver!r} stores matrices of {n} rows, {needed / 2**20:.0f} MB, and {free / 2**20:.0f} are free; "
            "take fewer rows, n_landmarks, or solver='cg' with lam > 0"
        )
