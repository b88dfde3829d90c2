"""Many classes and probabilities beside scikit-learn's wrappers: ``python -m benchmarks.classes --data DIR``.

**One-vs-all**: ``SVC(multiclass='ovr')`` and ``OneVsRestClassifier(sklearn.svm.SVC)``, each at the largest tol, from
1e-3 down by tenths, at which every one of its machines has a certified relative gap of 1e-4. **Probabilities**:
``SVC(calibration=...)`` and ``CalibratedClassifierCV(sklearn.svm.SVC)`` with one model and with an ensemble, all at
their default tol, with log loss and Brier score on the test rows. maxmargin uses all cores; the wrappers do where that
is said (``n_jobs=-1``). Fits are warmed up on a few rows; the best of a few counts.
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

from benchmarks.arena import sets
from benchmarks.arena.__main__ import environment
from benchmarks.arena.case import SCALE, Missing, Split, fix_gamma, layout, open_source
from benchmarks.arena.table import seconds

PARAMS = {"C": 10.0, "gamma": SCALE}
OVR_SETS = (("letter", None), ("satimage", None), ("mnist", 12_000))
CALIBRATED_SETS = (("letter", None), ("satimage", None), ("mnist", 12_000), ("a9a", None), ("splice", None))
GAP, STEPS = 1e-4, 4
WARM_ROWS = 500


@dataclass
class Line:
    """One machine on one set; what was not measured is None."""

    table: str
    set: str
    competitor: str
    seconds: float
    score: float
    tol: float | None = None
    gap: float | None = None
    log_loss: float | None = None
    brier: float | None = None


def _timed(make: Callable[[], Any], X: Any, y: np.ndarray, repeat: int) -> tuple[Any, float]:
    """A fitted model, and the best time of a few fits."""
    best = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(repeat):
            model = make()
            start = time.perf_counter()
            model.fit(X, y)
            best = min(best, time.perf_counter() - start)
    return model, best


def _ours(params: dict[str, Any], tol: float) -> Any:
    from maxmargin import SVC

    return SVC(**params, tol=tol, multiclass="ovr")


def _theirs(params: dict[str, Any], tol: float, n_jobs: int | None = None) -> Any:
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import SVC

    return OneVsRestClassifier(SVC(**params, tol=tol, cache_size=500), n_jobs=n_jobs)


def _worst_gap(model: Any, X: Any, y: np.ndarray) -> float:
    """The largest certified relative gap of all machines, computed by the one judge."""
    from maxmargin import certify

    if hasattr(model, "certificate_"):
        return float(certify(model, X, y).relative_gap)
    tasks = zip(model.estimators_, model.classes_, strict=True)
    return max(float(certify(one, X, (y == k).astype(int)).relative_gap) for one, k in tasks)


def one_vs_all(name: str, split: Split, repeat: int) -> Iterator[Line]:
    """Both sides at equal proof."""
    X, y = layout(split.X).astype(np.float64), split.y
    params = fix_gamma(PARAMS, X)
    sides: dict[str, Callable[..., Any]] = {
        "maxmargin": _ours,
        "OneVsRestClassifier": _theirs,
        "OneVsRestClassifier, all cores": partial(_theirs, n_jobs=-1),
    }
    for competitor, make in sides.items():
        _timed(partial(make, params, 1e-3), X[:WARM_ROWS], y[:WARM_ROWS], 1)
        for step in range(STEPS):
            tol = 10.0 ** -(3 + step)
            model, best = _timed(partial(make, params, tol), X, y, repeat)
            gap = _worst_gap(model, X, y)
            if gap <= GAP:
                break
        score = float(np.mean(model.predict(layout(split.X_test)) == split.y_test))
        yield Line("one-vs-all", name, competitor, best, score, tol, gap)


def _probabilities(params: dict[str, Any], kind: str) -> dict[str, Callable[[], Any]]:
    """The sides, by name."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC as Theirs

    from maxmargin import SVC

    def peer(ensemble: bool, n_jobs: int | None = None) -> Any:
        machine = Theirs(**params, cache_size=500)
        return CalibratedClassifierCV(machine, method=kind, ensemble=ensemble, n_jobs=n_jobs)

    return {
        f"maxmargin, {kind}": lambda: SVC(**params, calibration=kind, random_state=0),
        f"CalibratedClassifierCV, {kind}": lambda: peer(False),
        f"CalibratedClassifierCV, {kind}, ensemble": lambda: peer(True),
        f"CalibratedClassifierCV, {kind}, ensemble, all cores": lambda: peer(True, -1),
    }


def calibrated(name: str, split: Split, repeat: int) -> Iterator[Line]:
    """Time and proper scores."""
    from sklearn.metrics import log_loss

    X, y, X_test, y_test = layout(split.X).astype(np.float64), split.y, layout(split.X_test), split.y_test
    params = fix_gamma(PARAMS, X)
    if hasattr(X, "toarray"):
        X, X_test = X.toarray(), X_test.toarray()  # faster for scikit-learn
    for kind in ("sigmoid", "isotonic"):
        for competitor, make in _probabilities(params, kind).items():
            _timed(make, X[:WARM_ROWS], y[:WARM_ROWS], 1)
            model, best = _timed(make, X, y, repeat)
            p = model.predict_proba(X_test)
            truth = (np.asarray(y_test)[:, None] == model.classes_).astype(float)
            brier = float(np.square(p - truth).sum(axis=1).mean())
            score = float(truth[np.arange(len(p)), p.argmax(axis=1)].mean())
            found = float(log_loss(y_test, p, labels=model.classes_))
            yield Line("probabilities", name, competitor, best, score, log_loss=found, brier=brier)


def run(options: argparse.Namespace) -> None:
    """Measure and print line by line."""
    source, lines = open_source(options.data), []
    known = {data.NAME: data for data, _ in sets.discover().values()}
    for wanted, table, measure in ((OVR_SETS, "ovr", one_vs_all), (CALIBRATED_SETS, "probabilities", calibrated)):
        for name, rows in wanted:
            if (options.tables and table not in options.tables) or (options.sets and name not in options.sets):
                continue
            try:
                split = known[name].load(source, rows)
            except (Missing, OSError) as why:
                print(f"{name}: missed: {why}")
                continue
            for line in measure(name, split, options.repeat):
                lines.append(line)
                print(_words(line), flush=True)
                if options.json is not None:
                    about = {"environment": environment(), "rows": [asdict(x) for x in lines]}
                    options.json.write_text(json.dumps(about, indent=1) + "\n")


def _words(line: Line) -> str:
    proof = f", gap {line.gap:.1e} at tol {line.tol:g}" if line.gap is not None else ""
    proper = f", log loss {line.log_loss:.4f}, Brier {line.brier:.4f}" if line.log_loss is not None else ""
    return (
        f"{line.table}: {line.set}: {line.competitor}: {seconds(line.seconds)}, {line.score:.4f} right{proof}{proper}"
    )


def main(arguments: list[str] | None = None) -> None:
    """Parse and run."""
    p = argparse.ArgumentParser("python -m benchmarks.classes", description=(__doc__ or "").partition("\n")[0])
    p.add_argument("--data", metavar="DIR", help="folder with a load.py, as for the arena")
    p.add_argument("--tables", nargs="+", choices=["ovr", "probabilities"], help="default: both")
    p.add_argument("--sets", nargs="+", help="default: all")
    p.add_argument("--repeat", type=int, default=2, help="fits of which the best counts (default 2)")
    p.add_argument("--json", metavar="FILE", type=Path, help="also write everything here")
    run(p.parse_args(arguments))


if __name__ == "__main__":
    main()
