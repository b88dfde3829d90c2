"""The Python that trains the same model again."""

from __future__ import annotations

import json
from typing import Any

from sklearn.compose import ColumnTransformer

from maxmargin.cli._data import BUILT_IN
from maxmargin.cli._machine import Pick
from maxmargin.cli._options import READING, TrainOptions
from maxmargin.cli._prepare import Prepared, Step

WIDTH = 100


def reproduction(prepared: Prepared, pick: Pick, options: TrainOptions, data: str) -> str:
    """A script that runs as it is, beside the data."""
    reading = read_lines(prepared, options, data)
    imports, steps = step_lines(prepared)
    lines = [
        *import_lines(prepared, pick, imports),
        "",
        *reading,
        *split_lines(prepared, options),
        "",
        "model = Pipeline(",
        "    [",
        *steps,
        f'        ("machine", {machine_call(pick)}),',
        "    ]",
        ")",
        "model.fit(X[train], y[train])",
        'print("score on the test rows:", model.score(X[test], y[test]))',
        f'print(model["machine"]{".estimator_" if pick.cuts is not None else ""}.certificate_)',
    ]
    return "\n".join(lines) + "\n"


def machine_call(pick: Pick) -> str:
    """The machine, and the cut around it."""
    machine = call(pick.class_name, pick.params)
    if pick.cuts is None:
        return machine
    how = f'threshold={pick.cuts.threshold!r}, response_method="decision_function"'
    return f"FixedThresholdClassifier({machine}, {how})"


def import_lines(prepared: Prepared, pick: Pick, more: list[str]) -> list[str]:
    """What the script imports, in the usual order."""
    cut = "FixedThresholdClassifier" if pick.cuts is not None else ""
    splitter = {"time": "", "group": "GroupShuffleSplit", "file": ""}.get(prepared.split.how, "train_test_split")
    chosen = ", ".join(name for name in (cut, splitter) if name)
    theirs = [
        *more,
        *([f"from sklearn.model_selection import {chosen}"] if chosen else []),
        "from sklearn.pipeline import Pipeline",
    ]
    ours = [f"from maxmargin import {pick.class_name}"]
    if prepared.source.built_in:
        theirs.append(f"from sklearn.datasets import load_{prepared.source.name}")
    else:
        ours.append("from maxmargin.io import read_table")
    return ["import numpy as np", *sorted(theirs), "", *ours]


def read_lines(prepared: Prepared, options: TrainOptions, data: str) -> list[str]:
    """Lines that make X and y."""
    if prepared.source.built_in:
        return built_in_lines(prepared)
    how = "".join(
        f", {name}={quoted(getattr(options, name))}" for name in READING if getattr(options, name) is not None
    )
    lines = [f"table = read_table({quoted(data)}{how})"]
    if prepared.source.dates:
        lines.append(f"table = table.with_dates({dict(prepared.source.dates)!r})")
    if len(prepared.rows) < len(prepared.source.table) or prepared.split.how == "file":
        lines.append(
            f"table = table.take(table.known({quoted(prepared.target)}))  # rows without an answer teach nothing"
        )
    if prepared.sparse:
        lines.append("X = table.features")
    else:
        names = wrapped(prepared.chosen.used)
        lines += [f"names = {names[0]}", *("        " + line for line in names[1:]), "X = table.rows(names)"]
    target = f"table[{quoted(prepared.target)}]"
    if prepared.classifies:
        integral = prepared.y.dtype.kind == "i"
        lines.append(f"y = {target}.astype({'int' if integral else 'str'})")
    else:
        lines.append(f"y = {target}")
    return lines


def built_in_lines(prepared: Prepared) -> list[str]:
    """X and y of one of scikit-learn's sets."""
    name, table = prepared.source.name, prepared.source.table
    assert name in BUILT_IN
    lines = [f"data = load_{name}()"]
    features = [feature for feature in table.names if feature != "target"]
    places = [features.index(feature) for feature in prepared.chosen.used]
    if prepared.chosen.used == features:
        lines.append("X = data.data")
    else:
        left = [place for place in range(len(features)) if place not in places]
        lines.append(f"X = np.delete(data.data, {left}, axis=1)")
    named = table["target"].dtype == object
    lines.append("y = data.target_names[data.target]" if named else "y = data.target")
    return lines


def split_lines(prepared: Prepared, options: TrainOptions) -> list[str]:
    """Lines that make train and test."""
    how = f"test_size={options.test_size!r}, random_state={options.seed}"
    if prepared.split.how == "time":
        name = options.time_column or ""
        column = f"{name}: days" if f"{name}: days" in prepared.source.table else name
        return [
            f"when = table[{quoted(column)}]",
            f'cut = np.quantile(when, {1.0 - options.test_size!r}, method="lower")',
            "train, test = np.flatnonzero(when <= cut), np.flatnonzero(when > cut)",
        ]
    if prepared.split.how == "group":
        return [
            f"groups = np.unique([str(value) for value in table[{quoted(options.group)}]], return_inverse=True)[1]",
            f"train, test = next(GroupShuffleSplit(1, {how}).split(X, y, groups))",
            "train, test = np.sort(train), np.sort(test)",
        ]
    if prepared.split.how == "file":
        return file_lines(prepared, options)
    if not prepared.together:
        stratify = ", stratify=y" if prepared.classifies else ""
        return [
            f"train, test = train_test_split(np.arange(len(y)), {how}{stratify})",
            "train, test = np.sort(train), np.sort(test)",
        ]
    if prepared.source.built_in:
        copies = [
            "_, copies, which = np.unique(X, axis=0, return_index=True, return_inverse=True)",
            "copies = copies[which.ravel()]",
        ]
    else:
        copies = ["copies = table.copies()" if prepared.sparse else "copies = table.copies(names)"]
    stratify = ", stratify=y[first]" if prepared.classifies else ""
    return [
        *copies,
        "first = np.unique(copies)  # of rows that are there more than once; copies stay on one side",
        f"train, test = train_test_split(first, {how}{stratify})",
        "train, test = (np.flatnonzero(np.isin(copies, part)) for part in (train, test))",
    ]


def file_lines(prepared: Prepared, options: TrainOptions) -> list[str]:
    """The rows of a second file after those of the first."""
    dates = f".with_dates({dict(prepared.source.dates)!r})" if prepared.source.dates else ""
    how = "".join(f", {name}={quoted(value)}" for name, value in options.reading.items() if value is not None)
    target = quoted(prepared.target)
    kind = "" if not prepared.classifies else f".astype({'int' if prepared.y.dtype.kind == 'i' else 'str'})"
    rows = "other.features" if prepared.sparse else "other.rows(names)"
    stack = "scipy.sparse.vstack([X, {}]).tocsr()" if prepared.sparse else "np.concatenate([X, {}])"
    return [
        *(["import scipy.sparse", ""] if prepared.sparse else []),
        f"other = read_table({quoted(options.test)}{how}){dates}",
        f"other = other.take(other.known({target}))",
        "train, test = np.arange(len(y)), np.arange(len(y), len(y) + len(other))",
        f"X, y = {stack.format(rows)}, np.concatenate([y, other[{target}]{kind}])",
    ]


def wrapped(names: list[str]) -> list[str]:
    """A list of names on lines of a readable length."""
    lines, line = [], "["
    for name in names:
        piece = f"{quoted(name)}, "
        if len(line) + len(piece) > WIDTH and line != "[":
            lines.append(line.rstrip())
            line = " "
        line += piece
    return [*lines, line.rstrip(", ") + "]"]


def call(name: str, params: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={quoted(value)}' for key, value in params.items())})"


def quoted(value: Any) -> str:
    """A value as code, text in double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def step(one: Step) -> str:
    return f'("{one.name}", {call(one.encoder.__name__, one.options)}),'


def step_lines(prepared: Prepared) -> tuple[list[str], list[str]]:
    """(imports, lines of the steps before the machine)."""
    if not prepared.parts:
        return imports_of([one.encoder for one in prepared.steps]), [" " * 8 + step(one) for one in prepared.steps]
    lines = []
    for part in prepared.parts:
        inner = " ".join(map(step, part.steps)).rstrip(",")
        lines.append(f'            ("{part.name}", Pipeline([{inner}]), list(range({part.begin}, {part.end}))),')
    kinds = [ColumnTransformer, *(one.encoder for part in prepared.parts for one in part.steps)]
    return imports_of(kinds), ['        ("columns", ColumnTransformer([', *lines, "        ])),"]


def imports_of(kinds: list[Any]) -> list[str]:
    """Lines that import these classes from where scikit-learn publishes them."""
    homes: dict[str, set[str]] = {}
    for kind in kinds:
        homes.setdefault(kind.__module__.partition("._")[0], set()).add(kind.__name__)
    return [f"from {home} import {', '.join(sorted(names))}" for home, names in homes.items()]
