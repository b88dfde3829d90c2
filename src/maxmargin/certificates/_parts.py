"""Certificates from parts: rows that lie in several places are judged where they are, and the sums are added up.

The gap, both objectives and the KKT violation are sums, or extremes, of a value for every row. So each place evaluates
its own rows (:func:`part_values`) and one certificate follows from all of them (:func:`joined_certificate`): that of
:mod:`._kernel`, for soft margins and tubes. What concerns all rows at once is the sum of the dual variables alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.certificates._certificate import Certificate, Definiteness
from maxmargin.certificates._kernel import SNAP, STEPS
from maxmargin.certificates._scores import ROOM, SUM, UNDERFLOW
from maxmargin.kernels import Kernel
from maxmargin.kernels.rounding import UNIT, summed
from maxmargin.problems import FEASIBILITY_TOL, Problem, relative

#: Support vectors whose kernel values are held at a time.
COLUMNS = SUM
#: Room that a row must have, relative to its bound, to make up for what rounding has left of the sum.
ROOMY = 1e-9


class ScoreParts:
    """Scores of some rows in every task, added up from shares of the support vectors, with bounds on their errors."""

    def __init__(self, n: int, tasks: int):
        self.f = np.zeros((n, tasks))
        self.own_error = np.zeros((n, tasks))  # of sums that came with a proven bound
        self.size = np.zeros(n)
        self.weight = np.zeros(tasks)  # sum of the support vectors' sizes times |coef|
        self.mass = np.zeros(tasks)  # sum |coef|
        self.count, self.fed = 0, 0
        self.relative, self.largest = 0.0, 0.0

    def begin_share(self, kernel: Kernel, vectors: RowData, coef: FloatArray) -> None:
        """What a share of the support vectors adds to the bounds."""
        rounding = kernel.rounding(vectors)
        self.weight += rounding.size @ np.abs(coef)
        self.mass += np.abs(coef).sum(axis=0)
        self.relative = max(self.relative, rounding.relative)
        self.count, self.fed = self.count + len(coef), self.fed + 1

    def add(self, kernel: Kernel, at: slice, rows: RowData, vectors: RowData, coef: FloatArray) -> None:
        """The share of some support vectors in the scores of some rows, by the kernel's NumPy definition."""
        rounding = kernel.rounding(rows)
        self.size[at], self.relative = rounding.size, max(self.relative, rounding.relative)
        self.largest = max(self.largest, float(np.square(rounding.size).max(initial=0.0)))
        for first in range(0, len(coef), COLUMNS):
            part = slice(first, first + COLUMNS)
            self.f[at] += np.asarray(kernel(rows, vectors[part]), dtype=np.float64) @ coef[part]

    def add_proven(self, at: slice, f: FloatArray, error: FloatArray) -> None:
        """A share that somebody else has summed, of a kernel with k(x, x) = 1, within proven errors."""
        self.f[at] += f
        self.own_error[at] += error
        self.largest = max(self.largest, 1.0)

    def errors(self, index: IntArray, task: int) -> FloatArray:
        """Bounds on the errors of the scores of a task: those of :class:`._scores.ErrorBounds`."""
        gamma = summed(min(self.count, SUM) + self.count // COLUMNS + self.fed + 6)
        relative_error = self.relative + gamma * (1.0 + self.relative)
        by_definition = relative_error * ROOM * self.size[index] * float(self.weight[task])
        share = (1.0 + self.fed / 16) * self.own_error[
            index, task
        ]  # whose bound has room for 32 roundings, not for all
        return by_definition + share + UNDERFLOW * float(self.mass[task])


class PartValues(NamedTuple):
    """What the rows of one place add to a certificate."""

    n: int
    primal: float
    dual: float
    here: float  # the gap as it is, and at the worst scores within their errors
    gap: float
    off: float  # rounding of both objectives
    rest: float  # sum of the dual variables
    mass: float
    outside: float  # how far a dual variable is outside its bounds, relatively
    least_up: float  # slopes of moves, within the errors
    most_down: float
    near: tuple[tuple[float, float, float], tuple[float, float, float]]  # see :func:`_near`
    error: float
    largest: float


@np.errstate(over="ignore", invalid="ignore")
def part_values(
    problem: Problem, beta: FloatArray, f: FloatArray, error: FloatArray, intercept: float, largest: float
) -> PartValues:
    """The share of these rows, whose scores (without intercept) are within ``error`` of ``f``."""
    qp, n, known = problem.qp, len(f), float(error.max(initial=0.0))
    _, _, offsets = problem.recovered(beta, f, intercept)
    error = error + STEPS * UNIT * problem.reach(beta, f, offsets)
    ends = (f, f - error, f + error)
    here, low, high = (problem.gap_terms(beta, at, offsets) for at in ends)
    costs, *others = (problem.costs(beta, at, offsets) for at in ends)
    worst = np.maximum(costs, np.maximum(*others))
    size, linear = np.abs(beta), np.abs(qp.linear) + qp.epsilon
    sizes = float(size @ (problem.reach(beta, f, offsets) + linear) + worst.sum())
    off = ROOM * (2 * summed(n + 10) * sizes + 2 * float(size @ error))
    up, down = qp.slopes(qp.snapped(beta, SNAP), problem.gradient(beta, f))
    bound = np.maximum(np.maximum(qp.upper, -qp.lower), np.finfo(float).tiny)
    outside = float((np.maximum(qp.lower - beta, beta - qp.upper) / bound).max(initial=0.0))
    short = np.abs(problem.shortfall(beta, f, offsets)) + error
    slope = np.abs(problem.gradient(beta, f)) + error + qp.epsilon
    return PartValues(
        n, problem.primal(beta, f, offsets) + float((worst - costs).sum()), problem.dual(beta, f),
        float(here.clip(min=0.0).sum()),
        float(np.maximum(here, np.maximum(low, high)).clip(min=0.0).sum()) * (1.0 + summed(n + 10)),
        off, math.fsum(beta[beta != 0].tolist()), float(size.sum()), outside,
        float(np.min(up - error, initial=np.inf)), float(np.max(down + error, initial=-np.inf)),
        (_near(beta, bound, short, slope, 1.0), _near(beta, bound, short, slope, -1.0)), known, largest,
    )  # fmt: skip


def _near(
    beta: FloatArray, bound: FloatArray, short: FloatArray, slope: FloatArray, sign: float
) -> tuple[float, float, float]:
    """(shortfall, slope, room) of the row that makes up for a sum of this sign at the least cost."""
    size = np.abs(beta)
    room = np.where(size > 0, np.where((beta > 0) == (sign > 0), size, bound - size), 0.0)
    fit = room > ROOMY * bound
    if not fit.any():
        return np.inf, np.inf, 0.0
    row = int(np.argmin(np.where(fit, short, np.inf)))
    return float(short[row]), float(slope[row]), float(room[row])


def joined_certificate(parts: Sequence[PartValues], balance: bool, definite: Definiteness, method: str) -> Certificate:
    """The certificate of all rows; ``balance``: whether the dual variables must add up to 0."""
    n, places = sum(p.n for p in parts), len(parts)
    more = summed(places + 2)

    def total(name: str) -> float:
        return math.fsum(getattr(p, name) for p in parts)

    mass, largest = total("mass"), max(p.largest for p in parts)
    rest = abs(total("rest")) + 2 * UNIT * math.fsum(abs(p.rest) for p in parts) if balance else 0.0
    charge = lost = 0.0
    if rest > 0:
        near = [p.near[0 if total("rest") > 0 else 1] for p in parts]
        short, slope, _ = min((own for own in near if own[2] >= rest), default=(np.inf, np.inf, 0.0))
        charge, lost = ROOM * rest * (short + rest * largest), 2 * ROOM * rest * (slope + rest * largest)
    sizes = math.fsum(abs(p.primal) + abs(p.dual) for p in parts)
    off = total("off") * (1.0 + more) + more * sizes
    primal, dual = total("primal") + off, total("dual") - off - lost
    gap = total("gap") * (1.0 + more) + charge
    outside = max(p.outside for p in parts)
    feasible = outside <= 0.0 and (
        not balance or rest <= FEASIBILITY_TOL * max(mass, np.finfo(float).tiny) or mass == 0
    )
    least, most = min(p.least_up for p in parts), max(p.most_down for p in parts)
    kkt = max(0.0, most - least) if balance else max(0.0, -least, most)
    finite = bool(np.isfinite([primal, dual, gap]).all())
    reason = ("" if feasible else "the dual point is not feasible") or definite.reason
    return Certificate(
        primal=primal,
        dual=dual,
        gap=gap,
        relative_gap=relative(gap, primal, dual),
        kkt=kkt,
        feasible=feasible,
        holds=feasible and finite and definite.psd,
        method=method,
        reason=reason if finite else "not finite",
        error_bound=max(p.error for p in parts),
        rounding=max(0.0, gap - total("here")) if n else 0.0,
    )
