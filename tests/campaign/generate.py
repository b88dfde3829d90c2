"""Problems from a stream and a seed: the same seed is the same problem, everywhere.

Row weights, class weights and nu are sums of few powers of 2, so that the costs of the rows are what they are said to
be without rounding; everything else is arbitrary.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.campaign.published import Problem
from tests.campaign.true_kernels import GIVEN, Spec

STREAMS = ("moderate", "extreme")
WEIGHTS = (0.0, 0.25, 0.5, 1.0, 1.0, 2.0, 4.0)
NUS = (0.0625, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75)
#: Steps that a linear machine may take.
LINEAR_STEPS = 100
#: (machine and variant, share of the problems)
MACHINES = (
    ("SVC", 26), ("SVC, many", 8), ("SVC, all classes", 6), ("SVC, hard", 6), ("NuSVC", 8), ("SVR", 8), ("NuSVR", 6),
    ("OneClassSVM", 6), ("SVDD", 6), ("LSSVC", 6), ("LinearSVC", 7), ("LinearSVC, all classes", 3),
    ("LinearSVC, hard", 2), ("LinearSVR", 5), ("LinearClassifier", 8), ("LinearRegressor", 8),
)  # fmt: skip
#: Of the problems of LinearClassifier, the share that is one of all classes; ``only`` takes its name, too.
SOFTMAX, SOFTMAX_SHARE = "LinearClassifier, softmax", 0.3
#: Of these, the share with so many columns that its solver goes another way.
WIDE_SHARE = 0.04


def problem(stream: str, seed: int, only: str | None = None) -> Problem:
    """The problem of a seed; ``only`` keeps to machines whose name begins so (and changes what a seed means)."""
    rng = np.random.default_rng([STREAMS.index(stream), seed])
    table = [(name, share) for name, share in MACHINES if only is None or name.startswith(only)]
    shares = np.array([share for _, share in table], dtype=float)
    kind = SOFTMAX if only == SOFTMAX else table[int(rng.choice(len(table), p=shares / shares.sum()))][0]
    # by a draw of its own, so that seeds mean what they meant before there was softmax
    if kind == "LinearClassifier" and np.random.default_rng([STREAMS.index(stream), seed, 1]).random() < SOFTMAX_SHARE:
        kind = SOFTMAX
    machine, _, variant = kind.partition(", ")
    extreme = stream == "extreme"
    X, recipe = rows(rng, extreme, machine)
    if variant == "softmax" and rng.random() < WIDE_SHARE:
        X, recipe = widened(rng, X), f"{recipe} wide"
    linear = machine.startswith("Linear")
    spec = None if linear else kernel(rng, X, extreme)
    if spec is not None and spec[0] in ("chi2", "callable"):
        X = np.abs(X)
    classes = 2 if variant in ("", "hard") and rng.random() < 0.8 else int(rng.integers(2, 5))
    y = targets(rng, X, machine, classes, extreme, separable=variant == "hard")
    weight = _weights(rng, y, machine)
    params = _params(rng, machine, variant, extreme, y, weight)
    if spec == ("precomputed",):
        G = np.round(4 * rng.standard_normal((len(X), 3))) / 4  # so that G G' is exact
        X = np.asarray(G @ G.T * 2.0 ** int(rng.integers(-40, 40) if extreme else 0))
        recipe = "exact G G'"
    return Problem(
        machine, X, y, weight, spec, params, f"{kind}: {recipe}", configurations(rng, machine, variant, params, X)
    )


# -- rows ---------------------------------------------------------------------------------------------------------


def rows(rng: Any, extreme: bool, machine: str) -> tuple[Any, str]:
    """(X, how it was made)."""
    n, d = 4 + int(36 * rng.random() ** 1.5), int(rng.integers(1, 7))
    kind = rng.choice(["normal", "uniform", "whole", "repeated", "blobs"])
    X = rng.standard_normal((n, d))
    if kind == "uniform":
        X = rng.random((n, d))
    elif kind == "whole":
        X = np.round(2 * X)
    elif kind == "repeated":
        X = X[rng.integers(0, max(2, n // 2), n)]
    elif kind == "blobs":
        X += 4 * rng.integers(-1, 2, (n, 1))
    words = [str(kind)]
    if extreme:
        X = _stretched(rng, X, words)
    else:
        X = X * 10.0 ** rng.uniform(-1.5, 1.5)
        if rng.random() < 0.3:
            words.append("offset")
            X = X + 10.0 ** rng.uniform(-1, 1.5)
    if rng.random() < 0.2 and np.abs(X).max() < 1e30 and not (np.abs(X[X != 0]) < 1e-30).any():
        words.append("float32")
        X = X.astype(np.float32)
    return np.ascontiguousarray(X), " ".join(words)


def widened(rng: Any, X: Any) -> Any:
    """The rows beside some hundreds of columns, most of whose values are 0."""
    n, more = len(X), int(rng.integers(1260, 1400))
    wide = rng.standard_normal((n, more)) * (rng.random((n, more)) < 0.05) * np.abs(X).max()
    return np.ascontiguousarray(np.hstack([X, wide.astype(X.dtype)]))


def _stretched(rng: Any, X: Any, words: list[str]) -> Any:
    """Columns of different sizes, offsets, outliers, and sizes up to the ends of float64."""
    chance = rng.random(4)
    if chance[0] < 0.4:
        words.append("columns")
        X = X * 10.0 ** rng.uniform(-8, 8, X.shape[1])
    if chance[1] < 0.35:
        words.append("offsets")
        X = X + np.abs(X).max() * 10.0 ** rng.uniform(1, 8, X.shape[1]) * (rng.random(X.shape[1]) < 0.7)
    if chance[2] < 0.25:
        words.append("outliers")
        X[rng.integers(0, len(X), 2)] *= 10.0 ** rng.uniform(2, 6)
    if chance[3] < 0.2:
        words.append("sizes")
        X = X / np.abs(X).max() * 10.0 ** rng.uniform(-310, 153) if X.any() else X
    elif chance[3] < 0.6:
        X = X * 10.0 ** rng.uniform(-8, 8)
    return X


def targets(rng: Any, X: Any, machine: str, classes: int, extreme: bool, separable: bool = False) -> Any:
    """Classes 0 .. classes - 1, each present, or numbers."""
    n = len(X)
    with np.errstate(all="ignore"):
        size = np.abs(X).max(axis=0).astype(np.float64)
        Z = X / np.where(size > 0, size, 1)
        Z = (Z - Z.mean(axis=0)) / np.where(Z.std(axis=0) > 0, Z.std(axis=0), 1)
    score = np.nan_to_num(Z) @ rng.standard_normal(X.shape[1]) + (0.0 if separable else 0.7) * rng.standard_normal(n)
    if machine in ("SVR", "NuSVR", "LinearSVR", "LinearRegressor"):
        y = score + 0.3 * np.sin(3 * score)
        return y * 10.0 ** (rng.uniform(-10, 10) if extreme else rng.uniform(-1, 1)) + (rng.random() < 0.3) * 10.0
    if rng.random() < 0.15 and not separable:
        score = rng.standard_normal(n)
    edges = np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1])
    y = np.searchsorted(edges, score)
    if len(np.unique(y)) < classes:
        y = np.arange(n) % classes
    return y


def _weights(rng: Any, y: Any, machine: str) -> Any:
    if rng.random() < 0.7:
        return None
    weight = rng.choice(WEIGHTS, len(y))
    if y.dtype.kind == "i":  # every class keeps a row
        for c in np.unique(y):
            weight[int(np.flatnonzero(y == c)[0])] = 1.0
    weight[:2] = np.maximum(weight[:2], 0.5)
    return weight


# -- kernels ------------------------------------------------------------------------------------------------------


def kernel(rng: Any, X: Any, extreme: bool) -> Spec:
    """A kernel whose width fits the rows, more or less."""
    with np.errstate(all="ignore"):
        spread = float(np.var(X.astype(np.float64), axis=0).sum())
    spread = spread if np.isfinite(spread) and spread > 1e-290 else 1.0
    wide = rng.uniform(-7, 7) if extreme and rng.random() < 0.5 else rng.uniform(-1.5, 1.0)
    gamma = float(min(max(10.0**wide / spread, 1e-300), 1e300))
    length = float(min(max(np.sqrt(spread) * 10.0 ** -(wide / 2), 1e-140), 1e140))
    if rng.random() < 0.8:
        return _simple(rng, X.shape[1], gamma, length)
    left, right = _simple(rng, X.shape[1], gamma, length, False), _simple(rng, X.shape[1], gamma, length, False)
    factor = ("constant", float(2.0 ** rng.integers(-3, 4)))
    bounded = ("rbf", gamma)
    return [
        ("sum", left, right), ("product", left, right), ("product", factor, left), ("power", left, 2),
        ("exp", bounded), ("polynomial", bounded, (0.5, 1.0, 0.25)), ("over", gamma, ("linear",)),
        ("over", 1.0, ("rbf", gamma)), ("warp", left, "halves"), ("of", left, "first two"),
        ("sum", ("product", factor, bounded), ("power", ("linear",), 2)),
    ][int(rng.integers(0, 11))]  # fmt: skip


def _simple(rng: Any, d: int, gamma: float, length: float, alone: bool = True) -> Spec:
    A = np.round(2 * rng.standard_normal((d, d)))
    root = float(np.sqrt(gamma))
    choices: list[Spec] = [
        ("linear",), ("linear",), ("linear",), ("rbf", gamma), ("rbf", gamma), ("rbf", gamma), ("rbf-sigma", length),
        ("poly", int(rng.integers(1, 5)), float(rng.choice([0.0, 1.0, 0.5])), gamma), ("exponential", root),
        ("matern", float(rng.choice([0.5, 1.5, 2.5])), length),
        ("rational", float(rng.choice([0.5, 1.0, 1.7])), length), ("laplacian", root), ("cosine",),
        ("form", (A @ A.T).tolist()),
    ]  # fmt: skip
    if alone:
        choices += [("chi2", root), ("precomputed",), ("callable", "least")]
    return choices[int(rng.integers(0, len(choices)))]


# -- parameters ---------------------------------------------------------------------------------------------------


def _params(rng: Any, machine: str, variant: str, extreme: bool, y: Any, weight: Any) -> dict[str, Any]:
    params: dict[str, Any] = {}
    C = float(10.0 ** (rng.uniform(-8, 12) if extreme else rng.uniform(-3, 4)))
    if variant == "hard":
        C = np.inf
    if machine not in ("NuSVC", "OneClassSVM", "SVDD"):
        params["C"] = C
    if machine == "SVDD":
        total = len(y) if weight is None else float(np.sum(weight))
        params["C"] = float(rng.choice([1.0, 2.0, 8.0 / total if total > 8 else 1.0]))
    if machine in ("NuSVC", "NuSVR", "OneClassSVM"):
        params["nu"] = float(rng.choice(NUS))
    if machine in ("SVR", "LinearSVR"):
        spread = float(np.std(y)) or 1.0
        params["epsilon"] = float(rng.choice([0.0, 0.1, 0.25, 1.0]) * spread)
    if machine not in ("OneClassSVM", "SVDD"):
        params["fit_intercept"] = bool(rng.random() < 0.75)
    classifier = y.dtype.kind == "i" and machine not in ("OneClassSVM", "SVDD")
    if classifier and rng.random() < 0.15:
        params["class_weight"] = {int(c): float(rng.choice([0.5, 1.0, 2.0, 4.0])) for c in np.unique(y)}
    elif classifier and rng.random() < 0.05:
        params["class_weight"] = "balanced"
    if variant in ("many", "") and classifier and len(np.unique(y)) > 2:
        params["multiclass"] = str(rng.choice(["ovo", "ovr", "code"]))
    if variant == "softmax":
        params["multiclass"] = "softmax"
    if variant == "all classes":
        params["multiclass"] = str(rng.choice(["crammer-singer", "weston-watkins"]))
    if machine.startswith("Linear"):
        _linear_params(rng, machine, variant, params, float(np.std(y)) or 1.0)
    return params


def _linear_params(rng: Any, machine: str, variant: str, params: dict[str, Any], spread: float) -> None:
    penalties: list[tuple[Any, ...]] = [("l2",), ("l2",), ("l1",), ("l1",)]
    if machine in ("LinearClassifier", "LinearRegressor"):
        penalties += [("elasticnet", 0.5), ("elasticnet", 0.125), ("elasticnet", 0.25), ("pnorm", 1.5), ("none",)]
    losses: list[tuple[Any, ...]] = {
        "LinearSVC": [("hinge",), ("squared_hinge",)],
        "LinearSVR": [(f"{square}epsilon_insensitive", params.get("epsilon")) for square in ("", "squared_")],
        "LinearClassifier": [
            ("hinge",), ("squared_hinge",), ("logistic",), ("logistic",), ("exponential",), ("squared",),
            ("perceptron",),
        ],
        "LinearRegressor": [
            ("squared",), ("absolute",), ("epsilon_insensitive", 0.25 * spread),
            ("squared_epsilon_insensitive", 0.25 * spread), ("huber", spread), ("pinball", 0.25),
        ],
    }[machine]  # fmt: skip
    penalty = penalties[int(rng.integers(0, len(penalties)))]
    if variant == "softmax":
        losses = [("logistic",)]
    if variant:  # the hard margin and the problems for all classes
        penalty = ("l2",)
    params["loss pair"], params["penalty pair"] = losses[int(rng.integers(0, len(losses)))], penalty
    if rng.random() < 0.15:
        params["scale"] = True


# -- configurations -----------------------------------------------------------------------------------------------


def configurations(rng: Any, machine: str, variant: str, params: dict[str, Any], X: Any) -> list[dict[str, Any]]:
    """Two or three ways to solve the same problem: tolerances, solvers, layouts and types of the rows."""
    layout = str(rng.choice(["dense", "dense", "dense", "sparse"]))
    if params.get("scale"):
        layout = "dense"  # sparse rows are not centred
    wide = {"dtype": "float64"} if X.dtype == np.float32 and rng.random() < 0.5 and not params.get("scale") else {}
    if machine == "LSSVC":
        return [{"layout": layout}, {"layout": "dense", "solver": "cg", **wide}]
    if machine.startswith("Linear"):
        # steps are limited by their number: a limit of time would make a seed mean different things
        most = {"max_iter": 4 if params["penalty pair"][0] == "pnorm" else LINEAR_STEPS}
        others: list[dict[str, Any]] = [{**most, "tol": 1e-9}, {**most, "tol": 1e-12}, {"max_iter": 3}]
        if not variant:
            others += [{"solver": "primal-dual", "max_iter": 4}]
            if params["penalty pair"][0] == "l2":
                others += [
                    {**most, "solver": "dual-coordinate", "tol": 1e-8},
                    {**most, "solver": "newton", "tol": 1e-10},
                ]
        return [{"layout": layout, **most}, {"layout": "dense", **others[int(rng.integers(0, len(others)))], **wide}]
    others = [{"tol": 1e-6}, {"gap_tol": 1e-10}, {"gap_tol": 1e-2}, {"max_iter": 10}]
    if variant != "all classes":
        others += [{"solver": "interior-point"}, {"solver": "dual-gradient", "max_iter": 50}]
    return [{"layout": layout}, {"layout": "dense", **others[int(rng.integers(0, len(others)))], **wide}]


__all__ = ["GIVEN", "STREAMS", "configurations", "kernel", "problem", "rows", "targets"]
