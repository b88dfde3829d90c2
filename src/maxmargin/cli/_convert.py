"""``maxmargin convert``: models and data between formats."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin import io
from maxmargin.cli._data import find_target, read_source
from maxmargin.cli._errors import InputError, check_writable, written_whole
from maxmargin.cli._models import Model, kind_of, load_model
from maxmargin.cli._print import Screen

MODELS, TEXT = (".mm", ".model", ".onnx"), (".csv", ".tsv")
SVMLIGHT = (".svm", ".svmlight", ".libsvm")


def convert(source: str, out: Path, target: str | None, features: int, screen: Screen, **how: Any) -> int:
    """Write a model or data in the format that the name of ``out`` stands for."""
    check_writable(out, "OUT", source)
    ending = out.suffix.lower()
    path = Path(source)
    if ending in MODELS:
        said = convert_model(load_model(path, features=features), out, ending)
    elif ending in (*TEXT, *SVMLIGHT):
        if path.is_file() and kind_of(path) in ("maxmargin", "LIBSVM", "LIBLINEAR") and path.suffix != ".npz":
            raise InputError(f"{source} is a model and {out} would be data; models become {', '.join(MODELS)}")
        said = convert_data(source, out, ending, target, how)
    else:
        raise InputError(
            f"{out}: the name does not tell the format; models become {', '.join(MODELS)}, data "
            f"{', '.join((*TEXT, *SVMLIGHT))}"
        )
    screen.line(said)
    if screen.for_program:
        screen.document({"source": source, "out": str(out.resolve()), "said": said})
    return 0


def convert_model(model: Model, out: Path, ending: str) -> str:
    """Write a model; what to say about it."""
    if ending == ".mm":
        io.save(model.whole, out, record=model.record or None)
        return f"{out}: a maxmargin model"
    if ending == ".onnx":
        io.export_onnx(model.whole, out)
        return f"{out}: an ONNX model; its answers were compared with the model's in onnxruntime"
    linear = not hasattr(model.machine, "kernel")
    (io.save_liblinear if linear else io.save_libsvm)(model.machine, out)
    said = f"{out}: a {'LIBLINEAR' if linear else 'LIBSVM'} model"
    if model.whole is not model.machine and len(model.whole) > 1:
        steps = ", ".join(type(step).__name__ for _, step in model.whole.steps[:-1])
        said += f" of the machine alone: rows must go through its encoders first ({steps})"
    return said


def convert_data(source: str, out: Path, ending: str, target: str | None, how: dict[str, Any]) -> str:
    """Write data; what to say about it."""
    table = read_source(source, **how).table
    name, _ = find_target(table, target)
    if ending in TEXT:
        write_text(table, name, out, "\t" if ending == ".tsv" else ",")
        return f"{out}: {len(table):,} rows, {name!r} the last column"
    others = [column for column in table.names if column != name]
    text = [column for column in (*others, name) if table.kind(column) == "category"]
    if text:
        raise InputError(f"{source}: column {text[0]!r} is text, and svmlight files hold numbers only; encode it first")
    gaps = [column for column in (*others, name) if not table.known(column).all()]
    if gaps:
        raise InputError(f"{source}: column {gaps[0]!r} has missing values, and svmlight files have no sign for them")
    X = table.rows(others) if table.features is None else table.features
    io.save_svmlight(X, table[name], out)
    return f"{out}: {len(table):,} rows, {X.shape[1]:,} features, labels from {name!r}"


def write_text(table: Any, target: str, out: Path, separator: str) -> None:
    """A table as text, whole numbers without a point."""
    names = [column for column in table.names if column != target]
    columns = [table[column] for column in names]
    if table.features is not None:
        dense = table.features.toarray()
        names, columns = [str(place + 1) for place in range(dense.shape[1])], list(dense.T)
    with written_whole(out) as draft, open(draft, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        writer.writerow([*names, target])
        writer.writerows(zip(*(map(cell, column) for column in (*columns, table[target])), strict=True))


def cell(value: Any) -> str:
    """A value as text; nothing where it is missing."""
    if isinstance(value, str):
        return value
    if np.isnan(value):
        return ""
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))
