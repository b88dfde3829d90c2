"""Model files of LIBSVM: which machine a file holds, and the header of both directions.

A file has one decision function per pair of classes, f(x) = sum_i coef_i k(x_i, x) - rho, positive for the class whose
label comes first in the file. Ours are sorted by label, and of two classes the second is the positive one.
"""

from __future__ import annotations

import os
import warnings
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._types import FloatArray, IntArray
from maxmargin.calibration import Sigmoid
from maxmargin.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from maxmargin.io._libsvm_rows import Rows, read_rows
from maxmargin.io._model_text import MAX_BYTES, ModelText, made, sorted_labels
from maxmargin.kernels import resolve_kernel

MACHINES = {"c_svc": SVC, "nu_svc": NuSVC, "one_class": OneClassSVM, "epsilon_svr": SVR, "nu_svr": NuSVR}
KERNELS = {"linear": "linear", "polynomial": "poly", "rbf": "rbf", "sigmoid": "sigmoid", "precomputed": "precomputed"}
KEYWORDS = ("svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", "rho", "label", "probA",
            "probB", "prob_density_marks", "nr_sv")  # fmt: skip


def load_libsvm(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    max_bytes: int = MAX_BYTES,
    **parameters: Any,
) -> Any:
    """The machine in a model file of LIBSVM's ``svm-train``.

    It predicts what ``svm-predict`` does, except that of several classes with equally many votes the sum of the scores
    decides, not the order of the labels. :func:`maxmargin.certify` takes it with the training data and C.

    Parameters
    ----------
    path : str or path-like
        The file.
    n_features : int, optional
        Features of the training data (rows, for a precomputed kernel). The file does not say; by default it is the
        largest index in it.
    max_bytes : int, default=2 GiB
        Larger files are refused.
    **parameters
        Parameters of the machine that the file does not store, such as C, nu or epsilon.

    Returns
    -------
    SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Fitted. ``support_`` is -1 throughout (the file does not say which rows the support vectors were), but for a
        precomputed kernel. With ``probA`` and ``probB`` it has ``predict_proba``, and ``calibration='sigmoid'``.

    Raises
    ------
    ModelFileError
        If the file is no such model; the message names the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC, certify, io
    >>> X, y = load_iris(return_X_y=True)
    >>> with TemporaryDirectory() as folder:
    ...     io.save_libsvm(SVC(C=10).fit(X, y), Path(folder, "iris.model"))
    ...     model = io.load_libsvm(Path(folder, "iris.model"))
    >>> model.score(X, y) > 0.97, certify(model, X, y, C=10).holds
    (True, True)
    """
    text = ModelText.read(path, KEYWORDS, "SV", max_bytes)
    machine = MACHINES[text.word("svm_type", tuple(MACHINES))]
    name = KERNELS[text.word("kernel_type", tuple(KERNELS))]
    model = made(machine, _kernel_parameters(text, name), parameters, path)
    model.kernel_ = resolve_kernel(
        name, text.number("gamma", 1.0), text.whole("degree", 0, 3), text.number("coef0", 0.0)
    )
    classes = text.whole("nr_class", 2)
    if machine in (SVC, NuSVC):
        _publish_classes(model, text, classes, n_features)
    else:
        _publish_one(model, text, n_features)
    return model


def _kernel_parameters(text: ModelText, name: str) -> dict[str, Any]:
    """The parameters of the machine that say its kernel."""
    used = {"poly": ("degree", "gamma", "coef0"), "rbf": ("gamma",), "sigmoid": ("gamma", "coef0")}.get(name, ())
    found: dict[str, Any] = {"kernel": name}
    if "degree" in used:
        found["degree"] = text.whole("degree", 0)
    for word in ("gamma", "coef0"):
        if word in used:
            (found[word],) = text.numbers(word, 1)
    if found.get("gamma", 0.0) < 0:
        raise text.wrong(f"gamma is {found['gamma']}, but must not be negative", text.lines["gamma"])
    return found


def _publish_one(model: Any, text: ModelText, n_features: int | None) -> None:
    """A regression or a one-class machine."""
    left_out = [name for name in ("probA", "prob_density_marks") if name in text.header]
    if left_out:
        warnings.warn(
            f"{text.path}: {left_out[0]} says how sure LIBSVM is of a prediction, which a {type(model).__name__} does "
            "not; it is left out, and predictions are the same",
            UserWarning,
            stacklevel=3,
        )
    (rho,) = text.numbers("rho", 1)
    rows = read_rows(text, text.whole("total_sv"), 1, model.kernel == "precomputed", n_features)
    model.intercept_, model.n_support_ = np.array([-rho]), np.array([len(rows.numbers)], dtype=np.int32)
    if isinstance(model, OneClassSVM):
        model.offset_ = -model.intercept_
    _publish_rows(model, rows, rows.coef)


def _publish_classes(model: Any, text: ModelText, k: int, n_features: int | None) -> None:
    """Classes in order, and with them pairs, coefficients and sigmoids."""
    total = text.whole("total_sv")
    if k > total + 1 or k * (k - 1) // 2 != len(text.header.get("rho", [])):
        raise text.wrong(f"{k} classes need a rho for every pair, and support vectors", text.lines["nr_class"])
    model.classes_, order = sorted_labels(text, k)
    counts = np.array(text.wholes("nr_sv", k))
    if counts.min() < 0 or counts.sum() != total:
        raise text.wrong(f"nr_sv must be counts whose sum is total_sv={total}", text.lines["nr_sv"])
    rows = read_rows(text, total, k - 1, model.kernel == "precomputed", n_features)
    starts = np.concatenate([[0], np.cumsum(counts)])
    taken = np.concatenate([np.arange(starts[old], starts[old + 1]) for old in order])
    table, flips = in_order(rows.coef, counts, order)
    model.intercept_ = -flips * np.array(text.numbers("rho", len(flips)))[_pair_numbers(order)]
    model.multiclass_, model.n_support_ = "ovo", counts[order].astype(np.int32)
    given = model.class_weight if isinstance(model.class_weight, dict) else {}
    model.class_weight_ = np.array([float(given.get(int(c), 1.0)) for c in model.classes_])
    if "probA" in text.header:
        _publish_sigmoids(model, text, flips, _pair_numbers(order))
    _publish_rows(model, rows.take(taken), table)


def in_order(table: FloatArray, counts: IntArray, order: IntArray) -> tuple[FloatArray, FloatArray]:
    """(coefficients as we keep them, the sign of every pair) from LIBSVM's table; classes ``order`` become 0, 1, ...

    In both, class a's vectors have their coefficient against b in line b - 1 if a < b, else b.
    """
    k, starts = len(order), np.concatenate([[0], np.cumsum(counts)])
    ours, column = np.zeros_like(table), 0
    flips = np.array([_flip(order, a, b) for a, b in combinations(range(k), 2)])
    for a, old in enumerate(order):
        theirs = slice(starts[old], starts[old + 1])
        place = slice(column, column + int(counts[old]))
        for b in range(k):
            if b != a:
                other = order[b]
                line = table[other - 1 if old < other else other, theirs]
                ours[b - 1 if a < b else b, place] = _flip(order, min(a, b), max(a, b)) * line
        column = place.stop
    return ours, flips


def _flip(order: IntArray, a: int, b: int) -> float:
    """+1 if the pair's positive class is ours too: the first in the file's order; of two classes ours is the second."""
    same = 1.0 if order[a] < order[b] else -1.0
    return -same if len(order) == 2 else same


def _pair_numbers(order: IntArray) -> IntArray:
    """Where the pairs of our classes stand among the file's."""
    k = len(order)
    number = {pair: at for at, pair in enumerate(combinations(range(k), 2))}
    return np.array([number[min(order[a], order[b]), max(order[a], order[b])] for a, b in combinations(range(k), 2)])


def _publish_sigmoids(model: Any, text: ModelText, flips: FloatArray, pairs: IntArray) -> None:
    """P(positive) = 1 / (1 + exp(A f + B)): where f changes its sign, B does."""
    a = np.array(text.numbers("probA", len(flips)))[pairs]
    b = np.array(text.numbers("probB", len(flips)))[pairs] * flips
    model.calibration = "sigmoid"
    model.calibrators_ = [Sigmoid(float(x), float(z)) for x, z in zip(a, b, strict=True)]
    model.probA_, model.probB_, model.sharpness_ = a, b, 1.0


def _publish_rows(model: Any, rows: Rows, table: FloatArray) -> None:
    sparse = sp.issparse(rows.vectors)
    model.support_, model.support_vectors_ = rows.numbers.astype(np.int32), rows.vectors
    model.dual_coef_ = sp.csr_array(table) if sparse else table
    model.n_features_in_ = rows.n_features
    # no data have this shape, so a warm start never begins at vectors whose rows are unknown
    model.shape_fit_ = (rows.n_features if model.kernel == "precomputed" else 0, rows.n_features)
    model.fit_status_ = 0
