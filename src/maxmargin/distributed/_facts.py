"""What must be known of all rows before a fit: counts, classes, variances. Each worker tells it of its partitions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin._types import Array, FloatArray, RowData
from maxmargin._validation import Scaling, row_blocks
from maxmargin.distributed._crew import Crew
from maxmargin.distributed._seat import Seat, forget
from maxmargin.estimators.interface import require_finite


class Facts(NamedTuple):
    """What a partition, or all of them, is."""

    n: int
    d: int
    dtype: Any
    sparse: bool
    kept: int  # rows of positive weight
    weight: float
    classes: Array | None  # of the rows of positive weight, and their summed weights
    by_class: FloatArray | None


def facts(seat: Seat, rows: RowData, by_class: bool) -> Facts:
    """Of one partition."""
    weight, classes, sums = seat.weight[seat.kept], None, None
    if by_class:
        if seat.y is None:
            raise ValueError("there are no targets")
        classes, place = np.unique(seat.y[seat.kept], return_inverse=True)
        sums = np.bincount(place, weights=weight, minlength=len(classes)).astype(float)
    n, d = rows.shape
    return Facts(n, d, rows.dtype, sp.issparse(rows), len(seat.kept), float(weight.sum()), classes, sums)


def joined(parts: list[Facts]) -> Facts:
    """Of all; an error names the partition that is unlike the others."""
    filled = [(p, own) for p, own in enumerate(parts) if own.n]
    if not filled:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required: every partition is empty")
    first, one = filled[0]
    for p, own in filled:
        if own.d != one.d:
            raise ValueError(f"partition {p}: X has {own.d} features, but partition {first} has {one.d}")
        if own.sparse != one.sparse:
            raise ValueError(f"partition {p} and partition {first}: one is sparse, the other dense; give one kind")
        if own.classes is not None and len(own.classes) and one.classes is not None and len(one.classes):
            kinds = {own.classes.dtype.kind, one.classes.dtype.kind}
            if len(kinds - set("biuf")) and len(kinds) > 1:
                raise ValueError(
                    f"partition {p}: y holds {own.classes.dtype}, but that of partition {first} {one.classes.dtype}"
                )
    kept = sum(own.kept for own in parts)
    if kept == 0:
        raise ValueError(
            "Invalid input - all samples have zero or negative weights. Give at least one row a positive weight."
        )
    classes = sums = None
    if one.classes is not None:
        known = [own for _, own in filled if own.classes is not None and len(own.classes)]
        classes, place = np.unique(np.concatenate([own.classes for own in known]), return_inverse=True)
        sums = np.bincount(place, weights=np.concatenate([own.by_class for own in known])).astype(float)
    total = float(np.sum([own.weight for own in parts]))
    dtype = np.result_type(*[own.dtype for _, own in filled])
    return Facts(sum(own.n for own in parts), one.d, dtype, one.sparse, kept, total, classes, sums)


class Moments(NamedTuple):
    """Weight, mean and sum of weighted squared distances from it, of every column."""

    weight: float
    mean: FloatArray
    squares: FloatArray

    def joined(self, other: Moments) -> Moments:
        """Of both sets of rows (Chan, Golub and LeVeque 1979)."""
        total = self.weight + other.weight
        if other.weight == 0 or self.weight == 0:
            return self if other.weight == 0 else other
        apart = other.mean - self.mean
        mean = self.mean + apart * (other.weight / total)
        squares = self.squares + other.squares + np.square(apart) * (self.weight * other.weight / total)
        return Moments(total, mean, squares)


def moments(seat: Seat, rows: RowData) -> Moments:
    """Of the rows that count, a block at a time."""
    found = Moments(0.0, np.zeros(rows.shape[1]), np.zeros(rows.shape[1]))
    for block in row_blocks(rows):
        weight = np.maximum(seat.weight[block], 0.0)
        total, X = float(weight.sum()), rows[block]
        if total == 0:
            continue
        if sp.issparse(X):
            mean = np.asarray(X.T @ weight).ravel() / total
            squares = np.asarray(X.multiply(X).T @ weight).ravel() - total * mean**2
        else:
            mean = weight @ X / total
            with np.errstate(over="ignore"):
                squares = weight @ np.square(X - mean)
        found = found.joined(Moments(total, mean, squares))
    return found


def all_moments(crew: Crew) -> Moments:
    """Of all partitions, in their order."""
    first, *others = crew.call("moments")
    for other in others:
        first = first.joined(other)
    return first


def scaling_of(found: Moments, sparse: bool) -> Scaling:
    """As ``scale=True`` has it on one machine."""
    variance = found.squares / found.weight
    require_finite(variance)
    constant = variance <= (64 * np.finfo(float).eps if sparse else 1e-20) * np.maximum(found.mean**2, 1e-300)
    center = np.zeros_like(found.mean) if sparse else found.mean
    return Scaling(center, np.where(constant, 1.0, np.sqrt(np.maximum(variance, 0.0))))


def variance_of(found: Moments, scaling: Scaling | None) -> float:
    """Variance of all values of the rows, as the kernel sees them."""
    mean, variance = found.mean, found.squares / found.weight
    if scaling is not None:
        mean, variance = (mean - scaling.center) / scaling.scale, variance / scaling.scale**2
    return float(np.mean(variance) + np.mean(np.square(mean - np.mean(mean))))


def close(seat: Seat, rows: RowData) -> None:
    """The fit is over."""
    forget(seat.name)
