"""Models in files: ours, LIBSVM's and LIBLINEAR's; and rows of a table as a model wants them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline

from maxmargin import io
from maxmargin.cli._data import BUILT_IN, STDIN, TARGET_NAMES, Source, built_in, copied_stdin
from maxmargin.cli._errors import InputError
from maxmargin.cli._options import READING
from maxmargin.cli._print import listed
from maxmargin.io import Table, read_table_chunks

#: How files begin, by kind.
BEGINNINGS = {b"PK": "maxmargin", b"svm_type": "LIBSVM", b"solver_type": "LIBLINEAR"}


class Model(NamedTuple):
    """A model from a file: the whole pipeline, and what is known about its training."""

    path: Path
    whole: Any
    record: dict[str, Any]
    kind: str

    @property
    def machine(self) -> Any:
        """The machine at the end."""
        return machine_in(self.answering)

    @property
    def answering(self) -> Any:
        """What gives the answers: the machine, or the cut around it."""
        return self.whole[-1] if isinstance(self.whole, Pipeline) else self.whole

    def encoded(self, X: Any) -> Any:
        """Rows as the machine sees them."""
        if isinstance(self.whole, Pipeline) and len(self.whole) > 1:
            return self.whole[:-1].transform(X)
        return X


def machine_in(last: Any) -> Any:
    """The machine at the end of a pipeline, without the cut or the search around it."""
    if isinstance(last, FixedThresholdClassifier):
        last = getattr(last, "estimator_", last.estimator)
    return getattr(last, "best_estimator_", last)


def kind_of(path: Path) -> str:
    """Which program's file it is, by how it begins."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a model file")
    if not path.exists():
        raise InputError(f"{path} does not exist; `maxmargin train DATA --out {path}` would make it")
    with open(path, "rb") as file:
        start = file.read(16)
    for beginning, kind in BEGINNINGS.items():
        if start.startswith(beginning):
            return kind
    return "pickle" if start[:1] == b"\x80" else "unknown"


def load_model(path: Path, unsafe_pickle: bool = False, data: str | None = None, features: int = 0) -> Model:
    """A model of any kind that can be read; LIBSVM's files do not say how many features there are."""
    kind = kind_of(path)
    if kind == "maxmargin":
        return Model(path, io.load(path), io.load_record(path) or {}, kind)
    if kind == "LIBSVM":
        model = io.load_libsvm(path)
        wider = features if data is None else features_of(data)
        if wider > model.n_features_in_:
            model = io.load_libsvm(path, n_features=wider)
        return Model(path, model, {}, kind)
    if kind == "LIBLINEAR":
        return Model(path, io.load_liblinear(path), {}, kind)
    if kind == "pickle" and unsafe_pickle:
        import joblib

        return Model(path, joblib.load(path), {}, "scikit-learn")
    if kind == "pickle":
        raise InputError(
            f"{path} is a pickle, and loading one runs whatever code is in it; if you made it yourself, say "
            "--unsafe-pickle"
        )
    raise InputError(f"{path} is no model: neither of maxmargin's (.mm) nor LIBSVM's or LIBLINEAR's (.model)")


def features_of(data: str) -> int:
    """Features of an svmlight file; 0 of any other."""
    if not Path(data).is_file():
        return 0
    first = next(read_table_chunks(data, rows=1))
    return 0 if first.features is None else int(first.features.shape[1])


def tables_for(model: Model, data: str, rows: int, **how: Any) -> Iterator[Table]:
    """The data, some rows at a time, columns of the kinds that the model was trained on."""
    if data in BUILT_IN and not Path(data).exists():
        yield built_in(data)
        return
    if data == STDIN:
        with copied_stdin() as copy:
            yield from tables_for(model, str(copy), rows, **how)
        return
    kinds = {column["name"]: column["kind"] for column in model.record.get("columns", ())}
    how = as_trained(model, how)
    decimal, decimals = how.pop("decimal"), model.record.get("read", {}).get("decimals", {})
    if decimal is not None:  # said for this file
        decimals = {name: decimal for name, kind in kinds.items() if kind == "number"}
    features = model.record.get("features")
    dates = model.record.get("dates", {})
    kinds |= dict.fromkeys(dates, "category")
    if features is None and not kinds:
        features = getattr(model.whole, "n_features_in_", None)
    parts = read_table_chunks(data, rows, kinds=kinds or None, n_features=features, decimals=decimals, **how)
    yield from (part.with_dates({name: order for name, order in dates.items() if name in part}) for part in parts)


def as_trained(model: Model, how: dict[str, Any]) -> dict[str, Any]:
    """How a file is read: as said, else as the training file was told to be."""
    read = model.record.get("read", {})
    return {name: read.get(name) if how.get(name) is None else how[name] for name in READING if name != "format"} | {
        "format": how.get("format")
    }


def rows_for(model: Model, table: Table) -> tuple[Any, list[str]]:
    """(rows as the model takes them, columns that it does not know)."""
    target = model.record.get("target")
    columns = model.record.get("columns")
    if model.record.get("features") is not None or table.features is not None:
        if table.features is None or columns:
            learned = "named columns" if columns else "svmlight features"
            raise InputError(f"{table.path}: the model was trained on {learned}; give it a file of that kind")
        return widened(table.features, getattr(model.whole, "n_features_in_", None)), []
    if not columns:
        return unnamed_rows(model, table)
    wanted = [column["name"] for column in columns]
    missing = [name for name in wanted if name not in table]
    if missing:
        near = difflib.get_close_matches(missing[0], table.names, n=1)
        hint = f" ({near[0]!r} is there: is it meant?)" if near else ""
        raise InputError(
            f"{table.path} lacks {len(missing)} of the {len(wanted)} columns that the model was trained on: "
            f"{listed([repr(name) for name in missing])}{hint}"
        )
    chosen = [as_kind(table, column["name"], column["kind"]) for column in columns]
    dtype = object if any(column.dtype == object for column in chosen) else np.float64
    X = np.empty((len(table), len(chosen)), dtype=dtype)
    for place, column in enumerate(chosen):
        X[:, place] = column
    return X, [name for name in table.names if name not in wanted and name != target]


def widened(X: Any, n_features: int | None) -> Any:
    """Sparse rows with as many columns as the model has; what a file does not mention is 0."""
    if n_features is None or X.shape[1] >= n_features:
        return X
    return sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))


def unnamed_rows(model: Model, table: Table) -> tuple[Any, list[str]]:
    """Rows for a model that remembers no names: all columns of numbers, but for one that holds the answers."""
    wanted = getattr(model.whole, "n_features_in_", None)
    numbers = [name for name in table.names if table.kind(name) == "number"]
    if wanted is not None and len(numbers) > wanted:
        numbers = [name for name in numbers if name.lower() not in TARGET_NAMES]
    if wanted is not None and len(numbers) != wanted:
        raise InputError(
            f"{table.path} has {len(numbers)} columns of numbers besides the answers, and the model takes {wanted}; it "
            "remembers no names to choose by"
        )
    return table.rows(numbers), []


def as_kind(table: Table, name: str, kind: str) -> np.ndarray:
    """A column as numbers or as text, whichever the model was trained on."""
    column = table[name]
    if kind == "number" and column.dtype == object:
        row = int(np.argmax(table.known(name)))
        if not table.known(name).any():
            return np.full(len(column), np.nan)
        raise InputError(f"{table.place(row)}, column {name!r}: {column[row]!r} is text; the model takes numbers there")
    if kind == "category" and column.dtype != object:
        found = np.empty(len(column), dtype=object)
        found[:] = [np.nan if np.isnan(value) else f"{value:.17g}" for value in column]
        return found
    return column


def followed_by(source: Source, other: Source) -> Source:
    """A source with the rows of another after its own, their columns found by name."""
    table, more = source.table, other.table.with_dates(source.dates)
    if (table.features is None) != (more.features is None):
        raise InputError(f"{other.name} and {source.name} are of different kinds; test on a file of the same")
    missing = [name for name in table.names if name not in more]
    if missing:
        raise InputError(f"{other.name} lacks columns that {source.name} has: {listed([repr(n) for n in missing])}")
    columns = []
    for name in table.names:
        pair = (table[name], as_kind(more, name, table.kind(name)))
        columns.append(np.concatenate([part.astype(object) for part in pair] if pair[0].dtype == object else pair))
    features = None
    if table.features is not None and more.features is not None:
        width = max(table.features.shape[1], more.features.shape[1])
        features = sp.csr_matrix(sp.vstack([widened(part.features, width) for part in (table, more)]))
    return source._replace(table=replace(table, columns=tuple(columns), features=features, lines=None))
