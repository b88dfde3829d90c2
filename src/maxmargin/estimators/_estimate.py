"""Certificates from a sample of the rows, for those who ask for one: estimates, never proofs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin._types import IntArray, RowData
from maxmargin._validation import Scaling
from maxmargin.backends import backend_for
from maxmargin.certificates import Certificate, judge_linear
from maxmargin.delivered import LinearDelivered
from maxmargin.estimators._scaling import scaled
from maxmargin.problems import LinearProblem
from maxmargin.solvers import LinearPoint, Watch, make_linear_solver

#: Rows that are drawn for every task, however many there are.
SAMPLED = 5000
#: Relative gap to which the sample's own problem is solved, and the most rounds for that.
SAMPLE_GAP, SAMPLE_ROUNDS = 1e-3, 200


def estimated_certificate(
    rows: RowData, problem: LinearProblem, own: IntArray | None, point: LinearPoint, scaling: Scaling | None, seed: int
) -> Certificate:
    """The certificate that the model would have if the problem were that of a sample of its rows.

    The sample's problem has the same total cost. Its optimum, which is found here, is on average a little below that of
    all rows, so that the gap is rather over- than underestimated.
    """
    index, part = sampled_problem(problem, np.random.default_rng([seed, SAMPLED]))
    sample = rows[index if own is None else own[index]]
    backend: Any = backend_for("cpu")
    design = backend.design(scaled(sample, scaling))
    start = LinearPoint(point.w, point.intercept, np.zeros(part.n))
    solver = make_linear_solver("auto", part, design, backend, seed)
    solved = solver.solve(part, design, start, Watch(0.0, SAMPLE_GAP, SAMPLE_ROUNDS))
    beta = part.feasible(solved.point.beta)
    (judged,) = judge_linear(sample, [LinearDelivered(part, point.w, point.intercept, beta)], scaling)
    reason = f"estimated on {part.n} rows drawn at random, which proves nothing about the others"
    return replace(judged, holds=False, method="estimated", reason=reason)


def sampled_problem(problem: LinearProblem, rng: Any) -> tuple[IntArray, LinearProblem]:
    """(rows, drawn by their cost within each sign, their problem): every sign keeps its total cost."""
    index, cost = [], []
    total = float(problem.C.sum())
    for sign in np.unique(np.sign(problem.target)):
        rows = np.flatnonzero(np.sign(problem.target) == sign)
        edges = np.cumsum(problem.C[rows])
        count = max(1, round(SAMPLED * float(edges[-1]) / total))
        places = np.searchsorted(edges, rng.random(count) * edges[-1], side="right")
        index.append(rows[np.minimum(places, len(rows) - 1)])
        cost.append(np.full(count, edges[-1] / count))
    chosen = np.concatenate(index)
    return chosen, replace(problem, target=problem.target[chosen], C=np.concatenate(cost))
