"""scikit-learn's KernelRidge, solved and evaluated by :class:`maxmargin.KernelLeastSquares`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import sklearn.kernel_ridge
from sklearn.base import _fit_context
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from maxmargin import KernelLeastSquares, kernels


class KernelRidge(sklearn.kernel_ridge.KernelRidge):
    """Parameters and attributes are scikit-learn's: a model of its own can be unpickled as this."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the ridge; parameters as in scikit-learn."""
        X, y = validate_data(self, X, y, accept_sparse="csr", multi_output=True, y_numeric=True)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
        targets, lams = y.reshape(len(y), -1), np.atleast_1d(np.asarray(self.alpha, dtype=float))
        if len(lams) not in (1, targets.shape[1]):
            raise ValueError(
                f"Number of targets and number of penalties do not correspond: {len(lams)} penalties and "
                f"{targets.shape[1]} targets; give one penalty for all, or one for each"
            )
        kernel = self._own_kernel(X.shape[1])
        parts = [(lams[0], targets)] if len(lams) == 1 else zip(lams, targets.T[:, :, None], strict=True)
        models = [KernelLeastSquares(kernel, lam=float(lam)).fit(X, part, sample_weight) for lam, part in parts]
        coef = np.zeros(targets.shape)  # rows of weight 0 have no part in the fit
        coef[models[0].support_] = np.hstack([model.dual_coef_ for model in models])
        self.dual_coef_, self.X_fit_ = coef.reshape(y.shape), X
        return self

    def predict(self, X):
        """Predicted target of every row."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        kernel = self._own_kernel(X.shape[1])
        if callable(kernel) and not isinstance(kernel, kernels.Kernel):
            return np.asarray(kernel(X, self.X_fit_) @ self.dual_coef_)
        machine = KernelLeastSquares(kernel)
        machine.kernel_ = kernel
        machine.support_ = np.arange(len(self.dual_coef_), dtype=np.int32)
        machine.support_vectors_ = self.X_fit_
        machine.n_features_in_, machine.shape_fit_ = self.n_features_in_, self.X_fit_.shape
        machine.dual_coef_ = self.dual_coef_
        return machine.predict(X)

    def _own_kernel(self, features: int) -> Any:
        """One of ours where the name is known, else a function of two blocks of rows that calls scikit-learn's."""
        if callable(self.kernel):
            return partial(pairwise_kernels, metric=self.kernel, filter_params=True, **(self.kernel_params or {}))
        if self.kernel in kernels.NAMES and float(self.degree).is_integer():
            width = self.gamma if self.gamma is not None else 1.0 if self.kernel == "chi2" else 1.0 / features
            return kernels.resolve_kernel(self.kernel, width, int(self.degree), self.coef0)
        named = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return partial(pairwise_kernels, metric=self.kernel, filter_params=True, **named)
