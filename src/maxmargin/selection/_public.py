"""The searches, one for every machine that has a strength to choose."""

from __future__ import annotations

from maxmargin.estimators import (
    SGDSVC,
    SVC,
    SVR,
    KernelLeastSquares,
    LinearClassifier,
    LinearRegressor,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    PegasosSVC,
)
from maxmargin.selection._search import CrossValidated, searches


@searches(SVC, "C", Cs="C", gammas="gamma")
class SVCCV(CrossValidated):
    """:class:`~maxmargin.SVC` with C and the kernel's parameters chosen by cross-validation.

    Where the kernel matrix fits into ``cache_size`` it is computed once per kernel, distances once for all, and every
    fold, class and C is solved on it: cells first to a loose gap on two folds, then those that may still win on all
    folds, tight. The winner is fitted to all rows, with its certificate.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from maxmargin import SVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = SVCCV(scale=True).fit(X, y)
    >>> search.best_score_ > 0.97, sorted(search.best_params_), search.certificate_.holds
    (True, ['C', 'gamma'], True)
    """


@searches(NuSVC, "nu", nus="nu", gammas="gamma")
class NuSVCCV(CrossValidated):
    """:class:`~maxmargin.NuSVC` with nu and the kernel's parameters chosen by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import NuSVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> NuSVCCV(nus=[0.1, 0.3], gammas=["scale"]).fit(X, y).best_score_ > 0.95
    True
    """


@searches(SVR, "C", Cs="C", gammas="gamma")
class SVRCV(CrossValidated):
    """:class:`~maxmargin.SVR` with C and the kernel's parameters chosen by cross-validation.

    Works as :class:`SVCCV` does.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import SVRCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> SVRCV(param_grid={"epsilon": [1.0, 10.0]}).fit(X, y).best_score_ > 0.45
    True
    """


@searches(NuSVR, "C", Cs="C", nus="nu", gammas="gamma")
class NuSVRCV(CrossValidated):
    """:class:`~maxmargin.NuSVR` with C, nu and the kernel's parameters chosen by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import NuSVRCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> NuSVRCV(Cs=[10.0, 100.0], nus=[0.5], gammas=["scale"]).fit(X, y).best_score_ > 0.4
    True
    """


@searches(LinearSVC, "C", Cs="C")
class LinearSVCCV(CrossValidated):
    """:class:`~maxmargin.LinearSVC` with C chosen by cross-validation.

    In every fold the costs are solved in growing order, each from the solution before it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = LinearSVCCV(Cs=[0.1, 1.0, 10.0]).fit(X, y)
    >>> search.best_score_ > 0.93, search.certificate_.holds
    (True, True)
    """


@searches(LinearSVR, "C", Cs="C")
class LinearSVRCV(CrossValidated):
    """:class:`~maxmargin.LinearSVR` with C chosen by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import LinearSVRCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> LinearSVRCV().fit(X, y).best_score_ > 0.45
    True
    """


@searches(LinearClassifier, "C", Cs="C")
class LinearClassifierCV(CrossValidated):
    """:class:`~maxmargin.LinearClassifier`, any loss and penalty, with C chosen by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> LinearClassifierCV("logistic", Cs=[0.1, 1.0, 10.0]).fit(X, y).best_score_ > 0.93
    True
    """


@searches(LinearRegressor, "C", Cs="C")
class LinearRegressorCV(CrossValidated):
    """:class:`~maxmargin.LinearRegressor`, any loss and penalty, with C chosen by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import LinearRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> LinearRegressorCV("squared", "l1", scale=True).fit(X, y).best_score_ > 0.45
    True
    """


@searches(PegasosSVC, "lam", lams="lam")
class PegasosSVCCV(CrossValidated):
    """:class:`~maxmargin.PegasosSVC` with lambda chosen by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from maxmargin import PegasosSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> PegasosSVCCV(lams=[1e-3, 1e-2], scale=True, max_iter=20, random_state=0).fit(X, y).best_score_ > 0.9
    True
    """


@searches(SGDSVC, "lam", lams="lam")
class SGDSVCCV(CrossValidated):
    """:class:`~maxmargin.SGDSVC` with lambda chosen by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from maxmargin import SGDSVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> SGDSVCCV(lams=[1e-3, 1e-2], scale=True, random_state=0).fit(X, y).best_score_ > 0.9
    True
    """


@searches(KernelLeastSquares, "lam", lams="lam", gammas="gamma")
class KernelLeastSquaresCV(CrossValidated):
    """:class:`~maxmargin.KernelLeastSquares` with lambda and the kernel chosen by cross-validation.

    The kernel matrix is computed once per kernel and serves every fold and every lambda, exactly: cells that conjugate
    gradients finish in few steps are solved together, the others by a Cholesky factor each. ``cv=LeaveOneOut()`` takes
    one eigendecomposition per kernel and no refits. Any number of outputs.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import KernelLeastSquaresCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = KernelLeastSquaresCV(scale=True).fit(X, y - y.mean())
    >>> search.best_score_ > 0.45, sorted(search.best_params_)
    (True, ['gamma', 'lam'])
    """
