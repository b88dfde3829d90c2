"""Why a row got its score: the support vectors that decided it, and the features where there are weights.

See "Two forms of the score" in ``docs/theory.md``.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._rows import count
from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.delivered import Fitted, KernelFitted, LinearFitted
from maxmargin.inspection._model import read
from maxmargin.kernels import Linear, takes_any_rows

#: How many lines of a list ``print`` shows.
SHOWN = 5


@dataclass(frozen=True, eq=False)
class TaskExplanation:
    """The score of one task as a sum.

    Attributes
    ----------
    task : str
        What the task asks; a positive score says yes.
    score : float
        f(x).
    intercept : float
        b.
    rows : ndarray
        The support vectors (numbers of training rows), the largest contribution first, whatever its sign; None for a
        linear machine, which keeps w instead.
    dual_coef, kernel : ndarrays
        Their coefficients alpha_i t_i and kernel values k(x_i, x); None as above.
    contributions : ndarray
        dual_coef_i k(x_i, x), or twice that for SVDD; with the intercept they sum to the score. None as above.
    own : float
        -k(x, x), a further term of SVDD's score; 0 for all others.
    features : ndarray of shape (d,)
        w_j x_j, in the order of the columns; with the intercept they sum to the score. None where the kernel is not
        linear.
    feature_names : ndarray of str
        The columns' names, or their numbers.
    """

    task: str
    score: float
    intercept: float
    rows: IntArray | None = None
    dual_coef: FloatArray | None = None
    kernel: FloatArray | None = None
    contributions: FloatArray | None = None
    own: float = 0.0
    features: FloatArray | None = None
    feature_names: Array | None = None

    def __str__(self) -> str:
        lines = [f"{self.task}: score {self.score:.6g} = intercept {self.intercept:.6g}"]
        if self.own:
            lines[0] += f" - k(x, x) {-self.own:.6g}"
        if self.contributions is not None and self.rows is not None:
            lines[0] += f" + {len(self.rows)} support vectors {self.contributions.sum():.6g}"
            lines += [f"  row {r:<10} {c:+.6g}" for r, c in zip(self.rows[:SHOWN], self.contributions, strict=False)]
            lines += _left(self.contributions)
        if self.features is not None and self.feature_names is not None:
            order = np.argsort(-np.abs(self.features), kind="stable")
            lines.append(f"  by features: {len(order)} with the sum {self.features.sum():.6g}")
            lines += [f"  {self.feature_names[j]!s:<14} {self.features[j]:+.6g}" for j in order[:SHOWN]]
            lines += _left(self.features[order])
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Explanation:
    """The scores of one row: ``label`` is what the model predicts for it, ``tasks`` has a sum for every task."""

    label: Any
    tasks: tuple[TaskExplanation, ...]

    def __str__(self) -> str:
        return "\n".join([f"predicted: {self.label}", *map(str, self.tasks)])


def explain(model: Any, x: Any) -> Explanation:
    r"""The score of one row as a sum over support vectors, and over features where the model has weights.

    .. math:: f(x) = \sum_i \alpha_i t_i\, k(x_i, x) + b, \qquad f(x) = \sum_j w_j x_j + b

    The first form is that of a kernel machine, the second that of a linear one; a kernel machine with the linear kernel
    has both, and they agree. Every task (pair of classes, class) has its own.

    Parameters
    ----------
    model : fitted model
        Any that this module reads: classifiers, regressors, one-class machines, maxmargin's and scikit-learn's.
    x : array-like of shape (d,) or (1, d)
        One row; its kernel values with the training rows for a precomputed kernel; anything for a callable kernel that
        takes it.

    Returns
    -------
    Explanation
        ``print`` shows the largest contributions.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVC
    >>> from maxmargin.inspection import explain
    >>> X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> print(explain(SVC(kernel="linear", C=np.inf).fit(X, y), [5.0]))
    predicted: 1
    1 against 0: score 3 = intercept -2 + 2 support vectors 5
      row 2          +7.5
      row 1          -2.5
      by features: 1 with the sum 5
      0              +5
    """
    fitted = read(model)
    X = fitted.checked(_one_row(fitted, x))
    if count(X) != 1:
        raise ValueError(f"explain takes one row at a time; got {count(X)}")
    scores = fitted.scores(X)[0]
    parts = _by_rows(fitted, X) if isinstance(fitted, KernelFitted) else [{} for _ in scores]
    for k, features in enumerate(_by_features(fitted, X)):
        parts[k].update(features=features, feature_names=_feature_names(model, len(features)))
    tasks = [
        TaskExplanation(name, float(score), float(b), **part)
        for name, score, b, part in zip(fitted.names, scores, fitted.intercept, parts, strict=True)
    ]
    return Explanation(_predicted(model, X), tuple(tasks))


def _predicted(model: Any, X: Any) -> Any:
    with warnings.catch_warnings():  # the columns were checked already: no second warning about their names
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return np.asarray(model.predict(X))[0]


def _one_row(fitted: Fitted, x: Any) -> Any:
    if isinstance(fitted, KernelFitted) and takes_any_rows(fitted.model.kernel) and not _numeric(x):
        return [x]
    if sp.issparse(x):
        return x
    row = np.asarray(x)
    return row[None] if row.ndim == 1 else row


def _numeric(x: Any) -> bool:
    return sp.issparse(x) or np.asarray(x).dtype.kind in "fiub"


def _by_rows(fitted: KernelFitted, X: Any) -> list[dict[str, Any]]:
    """The support vectors of every task, by decreasing size of their contribution."""
    values = fitted.values(X)[0]
    ball = fitted.machine == "SVDD"  # whose score is 2 a.phi(x) - k(x, x) + b
    own, factor = (-float(fitted.kernel.diag(X)[0]), 2.0) if ball else (0.0, 1.0)
    parts = []
    for coef in fitted.coef.T:
        used = np.flatnonzero(coef)
        order = used[np.argsort(-np.abs(coef[used] * values[used]), kind="stable")]
        parts.append(
            {
                "rows": fitted.support[order],
                "dual_coef": coef[order],
                "kernel": values[order],
                "contributions": factor * coef[order] * values[order],
                "own": own,
            }
        )
    return parts


def _by_features(fitted: Fitted, X: Any) -> list[FloatArray]:
    """w_j x_j of every task, where there are weights."""
    if isinstance(fitted, LinearFitted):
        W = fitted.W
    elif isinstance(fitted, KernelFitted) and isinstance(fitted.kernel, Linear) and fitted.machine != "SVDD":
        W = np.asarray((fitted.vectors.T @ fitted.coef).T)
    else:
        return []
    row = X.toarray()[0] if sp.issparse(X) else np.asarray(X)[0]
    return [w * row.astype(np.float64) for w in W]


def _feature_names(model: Any, d: int) -> Array:
    return np.asarray(getattr(model, "feature_names_in_", np.arange(d).astype(str)))


def _left(values: FloatArray) -> list[str]:
    """The line that says what is not shown."""
    more = len(values) - SHOWN
    return [f"  {more} more {'':<7} {values[SHOWN:].sum():+.6g}"] if more > 0 else []
