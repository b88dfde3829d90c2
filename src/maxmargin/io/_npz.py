"""Tables in NumPy's npz files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from maxmargin._types import Array
from maxmargin.io._files import grown, held, most_bytes
from maxmargin.io._table import Table, checked_names, text_objects


def npz_arrays(path: Path) -> dict[str, Array]:
    """The arrays of an npz file by name."""
    source, most = held(path), most_bytes(path)
    try:
        with np.load(source, allow_pickle=False) as file:
            modest = sum(entry.file_size for entry in file.zip.infolist()) <= most
            arrays = {name: file[name] for name in file.files} if modest else {}
    except Exception as error:  # damage shows itself in many ways
        if getattr(error, "filename", None) is not None:  # the operating system's own
            raise
        raise ValueError(
            f"{path}: NumPy cannot read the file ({error}); write it with numpy.savez(path, X=..., y=...), as plain "
            "arrays of numbers or text"
        ) from error
    if not modest:
        raise grown(path)
    return arrays


def npz_table(path: Path) -> Table:
    """The arrays X and y of an npz file; columns are x0, x1, ... and y."""
    arrays = npz_arrays(path)
    if "X" not in arrays:
        listed = ", ".join(map(repr, arrays)) or "nothing"
        raise ValueError(f"{path} holds {listed}, and no array 'X'; write it with numpy.savez(path, X=..., y=...)")
    X = arrays["X"]
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(f"{path}: X has shape {X.shape} and type {X.dtype}; it must be a matrix of numbers")
    if not X.size:
        raise ValueError(f"{path}: X has shape {X.shape}, so there is nothing to learn from")
    names = checked_names(path, [f"x{place}" for place in range(X.shape[1])])
    X = np.asarray(X, dtype=np.float64)
    columns = [np.ascontiguousarray(X[:, place]) for place in range(X.shape[1])]
    if "y" in arrays:
        names, columns = (*names, "y"), [*columns, labels(path, arrays["y"], len(X))]
    for name, column in zip(names, columns, strict=True):
        if column.dtype != object and np.isinf(column).any():
            raise ValueError(f"{path}, row {int(np.argmax(np.isinf(column)))} (from 0), {name}: it is not finite")
    return Table(path, names, tuple(columns))


def labels(path: Path, y: Array, n: int) -> Array:
    """The array y as a column."""
    y = y.ravel() if y.ndim == 2 and 1 in y.shape else y
    if y.shape != (n,):
        raise ValueError(f"{path}: y has shape {y.shape} and X has {n} rows; y needs one value for each")
    if y.dtype.kind in "US":
        return text_objects([item.decode() if isinstance(item, bytes) else item for item in y.tolist()])
    if y.dtype.kind not in "biuf":
        raise ValueError(f"{path}: y has type {y.dtype}; it must hold numbers or text")
    return np.asarray(y, dtype=np.float64)
