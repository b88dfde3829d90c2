"""Leaving rows out for real: every task is solved again without each of its support vectors, from its solution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from maxmargin._rows import count
from maxmargin._types import FloatArray
from maxmargin._validation import cache_bytes
from maxmargin.backends import Design, backend_for, effective_threads, single_threaded_blas
from maxmargin.certificates import scores_at
from maxmargin.inspection._training import Training, TrainingTask
from maxmargin.problems import LinearProblem, NuSVCProblem, Problem, relative
from maxmargin.solvers import Decomposition, LinearPoint, Watch, left_out, make_linear_solver

#: Dual variables within this relative distance of a bound count as on it.
AT_BOUND = 1e-9
#: Relative gap to which the task and its refits are solved.
REFIT_GAP = 1e-10


class Refitted(NamedTuple):
    """A task solved exactly, and again without each row that matters."""

    scores: FloatArray  # (n,) of all rows of Training.X, at the exact optimum
    left_out: FloatArray  # of the task's rows, each without itself
    refits: int
    gap: float  # the worst relative gap


def refits(training: Training) -> list[Refitted]:
    """Leave every row out of every task in turn; those with alpha = 0 at the optimum change nothing."""
    backend = backend_for("cpu")
    threads, solver = effective_threads(None), Decomposition(backend)
    with single_threaded_blas():
        if isinstance(training.tasks[0].problem, LinearProblem):
            design = backend.design(training.X, threads)
            return [_linear(backend, design, task) for task in training.tasks]
        small = max(len(task.at) for task in training.tasks) <= solver.whole_size
        kind = np.float64 if small else None
        gram = backend.gram(training.kernel, training.X, cache_bytes=cache_bytes("auto"), threads=threads, dtype=kind)
        return [_kernel(solver, gram, training, task) for task in training.tasks]


def is_only_one(sign: FloatArray, row: Any) -> bool:
    """Whether no other row is on the row's side of the task."""
    return int(np.count_nonzero(sign == sign[row])) == 1


def _kernel(solver: Decomposition, gram: Any, training: Training, task: TrainingTask) -> Refitted:
    problem = task.problem
    assert isinstance(problem, Problem)  # of a kernel machine
    if len(task.at) < gram.n:
        gram = gram.take(task.at, threads=gram.threads)
    start = problem.qp.nearby(problem.recovered(task.sign * task.alpha, task.f - task.intercept, task.intercept)[0])
    whole = solver.solve(problem, gram, start, Watch(gap_tol=REFIT_GAP))
    coef, b = problem.delivered(whole.beta, problem.offsets(whole.beta, whole.f))
    used = np.flatnonzero(coef)
    scores = scores_at(training.kernel, training.X, np.arange(count(training.X)), task.at[used], coef[used]) + b
    found, gaps = scores[task.at].copy(), [_gap(whole)]
    # every row matters to the nu machines, whose budget is a share of all, and to an intercept that no free row fixes
    loose = task.fit_intercept and len(problem.qp.free(problem.qp.snapped(whole.beta, AT_BOUND))) == 0
    rows = np.arange(len(coef)) if loose or isinstance(problem, NuSVCProblem) else used
    for p in rows:
        if is_only_one(task.sign, p):
            found[p] = -task.sign[p]
            continue
        held = np.arange(len(coef)) == p
        without, near = left_out(problem, whole.beta, held)
        one = solver.solve(without, gram, near, Watch(gap_tol=REFIT_GAP))
        f, b = without.delivered(one.f, without.offsets(one.beta, one.f))  # the same scale for scores as for beta
        found[p] = f[p] + b
        gaps.append(_gap(one))
    return Refitted(scores, found, len(rows), max(gaps))


def _linear(backend: Any, design: Design, task: TrainingTask) -> Refitted:
    problem = task.problem
    assert isinstance(problem, LinearProblem)  # of a linear machine, which keeps w
    if np.isinf(task.cost).any():  # without rows the margin grows and sum alpha = 1 / margin^2 falls: out of reach
        problem = replace(problem, C=np.full(problem.n, 2.0 * float(task.alpha.sum())))
    own = design if len(task.at) == design.n else design.take(task.at)
    assert task.w is not None
    start = LinearPoint(task.w, task.intercept, problem.feasible(task.sign * task.alpha))

    def solved(problem: LinearProblem, rows: Any, start: LinearPoint) -> Any:
        return make_linear_solver("auto", problem, rows, backend).solve(problem, rows, start, Watch(0.0, REFIT_GAP))

    whole = solved(problem, own, start)
    point = whole.point
    scores = design.scores(point.w) + point.intercept
    found, gaps = scores[task.at].copy(), [_gap(whole)]
    rows = np.flatnonzero(point.beta)
    for p in rows:
        if is_only_one(task.sign, p):
            found[p] = -task.sign[p]
            continue
        others = np.delete(np.arange(len(point.beta)), p)
        without = replace(problem, target=problem.target[others], C=problem.C[others])
        near = LinearPoint(point.w, point.intercept, without.feasible(point.beta[others]))
        one = solved(without, own.take(others), near)
        found[p] = float((own.take(np.array([p])).scores(one.point.w))[0]) + one.point.intercept
        gaps.append(_gap(one))
    return Refitted(scores, found, len(rows), max(gaps))


def _gap(solution: Any) -> float:
    last = solution.history[-1] if solution.history else None
    return 0.0 if last is None else relative(last.gap, last.primal, last.dual)
