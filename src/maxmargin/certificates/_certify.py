"""The one question: how far from optimal is this model?"""

from __future__ import annotations

from typing import Any

from maxmargin._types import RowData
from maxmargin.certificates._approximation import certify_approximation
from maxmargin.certificates._certificate import Certificate, worst
from maxmargin.certificates._kernel import certify_kernel_tasks
from maxmargin.certificates._linear import certify_linear_tasks
from maxmargin.delivered import LinearTrained, is_approximation, trained


def certify(model: Any, X: RowData, y: Any = None, sample_weight: Any = None, C: float | None = None) -> Certificate:
    """Certify a fitted model against its training data; the worst certificate over its binary tasks.

    Parameters
    ----------
    model : fitted estimator
        maxmargin's, scikit-learn's or scikit-learn-intelex's SVC, NuSVC, SVR, NuSVR, OneClassSVM, and their linear
        machines; SVDD, LSSVC and KernelPegasosSVC. For an SVC on landmarks (``approximation='nystroem'``) the
        certificate is that of the full problem.
    X, y, sample_weight
        Exactly the training data, in the same order.
    C : float, optional
        Cost, for models that do not store theirs.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from maxmargin import certify
    >>> X, y = load_iris(return_X_y=True)
    >>> certificate = certify(SVC().fit(X, y), X, y)
    >>> certificate.holds, bool(certificate.relative_gap < 1e-3)
    (True, True)
    """
    return worst(certify_tasks(model, X, y, sample_weight, C))


def certify_tasks(
    model: Any, X: RowData, y: Any = None, sample_weight: Any = None, C: float | None = None
) -> list[Certificate]:
    """One certificate per binary task (pair of classes, or class), in the order of ``intercept_``."""
    found = trained(model, X, y, sample_weight, C)
    if isinstance(found, LinearTrained):
        return certify_linear_tasks(found)
    return certify_approximation(found) if is_approximation(model) else certify_kernel_tasks(found)
