"""Our kernel machines as model files of LIBSVM; what the format has no place for is refused."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from maxmargin._rows import dense
from maxmargin._types import FloatArray
from maxmargin.calibration import Sigmoid as Calibrator
from maxmargin.certificates import Scaling
from maxmargin.delivered import is_approximation
from maxmargin.estimators import SVC, NuSVC
from maxmargin.exceptions import ModelFileError
from maxmargin.io._atomic import replacing
from maxmargin.io._libsvm import MACHINES
from maxmargin.io._model_text import c_labels, numerals
from maxmargin.kernels import Gaussian, Kernel, Linear, Polynomial, Precomputed, Sigmoid


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
        Whether a calibration is written. Only sigmoids have a place in the file, and of several classes their
        sharpening has none: such a model is refused unless this is False.

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
    if type(kernel) is Linear:
        return ["kernel_type linear"]
    if type(kernel) is Precomputed:
        return ["kernel_type precomputed"]
    if type(kernel) is Gaussian and kernel.over is None:
        return ["kernel_type rbf", f"gamma {kernel._gamma!r}"]
    if type(kernel) is Polynomial and kernel.gamma is not None:
        return ["kernel_type polynomial", f"degree {int(kernel.degree)}", f"gamma {float(kernel.gamma)!r}",
                f"coef0 {float(kernel.coef0)!r}"]  # fmt: skip
    if type(kernel) is Sigmoid and kernel.c1 is not None:
        return ["kernel_type sigmoid", f"gamma {float(kernel.c1)!r}", f"coef0 {float(kernel.c2)!r}"]
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
    sharpness = getattr(model, "sharpness_", 1.0) if len(model.classes_) > 2 else 1.0
    if not all(isinstance(c, Calibrator) for c in model.calibrators_) or sharpness != 1.0:
        raise ModelFileError(
            "LIBSVM's files have sigmoids for every pair of classes and nothing more: not this calibration "
            f"({type(model.calibrators_[0]).__name__}, sharpness {sharpness:.3g}). Pass probabilities=False to leave "
            "it out, or use maxmargin.io.save",
            path,
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
