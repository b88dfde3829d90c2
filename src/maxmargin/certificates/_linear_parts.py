"""Certificates of linear models from parts: rows that lie in several places are judged where they are.

:func:`linear_sums` gives X' beta of each place, whose sum decides by what factor beta must shrink to be in the dual's
domain; with that, :func:`linear_part` gives the rows' share of :mod:`._linear`, and :func:`joined_linear` the proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxmargin._types import FloatArray, RowData
from maxmargin._validation import Scaling
from maxmargin.certificates._certificate import Certificate
from maxmargin.certificates._linear import Products, RowSums, _largest, _slips, verdict
from maxmargin.certificates._linear_rows import RowValues, over_rows
from maxmargin.kernels.rounding import UNIT, summed
from maxmargin.problems import FEASIBILITY_TOL, LinearProblem


class LinearPart(NamedTuple):
    """What the rows of one place add to a certificate."""

    n: int
    values: RowValues
    error: float
    drift: float
    rest: float  # sum beta
    mass: float  # sum |beta|
    farthest: float  # the largest |f|


def largest_values(X: RowData, scaling: Scaling | None) -> FloatArray:
    """The largest |x_ij| of every column, as the problem sees them."""
    return _largest(X, scaling or Scaling.none(X.shape[1]))


def linear_sums(X: RowData, scaling: Scaling | None, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(X' beta, bounds on its errors) of some rows."""
    if not X.shape[0]:
        return np.zeros(X.shape[1]), np.zeros(X.shape[1])
    products = Products(X, scaling or Scaling.none(X.shape[1]), centred=False)
    v, off = products.combined(beta[:, None])
    return v[:, 0], off[:, 0]


def linear_part(
    X: RowData, scaling: Scaling | None, problem: LinearProblem, coef: FloatArray, intercept: float, beta: FloatArray
) -> LinearPart:
    """The share of some rows, given feasible dual variables; weights and intercept are those for rows as they come."""
    n = X.shape[0]
    if not n:
        return LinearPart(0, RowValues(), 0.0, 0.0, 0.0, 0.0, 0.0)
    products = Products(X, scaling or Scaling.none(X.shape[1]), centred=False)
    f, error, drift = products.scores(coef[:, None], np.array([intercept]))
    errors = float(error[0]) + _slips(problem, coef, f[:, 0])
    values = over_rows(problem, f[:, 0], errors, beta)
    rest, mass = math.fsum(beta.tolist()), float(np.abs(beta).sum())
    return LinearPart(n, values, float(error[0]), float(drift[0]), rest, mass, float(np.abs(f).max()))


def joined_sums(
    parts: Sequence[tuple[FloatArray, FloatArray, FloatArray]],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(X' beta of all rows, bounds on its errors, largest values of the columns)."""
    v, off = np.sum([p[0] for p in parts], axis=0), np.sum([p[1] for p in parts], axis=0)
    sizes = np.sum([np.abs(p[0]) for p in parts], axis=0)
    return v, (off + summed(len(parts) + 1) * sizes) * (1 + 2.0**-20), np.max([p[2] for p in parts], axis=0)


def joined_linear(
    problem: LinearProblem,
    coef: FloatArray,
    scaling: Scaling | None,
    parts: Sequence[LinearPart],
    factor: float,
    sums: tuple[FloatArray, FloatArray, FloatArray],
) -> Certificate:
    """The certificate of all rows; ``problem`` has the loss and the penalty, whatever rows it is on."""
    v, off_v, largest = sums  # of the variables before they were shrunk
    columns = np.array([p.values for p in parts])
    total = columns.sum(axis=0) * (1.0 + summed(len(parts) + 1))
    total[4] = columns[:, 4].max()  # the largest distance is no sum
    mass, rest = math.fsum(p.mass for p in parts) * (1.0 + summed(len(parts) + 1)), 0.0
    if problem.fit_intercept:
        rest = abs(math.fsum(p.rest for p in parts)) + 2 * UNIT * math.fsum(abs(p.rest) for p in parts)
    balanced = rest <= FEASIBILITY_TOL * mass or mass == 0
    farthest = max(p.farthest for p in parts)
    rows = RowSums(sum(p.n for p in parts), RowValues(*total.tolist()), rest, mass, farthest, balanced)
    w = coef if scaling is None else coef * scaling.scale
    drift = 0.0 if problem.fit_intercept else max(p.drift for p in parts)
    return verdict(problem, w, factor * v, off_v, largest, max(p.error for p in parts), drift, rows)
