"""Scores f = K dual_coef computed by the judge from the data in float64, each with a proven bound on its error.

A kernel value is off by at most ``relative * size(x) * size(z)`` (:mod:`maxmargin.kernels.rounding`), and a sum of m
products in blocks of SUM by at most gamma_(SUM + m / SUM) of the sum of their sizes. So the error of a score is at most

    (relative + gamma) size(x_i) sum_j size(x_j) |dual_coef_j|.

For the linear kernel, scores are computed from w = sum dual_coef_j x_j. Where the coefficients add up to 0 but for
rounding (a machine with an intercept), rows are centred first: x.w = (x - c).w + c.w, where the second part is the same
for all rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin._rows import among, as_rows, take
from maxmargin._stop import heed
from maxmargin._types import Array, FloatArray, IntArray, RowData
from maxmargin.certificates._certificate import Definiteness
from maxmargin.delivered import Delivered
from maxmargin.kernels import Kernel, Linear, Precomputed
from maxmargin.kernels.rounding import UNIT, Rounding, summed, terms
from maxmargin.problems import SoftMargins, SVDDProblem

#: Kernel values per block while scores are recomputed.
BLOCK_VALUES = 2**21
#: Kernel values that are added up before the sum joins the others: the shorter the sums, the smaller their rounding.
SUM = 1024
#: Room in an error bound for the rounding of the bound itself.
ROOM = 1.0 + 2.0**-20
#: What underflow can take from a product: a kernel value below the smallest normal number may become 0.
UNDERFLOW = float(np.finfo(float).tiny)


class Scores(NamedTuple):
    """K dual_coef on a task's rows is ``f + shift``, within ``error``; ``largest`` is a bound on k(x, x)."""

    f: FloatArray  # (n,)
    error: FloatArray  # (n,)
    largest: float
    shift: float = 0.0

    def charged(self, definite: Definiteness, length: FloatArray | float) -> Scores:
        """As scores of the PSD part of the kernel matrix, by which it is judged; ``length`` is that of dual_coef."""
        if not definite.deficit:
            return self
        error = self.error + definite.deficit * ROOM * length
        return self._replace(error=error, largest=self.largest + definite.deficit)


def recomputed_scores(kernel: Kernel, X: RowData, tasks: Sequence[Delivered]) -> list[FloatArray]:
    """f = K dual_coef of every task on its own rows; kernel values are shared."""
    return shared_scores(kernel, X, tasks, [task.rows for task in tasks])


def proven_scores(kernel: Kernel, X: RowData, tasks: Sequence[Delivered], definite: Definiteness) -> list[Scores]:
    """The same with their error bounds."""
    if isinstance(kernel, Linear):
        return [_linear_scores(X, task) for task in tasks]
    own = recomputed_scores(kernel, X, tasks)
    bounds = ErrorBounds(kernel, X, union([task.rows for task in tasks]), definite)
    return [Scores(f, bounds.of_task(task), bounds.largest) for f, task in zip(own, tasks, strict=True)]


def soft_margin_scores(
    kernel: Kernel, X: RowData, rows: IntArray, problems: SoftMargins, coef: FloatArray, definite: Definiteness
) -> Scores:
    """:func:`proven_scores` of tasks laid end to end, position p being row ``rows[p]``, from one table of values."""
    every, used = union([rows]), union([rows[coef != 0]])
    place, table = np.zeros(1 + int(every[-1]), dtype=np.intp), np.zeros((len(used), len(problems)))
    place[used] = np.arange(len(used))
    number, own = np.repeat(np.arange(len(problems)), problems.sizes), coef != 0
    table[place[rows[own]], number[own]] = coef[own]
    f = scores_at(kernel, X, every, used, table)
    place[every] = np.arange(len(every))
    bounds = ErrorBounds(kernel, X, every, definite)
    return Scores(f[place[rows], number], bounds.of_soft_margins(problems, rows, coef), bounds.largest)


class ErrorBounds:
    """Error bounds of scores that were recomputed in float64; the sizes of all rows are computed once."""

    def __init__(self, kernel: Kernel, X: RowData, rows: IntArray, definite: Definiteness):
        values = among(X, rows) if isinstance(kernel, Precomputed) else as_rows(take(X, rows))
        self.rounding: Rounding = kernel.rounding(values)
        self.deficit = definite.deficit
        self.largest = float(np.square(self.rounding.size).max(initial=0.0)) + self.deficit
        self._place = np.zeros(1 + int(rows.max(initial=-1)), dtype=np.intp)
        self._place[rows] = np.arange(len(rows))

    def of_task(self, task: Delivered) -> FloatArray:
        """Error bounds of the scores of a task."""
        error = self.of(task.rows, task.dual_coef)
        if isinstance(task.problem, SVDDProblem):  # whose diagonal is rounded, too
            error += self.rounding.relative * ROOM * np.square(self.rounding.size[self._place[task.rows]])
        return error

    def of(self, rows: IntArray, coef: FloatArray, support: IntArray | None = None) -> FloatArray:
        """Error bounds of K coef on some rows of X; coef belongs to the rows ``support``, by default the same ones."""
        size, weight = self.rounding.size[self._place[rows]], np.abs(coef)
        other = size if support is None else self.rounding.size[self._place[support]]
        m = int(np.count_nonzero(weight))
        # four roundings more than the sum: coefficients are scaled to be published, and scaled back to be judged
        relative = self.rounding.relative + summed(min(m, SUM) + m // SUM + 6) * (1.0 + self.rounding.relative)
        error = relative * ROOM * size * float(other @ weight)
        return error + UNDERFLOW * float(weight.sum()) + self.deficit * ROOM * float(np.linalg.norm(weight))

    def of_soft_margins(self, problems: SoftMargins, rows: IntArray, coef: FloatArray) -> FloatArray:
        """:meth:`of` for tasks laid end to end."""
        size, weight = self.rounding.size[self._place[rows]], np.abs(coef)
        m = problems.total((weight != 0).astype(np.float64))
        gamma = np.array([summed(int(min(k, SUM) + k // SUM + 6)) for k in m])
        relative = self.rounding.relative + gamma * (1.0 + self.rounding.relative)
        error = size * problems.spread(relative * ROOM * problems.total(size * weight))
        length = np.sqrt(problems.total(np.square(weight)))
        return error + problems.spread(UNDERFLOW * problems.total(weight) + self.deficit * ROOM * length)


def doubtful_rows(task: Delivered, scores: Scores) -> Array:
    """Which rows may have a share of the gap that is not 0, within the errors of their scores."""
    problem = task.problem
    beta, f, offsets = problem.recovered(task.dual_coef, scores.f, task.intercept)
    error = scores.error * (float(np.abs(beta).sum()) / max(float(np.abs(task.dual_coef).sum()), UNDERFLOW))
    low, high = problem.gap_terms(beta, f - error, offsets), problem.gap_terms(beta, f + error, offsets)
    return ((low > 0) | (high > 0))[: len(f)]


def _linear_scores(X: RowData, task: Delivered) -> Scores:
    """Scores of the linear kernel by way of w; rows are centred where the task allows it."""
    qp, coef = task.problem.qp, task.dual_coef
    centred = qp.balance and qp.total == 0 and not sp.issparse(X)
    d, used = X.shape[1], np.flatnonzero(coef)
    center = np.zeros(d)
    if centred:
        center = sum((rows.sum(axis=0) for rows in _row_blocks(X, task.rows)), center) / len(task.rows)
    w, weight = np.zeros(d), 0.0  # sum coef_j (x_j - c), and the sum of the sizes of its terms
    at = 0
    for rows in _row_blocks(X, task.rows[used]):
        rows = rows - center if centred else rows
        own = coef[used[at : at + rows.shape[0]]]
        w, weight, at = w + rows.T @ own, weight + float(norms(rows) @ np.abs(own)), at + rows.shape[0]
    whole = math.fsum(coef[used].tolist())  # 0 but for rounding where rows are centred
    m = min(len(used), _height(d)) + len(used) // _height(d)
    size_c = float(np.linalg.norm(center))
    off = ROOM * (summed(m + 8) * weight + 4 * UNIT * (float(np.linalg.norm(w)) + size_c * abs(whole)))
    w = w + center * whole
    size_w, product = float(np.linalg.norm(w)), summed(min(d, terms(X)) + 4)
    f, size = np.empty(len(task.rows)), np.empty(len(task.rows))
    at = 0
    for rows in _row_blocks(X, task.rows):
        rows = rows - center if centred else rows
        f[at : at + rows.shape[0]], size[at : at + rows.shape[0]] = rows @ w, norms(rows)
        at += rows.shape[0]
    error = ROOM * (size + size_c) * (product * size_w + off) + UNDERFLOW * float(np.abs(coef).sum())
    longest = float(size.max(initial=0.0)) + size_c
    largest = longest * longest * ROOM  # infinite where it overflows; a power would raise OverflowError
    if isinstance(task.problem, SVDDProblem):
        error += product * ROOM * np.square(size)
    return Scores(f, error, largest, float(center @ w))


def norms(rows: RowData) -> FloatArray:
    """||x|| of every row, without overflow or underflow where that can be avoided."""
    if sp.issparse(rows):
        return np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    size = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    out = ~np.isfinite(size) | (size < 1e-140)
    if out.any():
        largest = np.abs(rows[out]).max(axis=1, initial=0.0)
        scaled = rows[out] / np.where(largest > 0, largest, 1.0)[:, None]
        size[out] = largest * np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    return size


def _height(d: int) -> int:
    return max(1, BLOCK_VALUES // (8 * max(1, d)))


def _row_blocks(X: RowData, rows: IntArray) -> Iterator[RowData]:
    """Some rows in float64, a block at a time."""
    height = _height(X.shape[1])
    for first in range(0, len(rows), height):
        if first:
            heed()
        yield as_rows(X[rows[first : first + height]])


def shared_scores(
    kernel: Kernel, X: RowData, tasks: Sequence[Delivered], wanted: Sequence[IntArray]
) -> list[FloatArray]:
    """Scores of every task on the rows asked for: from one table of kernel values or, if that is less work, by task."""
    rows, support = union(wanted), union([task.rows[task.dual_coef != 0] for task in tasks])
    alone = sum(len(own) * int(np.count_nonzero(task.dual_coef)) for own, task in zip(wanted, tasks, strict=True))
    if 2 * alone < len(rows) * len(support):
        return [_own_scores(kernel, X, task, own) for task, own in zip(tasks, wanted, strict=True)]
    place = np.zeros(1 + max(int(task.rows.max()) for task in tasks), dtype=np.intp)  # row -> line of a table
    place[support] = np.arange(len(support))
    coef = np.zeros((len(support), len(tasks)))
    for number, task in enumerate(tasks):
        own = task.dual_coef != 0
        coef[place[task.rows[own]], number] = task.dual_coef[own]
    scores = scores_at(kernel, X, rows, support, coef)
    place[rows] = np.arange(len(rows))
    return [scores[place[own], number] for number, own in enumerate(wanted)]


def _own_scores(kernel: Kernel, X: RowData, task: Delivered, rows: IntArray) -> FloatArray:
    used = np.flatnonzero(task.dual_coef)
    return scores_at(kernel, X, rows, task.rows[used], task.dual_coef[used])


def scores_at(kernel: Kernel, X: RowData, rows: IntArray, support: IntArray, coef: FloatArray) -> FloatArray:
    """K[rows, support] @ coef by blocks, so that memory stays bounded and sums stay short."""
    scores = np.zeros((len(rows), *coef.shape[1:]))
    parts = [slice(first, first + SUM) for first in range(0, len(support), SUM)]
    given = isinstance(kernel, Precomputed)
    right = [None if given else as_rows(take(X, support[part])) for part in parts]
    height = max(1, BLOCK_VALUES // max(1, min(SUM, len(support))))
    for first in range(0, len(rows), height):
        block = rows[first : first + height]
        left = None if given else as_rows(take(X, block))
        for part, columns in zip(parts, right, strict=True):
            if first or part.start:
                heed()
            K = X[np.ix_(block, support[part])] if given else kernel(left, columns)
            scores[first : first + height] += np.asarray(K, dtype=np.float64) @ coef[part]
    return scores


def scores_of(kernel: Kernel, X: RowData, task: Delivered, rows: IntArray) -> FloatArray:
    """The decision function of a delivered task, its intercept included, on some rows of X."""
    return _own_scores(kernel, X, task, rows) + task.intercept


def union(parts: Sequence[IntArray]) -> IntArray:
    """Row numbers that occur in any of the parts, in order."""
    everything = np.concatenate(parts)
    present = np.zeros(1 + int(everything.max(initial=-1)), dtype=bool)
    present[everything] = True
    return np.flatnonzero(present)
