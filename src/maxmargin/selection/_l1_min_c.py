"""The cost below which a 1-norm leaves all weights at 0."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from maxmargin._types import FloatArray


def l1_min_c(
    X: Any, y: Any, *, loss: str = "squared_hinge", fit_intercept: bool = True, intercept_scaling: float = 1.0
) -> float:
    """The largest C at which every weight of a linear classifier with the 1-norm is still 0.

    Just above it some weight leaves 0. With w = 0 the best intercept b is known, and so are the derivatives of the loss
    in w; C times the largest of them reaches the 1-norm's slope, 1, at this C. scikit-learn's function of this name is
    for a penalised intercept, LIBLINEAR's; here it is free.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Training rows.
    y : array-like of shape (n_samples,)
        Their classes; beyond two, every class against the rest.
    loss : {'squared_hinge', 'log'}, default='squared_hinge'
        'squared_hinge' is for ``LinearSVC(penalty='l1')``; 'log' for ``LinearClassifier('logistic', 'l1')``, whose loss
        is in base 2.
    fit_intercept : bool, default=True
        As the machine's.
    intercept_scaling : float, default=1.0
        Kept for compatibility; without effect.

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC, l1_min_c
    >>> X, y = load_iris(return_X_y=True)
    >>> C = l1_min_c(X, y)
    >>> [bool(LinearSVC(penalty="l1", C=c * C).fit(X, y).coef_.any()) for c in (0.99, 1.01)]
    [False, True]
    """
    if loss not in ("squared_hinge", "log"):
        raise ValueError(f"loss must be 'squared_hinge' or 'log', got {loss!r}")
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    check_consistent_length(X, y)
    signs = LabelBinarizer(neg_label=-1).fit_transform(column_or_1d(y)).T.astype(np.float64)
    steepest = max(float(np.abs(safe_sparse_dot(_pull(t, loss, fit_intercept), X)).max()) for t in signs)
    if steepest == 0.0:
        raise ValueError(
            "Ill-posed l1_min_c calculation: l1 will always select zero coefficients for this data: no feature differs "
            "between the classes"
        )
    return 1.0 / steepest


def _pull(signs: FloatArray, loss: str, fit_intercept: bool) -> FloatArray:
    """Minus the derivative of every row's loss in its score, at w = 0 and the best intercept."""
    mean = float(signs.mean()) if fit_intercept else 0.0
    if loss == "squared_hinge":
        return 2.0 * (signs - mean)  # the best b is the mean of the signs
    return (signs - mean) / (2.0 * math.log(2.0))  # sigma(b) is the share of positive rows
