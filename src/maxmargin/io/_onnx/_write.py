"""From a fitted model to a checked file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from maxmargin.exceptions import ExportError
from maxmargin.io._onnx._check import SUMS, check, quietly
from maxmargin.io._onnx._graph import DOUBLE, OPSET, Graph
from maxmargin.io._onnx._inputs import Inputs
from maxmargin.io._onnx._machines import MACHINES, Exported, export_machine
from maxmargin.io._onnx._pipeline import export_step, is_passed, named_steps
from maxmargin.io._onnx._sample import rows_for


def write_onnx(model: Any, path: Path, sample: Any) -> None:
    """Translate, check, write."""
    model = _winner(model)
    head, machine = _parts(model)
    graph, inputs = Graph(), Inputs.of(model)
    table = inputs.table(graph)
    for where, step in [] if head is None else named_steps(head):
        table = export_step(graph, step, table, where)
    exported = export_machine(graph, machine, table.numbers(graph, type(machine).__name__))
    _publish(graph, exported)
    properties = _properties(machine)
    rows = _rows(model, head, machine, inputs, sample)
    content = graph.model(properties, hidden=(SUMS,)).SerializeToString()
    check(content, graph.model(properties).SerializeToString(), model, head, exported, inputs, rows)
    _replace(path, content)


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


def _replace(path: Path, content: bytes) -> None:
    """Write the file as a whole, or leave what was there."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
