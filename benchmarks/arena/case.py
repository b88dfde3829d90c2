"""What is compared: a case is one problem on one data set, a split its rows."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

Source = Callable[[str], tuple[Any, Any, Any, Any]]
SCALE = "scale"  # gamma = 1 / (columns * variance of X), scikit-learn's default
DENSE_FROM = 0.2  # share of non-zeros from which a CSR layout helps nobody


class Split(NamedTuple):
    """Training and test rows; the test part is None where a set has none."""

    X: Any
    y: np.ndarray
    X_test: Any = None
    y_test: np.ndarray | None = None


@dataclass(frozen=True)
class Case:
    """One problem; `label` tells it from the other cases of its set, `rows=None` is all of them."""

    task: str
    params: dict[str, Any]
    label: str = ""
    rows: int | None = None
    large: bool = False


class Missing(Exception):
    """The data of a set are not to be had; the message says why."""


def open_source(folder: str | None) -> Source:
    """The `load` function of the folder given by --data; without one, a function that says what is missing."""
    if folder is None:
        return _no_folder
    path = Path(folder) / "load.py"
    if not path.is_file():
        raise SystemExit(f"arena: --data {folder}: there is no load.py in it")
    spec = importlib.util.spec_from_file_location("arena_data", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    load: Source = module.load
    return load


def _no_folder(name: str) -> tuple[Any, Any, Any, Any]:
    raise Missing("needs --data DIR")


def fix_gamma(params: dict[str, Any], X: Any) -> dict[str, Any]:
    """The same parameters with gamma as a number, computed once in float64."""
    if params.get("gamma") != SCALE:
        return params
    values = X.astype(np.float64)
    mean = values.mean()
    square = values.multiply(values).mean() if sp.issparse(values) else np.square(values, out=values).mean()
    return {**params, "gamma": float(1.0 / (X.shape[1] * (square - mean**2)))}


def save(path: Path, split: Split) -> None:
    """Write a split, its rows as float32, so that every competitor reads the same bits."""
    arrays: dict[str, np.ndarray] = {}
    for part, X, y in (("train", split.X, split.y), ("test", split.X_test, split.y_test)):
        if X is None:
            continue
        X = layout(X)
        arrays[f"{part}_y"] = np.asarray(y)
        if sp.issparse(X):
            arrays |= {f"{part}_{k}": getattr(X, k) for k in ("data", "indices", "indptr")}
            arrays[f"{part}_shape"] = np.array(X.shape)
        else:
            arrays[f"{part}_X"] = X
    np.savez(path, **arrays)  # type: ignore[arg-type]  # the stubs take the names for allow_pickle


def read(path: str) -> Split:
    """Read what `save` wrote."""
    with np.load(path) as z:
        return Split(*_part(z, "train"), *_part(z, "test"))


def layout(X: Any) -> Any:
    """float32; dense unless most of it is zeros."""
    if sp.issparse(X):
        X = X.tocsr()
        X = X if X.nnz < DENSE_FROM * X.shape[0] * X.shape[1] else X.toarray()
    return X.astype(np.float32)


def _part(z: Any, part: str) -> tuple[Any, Any]:
    if f"{part}_y" not in z:
        return None, None
    if f"{part}_X" in z:
        return z[f"{part}_X"], z[f"{part}_y"]
    pieces = tuple(z[f"{part}_{k}"] for k in ("data", "indices", "indptr"))
    return sp.csr_matrix(pieces, shape=tuple(z[f"{part}_shape"])), z[f"{part}_y"]
