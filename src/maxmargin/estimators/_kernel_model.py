"""What every kernel model has: a kernel and its parameters, rows that are checked, sums over training rows."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from maxmargin._rows import count, is_frame, is_table, take
from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin._validation import Scaling, check_gram, resolve_gamma, scaled
from maxmargin.backends import backend_for, effective_threads, float32_is_safe, single_threaded_blas
from maxmargin.delivered import Basis
from maxmargin.estimators._called import called_products
from maxmargin.estimators._machine import Machine, Training, check_rows
from maxmargin.estimators._scaling import fitted_scaling
from maxmargin.kernels import NAMES, Kernel, Precomputed, resolve_kernel, takes_any_rows

#: Rows predicted together: memory stays bounded however many are asked for.
PREDICT_ROWS = 4096


class KernelModel(Machine):
    """Base of the estimators whose scores are sums of kernel values, sum_i coef_i k(x_i, x)."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(NAMES)), callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "cache_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "device": [StrOptions({"auto", "cpu"})],
        "n_jobs": [Integral, None],
        "scale": ["boolean"],
    }

    kernel_: Kernel

    # -- rows and kernel --------------------------------------------------------------------------------------

    def _checked_rows(self, X: Any) -> RowData:
        """Training rows as the kernel wants them."""
        if sp.issparse(X) and self._precomputed:
            raise TypeError("Sparse precomputed kernels are not supported; pass a dense square array.")
        if takes_any_rows(self.kernel) and not is_table(X):
            self.__dict__.pop("n_features_in_", None)
            return list(X) if not is_frame(X) else [None] * len(X)  # a frame is asked for its rows as a whole
        return check_rows(self, X)

    def _scaled(self, data: Training) -> Training:
        """The data with X as the kernel shall see it; as they are without ``scale``."""
        if not self.scale:
            return data
        if self._precomputed or isinstance(data.X, list):
            what = "a precomputed kernel has" if self._precomputed else "rows that are not numbers have"
            raise ValueError(f"scale=True scales features, and {what} none; set scale=False")
        scaling = fitted_scaling(data.X_kept, data.weight)
        return data._replace(X=scaled(data.X, scaling), scaling=scaling, unscaled=data.X)

    def _write_scaling(self, data: Training) -> None:
        if data.scaling is not None:
            self.scaling_ = data.scaling

    def _check_gram(self, X: RowData) -> None:
        """Refuse what is no Gram matrix where one is given; after the targets are checked, as in scikit-learn."""
        if self._precomputed:
            check_gram(X)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed) or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def _resolve_kernel(self, data: Training) -> Kernel:
        if self._precomputed or isinstance(data.X, list):
            return resolve_kernel(self.kernel, None)  # no numbers that a width could be told from
        if takes_any_rows(self.kernel) and not isinstance(self.kernel, Kernel):
            return resolve_kernel(self.kernel)
        gamma = resolve_gamma(self.gamma, data.X_kept, data.weight)
        return resolve_kernel(self.kernel, gamma, self.degree, self.coef0)

    def _counted_rows(self, data: Training) -> RowData:
        """The rows that count, as a kernel machine of their own would get them."""
        if len(data.kept) == data.n:
            return data.X
        if self._precomputed:
            return data.X[np.ix_(data.kept, data.kept)]
        return [data.X[i] for i in data.kept] if isinstance(data.X, list) else data.X[data.kept]

    def _basis(self, data: Training, rows: IntArray, seen: bool = False) -> Basis:
        """Some training rows, as a model keeps them: a precomputed kernel needs only their numbers.

        ``seen``: as its kernel sees them, scaled if need be.
        """
        if self._precomputed:
            return Basis(rows, np.empty((0, 0)))
        X = data.X if seen else data.as_given
        return Basis(rows, take(X, rows))

    # -- prediction -------------------------------------------------------------------------------------------

    def _scores(self, X, coef: FloatArray, basis: Basis | None = None) -> FloatArray:
        """sum_i coef_i k(x_i, x) for every row of X, in bounded memory; by default over the support vectors."""
        return self._products(X, [coef], basis)[0]

    def _products(self, X, coefs: list[FloatArray], basis: Basis | None = None) -> list[FloatArray]:
        """The same sums over the first rows of the basis, over those that follow, ...: as many as each has lines."""
        check_is_fitted(self)
        if hasattr(self, "fit_rows_"):
            return called_products(self, X, coefs, basis)
        X = self._validate_for_predict(X)
        program, backend, scaling = self.kernel_.lower(), backend_for(self.device), Scaling.of(self)
        n = count(X)
        results = [np.zeros((n, *coef.shape[1:])) for coef in coefs]
        ends = np.cumsum([0, *map(len, coefs)])
        threads = effective_threads(self.n_jobs)
        with single_threaded_blas():
            known = basis or Basis(self.support_, self.support_vectors_)
            known = known._replace(vectors=scaled(known.vectors, scaling))
            vectors = self._prepared(known, program, backend, getattr(X, "dtype", None))
            parts = [vectors if len(coefs) == 1 else vectors.slice(*ends[k : k + 2]) for k in range(len(coefs))]
            for first in range(0, n, PREDICT_ROWS):
                block = scaled(X[first : first + PREDICT_ROWS], scaling)
                rows = backend.prepare(program, block, like=vectors, dtype=vectors.dtype)
                for result, part, coef in zip(results, parts, coefs, strict=True):
                    result[first : first + PREDICT_ROWS] = backend.product(program, rows, part, coef, threads)
        return results

    def _prepared(self, basis: Basis, program, backend, dtype):
        """Rows that a kernel sees, as the back end wants them; float32 meets float32 where that is safe."""
        if any(base.kind == "precomputed" for base in program.bases):
            nothing = np.empty((len(basis.rows), 0))
            return backend.prepare(program, nothing, columns=np.asarray(basis.rows, dtype=np.intp))
        vectors = basis.vectors
        narrow = dtype == np.float32 and vectors.dtype == np.float32 and float32_is_safe(self.kernel_, vectors)
        return backend.prepare(program, vectors, dtype=np.float32 if narrow else np.float64)

    def _validate_for_predict(self, X) -> RowData:
        """Rows to predict, checked; not yet scaled."""
        if takes_any_rows(self.kernel) and not is_table(X) and not hasattr(self, "n_features_in_"):
            return list(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=False)
        if self._precomputed and X.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"X.shape[1] = {X.shape[1]} should be equal to {self.shape_fit_[0]}, "
                "the number of samples at training time"
            )
        return X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags
