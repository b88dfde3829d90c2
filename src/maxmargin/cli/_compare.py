"""``maxmargin compare``: beside scikit-learn, on one's own data."""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
import sklearn.svm
from sklearn.pipeline import Pipeline

import maxmargin
from maxmargin.certificates import certify
from maxmargin.cli._data import read_source
from maxmargin.cli._machine import Pick, pick_machine
from maxmargin.cli._options import TrainOptions
from maxmargin.cli._prepare import Prepared, prepare
from maxmargin.cli._print import Screen, figure, progress_on_stderr

#: Fits of each, taken in turn, while they are quick; the best one counts.
REPEATS, QUICK = 3, 5.0
#: Rows of the fit that compiles or loads compiled code before anything is timed.
WARM_UP = 200
#: scikit-learn's default tolerance, and one at which kernel machines are nearly as good as ours.
TIGHT = 1e-6


class Entry(NamedTuple):
    """One competitor's result."""

    name: str
    seconds: float
    score: float
    relative_gap: float | None
    reason: str


def compare(data: str, options: TrainOptions, screen: Screen) -> int:
    """Fit the machine that `train` would pick, ours and scikit-learn's, and print time, score and certified gap."""
    prepared = prepare(read_source(data, **options.reading).dated(options.target, options.drop), options)
    steps = prepared.encoders()
    X, X_test = prepared.train_rows, prepared.test_rows
    if steps:
        encoders = Pipeline(steps)
        X, X_test = encoders.fit_transform(X), encoders.transform(X_test)
    y, y_test = prepared.y[prepared.train], prepared.y[prepared.test]
    pick = pick_machine(X, y, prepared.classifies, options, screen)
    entries = race(makers(pick), X, y, X_test, y_test, screen)
    show(screen, data, prepared, pick, entries)
    return 0


def makers(pick: Pick) -> dict[str, Any]:
    """The competitors, by name: the same machine with the same parameters."""
    own = {
        name: value for name, value in pick.params.items() if name not in ("calibration", "random_state", "time_limit")
    }
    theirs = {name: value for name, value in own.items() if name not in ("multiclass", "device")}
    peer = getattr(sklearn.svm, pick.class_name)
    if pick.kernel == "linear":
        theirs["max_iter"] = 100_000
    ours = getattr(maxmargin, pick.class_name)
    loose = f"scikit-learn {sklearn.__version__}"
    return {
        f"maxmargin {maxmargin.__version__}": ours(**own),
        f"{loose}, tol={peer().tol:g}": peer(**theirs),
        f"{loose}, tol={TIGHT:g}": peer(**theirs, tol=TIGHT),
    }


def race(models: dict[str, Any], X: Any, y: Any, X_test: Any, y_test: Any, screen: Screen) -> list[Entry]:
    """Fit all in turn, a few times if that is quick."""
    with warnings.catch_warnings(), progress_on_stderr():
        warnings.simplefilter("ignore")
        few = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:WARM_UP])
        if len(np.unique(y[few])) > 1:
            next(iter(models.values())).fit(X[few], y[few])
        best: dict[str, float] = {}
        for turn in range(REPEATS):
            for name, model in models.items():
                if turn == 0 and screen.live:
                    print(f"fitting {name} ...", flush=True)
                began = time.perf_counter()
                model.fit(X, y)
                best[name] = min(best.get(name, np.inf), time.perf_counter() - began)
            if sum(best.values()) > QUICK:
                break
        return [entry(name, model, best[name], X, y, X_test, y_test) for name, model in models.items()]


def entry(name: str, model: Any, seconds: float, X: Any, y: Any, X_test: Any, y_test: Any) -> Entry:
    """A competitor's score and certificate."""
    proof = certify(model, X, y)
    gap = float(proof.relative_gap) if proof.holds else None
    return Entry(name, seconds, float(model.score(X_test, y_test)), gap, proof.reason)


def show(screen: Screen, data: str, prepared: Prepared, pick: Pick, entries: list[Entry]) -> None:
    """A line for each."""
    what = "accuracy" if prepared.classifies else "R2"
    params = ", ".join(f"{name}={value}" for name, value in pick.params.items() if name in ("C", "gamma", "epsilon"))
    screen.title(f"{data}: {pick.class_name}({params}), {len(prepared.train):,} rows to train on")
    lines = [
        [e.name, f"{e.seconds:.3f} s", f"{entries[0].seconds / e.seconds:.2g}", figure(e.score), gap_of(e)]
        for e in entries
    ]
    names = ["", "fit", "speed beside the first", f"test {what}", "certified relative gap"]
    screen.grid(names, lines, right=(1, 2, 3, 4))
    said = "Best of up to three fits each, in turn, compiled code loaded beforehand; our time includes the certificate."
    if pick.kernel == "linear":
        said += (
            " scikit-learn's linear machines penalise the intercept, so they solve another problem, and their gap says "
            "how far its solution is from this one's."
        )
    screen.paragraph(said)
    if screen.for_program:
        screen.document(
            {"data": data, "machine": pick.class_name, "params": pick.params, "entries": [e._asdict() for e in entries]}
        )


def gap_of(found: Entry) -> str:
    """The relative gap, or why there is no proof."""
    return f"{found.relative_gap:.1e}" if found.relative_gap is not None else f"none ({found.reason})"
