"""Fitted machines from maxmargin to scikit-learn, and the other way."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from maxmargin.delivered import is_ours
from maxmargin.io._as_sklearn import converted
from maxmargin.io._from_sklearn import adopted


def as_sklearn(model: Any, *, probabilities: bool = True) -> Any:
    """A fitted scikit-learn estimator that predicts what a fitted machine of maxmargin predicts.

    For processes that have scikit-learn and no maxmargin: nothing of maxmargin is in the result, unless the kernel has
    no name in scikit-learn (then the kernel's expression is the callable).

    Parameters
    ----------
    model : estimator, search or Pipeline
        Fitted. Of a search it is the winner; of a Pipeline its last step is converted.
    probabilities : bool, default=True
        Whether a calibration is kept: sigmoids and isotonic ones of two classes become a ``CalibratedClassifierCV``. A
        model with another one is refused unless this is False; then it predicts the arg-max of its scores.

    Returns
    -------
    estimator
        ``sklearn.svm``'s class of the same name; ``KernelRidge`` for KernelLeastSquares, ``SGDClassifier`` for
        PegasosSVC and SGDSVC, ``Perceptron``; ``LogisticRegression`` or ``LinearSVC`` for LinearClassifier, ``Ridge``,
        ``LinearRegression`` or ``LinearSVR`` for LinearRegressor. In a ``Pipeline`` after a ``StandardScaler`` for
        kernel machines with ``scale=True``, in a ``OneVsRestClassifier`` for kernel machines with
        ``multiclass='ovr'``. Of more than two classes, an SVC has ``break_ties=True``, with which scikit-learn too
        predicts the arg-max.

    Raises
    ------
    ValueError
        If scikit-learn has no such machine; the message says which part it lacks.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC, io
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC(C=10).fit(X, y)
    >>> theirs = io.as_sklearn(model)
    >>> type(theirs).__module__, bool((theirs.predict(X) == model.predict(X)).all())
    ('sklearn.svm._classes', True)
    """
    check_is_fitted(model)
    if hasattr(model, "best_estimator_"):
        return as_sklearn(model.best_estimator_, probabilities=probabilities)
    if isinstance(model, Pipeline):
        *before, (name, last) = model.steps
        return Pipeline([*before, (name, as_sklearn(last, probabilities=probabilities))])
    if not is_ours(model):
        raise TypeError(f"a fitted machine of maxmargin's is needed; got {type(model).__name__}")
    return converted(model, probabilities)


def from_sklearn(model: Any) -> Any:
    """The machine of maxmargin that predicts what a fitted machine of scikit-learn predicts.

    It has no certificate: :func:`maxmargin.certify` makes one from the training data. All that a machine of maxmargin
    can do follows: ``io.save``, ``io.export_onnx``, ``maxmargin.inspection``.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted: SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC, LinearSVR, KernelRidge, Perceptron, SGDClassifier
        (``loss='hinge'``), LogisticRegression, Ridge or LinearRegression; of a Pipeline its last step is converted.

    Returns
    -------
    estimator
        Of the same name where there is one; KernelLeastSquares, SGDSVC, LinearClassifier or LinearRegressor otherwise.
        A kernel machine predicts the arg-max of its scores, where scikit-learn's counts votes first.

    Raises
    ------
    TypeError
        If it is another estimator.

    Examples
    --------
    >>> import sklearn.svm
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import certify, io
    >>> X, y = load_iris(return_X_y=True)
    >>> theirs = sklearn.svm.SVC(C=10).fit(X, y)
    >>> model = io.from_sklearn(theirs)
    >>> bool((model.predict(X) == theirs.predict(X)).all()), certify(model, X, y).holds
    (True, True)
    """
    check_is_fitted(model)
    if isinstance(model, Pipeline):
        *before, (name, last) = model.steps
        return Pipeline([*before, (name, from_sklearn(last))])
    return adopted(model)
