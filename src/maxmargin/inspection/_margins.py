"""Margins of any rows, and the zones that they lie in.

See "Functional and geometric margin" and "Zones" in ``docs/theory.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._rows import count
from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.inspection._model import read, read_classifier, squeezed, tolerances

#: The seven zones, from t f(x) > 1 down to t f(x) < -1.
ZONES = (
    "beyond its margin",
    "on its margin",
    "inside the strip, right side",
    "on the hyperplane",
    "inside the strip, wrong side",
    "on the other margin",
    "beyond the other margin",
)


@dataclass(frozen=True, eq=False)
class Margins:
    """Margins of rows. With one task there is one number for each row and one for the set; with more, one per task.

    Attributes
    ----------
    functional : ndarray of shape (n,) or (n, n_tasks)
        t_i f(x_i); nan where a row has no part in a task.
    geometric : ndarray of shape (n,) or (n, n_tasks)
        The same over ||w||: the signed distance from the hyperplane.
    functional_margin, geometric_margin : float or ndarray of shape (n_tasks,)
        The margin of the set: the smallest of its rows; nan for a task that has none of them.
    norm : float or ndarray of shape (n_tasks,)
        ||w||.
    tasks : tuple of str
        What every task asks.
    """

    functional: FloatArray
    geometric: FloatArray
    functional_margin: float | FloatArray
    geometric_margin: float | FloatArray
    norm: float | FloatArray
    tasks: tuple[str, ...]

    @property
    def width(self) -> float | FloatArray:
        """2 / ||w||, the width of the strip -1 < f < 1."""
        with np.errstate(divide="ignore"):
            return squeezed(np.atleast_1d(2.0 / np.asarray(self.norm)))

    def __str__(self) -> str:
        values = zip(
            self.tasks,
            np.atleast_1d(self.functional_margin),
            np.atleast_1d(self.geometric_margin),
            np.atleast_1d(self.norm),
            strict=True,
        )
        return "\n".join(f"{t}: functional margin {a:.6g}, geometric {g:.6g}, ||w|| {w:.6g}" for t, a, g, w in values)


def margins(model: Any, X: Any, y: Any, norm: Any = None) -> Margins:
    r"""Functional and geometric margins of rows with known classes, for each two-class task.

    .. math:: \text{functional: } t_i f(x_i), \qquad \text{geometric: } t_i f(x_i) / \|w\|, \qquad
        \|w\|^2 = \sum_{ij} \beta_i \beta_j k(x_i, x_j)

    with :math:`\beta` the model's ``dual_coef_``. The geometric margin does not change when (w, b) is multiplied by a
    number. For a model that scales its features, ||w|| is that of the scaled rows.

    Parameters
    ----------
    model : fitted classifier
        maxmargin's or scikit-learn's: kernel, linear, stochastic, perceptron.
    X : rows of shape (n, d)
        Any rows; kernel values with the training rows for a precomputed kernel.
    y : array-like of shape (n,)
        Their classes.
    norm : float or array-like of shape (n_tasks,), optional
        ||w||, where it cannot be computed: a precomputed kernel needs the Gram matrix of its training rows for it.

    Returns
    -------
    Margins

    References
    ----------
    Vapnik 1998; Schoelkopf and Smola 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVC
    >>> from maxmargin.inspection import margins
    >>> X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> found = margins(SVC(kernel="linear", C=np.inf).fit(X, y), X, y)
    >>> found.functional.round(6), round(found.geometric_margin, 6), round(found.width, 6)
    (array([2., 1., 1., 2.]), 1.0, 2.0)
    """
    fitted = read_classifier(model, "margins", scores_only=True)
    X = fitted.checked(X)
    functional = fitted.signs(fitted.labels(y, count(X))) * fitted.scores(X)
    norms = fitted.norms(X) if norm is None else _given_norms(norm, functional.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        geometric = functional / norms
    return Margins(
        squeezed(functional),
        squeezed(geometric),
        squeezed(_smallest(functional)),
        squeezed(_smallest(geometric)),
        squeezed(norms),
        tuple(fitted.names),
    )


def zones(model: Any, X: Any, y: Any, tol: float | None = None) -> Array:
    r"""Where rows lie against the strip: one of seven zones, for each two-class task.

    =============================  ================================
    t f(x)                         zone
    =============================  ================================
    above 1                        'beyond its margin'
    1                              'on its margin'
    between 0 and 1                'inside the strip, right side'
    0                              'on the hyperplane'
    between -1 and 0               'inside the strip, wrong side'
    -1                             'on the other margin'
    below -1                       'beyond the other margin'
    =============================  ================================

    With one problem for all classes the margin is the score of the row's class minus that of a rival: the best one for
    Crammer and Singer's machine, every one for Weston and Watkins'.

    Parameters
    ----------
    model, X, y
        As in :func:`margins`.
    tol : float, optional
        t f(x) within this of 1, 0 or -1 is equal to it. By default what the fit and float64 can tell apart, see
        :func:`tolerance`.

    Returns
    -------
    ndarray of str, of shape (n,) or (n, n_tasks)
        '' where a row has no part in a task.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVC
    >>> from maxmargin.inspection import zones
    >>> X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    >>> model = SVC(kernel="linear", C=np.inf).fit(X, y)
    >>> for zone in zones(model, [[0.0], [1.5], [2.0], [2.5], [3.0]], [0, 0, 0, 0, 0]):
    ...     print(zone)
    beyond its margin
    inside the strip, right side
    on the hyperplane
    inside the strip, wrong side
    on the other margin
    """
    fitted = read(model)
    if fitted.classes is None or not fitted.single or len(fitted.classes) == 2:
        fitted = read_classifier(model, "zones", scores_only=True)
    X = fitted.checked(X)
    label, f, near = fitted.labels(y, count(X)), fitted.scores(X), tolerances(fitted, X, tol)
    if f.shape[1] > 1 and fitted.single:  # whose tolerances are the same in every column
        return squeezed(zone_names(_over_rivals(f, label, fitted.multiclass), near[:, :1]))
    return squeezed(zone_names(fitted.signs(label) * f, near))


def _over_rivals(f: FloatArray, label: IntArray, scheme: str) -> FloatArray:
    """f_y - f_m for the best rival (n, 1), or for every rival (n, classes) with nan for the row's own class."""
    rows = np.arange(len(f))
    ahead = f[rows, label][:, None] - f
    ahead[rows, label] = np.nan
    return np.nanmin(ahead, axis=1, keepdims=True) if scheme == "crammer-singer" else ahead


def zone_names(margin: FloatArray, tol: FloatArray) -> Array:
    """The zone of every margin t f, '' for nan."""
    cases = [
        np.isnan(margin),
        np.abs(margin - 1.0) <= tol,
        np.abs(margin) <= tol,
        np.abs(margin + 1.0) <= tol,
        margin > 1.0,
        margin > 0.0,
        margin > -1.0,
    ]
    return np.array([*ZONES, ""])[np.select(cases, [7, 1, 3, 5, 0, 2, 4], 6)]


def _given_norms(norm: Any, tasks: int) -> FloatArray:
    norms = np.atleast_1d(np.asarray(norm, dtype=np.float64))
    if norms.shape != (tasks,) or not (norms >= 0).all():
        raise ValueError(f"norm must have a value of at least 0 for each of the {tasks} tasks; got {norm!r}")
    return norms


def _smallest(values: FloatArray) -> FloatArray:
    """The smallest value of every column, nan where there is none."""
    least = np.min(np.where(np.isnan(values), np.inf, values), axis=0, initial=np.inf)
    return np.where(np.isnan(values).all(axis=0), np.nan, least)
