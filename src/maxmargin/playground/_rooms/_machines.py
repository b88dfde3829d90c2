"""Which machine a request asks for, fitting it within the time that there is, and what the fit says of itself."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from maxmargin.multiclass import BINARY, MARGIN
from maxmargin.playground._checks import BadRequest, choice, number, points, whole
from maxmargin.playground._jobs import Job
from maxmargin.playground._rooms._expressions import Call, kernel_of
from maxmargin.problems import ALL_CLASSES

TASKS = ("classify", "regress", "one-class")
EXACT = ("decomposition", "dual-gradient")
STEPWISE = ("pegasos", "sgd", "perceptron")
SCHEMES = (*BINARY, *MARGIN)
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


class Request(NamedTuple):
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


def read_request(body: Mapping[str, Any]) -> Request:
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
        return Request(task, rows[:, :1], rows[:, 1], _exact(_regressor(body), body, solver), solver, "max_iter")
    if len(rows) < 2:
        raise BadRequest("a one-class machine needs two points at least; click to add some")
    call = Call("OneClassSVM", {"nu": number(body, "nu", 1e-3, 1.0, 0.1)})
    return Request(task, rows, None, _exact(call, body, solver), solver, "max_iter")


def _classifier(body: Mapping[str, Any], X: np.ndarray, y: np.ndarray, solver: str) -> Request:
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
        return Request("classify", X, y, call.having(**many), solver, "max_iter")
    call, steps = _stepwise(body, solver, len(X))
    return Request("classify", X, y, call.having(**many, random_state=0), solver, steps)


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


# -- Fitting within the time that a request has, and what a fit says of itself --------------------------------------


class Fitted(NamedTuple):
    """A fitted machine and how long it took."""

    model: Any
    milliseconds: float


class Stop:
    """A callback of scikit-learn's: ends a fit that nobody waits for any more."""

    def __init__(self, job: Job):
        self.job = job

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to tidy up."""

    def on_fit_task_begin(self, estimator: Any, context: Any, **facts: Any) -> None:
        """Nothing to do at the beginning of a task or a round."""

    def on_fit_task_end(self, estimator: Any, context: Any, **facts: Any) -> bool:
        """True ends the fit with what it has."""
        return self.job.must_stop()


def fit(call: Call, X: np.ndarray, y: np.ndarray | None, job: Job) -> Fitted:
    """The machine, fitted; when the time is over, with what it has."""
    model = call.make()
    model.set_params(time_limit=job.seconds_left)
    model.set_callbacks(Stop(job))
    began = time.perf_counter()
    model.fit(X) if y is None else model.fit(X, y)
    return Fitted(model, 1e3 * (time.perf_counter() - began))


def proof(model: Any) -> dict[str, Any] | None:
    """The certificate of a model, if it has one; of several machines together the sums of their objectives."""
    found = getattr(model, "certificates_", [getattr(model, "certificate_", None)])
    if found[0] is None:
        return None
    found = [one.readable() for one in found]  # no gap is shown that is smaller than its own rounding
    primal, dual, gap = (float(sum(getattr(one, name) for one in found)) for name in ("primal", "dual", "gap"))
    size = max(abs(primal), abs(dual))
    return {
        "primal": primal,
        "dual": dual,
        "gap": gap,
        "relative_gap": gap / size if 0 < size < np.inf else (0.0 if gap == 0 else np.inf),
        "kkt": max(one.kkt for one in found),
        "feasible": all(one.feasible for one in found),
        "holds": all(one.holds for one in found),
        "reason": next((one.reason for one in found if one.reason), ""),
        "machines": len(found),
    }


def grid(view: tuple[float, float, float, float], columns: int, rows: int) -> np.ndarray:
    """Centres of the cells of the view, from the top left, line by line: shape (rows * columns, 2)."""
    left, right, bottom, top = view
    x = left + (np.arange(columns) + 0.5) * (right - left) / columns
    y = top - (np.arange(rows) + 0.5) * (top - bottom) / rows
    return np.column_stack([np.tile(x, rows), np.repeat(y, columns)])
