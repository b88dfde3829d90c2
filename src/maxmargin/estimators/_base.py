"""The kernel machine: what SVC, NuSVC, SVR, NuSVR, OneClassSVM and SVDD have in common.

``fit`` validates, builds the problems, has them solved and certified, and only then publishes attributes: an error
on the way leaves the estimator as it was.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from maxmargin._types import Array, FloatArray, IntArray, RowData
from maxmargin._validation import kept_rows, resolve_gamma
from maxmargin.backends import backend_for, effective_threads, float32_is_safe, single_threaded_blas
from maxmargin.certificates import worst
from maxmargin.estimators._machine import Machine, Training, check_target, leaves_no_trace, seed_of
from maxmargin.estimators._progress import FitReporter
from maxmargin.estimators._run import Outcome, Task, certify_outcomes, history, run_tasks
from maxmargin.kernels import Kernel, Linear, Precomputed, resolve_kernel, takes_any_rows
from maxmargin.problems import FEASIBILITY_TOL, Problem
from maxmargin.solvers import NAMES

#: Rows predicted together: memory stays bounded however many are asked for.
PREDICT_ROWS = 4096


class Support(NamedTuple):
    """Training rows that a model predicts with."""

    rows: IntArray
    vectors: Any


class KernelMachine(Machine):
    """Base of the kernel machines; subclasses say what their problem is and how it is published."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid", "precomputed"}), callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "shrinking": ["boolean"],
        "cache_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "solver": [StrOptions(set(NAMES))],
        "gap_tol": [Interval(Real, 0.0, None, closed="neither"), None],
        "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
        "certify": [StrOptions({"auto", "full"}), Options(bool, {False})],
        "device": [StrOptions({"auto", "cpu"})],
        "n_jobs": [Integral, None],
        "warm_start": ["boolean"],
    }

    # -- what a machine must say ------------------------------------------------------------------------------

    @abstractmethod
    def _problems(self, data: Training, kernel: Kernel) -> list[tuple[IntArray, Problem]]:
        """(rows of X, problem) of every task; may raise on targets that make no sense."""

    def _publish(self, data: Training, outcomes: list[Outcome]) -> None:
        """Set the fitted attributes that scikit-learn's machine has; here those of a machine with one task."""
        (outcome,) = outcomes
        used = np.flatnonzero(outcome.delivered.dual_coef)
        self.n_support_: Any = np.array([len(used)], dtype=np.int32)
        self.intercept_: Any = np.array([outcome.delivered.intercept])
        self.n_iter_: Any = outcome.solution.n_iter
        self._publish_support(data, data.kept[used], outcome.delivered.dual_coef[None, used])

    def _validate_targets(self, y: Any) -> Any:
        """Targets as the machine wants them."""
        return y.astype(np.float64, copy=False)

    def _describe(self, data: Training) -> Any:
        """What else the machine wants to know of its targets, once."""
        return None

    # -- fit --------------------------------------------------------------------------------------------------

    @with_callbacks
    @leaves_no_trace
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the machine to the training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            Training rows; the Gram matrix for ``kernel='precomputed'``; any sequence for a callable kernel.
        y : array-like of shape (n_samples,)
            Class labels or real targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row: 2 is the row twice; rows of weight 0 or less are left out.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X, y, sample_weight):
        return self._fit_data(self._validate(X, y, sample_weight))

    def _fit_data(self, data: Training):
        kernel = self._resolve_kernel(data)
        reporter = FitReporter(self, data.X, data.y)
        outcomes = self._solve(data, kernel, reporter)
        certificates = certify_outcomes(self.certify, kernel, data.X, outcomes, seed_of(self))
        self._forget()
        self.kernel_ = kernel
        self.history_ = history(outcomes, certificates)
        if certificates is not None:
            self.certificates_, self.certificate_ = certificates, worst(certificates)
        self.fit_status_ = int(any(not outcome.solution.status.reached for outcome in outcomes))
        self.shape_fit_ = data.X.shape if hasattr(data.X, "shape") else (data.n,)
        self._publish(data, outcomes)
        reporter.close()
        return self

    def _solve(self, data: Training, kernel: Kernel, reporter: FitReporter) -> list[Outcome]:
        problems = self._problems(data, kernel)
        starts = self._warm_starts(data, problems)
        tasks = [Task(rows, problem, start) for (rows, problem), start in zip(problems, starts, strict=True)]
        return run_tasks(self, kernel, data.X, tasks, reporter)

    def _validate(self, X, y, sample_weight) -> Training:
        began = time.perf_counter()
        if sp.issparse(X) and self._precomputed:
            raise TypeError("Sparse precomputed kernels are not supported; pass a dense square array.")
        if takes_any_rows(self.kernel) and _not_numbers(X):
            X = list(X)
            n = len(X)
            self.__dict__.pop("n_features_in_", None)
        else:
            X = validate_data(
                self, X, dtype=[np.float64, np.float32], order="C", accept_sparse="csr", y="no_validation"
            )
            n = X.shape[0]
        target = self._validate_targets(check_target(self, y, n)) if self._needs_y(y) else None
        weight, kept = kept_rows(sample_weight, X, n)
        data = Training(X, target, weight[kept], kept, n, began=began)
        data = data._replace(extra=self._describe(data))
        if self._precomputed:
            _check_gram(X)
        return data

    def _needs_y(self, y: Any) -> bool:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        return True

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed) or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def _resolve_kernel(self, data: Training) -> Kernel:
        if self._precomputed or (takes_any_rows(self.kernel)):
            return resolve_kernel(self.kernel)
        gamma = resolve_gamma(self.gamma, data.rows, data.weight)
        return resolve_kernel(self.kernel, gamma, self.degree, self.coef0)

    def _warm_starts(self, data: Training, problems: list[tuple[IntArray, Problem]]) -> list[FloatArray | None]:
        """Where each task starts: at the fitted model's coefficients, made feasible, or from scratch."""
        if (
            not self.warm_start
            or not hasattr(self, "support_")
            or self.shape_fit_ != getattr(data.X, "shape", (data.n,))
        ):
            return [None] * len(problems)
        coefs = self._fitted_coefs(data, problems)
        starts: list[FloatArray | None] = []
        for (_, problem), coef in zip(problems, coefs, strict=True):
            start = None if coef is None else problem.qp.nearby(problem.recovered(coef, coef, 0.0)[0])
            starts.append(start if start is not None and problem.qp.infeasibility(start) <= FEASIBILITY_TOL else None)
        return starts

    def _fitted_coefs(self, data: Training, problems: list[tuple[IntArray, Problem]]) -> list[FloatArray | None]:
        """Published coefficients of the last fit on the rows of every task."""
        table = np.zeros(data.n)
        table[self.support_] = _dense(self.dual_coef_).ravel()
        return [table[rows] for rows, _ in problems]

    def _publish_support(self, data: Training, support: IntArray, dual_coef: FloatArray) -> None:
        """support_, support_vectors_ and dual_coef_, sparse where X was."""
        self.support_ = support.astype(np.int32)
        self.support_vectors_: Any = self._support(data, support).vectors
        sparse_type = sp.csr_matrix if isinstance(data.X, sp.spmatrix) else sp.csr_array
        self.dual_coef_: Any = sparse_type(dual_coef) if sp.issparse(data.X) else dual_coef

    def _support(self, data: Training, rows: IntArray) -> Support:
        """Some training rows, as a model keeps them: a precomputed kernel needs only their numbers."""
        if self._precomputed:
            return Support(rows, np.empty((0, 0)))
        return Support(rows, [data.X[i] for i in rows] if isinstance(data.X, list) else data.X[rows])

    # -- prediction -------------------------------------------------------------------------------------------

    def _scores(self, X, coef: FloatArray, support: Support | None = None) -> FloatArray:
        """sum_i coef_i k(x_i, x) for every row of X, in bounded memory; by default over the support vectors."""
        return self._products(X, [coef], support)[0]

    def _products(self, X, coefs: list[FloatArray], support: Support | None = None) -> list[FloatArray]:
        """The same sums over the first rows of the support, over those that follow, ...: as many as each has lines."""
        check_is_fitted(self)
        X = self._validate_for_predict(X)
        program, backend = self.kernel_.lower(), backend_for(self.device)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        results = [np.zeros((n, *coef.shape[1:])) for coef in coefs]
        ends = np.cumsum([0, *map(len, coefs)])
        threads = effective_threads(self.n_jobs)
        with single_threaded_blas():
            known = support or Support(self.support_, self.support_vectors_)
            vectors = self._prepared(known, program, backend, getattr(X, "dtype", None))
            parts = [vectors if len(coefs) == 1 else vectors.slice(*ends[k : k + 2]) for k in range(len(coefs))]
            for first in range(0, n, PREDICT_ROWS):
                rows = backend.prepare(program, X[first : first + PREDICT_ROWS], like=vectors, dtype=vectors.dtype)
                for result, part, coef in zip(results, parts, coefs, strict=True):
                    result[first : first + PREDICT_ROWS] = backend.product(program, rows, part, coef, threads)
        return results

    def _prepared(self, support: Support, program, backend, dtype):
        """Training rows as the back end wants them; float32 rows meet them in float32 where that is safe."""
        if self._precomputed:
            nothing = np.empty((len(support.rows), 0))
            return backend.prepare(program, nothing, columns=np.asarray(support.rows, dtype=np.intp))
        vectors = support.vectors
        narrow = dtype == np.float32 and vectors.dtype == np.float32 and float32_is_safe(self.kernel_, vectors)
        return backend.prepare(program, vectors, dtype=np.float32 if narrow else np.float64)

    def _validate_for_predict(self, X) -> RowData:
        if takes_any_rows(self.kernel) and _not_numbers(X):
            return list(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False)
        if self._precomputed and X.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"X.shape[1] = {X.shape[1]} should be equal to {self.shape_fit_[0]}, "
                "the number of samples at training time"
            )
        return X

    @property
    def coef_(self) -> Array:
        """Weights of the features, for the linear kernel only."""
        check_is_fitted(self)
        if not isinstance(self.kernel_, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef = self._linear_weights()
        values: Any = coef.data if sp.issparse(coef) else coef
        values.flags.writeable = False
        return coef

    def _linear_weights(self) -> Array:
        return self.dual_coef_ @ self.support_vectors_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags


def _not_numbers(X: Any) -> bool:
    """Whether X is a sequence of anything (strings, sets), to be handed to a user's kernel function as it is."""
    return not hasattr(X, "shape") or getattr(getattr(X, "dtype", None), "kind", "") in ("O", "U", "S")


def _check_gram(K: Array) -> None:
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"Precomputed matrix must be a square matrix. Input is a {K.shape[0]}x{K.shape[1]} matrix.")
    if not np.allclose(K, K.T, rtol=1e-5, atol=1e-8 * float(np.abs(K).max(initial=0.0))):
        raise ValueError(
            "Precomputed matrix must be symmetric; the largest difference from its transpose is "
            f"{float(np.abs(K - K.T).max()):.3g}. Use (K + K.T) / 2 if that is rounding."
        )


def _dense(values: Any) -> Any:
    return values.toarray() if sp.issparse(values) else np.asarray(values)
