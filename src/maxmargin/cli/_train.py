"""``maxmargin train``: read, split, choose, tune, fit, test, prove, save."""

from __future__ import annotations

import platform
import sys
import time
import warnings
from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline

import maxmargin
from maxmargin import io
from maxmargin.cli._clock import Clock
from maxmargin.cli._code import reproduction
from maxmargin.cli._cut import check_cut, choose_cut
from maxmargin.cli._data import STDIN, read_source
from maxmargin.cli._errors import INTERRUPTED, Finishing, InputError, check_writable
from maxmargin.cli._importance import importance_of, typical_row
from maxmargin.cli._learning import learning_of
from maxmargin.cli._machine import Pick, pick_machine
from maxmargin.cli._models import followed_by, machine_in
from maxmargin.cli._options import TrainOptions
from maxmargin.cli._prepare import Prepared, prepare
from maxmargin.cli._print import Screen, listed, progress_on_stderr
from maxmargin.cli._proof import goal_of, price_of, proof_of, support_of
from maxmargin.cli._results import METRICS, test_results
from maxmargin.cli._show import show_findings, summary
from maxmargin.cli._strange import seen_in
from maxmargin.io import Reading
from maxmargin.multiclass import MARGIN
from maxmargin.report import (
    Choice,
    Cuts,
    Findings,
    Importance,
    Learning,
    Margins,
    Notice,
    Test,
    verdict_of,
    write_report,
)

#: Fits of more rows than this show their progress.
LONG_FIT = 5_000
#: Seconds of a fit that has less left of its time limit.
LEAST_TIME = 1.0
#: What encodings are called.
ENCODINGS = {"cp1252": "Latin-1 (cp1252)", "utf-16": "UTF-16"}


def train(data: str, options: TrainOptions, screen: Screen, show_code: bool = True) -> int:
    """Train a model of the data; the exit code."""
    clock = Clock(screen, options.time_limit)
    out = options.out or Path(("stdin" if data == STDIN else Path(data).name.split(".")[0]) + ".mm")
    check_writable(out, "--out", data)
    check_writable(options.report, "--report", data, out)
    with clock.part("read", "reading"):
        source = read_source(data, **options.reading)
    if screen.live:
        print(f"{source.name}: {len(source.table):,} rows, {width_of(source.table)} columns", file=sys.stderr)
    with clock.part("look", "looking at the columns"):
        source, tested = source.dated(options.target, options.drop), None
        if options.test is not None:
            source, tested = followed_by(source, read_source(options.test, **options.reading)), len(source.table)
        prepared = prepare(source, options, tested)
        check_cut(prepared.y, prepared.classifies, options)
    model, pick, ended = fit(prepared, options, screen, clock)
    replaced = out.exists()
    with Finishing() as finishing:
        findings = find(model, pick, prepared, options, data, clock)
        with clock.part("write"):
            io.save(model, out, record=record_of(findings, prepared, options))
        clock.end()
        if options.report is not None:
            write_report(findings, options.report)
    show_findings(screen, findings, out, replaced, options.report, show_code)
    if screen.for_program:
        screen.document(summary(findings, out, options.report))
    return INTERRUPTED if ended or finishing.pressed else 0


def data_choice(prepared: Prepared) -> Choice:
    """What was read."""
    table = prepared.source.table
    shape = f"{len(table):,} rows, {width_of(table)} columns"
    if table.reading is None:
        return Choice("data", prepared.source.name, shape)
    return Choice("data", prepared.source.name, f"{shape}; {read_as(table.reading)}", "--sep, --decimal, --encoding")


def read_as(reading: Reading) -> str:
    """How a file of text was read, in words."""
    names = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
    said = [f"{names.get(reading.separator, repr(reading.separator))} between cells"]
    if reading.encoding != "utf-8":
        said.append(f"{ENCODINGS.get(reading.encoding, reading.encoding)} text")
    commas = [name for name, decimal in reading.decimals.items() if decimal == ","]
    others = [name for name, decimal in reading.decimals.items() if decimal == "."]
    said += [f"decimal commas in {listed(commas)}"] if commas else []
    said += [f"thousands or units in {listed(others)}"] if others else []
    return ", ".join(said)


def width_of(table: Any) -> str:
    """How many columns there are."""
    return f"{len(table.names) + (0 if table.features is None else table.features.shape[1]):,}"


def fit(prepared: Prepared, options: TrainOptions, screen: Screen, clock: Clock):
    """(the fitted pipeline, the pick, whether Ctrl-C ended tuning or training early)."""
    steps = prepared.encoders()
    encoders = Pipeline(steps) if steps else None
    y = prepared.y[prepared.train]
    with clock.part("tune"):
        X = prepared.train_rows if encoders is None else encoders.fit_transform(prepared.train_rows)
        if not X.shape[1]:
            raise InputError("no column is left after encoding; look at the columns that were left out")
        pick = pick_machine(X, y, prepared.classifies, options, screen, prepared.split)
    with clock.part("cut", "choosing the cut"):
        pick.cuts = choose_cut(pick, X, y, options, clock.deadline, prepared.split)
    if clock.deadline is not None:
        pick.params["time_limit"] = max(LEAST_TIME, round(clock.deadline - time.perf_counter(), 1))
    machine = pick.machine()
    if screen.live and len(y) > LONG_FIT:
        machine.set_params(verbose=True)
    with clock.part("train"), progress_on_stderr(), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        machine.fit(X, y)
    machine.set_params(**({"verbose": False} if machine.verbose else {}))
    late = [str(w.message) for w in heard if issubclass(w.category, ConvergenceWarning)]
    pick.remarks += late[:1]
    ended = pick.interrupted or any("interrupt" in text.lower() or "ctrl-c" in text.lower() for text in late)
    return Pipeline([*steps, ("machine", with_cut(machine, pick.cuts))]), pick, ended


def with_cut(machine: Any, cuts: Cuts | None) -> Any:
    """The machine, with the cut that was chosen around it; its own answers stay those of its own cut."""
    if cuts is None:
        return machine
    # as fitting the pipeline anew would leave it
    cut = FixedThresholdClassifier(clone(machine), threshold=cuts.threshold, response_method="decision_function")
    cut.estimator_, cut.n_features_in_ = machine, machine.n_features_in_
    return cut


def find(model: Pipeline, pick: Pick, prepared: Prepared, options: TrainOptions, data: str, clock: Clock) -> Findings:
    """Everything there is to say about a fitted model."""
    y, machine = prepared.y[prepared.train], machine_in(model["machine"])
    with clock.part("test", "testing"):
        test = test_results(model, prepared.test_rows, prepared.y[prepared.test], y, prepared.classifies, options)
    single = getattr(machine, "multiclass_", None) in MARGIN and len(test.labels) > 2
    with clock.part("zones", "looking where the training rows lie"):
        encoded = model[:-1].transform(prepared.train_rows) if len(model) > 1 else prepared.train_rows
        support = None
        if options.report is None:  # who sees no margins need not wait for them
            support = Margins(np.zeros(0), {}, len(machine.support_), len(y), [])
        elif not single:  # one problem for all classes has no margin of two sides
            rows, values = prepared.rows[prepared.train], None if prepared.sparse else prepared.train_rows
            support = support_of(machine, encoded, y, rows, values, prepared.chosen.used)
    with clock.part("importance", "measuring what the model looks at"):
        importance = None if prepared.sparse or clock.late else looked_at(model, prepared, test, options)
    with clock.part("learning curve", "training on fewer rows"):
        learning = None if options.report is None else learned(model, prepared, test, options)
    table = prepared.source.table
    return Findings(
        title=f"{prepared.target} from {prepared.source.name}",
        source=prepared.source.name,
        checksum=prepared.source.checksum,
        version=maxmargin.__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        task=prepared.question.task,
        target=prepared.target,
        rows=len(table),
        train_rows=len(prepared.train),
        test_rows=len(prepared.test),
        columns=prepared.chosen.columns,
        notices=[*prepared.notices, *(Notice("training", remark) for remark in pick.remarks)],
        choices=[data_choice(prepared), *prepared.choices, *pick.choices],
        tuning=pick.tuning,
        test=test,
        cross_validated=pick.cross_validated,
        proof=proof_of(machine.certificates_, goal_of(machine), price_of(machine, encoded)),
        support=support,
        cuts=pick.cuts,
        importance=importance,
        learning=learning,
        code=reproduction(prepared, pick, options, data),
        seconds=clock.seconds,
        versions={name: value for name, value in versions().items() if name != "maxmargin"},
        class_counts={str(label): n for label, n in sorted(Counter(y.tolist()).items())} if prepared.classifies else {},
    )


def learned(model: Pipeline, prepared: Prepared, test: Test, options: TrainOptions) -> Learning | None:
    """What fewer rows would have taught; not asked where a time limit is set."""
    if options.time_limit is not None:
        return None
    name = test.judged_by if test.judged_by in METRICS else "accuracy"
    rows, y = (prepared.train_rows, prepared.test_rows), (prepared.y[prepared.train], prepared.y[prepared.test])
    return learning_of(model, rows, y, (name, METRICS[name]), options.seed, None)


def looked_at(model: Pipeline, prepared: Prepared, test: Test, options: TrainOptions) -> Importance:
    """What the model looks at, by the metric that it is judged by."""
    name = test.judged_by if test.judged_by in METRICS else "accuracy"
    rows, y = (prepared.train_rows, prepared.test_rows), (prepared.y[prepared.train], prepared.y[prepared.test])
    return importance_of(model, prepared.chosen.used, rows, y, (name, METRICS[name]), options.seed)


def record_of(findings: Findings, prepared: Prepared, options: TrainOptions) -> dict[str, Any]:
    """What a model file remembers about its training."""
    chosen, verdict, read = prepared.chosen, verdict_of(findings), prepared.source.table.reading
    return {
        "data": prepared.source.name,
        "sha256": prepared.source.checksum,
        "built_in": prepared.source.built_in,
        "target": prepared.target,
        "task": prepared.question.task,
        "columns": [
            *({"name": name, "kind": "number"} for name in chosen.numbers),
            *({"name": name, "kind": "category"} for name in chosen.categories),
        ],
        "features": int(prepared.X.shape[1]) if prepared.sparse else None,
        "read": {**options.reading, "decimals": {} if read is None else read.decimals},
        "dates": dict(prepared.source.dates),
        "train_rows": prepared.rows[prepared.train],
        "test_rows": prepared.rows[prepared.test],
        "choices": [asdict(choice) for choice in findings.choices],
        "metrics": findings.test.metrics,
        "verdict": "" if verdict is None else verdict.sentence,
        "importance": [] if findings.importance is None else most_needed(findings.importance),
        "seen": {} if prepared.sparse else seen_in(prepared.train_rows, chosen.used, len(chosen.numbers)),
        "typical": {} if prepared.sparse else typical_row(prepared.train_rows, chosen.used),
        "code": findings.code,
        "created": findings.created,
        "versions": versions(),
    }


def most_needed(found: Importance) -> list[dict[str, Any]]:
    """Columns and what the model loses without them, the most needed first."""
    order = np.argsort(-np.asarray(found.means), kind="stable").tolist()
    return [{"name": found.names[k], "loss": float(found.means[k]), "metric": found.metric} for k in order]


def versions() -> dict[str, str]:
    """Versions of what the model was made with."""
    return {
        "maxmargin": maxmargin.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
