"""The training rows of a fitted model: every task's dual variables, costs, scores and slacks, in the model's units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin._rows import count, take
from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.certificates import recomputed_scores, scores_at
from maxmargin.delivered import (
    Delivered,
    Fitted,
    KernelTrained,
    LinearDelivered,
    LinearFitted,
    LinearTrained,
    is_approximation,
)
from maxmargin.inspection._model import read, read_classifier, tolerances
from maxmargin.kernels import Kernel, Linear, Precomputed
from maxmargin.penalties import Penalty
from maxmargin.problems import (
    AllClassesProblem,
    HardMarginProblem,
    LinearProblem,
    NuSVCProblem,
    OneClassProblem,
    Problem,
    ShortfallProblem,
    SVCProblem,
    SVDDProblem,
    SVRProblem,
)

#: Losses that are a slack xi >= 0, or its square.
LINEARLY, SQUARED = ("hinge", "epsilon_insensitive"), ("squared_hinge", "squared_epsilon_insensitive")


@dataclass(frozen=True, eq=False)
class FittedTask:
    """One task on its own rows, with (w, b) as published.

    A row asks for ``short <= xi``: short is 1 - t f for a classifier, |y - f| - eps for a regressor, -f for a one-class
    machine. ``multiplier`` is that of xi >= 0: C - alpha, or 2 C xi - alpha where the square of xi is paid for.
    """

    name: str
    rows: IntArray  # of X as given
    at: IntArray  # the same rows in :attr:`FittedTasks.X`
    sign: FloatArray  # for a regressor, the side of the tube
    cost: FloatArray  # C_i
    alpha: FloatArray
    f: FloatArray
    short: FloatArray
    xi: FloatArray
    intercept: float
    norm: float  # ||w||
    off: float  # ||w - w(alpha)||
    problem: Problem | LinearProblem | AllClassesProblem
    total: float = 0.0  # what sum alpha_i t_i must be
    squared: bool = False
    own_dual: bool = True  # whether the model keeps dual variables; else they are what its losses' slopes suggest
    w: FloatArray | None = None  # of a linear machine, for rows as the problem saw them
    tol: FloatArray | float = 0.0  # how near counts as equal, for every row

    @property
    def fit_intercept(self) -> bool:
        return bool(getattr(self.problem, "fit_intercept", True))

    @property
    def margin(self) -> FloatArray:
        """t f for a classifier; for others, minus the shortfall of the row."""
        return 1.0 - self.short if self.classifies else -self.short

    @property
    def classifies(self) -> bool:
        if isinstance(self.problem, LinearProblem):
            return self.problem.loss.of_margin
        return isinstance(self.problem, (SVCProblem, HardMarginProblem, NuSVCProblem, AllClassesProblem))

    @property
    def upper(self) -> FloatArray:
        """What alpha may be at most."""
        return np.full(len(self.alpha), np.inf) if self.squared else self.cost

    @property
    def multiplier(self) -> FloatArray:
        """The multiplier of xi >= 0; inf where no slack is allowed."""
        return 2.0 * self.cost * self.xi - self.alpha if self.squared else self.cost - self.alpha

    @property
    def ridge(self) -> FloatArray:
        """What a squared slack adds to k(x_i, x_i): the machine is then the hard-margin one of that kernel."""
        return 0.5 / self.cost if self.squared else np.zeros(len(self.alpha))


@dataclass(frozen=True, eq=False)
class FittedTasks:
    """The tasks of a model and what their kernel needs."""

    fitted: Fitted
    kernel: Kernel
    X: RowData
    tasks: list[FittedTask]
    n: int  # rows of X as given

    def diagonal(self, rows: IntArray) -> FloatArray:
        """k(x, x) of some rows of :attr:`X`."""
        if isinstance(self.kernel, Precomputed):
            return np.asarray(self.X[rows, rows], dtype=np.float64)
        return np.asarray(self.kernel.diag(take(self.X, rows)), dtype=np.float64)

    def values(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """K between some rows of :attr:`X` and others."""
        if isinstance(self.kernel, Precomputed):
            return np.asarray(self.X[np.ix_(rows, columns)], dtype=np.float64)
        return self.kernel(take(self.X, rows), take(self.X, columns))

    def spread(self, values: list[Any], empty: Any) -> Any:
        """(n, tasks) table of the tasks' values, ``empty`` where a row has no part in a task."""
        table = np.full((self.n, len(values)), empty, dtype=np.asarray(values[0]).dtype)
        for k, (task, own) in enumerate(zip(self.tasks, values, strict=True)):
            table[task.rows, k] = own
        return table


def fitted_tasks(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    what: str,
    classifier: bool = True,
    slack: bool = True,
    single: bool = False,
    tol: float | None = None,
) -> FittedTasks:
    """The tasks of a fitted model on its training data; ``what`` says what they are needed for.

    ``slack``: whether that needs a loss that is paid for by a slack. ``single``: whether it also works for one problem
    for all classes, whose tasks have no w of their own. ``tol`` takes the place of the model's own tolerance.
    """
    fitted = read(model)
    if classifier or (fitted.classes is not None and not (single and fitted.single)):
        fitted = read_classifier(model, what)
    if fitted.machine == "Perceptron":
        raise TypeError(f"{what} is about a machine's optimum, and a perceptron has none: it stops at any separation")
    if fitted.machine == "LSSVC":
        raise TypeError(
            f"{what} speaks of slack, and LSSVC pays for the distance from 1 on both sides; its certificate_ says how "
            "far from optimal it is, and LSSVC(leave_one_out=True) has the scores of rows left out"
        )
    if fitted.single:
        return _with_tolerance(_all_classes(fitted, X, y, sample_weight), X, tol)
    if isinstance(fitted, LinearFitted):
        return _with_tolerance(_linear(fitted, X, y, sample_weight, what, slack), X, tol)
    if is_approximation(model):
        raise TypeError(
            f"{what} is about the optimum of the full problem, which a machine on landmarks is not at: fit with "
            "approximation=None (warm_start=True goes on from here), or ask certify() how far it is"
        )
    found = KernelTrained.of(model, X, y, sample_weight, None)
    kernel, tasks = found.fitted.kernel, found.tasks()
    scores = recomputed_scores(kernel, found.X, tasks)
    made = [_kernel_task(name, task, f) for name, task, f in zip(fitted.names, tasks, scores, strict=True)]
    return _with_tolerance(FittedTasks(fitted, kernel, found.X, made, count(found.X)), X, tol)


def _with_tolerance(training: FittedTasks, X: Any, tol: float | None) -> FittedTasks:
    """The same with its tolerance; ``X`` is what the user gave."""
    fitted = training.fitted
    near = tolerances(fitted, fitted.checked(X), tol)
    columns = [0] * len(training.tasks) if fitted.single else range(len(training.tasks))
    tasks = [replace(task, tol=near[task.rows, k]) for k, task in zip(columns, training.tasks, strict=True)]
    return replace(training, tasks=tasks)


def _kernel_task(name: str, task: Delivered, g: FloatArray) -> FittedTask:
    """From the scores ``g`` without intercept."""
    problem, beta, b = task.problem, task.dual_coef, task.intercept
    norm, f = float(np.sqrt(max(float(beta @ g), 0.0))), g + b
    shared: dict[str, Any] = {"intercept": b, "norm": norm, "off": 0.0, "problem": problem}
    if isinstance(problem, (SVCProblem, HardMarginProblem, NuSVCProblem)):
        sign, short = problem.sign, 1.0 - problem.sign * f
        xi = np.zeros(len(f)) if isinstance(problem, HardMarginProblem) else np.maximum(short, 0.0)
        cost = _costs(problem, beta)
        return FittedTask(name, task.rows, task.rows, sign, cost, sign * beta, f, short, xi, **shared)
    if isinstance(problem, SVRProblem):
        epsilon = problem.recovered(beta, g, b)[2].epsilon
        return _tube(name, task.rows, task.rows, problem.y - f, problem.C, beta, f, epsilon, shared)
    if isinstance(problem, SVDDProblem):
        f = f + g - problem.diagonal  # 2 a.phi(x) - k(x, x) + b
    cost = problem.C if isinstance(problem, SVDDProblem) else problem.weight  # type: ignore[attr-defined]  # one-class
    sign, total = np.ones(len(f)), problem.qp.total
    return FittedTask(name, task.rows, task.rows, sign, cost, beta, f, -f, np.maximum(-f, 0.0), **shared, total=total)


def _costs(problem: SVCProblem | HardMarginProblem | NuSVCProblem, dual_coef: FloatArray) -> FloatArray:
    """C_i; for a nu machine, its value after the division by rho."""
    if isinstance(problem, SVCProblem):
        return problem.C
    if isinstance(problem, HardMarginProblem):
        return np.full(len(dual_coef), np.inf)
    budget, mass = problem.sizes()[1], float(np.abs(dual_coef).sum())
    return problem.weight * (mass / budget if budget > 0 else 1.0)


def _tube(
    name: str,
    rows: IntArray,
    at: IntArray,
    residual: FloatArray,
    cost: FloatArray,
    beta: FloatArray,
    f: FloatArray,
    epsilon: float,
    more: dict[str, Any],
) -> FittedTask:
    """A task of a regressor, on that side of the tube on which beta, or else the residual, is."""
    side = np.where(beta != 0, np.sign(beta), np.where(residual >= 0, 1.0, -1.0))
    short, xi = side * residual - epsilon, np.maximum(np.abs(residual) - epsilon, 0.0)
    return FittedTask(name, rows, at, side, cost, np.abs(beta), f, short, xi, **more)


def _linear(fitted: LinearFitted, X: Any, y: Any, sample_weight: Any, what: str, slack: bool) -> FittedTasks:
    model = fitted.model
    if fitted.machine in ("PegasosSVC", "SGDSVC") and not hasattr(model, "C_"):
        raise ValueError(
            f"{what} needs the training problem, and a {fitted.machine} that was fitted in chunks (partial_fit) has "
            "not kept it; use fit"
        )
    found = LinearTrained.of(model, X, y, sample_weight, None)
    seen, tasks = fitted.seen(found.X), found.tasks()
    if slack:
        _require_slack(tasks[0].problem, what)
    hard = fitted.classes is not None and np.isinf(getattr(model, "C_", None) or getattr(model, "C", None) or 1.0)
    made = [
        _linear_task(name, t, *found.scaling.seen(t.coef, t.intercept), seen, found.kept, hard)
        for name, t in zip(fitted.names, tasks, strict=True)
    ]
    return FittedTasks(fitted, Linear(), seen, made, found.n)


def _require_slack(problem: LinearProblem, what: str) -> None:
    if problem.loss.name not in (*LINEARLY, *SQUARED) or not problem.penalty.separable:
        raise ValueError(
            f"{what} speaks of slack, which the losses {', '.join((*LINEARLY, *SQUARED))} with a penalty of w_j^2 or "
            f"|w_j| have; got the loss {problem.loss.name!r} with the penalty {problem.penalty.name!r}"
        )


def _linear_task(
    name: str, task: LinearDelivered, w: FloatArray, b: float, X: RowData, kept: IntArray, hard: bool
) -> FittedTask:
    problem = task.problem
    at = np.arange(len(kept)) if task.rows is None else task.rows
    own = X if task.rows is None else X[task.rows]
    f = np.asarray(own @ w).ravel() + b
    beta = problem.slopes(f) if task.beta is None else task.beta
    shared: dict[str, Any] = {
        "intercept": b,
        "norm": float(np.linalg.norm(w)),
        "off": _off(problem.penalty, w, np.asarray(own.T @ beta).ravel()),
        "problem": problem,
        "squared": problem.loss.name in SQUARED,
        "own_dual": task.beta is not None,
        "w": w,
    }
    if not problem.loss.of_margin:
        epsilon = float(getattr(problem.loss, "epsilon", 0.0))
        return _tube(name, kept[at], at, problem.target - f, problem.C, beta, f, epsilon, shared)
    sign, short = problem.target, 1.0 - problem.target * f
    cost = np.full(len(f), np.inf) if hard else problem.C
    xi = np.zeros(len(f)) if hard else np.maximum(short, 0.0)
    return FittedTask(name, kept[at], at, sign, cost, sign * beta, f, short, xi, **shared)


def _all_classes(fitted: Fitted, X: Any, y: Any, sample_weight: Any) -> FittedTasks:
    """One problem for all classes: a row asks that the score of its class beats those of its rivals by 1."""
    kernel: Kernel = Linear()
    if isinstance(fitted, LinearFitted):
        found = LinearTrained.of(fitted.model, X, y, sample_weight, None)
        problem, coef, intercept, alpha = found.all_classes()
        W, b = found.scaling.seen(coef, intercept)
        X, kept, n = fitted.seen(found.X), found.kept, found.n
        at: IntArray = np.arange(len(kept))
        f, square = np.asarray(X @ W.T) + b, float(np.vdot(W, W))
    else:
        machine = KernelTrained.of(fitted.model, X, y, sample_weight, None)
        kernel, X, (kept, problem, alpha, b) = machine.fitted.kernel, machine.X, machine.all_classes()
        used = np.flatnonzero(alpha.any(axis=1))
        g = scores_at(kernel, X, kept, kept[used], alpha[used])
        at, f, n, square = kept, g + b, count(X), float(np.vdot(alpha, g))
    if not isinstance(problem, ShortfallProblem):
        raise ValueError(
            "the softmax loss has no margin to fall short of: every row pays, and is pushed. Use predict_proba, or fit "
            "LinearSVC with multiclass='crammer-singer'"
        )
    shared: dict[str, Any] = {
        "intercept": np.nan,
        "norm": float(np.sqrt(max(square, 0.0))),
        "off": 0.0,
        "problem": problem,
    }
    tasks = []
    assert fitted.classes is not None  # one problem for all of them
    for name, own, short, push in _rivals(problem, [str(c) for c in fitted.classes], f, alpha):
        cost = problem.C[own]
        xi = np.where(np.isinf(cost), 0.0, np.maximum(short, 0.0))
        tasks.append(
            FittedTask(name, kept[own], at[own], np.ones(len(own)), cost, push, 1.0 - short, short, xi, **shared)
        )
    return FittedTasks(fitted, kernel, X, tasks, n)


def _rivals(problem: ShortfallProblem, classes: list[str], f: FloatArray, alpha: FloatArray):
    """(name, rows, 1 - (f_y - f_m), a) of everything that rows pay for: their best rival, or every rival."""
    rows, push = np.arange(len(f)), problem.pushes(alpha)
    if problem.shared_bound:
        others = f.copy()
        others[rows, problem.label] = -np.inf
        short = 1.0 + others.max(axis=1) - f[rows, problem.label]
        return [("its class against the best other", rows, short, push.sum(axis=1))]
    short = problem.shortfalls(f)
    own = [np.flatnonzero(problem.label != m) for m in range(len(classes))]
    return [(f"against {name}", own[m], short[own[m], m], push[own[m], m]) for m, name in enumerate(classes)]


def _off(penalty: Penalty, w: FloatArray, v: FloatArray) -> float:
    """Distance of v = X' beta from the penalty's subgradients at w: ||w - v|| for half the squared norm."""
    q, a = penalty.quadratic, penalty.absolute
    away = np.where(w != 0, np.abs(v - q * w - a * np.sign(w)), np.maximum(np.abs(v) - a, 0.0))
    return float(np.linalg.norm(away))


def is_one_class(task: FittedTask) -> bool:
    """Whether the task has no targets at all."""
    return isinstance(task.problem, (OneClassProblem, SVDDProblem))
