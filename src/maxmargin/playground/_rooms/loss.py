"""The loss room: a linear classifier of many classes, one gradient step after the other."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from maxmargin.losses import LOSSES
from maxmargin.playground._checks import BadRequest, choice, number, numbers, points, view, whole
from maxmargin.playground._frames import Answer
from maxmargin.playground._jobs import Handler, Job
from maxmargin.playground._limits import FINEST_GRID
from maxmargin.playground._rooms import _linear_losses as losses_of
from maxmargin.playground._rooms._expressions import array_code
from maxmargin.playground._rooms._fitting import grid

#: By their names in requests: the function, and what its source needs.
MANY: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "one-vs-all": (losses_of.one_vs_all, ()),
    "weston-watkins": (losses_of.weston_watkins, ("from maxmargin.problems import WestonWatkinsProblem",)),
    "crammer-singer": (losses_of.crammer_singer, ("from maxmargin.problems import CrammerSingerProblem",)),
    "softmax": (losses_of.softmax_loss, ("from scipy.special import logsumexp, softmax",)),
}
#: Losses of one margin for one-vs-all.
BINARY = ("hinge", "squared_hinge", "logistic", "perceptron", "squared")
#: The curves of the losses, in the order of the page.
CURVES = ("zero_one", "sigmoid", "hinge", "squared_hinge", "perceptron", "logistic", "exponential", "squared")
#: Weights and biases beyond this have left the picture: the step was too long.
FARTHEST_WEIGHT = 1e3
MOST_STEPS = 200


class Machine(NamedTuple):
    """A request, read."""

    X: np.ndarray
    label: np.ndarray  # 0 .. classes - 1
    classes: np.ndarray
    W: np.ndarray  # (classes, 2)
    b: np.ndarray
    name: str
    binary: str
    lam: float
    rate: float

    @property
    def loss(self) -> Callable[..., Any]:
        function = MANY[self.name][0]
        return partial(function, loss=LOSSES[self.binary]()) if self.name == "one-vs-all" else function

    def risk(self) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        found: tuple[float, np.ndarray, np.ndarray, np.ndarray] = losses_of.risk(
            self.X, self.label, self.W, self.b, self.lam, self.loss
        )
        return found


def descend(body: Mapping[str, Any], job: Job) -> Answer:
    """``steps`` gradient steps from the weights of the request (0: none), and everything about where they lead."""
    machine = _read(body)
    history, diverged = [machine.risk()[0]], False
    for _ in range(whole(body, "steps", 0, MOST_STEPS, 0)):
        _, _, dW, db = machine.risk()
        W, b = machine.W - machine.rate * dW, machine.b - machine.rate * db
        diverged = not max(np.abs(W).max(), np.abs(b).max()) <= FARTHEST_WEIGHT  # also where it is not a number
        if diverged or job.must_stop():
            break
        machine = machine._replace(W=W, b=b)
        history.append(machine.risk()[0])
    return _described(machine, body, np.array(history), diverged)


def curves(body: Mapping[str, Any], job: Job) -> Answer:
    """The losses over the margin, for the class +1."""
    low, high = number(body, "low", -100, 100, -3.0), number(body, "high", -100, 100, 3.0)
    if not low < high:
        raise BadRequest(f"low must be less than high, got {low:g} and {high:g}")
    margin = np.linspace(low, high, whole(body, "columns", 2, 2000, 241))
    found = {name: LOSSES[name]() for name in CURVES}
    about = {
        name: {"convex": loss.convex, "smooth": loss.smooth, "bounds": loss.bounds_zero_one}
        for name, loss in found.items()
    }
    arrays = {name: np.asarray(loss.value(1.0, margin), dtype=np.float32) for name, loss in found.items()}
    return Answer({"curves": about}, {"margin": margin.astype(np.float32), **arrays})


#: Kinds of requests.
KINDS: dict[str, Handler] = {"descend": descend, "curves": curves}


def _read(body: Mapping[str, Any]) -> Machine:
    X, c = points(body)
    classes, label = np.unique(c, return_inverse=True)
    if len(classes) < 2:
        raise BadRequest("points of two classes are needed, better of three: choose another class and click to add one")
    weights = numbers(body, "weights", 27)
    if len(weights) != 3 * len(classes):
        raise BadRequest(f"weights must be three numbers for each of {len(classes)} classes, got {len(weights)}")
    rows = weights.reshape(-1, 3)
    if np.abs(rows).max() > FARTHEST_WEIGHT:
        raise BadRequest(f"weights must lie within -{FARTHEST_WEIGHT:g} and {FARTHEST_WEIGHT:g}")
    return Machine(
        X,
        label,
        classes,
        rows[:, :2],
        rows[:, 2],
        choice(body, "loss", tuple(MANY)),
        choice(body, "binary", BINARY, "hinge"),
        number(body, "lam", 0.0, 1e3, 0.01),
        number(body, "rate", 0.0, 1e3, 0.1),
    )


def _described(machine: Machine, body: Mapping[str, Any], history: np.ndarray, diverged: bool) -> Answer:
    total, losses, dW, db = machine.risk()
    F = machine.X @ machine.W.T + machine.b
    columns, rows = whole(body, "columns", 2, FINEST_GRID, 100), whole(body, "rows", 2, FINEST_GRID, 75)
    cells = grid(view(body), columns, rows) @ machine.W.T + machine.b
    values = {
        "classes": machine.classes,
        "total": total,
        "mean": losses.mean(),
        "penalty": machine.lam / 2 * np.sum(machine.W**2),
        "accuracy": np.mean(F.argmax(axis=1) == machine.label),
        "diverged": diverged,
    }
    if choice(body, "detail", ("coarse", "fine"), "fine") == "fine":
        values["code"] = _code(machine)
    return Answer(
        values,
        {
            "regions": machine.classes[cells.argmax(axis=1)].astype(np.uint8).reshape(rows, columns),
            "weights": np.column_stack([machine.W, machine.b]),
            "gradient": np.column_stack([dW, db]),
            "losses": losses.astype(np.float32),
            "scores": F.astype(np.float32),
            "margins": losses_of.margins(F, machine.label, machine.name).astype(np.float32),
            "history": history,
        },
    )


def _code(machine: Machine) -> str:
    """A program with the very functions that ran, on the data and weights of the screen."""
    function, imports = MANY[machine.name]
    loss = function.__name__
    if machine.name == "one-vs-all":
        kind = LOSSES[machine.binary].__name__
        imports = ("from maxmargin.losses import " + ", ".join(sorted({"Hinge", "Loss", kind})),)
        if kind != "Hinge":
            imports, loss = ("from functools import partial", *imports), f"partial(one_vs_all, loss={kind}())"
    source = inspect.getsource(function).replace("  # noqa: B008 - losses are frozen values", "")
    first, then = [line for line in imports if "functools" in line], [line for line in imports if "maxm" in line]
    lines = [*first, "import numpy as np", *[line for line in imports if "scipy" in line], *then, "", ""]
    lines += [source, "", inspect.getsource(losses_of.risk), ""]
    lines += [
        f"X = np.array({array_code(machine.X)})",
        f"label = np.array({array_code(machine.label)})",
        f"W = np.array({array_code(machine.W)})",
        f"b = np.array({array_code(machine.b)})",
        f"total, losses, dW, db = risk(X, label, W, b, lam={machine.lam!r}, loss={loss})",
        "print('total loss', total)",
        "print('accuracy', np.mean((X @ W.T + b).argmax(axis=1) == label))",
        f"W, b = W - {machine.rate!r} * dW, b - {machine.rate!r} * db  # one step",
    ]
    return "\n".join([*lines, ""])
