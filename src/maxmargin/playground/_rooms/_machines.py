"""Which machine a request of the SVM room asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from maxmargin.playground._checks import BadRequest, choice, number, points, whole
from maxmargin.playground._rooms._expressions import Call, kernel_of
from maxmargin.problems import ALL_CLASSES

TASKS = ("classify", "regress", "one-class")
EXACT = ("decomposition", "dual-gradient")
STEPWISE = ("pegasos", "sgd", "perceptron")
SCHEMES = ("ovo", "ovr", "code", "crammer-singer", "weston-watkins")
#: Most classes whose code words have every bit there is: 15 machines for five classes.
MOST_BITS = 5
#: What a step of a solver is called on the page.
UNITS = {
    "decomposition": "pairwise steps",
    "dual-gradient": "gradient steps",
    "pegasos": "steps",
    "sgd": "seasons",
    "perceptron": "passes",
}


class Problem(NamedTuple):
    """A request, read: the data, the machine, and how its number of steps is spelled."""

    task: str
    X: np.ndarray
    y: np.ndarray | None
    call: Call
    solver: str
    steps: str  # the option that bounds the steps

    @property
    def single(self) -> bool:
        """Whether it is one problem for all classes."""
        return self.call.options.get("multiclass") in ALL_CLASSES

    @property
    def unit(self) -> str:
        if self.single:  # blocks of rows, each with all its classes
            return "rounds"
        return "passes" if self.call.name == "KernelPegasosSVC" else UNITS[self.solver]


def read_problem(body: Mapping[str, Any]) -> Problem:
    """The machine and the data of a request."""
    task = choice(body, "task", TASKS)
    solver = choice(body, "solver", (*EXACT, *STEPWISE), "decomposition")
    rows, label = points(body)
    if task == "classify":
        return _classifier(body, rows, label, solver)
    if solver not in EXACT:
        raise BadRequest(f"{solver} trains classifiers; choose decomposition or dual gradient for this task")
    if task == "regress":
        if len(rows) < 2:
            raise BadRequest("a regression needs two points at least; click to add some")
        return Problem(task, rows[:, :1], rows[:, 1], _exact(_regressor(body), body, solver), solver, "max_iter")
    if len(rows) < 2:
        raise BadRequest("a one-class machine needs two points at least; click to add some")
    call = Call("OneClassSVM", {"nu": number(body, "nu", 1e-3, 1.0, 0.1)})
    return Problem(task, rows, None, _exact(call, body, solver), solver, "max_iter")


def _classifier(body: Mapping[str, Any], X: np.ndarray, y: np.ndarray, solver: str) -> Problem:
    if len(np.unique(y)) < 2:
        raise BadRequest("points of two classes are needed: choose another class and click to add one")
    scheme = choice(body, "multiclass", SCHEMES, "ovo")
    many = _scheme(scheme, len(np.unique(y)))
    if solver in EXACT:
        if choice(body, "formulation", ("C", "nu"), "C") == "nu":
            call = Call("NuSVC", {"nu": number(body, "nu", 1e-3, 1.0, 0.5)})
        else:
            call = Call("SVC", {"C": _cost(body)})
        if scheme in ALL_CLASSES and many:
            call = call.having(tol=1e-4)  # they have no last Newton steps
        call = _exact(call, body, solver)
        return Problem("classify", X, y, call.having(**many), solver, "max_iter")
    call, steps = _stepwise(body, solver, len(X))
    return Problem("classify", X, y, call.having(**many, random_state=0), solver, steps)


def _scheme(scheme: str, classes: int) -> dict[str, Any]:
    """How two-class machines decide between more classes; one-hot code words would be one-vs-all again."""
    if classes == 2:
        return {}
    words = {"code_words": "exhaustive" if classes <= MOST_BITS else "random"} if scheme == "code" else {}
    return {"multiclass": scheme, **words}


def _exact(call: Call, body: Mapping[str, Any], solver: str) -> Call:
    call = call.having(kernel=kernel_of(body))
    return call if solver == "decomposition" else call.having(solver=solver, max_iter=1000)


def _stepwise(body: Mapping[str, Any], solver: str, n: int) -> tuple[Call, str]:
    """(machine, the option that bounds its steps)."""
    kernel = kernel_of(body)
    if solver == "perceptron":
        name, options = ("Perceptron", {}) if kernel == "linear" else ("KernelPerceptron", {"kernel": kernel})
        return Call(name, {**options, "max_iter": 100}), "max_iter"
    cost = _cost(body)
    if np.isinf(cost):
        raise BadRequest("gradient steps in the primal need a finite C; the hard margin is for decomposition")
    lam = float(f"{1.0 / (n * cost):.6g}")
    if solver == "pegasos":
        if kernel != "linear":
            return Call("KernelPegasosSVC", {"lam": lam, "kernel": kernel, "max_iter": 60}), "max_iter"
        return Call("PegasosSVC", {"lam": lam, "fit_intercept": True, "steps": 20_000}), "steps"
    if kernel != "linear":
        raise BadRequest("SGD with seasons is a linear machine; choose the linear kernel")
    season = whole(body, "season", 1, 1000, 20)
    return Call("SGDSVC", {"lam": lam, "steps_per_season": season, "max_iter": 100}), "max_iter"


def _regressor(body: Mapping[str, Any]) -> Call:
    cost = _cost(body)
    if np.isinf(cost):
        raise BadRequest("a regression needs a finite C; move the slider off infinity")
    if choice(body, "formulation", ("C", "nu"), "C") == "nu":
        return Call("NuSVR", {"nu": number(body, "nu", 1e-3, 1.0, 0.5), "C": cost})
    return Call("SVR", {"C": cost, "epsilon": number(body, "epsilon", 0.0, 1e3, 0.1)})


def _cost(body: Mapping[str, Any]) -> float:
    return float("inf") if body.get("C") == "inf" else number(body, "C", 1e-6, 1e9, 1.0)
