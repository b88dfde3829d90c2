"""Model files of LIBLINEAR, both ways.

A file has a weight vector per class, or one for two classes, whose first label is the positive one; the bias is the
weight of a last feature that is ``bias`` in every row, here ``intercept_ = bias * w_last``.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._rows import dense
from maxmargin._types import FloatArray
from maxmargin.estimators import (
    SGDSVC,
    LinearClassifier,
    LinearRegressor,
    LinearSVC,
    LinearSVR,
    OneClassSVM,
    PegasosSVC,
    Perceptron,
)
from maxmargin.exceptions import ModelFileError
from maxmargin.io._files import replacing
from maxmargin.io._model_text import INT, MAX_BYTES, ModelText, c_labels, made, numerals, publish_labels
from maxmargin.kernels import Linear

KEYWORDS = ("solver_type", "nr_class", "nr_feature", "bias", "rho", "label")
_SQUARED = {"penalty": "l2", "loss": "squared_hinge"}
_EPSILON, _SQUARED_EPSILON = "epsilon_insensitive", "squared_epsilon_insensitive"
#: By LIBLINEAR's name, in the order of its numbers 0 to 7, 11 to 13 and 21: our machine and its parameters.
SOLVERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "L2R_LR": (LinearClassifier, {"loss": "logistic", "penalty": "l2"}),
    "L2R_L2LOSS_SVC_DUAL": (LinearSVC, {**_SQUARED, "dual": True}),
    "L2R_L2LOSS_SVC": (LinearSVC, {**_SQUARED, "dual": False}),
    "L2R_L1LOSS_SVC_DUAL": (LinearSVC, {"penalty": "l2", "loss": "hinge"}),
    "MCSVM_CS": (LinearSVC, {"multi_class": "crammer_singer"}),
    "L1R_L2LOSS_SVC": (LinearSVC, {"penalty": "l1", "loss": "squared_hinge", "dual": False}),
    "L1R_LR": (LinearClassifier, {"loss": "logistic", "penalty": "l1"}),
    "L2R_LR_DUAL": (LinearClassifier, {"loss": "logistic", "penalty": "l2"}),
    "L2R_L2LOSS_SVR": (LinearSVR, {"loss": _SQUARED_EPSILON, "dual": False}),
    "L2R_L2LOSS_SVR_DUAL": (LinearSVR, {"loss": _SQUARED_EPSILON, "dual": True}),
    "L2R_L1LOSS_SVR_DUAL": (LinearSVR, {"loss": _EPSILON, "dual": True}),
    "ONECLASS_SVM": (OneClassSVM, {"kernel": "linear"}),
}
#: Which of them a loss and a penalty of ours are written as; where there are several, any predicts the same.
WRITTEN = {
    ("hinge", "l2"): "L2R_L1LOSS_SVC_DUAL",
    ("squared_hinge", "l2"): "L2R_L2LOSS_SVC_DUAL",
    ("squared_hinge", "l1"): "L1R_L2LOSS_SVC",
    ("logistic", "l2"): "L2R_LR",
    ("logistic", "l1"): "L1R_LR",
    (_EPSILON, "l2"): "L2R_L1LOSS_SVR_DUAL",
    (_SQUARED_EPSILON, "l2"): "L2R_L2LOSS_SVR_DUAL",
}


def load_liblinear(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES, **parameters: Any) -> Any:
    """The machine in a model file of LIBLINEAR's ``train`` (Debian: ``liblinear-train``).

    It predicts what ``predict`` does. Logistic regressions have ``predict_proba``, as they do there.

    Parameters
    ----------
    path : str or path-like
        The file.
    max_bytes : int, default=2 GiB
        Larger files are refused.
    **parameters
        Parameters of the machine that the file does not store, such as C or epsilon.

    Returns
    -------
    LinearSVC, LinearSVR, LinearClassifier or OneClassSVM
        Fitted: solver types 0, 6 and 7 are a LinearClassifier with logistic loss, 1 to 5 a LinearSVC, 11 to 13 a
        LinearSVR, and 21 a OneClassSVM whose one support vector is w.

    Raises
    ------
    ModelFileError
        If the file is no such model; the message names the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC, io
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(scale=True).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     io.save_liblinear(model, Path(folder, "iris.model"))
    ...     same = io.load_liblinear(Path(folder, "iris.model"))
    >>> bool((same.coef_ == model.coef_).all()), bool((same.predict(X) == model.predict(X)).all())
    (True, True)
    """
    text = ModelText.read(path, KEYWORDS, "w", max_bytes)
    solver = text.word("solver_type", tuple(SOLVERS))
    machine, said = SOLVERS[solver]
    bias = text.number("bias", -1.0)
    if machine is not OneClassSVM:
        said = {**said, "fit_intercept": bias >= 0}
    model = made(machine, said, parameters, path)
    k = text.whole("nr_class", 2)
    one = machine in (LinearSVR, OneClassSVM) or (k == 2 and solver != "MCSVM_CS")
    W, b = _weights(text, 1 if one else k, bias)
    if machine is LinearSVR:
        model.coef_, model.intercept_ = W[0], b
    elif machine is OneClassSVM:
        _publish_one_class(model, W, text.number("rho", 0.0) - b)
    else:
        _publish_classes(model, W, b, text, k)
    model.n_features_in_ = W.shape[1]
    return model


def _weights(text: ModelText, columns: int, bias: float) -> tuple[FloatArray, FloatArray]:
    """(weights, intercepts), a line for every column of the file."""
    d = text.whole("nr_feature", 1)
    lines = d + (bias >= 0)
    if len(text.body) != lines:
        raise text.wrong(f"there are {len(text.body)} lines of weights, but must be {lines}; the file may be cut off")
    rows = []
    for number, line in enumerate(text.body):
        words = line.split()
        if len(words) != columns:
            raise text.wrong(f"there are {len(words)} weights, but must be {columns}", text.first + number)
        rows.append(text.floats(words, text.first + number))
    W = np.array(rows).T
    return np.ascontiguousarray(W[:, :d]), bias * W[:, d] if bias >= 0 else np.zeros(columns)


def _publish_classes(model: Any, W: FloatArray, b: FloatArray, text: ModelText, k: int) -> None:
    """Weights of the classes in the order of their labels; of two classes the second is our positive one."""
    if k > len(text.header.get("label", [])):
        raise text.wrong(f"{k} classes need as many labels", text.lines["nr_class"])
    order = publish_labels(model, text, k)
    if len(W) == 1:
        sign = 1.0 if order[0] == 1 else -1.0  # the file's first label is its positive class
        W, b = sign * W, sign * b
    else:
        W, b = W[order], b[order]
        if k == 2:  # Crammer and Singer's: we keep the difference
            W, b = W[1:] - W[:1], b[1:] - b[:1]
    model.coef_, model.intercept_ = W, b + 0.0
    model.multiclass_ = "crammer-singer" if getattr(model, "multi_class", "ovr") == "crammer_singer" else "ovr"


def _publish_one_class(model: Any, w: FloatArray, rho: FloatArray) -> None:
    """w as the one support vector of a machine with the linear kernel."""
    model.kernel_, model.support_, model.support_vectors_ = Linear(), np.array([-1], dtype=np.int32), w
    model.dual_coef_, model.intercept_, model.offset_ = np.ones((1, 1)), -rho, rho
    model.n_support_, model.fit_status_, model.shape_fit_ = np.array([1], dtype=np.int32), 0, (0, w.shape[1])


# -- writing --------------------------------------------------------------------------------------------------------


class Written(NamedTuple):
    """What goes into a file."""

    solver: str
    W: FloatArray
    b: FloatArray
    labels: list[int] | None
    bias: bool


def save_liblinear(model: Any, path: str | os.PathLike[str], *, probabilities: bool = True) -> None:
    """Write a fitted linear machine as a model file that LIBLINEAR's ``predict`` reads.

    Parameters
    ----------
    model : LinearSVC, LinearSVR, LinearClassifier, LinearRegressor, PegasosSVC, SGDSVC, Perceptron or OneClassSVM
        Fitted, with a loss and a penalty that LIBLINEAR has, whole numbers as labels, and a machine for every class
        against the rest (or Crammer and Singer's). OneClassSVM needs the linear kernel.
    path : str or path-like
        The file; it appears whole or not at all.
    probabilities : bool, default=True
        The file has no place for a calibration, only logistic regression's own probabilities; a model with another one
        is refused unless this is False.

    Raises
    ------
    ModelFileError
        If the format cannot hold the model; the message says why.

    Examples
    --------
    See :func:`load_liblinear`.
    """
    what = _to_write(model, probabilities, path)
    columns = len(what.W)
    if len(what.b) != columns or what.W.shape[1] > INT:
        raise ModelFileError(f"there are {columns} weight vectors and {len(what.b)} intercepts", path)
    header = [f"solver_type {what.solver}", f"nr_class {2 if what.labels is None else len(what.labels)}"]
    if what.labels is not None:
        header.append("label " + " ".join(map(str, what.labels)))
    header += [f"nr_feature {what.W.shape[1]}", f"bias {1 if what.bias else -1}"]
    if what.solver == "ONECLASS_SVM":
        header.append(f"rho {numerals(-what.b)}")
    with replacing(path) as file:
        file.write("\n".join([*header, "w", ""]).encode())
        for row in (*what.W.T, what.b) if what.bias else what.W.T:
            file.write(f"{numerals(row)} \n".encode())


def _to_write(model: Any, probabilities: bool, path: object) -> Written:
    kinds = (LinearSVC, LinearSVR, LinearClassifier, LinearRegressor, PegasosSVC, SGDSVC, Perceptron, OneClassSVM)
    if type(model) not in kinds:
        known = ", ".join(kind.__name__ for kind in kinds)
        raise ModelFileError(f"LIBLINEAR has no {type(model).__name__}; it can be a {known}", path)
    check_is_fitted(model)
    if isinstance(model, OneClassSVM) and type(model.kernel_) is not Linear:
        raise ModelFileError(f"LIBLINEAR has no kernel {model.kernel_}; fit with kernel='linear'", path)
    coef: Any = model.coef_
    W = np.atleast_2d(np.asarray(dense(coef), dtype=np.float64))
    b = np.atleast_1d(model.intercept_).astype(np.float64)
    if isinstance(model, OneClassSVM):
        return Written("ONECLASS_SVM", W, b, None, False)
    solver, bias = _solver_of(model, path), bool(np.any(b != 0.0))
    if not hasattr(model, "classes_"):
        return Written(solver, W, b, None, bias)
    _refuse_calibration(model, probabilities, path)
    labels = c_labels(model.classes_, path)
    if len(labels) == 2 and solver == "MCSVM_CS":
        return Written(solver, np.vstack([-W, W]) / 2, np.concatenate([-b, b]) / 2, labels, bias)
    return Written(solver, W, b, labels[::-1] if len(labels) == 2 else labels, bias)


def _solver_of(model: Any, path: object) -> str:
    """LIBLINEAR's name for what the model minimises."""
    scheme = getattr(model, "multiclass_", "ovr")
    if scheme == "crammer-singer":
        return "MCSVM_CS"
    if scheme != "ovr" and len(model.classes_) > 2:
        raise ModelFileError(
            f"LIBLINEAR has a machine for every class, and this model multiclass={scheme!r}; fit it with "
            "multiclass='ovr', or use maxmargin.io.save",
            path,
        )
    if isinstance(model, PegasosSVC | SGDSVC | Perceptron):
        return WRITTEN["hinge", "l2"]
    loss, penalty = model._pair()
    name = WRITTEN.get((loss.name, penalty.name))
    if name is None:
        known = "; ".join(f"{a} with {b}" for a, b in WRITTEN)
        raise ModelFileError(
            f"LIBLINEAR has no solver for the loss {loss.name} with the penalty {penalty.name}, only for {known}. Use "
            "maxmargin.io.save, which keeps every model",
            path,
        )
    return name


def _refuse_calibration(model: Any, probabilities: bool, path: object) -> None:
    if probabilities and getattr(model, "calibrators_", None):
        raise ModelFileError(
            "LIBLINEAR's files have no place for a calibration; pass probabilities=False to leave it out, or use "
            "maxmargin.io.save",
            path,
        )
