"""Regression: SVR and NuSVR."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from maxmargin._rows import dense
from maxmargin._validation import row_costs
from maxmargin.estimators._base import KernelMachine
from maxmargin.estimators._params import documented
from maxmargin.problems import NuSVRProblem, SVRProblem


class KernelRegressor(RegressorMixin, KernelMachine):
    """What the two regressors share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "fit_intercept": ["boolean"],
    }

    def predict(self, X):
        """Predicted target of every row."""
        check_is_fitted(self)
        return self._scores(X, dense(self.dual_coef_).ravel()) + self.intercept_[0]


@documented
class SVR(KernelRegressor):
    r"""Support vector regression with an epsilon-insensitive tube.

    .. math:: \min_{w,b}\; \tfrac12\|w\|^2 + \sum_i C_i \max(0, |y_i - w\cdot\phi(x_i) - b| - \varepsilon)

    Parameters
    ----------
    {shared}
    C : float, default=1.0
        Cost of leaving the tube; finite.
    epsilon : float, default=0.1
        Half-width of the tube inside which errors cost nothing.
    fit_intercept : bool, default=True
        False drops b and with it the dual's equality constraint.

    Attributes
    ----------
    {attributes}
    coef_ (linear kernel)
        As in scikit-learn.

    References
    ----------
    Smola and Schoelkopf 2004, eq. (3)-(10).

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVR
    >>> X = np.linspace(0, 3, 50)[:, None]
    >>> model = SVR(C=10, epsilon=0.01).fit(X, np.sin(X.ravel()))
    >>> bool(model.score(X, np.sin(X.ravel())) > 0.999)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelRegressor._parameter_constraints,
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        C=1.0,
        epsilon=0.1,
        shrinking=True,
        cache_size="auto",
        verbose=False,
        max_iter=-1,
        fit_intercept=True,
        solver="auto",
        gap_tol=None,
        time_limit=None,
        certify="auto",
        device="auto",
        n_jobs=None,
        warm_start=False,
        scale=False,
    ):
        self._store(locals())

    def _problems(self, data, kernel):
        y, C = data.y[data.kept], row_costs(self.C, data.weight)
        return [(data.kept, SVRProblem(y, C, float(self.epsilon), self.fit_intercept))]


@documented
class NuSVR(KernelRegressor):
    r"""Support vector regression whose tube is as wide as nu says: at most a share nu of the rows outside it.

    .. math:: \min_{w,b,\varepsilon\ge0}\; \tfrac12\|w\|^2 + \nu\varepsilon\sum_i C_i
        + \sum_i C_i \max(0, |y_i - w\cdot\phi(x_i) - b| - \varepsilon)

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        Upper bound on the share of rows outside the tube, lower bound on that of support vectors.
    C : float, default=1.0
        Cost of leaving the tube; finite.
    {shared}
    fit_intercept : bool, default=True
        False drops b and with it the dual's equality constraint.

    Attributes
    ----------
    {attributes}
    coef_ (linear kernel)
        As in scikit-learn.

    References
    ----------
    Schoelkopf, Smola, Williamson and Bartlett 2000, eq. (33)-(38).

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import NuSVR
    >>> X = np.linspace(0, 3, 50)[:, None]
    >>> model = NuSVR(C=10, nu=0.3).fit(X, np.sin(X.ravel()))
    >>> bool(model.score(X, np.sin(X.ravel())) > 0.99)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelRegressor._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        *,
        nu=0.5,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        tol=1e-3,
        cache_size="auto",
        verbose=False,
        max_iter=-1,
        fit_intercept=True,
        solver="auto",
        gap_tol=None,
        time_limit=None,
        certify="auto",
        device="auto",
        n_jobs=None,
        warm_start=False,
        scale=False,
    ):
        self._store(locals())

    def _problems(self, data, kernel):
        y, C = data.y[data.kept], row_costs(self.C, data.weight)
        return [(data.kept, NuSVRProblem(y, C, fit_intercept=self.fit_intercept, nu=float(self.nu)))]
