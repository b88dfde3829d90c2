"""Fitted machines as graphs: from rows of numbers to labels, scores and probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.model_selection import FixedThresholdClassifier

from maxmargin._types import Array, FloatArray
from maxmargin.delivered import ON_BOUNDARY, is_ours, read
from maxmargin.estimators import SVDD, KernelDiscriminantAnalysis, KernelLeastSquares
from maxmargin.exceptions import ExportError
from maxmargin.io._onnx._decisions import (
    calibrated,
    chosen,
    class_values,
    decided,
    distribution,
    own_distribution,
    positive_or_not,
)
from maxmargin.io._onnx._graph import DOUBLE, INT64, Graph, tensor_kind
from maxmargin.io._onnx._kernels import ROUNDING, Diagonal, KernelSums, LinearSums, expression, scaled_tensor, sums_of
from maxmargin.kernels import Precomputed
from maxmargin.multiclass import LIKELIHOOD

Outputs = dict[str, Array]

#: Kinds of machines that can be exported; in words, for error messages.
MACHINES = (
    "the classifiers, regressors and outlier detectors of maxmargin (SVC, LinearSVC, SVR, OneClassSVM, ...), searches "
    "over them, and scikit-learn's Pipeline with one of them at its end"
)


class Output(NamedTuple):
    """What a graph publishes."""

    tensor: str
    kind: int
    width: int | None  # None: a vector


@dataclass(frozen=True)
class Exported:
    """A machine's tensors, and how the machine itself gets from rows to its outputs: what the check compares."""

    raw: str  # (rows, sums) tensor, before any decision
    width: int
    outputs: dict[str, Output]
    sums: Callable[[Any], FloatArray]  # the machine's own (n, sums) values of rows
    decide: Callable[[FloatArray], Outputs]  # the machine's own outputs, from such values
    rounding: Callable[[Any], FloatArray]  # by how much the values may differ


def export_machine(graph: Graph, machine: Any, X: str) -> Exported:
    """Append a machine to the graph that has its rows in ``X``."""
    if isinstance(machine, FixedThresholdClassifier):
        return _cut(graph, machine, X)
    if isinstance(machine, KernelDiscriminantAnalysis):
        return _discriminant(graph, machine, X)
    for is_one, translate in _TRANSLATIONS:
        if is_ours(machine) and is_one(machine):
            return translate(graph, machine, X)
    raise ExportError(f"a model of type {type(machine).__name__} cannot be exported; what can be: {MACHINES}")


def inside_cut(machine: Any) -> Any:
    """The machine inside a threshold, or the machine itself."""
    cut = isinstance(machine, FixedThresholdClassifier)
    return getattr(machine, "estimator_", machine.estimator) if cut else machine


def _cut(graph: Graph, cut: Any, X: str) -> Exported:
    """A machine of two classes whose label follows from a threshold of its own."""
    machine = inside_cut(cut)
    inner, labels = export_machine(graph, machine, X), class_values(machine.classes_)
    second = cut.pos_label is None or cut.pos_label == machine.classes_[1]
    probable = cut.response_method != "decision_function" and "probabilities" in inner.outputs
    threshold = cut.threshold if cut.threshold != "auto" else 0.5 if probable else 0.0

    def decide(sums: FloatArray) -> Outputs:
        found = inner.decide(sums)
        seen = found["probabilities"][:, int(second)] if probable else found["scores"] * (1 if second else -1)
        return {**found, "label": machine.classes_[((seen >= threshold) == second).astype(int)]}

    seen = inner.outputs["probabilities" if probable else "scores"].tensor
    if probable:
        seen = graph.vector(graph.take(seen, [int(second)]))
    elif not second:
        seen = graph.op("Neg", seen)
    reached = graph.op("GreaterOrEqual", seen, float(threshold))
    place = graph.op("Cast", reached if second else graph.op("Not", reached), to=INT64)
    label = Output(graph.op("Gather", labels, place, axis=0), tensor_kind(labels), None)
    return replace(inner, outputs={**inner.outputs, "label": label}, decide=decide)


def _tensor(graph: Graph, sums: LinearSums | KernelSums, X: str) -> str:
    """The sums, NaN for rows that are not finite: the machines refuse those, which a graph cannot."""
    return graph.op("Add", sums.tensor(graph, X), graph.reduce("Sum", graph.op("Mul", X, 0.0)))


# -- classifiers -----------------------------------------------------------------------------------------------


def _classifier(graph: Graph, machine: Any, X: str) -> Exported:
    machine._before_predict()  # refuses parameters that make no sense together
    fitted, classes = read(machine), machine.classes_
    sums, scheme = sums_of(fitted), fitted.scheme
    assert scheme is not None  # it is a classifier
    k, labels = len(classes), class_values(classes)
    tasks = _tensor(graph, sums, X)
    width = len(sums.intercept)
    outputs: dict[str, Output] = {}
    decisions = tasks if k == 2 else decided(graph, scheme, tasks)
    if k == 2:
        outputs["scores"] = Output(graph.vector(tasks), DOUBLE, None)
    elif _keeps_pairs(machine):
        outputs["scores"] = Output(tasks, DOUBLE, width)
    else:
        outputs["scores"] = Output(decisions, DOUBLE, k)
    if _is_calibrated(machine):
        seen_scheme, _ = machine._calibrated_view(machine._wanted_calibration == "sigmoid", np.zeros((1, width)))
        seen = tasks if type(seen_scheme) is type(scheme) else decisions
        p = calibrated(graph, machine.calibrators_, seen)
        p = distribution(graph, seen_scheme, p, machine.sharpness_ if k > 2 else None)
        outputs["probabilities"] = Output(p, DOUBLE, k)
        label = chosen(graph, classes, p)
    elif machine._has_probabilities:
        one = k > 2 and machine.multiclass_ == LIKELIHOOD
        p = graph.op("Softmax", tasks, axis=1) if one else own_distribution(graph, scheme, tasks)
        outputs["probabilities"] = Output(p, DOUBLE, k)
        label = chosen(graph, classes, p)
    else:
        label = positive_or_not(graph, classes, tasks) if k == 2 else chosen(graph, classes, decisions)
    outputs = {"label": Output(label, tensor_kind(labels), None), **outputs}
    return Exported(tasks, width, outputs, machine._task_scores, lambda s: _classified(machine, s), sums.rounding)


def _classified(machine: Any, scores: FloatArray) -> Outputs:
    """Outputs of a classifier from the scores of its tasks, by its own rules."""
    scheme, two = machine._scheme, len(machine.classes_) == 2
    shown = scores.ravel() if two else scores if _keeps_pairs(machine) else scheme.decide(scores)
    outputs = {"scores": shown}
    if machine._has_probabilities:
        p = machine._probabilities(scores)
        return {"label": machine.classes_[np.argmax(p, axis=1)], **outputs, "probabilities": p}
    return {"label": machine.classes_[scheme.classes_of(scores)], **outputs}


def _is_calibrated(machine: Any) -> bool:
    return machine._wanted_calibration is not None and hasattr(machine, "calibrators_")


def _keeps_pairs(machine: Any) -> bool:
    """Whether the decision function has a column per pair of classes."""
    shape = getattr(machine, "decision_function_shape", "ovr")
    return shape == "ovo" and machine.multiclass_ == "ovo" and len(machine.classes_) > 2


def _discriminant(graph: Graph, machine: Any, X: str) -> Exported:
    sums, classes = sums_of(read(machine)), machine.classes_
    Z = _tensor(graph, sums, X)
    with np.errstate(divide="ignore"):
        offsets = np.log(machine.priors_) - 0.5 * (machine.means_**2).sum(axis=1)
    posteriors = graph.op("Add", graph.product(Z, machine.means_.T), offsets)
    k, directions = len(classes), machine._n_features_out
    if k == 2:
        difference = graph.op("Sub", graph.take(posteriors, [1]), graph.take(posteriors, [0]))
        scores = Output(graph.vector(difference), DOUBLE, None)
    else:
        scores = Output(posteriors, DOUBLE, k)
    outputs = {
        "label": Output(chosen(graph, classes, posteriors), tensor_kind(class_values(classes)), None),
        "scores": scores,
        "probabilities": Output(graph.op("Softmax", posteriors, axis=1), DOUBLE, k),
        "projection": Output(graph.take(Z, np.arange(directions)), DOUBLE, directions),
    }

    def decide(z: FloatArray) -> Outputs:
        values = z @ machine.means_.T + offsets
        return {
            "label": classes[np.argmax(values, axis=1)],
            "scores": values[:, 1] - values[:, 0] if k == 2 else values,
            "probabilities": softmax(values, axis=1),
            "projection": z[:, :directions],
        }

    def projected(rows: Any) -> FloatArray:
        return machine._scores(rows, machine.dual_coef_) + machine.intercept_

    return Exported(Z, len(sums.intercept), outputs, projected, decide, sums.rounding)


# -- the others ------------------------------------------------------------------------------------------------


def _regressor(graph: Graph, machine: Any, X: str) -> Exported:
    sums = sums_of(read(machine))
    values = _tensor(graph, sums, X)
    width = len(sums.intercept)
    flat = np.ndim(getattr(machine, "dual_coef_", np.zeros(1))) == 1 or not isinstance(machine, KernelLeastSquares)
    prediction = Output(graph.vector(values), DOUBLE, None) if flat else Output(values, DOUBLE, width)

    def predicted(rows: Any) -> FloatArray:
        return machine.predict(rows).reshape(-1, width)

    def decide(sums: FloatArray) -> Outputs:
        return {"prediction": sums.ravel() if flat else sums}

    return Exported(values, width, {"prediction": prediction}, predicted, decide, sums.rounding)


def _outliers(graph: Graph, machine: Any, X: str) -> Exported:
    fitted, offset = read(machine), float(machine.offset_[0])
    sums = sums_of(fitted)
    raw = _tensor(graph, sums, X)
    ball = isinstance(machine, SVDD)
    if ball and isinstance(machine.kernel_, Precomputed):
        raise ExportError(
            "SVDD needs k(x, x) of new rows, which a precomputed matrix does not hold; use another kernel"
        )
    if ball:
        seen = scaled_tensor(graph, X, fitted.scaling)
        raw = graph.op("Sub", graph.affine(raw, 2.0, 0.0), expression(machine.kernel_, Diagonal(graph, seen)))
    difference = graph.op("Sub", raw, offset)
    near = graph.affine(graph.op("Abs", raw), ON_BOUNDARY, ON_BOUNDARY * abs(offset))
    scores = graph.op("Where", graph.op("LessOrEqual", graph.op("Abs", difference), near), 0.0, difference)
    inside = graph.op("GreaterOrEqual", graph.vector(scores), 0.0)
    outputs = {
        "label": Output(graph.op("Where", inside, np.array([1]), np.array([-1])), INT64, None),
        "scores": Output(graph.vector(scores), DOUBLE, None),
    }

    def own(rows: Any) -> FloatArray:
        return machine._raw_scores(rows)[:, None]

    def decide(values: FloatArray) -> Outputs:
        values = values.ravel()
        settled = np.abs(values - offset) <= ON_BOUNDARY * (np.abs(values) + abs(offset))
        shown = np.where(settled, 0.0, values - offset)
        return {"label": np.where(shown >= 0, 1, -1), "scores": shown}

    def rounding(rows: Any) -> FloatArray:
        if not ball:
            return sums.rounding(rows)
        return 2.0 * sums.rounding(rows) + ROUNDING * np.abs(machine._self_similarity(rows))[:, None]

    return Exported(raw, 1, outputs, own, decide, rounding)


_TRANSLATIONS: list[tuple[Callable[[Any], bool], Callable[[Graph, Any, str], Exported]]] = [
    (is_classifier, _classifier),
    (is_regressor, _regressor),
    (is_outlier_detector, _outliers),
]
