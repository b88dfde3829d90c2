"""scikit-learn's ``l1_min_c``, for whichever machine it is asked of while the patch is on."""

from __future__ import annotations

from typing import Any

from sklearn.svm._bounds import l1_min_c as theirs

from maxmargin import l1_min_c as ours


def l1_min_c(
    X: Any, y: Any, *, loss: str = "squared_hinge", fit_intercept: bool = True, intercept_scaling: float = 1.0
) -> float:
    """Ours for LinearSVC, which is ours then; scikit-learn's for its own logistic regression."""
    own = theirs if loss == "log" else ours
    return float(own(X, y, loss=loss, fit_intercept=fit_intercept, intercept_scaling=intercept_scaling))
