"""A task as a model delivers it: what the judge looks at, after a fit as much as when a model is read."""

from __future__ import annotations

from typing import NamedTuple

from maxmargin._types import FloatArray, IntArray
from maxmargin.problems import LinearProblem, Problem


class Delivered(NamedTuple):
    """One binary, regression or one-class problem of a model: its rows of X, its coefficients, its intercept."""

    rows: IntArray
    problem: Problem
    dual_coef: FloatArray  # one per row of the task
    intercept: float
    moved: FloatArray | None = None  # what leads from the model's dual variables to a dual point that is feasible
    distance: float = 0.0  # 1/2 ||w - w(dual point)||^2


class LinearDelivered(NamedTuple):
    """One task of a linear model: its weights and intercept as published, for unscaled rows."""

    problem: LinearProblem  # of a hard margin, with C = inf
    coef: FloatArray  # (d,)
    intercept: float
    beta: FloatArray | None  # (n,) dual point, or None if the model has none
    rows: IntArray | None = None  # the task's rows; None for all
