"""Checks of user input that estimators share; every error names what was wrong, the value and the way out."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight

from maxmargin._types import Array, FloatArray, IntArray, RowData

#: Rows of a matrix compared with its transpose at a time.
SYMMETRY_PANEL = 64
#: Share of the free memory that the kernel cache takes by default, and its least and largest size in bytes.
CACHE_SHARE, CACHE_LEAST, CACHE_LARGEST = 0.03, 2**26, 2**29
#: Bytes of a limited address space that are left to the stacks of threads and to BLAS, which ends the process where it
#: finds none.
SPARED = 2**27
#: Rows that are scaled at a time.
HEIGHT = 1024
#: How the names begin of what scikit-learn keeps on an estimator while callbacks watch a fit; it removes them itself.
WATCHING = ("_skl_", "_callback", "_parent_")


@contextmanager
def unchanged_by_errors(estimator: Any) -> Iterator[None]:
    """After an error in this block, Ctrl-C among them, the estimator has the attributes that it had before."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        watching = {name: value for name, value in vars(estimator).items() if name.startswith(WATCHING)}
        estimator.__dict__ = {**before, **watching}  # in one step: another Ctrl-C does not find it empty
        raise


def kept_rows(sample_weight: Any, X: RowData, n: int) -> tuple[FloatArray, IntArray]:
    """(weights of all rows, rows of positive weight); rows of weight <= 0 are dropped as scikit-learn does."""
    if sample_weight is None:
        return np.ones(n), np.arange(n)
    weight = _check_sample_weight(sample_weight, np.empty((n, 1)), dtype=np.float64, allow_all_zero_weights=True)
    kept = np.flatnonzero(weight > 0)
    if len(kept) == 0:
        raise ValueError(
            "Invalid input - all samples have zero or negative weights. Give at least one row a positive weight."
        )
    return weight, kept


def row_costs(C: float, weight: FloatArray) -> FloatArray:
    """C_i = C times the weight of row i; ValueError where the product is beyond floating-point numbers."""
    with np.errstate(over="ignore", under="ignore"):
        costs = C * weight
    lost = (weight > 0) & ((costs == 0) | np.isinf(costs))
    if lost.any() and 0 < C < math.inf:
        worst = float(weight[np.argmax(lost)])
        raise ValueError(
            f"C={C:.3g} times a row's weight of {worst:.3g} is {'0' if worst < 1 else 'infinite'} in floating-point "
            "arithmetic; multiply all weights by one factor and divide C by it, so that the products are of moderate "
            "size"
        )
    return costs


def not_numbers(X: Any) -> bool:
    """Whether X is a sequence of anything (strings, sets), to be handed to a user's kernel function as it is."""
    return not hasattr(X, "shape") or getattr(getattr(X, "dtype", None), "kind", "") in ("O", "U", "S")


def triangle_panels(K: Array) -> Iterator[tuple[Array, Array]]:
    """Lines of the lower triangle of a square matrix and the values across the diagonal, a few lines at a time."""
    for first in range(0, len(K), SYMMETRY_PANEL):
        last = first + SYMMETRY_PANEL
        yield K[first:last, :last], K[:last, first:last].T


def check_gram(K: Array) -> None:
    """Refuse a precomputed matrix that is not square or not symmetric."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"Precomputed matrix must be a square matrix. Input is a {K.shape[0]}x{K.shape[1]} matrix.")
    room = None
    for lower, upper in triangle_panels(K):
        if np.array_equal(lower, upper):
            continue
        if room is None:
            room = 1e-8 * max(float(K.max()), -float(K.min()))
        if not (np.abs(lower - upper) <= room + 1e-5 * np.minimum(np.abs(lower), np.abs(upper))).all():
            raise ValueError(
                "Precomputed matrix must be symmetric; the largest difference from its transpose is "
                f"{float(np.abs(K - K.T).max()):.3g}. Use (K + K.T) / 2 if that is rounding."
            )


def weighted_variance(X: RowData, weight: FloatArray) -> float:
    """Variance of all values of X, each row counted ``weight`` times."""
    if len(weight) == 0 or X.shape[1] == 0:
        return 0.0
    if (weight == weight[0]).all():
        if sp.issparse(X):
            return float(X.multiply(X).mean() - X.mean() ** 2)
        return float(X.var(dtype=np.float64))
    share = weight / (weight.sum() * X.shape[1])
    mean = float(share @ np.asarray(X.sum(axis=1)).ravel())
    if sp.issparse(X):
        return float(share @ np.asarray(X.multiply(X).sum(axis=1)).ravel()) - mean**2
    return float(share @ np.square(X - mean).sum(axis=1))


def resolve_gamma(gamma: str | float, X: RowData, weight: FloatArray) -> float:
    """scikit-learn's 'scale' (with weighted variance) and 'auto', or the number given."""
    if isinstance(gamma, Real):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / max(X.shape[1], 1)
    variance = weighted_variance(X, weight)
    width = 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    if not np.isfinite(width):
        raise ValueError(
            f"gamma='scale' is not finite: the variance of X is {variance:.3g}; "
            "scale the features, for example with sklearn.preprocessing.StandardScaler"
        )
    return width


def cache_bytes(cache_size: str | float) -> int:
    """'auto' or megabytes, as bytes."""
    if isinstance(cache_size, Real):
        return int(float(cache_size) * 2**20)
    share = min(max(CACHE_SHARE * memory_at_first(), CACHE_LEAST), CACHE_LARGEST)
    return 2 ** int(math.log2(share))  # in steps, so that a few megabytes more or less do not change a fit


@cache
def memory_at_first() -> float:
    """What was free when first asked, so that two fits are alike."""
    return free_memory()


def free_memory() -> float:
    """Bytes that could be had now without swapping, within the process's own limit (ulimit -v) if it has one."""
    return max(0.0, min(_system_memory(), address_space() - SPARED))


def _system_memory() -> float:
    """Bytes that the system could give; a guess of 4 GiB where it does not say."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return 1024.0 * float(line.split()[1])
    except OSError:
        pass
    try:
        return 0.5 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return float(2**32)


def address_space() -> float:
    """Bytes that the process may still map; infinite where there is no limit, or none can be known."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        with open("/proc/self/statm") as line:
            mapped = int(line.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        return math.inf
    return math.inf if limit == resource.RLIM_INFINITY else float(limit - mapped)


class Scaling(NamedTuple):
    """Features as the problem saw them: (x - center) / scale."""

    center: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, model: Any) -> Scaling | None:
        """What a fitted kernel machine did to its rows, if anything."""
        return getattr(model, "scaling_", None)

    @classmethod
    def none(cls, d: int) -> Scaling:
        """Features as they are."""
        return cls(np.zeros(d), np.ones(d))

    def seen(self, coef: FloatArray, intercept: Any) -> tuple[FloatArray, Any]:
        """(weights, intercept) of the problem, from those for rows as they come."""
        return coef * self.scale, intercept + coef @ self.center


def scaled(X: RowData, scaling: Scaling | None) -> RowData:
    """The rows as the problem sees them, in their own precision; sparse rows become dense where zeros move."""
    if scaling is None:
        return X
    if sp.issparse(X) and scaling.center.any():
        X = X.toarray()
    if sp.issparse(X):
        return type(X)(X.multiply(1.0 / scaling.scale[None, :]), dtype=X.dtype)
    out = np.empty_like(X)
    for rows in row_blocks(X):
        out[rows] = (X[rows] - scaling.center) / scaling.scale
    return out


def unscaled(X: FloatArray, scaling: Scaling | None) -> FloatArray:
    """Rows as they come, from those that the problem sees."""
    return X if scaling is None else X * scaling.scale + scaling.center


def row_blocks(X: RowData) -> list[slice]:
    """Rows a few at a time, so that nothing as large as X is held in float64."""
    return [slice(first, first + HEIGHT) for first in range(0, X.shape[0], HEIGHT)]
