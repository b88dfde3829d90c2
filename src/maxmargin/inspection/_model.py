"""The fitted models that inspection reads, and how near counts as equal in them.

There is one tolerance for all of inspection, from the model's scale and its certificate. A row is on the margin, on the
hyperplane or on the tube where its score is within the tolerance of 1, 0 or epsilon:

    max(rounding, min(violation, MOST scale))

* **violation**: by how much the fit violates the optimality conditions, in units of the score: the certificate's
  ``kkt``. Unbound support vectors are that near to their margin, and no nearer. A model without certificates has
  stopped at its ``tol``, or is taken to have stopped where LIBSVM does.
* **scale**: how far apart the scores of the support vectors are (in a classifier at most 1, the margin's unit), or
  without classes those of the rows. So no tolerance hides the differences between rows, however small C makes them.
* **rounding**: the rounding error of the row's score in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin import delivered
from maxmargin._rows import count, take
from maxmargin._types import FloatArray, RowData
from maxmargin.delivered import KERNEL, LINEAR, Fitted, KernelFitted, LinearFitted, machine_of

#: The largest tolerance, relative to the scale: what fits of LIBSVM and scikit-learn leave open by default.
MOST = 1e-3
#: Support vectors whose scores say how large a model's scores are.
PROBED = 256
#: The range of two classes' scores is taken to be this many times the distance of their means.
SPREAD = 10.0
#: The largest tolerance of all: beyond it the zones around 0 and 1 would overlap.
LARGEST = 0.49
EPS = float(np.finfo(np.float64).eps)


def read(model: Any) -> Fitted:
    """The tasks of a fitted model."""
    if machine_of(model, (*KERNEL, *LINEAR)) is None:
        raise TypeError(
            f"inspection reads {', '.join((*KERNEL, *LINEAR))}, maxmargin's and scikit-learn's; got "
            f"{type(model).__name__}. Of a pipeline, pass its last step and the rows as they reach it"
        )
    return delivered.read(model)


def read_classifier(model: Any, what: str, scores_only: bool = False) -> Fitted:
    """The tasks of a classifier with two-class tasks; ``what`` says what they are needed for.

    ``scores_only``: whether that needs nothing but scores, which for two classes are those of a task in any problem.
    """
    fitted = read(model)
    if fitted.classes is None:
        raise TypeError(f"{what} is for classifiers; got {type(model).__name__}, which has no classes")
    if fitted.single and not (scores_only and len(fitted.classes) == 2):
        raise ValueError(
            f"{what} is for two-class tasks, and multiclass={fitted.multiclass!r} is one problem for all classes; fit "
            "with multiclass='ovo', 'ovr' or 'code'"
        )
    return fitted


def squeezed(values: Any) -> Any:
    """(n, 1) to (n,), and arrays of one number to that number; everything else as it is."""
    values = np.asarray(values)
    if values.ndim == 2 and values.shape[1] == 1:
        return values[:, 0]
    return values[0].item() if values.ndim == 1 and len(values) == 1 else values


def checked_weights(sample_weight: Any, n: int) -> FloatArray:
    """Weights of rows, 1 by default."""
    if sample_weight is None:
        return np.ones(n)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,) or not np.isfinite(weight).all() or not (weight >= 0).all() or not weight.any():
        raise ValueError(
            f"sample_weight must have a finite number of at least 0 for each of the {n} rows, and not only zeros; got "
            f"{sample_weight!r}"
        )
    return weight


def tolerance(model: Any, X: Any) -> float | FloatArray:
    """How near to 1, 0 or the tube a row's score must be to count as there: what the fit and float64 can tell apart.

    It is the larger of the rounding error of the score and the fit's violation of the optimality conditions (its
    certificate's ``kkt``; without certificates its ``tol``), of which at most a thousandth of the range of the support
    vectors' scores, or of 1, is granted. All of :mod:`maxmargin.inspection` uses it.

    Parameters
    ----------
    model : fitted model
        maxmargin's or scikit-learn's.
    X : rows of shape (n, d)
        Any rows; kernel values with the training rows for a precomputed kernel.

    Returns
    -------
    ndarray of shape (n,) or (n, n_tasks)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import PegasosSVC, SVC
    >>> from maxmargin.inspection import tolerance
    >>> X, y = load_iris(return_X_y=True)
    >>> exact, rough = SVC(gap_tol=1e-10).fit(X, y == 1), PegasosSVC(max_iter=2, random_state=0).fit(X, y == 1)
    >>> bool(tolerance(exact, X).max() < 1e-6), bool(1e-5 < tolerance(rough, X).max() <= 1e-3)
    (True, True)
    """
    fitted = read(model)
    return squeezed(tolerances(fitted, fitted.checked(X)))


def tolerances(fitted: Fitted, X: RowData, tol: Any = None) -> FloatArray:
    """(n, tasks) tolerances of checked rows; a given ``tol`` takes their place."""
    shape = (count(X), len(fitted.intercept))
    if tol is not None:
        return np.full(shape, checked_tolerance(tol))
    found = np.maximum(rounding(fitted, X), np.minimum(_violations(fitted), MOST * _scales(fitted, X)))
    if fitted.single:  # a row's margin is the difference of two scores
        found = np.repeat(2.0 * found.max(axis=1, keepdims=True), shape[1], axis=1)
    return np.minimum(found, LARGEST) if fitted.classes is not None else found


def checked_tolerance(tol: Any) -> float:
    """The tolerance, or an error if it does not tell the zones apart."""
    if not 0 <= float(tol) < 0.5:
        raise ValueError(f"tol must be at least 0 and less than 0.5, or zones would overlap; got {tol!r}")
    return float(tol)


def _violations(fitted: Fitted) -> FloatArray:
    """(tasks,) what the fit left open."""
    certificates, tasks = getattr(fitted.model, "certificates_", None), len(fitted.intercept)
    if certificates and len(certificates) in (1, tasks):
        found = np.array([certificate.kkt for certificate in certificates])
        return np.broadcast_to(np.where(np.isnan(found), np.inf, found), (tasks,))
    # tol is a violation in units of the score, except for linear machines and for nu-SVC, which is divided by rho
    told = isinstance(fitted, KernelFitted) and fitted.machine != "NuSVC"
    return np.full(tasks, float(getattr(fitted.model, "tol", MOST)) if told else np.inf)


def _scales(fitted: Fitted, X: RowData) -> FloatArray:
    """(tasks,) how far apart scores are: those of support vectors, without classes those of the (training) rows."""
    if fitted.classes is None:
        return np.ptp(fitted.scores(X), axis=0) if count(X) else np.full(1, np.inf)
    return np.minimum(_ranges(fitted) if isinstance(fitted, KernelFitted) else _distances(fitted), 1.0)


def _ranges(fitted: KernelFitted) -> FloatArray:
    """The range of the scores of (some) support vectors; 1 where these are not at hand."""
    m = len(fitted.support)
    if fitted.precomputed or m < 2 or count(fitted.vectors) != m:
        return np.ones(len(fitted.intercept))
    return np.ptp(fitted.scores(take(fitted.vectors, np.unique(np.linspace(0, m - 1, PROBED).astype(int)))), axis=0)


def _distances(fitted: Fitted) -> FloatArray:
    """For a linear machine, which keeps no rows: SPREAD times the distance of the two classes' mean scores.

    Means over the support vectors, weighted by alpha: at the optimum ||w||^2 = sum beta_i f_i, so that it is
    2 ||w||^2 / sum |beta|. 1 where the machine keeps no dual variables.
    """
    mass = np.abs(np.atleast_2d(getattr(fitted.model, "dual_coef_", np.zeros((0, 0))))).sum(axis=1)
    if len(mass) != len(fitted.intercept) or not mass.all():
        return np.ones(len(fitted.intercept))
    return SPREAD * 2.0 * fitted.norms(np.zeros((0, 0))) ** 2 / mass


def rounding(fitted: Fitted, X: RowData) -> FloatArray:
    """(n, tasks) bounds on the rounding errors of the scores of checked rows: eps for every term of the sum."""
    offset = np.abs(fitted.intercept)
    if isinstance(fitted, LinearFitted):
        return 128 * EPS * (np.outer(_lengths(fitted, X), fitted.norms(X)) + offset)
    assert isinstance(fitted, KernelFitted)  # there are two families
    if fitted.precomputed:
        size = np.abs(fitted.values(X)) @ np.abs(fitted.coef)
    else:
        lengths, m = _lengths(fitted, X), len(fitted.support)
        kept = count(fitted.vectors) == m  # scikit-learn's machines keep none with a callable kernel
        own = _lengths(fitted, fitted.vectors) if kept else np.full(m, lengths.max(initial=0.0))
        size = np.outer(lengths, own @ np.abs(fitted.coef))
    return EPS * (64 + len(fitted.support)) * (size + offset)


def _lengths(fitted: Fitted, X: RowData) -> FloatArray:
    """||phi(x)|| of checked rows."""
    return np.sqrt(np.maximum(fitted.squares(X), 0.0)) if count(X) else np.zeros(0)
