"""Regularisation paths: the solutions for all values of C, each with its gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from maxmargin._rows import dense
from maxmargin._types import FloatArray
from maxmargin.estimators import SVC, LinearSVC
from maxmargin.estimators.interface import Machine, fitted_scaling, scaled
from maxmargin.kernels import Linear
from maxmargin.selection._exact_path import exact_path
from maxmargin.selection._grid import default_values
from maxmargin.selection._trainer import certified_gap

#: Most rows of an exact path: every breakpoint solves a system in the free rows.
MOST_ROWS = 2000


@dataclass(frozen=True)
class Path:
    """Solutions along C, ascending; :class:`~maxmargin.plotting.PathDisplay` draws them.

    Attributes
    ----------
    Cs : ndarray of shape (n_Cs,)
        Values of C; the breakpoints, of an exact path. For machines with lambda, C = 1 / (n lambda).
    gaps : ndarray of shape (n_Cs,)
        Certified relative gap of each solution.
    intercepts : ndarray of shape (n_Cs, n_tasks)
        Intercepts.
    coefs : ndarray of shape (n_Cs, n_features) or None
        Weights of the features, of linear machines and kernels with one task.
    alphas : ndarray of shape (n_Cs, n_samples) or None
        Dual variables, of machines with one task that have them.
    exact : bool
        Whether the path is the exact, piecewise linear one: alphas between two Cs are then on the line between them.
    models : list of estimators
        The fitted machines; empty for an exact path.
    """

    Cs: FloatArray
    gaps: FloatArray
    intercepts: FloatArray
    coefs: FloatArray | None
    alphas: FloatArray | None
    exact: bool
    models: list[Any]

    def __repr__(self) -> str:
        kind = "exact, " if self.exact else ""
        ends = f"C {self.Cs[0]:.3g} to {self.Cs[-1]:.3g}"
        return f"Path({len(self.Cs)} solutions, {ends}, {kind}largest gap {np.max(self.gaps):.1e})"


def regularization_path(
    estimator: Machine,
    X: Any,
    y: Any,
    *,
    Cs: Sequence[float] | None = None,
    exact: bool = False,
    sample_weight: Any = None,
) -> Path:
    """Solutions of a machine along its strength.

    Parameters
    ----------
    estimator : estimator
        A machine with a parameter ``C`` or ``lam``; it is not changed.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Training rows.
    y : array-like of shape (n_samples,)
        Class labels or real targets.
    Cs : sequence of float, optional
        Values of C (of lam), solved in growing order, each from the solution before it. Of an exact path only the
        smallest and the largest matter. None: values that suit the data.
    exact : bool, default=False
        The whole path from breakpoint to breakpoint; for SVC, and for LinearSVC with the hinge loss, of two classes
        and at most 2000 rows.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each row.

    Returns
    -------
    Path

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC, regularization_path
    >>> X, y = load_iris(return_X_y=True)
    >>> path = regularization_path(SVC(kernel="linear"), X, y == 1, Cs=[0.01, 10.0], exact=True)
    >>> path.coefs.shape[1], len(path.Cs) > 50, bool(path.gaps.max() < 1e-6)
    (4, True, True)
    """
    strength = next((name for name in ("C", "lam") if name in estimator.get_params()), None)
    if strength is None:
        raise ValueError(f"{type(estimator).__name__} has no strength C or lam, so there is no path along it")
    data = clone(estimator)._validate(X, y, sample_weight)
    values = _picked(estimator, strength, data) if Cs is None else _checked(Cs)
    if exact:
        return _exact(estimator, X, y, sample_weight, data, min(values), max(values))
    order = sorted(values, reverse=strength == "lam")
    given = {} if sample_weight is None else {"sample_weight": sample_weight}
    warm, own = clone(estimator), {}
    if hasattr(warm, "_warm_starts"):
        own = {"warm_start": warm.warm_start}
        warm.set_params(warm_start=True)
    models = []
    for value in order:
        warm.set_params(**{strength: value}).fit(X, y, **given)
        models.append(_copied(warm, own))
    n = float(data.weight.sum())
    costs = np.array(order if strength == "C" else [1.0 / (n * lam) for lam in order])
    return _gathered(costs, models, len(data.y))


def _checked(Cs: Any) -> list[float]:
    """Positive numbers, or an error that names what is not one."""
    listed = list(Cs) if np.iterable(Cs) and not isinstance(Cs, str) else [Cs]
    wrong = [C for C in listed if not (isinstance(C, Real) and 0 < float(C) < np.inf)]
    if wrong or not listed or not np.iterable(Cs):
        raise ValueError(f"Cs must be a list of positive, finite numbers, at least one; got {wrong or Cs!r}")
    return [float(C) for C in listed]


def _picked(estimator: Machine, strength: str, data: Any) -> list[float]:
    """Values of the strength that suit the rows as the machine sees them."""
    rows = data.X_kept
    if getattr(estimator, "scale", False):
        rows = scaled(rows, fitted_scaling(rows, data.weight))
    return default_values(estimator, strength, rows, data.y[data.kept], data.weight)


def _copied(model: Any, given: dict[str, Any]) -> Any:
    """The fitted machine as it is now, with the parameters that it was given."""
    copied = clone(model).set_params(**given)
    copied.__dict__.update({name: value for name, value in vars(model).items() if name.endswith("_")})
    return copied


def _gathered(Cs: FloatArray, models: list[Any], n: int) -> Path:
    coefs = [np.atleast_2d(model.coef_) if hasattr(model, "coef_") else None for model in models]
    one_task = all(coef is not None and len(coef) == 1 for coef in coefs)
    return Path(
        Cs,
        np.array([certified_gap(model) for model in models]),
        np.array([np.atleast_1d(model.intercept_) for model in models]),
        np.array([dense(coef)[0] for coef in coefs if coef is not None]) if one_task else None,
        _alphas(models, n),
        False,
        models,
    )


def _alphas(models: list[Any], n: int) -> FloatArray | None:
    """(n_Cs, n) sizes of the dual variables of machines with one task."""
    if not all(hasattr(model, "dual_coef_") and model.dual_coef_.shape[0] == 1 for model in models):
        return None
    table = np.zeros((len(models), n))
    for line, model in zip(table, models, strict=True):
        line[model.support_] = np.abs(dense(model.dual_coef_)).ravel()
    return table


def _exact(estimator: Machine, X: Any, y: Any, sample_weight: Any, data: Any, first: float, last: float) -> Path:
    """The exact path of a two-class machine with the hinge loss."""
    linear = isinstance(estimator, LinearSVC) and estimator.loss == "hinge" and estimator.penalty == "l2"
    linear = linear and not estimator.scale
    if not ((isinstance(estimator, SVC) or linear) and estimator.fit_intercept):
        raise ValueError(
            "exact=True is for SVC and LinearSVC(loss='hinge') with an intercept, whose paths are piecewise linear; "
            f"got {estimator!r}. Give Cs instead."
        )
    if data.extra is None or len(data.extra.classes) != 2 or len(data.kept) > MOST_ROWS:
        raise ValueError(
            f"exact=True is for two classes and at most {MOST_ROWS} rows; got {len(np.unique(data.y))} classes and "
            f"{len(data.kept)} rows. Give Cs instead."
        )
    machine = SVC(kernel="linear", class_weight=estimator.class_weight) if linear else clone(estimator)
    machine.set_params(C=first, tol=1e-10, certify=False, calibration=None, probability=False)
    training = machine._validate(X, y, sample_weight)
    kernel = machine._resolve_kernel(training)
    rows = training.X_kept if not isinstance(training.X, list) else [training.X[i] for i in training.kept]
    K = kernel(rows) if not machine._precomputed else training.X[np.ix_(training.kept, training.kept)]
    sign = np.where(training.extra.label == 1, 1.0, -1.0)
    weight = training.extra.weights(training)

    def solve(C: float) -> FloatArray:
        model = clone(machine).set_params(C=C).fit(X, y, sample_weight=sample_weight)
        beta = np.zeros(training.n)
        beta[model.support_] = dense(model.dual_coef_).ravel()
        return beta[training.kept]

    points = exact_path(K, sign, weight, first, last, solve)
    alphas = np.zeros((len(points), training.n))
    alphas[:, training.kept] = np.abs([point.beta for point in points])
    beta = np.array([point.beta for point in points])
    coefs = np.asarray(beta @ rows) if isinstance(kernel, Linear) else None
    return Path(
        np.array([point.C for point in points]),
        np.array([point.gap for point in points]),
        np.array([[point.intercept] for point in points]),
        coefs,
        alphas,
        True,
        [],
    )
