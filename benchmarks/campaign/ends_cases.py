"""The cases of :mod:`.ends`: small problems of every machine and solver, well and badly scaled, one per seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import maxmargin as mm
from maxmargin._types import FloatArray
from maxmargin.losses import LOSSES
from maxmargin.penalties import PENALTIES

MOST_ROWS, MOST_COLUMNS = 45, 6
KERNEL_SOLVERS = ("auto", "auto", "decomposition", "interior-point", "dual-gradient")
LINEAR_SOLVERS = ("auto", "auto", "newton", "dual-coordinate", "primal-dual", "subgradient")
SCHEMES = ("ovo", "ovr", "code", "crammer-singer", "weston-watkins")
Draw = np.random.Generator


@dataclass(frozen=True)
class Case:
    """An estimator that is not fitted yet, and its data."""

    seed: int
    machine: Any
    X: FloatArray
    y: Any
    weight: FloatArray | None

    def fit(self) -> Any:
        """The fitted estimator."""
        if self.weight is None:
            return self.machine.fit(self.X, self.y)
        return self.machine.fit(self.X, self.y, sample_weight=self.weight)

    def __str__(self) -> str:
        return f"seed {self.seed}: {' '.join(repr(self.machine).split())} on {self.X.shape[0]} x {self.X.shape[1]}"


def case(seed: int) -> Case:
    """The problem number ``seed``."""
    draw = np.random.default_rng([0xE2D5, seed])
    make, classes, weighted = MACHINES[seed % len(MACHINES)]
    X = rows(draw)
    y = labels(draw, X, int(draw.integers(2, 5))) if classes else targets(draw, X)
    machine = make(draw)
    weight = 10.0 ** draw.uniform(-2, 2, len(X)) if weighted and draw.random() < 0.2 else None
    return Case(seed, machine, X, y, weight)


# -- data -------------------------------------------------------------------------------------------------------------


def rows(draw: Draw) -> FloatArray:
    """Few rows of few columns: noise, grids, repeated rows, columns that nearly depend on each other; any scale."""
    n, d = int(draw.integers(2, MOST_ROWS + 1)), int(draw.integers(1, MOST_COLUMNS + 1))
    kind = draw.integers(4)
    X = draw.normal(size=(n, d))
    if kind == 1:
        X = draw.integers(-2, 3, size=(n, d)).astype(float)
    elif kind == 2:
        X = X[draw.integers(0, max(1, n // 2), n)]
    elif kind == 3:
        X = X[:, :1] + 10.0 ** draw.uniform(-9, 0) * X
    if draw.random() < 0.5:  # columns of their own size
        X = X * 10.0 ** draw.uniform(-4, 4, d)
    if draw.random() < 0.4:  # far from the origin, in some of the columns
        X = X + np.where(draw.random(d) < 0.6, 10.0 ** draw.uniform(0, 6), 0.0)
    if draw.random() < 0.1:
        X = X * 10.0 ** draw.uniform(-60, 60)
    return np.round(X, 3) if draw.random() < 0.2 else X


def labels(draw: Draw, X: FloatArray, classes: int) -> Any:
    """Classes that a direction tells apart, mostly, or that nothing does; at least two are there."""
    score = draw.normal(size=len(X))
    if draw.random() < 0.7:
        score = X @ draw.normal(size=X.shape[1]) + 10.0 ** draw.uniform(-3, 0) * np.std(X) * score
    y = np.argsort(np.argsort(score)) * min(classes, len(X)) // len(X)
    return y if draw.random() < 0.8 else draw.permutation(y)


def targets(draw: Draw, X: FloatArray) -> FloatArray:
    """Numbers of any size, linear in the rows or not, now and then with an outlier."""
    y = X @ draw.normal(size=X.shape[1]) if draw.random() < 0.5 else draw.normal(size=len(X))
    y = y / (np.std(y) or 1.0) * 10.0 ** draw.uniform(-3, 3) + draw.choice([0.0, 0.0, 1e4])
    if draw.random() < 0.1:
        y[0] *= 1e5
    return np.asarray(y)


# -- machines ---------------------------------------------------------------------------------------------------------


def cost(draw: Draw) -> float:
    """A cost: moderate, or anything."""
    return float(10.0 ** (draw.uniform(-2, 4) if draw.random() < 0.7 else draw.uniform(-8, 12)))


def kernel(draw: Draw) -> dict[str, Any]:
    """Parameters of a kernel."""
    name = str(draw.choice(["linear", "linear", "rbf", "poly", "sigmoid"]))
    gamma = "scale" if draw.random() < 0.6 else float(10.0 ** draw.uniform(-4, 3))
    return {"kernel": name, "gamma": gamma, "degree": int(draw.integers(1, 5)), "coef0": float(draw.integers(0, 2))}


def stopping(draw: Draw) -> dict[str, Any]:
    """How far a kernel machine goes, and with which solver."""
    goal = draw.random()
    chosen: dict[str, Any] = {"solver": str(draw.choice(KERNEL_SOLVERS)), "tol": 1e-3 if goal < 0.6 else 1e-8}
    if goal > 0.8:
        chosen["gap_tol"] = float(10.0 ** draw.uniform(-10, -3))
    return chosen


def intercept(draw: Draw) -> dict[str, Any]:
    return {"fit_intercept": bool(draw.random() < 0.5)}


def scheme(draw: Draw) -> dict[str, Any]:
    """How many classes become tasks; now and then with probabilities."""
    chosen: dict[str, Any] = {"multiclass": str(draw.choice(SCHEMES))}
    if draw.random() < 0.1:
        chosen["calibration"] = "sigmoid"
    return chosen


def kernel_machine(make: Any, *parts: Callable[[Draw], dict[str, Any]]) -> Callable[[Draw], Any]:
    """A machine of parameters drawn part by part."""
    return lambda draw: make(**{name: value for part in parts for name, value in part(draw).items()})


def svc(draw: Draw) -> Any:
    chosen = scheme(draw) | stopping(draw)
    if chosen["multiclass"] in SCHEMES[3:]:
        chosen["solver"] = "auto"  # one problem of all classes has one solver
    C = np.inf if draw.random() < 0.1 and chosen["multiclass"] not in SCHEMES[3:] else cost(draw)
    if draw.random() < 0.05 and chosen["multiclass"] not in SCHEMES[3:]:
        chosen |= {"approximation": "nystroem", "n_components": 10, "solver": "auto", "gap_tol": None}
    return mm.SVC(C=C, **chosen, **kernel(draw), **intercept(draw))


def nu_svc(draw: Draw) -> Any:
    chosen = {**stopping(draw), **kernel(draw), **intercept(draw), "multiclass": str(draw.choice(SCHEMES[:3]))}
    return mm.NuSVC(nu=float(draw.uniform(0.02, 0.9)), **chosen)


def linear_goal(draw: Draw) -> dict[str, Any]:
    """How far a linear machine goes, with which solver, and on which columns."""
    chosen: dict[str, Any] = {"solver": str(draw.choice(LINEAR_SOLVERS)), "tol": float(10.0 ** draw.uniform(-10, -3))}
    chosen["scale"] = bool(draw.random() < 0.2)
    return chosen | intercept(draw)


def linear_svc(draw: Draw) -> Any:
    loss, penalty = str(draw.choice(["hinge", "squared_hinge"])), str(draw.choice(["l2", "l2", "l1"]))
    chosen = linear_goal(draw) | scheme(draw)
    if chosen["multiclass"] in SCHEMES[3:]:
        chosen, loss, penalty = chosen | {"solver": "auto"}, "hinge", "l2"
    return mm.LinearSVC(loss=loss, penalty=penalty, C=cost(draw), **chosen)


def linear_svr(draw: Draw) -> Any:
    loss = str(draw.choice(["epsilon_insensitive", "squared_epsilon_insensitive"]))
    return mm.LinearSVR(loss=loss, epsilon=float(draw.choice([0.0, 0.1])), C=cost(draw), **linear_goal(draw))


def any_linear(make: Any, labels: bool) -> Callable[[Draw], Any]:
    """A machine with any convex loss for labels, or for numbers, and any convex penalty."""
    losses = [name for name, loss in LOSSES.items() if loss.convex and (labels or not loss.of_margin)]
    penalties = [name for name, penalty in PENALTIES.items() if penalty.convex]

    def draw_one(draw: Draw) -> Any:
        loss, penalty = str(draw.choice(losses)), str(draw.choice(penalties))
        return make(loss, penalty, C=cost(draw), **linear_goal(draw))

    return draw_one


def least_squares(draw: Draw) -> Any:
    solver = str(draw.choice(["eigen", "cholesky", "cg"]))
    return mm.KernelLeastSquares(lam=1 / cost(draw), solver=solver, **kernel(draw))


def lssvc(draw: Draw) -> Any:
    chosen = kernel(draw) | intercept(draw) | {"solver": str(draw.choice(["cholesky", "cg"]))}
    return mm.LSSVC(C=cost(draw), multiclass=str(draw.choice(SCHEMES[:3])), **chosen)


def stochastic(make: Any) -> Callable[[Draw], Any]:
    def draw_one(draw: Draw) -> Any:
        return make(lam=float(10.0 ** draw.uniform(-8, 1)), random_state=0, **intercept(draw))

    return draw_one


def perceptron(make: Any) -> Callable[[Draw], Any]:
    return lambda draw: make(random_state=0, bound=bool(draw.random() < 0.5), **intercept(draw))


#: How a machine is drawn, whether it takes classes, and whether its rows may have weights.
MACHINES: list[tuple[Callable[[Draw], Any], bool, bool]] = [
    (svc, True, True),
    (nu_svc, True, False),
    (kernel_machine(mm.SVR, stopping, kernel, intercept, lambda d: {"C": cost(d), "epsilon": 0.1}), False, True),
    (
        kernel_machine(mm.NuSVR, stopping, kernel, intercept, lambda d: {"C": cost(d), "nu": d.uniform(0.02, 1)}),
        False,
        True,
    ),
    (kernel_machine(mm.OneClassSVM, stopping, kernel, lambda d: {"nu": d.uniform(0.02, 1)}), False, True),
    (
        kernel_machine(mm.SVDD, stopping, kernel, lambda d: {"C": None if d.random() < 0.5 else d.uniform(0.1, 1)}),
        False,
        True,
    ),
    (linear_svc, True, True),
    (linear_svr, False, True),
    (any_linear(mm.LinearClassifier, True), True, True),
    (any_linear(mm.LinearRegressor, False), False, True),
    (lssvc, True, True),
    (least_squares, False, True),
    (stochastic(mm.PegasosSVC), True, False),
    (stochastic(mm.SGDSVC), True, False),
    (stochastic(mm.KernelPegasosSVC), True, False),
    (perceptron(mm.Perceptron), True, False),
    (perceptron(mm.KernelPerceptron), True, False),
    (svc, True, True),  # the machine with most ways to be solved, again
    (
        kernel_machine(mm.NuSVR, stopping, kernel, intercept, lambda d: {"C": cost(d), "nu": d.uniform(0.02, 1)}),
        False,
        True,
    ),
    (linear_svc, True, True),
]
