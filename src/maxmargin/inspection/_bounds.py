"""Bounds from theory, in numbers (M4): mistakes of a perceptron, errors of a large-margin classifier."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_array, column_or_1d

from maxmargin._types import FloatArray, RowData
from maxmargin._validation import cache_bytes
from maxmargin.backends import backend_for, effective_threads, single_threaded_blas
from maxmargin.exceptions import NotSeparableError
from maxmargin.inspection._model import count, read_classifier, squeezed
from maxmargin.kernels import Kernel, Linear
from maxmargin.multiclass import make_scheme
from maxmargin.problems import HardMarginProblem
from maxmargin.solvers import Decomposition, Watch

#: Relative gap to which the largest margin is computed. The bound holds for any; a wider margin makes it smaller.
MARGIN_TOL = 1e-6


class Separation(NamedTuple):
    """Rows inside a ball around the origin, and the margin of a hyperplane through it that separates them."""

    radius: float  # R
    margin: float  # gamma; 0 if no hyperplane separates them

    @property
    def mistakes(self) -> float:
        """(R / gamma)^2, the most mistakes that a perceptron can make on these rows."""
        return (self.radius / self.margin) ** 2 if self.margin > 0 else math.inf


def separation(X: RowData, sign: FloatArray, fit_intercept: bool = True) -> Separation:
    """R and gamma of rows with signs -1 and +1, with a constant feature 1 added if there is an intercept.

    gamma is that of the hard-margin machine through the origin, as it was found: no smaller number than is true.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.inspection import separation
    >>> found = separation(np.array([[1.0], [-2.0]]), np.array([1.0, -1.0]), fit_intercept=False)
    >>> round(found.radius, 6), round(found.margin, 6), round(found.mistakes, 6)
    (2.0, 1.0, 4.0)
    """
    X = X.astype(np.float64, copy=False)
    kernel: Kernel = Linear() + 1.0 if fit_intercept else Linear()
    squares = kernel.diag(X)
    radius = float(np.sqrt(squares.max(initial=0.0)))
    backend = backend_for("cpu")
    problem = HardMarginProblem(sign, radius**2, fit_intercept=False)
    with single_threaded_blas():
        gram = backend.gram(kernel, X, cache_bytes=cache_bytes("auto"), threads=effective_threads(None))
        solution = Decomposition(backend).solve(problem, gram, None, Watch(gap_tol=MARGIN_TOL))
    try:
        problem.require_separable(solution.beta, solution.f)
    except NotSeparableError:
        return Separation(radius, 0.0)
    w, b = np.asarray(X.T @ solution.beta).ravel(), float(solution.beta.sum()) if fit_intercept else 0.0
    length = float(np.sqrt(w @ w + b * b))
    gamma = float(np.min(sign * (np.asarray(X @ w).ravel() + b))) / length if length > 0 else 0.0
    return Separation(radius, max(gamma, 0.0))


@dataclass(frozen=True, eq=False)
class MistakeBound:
    """Novikoff's bound: floats for one task, arrays of shape (n_tasks,) beyond.

    Attributes
    ----------
    bound : float or ndarray
        (R / gamma)^2; inf where the rows of a task cannot be separated.
    radius, margin : float or ndarray
        R and gamma.
    tasks : tuple of str
        What every task asks.
    """

    bound: float | FloatArray
    radius: float | FloatArray
    margin: float | FloatArray
    tasks: tuple[str, ...]

    def __str__(self) -> str:
        values = zip(
            self.tasks, np.atleast_1d(self.bound), np.atleast_1d(self.radius), np.atleast_1d(self.margin), strict=True
        )
        return "\n".join(f"{t}: at most {b:.6g} mistakes (R {r:.6g}, gamma {g:.6g})" for t, b, r, g in values)


def mistake_bound(X: Any, y: Any, fit_intercept: bool = True, multiclass: str = "ovr") -> MistakeBound:
    r"""The most mistakes that a perceptron which starts at 0 can make on these rows, in whatever order (M4, M18).

    .. math:: \text{mistakes} \le (R / \gamma)^2, \qquad \|x_i\| \le R, \quad
        t_i\, w^*\cdot x_i \ge \gamma \text{ for a unit vector } w^*

    With an intercept the rows are (x, 1), so that R^2 is 1 larger. gamma is the margin of the hard-margin machine on
    them. :class:`~maxmargin.Perceptron` has the same bound for the rows as it sees them, scaled if it scales.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Rows.
    y : array-like of shape (n,)
        Their classes, two or more.
    fit_intercept : bool, default=True
        Whether the perceptron has an intercept.
    multiclass : {'ovr', 'ovo'}, default='ovr'
        What tasks many classes become.

    Returns
    -------
    MistakeBound

    References
    ----------
    Novikoff 1962.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import Perceptron
    >>> from maxmargin.inspection import mistake_bound
    >>> X, y = load_iris(return_X_y=True)
    >>> bound = mistake_bound(X, y == 0)
    >>> bool(Perceptron().fit(X, y == 0).mistakes_[0] <= bound.bound)
    True
    """
    if multiclass not in ("ovr", "ovo"):
        raise ValueError(f"multiclass must be 'ovr' or 'ovo'; got {multiclass!r}")
    X, y = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32]), column_or_1d(y)
    if len(y) != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows but y has {len(y)}; give one class for each row")
    classes, label = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"a perceptron tells classes apart, and y has {len(classes)}: {classes.tolist()}")
    tasks = make_scheme(multiclass, len(classes)).tasks(label)
    found = [separation(X if len(t.rows) == len(y) else X[t.rows], t.sign, fit_intercept) for t in tasks]
    shown = {k: str(c) for k, c in enumerate(classes)} | {-1: "the rest" if len(classes) > 2 else str(classes[0])}
    names = [f"{shown[t.classes[0]]} against {shown[t.classes[1]]}" for t in tasks]
    return MistakeBound(
        squeezed([one.mistakes for one in found]),
        squeezed([one.radius for one in found]),
        squeezed([one.margin for one in found]),
        tuple(names),
    )


@dataclass(frozen=True, eq=False)
class MarginErrorBound:
    """The bound and what it is made of: floats for one task, arrays of shape (n_tasks,) beyond.

    Attributes
    ----------
    bound : float or ndarray
        What the error of a new row is below, with probability 1 - delta; above 1 it says nothing.
    nu : float or ndarray
        Share of the rows with t f < rho.
    radius, norm : float or ndarray
        R and L.
    rows : int or ndarray
        m.
    rho, delta, c : float
        As given.
    """

    bound: float | FloatArray
    nu: float | FloatArray
    radius: float | FloatArray
    norm: float | FloatArray
    rows: int | FloatArray
    rho: float
    delta: float
    c: float

    def __str__(self) -> str:
        shown = ", ".join(f"{value:.6g}" for value in np.atleast_1d(self.bound))
        return f"error at most {shown} with probability {1 - self.delta:g} (rho {self.rho:g}, c {self.c:g})"


def margin_error_bound(
    model: Any,
    X: Any,
    y: Any,
    *,
    c: float,
    delta: float = 0.05,
    rho: float = 1.0,
    radius: float | None = None,
    norm: float | None = None,
) -> MarginErrorBound:
    r"""The margin error bound of a classifier, for each two-class task (M4).

    .. math:: \nu + \sqrt{\frac{c}{m}\Bigl(\frac{R^2 L^2}{\rho^2}\ln^2 m + \ln\frac1\delta\Bigr)}

    nu is the share of margin errors, rows with :math:`t_i f(x_i) < \rho`; R the radius of the data,
    :math:`k(x, x) \le R^2`; L a bound on ||w||; m the number of rows. The theorem says that there is a constant c, not
    which: it is the caller's. With c = 1 the bound is above 1, and says nothing, unless m is large beside
    :math:`(RL/\rho)^2`; it is for comparing models, not for predicting their errors.

    Parameters
    ----------
    model : fitted classifier
        maxmargin's or scikit-learn's.
    X, y
        The training rows and their classes.
    c : float
        The constant.
    delta : float in (0, 1), default=0.05
        The bound holds with probability 1 - delta.
    rho : float, default=1.0
        The margin, in units of f.
    radius, norm : float, optional
        R and L. By default the largest ||phi(x)|| of the rows and the model's ||w||; strictly, both should be chosen
        before the data are seen.

    Returns
    -------
    MarginErrorBound

    References
    ----------
    Bartlett and Shawe-Taylor 1999; Schoelkopf and Smola 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.inspection import margin_error_bound
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC(loss="hinge", C=0.01, scale=True).fit(X, y)
    >>> found = margin_error_bound(model, X, y, c=1e-4)
    >>> 0 < found.nu < found.bound < 1
    True
    """
    for name, value in (("c", c), ("rho", rho)):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} must be a positive number; got {value!r}")
    if not 0 < delta < 1:
        raise ValueError(f"delta must be between 0 and 1, both excluded; got {delta!r}")
    fitted = read_classifier(model, "margin_error_bound", scores_only=True)
    X = fitted.checked(X)
    signs = fitted.signs(fitted.labels(y, count(X)))
    own = ~np.isnan(signs)
    rows = own.sum(axis=0)
    if not rows.all():
        raise ValueError(f"no row of y is in task {fitted.names[int(np.argmin(rows))]!r}; give rows of all classes")
    nu = np.sum(signs * fitted.scores(X) < rho, axis=0) / rows
    lengths = np.sqrt(np.maximum(fitted.squares(X), 0.0)) if radius is None else np.full(count(X), float(radius))
    R = np.where(own, lengths[:, None], 0.0).max(axis=0)
    L = fitted.norms(X) if norm is None else np.full(len(rows), float(norm))
    bound = nu + np.sqrt(c / rows * (np.square(R * L / rho * np.log(rows)) + math.log(1.0 / delta)))
    return MarginErrorBound(
        squeezed(bound), squeezed(nu), squeezed(R), squeezed(L), squeezed(rows), float(rho), float(delta), float(c)
    )
