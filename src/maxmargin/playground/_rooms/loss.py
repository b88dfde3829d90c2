"""The loss room: a linear classifier of many classes, one gradient step after the other."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from maxmargin.losses import LOSSES, Hinge, Loss
from maxmargin.playground._checks import FINEST_GRID, BadRequest, choice, number, numbers, points, view, whole
from maxmargin.playground._frames import Answer
from maxmargin.playground._jobs import Handler, Job
from maxmargin.playground._rooms._expressions import array_code
from maxmargin.playground._rooms._machines import grid
from maxmargin.problems import CrammerSingerProblem, WestonWatkinsProblem

# -- the losses, whose source the page shows ------------------------------------------------------------------------
# Scores F (n, classes) with F_im = w_m . x_i + b_m, and labels 0 .. classes - 1. Every loss gives (L_i of every row,
# dL_i/dF_im); at a kink one of the subgradients, that of the flat side.


def one_vs_all(F, label, loss: Loss = Hinge()):  # noqa: B008 - losses are frozen values
    """Every class against the rest: the sum over m of loss(t_im, f_im), where t_im = 1 for the row's class, else -1."""
    t = np.where(np.arange(F.shape[1]) == label[:, None], 1.0, -1.0)
    return loss.value(t, F).sum(axis=1), loss.subgradient(t, F)


def weston_watkins(F, label):
    """Every rival counts: the sum over m != y of max(0, 1 + f_m - f_y)."""
    problem = WestonWatkinsProblem(label, np.ones(len(F)), F.shape[1])
    G = (problem.shortfalls(F) > 0).astype(float)
    G[np.arange(len(F)), label] = -G.sum(axis=1)
    return problem.slack(F), G


def crammer_singer(F, label):
    """The worst rival counts: max(0, 1 + max_{m != y} f_m - f_y), the structured loss whose cost of an error is 1."""
    problem = CrammerSingerProblem(label, np.ones(len(F)), F.shape[1])
    losses, G = problem.slack(F), np.zeros_like(F)
    short = np.flatnonzero(losses > 0)
    G[short, problem.shortfalls(F).argmax(axis=1)[short]] = 1.0
    G[short, label[short]] = -1.0
    return losses, G


def softmax_loss(F, label):
    """Minus the logarithm of the probability of the row's class: log sum_m e^{f_m} - f_y."""
    rows, P = np.arange(len(F)), softmax(F, axis=1)
    P[rows, label] -= 1.0
    return logsumexp(F, axis=1) - F[rows, label], P


def risk(X, label, W, b, lam, loss):
    """(mean loss + lam/2 ||W||^2, loss of every row, gradient in W, gradient in b); biases are not penalised."""
    losses, G = loss(X @ W.T + b, label)
    return losses.mean() + lam / 2 * np.sum(W**2), losses, G.T @ X / len(X) + lam * W, G.mean(axis=0)


def margins(F: np.ndarray, label: np.ndarray, loss: str) -> np.ndarray:
    """The margins that a loss looks at, (n, 1 or more): t_im f_im, or how far a row's class is above its rivals."""
    rows = np.arange(len(F))
    if loss == "one-vs-all":
        return np.where(np.arange(F.shape[1]) == label[:, None], F, -F)
    ahead = F[rows, label][:, None] - F
    rivals = ahead[np.arange(F.shape[1]) != label[:, None]].reshape(len(F), -1)
    return rivals if loss == "weston-watkins" else rivals.min(axis=1, keepdims=True)


# -- the requests -----------------------------------------------------------------------------------------------------


#: By their names in requests: the function, and what its source needs.
MANY: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "one-vs-all": (one_vs_all, ()),
    "weston-watkins": (weston_watkins, ("from maxmargin.problems import WestonWatkinsProblem",)),
    "crammer-singer": (crammer_singer, ("from maxmargin.problems import CrammerSingerProblem",)),
    "softmax": (softmax_loss, ("from scipy.special import logsumexp, softmax",)),
}
#: Losses of one margin for one-vs-all.
BINARY = ("hinge", "squared_hinge", "logistic", "perceptron", "squared")
#: The curves of the losses, in the order of the page.
CURVES = ("zero_one", "sigmoid", "hinge", "squared_hinge", "perceptron", "logistic", "exponential", "squared")
#: Weights and biases beyond this have left the picture: the step was too long.
FARTHEST_WEIGHT = 1e3
MOST_STEPS = 200


class Weights(NamedTuple):
    """The weights and biases of a request, with its points and its loss."""

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
        found: tuple[float, np.ndarray, np.ndarray, np.ndarray] = risk(
            self.X, self.label, self.W, self.b, self.lam, self.loss
        )
        return found


def descend(body: Mapping[str, Any], job: Job) -> Answer:
    """``steps`` gradient steps from the weights of the request (0: none), and everything about where they lead."""
    weights = _read(body)
    history, diverged = [weights.risk()[0]], False
    for _ in range(whole(body, "steps", 0, MOST_STEPS, 0)):
        _, _, dW, db = weights.risk()
        W, b = weights.W - weights.rate * dW, weights.b - weights.rate * db
        diverged = not max(np.abs(W).max(), np.abs(b).max()) <= FARTHEST_WEIGHT  # also where it is not a number
        if diverged or job.must_stop():
            break
        weights = weights._replace(W=W, b=b)
        history.append(weights.risk()[0])
    return _described(weights, body, np.array(history), diverged)


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


def _read(body: Mapping[str, Any]) -> Weights:
    X, c = points(body)
    classes, label = np.unique(c, return_inverse=True)
    if len(classes) < 2:
        raise BadRequest("points of two classes are needed, better of three: choose another class and click to add one")
    given = numbers(body, "weights", 27)
    if len(given) != 3 * len(classes):
        raise BadRequest(f"weights must be three numbers for each of {len(classes)} classes, got {len(given)}")
    rows = given.reshape(-1, 3)
    if np.abs(rows).max() > FARTHEST_WEIGHT:
        raise BadRequest(f"weights must lie within -{FARTHEST_WEIGHT:g} and {FARTHEST_WEIGHT:g}")
    return Weights(
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


def _described(weights: Weights, body: Mapping[str, Any], history: np.ndarray, diverged: bool) -> Answer:
    total, losses, dW, db = weights.risk()
    F = weights.X @ weights.W.T + weights.b
    columns, rows = whole(body, "columns", 2, FINEST_GRID, 100), whole(body, "rows", 2, FINEST_GRID, 75)
    cells = grid(view(body), columns, rows) @ weights.W.T + weights.b
    values = {
        "classes": weights.classes,
        "total": total,
        "mean": losses.mean(),
        "penalty": weights.lam / 2 * np.sum(weights.W**2),
        "accuracy": np.mean(F.argmax(axis=1) == weights.label),
        "diverged": diverged,
    }
    if choice(body, "detail", ("coarse", "fine"), "fine") == "fine":
        values["code"] = _code(weights)
    return Answer(
        values,
        {
            "regions": weights.classes[cells.argmax(axis=1)].astype(np.uint8).reshape(rows, columns),
            "weights": np.column_stack([weights.W, weights.b]),
            "gradient": np.column_stack([dW, db]),
            "losses": losses.astype(np.float32),
            "scores": F.astype(np.float32),
            "margins": margins(F, weights.label, weights.name).astype(np.float32),
            "history": history,
        },
    )


def _code(weights: Weights) -> str:
    """A program with the very functions that ran, on the data and weights of the screen."""
    function, imports = MANY[weights.name]
    loss = function.__name__
    if weights.name == "one-vs-all":
        kind = LOSSES[weights.binary].__name__
        imports = ("from maxmargin.losses import " + ", ".join(sorted({"Hinge", "Loss", kind})),)
        if kind != "Hinge":
            imports, loss = ("from functools import partial", *imports), f"partial(one_vs_all, loss={kind}())"
    source = inspect.getsource(function).replace("  # noqa: B008 - losses are frozen values", "")
    first, then = [line for line in imports if "functools" in line], [line for line in imports if "maxm" in line]
    lines = [*first, "import numpy as np", *[line for line in imports if "scipy" in line], *then, "", ""]
    lines += [source, "", inspect.getsource(risk), ""]
    lines += [
        f"X = np.array({array_code(weights.X)})",
        f"label = np.array({array_code(weights.label)})",
        f"W = np.array({array_code(weights.W)})",
        f"b = np.array({array_code(weights.b)})",
        f"total, losses, dW, db = risk(X, label, W, b, lam={weights.lam!r}, loss={loss})",
        "print('total loss', total)",
        "print('accuracy', np.mean((X @ W.T + b).argmax(axis=1) == label))",
        f"W, b = W - {weights.rate!r} * dW, b - {weights.rate!r} * db  # one step",
    ]
    return "\n".join([*lines, ""])
