"""Model files of LIBSVM, both ways.

A file has one decision function per pair of classes, f(x) = sum_i coef_i k(x_i, x) - rho, positive for the class whose
label comes first in the file. Ours are sorted by label, and of two classes the second is the positive one.
"""

from __future__ import annotations

import os
import warnings
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from maxmargin._rows import dense
from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.calibration import Sigmoid as Calibrator
from maxmargin.certificates import Scaling
from maxmargin.delivered import is_approximation
from maxmargin.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from maxmargin.estimators.interface import levels_to_caller
from maxmargin.exceptions import ModelFileError
from maxmargin.io._files import replacing
from maxmargin.io._kernel_words import kernel_words
from maxmargin.io._model_text import INT, MAX_BYTES, ModelText, c_labels, made, numerals, publish_labels
from maxmargin.kernels import Kernel, Precomputed, resolve_kernel

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
    found = read_expansion(text, text.whole("total_sv"), 1, model.kernel == "precomputed", n_features)
    model.intercept_, model.n_support_ = np.array([-rho]), np.array([len(found.numbers)], dtype=np.int32)
    if isinstance(model, OneClassSVM):
        model.offset_ = -model.intercept_
    _publish_expansion(model, found, found.coef)


def _publish_classes(model: Any, text: ModelText, k: int, n_features: int | None) -> None:
    """Classes in order, and with them pairs, coefficients and sigmoids."""
    total = text.whole("total_sv")
    if k > total + 1 or k * (k - 1) // 2 != len(text.header.get("rho", [])):
        raise text.wrong(f"{k} classes need a rho for every pair, and support vectors", text.lines["nr_class"])
    order = publish_labels(model, text, k)
    counts = np.array(text.wholes("nr_sv", k))
    if counts.min() < 0 or counts.sum() != total:
        raise text.wrong(f"nr_sv must be counts whose sum is total_sv={total}", text.lines["nr_sv"])
    found = read_expansion(text, total, k - 1, model.kernel == "precomputed", n_features)
    starts = np.concatenate([[0], np.cumsum(counts)])
    taken = np.concatenate([np.arange(starts[old], starts[old + 1]) for old in order])
    table, flips = in_order(found.coef, counts, order)
    model.intercept_ = -flips * np.array(text.numbers("rho", len(flips)))[_pair_numbers(order)]
    model.multiclass_, model.n_support_ = "ovo", counts[order].astype(np.int32)
    if "probA" in text.header:
        _publish_sigmoids(model, text, flips, _pair_numbers(order))
    _publish_expansion(model, found.take(taken), table)


def in_order(table: FloatArray, counts: IntArray, order: IntArray) -> tuple[FloatArray, FloatArray]:
    """(coefficients as we keep them, the sign of every pair) from LIBSVM's table; classes ``order`` become 0, 1, ...

    In both, class a's vectors have their coefficient against b in row b - 1 if a < b, else b.
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
                row = table[other - 1 if old < other else other, theirs]
                ours[b - 1 if a < b else b, place] = _flip(order, min(a, b), max(a, b)) * row
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
    model.calibrators_ = [Calibrator(float(x), float(z)) for x, z in zip(a, b, strict=True)]
    model.probA_, model.probB_, model.sharpness_ = a, -b if len(model.classes_) == 2 else b, 1.0


def _publish_expansion(model: Any, expansion: Expansion, table: FloatArray) -> None:
    sparse = sp.issparse(expansion.vectors)
    model.support_, model.support_vectors_ = expansion.numbers.astype(np.int32), expansion.vectors
    model.dual_coef_ = sp.csr_array(table) if sparse else table
    model.n_features_in_ = expansion.n_features
    # no data have this shape, so a warm start never begins at vectors whose rows are unknown
    model.shape_fit_ = (expansion.n_features if model.kernel == "precomputed" else 0, expansion.n_features)
    model.fit_status_ = 0


# -- Support vectors of LIBSVM's model files: coefficients, then ``index:value`` pairs ------------------------------


class Expansion(NamedTuple):
    """Support vectors and their coefficients."""

    coef: FloatArray  # (rows, vectors)
    vectors: RowData
    numbers: IntArray  # rows of the training data, -1 where unknown
    n_features: int

    def take(self, order: IntArray) -> Expansion:
        """The same vectors in another order; the coefficients are not looked at."""
        vectors = self.vectors[order] if self.vectors.shape[0] else self.vectors
        return self._replace(vectors=vectors, numbers=self.numbers[order])


def read_expansion(text: ModelText, total: int, height: int, precomputed: bool, n_features: int | None) -> Expansion:
    """The body of a model file."""
    if len(text.body) != total:
        raise text.wrong(f"total_sv={total}, but there are {len(text.body)} support vectors; the file may be cut off")
    coef = np.empty((height, total))
    data: list[float] = []
    indices: list[int] = []
    ends = [0]
    for number, line in enumerate(text.body):
        at = text.first + number
        words = line.split()
        if len(words) < height:
            raise text.wrong(f"a support vector needs {height} coefficients", at)
        coef[:, number] = text.floats(words[:height], at)
        own, values = _pairs(text, words[height:], at, precomputed)
        indices += own
        data += values
        ends.append(len(indices))
    if precomputed:
        return _columns(text, coef, np.array(data), n_features)
    d = max(indices, default=0)
    if n_features is not None and n_features < d:
        raise text.wrong(f"n_features={n_features}, but the file has feature {d}")
    d = max(1, d if n_features is None else n_features)
    matrix = sp.csr_array(
        (np.array(data), np.array(indices, dtype=np.int32) - 1, ends), shape=(total, d), dtype=np.float64
    )
    modest = total * d <= max(2**16, 4 * matrix.nnz)  # an array is not much larger
    return Expansion(coef, matrix.toarray() if modest else matrix, np.full(total, -1), d)


def _pairs(text: ModelText, words: list[bytes], line: int, precomputed: bool) -> tuple[list[int], list[float]]:
    """(indices, values) of a support vector; of a precomputed kernel the one pair 0:row."""
    parts = [word.split(b":") for word in words]
    if any(len(part) != 2 for part in parts):
        raise text.wrong("a support vector has pairs index:value", line)
    indices = text.floats([part[0] for part in parts], line)
    if not all(index.is_integer() and index <= INT - 1 for index in indices):
        raise text.wrong("an index must be a whole number", line)
    if precomputed:
        if [int(i) for i in indices] != [0]:
            raise text.wrong("a support vector of a precomputed kernel reads 0:row", line)
    elif any(b <= a for a, b in zip([0.0, *indices], indices, strict=False)):
        raise text.wrong("indices must increase, from 1 on", line)
    return [int(i) for i in indices], text.floats([part[1] for part in parts], line)


def _columns(text: ModelText, coef: FloatArray, rows: FloatArray, n_features: int | None) -> Expansion:
    """Numbers of training rows, counted from 1 in the file."""
    if not all(value.is_integer() and 1 <= value < INT for value in rows):
        raise text.wrong("the rows of a precomputed kernel are whole numbers from 1 on")
    most = int(max(rows, default=1))
    if n_features is not None and n_features < most:
        raise text.wrong(f"n_features={n_features}, but the file has row {most}")
    return Expansion(coef, np.empty((0, 0)), rows.astype(np.int64) - 1, most if n_features is None else n_features)


# -- Our kernel machines as model files of LIBSVM; what the format has no place for is refused ----------------------


def save_libsvm(model: Any, path: str | os.PathLike[str], *, probabilities: bool = True) -> None:
    """Write a fitted kernel machine as a model file that LIBSVM's ``svm-predict`` reads.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Fitted, with kernel 'linear', 'poly', 'rbf', 'sigmoid' or 'precomputed' and, for classifiers, whole numbers as
        labels and a machine for every pair of classes.
    path : str or path-like
        The file; it appears whole or not at all.
    probabilities : bool, default=True
        Whether a calibration is written. Only sigmoids have a place in the file: a model with another one is refused
        unless this is False. Of several classes the sharpening (``sharpness_``) has no place; it is left out, with a
        warning, and the probabilities of the file's reader are as spread as LIBSVM's own.

    Raises
    ------
    ModelFileError
        If the format cannot hold the model; the message says why.

    Examples
    --------
    See :func:`load_libsvm`.
    """
    name = next((name for name, kind in MACHINES.items() if type(model) is kind), None)
    if name is None:
        known = ", ".join(kind.__name__ for kind in MACHINES.values())
        raise ModelFileError(f"LIBSVM has no {type(model).__name__}; it has {known}", path)
    check_is_fitted(model)
    if is_approximation(model):
        raise ModelFileError(
            "LIBSVM's file has no place for a machine on landmarks; fit with approximation=None, or use io.save or "
            "io.export_onnx",
            path,
        )
    if Scaling.of(model) is not None:
        raise ModelFileError(
            "LIBSVM's file has no place for a scaling; scale the rows yourself and fit with scale=False, or use "
            "io.save or io.export_onnx",
            path,
        )
    header = [f"svm_type {name}", *_kernel_lines(model.kernel_, path)]
    coef: FloatArray = np.asarray(dense(model.dual_coef_), dtype=np.float64)
    if isinstance(model, SVC | NuSVC):
        more, coef = _class_lines(model, coef, probabilities, path)
    else:
        more = ["nr_class 2", f"total_sv {len(model.support_)}", f"rho {numerals(-model.intercept_)}"]
    with replacing(path) as file:
        file.write("\n".join([*header, *more, "SV", ""]).encode())
        for number in range(len(model.support_)):
            file.write(f"{numerals(coef[:, number])} {_vector(model, number)}\n".encode())


def _kernel_lines(kernel: Kernel, path: object) -> list[str]:
    """The lines that say the kernel."""
    words = kernel_words(kernel)
    if words is not None:
        names = {ours: theirs for theirs, ours in KERNELS.items()}
        return [f"kernel_type {names[words.pop('kernel')]}", *(f"{name} {value!r}" for name, value in words.items())]
    raise ModelFileError(
        f"LIBSVM has no kernel {kernel}; it has linear, polynomial, rbf, sigmoid and precomputed ones. Use "
        "maxmargin.io.save, which keeps every kernel",
        path,
    )


def _class_lines(model: Any, coef: FloatArray, probabilities: bool, path: object) -> tuple[list[str], FloatArray]:
    """(header lines, coefficients) with LIBSVM's signs: of two classes the first is the positive one."""
    two = len(model.classes_) == 2
    if not two and model.multiclass_ != "ovo":
        raise ModelFileError(
            f"LIBSVM has a machine for every pair of classes, and this model multiclass={model.multiclass_!r}; fit it "
            "with multiclass='ovo', or use maxmargin.io.save",
            path,
        )
    sign = -1.0 if two else 1.0
    lines = [
        f"nr_class {len(model.classes_)}",
        f"total_sv {len(model.support_)}",
        f"rho {numerals(-sign * model.intercept_)}",
        "label " + " ".join(map(str, c_labels(model.classes_, path))),
    ]
    if probabilities and getattr(model, "calibrators_", None):
        lines += _sigmoid_lines(model, sign, path)
    lines.append("nr_sv " + " ".join(str(int(count)) for count in model.n_support_))
    return lines, sign * coef


def _sigmoid_lines(model: Any, sign: float, path: object) -> list[str]:
    if not all(isinstance(c, Calibrator) for c in model.calibrators_):
        raise ModelFileError(
            "LIBSVM's files have sigmoids for every pair of classes and nothing more: not this calibration "
            f"({type(model.calibrators_[0]).__name__}). Pass probabilities=False to leave it out, or use "
            "maxmargin.io.save",
            path,
        )
    if len(model.classes_) > 2 and getattr(model, "sharpness_", 1.0) != 1.0:
        warnings.warn(
            f"{path}: LIBSVM's file has no place for the sharpening of the probabilities (sharpness_="
            f"{model.sharpness_:.3g}), which is left out; use maxmargin.io.save to keep it",
            UserWarning,
            stacklevel=levels_to_caller(),
        )
    a, b = (np.array([getattr(c, name) for c in model.calibrators_]) for name in ("a", "b"))
    return [f"probA {numerals(a)}", f"probB {numerals(sign * b)}"]


def _vector(model: Any, number: int) -> str:
    """A support vector as pairs index:value, zeros left out; of a precomputed kernel its row."""
    if isinstance(model.kernel_, Precomputed):
        return f"0:{int(model.support_[number]) + 1}"
    row = model.support_vectors_[[number]]
    if sp.issparse(row):
        row = row.tocsr().sorted_indices()
        indices, values = row.indices, row.data
    else:
        indices = np.flatnonzero(row[0])
        values = row[0][indices]
    return " ".join(f"{i + 1}:{float(v)!r}" for i, v in zip(indices.tolist(), values.tolist(), strict=True))
