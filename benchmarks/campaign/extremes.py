"""Fits at the ends of floating-point numbers: ``python -m benchmarks.campaign.extremes`` (``make extremes``).

Every machine on a few rows, of scales from 1e-310 to 1e200, with functions that are not kernels, equal rows, costs
up to infinity and weights from 1e-300 to 1e300: a model that predicts, or a ValueError in words, and nothing else. With
``NUMBA_BOUNDSCHECK=1`` (and a ``NUMBA_CACHE_DIR`` of its own) compiled loops check their indices, too.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from typing import Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter

import maxmargin as mm
from benchmarks.campaign._trials import Failure, Kind, run, words_of
from maxmargin import kernels

MACHINES = (
    "SVC",
    "NuSVC",
    "SVR",
    "NuSVR",
    "OneClassSVM",
    "SVDD",
    "LinearSVC",
    "LinearSVR",
    "PegasosSVC",
    "KernelPegasosSVC",
    "KernelPerceptron",
    "KernelLeastSquares",
    "LSSVC",
    "KernelDiscriminantAnalysis",
)
NUMBERS = {
    "C": [np.inf, np.inf, 1, 1e-300, 1e-8, 1e12, 1e150, 1e300],
    "nu": [0.01, 0.3, 0.5, 1.0],
    "epsilon": [0.0, 1e-300, 0.1, 1e300],
    "lam": [1e-300, 1e-8, 1.0, 1e300],
}
SCALES = [0, 0, 0, -310, -200, -100, -8, 8, 76, 100, 150, 153, 200]


def kernel_of(rng: np.random.Generator, d: int) -> Any:
    """A kernel, or a function that is not one."""
    form = rng.normal(size=(d, d))
    found = ["linear", "rbf", "poly", "sigmoid", "precomputed", lambda A, B: A @ (form + form.T) @ B.T,
             lambda A, B: -(A @ B.T), lambda A, B: np.zeros((len(A), len(B))), kernels.Exponential(1.0),
             kernels.Sigmoid(10.0 ** int(rng.integers(-5, 6)), 0.5), kernels.Constant(1e-300)]  # fmt: skip
    return found[rng.integers(len(found))]


def rows_of(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Rows of some scale, all of them equal, zero or rounded in some cases."""
    X = rng.normal(size=(n, d))
    shape = rng.integers(6)
    X = [np.zeros_like(X), np.round(X), np.repeat(X[:1], n, axis=0), X, X, X][shape]
    return X * 10.0 ** float(rng.choice(SCALES))


def options_of(machine: Any, kernel: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Parameters at the ends of their ranges."""
    known = machine().get_params()
    chosen: dict[str, Any] = {name: float(rng.choice(values)) for name, values in NUMBERS.items() if name in known}
    if machine in (mm.OneClassSVM, mm.SVDD):
        chosen.pop("C", None)
    wanted = {"kernel": kernel, "fit_intercept": bool(rng.integers(2)), "time_limit": 2.0}
    if rng.integers(2):
        wanted["max_iter"] = int(rng.choice([1, 200]))
    if rng.integers(3) == 0:
        wanted["solver"] = "interior-point"
    return {**chosen, **{name: value for name, value in wanted.items() if name in known}}


def trial(seed: int) -> str:
    """Every machine on data of a seed: a model or a ValueError."""
    rng, ended = np.random.default_rng(seed), Counter[str]()
    n, d = int(rng.integers(2, 25)), int(rng.integers(1, 5))
    X, y = rows_of(rng, n, d), rng.integers(0, 2 + seed % 2, size=n)
    y[:2] = [0, 1]
    target = rng.normal(size=n) * 10.0 ** float(rng.choice([0, 0, -310, 100, 150, 153, 300]))
    square = rng.normal(size=(n, n)) * 10.0 ** float(rng.choice([0, 0, -310, 100, 150]))
    square = -np.abs(square + square.T) if rng.integers(2) else square + square.T
    weight = 10.0 ** rng.choice([-300.0, -8, 0, 8, 150, 300], size=n) if rng.integers(3) == 0 else None
    kernel = kernel_of(rng, d)
    for name in MACHINES:
        machine = getattr(mm, name)
        options = options_of(machine, kernel, rng)
        rows = square if options.get("kernel") == "precomputed" else X
        own = target if name in ("SVR", "NuSVR", "LinearSVR", "KernelLeastSquares") else y
        ended[fitted(machine(**options), rows, own, weight, seed)] += 1
    return "a model or words" if ended else "nothing"


def fitted(machine: Any, X: np.ndarray, y: np.ndarray, weight: Any, seed: int) -> str:
    """'a model' or 'refused'; Failure on any other exception, and where a refusal leaves a trace."""
    before = set(vars(machine))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            weighted = weight is not None and has_fit_parameter(machine, "sample_weight")
            machine.fit(X, y, sample_weight=weight) if weighted else machine.fit(X, y)
            machine.predict(X)
        except ValueError as error:
            if not str(error).strip():
                raise Failure(f"{machine!r}: an error without words") from error
            return "refused"
        except Exception as error:
            raise Failure(f"{machine!r} on {X.shape}: {words_of(error)}") from error
    return "a model" if set(vars(machine)) > before else "nothing"


KINDS = {"extremes": Kind(5000, trial)}

if __name__ == "__main__":
    sys.exit(run("extremes", KINDS, __doc__))
