"""Beyond the Gram matrix: ``python -m benchmarks.large --data DIR``.

Machines for more rows than a kernel matrix could hold: SVC and least squares on landmarks, Pegasos with a budget. Told
are the time of a fit, its relative gap or residual, accuracy on rows that were not used, the same of a linear SVM, and
the peak of resident memory beyond what was in use before the fit. Every case runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.arena import memory, sets
from benchmarks.arena.__main__ import environment
from benchmarks.arena.case import Missing, Split, open_source
from benchmarks.arena.table import seconds

#: Landmarks, and vectors of a budget.
LANDMARKS, BUDGET = 4000, 2000
#: Share of the rows that is held out where a set has no test rows of its own.
HELD_OUT = 0.1
#: Rows that compiled code is warmed up with.
WARM_ROWS = 500


@dataclass(frozen=True)
class Large:
    """A machine on a set; ``goal`` is what the project asks of its accuracy."""

    name: str
    set: str
    make: Callable[[], Any]
    goal: str


@dataclass
class Line:
    """What a case came to."""

    name: str
    set: str
    rows: int
    seconds: float
    off: float  # relative gap of the reduced problem, or relative residual; nan where there is none
    accuracy: float  # on rows that were not used
    linear: float  # the same of a linear SVM
    megabytes: float
    goal: str


def landmark_svc(**parameters: Any) -> Any:
    """An SVC in the span of landmarks."""
    from maxmargin import SVC

    return SVC(approximation="nystroem", n_components=LANDMARKS, random_state=0, **parameters)


def landmark_squares() -> Any:
    """Least squares on classes as numbers, in the span of landmarks."""
    from maxmargin import KernelLeastSquares

    return KernelLeastSquares(lam=1.0, gamma=0.2, n_landmarks=LANDMARKS, tol=1e-4, random_state=0)


def budget_pegasos() -> Any:
    """Stochastic steps, at most so many vectors."""
    from maxmargin import KernelPegasosSVC

    return KernelPegasosSVC(lam=3e-7, gamma=4.0, budget=BUDGET, maintenance="merge", max_iter=4, random_state=0)


CASES = (
    Large("SVC, 4,000 landmarks", "mnist", lambda: landmark_svc(C=10.0, gamma=0.03), "98.0 %"),
    Large("SVC, 4,000 landmarks", "covtype", lambda: landmark_svc(C=1.0, gamma=0.2), "linear + 5 points"),
    Large("KernelLeastSquares, 4,000 landmarks", "covtype", landmark_squares, "within memory"),
    Large("KernelPegasosSVC, budget of 2,000", "ijcnn1", budget_pegasos, "97.5 %"),
)


def rows_of(source: Any, name: str) -> Split:
    """All rows of a set, in float32; a tenth is held out where it has no test rows."""
    split = next(data for data, _ in sets.discover().values() if name == data.NAME).load(source, None)
    X = split.X.astype(np.float32)
    if split.X_test is not None and len(split.y_test):
        return Split(X, split.y, split.X_test.astype(np.float32), split.y_test)
    order = np.random.default_rng(0).permutation(len(split.y))
    held, kept = np.split(order, [int(HELD_OUT * len(order))])
    return Split(X[kept], split.y[kept], X[held], split.y[held])


def accuracy(model: Any, split: Split) -> float:
    """Share of test rows answered rightly; scores of least squares are cut at the middle of the two classes."""
    answers = model.predict(split.X_test)
    if answers.dtype.kind == "f":
        answers = np.where(answers > np.mean(np.unique(split.y)), split.y.max(), split.y.min())
    return float(np.mean(answers == split.y_test))


def measured(number: int, data: str | None) -> Line:
    """One case, in this process."""
    from maxmargin import LinearSVC

    case = CASES[number]
    split = rows_of(open_source(data), case.set)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        some = np.sort(np.random.default_rng(0).permutation(len(split.y))[:WARM_ROWS])
        case.make().fit(split.X[some], split.y[some])
        linear = LinearSVC(loss="hinge", C=0.1, tol=1e-3).fit(split.X, split.y)
        before = memory.current()
        memory.reset_peak()
        start = time.perf_counter()
        model = case.make().fit(split.X, split.y)
        spent = time.perf_counter() - start
    used, certificate = memory.peak() - before, getattr(model, "certificate_", None)
    off = getattr(model, "residual_", float("nan")) if certificate is None else certificate.relative_gap
    right = (accuracy(model, split), accuracy(linear, split))
    return Line(case.name, case.set, len(split.y), spent, float(off), *right, used, case.goal)


def run(options: argparse.Namespace) -> None:
    """Measure and print case by case."""
    lines: list[Line] = []
    for number, case in enumerate(CASES):
        if options.sets and case.set not in options.sets:
            continue
        # not a Pool, in whose workers a fit keeps to one thread
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            try:
                line = pool.submit(measured, number, options.data).result()
            except (Missing, OSError) as why:
                print(f"{case.set}: {case.name}: missed: {why}")
                continue
        lines.append(line)
        print(_words(line), flush=True)
        if options.json is not None:
            found = {"environment": environment(), "rows": [asdict(one) for one in lines]}
            options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _words(line: Line) -> str:
    return (
        f"{line.set} ({line.rows:,} rows): {line.name}: {seconds(line.seconds)}, off by {line.off:.1e}, "
        f"{line.accuracy:.2%} right (linear {line.linear:.2%}; goal {line.goal}), {line.megabytes:,.0f} MB"
    )


def main(arguments: list[str] | None = None) -> None:
    """Parse and run."""
    p = argparse.ArgumentParser("python -m benchmarks.large", description=(__doc__ or "").partition("\n")[0])
    p.add_argument("--data", metavar="DIR", help="folder with a load.py, as for the arena")
    p.add_argument("--sets", nargs="+", choices=sorted({case.set for case in CASES}), help="default: all")
    p.add_argument("--json", metavar="FILE", type=Path, help="also write everything here")
    run(p.parse_args(arguments))


if __name__ == "__main__":
    main()
