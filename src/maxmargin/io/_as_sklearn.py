"""Our fitted machines as scikit-learn's: its classes with our attributes, in its signs and places."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import kernel_ridge, linear_model, svm
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV, _CalibratedClassifier, _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer, StandardScaler

from maxmargin._rows import dense
from maxmargin._types import FloatArray
from maxmargin.calibration import Isotonic, Sigmoid
from maxmargin.delivered import KernelFitted, read
from maxmargin.io._kernel_words import kernel_words
from maxmargin.kernels import ChiSquared, Cosine, Kernel, Laplacian, Precomputed
from maxmargin.losses import Hinge, Logistic, Squared, SquaredHinge
from maxmargin.multiclass import LIKELIHOOD

LIBSVM = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
#: Parameters whose values mean something else, or nothing, in scikit-learn.
NOT_PASSED = {"kernel", "gamma", "degree", "coef0", "cache_size", "probability", "decision_function_shape", "loss",
              "penalty", "C", "n_jobs", "solver", "alpha", "multi_class", "warm_start", "tol", "max_iter"}  # fmt: skip


def converted(model: Any, probabilities: bool) -> Any:
    """scikit-learn's twin of a fitted machine of ours."""
    fitted = read(model)
    calibrated = bool(getattr(model, "calibrators_", None)) and probabilities
    if calibrated and len(model.classes_) > 2:
        raise _refused(model, "scikit-learn has no such calibration of more than two classes; pass probabilities=False")
    twin = _kernel_twin(model, fitted) if isinstance(fitted, KernelFitted) else _linear_twin(model, fitted)
    if isinstance(fitted, KernelFitted) and fitted.scaling is not None:
        twin = Pipeline([("scale", _scaler(fitted.scaling)), ("machine", twin)])
    twin = _calibrated(model, twin) if calibrated else twin
    for one in (twin, twin.steps[0][1]) if isinstance(twin, Pipeline) else (twin,):
        if hasattr(model, "feature_names_in_") and not isinstance(one, Pipeline):
            one.feature_names_in_ = model.feature_names_in_
    return twin


def _refused(model: Any, why: str) -> ValueError:
    return ValueError(f"{type(model).__name__}: {why}")


def _made(kind: Any, model: Any, **given: Any) -> Any:
    """Theirs with the parameters that both have and that mean the same."""
    shared = (set(kind().get_params()) & set(model.get_params())) - NOT_PASSED - set(given)
    twin = kind(**{name: getattr(model, name) for name in shared}, **given)
    twin.n_features_in_ = getattr(model, "n_features_in_", None)
    return twin


# -- kernel machines ------------------------------------------------------------------------------------------------


def _kernel_twin(model: Any, fitted: KernelFitted) -> Any:
    if fitted.machine == "KernelLeastSquares":
        return _ridge(model, fitted)
    if fitted.machine not in LIBSVM or hasattr(model, "landmark_coef_"):
        raise _refused(model, "scikit-learn has no such machine; use maxmargin.io.save or export_onnx")
    classes = fitted.classes
    if classes is None or len(classes) == 2:
        return _libsvm(model, fitted, fitted.lines, fitted.intercept)
    if fitted.multiclass == "ovo":
        return _libsvm(model, fitted, fitted.lines, fitted.intercept, decision_function_shape="ovr", break_ties=True)
    if fitted.multiclass == "ovr":
        parts = [_of_two(model, fitted, line, b) for line, b in zip(fitted.coef.T, fitted.intercept, strict=True)]
        return one_vs_rest(_libsvm_class(fitted)(), parts, classes)
    raise _refused(model, f"scikit-learn has no machine with multiclass={fitted.multiclass!r}")


def _libsvm_class(fitted: KernelFitted) -> Any:
    return getattr(svm, fitted.machine)


def _of_two(model: Any, fitted: KernelFitted, line: FloatArray, b: float) -> Any:
    """A class against the rest; support vectors of the rest come first."""
    twin = _libsvm(model, fitted, line[None, :], np.array([b]))
    _write_classes(twin, np.array([0, 1]), np.array([0, line.size], dtype=np.int32), np.ones(2))
    return twin


def _libsvm(model: Any, fitted: KernelFitted, lines: FloatArray, intercept: FloatArray, **given: Any) -> Any:
    words, rows = kernel_words(fitted.kernel), fitted.vectors
    own = words or {"kernel": fitted.kernel}
    own.update({"C": model.C} if hasattr(model, "C") else {})
    twin = _made(_libsvm_class(fitted), model, tol=model.tol, **own, **given)
    twin._sparse, twin._gamma = sp.issparse(rows) and words is not None, float(own.get("gamma", 0.0))
    twin.support_, twin.shape_fit_ = np.asarray(fitted.support, dtype=np.int32), model.shape_fit_
    twin.support_vectors_ = rows.astype(np.float64) if hasattr(rows, "astype") else rows
    if isinstance(fitted.kernel, Precomputed):
        twin.support_vectors_ = np.empty((0, 0))
    elif words is None:  # the rows that kernel values are asked for, all of which count
        twin._BaseLibSVM__Xfit, twin.shape_fit_ = rows, (lines.shape[1],)
        twin.support_, twin.support_vectors_ = np.arange(lines.shape[1], dtype=np.int32), np.empty((0, 0))
    sign = -1.0 if fitted.classes is not None and lines.shape[0] == 1 else 1.0
    twin._dual_coef_, twin.dual_coef_ = (_stored(factor * lines, twin._sparse) for factor in (sign, 1.0))
    twin._intercept_, twin.intercept_ = sign * intercept, intercept.astype(np.float64)
    twin._probA = twin._probB = np.empty(0)
    twin.fit_status_, twin._effective_probability = 0, False
    twin.n_iter_ = getattr(model, "n_iter_", 0)
    twin._num_iter = np.atleast_1d(np.asarray(twin.n_iter_, dtype=np.int32))
    if fitted.classes is None:
        twin._n_support = np.full(2, lines.shape[1], dtype=np.int32)
        if fitted.machine == "OneClassSVM":
            twin.offset_ = -twin.intercept_
    else:
        _write_classes(twin, fitted.classes, np.asarray(model.n_support_, dtype=np.int32), model.class_weight_)
    return twin


def _write_classes(twin: Any, classes: Any, counts: Any, weights: Any) -> None:
    twin.classes_, twin._n_support, twin.class_weight_ = classes, counts, weights


def _stored(lines: FloatArray, sparse: bool) -> Any:
    """Coefficients as LIBSVM's wrappers read them: all values of a sparse table are there, zeros too."""
    lines = np.ascontiguousarray(lines, dtype=np.float64)
    if not sparse:
        return lines
    height, width = lines.shape
    return sp.csr_array((lines.ravel(), np.tile(np.arange(width), height), np.arange(height + 1) * width), lines.shape)


def _ridge(model: Any, fitted: KernelFitted) -> Any:
    words = kernel_words(fitted.kernel) or _words_of_pairs(fitted.kernel)
    if words is None:
        raise _refused(model, "scikit-learn's KernelRidge has no such kernel; use one with a name there")
    if isinstance(fitted.kernel, Precomputed) and len(fitted.support) < model.shape_fit_[1]:
        raise _refused(model, "scikit-learn's KernelRidge needs a coefficient for every row of a precomputed kernel")
    twin = _made(kernel_ridge.KernelRidge, model, alpha=model.lam, **words)
    rows = fitted.vectors
    twin.dual_coef_, twin.X_fit_ = dense(model.dual_coef_), rows.astype(np.float64)
    if isinstance(fitted.kernel, Precomputed):
        twin.X_fit_ = np.zeros((len(fitted.support), 1))  # of which only the number of rows is looked at
    return twin


def _words_of_pairs(kernel: Kernel) -> dict[str, Any] | None:
    """Kernels that have a name in ``sklearn.metrics.pairwise`` only."""
    if type(kernel) is Cosine:
        return {"kernel": "cosine"}
    name = "laplacian" if type(kernel) is Laplacian else "chi2" if type(kernel) is ChiSquared else None
    return None if name is None else {"kernel": name, "gamma": float(kernel.gamma)}  # type: ignore[attr-defined]


def _scaler(scaling: Any) -> StandardScaler:
    scaler = StandardScaler(with_mean=bool(scaling.center.any()))
    scaler.mean_, scaler.scale_, scaler.var_ = scaling.center, scaling.scale, scaling.scale**2
    scaler.n_features_in_, scaler.n_samples_seen_ = len(scaling.scale), 0
    return scaler


# -- linear machines ------------------------------------------------------------------------------------------------


def _linear_twin(model: Any, fitted: Any) -> Any:
    W, b, classes = fitted.W, fitted.intercept.astype(np.float64), fitted.classes
    twin, single = _linear_kind(model, fitted)
    if classes is None:
        return _with_weights(twin, W[0], b if isinstance(twin, svm.LinearSVR) else float(b[0]), None)
    if len(classes) > 2 and not single and fitted.multiclass == "ovr":  # LogisticRegression is one problem there
        lines = zip(W[:, None, :], b[:, None], strict=True)
        return one_vs_rest(twin, [_with_weights(clone(twin), *line, np.array([0, 1])) for line in lines], classes)
    if len(classes) > 2 and not fitted.single and fitted.multiclass != "ovr":
        raise _refused(model, f"scikit-learn has no linear machine with multiclass={fitted.multiclass!r}; use 'ovr'")
    return _with_weights(twin, W, b, classes)


def _linear_kind(model: Any, fitted: Any) -> tuple[Any, bool]:
    """(theirs with the parameters that say the same problem, whether it takes a line of weights for every class)."""
    machine = fitted.machine
    if machine == "Perceptron":
        return _made(linear_model.Perceptron, model, penalty=model.penalty, alpha=model.alpha), True
    if machine in ("PegasosSVC", "SGDSVC"):
        return _made(linear_model.SGDClassifier, model, alpha=model.lam), True
    if machine in ("LinearSVC", "LinearSVR"):
        own = {"loss": model.loss, "C": model.C} | ({"penalty": model.penalty} if machine == "LinearSVC" else {})
        return _made(getattr(svm, machine), model, **own), True
    (loss, penalty), C = model._pair(), float(getattr(model, "C_", 1.0))
    if isinstance(loss, Logistic) and penalty.name in ("l2", "l1"):
        softmax = fitted.multiclass == LIKELIHOOD and len(fitted.classes) > 2
        ratio = {"l1_ratio": 1.0, "solver": "saga"} if penalty.name == "l1" else {}
        return _made(linear_model.LogisticRegression, model, C=C if softmax else C / math.log(2.0), **ratio), softmax
    if isinstance(loss, Hinge | SquaredHinge) and penalty.name in ("l2", "l1"):
        return _made(svm.LinearSVC, model, loss=loss.name, penalty=penalty.name, C=C), True
    if isinstance(loss, Squared) and penalty.name == "l2" and fitted.classes is None:
        return _made(linear_model.Ridge, model, alpha=0.5 / C), True
    if isinstance(loss, Squared) and penalty.name == "none" and fitted.classes is None:
        return _made(linear_model.LinearRegression, model), True
    raise _refused(model, f"scikit-learn has no linear machine with the loss {loss.name} and penalty {penalty.name}")


def _with_weights(twin: Any, W: FloatArray, b: Any, classes: Any) -> Any:
    twin.coef_, twin.intercept_, twin.n_features_in_, twin.n_iter_ = W, b, W.shape[-1], 0
    if classes is not None:
        twin.classes_ = classes
    return twin


# -- around machines ------------------------------------------------------------------------------------------------


def one_vs_rest(machine: BaseEstimator, parts: list[Any], classes: Any) -> OneVsRestClassifier:
    """A fitted machine per class."""
    whole = OneVsRestClassifier(machine)
    whole.estimators_, whole.label_binarizer_ = parts, LabelBinarizer(sparse_output=True).fit(classes)
    whole.n_features_in_, whole.classes_ = parts[0].n_features_in_, classes
    return whole


def _calibrated(model: Any, twin: Any) -> CalibratedClassifierCV:
    """Two classes with the probabilities of a sigmoid or of steps."""
    (calibrator,) = model.calibrators_
    if isinstance(calibrator, Sigmoid):
        method, own = "sigmoid", _SigmoidCalibration()
        own.a_, own.b_ = calibrator.a, calibrator.b
    elif isinstance(calibrator, Isotonic):
        method = "isotonic"
        own = IsotonicRegression(out_of_bounds="clip").fit(calibrator.scores, calibrator.values)
    else:
        raise _refused(model, f"scikit-learn has no calibration {model.calibration!r}; pass probabilities=False")
    whole = CalibratedClassifierCV(twin, method=method, ensemble=False)
    part = _CalibratedClassifier(twin, [own], classes=model.classes_, method=method)
    whole.calibrated_classifiers_, whole.classes_ = [part], model.classes_
    whole.n_features_in_ = model.n_features_in_
    return whole
