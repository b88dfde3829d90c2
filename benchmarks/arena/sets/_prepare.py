"""Drawing, splitting and scaling, the same way for every set."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.arena.case import SCALE, Split

SEED = 0
TEST_SHARE = 0.25

CLASSIFY: dict[str, Any] = {"C": 10.0, "gamma": SCALE}
REGRESS: dict[str, Any] = {"C": 10.0, "gamma": SCALE, "epsilon": 0.1}
NU: dict[str, Any] = {"nu": 0.2, "gamma": SCALE}


def draw(split: Split, rows: int | None) -> Split:
    """`rows` training rows drawn with a fixed seed, or all of them in the published order."""
    if rows is None:
        return split
    chosen = np.random.default_rng(SEED).permutation(len(split.y))[:rows]
    return split._replace(X=split.X[chosen], y=split.y[chosen])


def shuffle(X: Any, y: np.ndarray, rows: int | None = None, test_rows: int = 0) -> Split:
    """Rows in a fixed random order: `rows` to train (None: all that are left), `test_rows` to test."""
    order = np.random.default_rng(SEED).permutation(len(y))
    test, train = order[:test_rows], order[test_rows:][:rows]
    return Split(X[train], y[train], X[test], y[test]) if test_rows else Split(X[train], y[train])


def hold_out(X: np.ndarray, y: np.ndarray) -> Split:
    """A quarter of the rows, drawn with a fixed seed, to test."""
    return shuffle(X, y, test_rows=round(TEST_SHARE * len(y)))


def standardise(split: Split, target: bool = False) -> Split:
    """Columns (and the target) to mean 0 and variance 1 over the training rows; constant columns stay 0."""
    X = np.asarray(split.X, dtype=np.float64)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale == 0.0] = 1.0
    out = split._replace(X=(X - mean) / scale)
    if split.X_test is not None:
        out = out._replace(X_test=(split.X_test - mean) / scale)
    return _standardise_target(out) if target else out


def _standardise_target(split: Split) -> Split:
    """Targets to mean 0 and variance 1, rounded to float32 like the rows."""
    y = split.y.astype(np.float64)
    mean, scale = y.mean(), y.std()
    test = None if split.y_test is None else ((split.y_test - mean) / scale).astype(np.float32)
    return split._replace(y=((y - mean) / scale).astype(np.float32), y_test=test)
