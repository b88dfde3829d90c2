"""Choosing C and gamma beside ``GridSearchCV``: ``python -m benchmarks.selection --data DIR``.

**Kernel**: five folds, eight C, eight gamma, the same folds and the same scorer, ``GridSearchCV`` around the SVC (SVR)
of scikit-learn and of scikit-learn-intelex in float32, with two processes; maxmargin's ``SVCCV`` (``SVRCV``) with two
threads. **Everyday**: the same on standardised sets of 440 to 3,000 rows. **Linear**: five folds, ten C,
``GridSearchCV(LinearSVC)`` and ``LinearSVCCV``. **Least squares**: five folds, eight lambda, five gamma,
``GridSearchCV(KernelRidge)`` with two processes or with one whose BLAS has two threads, and ``KernelLeastSquaresCV``,
with the race and without. Every search ends with a refit; the time counts from ``fit`` to the fitted winner, after a
search on a few rows that loads what must be loaded.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import everyday
from benchmarks.arena import sets
from benchmarks.arena.__main__ import environment
from benchmarks.arena.case import SCALE, Missing, Split, fix_gamma, layout, open_source
from benchmarks.arena.table import seconds

KERNEL_SETS = (
    ("magic04", 5_000),
    ("splice", None),
    ("a9a", 5_000),
    ("satimage", None),
    ("letter", 4_000),
    ("mnist", 3_000),
    ("cadata", 3_000),
)
EVERYDAY_SETS: tuple[tuple[str, int | None], ...] = (
    *((name, None) for name in ("breast_cancer", "digits", "vowel", "vehicle", "australian", "german_numer", "splice")),
    *((name, 2_000) for name in ("segment", "satimage", "a9a", "w8a", "mnist")),
    *((name, 3_000) for name in ("svmguide1", "letter")),
    *(("diabetes", None), ("cadata", 500), ("abalone", 2_000), ("cpusmall", 2_000)),
)
LINEAR_SETS = (("a9a", None), ("covtype", 100_000), ("news20", None))
LEAST_SQUARES_SETS = (("cadata", 5_000),)
TABLES = {"kernel": KERNEL_SETS, "everyday": EVERYDAY_SETS, "linear": LINEAR_SETS, "least-squares": LEAST_SQUARES_SETS}
CS, GAMMAS = np.logspace(-1, 3, 8), np.logspace(-2, 1, 8)  # gammas are multiples of 'scale'
LINEAR_CS = np.logspace(-3, 2, 10)
LAMS, WIDTHS = np.logspace(-3, 1, 8), np.logspace(-1, 1, 5)  # widths are multiples of 'scale'
FOLDS, EPSILON, TEST_ROWS, WARM_ROWS, MOST_ROWS = 5, 0.1, 10_000, 300, 3_000


@dataclass
class Line:
    """One search on one set; ``score`` is the winner's in cross-validation, ``test`` on rows it never saw (or nan)."""

    table: str
    set: str
    competitor: str
    seconds: float
    score: float
    test: float
    best: dict[str, float]
    cells: int
    dropped: int = 0
    rows: int = 0
    columns: int = 0


def _everyday_split(name: str, source: Any, rows: int | None) -> Split:
    """At most 3,000 standardised rows; nothing to test where all are wanted."""
    X, y = everyday.load(source, name)
    train = min(rows or MOST_ROWS, len(y))
    return Split(X[:train], y[:train], X[train:], y[train:]) if len(y) > train else Split(X, y)


def _split(data: Any, source: Any, rows: int | None) -> Split:
    """``rows`` to train, in a fixed random order, and others to test."""
    split = data.load(source, rows if data.NAME in ("covtype", "mnist") else None)
    if split.X_test is not None:
        return split if rows is None else _first(split, rows)
    order = np.random.default_rng(0).permutation(len(split.y))
    train = order[: rows or len(order) * 3 // 4]
    test = order[len(train) :][:TEST_ROWS]
    return Split(split.X[train], split.y[train], split.X[test], split.y[test])


def _first(split: Split, rows: int) -> Split:
    chosen = np.random.default_rng(0).permutation(len(split.y))[:rows]
    return split._replace(X=split.X[chosen], y=split.y[chosen])


def _grid_search(machine: Any, grid: dict[str, Any], dtype: type, jobs: int) -> Callable[[Any, Any], Any]:
    from sklearn.model_selection import GridSearchCV

    return lambda X, y: GridSearchCV(machine, grid, cv=FOLDS, n_jobs=jobs).fit(X.astype(dtype), y)


def _kernel_sides(regression: bool, Cs: Any, gammas: Any, jobs: int) -> dict[str, Callable[[Any, Any], Any]]:
    import sklearn.svm as theirs

    import maxmargin

    name, more = ("SVR", {"epsilon": EPSILON}) if regression else ("SVC", {})
    grid = {"C": Cs, "gamma": gammas}
    search = getattr(maxmargin, f"{name}CV")
    sides = {
        "maxmargin": lambda X, y: search(Cs=Cs, gammas=gammas, cv=FOLDS, n_jobs=jobs, **more).fit(X, y),
        "GridSearchCV": _grid_search(getattr(theirs, name)(**more), grid, np.float64, jobs),
    }
    try:
        intel = importlib.import_module("sklearnex.svm")
    except ImportError as why:
        print(f"scikit-learn-intelex: missed: {why}")
        return sides
    theirs_too = _grid_search(getattr(intel, name)(**more), grid, np.float32, jobs)
    return {**sides, "GridSearchCV, sklearnex float32": theirs_too}


def _linear_sides(Cs: Any, jobs: int) -> dict[str, Callable[[Any, Any], Any]]:
    from sklearn.svm import LinearSVC

    from maxmargin import LinearSVCCV

    return {
        "maxmargin": lambda X, y: LinearSVCCV(Cs=Cs, cv=FOLDS, n_jobs=jobs).fit(X, y),
        "GridSearchCV": _grid_search(LinearSVC(dual="auto"), {"C": Cs}, np.float64, jobs),
    }


def _least_squares_sides(gammas: Any, jobs: int) -> dict[str, Callable[[Any, Any], Any]]:
    from sklearn.kernel_ridge import KernelRidge

    from maxmargin import KernelLeastSquaresCV

    lists = {"lams": LAMS, "gammas": gammas, "cv": FOLDS, "n_jobs": jobs}
    grid = {"alpha": LAMS, "gamma": gammas}
    return {
        "maxmargin": lambda X, y: KernelLeastSquaresCV(**lists).fit(X, y),
        "maxmargin, every cell": lambda X, y: KernelLeastSquaresCV(**lists, drop=False).fit(X, y),
        "GridSearchCV": _grid_search(KernelRidge(kernel="rbf"), grid, np.float64, jobs),
        "GridSearchCV, one process": _grid_search(KernelRidge(kernel="rbf"), grid, np.float64, 1),
    }


def measure(table: str, name: str, split: Split, options: argparse.Namespace) -> Iterator[Line]:
    """Every side on one set."""
    jobs, clock = options.jobs, time.process_time if options.processor else time.perf_counter
    X, X_test, y = _in_float64(table, split.X), _in_float64(table, split.X_test), split.y
    if table == "linear":
        sides = _linear_sides(LINEAR_CS, jobs)
    else:
        scale = fix_gamma({"gamma": SCALE}, X)["gamma"]
        if table == "least-squares":
            sides = _least_squares_sides(scale * WIDTHS, jobs)
        else:
            sides = _kernel_sides(everyday.SETS.get(name) == "svr", CS, scale * GAMMAS, jobs)
    for competitor, search in sides.items():
        if options.only and competitor not in options.only:
            continue
        best = np.inf
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search(X[:WARM_ROWS], y[:WARM_ROWS])
            for _ in range(options.repeat if competitor.startswith("maxmargin") else 1):
                start = clock()
                model = search(X, y)
                best = min(best, clock() - start)
        scores = np.asarray(model.cv_results_["mean_test_score"])
        chosen = {key: float(value) for key, value in model.best_params_.items()}
        test = math.nan if X_test is None else float(model.score(X_test, split.y_test))
        dropped, own = int(np.isnan(scores).sum()), float(model.best_score_)
        yield Line(table, name, competitor, best, own, test, chosen, len(scores), dropped, *X.shape)


def _in_float64(table: str, X: Any) -> Any:
    """Rows as every side gets them; dense, which is faster for scikit-learn, but for linear machines."""
    if X is None:
        return None
    X = layout(X)
    return (X.toarray() if table != "linear" and hasattr(X, "toarray") else X).astype(np.float64)


def run(options: argparse.Namespace) -> None:
    """Measure and print line by line."""
    source, lines = open_source(options.data), []
    known = {data.NAME: data for data, _ in sets.discover().values()}
    for table, wanted in TABLES.items():
        for name, rows in wanted:
            if (options.tables and table not in options.tables) or (options.sets and name not in options.sets):
                continue
            try:
                small = table == "everyday"
                split = _everyday_split(name, source, rows) if small else _split(known[name], source, rows)
            except (Missing, OSError) as why:
                print(f"{name}: missed: {why}")
                continue
            for line in measure(table, name, split, options):
                lines.append(line)
                print(_words(line), flush=True)
                if options.json is not None:
                    about = {"environment": environment(), "rows": [asdict(x) for x in lines]}
                    options.json.write_text(json.dumps(about, indent=1) + "\n")


def _words(line: Line) -> str:
    best = ", ".join(f"{key}={value:.4g}" for key, value in line.best.items())
    return (
        f"{line.table}: {line.set}: {line.competitor}: {seconds(line.seconds)}, {line.cells} cells, "
        f"{line.dropped} dropped, best {line.score:.7f} in cross-validation, {line.test:.4f} on test rows, {best}"
    )


def main(arguments: list[str] | None = None) -> None:
    """Parse and run."""
    p = argparse.ArgumentParser("python -m benchmarks.selection", description=(__doc__ or "").partition("\n")[0])
    p.add_argument("--data", metavar="DIR", help="folder with a load.py, as for the arena")
    p.add_argument("--tables", nargs="+", choices=list(TABLES), help="default: all")
    p.add_argument("--sets", nargs="+", help="default: all")
    p.add_argument("--only", nargs="+", help="competitors; default: all")
    p.add_argument("--repeat", type=int, default=2, help="searches of maxmargin of which the best counts (default 2)")
    p.add_argument("--jobs", type=int, default=2, help="processes of GridSearchCV, threads of maxmargin (default 2)")
    p.add_argument("--processor", action="store_true", help="count processor time, for busy computers; needs --jobs 1")
    p.add_argument("--json", metavar="FILE", type=Path, help="also write everything here")
    options = p.parse_args(arguments)
    if options.processor and options.jobs != 1:
        p.error("--processor sees one process: it needs --jobs 1")
    run(options)


if __name__ == "__main__":
    main()
