"""``maxmargin convert``: models and data between formats."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline

from maxmargin import io
from maxmargin.cli._data import find_target, read_source
from maxmargin.cli._errors import InputError, check_writable, written_whole
from maxmargin.cli._models import Model, kind_of, load_model
from maxmargin.cli._print import Screen, counted, listed
from maxmargin.exceptions import ExportError

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
        names = [column["name"] for column in model.record.get("columns", ())]
        try:
            io.export_onnx(model.whole, out, names=names or None)
        except ExportError as error:
            raise InputError(f"{model.path} cannot become ONNX: {in_command_words(str(error))}") from error
        said = f"{out}: an ONNX model; its answers were compared with the model's in onnxruntime"
        dates = "; of dates it takes the numbers that became of them" if model.record.get("dates") else ""
        return f"{said}. It takes {counted(len(names), 'column')} by name: {listed(names, 6)}{dates}" if names else said
    return convert_machine(model, out)


def convert_machine(model: Model, out: Path) -> str:
    """Write the machine alone for LIBSVM or LIBLINEAR; what is not in the file is said."""
    linear = not hasattr(model.machine, "kernel")
    program, save = ("LIBLINEAR", io.save_liblinear) if linear else ("LIBSVM", io.save_libsvm)
    calibrated = bool(getattr(model.machine, "calibrators_", None))
    lost = ["its probabilities"] if calibrated and (linear or not whole_probabilities(model.machine)) else []
    try:
        save(model.machine, out, probabilities=not lost)
    except ValueError as error:
        raise InputError(f"{model.path} cannot become a {program} model: {in_command_words(str(error))}") from error
    if isinstance(model.answering, FixedThresholdClassifier):
        lost.append("its cut")
    steps = [type(step).__name__ for _, step in model.whole.steps[:-1]] if isinstance(model.whole, Pipeline) else []
    lost += [f"what comes before it ({', '.join(steps)})"] if steps else []
    if not lost:
        return f"{out}: a {program} model"
    return (
        f"{out}: a {program} model of the machine alone. The format has no place for {' and '.join(lost)}; .onnx and "
        ".mm hold all of it"
    )


def whole_probabilities(machine: Any) -> bool:
    """Whether LIBSVM's files can hold the probabilities: Platt's of pairs of classes, nothing sharpened."""
    return machine.calibration == "sigmoid" and len(machine.classes_) == 2


#: What errors of the library ask for, and what the command has instead.
WORDS = {
    "pass sample=, some rows of your data": "the rows that were made to check it do not suit this model",
    "use kernel='precomputed'": "such a model stays a .mm file",
    "use calibration='sigmoid'": "train it with --calibration sigmoid",
    "use maxmargin.io.save": "keep the .mm file",
    "encode them, for example with sklearn.preprocessing.LabelEncoder, and fit again": "train on a column of whole "
    "numbers, or convert to .onnx, which holds text",
    "or take a smaller C or a larger ridge": "or train it with a smaller --C",
}


def in_command_words(text: str) -> str:
    """A message of the library as the command says it."""
    for asked, instead in WORDS.items():
        text = text.replace(asked, instead)
    return text


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
