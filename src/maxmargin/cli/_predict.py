"""``maxmargin predict``: answers for the rows of a file of any size."""

from __future__ import annotations

import contextlib
import csv
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from maxmargin.cli._errors import InputError, check_writable, written_whole
from maxmargin.cli._importance import reasons
from maxmargin.cli._models import Model, load_model, rows_for, tables_for
from maxmargin.cli._print import Screen, listed
from maxmargin.cli._strange import Strange, trained_on
from maxmargin.io import Table

#: Rows that are in memory at a time.
ROWS = 8192


class Tally:
    """How many answers are right, as far as the file has the truth as well."""

    def __init__(self) -> None:
        self.rows = self.compared = self.right = 0
        self.off = 0.0

    def add(self, predicted: np.ndarray, truth: np.ndarray | None, known: np.ndarray | None) -> None:
        """Count a chunk."""
        self.rows += len(predicted)
        if truth is None or known is None or not known.any():
            return
        self.compared += int(known.sum())
        if predicted.dtype.kind == "f":
            self.off += float(np.abs(predicted[known] - truth[known]).sum())
        elif predicted.dtype.kind in "iu":
            self.right += int(np.count_nonzero(predicted[known] == truth[known]))
        else:
            self.right += int(np.count_nonzero(predicted[known].astype(str) == truth[known].astype(str)))

    def sentence(self, classifies: bool) -> str:
        """What to say at the end."""
        if not self.compared:
            return ""
        if classifies:
            share = self.right / self.compared
            return f"{self.right:,} of {self.compared:,} rows with a known answer are right ({share:.2%})"
        return f"mean absolute error {self.off / self.compared:.6g} on {self.compared:,} rows with a known answer"


class Wish(NamedTuple):
    """What is asked for besides answers."""

    coverage: float | None = None  # sets of classes that hold the truth this often
    explain: bool = False  # the columns that decided


def predict(model_path: Path, data: str, out: Path | None, wish: Wish, screen: Screen, **how: Any) -> int:
    """Write a line of answers for every row."""
    coverage = wish.coverage
    to_stdout = out is None or str(out) == "-"
    if coverage is not None and not 0 < coverage < 1:
        raise InputError(f"--coverage {coverage:g} is a share; take one between 0 and 1, such as 0.95")
    if out is not None and not to_stdout:
        check_writable(out, "--out", data, model_path)
    model = load_model(model_path, data=data)
    if coverage is not None and not hasattr(model.machine, "predict_set"):
        raise InputError(f"{model_path} has no prediction sets: train it with --calibration sigmoid")
    if wish.explain and not model.record.get("typical"):
        raise InputError(f"{model_path} does not know what is typical of its columns: train it with `maxmargin train`")
    tally, extra, strange = Tally(), set[str](), Strange(model)
    with destination(None if to_stdout else out) as write:
        for number, table in enumerate(tables_for(model, data, ROWS, **how)):
            X, unknown = rows_for(model, table)
            extra.update(unknown)
            strange.add(X)
            names, columns = answers(model, X, wish)
            write(names if number == 0 else None, columns)
            tally.add(columns[0], *truth(model, table))
            if screen.live:
                print(f"\r{tally.rows:,} rows", end="", file=sys.stderr, flush=True)
    if screen.live:
        print(file=sys.stderr)
    notes = [note for note in (trained_on(model, data), *strange.notes()) if note]
    report(model, tally, sorted(extra), notes, None if to_stdout else out, screen)
    return 0


def truth(model: Model, table: Table) -> tuple[np.ndarray | None, np.ndarray | None]:
    """(answers that the file has, which of them are known), or nothing."""
    target = model.record.get("target")
    if target is None or target not in table or (table.kind(target) == "category") != textual(model):
        return None, None
    return table[target], table.known(target)


def textual(model: Model) -> bool:
    classes = getattr(model.machine, "classes_", None)
    return classes is not None and classes.dtype.kind not in "iuf"


#: Writes some rows: names, before the first ones, and columns.
Write = Callable[[list[str] | None, list[np.ndarray]], None]


@contextlib.contextmanager
def destination(out: Path | None) -> Iterator[Write]:
    """Standard output, or a file that appears when all of it is written."""
    if out is None:
        yield lines_to(sys.stdout)
        sys.stdout.flush()
        return
    with written_whole(out) as draft:
        if out.suffix.lower() == ".parquet":
            with parquet_to(draft) as write:
                yield write
            return
        with open(draft, "w", newline="", encoding="utf-8") as file:
            yield lines_to(file)


def lines_to(file: TextIO) -> Write:
    """Answers as CSV."""
    writer = csv.writer(file, lineterminator="\n")

    def write(names: list[str] | None, columns: list[np.ndarray]) -> None:
        if names is not None:
            writer.writerow(names)
        writer.writerows(zip(*columns, strict=True))

    return write


@contextlib.contextmanager
def parquet_to(path: Path) -> Iterator[Write]:
    """Answers as Parquet, some rows at a time."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError:
        raise InputError("writing Parquet needs pyarrow; install it with `pip install pyarrow`, or write CSV") from None
    opened: list[Any] = []
    known: list[str] = []

    def write(names: list[str] | None, columns: list[np.ndarray]) -> None:
        known.extend(names or [])
        texts = [column.astype(str).astype(object) if column.dtype.kind in "OU" else column for column in columns]
        table = pa.table(dict(zip(known, texts, strict=True)))
        if not opened:
            opened.append(pa.parquet.ParquetWriter(path, table.schema))
        opened[0].write_table(table)

    try:
        yield write
    finally:
        for writer in opened:
            writer.close()


def answers(model: Model, X: Any, wish: Wish) -> tuple[list[str], list[np.ndarray]]:
    """(names, columns): the prediction, then scores, probabilities and sets, where the model has them."""
    rows, machine = model.encoded(X), model.machine
    names, columns = ["prediction"], [np.asarray(model.answering.predict(rows))]
    classes = [str(label) for label in getattr(machine, "classes_", ())]
    if hasattr(machine, "decision_function"):
        scores = np.asarray(machine.decision_function(rows))
        several = scores.ndim == 2
        same = several and scores.shape[1] == len(classes)
        names += (
            [f"score {c if same else k}" for k, c in enumerate(classes if same else scores.T)] if several else ["score"]
        )
        columns += list(scores.T) if several else [scores]
    if hasattr(machine, "predict_proba"):
        names += [f"probability {label}" for label in classes]
        columns += list(np.asarray(machine.predict_proba(rows)).T)
    if wish.coverage is not None:
        sets = np.asarray(machine.predict_set(rows, wish.coverage))
        names.append("set")
        columns.append(np.array(["|".join(np.array(classes, dtype=object)[row]) for row in sets], dtype=object))
    if wish.explain:
        used = [column["name"] for column in model.record["columns"]]
        names.append("because")
        columns.append(reasons(model.whole, X, used, model.record["typical"]))
    return names, columns


def report(model: Model, tally: Tally, extra: list[str], notes: list[str], out: Path | None, screen: Screen) -> None:
    """Say what was done, on standard error if the answers went to standard output."""
    classifies = hasattr(model.machine, "classes_")
    said = Screen(for_program=True) if out is None else screen
    if extra:
        said.notice(f"columns that the model does not know were ignored: {listed(extra)}")
    for note in notes:
        said.notice(note)
    if tally.compared:
        said.line(tally.sentence(classifies))
    if out is not None:
        said.line(f"{tally.rows:,} predictions in {out.resolve()}")
    if screen.for_program and out is not None:
        found: dict[str, Any] = {
            "rows": tally.rows,
            "out": str(out.resolve()),
            "ignored_columns": extra,
            "notes": notes,
        }
        if tally.compared:
            found["compared"] = tally.compared
            key = "accuracy" if classifies else "mean_absolute_error"
            found[key] = (tally.right if classifies else tally.off) / tally.compared
        screen.document(found)
