"""From a fitted model to a file that was checked: the graph is run, and compared with the model row by row."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import Array, FloatArray
from maxmargin.exceptions import ExportError
from maxmargin.io._files import replacing
from maxmargin.io._onnx._graph import DOUBLE, OPSET, Graph
from maxmargin.io._onnx._inputs import Inputs, rows_for
from maxmargin.io._onnx._machines import MACHINES, Exported, Outputs, export_machine, inside_cut
from maxmargin.io._onnx._steps import export_step, is_passed, named_steps


def write_onnx(model: Any, path: Path, sample: Any, names: Sequence[str] | None = None) -> None:
    """Translate, check, write."""
    model = _winner(model)
    head, machine = _parts(model)
    graph, inputs = Graph(), Inputs.of(model, names)
    table = inputs.table(graph)
    for where, step in [] if head is None else named_steps(head):
        table = export_step(graph, step, table, where)
    exported = export_machine(graph, machine, table.numbers(graph, type(machine).__name__))
    _publish(graph, exported)
    properties = _properties(inside_cut(machine))
    rows = _rows(model, head, inside_cut(machine), inputs, sample)
    content = graph.model(properties, hidden=(SUMS,)).SerializeToString()
    check(content, graph.model(properties).SerializeToString(), model, head, exported, inputs, rows)
    with replacing(path) as file:
        file.write(content)


def _winner(model: Any) -> Any:
    """What a search has fitted, or the model itself."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    if hasattr(model, "cv_results_"):
        raise ExportError(f"this {type(model).__name__} has fitted no model, because refit=False; set refit=True")
    if not hasattr(model, "fit"):
        raise ExportError(f"model must be a fitted estimator, got {type(model).__name__}; what can be: {MACHINES}")
    check_is_fitted(model)
    return model


def _parts(model: Any) -> tuple[Any, Any]:
    """(the steps before the machine as a Pipeline, or None; the machine)."""
    if not isinstance(model, Pipeline):
        return None, model
    machine = model.steps[-1][1]
    if is_passed(machine):
        raise ExportError("the pipeline ends without a machine; add one, or drop the last step")
    inner, own = _parts(_winner(machine))
    before = model.steps[:-1] if inner is None else [*model.steps[:-1], ("inner", inner)]
    return (Pipeline(before) if before else None), own


def _publish(graph: Graph, exported: Exported) -> None:
    for name, output in exported.outputs.items():
        graph.output(name, output.tensor, output.kind, output.width)
    graph.output(SUMS, exported.raw, DOUBLE, exported.width)


def _properties(machine: Any) -> dict[str, str]:
    """What the file says of itself."""
    properties = {"model": type(machine).__name__, "opset": str(OPSET)}
    certificate = getattr(machine, "certificate_", None)
    if certificate is not None:
        properties["relative_gap"] = repr(float(certificate.relative_gap))
    return properties


def _rows(model: Any, head: Any, machine: Any, inputs: Inputs, sample: Any) -> Any:
    """Rows to check with: the user's, or some made from the model, which it must be able to predict."""
    if sample is not None:
        rows = inputs.rows(sample)
        if len(rows) == 0:
            raise ValueError("sample has no rows; pass some, or None to have them made from the model")
        return rows
    rows = inputs.rows(rows_for([] if head is None else [step for _, step in head.steps], machine))
    try:
        with quietly():
            model.predict(rows[:1])
    except ValueError as error:
        raise ExportError(
            f"the model cannot predict the rows that were made to check the export ({error}); pass sample=, some rows "
            "of your data"
        ) from error
    return rows


# -- Does the graph predict what the model predicts? It is run in onnxruntime, and compared row by row --------------
# Three links are checked, so that a difference is never explained away:
#
# 1. the model's outputs follow from its own sums (of kernel values, or of features) by its own rules;
# 2. the graph's sums equal the model's, to :data:`RTOL` of their size and to what rounding does to them;
# 3. the graph's outputs follow from the graph's sums by the model's rules.
#
# Where all three hold and a label differs all the same, the row lies on a boundary between classes as far as float64
# can tell.


#: Largest difference of sums and of what follows from them, relative to the largest of their column in the sample.
RTOL = 1e-9
#: Rounding may make it more where large terms cancel in the sums, but never more than this.
MOST = 1e-6
#: Two best values of a row that differ by no more than this, relatively, are equal.
TIED = 1e-12
#: Rows predicted together.
BATCH = 1024
#: Name of the output that holds the sums, while a graph is checked.
SUMS = "maxmargin_sums"
#: The method of a model that gives an output.
METHODS = {
    "label": "predict",
    "prediction": "predict",
    "scores": "decision_function",
    "probabilities": "predict_proba",
    "projection": "transform",
}


def quietly() -> warnings.catch_warnings:
    """Without the model's own warnings about rows to check with, such as categories that it does not know."""
    return warnings.catch_warnings(action="ignore")


def check(
    content: bytes, with_sums: bytes, model: Any, head: Any, exported: Exported, inputs: Inputs, rows: Any
) -> None:
    """Raise ExportError unless a file predicts as the model does.

    ``content`` is what is about to be written, ``with_sums`` the same graph with one more output, which tells the sums;
    ``head`` are the steps before the machine.
    """
    names = list(exported.outputs)
    own, sums, rounding = _predicted(model, head, exported, rows)
    got = _received(content, names, inputs, rows)
    received = _received(with_sums, [SUMS], inputs, rows)[SUMS].reshape(sums.shape)
    follow = exported.decide(sums)
    for name in names:
        if not _agrees(name, follow[name], own[name], follow).all():
            raise ExportError(
                f"the model's {METHODS[name]} does not follow from its attributes, so that no graph can be checked "
                "against it; if they, its parameters or its class were changed after fit, fit it again"
            )
    largest = np.abs(sums).max(axis=0, initial=0.0)
    allowed = np.minimum(RTOL * largest + rounding, MOST * largest)
    with np.errstate(invalid="ignore"):
        same = (sums == received) | (np.abs(sums - received) <= allowed)
    shown = "scores" if "scores" in names else names[0]
    _require(same.all(axis=1), own, got, shown, np.abs(sums - received).max(axis=1))
    follow = exported.decide(received)
    for name in names:
        _require(_agrees(name, got[name], follow[name], follow), own, got, name)
    _warn_of_ties(own[names[0]] != got[names[0]] if names[0] == "label" else np.zeros(1, dtype=bool))


def _predicted(model: Any, head: Any, exported: Exported, rows: Any) -> tuple[Outputs, FloatArray, FloatArray]:
    """(the model's outputs, its sums, their rounding errors) of all rows."""
    found: dict[str, list[Array]] = {name: [] for name in [*exported.outputs, SUMS, "rounding"]}
    for first in range(0, len(rows), BATCH):
        some = rows[first : first + BATCH]
        with quietly():
            for name in exported.outputs:
                found[name].append(np.asarray(getattr(model, METHODS[name])(some)))
            inner = some if head is None else head.transform(some)
            found[SUMS].append(np.asarray(exported.sums(inner)))
            found["rounding"].append(exported.rounding(inner))
    whole = {name: np.concatenate(parts) for name, parts in found.items()}
    return whole, whole.pop(SUMS), whole.pop("rounding")


def _received(graph: bytes, names: list[str], inputs: Inputs, rows: Any) -> Outputs:
    """What onnxruntime makes of all rows."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    batches = [rows[first : first + BATCH] for first in range(0, len(rows), BATCH)]
    found = [session.run(names, inputs.feeds(some)) for some in batches]
    return {name: np.concatenate(parts) for name, parts in zip(names, zip(*found, strict=True), strict=True)}


def _agrees(name: str, one: Array, other: Array, outputs: Outputs) -> Array:
    """Which rows of an output agree; of labels, also those whose two best classes are equally good."""
    if one.shape != other.shape:
        return np.zeros(len(one), dtype=bool)
    if name == "label":
        return (one == other) | _tied(outputs)
    size = RTOL * float(np.abs(other[np.isfinite(other)]).max(initial=0.0))
    with np.errstate(invalid="ignore"):
        same = (one == other) | (np.abs(one - other) <= size)
    return same.reshape(len(same), -1).all(axis=1)


def _tied(outputs: Outputs) -> Array:
    """Rows whose two best values, probabilities if there are any, are equal up to rounding."""
    values = outputs.get("probabilities", outputs["scores"])
    if values.ndim == 1:
        return np.zeros(len(values), dtype=bool)  # a sign: there is nothing to compute
    best = np.sort(values, axis=1)[:, -2:]
    return best[:, 1] - best[:, 0] <= TIED * np.abs(best[:, 1])


def _require(good: Array, own: Outputs, got: Outputs, name: str, sizes: FloatArray | None = None) -> None:
    """Raise with the worst row unless all are good."""
    if good.all():
        return
    if sizes is None:
        one, other = own[name], got[name]
        sizes = np.ones(len(good))
        if name != "label" and one.shape == other.shape:
            sizes = np.abs(one - other).reshape(len(good), -1).max(axis=1)
    row = int(np.argmax(np.where(good, -np.inf, np.nan_to_num(sizes, nan=np.inf))))
    expected, received = own[name][row].tolist(), got[name][row]
    received = received.tolist() if hasattr(received, "tolist") else received
    raise ExportError(
        f"the exported graph would predict something else, so that no file was written: in {np.sum(~good)} of "
        f"{len(good)} rows of the sample output {name!r} differs: row {row} has {expected!r} by the model and "
        f"{received!r} by onnxruntime. If huge terms cancel in the model, scale its features, or take a smaller C "
        "or a larger ridge",
        row,
        expected,
        received,
    )


def _warn_of_ties(differs: Array) -> None:
    if differs.any():
        warnings.warn(
            f"{np.sum(differs)} of {len(differs)} rows of the sample lie on a boundary between classes as far as "
            f"float64 can tell, row {int(np.argmax(differs))} first: there the exported graph's label is another one",
            stacklevel=5,
        )
