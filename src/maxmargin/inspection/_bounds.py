"""Bounds from theory, in numbers: mistakes of a perceptron, errors of a large margin, accuracy of Pegasos.

See "Bounds from margins" in ``docs/theory.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_array, column_or_1d

from maxmargin._rows import count
from maxmargin._types import FloatArray, RowData
from maxmargin._validation import cache_bytes
from maxmargin.backends import backend_for, effective_threads, single_threaded_blas
from maxmargin.inspection._model import EPS, read_classifier, squeezed, tolerances
from maxmargin.kernels import Kernel, Linear
from maxmargin.multiclass import make_scheme
from maxmargin.problems import HardMarginProblem
from maxmargin.solvers import Decomposition, Watch

#: Relative gap to which the largest margin is computed. The bound holds for any margin; a wider one makes it smaller.
MARGIN_TOL = 1e-6


class Separation(NamedTuple):
    """Rows inside a ball around the origin, and the margin of a hyperplane through it that separates them."""

    radius: float  # R
    margin: float  # gamma; 0 if no hyperplane separates them

    @property
    def mistakes(self) -> float:
        """(R / gamma)^2, the most mistakes that a perceptron can make on these rows."""
        return self.radius / self.margin * (self.radius / self.margin) if self.margin > 0 else math.inf


def separation(X: RowData, sign: FloatArray, fit_intercept: bool = True) -> Separation:
    """R and gamma of rows with signs -1 and +1, with a constant feature 1 added if there is an intercept.

    gamma is the margin that the computed hard-margin hyperplane through the origin has: at most the largest possible.

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
    problem = HardMarginProblem(sign, radius * radius, fit_intercept=False)
    with single_threaded_blas():
        gram = backend.gram(kernel, X, cache_bytes=cache_bytes("auto"), threads=effective_threads(None))
        solution = Decomposition(backend).solve(problem, gram, None, Watch(gap_tol=MARGIN_TOL))
    w, b = np.asarray(X.T @ solution.beta).ravel(), float(solution.beta.sum()) if fit_intercept else 0.0
    length = float(np.sqrt(w @ w + b * b))
    gamma = float(np.min(sign * (np.asarray(X @ w).ravel() + b))) / length if length > 0 else 0.0
    rounding = EPS * (8 + X.shape[1]) * radius  # of a score divided by ||w||
    return Separation(radius, gamma if gamma > rounding else 0.0)


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
    r"""The most mistakes that a perceptron can make on these rows, starting at 0 and in any order.

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
        How many classes become two-class tasks.

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
        A bound on the probability of an error on a new row, which holds with probability 1 - delta; above 1 it says
        nothing.
    nu : float or ndarray
        Share of the rows whose margin t f is below rho by more than the model's tolerance (see :func:`tolerance`).
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
    r"""The margin error bound of a classifier, for each two-class task.

    .. math:: \nu + \sqrt{\frac{c}{m}\Bigl(\frac{R^2 L^2}{\rho^2}\ln^2 m + \ln\frac1\delta\Bigr)}

    nu is the share of margin errors, rows with :math:`t_i f(x_i) < \rho` (a row that is on the margin as far as the fit
    and float64 can tell is not one); R the radius of the data, :math:`k(x, x) \le R^2`; L a bound on ||w||; m the
    number of rows. The theorem says that a constant c exists, but not its value, so the caller must give one. With
    c = 1 the bound is above 1, and says nothing, unless m is much larger than :math:`(RL/\rho)^2`; it is for comparing
    models, not for predicting their errors.

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
    # unbound support vectors are at 1, and not below it
    nu = np.sum(signs * fitted.scores(X) < rho - tolerances(fitted, X), axis=0) / rows
    lengths = np.sqrt(np.maximum(fitted.squares(X), 0.0)) if radius is None else np.full(count(X), float(radius))
    R = np.where(own, lengths[:, None], 0.0).max(axis=0)
    L = fitted.norms(X) if norm is None else np.full(len(rows), float(norm))
    bound = nu + np.sqrt(c / rows * (np.square(R * L / rho * np.log(rows)) + math.log(1.0 / delta)))
    return MarginErrorBound(
        squeezed(bound), squeezed(nu), squeezed(R), squeezed(L), squeezed(rows), float(rho), float(delta), float(c)
    )


@dataclass(frozen=True, eq=False)
class PegasosBound:
    """The bound and what it is made of.

    Attributes
    ----------
    bound : float or ndarray
        What E f(mean of w_1 ... w_T) - min f is at most; an array if ``steps`` is one.
    constant : float
        c = G^2, G being the length that no step's subgradient exceeds.
    radius : float
        R.
    lam : float
        lambda.
    steps : int or ndarray
        T.
    project : bool
        Whether iterates are projected.
    """

    bound: float | FloatArray
    constant: float
    radius: float
    lam: float
    steps: int | Any
    project: bool

    def __str__(self) -> str:
        pairs = zip(np.ravel(self.bound), np.ravel(self.steps), strict=True)
        shown = ", ".join(f"{bound:.6g} after {steps} steps" for bound, steps in pairs)
        return f"expected to be within {shown} (R {self.radius:.6g}, c {self.constant:.6g}, lambda {self.lam:g})"


def pegasos_bound(X: Any, lam: float, T: Any, *, project: bool = False, radius: float | None = None) -> PegasosBound:
    r"""How far the mean of Pegasos' iterates is from the optimum, at most and in expectation.

    With :math:`f(w) = \tfrac\lambda2\|w\|^2 + \frac1n\sum_i \max(0, 1 - t_i\, w\cdot x_i)`, :math:`\|x_i\| \le R`,
    :math:`w_1 = 0` and T steps of the rate :math:`1/(\lambda t)`, each on one row or a batch drawn uniformly,

    .. math:: \operatorname{E} f\Bigl(\frac1T\sum_{t=1}^T w_t\Bigr) - \min f \le \frac{c\,(1 + \ln T)}{2\lambda T},
        \qquad c = \begin{cases} 4R^2 & \text{without projection,} \\ (\sqrt\lambda + R)^2 & \text{with it.}\end{cases}

    c bounds the square of every subgradient :math:`\lambda w_t - v_t`, :math:`\|v_t\| \le R`: steps of this rate keep
    :math:`\|w_t\| \le R/\lambda`, and the projection :math:`\|w_t\| \le 1/\sqrt\lambda`. The labels do not matter, nor
    does n. The bound is about ``PegasosSVC(order='draw', offset=0)`` without an intercept and without class weights,
    and about the mean of all iterates; the machine itself averages the last tenth of them.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d), or None
        Rows, as the machine sees them: scaled, if it scales. None: ``radius`` says enough.
    lam : float
        The weight of the penalty.
    T : int or array-like of int
        Steps.
    project : bool, default=False
        Whether every iterate is projected onto the ball of radius 1 / sqrt(lam).
    radius : float, optional
        R, by default the length of the longest row; for a kernel the root of the largest k(x, x).

    Returns
    -------
    PegasosBound

    References
    ----------
    Shalev-Shwartz, Singer, Srebro and Cotter 2011, lemma 1 and theorem 1; the expectation over the rows drawn is taken
    step by step.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.inspection import pegasos_bound
    >>> print(pegasos_bound(np.array([[3.0, 4.0], [1.0, 0.0]]), lam=0.1, T=10_000))
    expected to be within 0.510517 after 10000 steps (R 5, c 100, lambda 0.1)
    """
    if not (np.isfinite(lam) and lam > 0):
        raise ValueError(f"lam must be a positive number; got {lam!r}")
    steps = np.asarray(T)
    if steps.dtype.kind not in "iu" or steps.size == 0 or (steps < 1).any():
        raise ValueError(f"T must be a whole number of at least 1, or several; got {T!r}")
    if radius is None:
        if X is None:
            raise ValueError("the bound needs the rows X, or the length of the longest as radius; got neither")
        X = check_array(X, accept_sparse="csr", dtype=np.float64)
        radius = math.sqrt(float(Linear().diag(X).max()))
    if not (np.isfinite(radius) and radius >= 0):
        raise ValueError(f"radius must be a finite number of at least 0; got {radius!r}")
    constant = (math.sqrt(lam) + radius) ** 2 if project else 4.0 * radius**2
    bound = constant * (1.0 + np.log(steps)) / (2.0 * lam * steps)
    return PegasosBound(
        bound if steps.ndim else float(bound), constant, float(radius), float(lam),
        steps if steps.ndim else int(steps), bool(project),
    )  # fmt: skip
