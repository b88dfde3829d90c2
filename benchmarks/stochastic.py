"""PegasosSVC beside scikit-learn's SGDClassifier: ``python -m benchmarks.stochastic --data DIR``.

Both minimise ``lam/2 ||w||^2 + mean_i max(0, 1 - t_i w . x_i)`` on the same float32 rows, without an intercept, one row
a step. Told are row updates per second in a fit of ten passes, and the seconds of a fit whose objective is within 1e-3
of a proven lower bound, relatively: passes are doubled until it is. Fits are warmed up and the best of a few count.
Of PegasosSVC and SGDSVC with their defaults it is also told how many times the truth the gap of their certificate is.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.arena import bound, linear, sets
from benchmarks.arena.__main__ import environment
from benchmarks.arena.case import Missing, layout, open_source
from benchmarks.arena.table import seconds

SETS = ("a9a", "covtype", "news20")
LAM = 1e-4
GOAL = 1e-3  # relative excess of the objective
BOUND_TOL = 1e-6  # gap of the lower bound: far below the goal
PROOF_TOL = 1e-8  # and far below the gaps of certificates
MOST_PASSES = 1024
RATE_PASSES = 10  # of the fit that gives the rate
WARM_ROWS = 2000
TASK = "linear-hinge"


@dataclass
class Line:
    """One machine on one set; `excess` is what its objective is above the bound after `passes`, relatively."""

    set: str
    competitor: str
    rows: int
    passes: int
    excess: float
    reached: bool
    seconds: float
    updates: float  # rows per second


def pegasos(passes: int) -> Any:
    """maxmargin's, with its default average, and without its certificate: nobody else here computes one."""
    from maxmargin import PegasosSVC

    return PegasosSVC(lam=LAM, max_iter=passes, fit_intercept=False, certify=False, random_state=0)


def sgd(passes: int, average: bool = False) -> Any:
    """scikit-learn's, with its default steps."""
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(alpha=LAM, max_iter=passes, tol=None, average=average, fit_intercept=False, random_state=0)


MACHINES: dict[str, Callable[[int], Any]] = {
    "maxmargin PegasosSVC": pegasos,
    "sklearn SGDClassifier": sgd,
    "sklearn SGDClassifier, averaged": partial(sgd, average=True),
}


def excess(model: Any, X: Any, y: np.ndarray, lowest: float) -> float:
    """How far the objective of a model is above its lower bound, as a share."""
    C = 1.0 / (LAM * len(y))
    primal = linear.objective(X, y, model.coef_, np.zeros(1), C, linear.POWER[TASK])
    return float(linear.gaps(primal, np.array([lowest]))[0])


def fitted(make: Callable[[int], Any], passes: int, X: Any, y: np.ndarray, repeat: int) -> tuple[Any, float]:
    """A model after so many passes, and the best time of a few fits."""
    times = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(repeat):
            model = make(passes)
            start = time.perf_counter()
            model.fit(X, y)
            times.append(time.perf_counter() - start)
    return model, min(times)


def measured(name: str, X: Any, y: np.ndarray, options: argparse.Namespace) -> Iterator[Line]:
    """Every machine on one set."""
    params = {"C": 1.0 / (LAM * len(y)), "fit_intercept": False}
    found = bound.find(X, y, TASK, params, tol=BOUND_TOL)
    if "reason" in found:
        raise Missing(f"no lower bound: {found['reason']}")
    some = np.sort(np.random.default_rng(0).permutation(len(y))[:WARM_ROWS])
    for competitor, make in MACHINES.items():
        fitted(make, 1, X[some], y[some], 1)
        yield _one(name, competitor, make, X, y, found["dual"][0], options)


def _one(name: str, competitor: str, make: Any, X: Any, y: np.ndarray, lowest: float, options: Any) -> Line:
    """Double the passes until the objective is good enough, the limit is passed, or there are too many."""
    rate = RATE_PASSES * len(y) / fitted(make, RATE_PASSES, X, y, options.repeat)[1]
    passes = 1
    while True:
        model, best = fitted(make, passes, X, y, options.repeat)
        above = excess(model, X, y, lowest)
        if above <= GOAL or best > options.limit or 2 * passes > MOST_PASSES:
            return Line(name, competitor, len(y), passes, above, above <= GOAL, best, rate)
        passes *= 2


def proofs(name: str, X: Any, y: np.ndarray) -> Iterator[str]:
    """How many times the excess of the objective the certificates of default fits claim at most, in words."""
    from maxmargin import SGDSVC, LinearSVC, PegasosSVC

    for intercept in (False, True):
        C = 1.0 / (LAM * len(y))
        best = LinearSVC(C=C, loss="hinge", fit_intercept=intercept, tol=PROOF_TOL, max_iter=10**6).fit(X, y)
        for machine in (PegasosSVC, SGDSVC):
            own = machine(lam=LAM, fit_intercept=intercept, random_state=0).fit(X, y).certificate_
            truth = own.primal - best.certificate_.dual
            words = "with" if intercept else "without"
            yield f"{name}: {machine.__name__} {words} an intercept: gap {own.gap / truth:.1f} times the truth"


def run(options: argparse.Namespace) -> None:
    """Measure and print set by set."""
    source = open_source(options.data)
    known = {data.NAME: data for data, _ in sets.discover().values()}
    lines: list[Line] = []
    for name in options.sets or SETS:
        try:
            split = known[name].load(source, None)
        except (Missing, OSError) as why:
            print(f"{name}: missed: {why}")
            continue
        for words in proofs(name, layout(split.X), split.y):
            print(words, flush=True)
        for line in measured(name, layout(split.X), split.y, options):
            lines.append(line)
            print(_words(line), flush=True)
            if options.json is not None:
                about = {"lam": LAM, "goal": GOAL, "environment": environment()}
                options.json.write_text(json.dumps(about | {"rows": [asdict(x) for x in lines]}, indent=1) + "\n")


def _words(line: Line) -> str:
    there = "" if line.reached else f", objective still {line.excess:.0e} too large"
    passes = f"{line.passes} pass{'' if line.passes == 1 else 'es'}"
    return f"{line.set}: {line.competitor}: {line.updates:.3g} rows/s, {seconds(line.seconds)} in {passes}{there}"


def main(arguments: list[str] | None = None) -> None:
    """Parse and run."""
    p = argparse.ArgumentParser("python -m benchmarks.stochastic", description=(__doc__ or "").partition("\n")[0])
    p.add_argument("--data", metavar="DIR", help="folder with a load.py, as for the arena")
    p.add_argument("--sets", nargs="+", choices=SETS, help="default: all")
    p.add_argument("--repeat", type=int, default=3, help="fits of which the best counts (default 3)")
    p.add_argument(
        "--limit", type=float, default=30.0, help="passes are not doubled after a fit this long (default 30)"
    )
    p.add_argument("--json", metavar="FILE", type=Path, help="also write everything here")
    run(p.parse_args(arguments))


if __name__ == "__main__":
    main()
