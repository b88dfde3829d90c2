"""What users give: Dask arrays and data frames, delayed chunks, folders of files; here they become partitions.

Rows stay where they are. A chunk that a worker has is looked at there; only what does not fit (a data frame, integers,
another layout) is converted, by a task on that worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from maxmargin._types import RowData
from maxmargin.distributed._crew import Crew
from maxmargin.distributed._seat import Seat

#: File names of a folder that are read: Parquet, and the sparse text format of LIBSVM.
PARQUET, SVMLIGHT = (".parquet", ".pq"), (".svm", ".svmlight", ".libsvm", ".txt")

#: Classes of Dask's values, one or a part of one.
CHUNKS = ("Delayed", "DelayedLeaf", "DelayedAttr", "Future")


class Partition(NamedTuple):
    """One partition as Dask knows it: delayed values or futures, or None."""

    X: Any
    y: Any
    weight: Any


class Given(NamedTuple):
    """The partitions of what a user gave, and the names of its columns where it has them."""

    parts: list[Partition]
    names: Any = None


def given(X: Any, y: Any, sample_weight: Any, workers: int) -> Given:
    """The partitions of the input of ``fit``."""
    if isinstance(X, str | Path) or (isinstance(X, list | tuple) and X and all(isinstance(x, str | Path) for x in X)):
        return _of_files(files_of(X), y, sample_weight)
    chunks, sizes, names = _chunks(X, workers)
    targets, weights = _beside(y, sizes, len(chunks), "y"), _beside(sample_weight, sizes, len(chunks), "sample_weight")
    return Given([Partition(*part) for part in zip(chunks, targets, weights, strict=True)], names)


def is_collection(X: Any) -> bool:
    """Whether this is one of Dask's collections, and not an array, a table or a list of chunks."""
    return not is_chunk(X) and hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def is_chunk(X: Any) -> bool:
    """Whether this is a value that Dask will compute, or has: such a value claims to have every attribute."""
    return type(X).__module__.partition(".")[0] in ("dask", "distributed") and type(X).__name__ in CHUNKS


def are_chunks(X: Any) -> bool:
    """Whether this is a list of them."""
    return isinstance(X, list | tuple) and len(X) > 0 and all(map(is_chunk, X))


def _chunks(X: Any, workers: int) -> tuple[list[Any], list[int] | None, Any]:
    """(chunks of rows, their numbers of rows if they are known, names of columns)."""
    if is_collection(X):
        if hasattr(X, "columns"):
            return list(X.to_delayed()), None, np.asarray(X.columns, dtype=object)
        if X.ndim != 2:
            raise ValueError(f"X must have rows and columns; got a Dask array with {X.ndim} axes")
        X = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        sizes = None if any(np.isnan(size) for size in X.chunks[0]) else [int(size) for size in X.chunks[0]]
        return list(X.to_delayed().ravel()), sizes, None
    if are_chunks(X):
        return list(X), None, None
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    from dask import delayed

    edges = np.linspace(0, X.shape[0], max(1, workers) + 1).astype(int)
    names = np.asarray(X.columns, dtype=object) if hasattr(X, "columns") else None
    rows = X.iloc if hasattr(X, "iloc") else X
    parts = [delayed(rows[a:b]) for a, b in pairwise(edges.tolist())]
    return parts, np.diff(edges).tolist(), names


def _beside(values: Any, sizes: list[int] | None, count: int, what: str) -> list[Any]:
    """Targets or weights in the partitions of the rows."""
    if values is None:
        return [None] * count
    if is_collection(values):
        if hasattr(values, "chunks"):
            if values.ndim != 1:
                raise ValueError(f"{what} must have one axis; got a Dask array of shape {values.shape}")
            known = not any(np.isnan(size) for size in values.chunks[0])
            if known and sizes is not None and [int(size) for size in values.chunks[0]] != sizes:
                if sum(sizes) != len(values):
                    raise ValueError(f"X has {sum(sizes)} rows, but {what} has {len(values)}")
                values = values.rechunk((tuple(sizes),))
        found = list(np.ravel(values.to_delayed()))
    elif are_chunks(values):
        found = list(values)
    else:
        values = np.asarray(values)
        if sizes is None:
            raise ValueError(
                f"the rows of X are in {count} partitions of unknown sizes, so that {what}, an array of "
                f"{len(values)} values, cannot be divided among them; give {what} as a Dask collection with the same "
                "partitions, or call X.compute_chunk_sizes() first"
            )
        if sum(sizes) != len(values):
            raise ValueError(f"X has {sum(sizes)} rows, but {what} has {len(values)}")
        from dask import delayed

        edges = np.concatenate([[0], np.cumsum(sizes)])
        found = [delayed(values[a:b]) for a, b in pairwise(edges.tolist())]
    if len(found) != count:
        raise ValueError(f"X has {count} partitions, but {what} has {len(found)}; give both the same partitions")
    return found


# -- folders of files -------------------------------------------------------------------------------------------------


def files_of(where: Any) -> list[str]:
    """The parts that a folder, a pattern or a list of files names, in the order of their names."""
    places = [where] if isinstance(where, str | Path) else list(where)
    found: list[Path] = []
    for place in map(Path, places):
        if place.is_dir():
            found += sorted(p for p in place.iterdir() if p.suffix.lower() in PARQUET + SVMLIGHT)
        elif any(sign in place.name for sign in "*?["):
            found += sorted(place.parent.glob(place.name))
        else:
            found.append(place)
    if not found:
        raise ValueError(f"there are no files {', '.join(PARQUET + SVMLIGHT)} in {where}")
    return [str(path.absolute()) for path in found]


def _of_files(paths: list[str], y: Any, sample_weight: Any) -> Given:
    from dask import delayed

    parquet = [path.lower().endswith(PARQUET) for path in paths]
    if any(parquet) and not all(parquet):
        raise ValueError(
            f"the parts are of different kinds: {paths[parquet.index(True)]}, {paths[parquet.index(False)]}"
        )
    if parquet[0]:
        if not isinstance(y, str):
            raise ValueError(f"say which column of the Parquet files is the target: y='NAME'; got y={y!r}")
        if sample_weight is not None and not isinstance(sample_weight, str):
            raise ValueError(f"say which column holds the weights: sample_weight='NAME'; got {sample_weight!r}")
        names = np.asarray([n for n in _column_names(paths[0]) if n not in (y, sample_weight)], dtype=object)
        for path in paths:
            own = _column_names(path)
            wanted = [*names, y, *([sample_weight] if sample_weight else [])]
            missing = [name for name in wanted if name not in own]
            if missing:
                raise ValueError(f"{path} has no column {missing[0]!r}; it has {', '.join(map(repr, own[:20]))}")
        columns = [str(name) for name in names]
        parts = [
            Partition(
                delayed(parquet_rows)(path, columns),
                delayed(parquet_column)(path, y),
                delayed(parquet_column)(path, sample_weight) if sample_weight else None,
            )
            for path in paths
        ]
        return Given(parts, names)
    if y is not None or sample_weight is not None:
        raise ValueError("svmlight files hold their targets; leave y and sample_weight out")
    both = [delayed(svmlight_part)(path) for path in paths]
    return Given([Partition(part[0], part[1], None) for part in both])


def read_parts(where: Any, target: str | None = None) -> tuple[list[Any], list[Any], Any]:
    """(chunks of rows, chunks of targets, names of columns) of a folder or files, to be read where they are computed.

    Parameters
    ----------
    where : path, pattern or list of paths
        A folder of Parquet or svmlight files, or the files.
    target : str or None
        The column of Parquet files that holds the targets; svmlight files have their own.

    Returns
    -------
    (list of delayed, list of delayed, ndarray or None)
    """
    found = _of_files(files_of(where), target, None)
    return [part.X for part in found.parts], [part.y for part in found.parts], found.names


def _column_names(path: str) -> list[str]:
    import pyarrow.parquet as pq

    return list(pq.read_schema(path).names)


def parquet_rows(path: str, columns: list[str]) -> RowData:
    """The columns of one file as rows; numbers of one kind stay as they are."""
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=columns)
    kinds = [column.type.to_pandas_dtype() for column in table.columns]
    for name, kind in zip(columns, kinds, strict=True):
        if np.dtype(kind).kind not in "fiub":
            raise ValueError(f"{path}: column {name!r} holds {np.dtype(kind)}, not numbers")
    dtype = np.float32 if all(kind == np.float32 for kind in kinds) else np.float64
    out = np.empty((table.num_rows, len(columns)), dtype=dtype)
    for k, column in enumerate(table.columns):
        out[:, k] = column.to_numpy()
    return out


def parquet_column(path: str, name: str) -> Any:
    """One column of one file."""
    import pyarrow.parquet as pq

    return pq.read_table(path, columns=[name]).column(0).to_numpy(zero_copy_only=False)


def svmlight_part(path: str) -> tuple[RowData, Any]:
    """(rows, targets) of one file."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(path)
    return sp.csr_array(X), y


# -- on the workers ---------------------------------------------------------------------------------------------------


def seated(client: Any, parts: Sequence[Partition], d: int | None = None) -> Crew:
    """The partitions as a crew: their rows, checked, and a seat for each, on the workers that have them."""
    from dask import delayed

    rows = [delayed(checked_rows, pure=False)(part.X, d) for part in parts]
    made = client.compute(rows)
    seats = [
        delayed(checked_seat, pure=False)(X, part.y, part.weight, number)
        for number, (X, part) in enumerate(zip(made, parts, strict=True))
    ]
    return Crew(client, list(made), list(client.compute(seats)))


def checked_rows(X: Any, d: int | None = None) -> RowData:
    """The rows of one partition: C-ordered floats or CSR; what is such already is taken as it is."""
    if hasattr(X, "select_dtypes"):
        wrong = [str(c) for c in X.columns if X[c].dtype.kind not in "fiub"]
        if wrong:
            raise ValueError(f"column {wrong[0]!r} holds {X[wrong[0]].dtype}, not numbers")
        X = X.to_numpy()
    if d is not None and getattr(X, "ndim", 0) == 2 and sp.issparse(X) and X.shape[1] < d:
        X = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], d))  # trailing columns without a value
    if getattr(X, "ndim", 2) != 2:
        raise ValueError(f"X must have rows and columns; got shape {np.shape(X)}")
    return check_array(
        X, dtype=[np.float64, np.float32], order="C", accept_sparse="csr", ensure_min_samples=0, ensure_min_features=0,
        input_name="X",
    )  # fmt: skip


def checked_seat(rows: RowData, y: Any, weight: Any, number: int) -> Seat:
    """The seat of a partition, whose targets and weights are as many as it has rows."""
    n = rows.shape[0]
    y = None if y is None else np.asarray(y)
    if y is not None:
        if y.ndim == 2 and y.shape[1] == 1:
            y = y.ravel()
        if y.ndim != 1 or len(y) != n:
            raise ValueError(f"X has {n} rows, but y has shape {y.shape}")
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity")
        if y.dtype.kind == "O" and any(value is None or value != value for value in y):
            raise ValueError("Input y contains NaN")
    weight = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(f"X has {n} rows, but sample_weight has shape {weight.shape}")
    if not np.isfinite(weight).all():
        raise ValueError("Input sample_weight contains NaN or infinity")
    return Seat(number, y, weight)
