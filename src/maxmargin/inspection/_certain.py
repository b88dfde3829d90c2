"""Labels that the exact optimum gives as well, however large the duality gap still is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._rows import count
from maxmargin._types import Array, FloatArray, IntArray, RowData
from maxmargin.certificates import Certificate, certify_tasks, definiteness
from maxmargin.delivered import Fitted, KernelFitted, LinearFitted, is_ours
from maxmargin.inspection._model import read_classifier, rounding, squeezed
from maxmargin.inspection._reach import Reach, reach, reach_without_rows
from maxmargin.inspection._training import FittedTasks, fitted_tasks
from maxmargin.multiclass import CodeWords, OneVsOne, Scheme
from maxmargin.penalties import resolve_penalty


@dataclass(frozen=True, eq=False)
class CertifiedLabels:
    """Predicted labels, and which of them are proven.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        What the model predicts.
    certain : ndarray of bool of shape (n,)
        Whether every exact optimum of the model's problem predicts the same.
    lower, upper : ndarrays of shape (n,) or (n, n_tasks)
        Between these are the scores of every exact optimum.
    reasons : tuple of str
        For every task, why nothing is known about it; '' where the certificate holds.
    """

    labels: Array
    certain: Array
    lower: FloatArray
    upper: FloatArray
    reasons: tuple[str, ...]

    @property
    def rows(self) -> IntArray:
        """The rows whose label is certain."""
        return np.flatnonzero(self.certain)

    def __str__(self) -> str:
        why = "; ".join(sorted({reason for reason in self.reasons if reason}))
        said = f"{len(self.rows)} of {len(self.certain)} labels cannot change at the exact optimum"
        return f"{said} ({why})" if why else said


def certified_labels(
    model: Any,
    X: Any,
    X_train: Any = None,
    y_train: Any = None,
    sample_weight: Any = None,
    certificates: Sequence[Certificate] | None = None,
) -> CertifiedLabels:
    r"""Labels that provably cannot change if the model's problem is solved exactly.

    The objective is 1-strongly convex in w, so every optimum has :math:`\tfrac12\|w - w^*\|^2 \le \text{gap}`, and

    .. math:: |w^*\cdot\phi(x) - w\cdot\phi(x)| \le \sqrt{2\,\text{gap}\;k(x, x)} .

    The optimal intercept minimises :math:`\sum_i C_i L(t_i, g^*_i + b)` in b, with the scores
    :math:`g^*_i = w^*\cdot\phi(x_i)` of the training rows. These are known within
    :math:`r_i = \sqrt{2\,\text{gap}\;k(x_i, x_i)}` by the above, and slopes of a convex loss do not fall as scores
    rise. So no optimal b lies where the slope in b is still negative with the scores :math:`g + r`, nor where it is
    positive with :math:`g - r`: every optimal b lies in between. Similar arguments hold for the hard margin and nu-SVC.

    A row is certain if no scores within these bounds change its label: the sign for two classes, the largest score for
    one task per class, votes with their ties for all pairs, the nearest word for code words. It is a proof up to the
    rounding of float64 sums, like the gap itself. Rows that are not certain may well keep their label.

    Parameters
    ----------
    model : fitted classifier
        maxmargin's or scikit-learn's kernel and linear machines (penalty 'l2' or 'elasticnet'), without calibration.
        scikit-learn's LinearSVC is compared with the optimum whose intercept is not penalised.
    X : rows of shape (n, d)
        Rows to predict. With a precomputed kernel, the Gram matrix of the training rows: for other rows the matrix does
        not say whether the kernel is positive semi-definite.
    X_train, y_train, sample_weight
        Exactly the training data, in the same order. Needed unless the model has no intercept, and always by the hard
        margin and nu-SVC, whose scale depends on them.
    certificates : list of Certificate, optional
        One per task, from :func:`maxmargin.certificates.certify_tasks`. By default they are computed from the training
        data, or where these are not given, taken from the model (whose ``method`` says how sharp they are).

    Returns
    -------
    CertifiedLabels

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> from maxmargin.inspection import certified_labels
    >>> X, y = load_iris(return_X_y=True)
    >>> rough, exact = SVC(gap_tol=1e-3).fit(X, y), SVC(gap_tol=1e-12).fit(X, y)
    >>> found = certified_labels(rough, X, X, y)
    >>> bool((found.labels == exact.predict(X))[found.certain].all()), bool(found.certain.mean() > 0.8)
    (True, True)
    """
    fitted = read_classifier(model, "certified_labels")
    _require_plain(fitted)
    rows = fitted.checked(X)
    if X_train is None:
        reaches = _from_certificates(fitted, _given(fitted, certificates))
    else:
        reaches = _from_rows(fitted, X_train, y_train, sample_weight, certificates)
    reason = _unknown_at(fitted, rows, X_train)
    if reason:
        reaches = [Reach(reason=reason) for _ in reaches]
    f, lengths = fitted.scores(rows), np.zeros(count(rows))
    if not all(one.reason for one in reaches):
        lengths = np.sqrt(np.maximum(fitted.squares(rows), 0.0))
    error = rounding(fitted, rows)
    bounds = [one.interval(f[:, k], lengths, error[:, k]) for k, one in enumerate(reaches)]
    low, high = np.column_stack([b[0] for b in bounds]), np.column_stack([b[1] for b in bounds])
    labels = np.asarray(model.predict(X))
    assert fitted.scheme is not None  # it is a classifier
    assert fitted.classes is not None
    decided = fitted.scheme.classes_of(f)
    # scikit-learn breaks ties by the order of the classes
    certain = stands(fitted.scheme, decided, low, high, is_ours(model)) & (fitted.classes[decided] == labels)
    return CertifiedLabels(labels, certain, squeezed(low), squeezed(high), tuple(one.reason for one in reaches))


def _couples(model: Any) -> bool:
    """Whether the model decides by coupled probabilities, whose order may differ from that of the scores."""
    return getattr(model, "_has_probabilities", False) and model.multiclass_ != "ovr" and len(model.classes_) > 2


def _require_plain(fitted: Fitted) -> None:
    model = fitted.model
    if fitted.machine == "Perceptron":
        raise TypeError("certified_labels compares with a machine's optimum, and a perceptron has none")
    if hasattr(model, "calibrators_") or _couples(model):
        raise ValueError(
            "this model predicts the class of the largest probability, of which nothing is proven; fit it with "
            "calibration=None (and without probability=True), and a logistic one with multiclass='ovr'"
        )
    if isinstance(fitted, LinearFitted):
        if resolve_penalty(getattr(model, "penalty", "l2")).quadratic <= 0:
            raise ValueError(
                f"with penalty={model.penalty!r} models of nearly the same objective can be far apart, so that a gap "
                "says nothing of labels; use 'l2' or 'elasticnet'"
            )
        if np.isinf(getattr(model, "C_", None) or getattr(model, "C", None) or 1.0):
            raise ValueError("the hard margin of a linear machine is certified as SVC(kernel='linear', C=np.inf)")


def _given(fitted: Fitted, certificates: Sequence[Certificate] | None) -> Sequence[Certificate]:
    found = getattr(fitted.model, "certificates_", None) if certificates is None else certificates
    if found is None:
        raise ValueError(
            "the model carries no certificates; give the training data as X_train and y_train, or certificates from "
            "maxmargin.certificates.certify_tasks"
        )
    if len(found) != len(fitted.intercept):
        raise ValueError(f"the model has {len(fitted.intercept)} tasks, but {len(found)} certificates were given")
    return found


def _from_certificates(fitted: Fitted, certificates: Sequence[Certificate]) -> list[Reach]:
    """Without training rows, which works only where neither an intercept nor a scale depends on them."""
    model = fitted.model
    bias = bool(getattr(model, "fit_intercept", True))
    scaled = fitted.machine == "NuSVC" or np.isinf(getattr(model, "C", 1.0) or 1.0)
    if bias or scaled:
        what = "the intercept" if bias else "the scale of the hard margin and of nu-SVC"
        raise ValueError(
            f"how far {what} is from the optimal one depends on the training rows; give them as X_train and y_train "
            "(and sample_weight, if there was one)"
        )
    linear = isinstance(fitted, LinearFitted)
    strength = resolve_penalty(getattr(model, "penalty", "l2")).quadratic if linear else 1.0
    return [reach_without_rows(certificate, strength) for certificate in certificates]


def _from_rows(fitted: Fitted, X: Any, y: Any, sample_weight: Any, certificates: Any) -> list[Reach]:
    model = fitted.model
    training: FittedTasks = fitted_tasks(model, X, y, sample_weight, "certified_labels", slack=False)
    if certificates is None:
        certificates = certify_tasks(model, X, y, sample_weight)
    certificates = _given(fitted, certificates)
    return [
        reach(task, training.diagonal(task.at), certificate)
        for task, certificate in zip(training.tasks, certificates, strict=True)
    ]


def _unknown_at(fitted: Fitted, X: RowData, X_train: Any) -> str:
    """Why (1) of :mod:`._reach` need not hold at new rows: the kernel must be positive semi-definite there too."""
    if not isinstance(fitted, KernelFitted) or fitted.kernel.is_psd:
        return ""
    if fitted.precomputed:
        same = X_train is not None and np.array_equal(np.asarray(X), np.asarray(X_train))
        return "" if same else "a precomputed kernel is known at its training rows only"
    if X_train is None:
        return "not known to be PSD"
    together = _stacked(fitted.checked(X_train), X)
    return definiteness(fitted.kernel, together, np.arange(count(together))).reason


def _stacked(first: RowData, second: RowData) -> RowData:
    if isinstance(first, list) or isinstance(second, list):
        return [*first, *second]
    if sp.issparse(first) or sp.issparse(second):
        return sp.vstack([first, second], format="csr")
    return np.vstack([first, second])


# -- Whether a decision between classes stands for all scores within known bounds -----------------------------------


def stands(scheme: Scheme, label: IntArray, low: FloatArray, high: FloatArray, sums_break_ties: bool = True) -> Array:
    """Whether scores (n, tasks) anywhere between ``low`` and ``high`` decide for ``label``.

    ``sums_break_ties``: whether equal votes are decided by the summed scores; if not, they are never certain.
    """
    if scheme.n_classes == 2:
        return np.where(label == 1, low[:, 0] > 0, high[:, 0] < 0)
    certain = np.zeros(len(label), dtype=bool)
    for k in range(scheme.n_classes):
        own = np.flatnonzero(label == k)
        if len(own):
            certain[own] = _wins(scheme, k, low[own], high[own], sums_break_ties)
    return certain


def _wins(scheme: Scheme, k: int, low: FloatArray, high: FloatArray, sums_break_ties: bool) -> Array:
    """Whether class ``k`` beats every other one."""
    if isinstance(scheme, (OneVsOne, CodeWords)):
        words = scheme.sides.T if isinstance(scheme, OneVsOne) else scheme.words
        return _beats(words[k] - np.delete(words, k, axis=0), low, high, sums_break_ties)
    others = np.delete(high, k, axis=1)
    return low[:, k] > others.max(axis=1)


def _beats(lead: FloatArray, low: FloatArray, high: FloatArray, sums_break_ties: bool) -> Array:
    """Whether sum_t lead_t sign(f_t) > 0, or = 0 and then sum_t lead_t f_t > 0, for every row of ``lead``.

    ``lead`` (rivals, tasks) is the difference of the winner's word and a rival's. Bits that agree with the winner's
    count for it; the others count against it, and so do those whose sign is not certain.
    """
    sure = np.where(low > 0, 1.0, np.where(high < 0, -1.0, 0.0))
    votes = sure @ lead.T - (sure == 0) @ np.abs(lead.T)
    ahead = votes > 0
    if sums_break_ties:
        worst = np.where(lead > 0, 1.0, 0.0), np.where(lead < 0, 1.0, 0.0)
        finite_low, finite_high = np.maximum(low, -1e300), np.minimum(high, 1e300)
        sums = finite_low @ (worst[0] * lead).T + finite_high @ (worst[1] * lead).T
        ahead |= (votes == 0) & (sums > 0)
    return ahead.all(axis=1)
