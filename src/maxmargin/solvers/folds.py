"""Folds of cross-validation as masks over one kernel matrix.

A row that is held out keeps its place and loses its cost: its bounds become 0. So every fold works on the same Gram
matrix, starts at the solution of the whole, and the scores of the rows held out are there when it ends.
"""

from __future__ import annotations

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.problems import DualQP, Problem

#: Folds of a calibration.
FOLDS = 5


def fold_numbers(label: IntArray, seed: int, keys: Array | None = None, folds: int = FOLDS) -> IntArray:
    """The fold (0, 1, ...) in which every row is held out, each class spread evenly; -1: a class's only row, never.

    Rows of a class with equal ``keys`` are copies: they stay together, and neither their number nor the order of the
    rows makes any difference. Without keys there are no copies.
    """
    rng = np.random.default_rng(seed)
    number = np.full(len(label), -1, dtype=np.intp)
    dealt = 0  # where the last class ended, so that folds of many small classes are of one size
    for k in range(int(label.max(initial=-1)) + 1):
        own = np.flatnonzero(label == k)
        distinct, copy = np.unique(own if keys is None else keys[own], return_inverse=True)
        if len(distinct) > 1:
            order = rng.permutation(len(distinct))
            number[own] = (dealt + order[copy]) % folds
            dealt += len(distinct)
    return number


def left_out(problem: Problem, beta: FloatArray, held: Array) -> tuple[Problem, FloatArray]:
    """(the problem without the rows ``held``, a feasible point near ``beta`` to start it from)."""
    masked = problem.masked(held)
    return masked, near_start(masked.qp, np.where(held, 0.0, beta))


def near_start(qp: DualQP, beta: FloatArray) -> FloatArray:
    """A feasible point that differs from ``beta`` in few variables, where only the sum is wrong.

    The heavier side gives up its smallest values until both weigh the same; other constraints scale whole sides.
    """
    if qp.budget is not None or not qp.balance or qp.total != 0:
        return qp.nearby(beta)
    if not beta.any():  # a task that nobody has begun
        return beta
    beta = np.clip(beta, qp.lower, qp.upper)
    excess = float(beta.sum())
    side = np.flatnonzero(beta > 0) if excess > 0 else np.flatnonzero(beta < 0)
    order = side[np.argsort(np.abs(beta[side]), kind="stable")]
    before = np.concatenate([[0.0], np.cumsum(np.abs(beta[order]))[:-1]])
    taken = np.clip(abs(excess) - before, 0.0, np.abs(beta[order]))
    beta[order] -= np.sign(excess) * taken
    return qp.nearby(beta)
