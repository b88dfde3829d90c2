"""Limits are limits: ``python -m benchmarks.campaign.limits`` (``make limits``).

Every machine with a ``time_limit``, on data that take it many times longer than that to fit: the fit ends within the
limit and half a second, its proof, its calibrators and its published model included. It is wall time that counts, so
the computer should have nothing else to do. On one that has, ``--busy`` puts processor time in its place, in all clocks
that a fit looks at, with one thread: tails are then as long as on a single core.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import maxmargin as mm
from benchmarks.campaign._trials import Failure, Kind, run

#: Seconds given to every fit, and seconds, or the part of them, by which it may be late.
LIMIT, LATE, PART = 1.0, 0.5, 0.2


class Case(NamedTuple):
    """A machine, and the size of the data that take it long."""

    make: Callable[..., Any]
    rows: int
    width: int
    classes: int = 2  # 0: a regression
    sparse: bool = False


CASES = {
    "SVC": Case(partial(mm.SVC, C=100.0), 40_000, 30),
    "SVC polynomial": Case(partial(mm.SVC, kernel="poly", C=100.0), 20_000, 30),
    "SVC Laplacian": Case(partial(mm.SVC, kernel=mm.kernels.Laplacian(0.1), C=10.0), 20_000, 30),
    "SVC callable": Case(partial(mm.SVC, kernel=lambda X, Z: X @ Z.T, C=10.0), 10_000, 30),
    "SVC linear": Case(partial(mm.SVC, kernel="linear", C=10.0), 20_000, 30),
    "SVC hard margin": Case(partial(mm.SVC, C=np.inf), 10_000, 30),
    "SVC calibrated": Case(partial(mm.SVC, C=10.0, calibration="sigmoid"), 20_000, 30),
    "SVC 990 pairs": Case(partial(mm.SVC, C=10.0), 27_000, 30, 45),
    "SVC 190 pairs calibrated": Case(partial(mm.SVC, C=10.0, calibration="isotonic"), 20_000, 30, 20),
    "SVC 990 pairs calibrated": Case(partial(mm.SVC, C=10.0, calibration="sigmoid"), 27_000, 30, 45),
    "SVC one-vs-all": Case(partial(mm.SVC, C=10.0, multiclass="ovr"), 20_000, 30, 20),
    "SVC one-vs-all calibrated": Case(partial(mm.SVC, multiclass="ovr", calibration="venn-abers"), 9_000, 30, 20),
    "SVC codes": Case(partial(mm.SVC, C=10.0, multiclass="code"), 20_000, 30, 20),
    "SVC Crammer-Singer": Case(partial(mm.SVC, C=10.0, multiclass="crammer-singer"), 9_000, 30, 20),
    "SVC Crammer-Singer calibrated": Case(
        partial(mm.SVC, C=10.0, multiclass="crammer-singer", calibration="sigmoid"), 9_000, 30, 20
    ),
    "SVC Weston-Watkins": Case(partial(mm.SVC, C=10.0, multiclass="weston-watkins"), 9_000, 30, 20),
    "SVC Nystroem": Case(partial(mm.SVC, C=10.0, approximation="nystroem", n_components=2000), 60_000, 30),
    "SVC Nystroem, classes": Case(partial(mm.SVC, C=10.0, approximation="nystroem", n_components=1000), 40_000, 30, 20),
    "SVC Nystroem calibrated": Case(
        partial(mm.SVC, C=10.0, approximation="nystroem", n_components=1000, calibration="sigmoid"), 40_000, 30, 20
    ),
    "NuSVC": Case(partial(mm.NuSVC, nu=0.1), 30_000, 30),
    "SVR": Case(partial(mm.SVR, C=100.0, epsilon=0.01), 30_000, 30, 0),
    "NuSVR": Case(partial(mm.NuSVR, C=100.0), 20_000, 30, 0),
    "OneClassSVM": Case(partial(mm.OneClassSVM, nu=0.1), 30_000, 30),
    "OneClassSVM, half outside": Case(partial(mm.OneClassSVM, nu=0.5), 40_000, 30),
    "OneClassSVM, many rows": Case(partial(mm.OneClassSVM, nu=0.5), 150_000, 30),
    "SVDD": Case(partial(mm.SVDD, C=1e-3), 40_000, 30),
    "LinearSVC": Case(partial(mm.LinearSVC, C=1e4, tol=1e-9), 200_000, 50),
    "LinearSVC one-vs-all": Case(partial(mm.LinearSVC, C=100.0), 60_000, 100, 45),
    "LinearSVC 990 pairs": Case(partial(mm.LinearSVC, C=100.0, multiclass="ovo"), 45_000, 50, 45),
    "LinearSVC Crammer-Singer": Case(partial(mm.LinearSVC, C=100.0, multiclass="crammer-singer"), 40_000, 100, 20),
    "LinearSVC sparse": Case(partial(mm.LinearSVC, C=100.0), 60_000, 20_000, 20, True),
    "LinearSVC calibrated": Case(partial(mm.LinearSVC, C=10.0, calibration="sigmoid"), 60_000, 60, 20),
    "LinearSVR": Case(partial(mm.LinearSVR, C=100.0, tol=1e-9), 200_000, 100, 0),
    "LinearClassifier logistic, l1": Case(partial(mm.LinearClassifier, "logistic", "l1", C=1.0), 100_000, 200),
    "LinearRegressor squared, l1": Case(partial(mm.LinearRegressor, "squared", "l1", C=1.0), 100_000, 500, 0),
    "LinearRegressor squared": Case(partial(mm.LinearRegressor, "squared", C=1.0), 40_000, 1500, 0),
    "PegasosSVC": Case(partial(mm.PegasosSVC, lam=1e-6, max_iter=1000), 500_000, 50),
    "PegasosSVC, classes": Case(partial(mm.PegasosSVC, lam=1e-6, max_iter=1000), 100_000, 50, 20),
    "PegasosSVC calibrated": Case(
        partial(mm.PegasosSVC, lam=1e-6, max_iter=1000, calibration="sigmoid"), 100_000, 50, 20
    ),
    "SGDSVC": Case(partial(mm.SGDSVC, max_iter=1000), 500_000, 50),
    "Perceptron": Case(partial(mm.Perceptron, max_iter=10_000), 200_000, 50, 10),
    "KernelPegasosSVC": Case(partial(mm.KernelPegasosSVC, lam=1e-6, max_iter=100), 60_000, 30),
    "KernelPegasosSVC calibrated": Case(
        partial(mm.KernelPegasosSVC, lam=1e-6, max_iter=100, calibration="sigmoid"), 60_000, 30
    ),
    "KernelPerceptron": Case(partial(mm.KernelPerceptron, max_iter=100), 60_000, 30),
    "SVCCV": Case(mm.SVCCV, 9_000, 30),
    "SVCCV large": Case(mm.SVCCV, 30_000, 30),
    "SVCCV 190 pairs": Case(mm.SVCCV, 8_000, 30, 20),
    "NuSVCCV": Case(mm.NuSVCCV, 8_000, 30),
    "SVRCV": Case(mm.SVRCV, 9_000, 30, 0),
    "LinearSVCCV": Case(mm.LinearSVCCV, 100_000, 50, 10),
    "LinearRegressorCV": Case(partial(mm.LinearRegressorCV, "squared", "l1"), 60_000, 300, 0),
    "PegasosSVCCV": Case(mm.PegasosSVCCV, 100_000, 50),
    "KernelLeastSquaresCV": Case(mm.KernelLeastSquaresCV, 9_000, 30, 0),
    "KernelLeastSquaresCV, one cell": Case(
        partial(mm.KernelLeastSquaresCV, lams=[0.1], gammas=["scale"], cv=2), 4_500, 30, 0
    ),
}


def data(case: Case, seed: int) -> tuple[Any, np.ndarray]:
    """Overlapping classes, or a noisy function, of many rows."""
    rng = np.random.default_rng(seed)
    if case.sparse:
        X = sp.random(case.rows, case.width, 40 / case.width, format="csr", rng=rng)
        scores = X @ rng.normal(size=(case.width, max(case.classes, 2)))
    else:
        X = rng.normal(size=(case.rows, case.width))
        scores = np.tanh(X @ rng.normal(size=(case.width, 8)) / 3) @ rng.normal(size=(8, max(case.classes, 2)))
    scores = scores + rng.normal(size=scores.shape) * 0.5 * scores.std()
    return X, scores[:, 0] if case.classes == 0 else scores.argmax(axis=1)


def trial(case: Case) -> Callable[[int], str]:
    """What happens to a fit of a case."""

    def fit(seed: int) -> str:
        X, y = data(case, seed)
        limited(case, X, y)  # compiles, or loads, all that the fit below will need
        began = time.perf_counter()
        limited(case, X, y)
        seconds = time.perf_counter() - began
        print(f"    {seconds:.2f} s", flush=True)
        if seconds > LIMIT + max(LATE, PART * LIMIT):
            raise Failure(f"{seconds:.2f} s under a limit of {LIMIT:g} s")
        return "in time" if seconds > LIMIT / 2 else "finished early"

    return fit


def limited(case: Case, X: Any, y: np.ndarray) -> None:
    """A fit under the limit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            case.make(time_limit=LIMIT).fit(X, y)
        except ValueError as error:  # no cell was finished: what a search says when it has nothing to publish
            if "time_limit" not in str(error):
                raise


if __name__ == "__main__":
    words = sys.argv[1:]
    if "--busy" in words:
        words.remove("--busy")
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        time.perf_counter = time.process_time
    raise SystemExit(run("limits", {name: Kind(3, trial(case)) for name, case in CASES.items()}, __doc__, words))
