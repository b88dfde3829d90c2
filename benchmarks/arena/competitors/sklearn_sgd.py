"""scikit-learn's stochastic gradient descent with alpha = 1 / (n C); one thread for each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.arena import linear
from benchmarks.arena.competitors import _common

NAME = "sklearn-sgd"
TASKS = linear.TASKS
MOST_PASSES = 100_000


class Machine:
    """SGDClassifier whose alpha is known only when the rows are; `tol` is the fall of the mean loss in five passes."""

    def __init__(self, C: float, **params: Any):
        self.C, self.params = C, params

    def fit(self, X: Any, y: np.ndarray) -> Machine:
        """Fit with the alpha of so many rows."""
        from sklearn.linear_model import SGDClassifier

        alpha = 1.0 / (X.shape[0] * self.C)
        self.model = SGDClassifier(alpha=alpha, max_iter=MOST_PASSES, n_jobs=-1, random_state=0, **self.params)
        self.model.fit(X, y)
        self.coef_, self.intercept_ = self.model.coef_, self.model.intercept_
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The class of every row."""
        return self.model.predict(X)


def available() -> str | None:
    """Whether the package can be imported."""
    return _common.absent("sklearn")


def make(task: str, params: dict[str, Any], tol: float | None) -> Machine:
    """An unfitted machine; its intercept is free."""
    return Machine(**_common.linear_params(task, params, tol))


def cast(X: Any, task: str) -> Any:
    """float64, the layout as it comes."""
    return _common.sparse_or_dense(X, np.float64)


def note(model: Machine) -> str:
    """How many passes it made."""
    return f"{model.model.n_iter_} passes"
