"""The neural room: scikit-learn's multi-layer perceptron beside a support vector machine, on the same points."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.neural_network import MLPClassifier

from maxmargin import NotSeparableError
from maxmargin.playground._checks import FINEST_GRID, BadRequest, choice, number, numbers, points, view, whole
from maxmargin.playground._frames import Answer
from maxmargin.playground._jobs import Handler, Job
from maxmargin.playground._rooms._expressions import Call, array_code
from maxmargin.playground._rooms._machines import fit, grid, proof, read_request

ACTIVATIONS = ("relu", "tanh", "logistic", "identity")
MOST_LAYERS, MOST_NEURONS, MOST_EPOCHS = 4, 64, 3000
#: Seconds that the epochs of one network may take together; it then stands as it is.
TRAIN_SECONDS = 6.0
#: Seconds between two pictures of a network in training.
FRAME_SECONDS = 0.05


class Points(NamedTuple):
    """The points, and which of them no machine sees while it is fitted."""

    X: np.ndarray
    y: np.ndarray
    every: int
    held: np.ndarray


def train(body: Mapping[str, Any], job: Job) -> Iterator[Answer]:
    """The network after more and more epochs."""
    rows, call = _rows(body), _network(body)
    epochs = whole(body, "epochs", 1, MOST_EPOCHS, 300)
    view(body)  # a request that makes no sense is refused before the work begins
    X, y, classes = rows.X[~rows.held], rows.y[~rows.held], np.unique(rows.y)
    model, taken, done, curve = MLPClassifier(**call.options), 0.0, 0, []
    while done < epochs and taken < TRAIN_SECONDS:
        began = time.perf_counter()
        while done < epochs and not job.must_stop():
            model.partial_fit(X, y, classes=classes)
            done += 1
            curve.append(float(model.loss_))
            if time.perf_counter() - began > FRAME_SECONDS:
                break
        taken += time.perf_counter() - began
        values, arrays = _picture(model, rows, body, job)
        ended = done == epochs or taken >= TRAIN_SECONDS
        values |= {"epochs": done, "wanted": epochs, "ended": ended, "milliseconds": 1e3 * taken}
        values |= {"parameters": sum(part.size for part in (*model.coefs_, *model.intercepts_))}
        if ended:
            values["code"] = _network_code(call, rows, classes, done)
        yield Answer(values, {**arrays, "losses": np.array(curve, dtype=np.float32)})


def machine(body: Mapping[str, Any], job: Job) -> Answer:
    """The support vector machine."""
    rows = _rows(body)
    call = read_request({**body, "task": "classify", "solver": "decomposition"}).call
    code = _program([f"from maxmargin import {call.name}", *_kernels(call)], call.code(), rows, ["model.fit({X}, {y})"])
    try:
        fitted = fit(call, rows.X[~rows.held], rows.y[~rows.held], job)
    except NotSeparableError as error:
        return Answer({"separable": False, "message": str(error), "code": code})
    values, arrays = _picture(fitted.model, rows, body, job)
    values |= {"separable": True, "milliseconds": fitted.milliseconds, "certificate": proof(fitted.model)}
    return Answer({**values, "vectors": len(fitted.model.support_), "code": code}, arrays)


#: Kinds of requests.
KINDS: dict[str, Handler] = {"train": train, "machine": machine}


def _rows(body: Mapping[str, Any]) -> Points:
    X, y = points(body)
    every = whole(body, "held", 0, 10, 0)
    held = np.arange(len(X)) % every == 0 if every else np.zeros(len(X), dtype=bool)
    if len(np.unique(y)) < 2:
        raise BadRequest("points of two classes are needed: choose another class and click to add one")
    if len(np.unique(y)) > len(np.unique(y[~held])):
        raise BadRequest("every point of a class is held out: add points of it, or train on all")
    return Points(X, y, every, held)


def _network(body: Mapping[str, Any]) -> Call:
    sizes = numbers(body, "layers", MOST_LAYERS)
    if not np.isin(sizes, np.arange(1, MOST_NEURONS + 1)).all():
        raise BadRequest(f"layers must be whole numbers of neurons from 1 to {MOST_NEURONS}, got {sizes.tolist()}")
    return Call(
        "MLPClassifier",
        {
            "hidden_layer_sizes": tuple(int(size) for size in sizes),
            "activation": choice(body, "activation", ACTIVATIONS, "relu"),
            "alpha": number(body, "alpha", 0.0, 1e3, 1e-4),
            "learning_rate_init": number(body, "rate", 1e-6, 10.0, 0.01),
            "random_state": whole(body, "seed", 0, 2**31, 0),
        },
    )


def _picture(
    model: Any, rows: Points, body: Mapping[str, Any], job: Job
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Scores (two classes) or classes (more) on the grid, and how many points are right."""
    columns, lines = whole(body, "columns", 2, FINEST_GRID, 100), whole(body, "rows", 2, FINEST_GRID, 75)
    cells, right = grid(view(body), columns, lines), model.predict(rows.X) == rows.y
    arrays = {"wrong": (~right).astype(np.uint8), "held": rows.held.astype(np.uint8)}
    if len(model.classes_) > 2:
        arrays["regions"] = job.drawn(model.predict, cells).astype(np.uint8).reshape(lines, columns)
    else:
        network = hasattr(model, "coefs_")
        scores = job.drawn(
            (lambda part: model.predict_proba(part)[:, 1] - 0.5) if network else model.decision_function, cells
        )
        arrays["scores"] = scores.astype(np.float32).reshape(lines, columns)
    values = {"classes": model.classes_, "accuracy": right[~rows.held].mean(), "rows": int((~rows.held).sum())}
    values["held"] = right[rows.held].mean() if rows.held.any() else None
    return values, arrays


# -- the code on the page -----------------------------------------------------------------------------------------


def _network_code(call: Call, rows: Points, classes: np.ndarray, epochs: int) -> str:
    fitting = [f"for epoch in range({epochs}):", f"    model.partial_fit({{X}}, {{y}}, classes={classes.tolist()})"]
    return _program(["from sklearn.neural_network import MLPClassifier"], call.code(), rows, fitting)


def _kernels(call: Call) -> list[str]:
    return [f"from maxmargin.kernels import {', '.join(sorted(call.names()))}"] if call.names() else []


def _program(imports: list[str], made: str, rows: Points, fitting: list[str]) -> str:
    X, y = ("X[~held]", "y[~held]") if rows.every else ("X", "y")
    lines = ["import numpy as np", *imports, "", f"X = np.array({array_code(rows.X)})"]
    lines.append(f"y = np.array({array_code(rows.y)})")
    if rows.every:
        lines.append(f"held = np.arange(len(X)) % {rows.every} == 0")
    lines += [f"model = {made}", *[line.format(X=X, y=y) for line in fitting]]
    lines.append(f"print('accuracy', model.score({X}, {y}))")
    if rows.every:
        lines.append("print('on the held-out points', model.score(X[held], y[held]))")
    return "\n".join([*lines, ""])
