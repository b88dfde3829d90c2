"""Everyday sizes beside other libraries: ``python -m benchmarks.everyday --data DIR`` (``make everyday``).

Sets of all widths, cut to 200, 500, 2,000 and 8,000 rows, C = 1 and 100, rows in float64 and in float32, every library
at its defaults, ours with its certificate. Beside scikit-learn and scikit-learn-intelex (always on float32
rows, its faster way) stands a trick of three lines: a Gram matrix by NumPy in the rows' precision and scikit-learn's
``kernel='precomputed'``. Two more columns compare both libraries on that matrix. Fits take turns in one process, the
best of a few counts; a ratio is their time over ours. The table has the worst case first, and every ratio below 1 is
listed as a loss.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.datasets
from sklearn.preprocessing import scale

from benchmarks.arena.__main__ import environment
from benchmarks.arena.case import Missing, Source, open_source
from benchmarks.arena.competitors import _common
from benchmarks.arena.table import seconds
from benchmarks.report.markdown import table

#: Sets and their tasks; the first five come with scikit-learn.
SETS = dict.fromkeys(["iris", "wine", "breast_cancer", "digits"], "svc") | {"diabetes": "svr"}
SETS |= dict.fromkeys(["vowel", "letter", "segment", "vehicle", "satimage", "covtype", "mnist", "australian"], "svc")
SETS |= dict.fromkeys(["german_numer", "svmguide1", "magic04", "ijcnn1", "splice", "phishing", "a9a", "w8a"], "svc")
SETS |= dict.fromkeys(["abalone", "cadata", "cpusmall", "casp"], "svr")
ROWS, CS, DTYPES = (200, 500, 2000, 8000), (1.0, 100.0), ("float64", "float32")
PEERS = ("scikit-learn", "sklearnex-f32", "Gram + precomputed", "precomputed")
#: Least turns of a case, and seconds after which it has no more than those.
TURNS, LONG = 3, 2.0
#: Rows of a fit that loads what must be loaded.
WARM_ROWS = 60


@dataclass
class Line:
    """Seconds of every side on one case; None where a side could not take part."""

    set: str
    task: str
    rows: int
    columns: int
    classes: int
    C: float
    dtype: str
    seconds: dict[str, float | None]

    def ratio(self, peer: str) -> float | None:
        """The peer's time over ours, both on the given matrix for the peer 'precomputed'."""
        ours = self.seconds["maxmargin precomputed" if peer == "precomputed" else "maxmargin"]
        theirs = self.seconds[peer]
        return theirs / ours if ours and theirs else None

    @property
    def width(self) -> str:
        """Narrow, medium, wide or very wide."""
        return ("narrow", "medium", "wide", "very wide")[int(np.searchsorted([20, 100, 400], self.columns, "right"))]


def gram(X: np.ndarray) -> np.ndarray:
    """The Gaussian kernel matrix at gamma = 'scale', in NumPy."""
    squares = np.einsum("ij,ij->i", X, X)
    distances = squares[:, None] + squares - 2 * X @ X.T
    return np.exp(-1.0 / (X.shape[1] * X.var()) * distances)


def _sides(task: str, C: float) -> dict[str, Callable[[Any, Any, Any], Any]]:
    """What is timed, by name: functions of the rows, the targets and the Gram matrix."""

    def fit(module: str, X: Any, y: Any, **params: Any) -> Any:
        return _common.build(module, task, {"C": C, **params}, None).fit(X, y)

    sides: dict[str, Callable[[Any, Any, Any], Any]] = {
        "maxmargin": lambda X, y, K: fit("maxmargin", X, y),
        "scikit-learn": lambda X, y, K: fit("sklearn.svm", X, y),
        "Gram + precomputed": lambda X, y, K: fit("sklearn.svm", gram(X), y, kernel="precomputed"),
        "precomputed": lambda X, y, K: fit("sklearn.svm", K, y, kernel="precomputed"),
        "maxmargin precomputed": lambda X, y, K: fit("maxmargin", K, y, kernel="precomputed"),
    }
    if _common.absent("sklearnex") is None:
        sides["sklearnex-f32"] = lambda X, y, K: fit("sklearnex.svm", X.astype(np.float32, copy=False), y)
    return sides


def measured(task: str, C: float, X: np.ndarray, y: np.ndarray, only: list[str] | None) -> dict[str, float | None]:
    """The best time of every side, in turns."""
    K, best = gram(X), dict.fromkeys(("maxmargin", "maxmargin precomputed", *PEERS), None)
    times: dict[str, list[float]] = {}
    began = time.perf_counter()
    while len(times.get("maxmargin", ())) < TURNS or (
        time.perf_counter() - began < LONG and len(times["maxmargin"]) < 5 * TURNS
    ):
        for name, fit in _sides(task, C).items():
            if only is None or name in only or name == "maxmargin":
                start = time.perf_counter()
                fit(X, y, K)
                times.setdefault(name, []).append(time.perf_counter() - start)
    return best | {name: min(own) for name, own in times.items()}


def load(source: Source, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and targets of a set in random order, columns (and numbers to predict) standardised."""
    bundled = getattr(sklearn.datasets, f"load_{name}", None)
    X, y = bundled(return_X_y=True) if bundled else source(name)[:2]
    order = np.random.default_rng(0).permutation(len(y))[: max(ROWS)]
    X, y = X[order], np.asarray(y)[order]
    X = scale(np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64))
    return X, scale(y.astype(np.float64)) if SETS[name] == "svr" else y


def _cases(source: Source, options: argparse.Namespace) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """(set, rows, targets) of every set and size."""
    for name in options.sets or SETS:
        try:
            X, y = load(source, name)
        except (Missing, OSError) as why:
            print(f"{name}: missed: {why}")
            continue
        for rows in sorted({min(rows, len(y)) for rows in options.rows}):
            yield name, X[:rows], y[:rows]


def run(options: argparse.Namespace) -> list[Line]:
    """Measure and print line by line."""
    lines: list[Line] = []
    warnings.simplefilter("ignore")
    for name, X, y in _cases(open_source(options.data), options):
        task = SETS[name]
        classes = len(np.unique(y)) if task == "svc" else 0
        for dtype in options.dtypes:
            rows = X.astype(dtype)
            measured(task, 1.0, rows[:WARM_ROWS], y[:WARM_ROWS], options.only)
            for C in options.C:
                own = measured(task, C, rows, y, options.only)
                lines.append(Line(name, task, len(y), X.shape[1], classes, C, dtype, own))
                print(_cells(lines[-1]), flush=True)
                if options.json is not None:
                    about = {"environment": environment(), "rows": [asdict(line) for line in lines]}
                    options.json.write_text(json.dumps(about, indent=1) + "\n")
    return lines


def _cells(line: Line) -> list[str]:
    ratios = [line.ratio(peer) for peer in PEERS]
    about = [line.set, str(line.rows), str(line.columns), str(line.classes or "-"), f"{line.C:g}", line.dtype]
    return [*about, seconds(line.seconds["maxmargin"] or 0.0), *("" if r is None else f"{r:.2f}" for r in ratios)]


def _means(lines: list[Line], group: Callable[[Line], str]) -> list[list[str]]:
    """Geometric mean and least of every peer's ratios, for each group of cases."""
    rows = []
    for name in dict.fromkeys(map(group, lines)):
        cells = [name, str(sum(group(line) == name for line in lines))]
        for peer in PEERS:
            ratios = [r for line in lines if group(line) == name and (r := line.ratio(peer)) is not None]
            cells.append(f"{np.exp(np.mean(np.log(ratios))):.2f} ({min(ratios):.2f})" if ratios else "")
        rows.append(cells)
    return rows


def tables(lines: list[Line]) -> dict[str, str]:
    """The tables of the performance page: means by size and by width, and every case, the worst first."""

    def worst(line: Line) -> float:
        return min((r for peer in PEERS if (r := line.ratio(peer)) is not None), default=np.inf)

    ordered = sorted(lines, key=worst)
    losses = sum(worst(line) < 1.0 for line in lines)
    groups: list[Callable[[Line], str]] = [
        lambda line: "all",
        lambda line: f"{line.rows} rows" if line.rows in ROWS else "other sizes",
        lambda line: line.width,
        lambda line: "many classes" if line.classes > 2 else "two classes" if line.classes else "regression",
    ]
    means = [row for group in groups for row in _means(lines, group)]
    head = ["set", "rows", "columns", "classes", "C", "dtype", "maxmargin", *PEERS]
    return {
        "everyday-means": table(["cases", "number", *PEERS], means),
        "everyday": f"{table(head, list(map(_cells, ordered)))}\n\nCases with a loss: {losses} of {len(lines)}.",
    }


def lines_of(report: dict[str, Any]) -> list[Line]:
    """The lines of a file that was written before."""
    return [Line(**row) for row in report["rows"]]


def main(arguments: list[str] | None = None) -> None:
    """Parse and run."""
    p = argparse.ArgumentParser("python -m benchmarks.everyday", description=(__doc__ or "").partition("\n")[0])
    p.add_argument("--data", metavar="DIR", help="folder with a load.py, as for the arena")
    p.add_argument("--sets", nargs="+", choices=SETS, help="default: all")
    p.add_argument("--rows", nargs="+", type=int, default=list(ROWS))
    p.add_argument("--C", nargs="+", type=float, default=list(CS))
    p.add_argument("--dtypes", nargs="+", choices=DTYPES, default=list(DTYPES))
    p.add_argument("--only", nargs="+", help="sides to time beside maxmargin; default: all")
    p.add_argument("--json", metavar="FILE", type=Path, help="also write everything here")
    p.add_argument("--read", metavar="FILE", type=Path, help="measure nothing: the tables of such a file")
    options = p.parse_args(arguments)
    if options.read is not None:
        lines = lines_of(json.loads(options.read.read_text()))
    else:
        lines = run(options)
    print("\n\n".join(tables(lines).values()))


if __name__ == "__main__":
    main()
