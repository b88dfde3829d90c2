"""One class: OneClassSVM and SVDD."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from maxmargin._rows import dense
from maxmargin._validation import Scaling, row_costs, scaled
from maxmargin.delivered import ON_BOUNDARY
from maxmargin.estimators._base import KernelMachine
from maxmargin.estimators._params import documented
from maxmargin.kernels import Linear
from maxmargin.kernels.rounding import summed
from maxmargin.problems import OneClassProblem, SVDDProblem


class OutlierMachine(OutlierMixin, KernelMachine):
    """What the two outlier detectors share: +1 inside, -1 outside."""

    def fit(self, X, y=None, sample_weight=None):
        """Fit the machine to the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            Training rows; the Gram matrix for ``kernel='precomputed'``; any sequence for a callable kernel.
        y : Ignored
            Present for scikit-learn's conventions.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row: 2 is the row twice; rows of weight 0 or less are left out.

        Returns
        -------
        self
        """
        return super().fit(X, None, sample_weight)

    def _needs_y(self, y):
        return False

    def _write(self, data, outcomes):
        super()._write(data, outcomes)
        self.offset_ = -self.intercept_

    def decision_function(self, X):
        """Positive inside, negative outside, 0 on the boundary."""
        return self.score_samples(X) - self.offset_

    def score_samples(self, X):
        """The decision function before its offset; equal to the offset where they differ by rounding only."""
        check_is_fitted(self)
        scores = self._raw_scores(X)
        on_boundary = np.abs(scores - self.offset_) <= ON_BOUNDARY * (np.abs(scores) + np.abs(self.offset_))
        return np.where(on_boundary, self.offset_, scores)

    def _raw_scores(self, X):
        """The sum over support vectors."""
        return self._scores(X, dense(self.dual_coef_).ravel())

    def predict(self, X):
        """+1 for rows inside or on the boundary, as free support vectors are, and -1 for rows outside."""
        return np.where(self.decision_function(X) >= 0, 1, -1)


@documented
class OneClassSVM(OutlierMachine):
    r"""One-class SVM: a half-space in feature space that holds all but a share nu of the rows.

    In LIBSVM's scale, with v_i the row's weight,

    .. math:: \min_{w,\rho}\; \tfrac12\|w\|^2 - \nu\rho\textstyle\sum_i v_i + \sum_i v_i \max(0, \rho - w\cdot\phi(x_i))

    Parameters
    ----------
    {shared}
    nu : float in (0, 1], default=0.5
        Upper bound on the share of rows outside, lower bound on that of support vectors.

    Attributes
    ----------
    {attributes}
    offset_, coef_ (linear kernel)
        As in scikit-learn.

    References
    ----------
    Schoelkopf, Platt, Shawe-Taylor, Smola and Williamson 2001, eq. (3)-(6).

    Examples
    --------
    >>> from maxmargin import OneClassSVM
    >>> X = [[0], [0.44], [0.45], [0.46], [1]]
    >>> OneClassSVM(gamma='auto').fit(X).predict(X)
    array([-1,  1,  1,  1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelMachine._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        nu=0.5,
        shrinking=True,
        cache_size="auto",
        verbose=False,
        max_iter=-1,
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
        scale = float(kernel.diag(data.X)[data.kept].max(initial=0.0))
        return [(data.kept, OneClassProblem(data.weight, float(self.nu), scale))]


@documented
class SVDD(OutlierMachine):
    r"""Support vector data description: the smallest ball in feature space around most of the rows.

    .. math:: \min_{a,R}\; R^2 + \sum_i C_i \max(0, \|\phi(x_i) - a\|^2 - R^2)

    The centre is :math:`a = \sum_i \beta_i \phi(x_i)` with :math:`0 \le \beta_i \le C_i` and
    :math:`\sum_i \beta_i = 1`; ``dual_coef_`` holds these :math:`\beta_i`.

    Parameters
    ----------
    {shared}
    C : float or None, default=None
        Cost of leaving the ball, C_i = C * weight. At most 1 / C rows (by weight) lie outside: with C >= 1 none does,
        and C * sum(weights) must reach 1. None is 10 / sum(weights): at most a tenth of the rows outside.

    Attributes
    ----------
    {attributes}
    radius_, C_ : float
        R, in feature space, whatever the kernel; and the C used.
    center_ : ndarray of shape (n_features,)
        The centre a in the units of the rows, for the linear kernel only; of others it is no point of their space.
    offset_
        ``decision_function(X) = score_samples(X) - offset_``, that is R^2 - ||phi(x) - a||^2.

    References
    ----------
    Tax and Duin 2004, eq. (3)-(9).

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVDD
    >>> X = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.5]])
    >>> ball = SVDD(kernel='linear', C=1.0).fit(X)
    >>> round(float(ball.radius_), 6), ball.center_.round(6) + 0.0
    (1.0, array([0., 0.]))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="neither"), None],
    }

    def __init__(
        self,
        *,
        C=None,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        shrinking=True,
        cache_size="auto",
        verbose=False,
        max_iter=-1,
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
        cost = row_costs(self._cost(data), data.weight)
        if cost.sum() < 1 - summed(len(cost)):
            raise ValueError(
                f"C={self.C} is too small for these rows: C times the sum of the weights, {cost.sum():.3g}, must be "
                f"at least 1; take C >= {self.C / cost.sum():.17g}"
            )
        return [(data.kept, SVDDProblem(kernel.diag(data.X)[data.kept], cost))]

    def _write(self, data, outcomes):
        super()._write(data, outcomes)
        (outcome,) = outcomes
        offsets = outcome.delivered.problem.offsets(outcome.solution.beta, outcome.solution.f)
        self.C_, self.radius_ = self._cost(data), float(np.sqrt(max(offsets.rho, 0.0)))

    def _cost(self, data):
        return 10.0 / float(data.weight.sum()) if self.C is None else float(self.C)

    @property
    def center_(self):
        """The centre of the ball, for the linear kernel only."""
        check_is_fitted(self)
        if not isinstance(self.kernel_, Linear):
            raise AttributeError("center_ is only available when using a linear kernel; radius_ always is")
        return dense(self._linear_weights()).ravel()

    def _raw_scores(self, X):
        """2 a.phi(x) - k(x, x)."""
        return 2.0 * super()._raw_scores(X) - self._self_similarity(X)

    def _self_similarity(self, X):
        """k(x, x)."""
        X = self._validate_for_predict(X)
        if self._precomputed:
            raise ValueError(
                "SVDD needs k(x, x) of new rows, which a precomputed matrix does not hold; use a callable kernel"
            )
        return self.kernel_.diag(scaled(X, Scaling.of(self)))
