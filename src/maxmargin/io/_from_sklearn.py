"""scikit-learn's fitted machines as ours: our classes with their attributes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin import estimators
from maxmargin._rows import dense
from maxmargin.calibration import Sigmoid
from maxmargin.delivered import is_ours
from maxmargin.kernels import Precomputed, resolve_kernel

LIBSVM = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
#: Parameters whose values mean something else here.
NOT_PASSED = {"kernel", "gamma", "cache_size", "probability", "loss", "penalty", "C", "n_jobs", "solver", "alpha",
              "tol", "max_iter", "warm_start", "break_ties", "multi_class"}  # fmt: skip


def adopted(model: Any) -> Any:
    """Our twin of a fitted machine of scikit-learn's."""
    name = next((c.__name__ for c in type(model).__mro__ if c.__name__ in READERS), None)
    if name is None or is_ours(model):
        raise TypeError(
            f"a fitted machine of scikit-learn's is needed, one of {', '.join(READERS)}; got {type(model).__name__}"
        )
    twin = READERS[name](model)
    for shared in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, shared):
            setattr(twin, shared, getattr(model, shared))
    return twin


def _made(name: str, model: Any, **given: Any) -> Any:
    """Ours with the parameters that both have and that mean the same."""
    kind = getattr(estimators, name)
    shared = (set(kind().get_params()) & set(model.get_params())) - NOT_PASSED - set(given)
    return kind(**{each: getattr(model, each) for each in shared}, **given)


# -- kernel machines ------------------------------------------------------------------------------------------------


def _libsvm(model: Any) -> Any:
    own = {"C": model.C} if type(model).__name__ in ("SVC", "SVR", "NuSVR") else {}
    twin = _made(_name(model), model, kernel=model.kernel, gamma=model.gamma, tol=model.tol, **own)
    twin._validate_params()
    if callable(model.kernel):
        twin.kernel_, rows = resolve_kernel(model.kernel), model._BaseLibSVM__Xfit
        vectors = [rows[i] for i in model.support_] if isinstance(rows, list) else rows[model.support_]
    else:
        twin.kernel_ = resolve_kernel(model.kernel, float(model._gamma), model.degree, model.coef0)
        vectors = np.empty((0, 0)) if isinstance(twin.kernel_, Precomputed) else model.support_vectors_
    twin.support_, twin.support_vectors_ = model.support_, vectors
    twin.dual_coef_, twin.intercept_ = model.dual_coef_.copy(), model.intercept_.copy()
    twin.n_support_, twin.n_iter_ = model.n_support_, model.n_iter_
    twin.fit_status_, twin.shape_fit_ = model.fit_status_, model.shape_fit_
    if hasattr(model, "classes_"):
        twin.classes_, twin.class_weight_, twin.multiclass_ = model.classes_, model.class_weight_, "ovo"
    if hasattr(model, "offset_"):
        twin.offset_ = model.offset_
    if getattr(model, "_probA", np.empty(0)).size:
        _write_sigmoids(twin, model)
    return twin


def _name(model: Any) -> str:
    return next(c.__name__ for c in type(model).__mro__ if c.__name__ in READERS)


def _write_sigmoids(twin: Any, model: Any) -> None:
    """P(first of a pair) = 1 / (1 + exp(A f + B)) in LIBSVM's signs: of two classes the first is the positive one."""
    sign = -1.0 if len(model.classes_) == 2 else 1.0
    a, b = np.array(model._probA), sign * np.array(model._probB)
    twin.calibration, twin.sharpness_, twin.probA_, twin.probB_ = "sigmoid", 1.0, a, sign * b
    twin.calibrators_ = [Sigmoid(float(x), float(z)) for x, z in zip(a, b, strict=True)]


def _ridge(model: Any) -> Any:
    alpha = np.unique(np.asarray(model.alpha, dtype=float))
    if len(alpha) > 1 or callable(model.kernel) or model.kernel == "additive_chi2":
        raise TypeError("KernelLeastSquares has one ridge and kernels by name; this KernelRidge has others")
    width = model.gamma if model.gamma is not None else 1.0 if model.kernel == "chi2" else 1.0 / model.n_features_in_
    twin = _made("KernelLeastSquares", model, kernel=model.kernel, lam=float(alpha[0]), gamma=width)
    twin.kernel_ = resolve_kernel(model.kernel, float(width), int(model.degree), model.coef0)
    n = len(model.dual_coef_)
    twin.support_, twin.dual_coef_ = np.arange(n, dtype=np.int32), model.dual_coef_.copy()
    twin.support_vectors_ = np.empty((0, 0)) if isinstance(twin.kernel_, Precomputed) else model.X_fit_
    twin.shape_fit_ = (n, model.n_features_in_)
    return twin


# -- linear machines ------------------------------------------------------------------------------------------------


def _linear_svm(model: Any) -> Any:
    own = {"penalty": model.penalty, "multi_class": model.multi_class} if hasattr(model, "classes_") else {}
    return _with_weights(_made(_name(model), model, loss=model.loss, C=model.C, **own), model)


def _perceptron(model: Any) -> Any:
    return _with_weights(_made("Perceptron", model, penalty=model.penalty, alpha=model.alpha), model)


def _descent(model: Any) -> Any:
    if model.loss != "hinge" or model.penalty != "l2":
        raise TypeError(
            f"SGDSVC has loss='hinge' and penalty='l2'; this SGDClassifier {model.loss!r}, {model.penalty!r}"
        )
    return _with_weights(_made("SGDSVC", model, lam=model.alpha), model)


def _logistic(model: Any) -> Any:
    many = len(model.classes_) > 2
    ratio = float(model.l1_ratio or 0.0) if not isinstance(model.l1_ratio, str) else 0.0
    if ratio not in (0.0, 1.0) or (many and ratio):
        raise TypeError(f"LinearClassifier has no such penalty of this LogisticRegression: l1_ratio={model.l1_ratio!r}")
    C = model.C if many else model.C * math.log(2.0)  # the loss of two classes is in base 2 here
    own = {"multiclass": "softmax" if many else "ovr", "penalty": "l1" if ratio else "l2"}
    return _with_weights(_made("LinearClassifier", model, loss="logistic", C=C, **own), model)


def _least_squares(model: Any) -> Any:
    if np.ndim(model.coef_) > 1 and len(model.coef_) > 1:
        raise TypeError("LinearRegressor has one target; fit one regression for each")
    own = {"C": 0.5 / float(model.alpha)} if getattr(model, "alpha", 0.0) else {"penalty": None}
    return _with_weights(_made("LinearRegressor", model, loss="squared", **own), model)


def _with_weights(twin: Any, model: Any) -> Any:
    classes = getattr(model, "classes_", None)
    coef: Any = np.array(dense(model.coef_), dtype=np.float64)
    twin.coef_ = coef.ravel() if classes is None else coef
    twin.intercept_ = np.array(
        np.broadcast_to(np.atleast_1d(model.intercept_), (len(np.atleast_2d(coef)),)), dtype=float
    )
    twin.n_iter_ = int(np.max(model.n_iter_)) if getattr(model, "n_iter_", None) is not None else 0
    if classes is not None:
        twin.classes_, twin.multiclass_ = classes, twin._multiclass
    twin._validate_params()
    return twin


READERS = {
    **dict.fromkeys(LIBSVM, _libsvm),
    **dict.fromkeys(("LinearSVC", "LinearSVR"), _linear_svm),
    "KernelRidge": _ridge,
    "Perceptron": _perceptron,
    "SGDClassifier": _descent,
    "LogisticRegression": _logistic,
    **dict.fromkeys(("Ridge", "LinearRegression"), _least_squares),
}
