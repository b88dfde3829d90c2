"""Certificates of kernel machines.

The judge shares no code with the accused: this module knows kernels (their NumPy meaning) and problems (their
objectives), and imports neither solvers nor back ends. For a feasible dual point the gap primal - dual bounds the
distance to the optimum; it is computed as a sum of non-negative Fenchel-Young terms, one per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._foreign import Delivered, delivered_all_classes, delivered_tasks, is_stochastic
from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.certificates._all_classes import judge_all_classes
from maxmargin.certificates._certificate import Certificate, Definiteness
from maxmargin.kernels import Kernel, Precomputed, check_mercer
from maxmargin.problems import (
    ALL_CLASSES,
    FEASIBILITY_TOL,
    AllClassesProblem,
    HardMarginProblem,
    Problem,
    SVCProblem,
    relative,
)

#: Kernels not known to be PSD are checked by an eigendecomposition up to this many rows.
PSD_CHECK_ROWS = 1000
#: Kernel values per block while scores are recomputed.
BLOCK_VALUES = 2**21
#: A dual point that misses its constraints by no more than this, relatively, is repaired (float32 models).
REPAIRABLE = 1e-4
#: A crude bound on the gap's error, this small beside the objective, is simply added to the gap.
NEGLIGIBLE = 1e-9
#: Multipliers this close to a bound, relatively, are on it when the KKT violation is measured.
SNAP = 1e-6
#: Rows drawn at random to measure the solver's error when not every score is recomputed (an eighth of a small
#: task's), and the safety factor.
SAMPLE, SAMPLE_LEAST, SAFETY = 128, 16, 3.0
#: Kernel values up to which all rows that decide over the gap of a task are recomputed; beyond, a sample of them.
DECISIVE_VALUES = 2**23


def certify_kernel_tasks(
    model: Any, X: RowData, y: Any = None, sample_weight: Any = None, C: float | None = None
) -> list[Certificate]:
    """One certificate per binary task (pair of classes), in the order of ``intercept_``."""
    if getattr(model, "multiclass_", "") in ALL_CLASSES:
        return [_certified_all_classes(*delivered_all_classes(model, X, y, sample_weight, C))]
    kernel, X, tasks = delivered_tasks(model, X, y, sample_weight, C)
    definite = definiteness(kernel, X, union([task.rows for task in tasks]))
    scores = recomputed_scores(kernel, X, tasks)
    mend = made_feasible if is_stochastic(model) else repaired
    return [judge(mend(kernel, X, task, f), f, definite) for task, f in zip(tasks, scores, strict=True)]


def _certified_all_classes(
    kernel: Kernel, X: RowData, rows: IntArray, problem: AllClassesProblem, alpha: FloatArray, intercept: FloatArray
) -> Certificate:
    used = np.flatnonzero(alpha.any(axis=1))
    f = scores_at(kernel, X, rows, rows[used], alpha[used])
    square = float(np.vdot(alpha, f))
    return judge_all_classes(problem, square, f + intercept, alpha, intercept, definiteness(kernel, X, rows))


def repaired(kernel: Kernel, X: RowData, task: Delivered, f: FloatArray) -> Delivered:
    """A task whose dual point misses its constraints by rounding, with a feasible point beside it."""
    beta, _, _ = task.problem.recovered(task.dual_coef, f, task.intercept)
    miss = task.problem.qp.infeasibility(beta)
    if miss <= FEASIBILITY_TOL or miss > REPAIRABLE or isinstance(task.problem, HardMarginProblem):
        return task
    return made_feasible(kernel, X, task, f)


def made_feasible(kernel: Kernel, X: RowData, task: Delivered, f: FloatArray) -> Delivered:
    """The task with a feasible dual point near its own.

    The model's w stays as it is; it is then no longer w(alpha), and the gap gains 1/2 ||w - w(alpha)||^2.
    """
    beta, _, _ = task.problem.recovered(task.dual_coef, f, task.intercept)
    moved = task.problem.qp.nearby(beta) - beta
    support = np.flatnonzero(moved)
    change = scores_at(kernel, X, task.rows[support], task.rows[support], moved[support])
    scale = float(np.abs(task.dual_coef).sum()) / max(float(np.abs(beta).sum()), np.finfo(float).tiny)
    coef = task.dual_coef + scale * moved
    return task._replace(dual_coef=coef, distance=max(0.0, 0.5 * float(moved[support] @ change)))


def judge(task: Delivered, f: FloatArray, definite: Definiteness, errors: FloatArray | None = None) -> Certificate:
    """Certificate of one task from its scores ``f`` (without intercept), which may be off by ``errors`` per row."""
    problem: Problem = task.problem
    judged = problem.judged(task.dual_coef, f, task.intercept)
    error = 0.0 if errors is None else float(errors.max())
    gap = float(np.maximum(judged.terms, 0.0).sum()) + task.distance
    if error > 0:
        gap = _raised(task, f, errors, gap)  # type: ignore[arg-type]  # there are errors
    at_bounds = judged.beta
    if judged.beta is not task.dual_coef or errors is None:  # publishing may scale alpha, and float32 round it
        at_bounds = problem.qp.snapped(judged.beta, SNAP)
    off = None if errors is None else errors * _scale(judged.beta, task.dual_coef)
    kkt = problem.qp.violation(at_bounds, judged.f + problem.qp.linear, off) / problem.unit(judged.beta, judged.f)
    feasible = problem.qp.infeasibility(judged.beta) <= FEASIBILITY_TOL
    finite = bool(np.isfinite([judged.primal, judged.dual, gap]).all())
    reason = "" if feasible else "the dual point is not feasible"
    reason = reason or definite.reason
    if not finite:
        reason = "no finite primal value: some row is on the wrong side" if np.isinf(judged.primal) else "not finite"
    return Certificate(
        primal=judged.primal,
        dual=judged.dual,
        gap=gap,
        relative_gap=relative(gap, judged.primal, judged.dual),
        kkt=float(kkt),
        feasible=feasible,
        holds=feasible and finite and definite.psd,
        method="recomputed" if errors is None else "bounded",
        reason=reason,
        error_bound=error,
    )


def judge_all(
    tasks: Sequence[Delivered],
    scores: Sequence[FloatArray],
    definite: Definiteness,
    errors: Sequence[FloatArray] | None = None,
) -> list[Certificate]:
    """:func:`judge` of every task; many soft-margin tasks (all pairs of classes) are judged in one sweep."""
    soft = [task.problem for task in tasks if isinstance(task.problem, SVCProblem)]
    if len(tasks) > 2 and len(soft) == len(tasks) and len({problem.fit_intercept for problem in soft}) == 1:
        return _judge_pairs(tasks, soft, scores, definite, errors)
    given = [None] * len(tasks) if errors is None else errors
    return [judge(task, f, definite, e) for task, f, e in zip(tasks, scores, given, strict=True)]


def _judge_pairs(
    tasks: Sequence[Delivered],
    problems: Sequence[SVCProblem],
    scores: Sequence[FloatArray],
    definite: Definiteness,
    errors: Sequence[FloatArray] | None,
) -> list[Certificate]:
    """The formulas of :class:`SVCProblem` on all tasks laid end to end, summed task by task.

    A task in which something is out of the ordinary goes to :func:`judge`, which says what.
    """
    sizes = [len(f) for f in scores]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    f, sign = np.concatenate(scores), np.concatenate([problem.sign for problem in problems])
    C, alpha = np.concatenate([problem.C for problem in problems]), sign * np.concatenate([t.dual_coef for t in tasks])
    error = np.zeros(len(f)) if errors is None else np.concatenate(errors)
    short = 1.0 - sign * (f + np.repeat([task.intercept for task in tasks], sizes))
    slack = np.maximum(0.0, short)
    gap = np.add.reduceat((C - alpha) * slack + alpha * np.maximum(0.0, -short), starts)
    quadratic, linear = np.add.reduceat(sign * alpha * f, starts) / 2, np.add.reduceat(alpha, starts)
    primal, dual = quadratic + np.add.reduceat(C * slack, starts), linear - quadratic
    most = 2 * np.add.reduceat(error * C, starts)
    # slopes of the dual in beta = sign * alpha: up where alpha may grow (sign > 0) or shrink (sign < 0)
    may_rise = np.where(sign > 0, alpha < C, alpha > 0)
    may_fall = np.where(sign > 0, alpha > 0, alpha < C)
    up = np.minimum.reduceat(np.where(may_rise, f - sign - error, np.inf), starts)
    down = np.maximum.reduceat(np.where(may_fall, f - sign + error, -np.inf), starts)
    width = down - up if problems[0].fit_intercept else np.maximum(-up, down)
    kkt = np.maximum(width, 0.0)
    outside = np.maximum.reduceat(((alpha < 0) | (alpha > C)).astype(float), starts) > 0
    if problems[0].fit_intercept:
        outside |= np.abs(np.add.reduceat(sign * alpha, starts)) > FEASIBILITY_TOL * np.maximum(linear, 1e-300)
    ordinary = ~outside & np.isfinite(primal) & np.isfinite(dual) & definite.psd
    ordinary &= most <= NEGLIGIBLE * np.abs(dual)
    method = "recomputed" if errors is None else "bounded"
    return [
        Certificate(
            float(primal[t]), float(dual[t]), float(gap[t] + most[t]),
            relative(float(gap[t] + most[t]), float(primal[t]), float(dual[t])), float(kkt[t]), True, True, method,
            error_bound=float(error[starts[t] : starts[t] + sizes[t]].max()),
        )
        if ordinary[t]
        else judge(tasks[t], scores[t], definite, None if errors is None else errors[t])
        for t in range(len(tasks))
    ]  # fmt: skip


def _scale(beta: FloatArray, dual_coef: FloatArray) -> float:
    """How many times the published coefficients the dual variables are."""
    return float(np.abs(beta).sum()) / max(float(np.abs(dual_coef).sum()), np.finfo(float).tiny)


def _raised(task: Delivered, f: FloatArray, errors: FloatArray, gap: float) -> float:
    """The largest gap that scores within ``errors`` of ``f`` can have."""
    problem = task.problem
    # each term is convex in its score, so its largest value is at an end of the interval
    ends = [problem.gap_terms(*problem.recovered(task.dual_coef, f + s * errors, task.intercept)) for s in (-1.0, 1.0)]
    here = problem.gap_terms(*problem.recovered(task.dual_coef, f, task.intercept))
    return float(np.maximum(np.maximum(*ends), here).clip(min=0.0).sum()) + task.distance


def definiteness(kernel: Kernel, X: RowData, rows: IntArray) -> Definiteness:
    """PSD by construction, or by an eigendecomposition where that is affordable, or unknown."""
    if kernel.is_psd:
        return Definiteness(True)
    if len(rows) > PSD_CHECK_ROWS:
        return Definiteness(False, f"not known to be PSD ({len(rows)} rows are too many to check)")
    K = X[np.ix_(rows, rows)] if isinstance(kernel, Precomputed) else kernel(take(X, rows))
    check = check_mercer(K)
    if check.psd:
        return Definiteness(True)
    if not check.symmetric:
        return Definiteness(False, "the kernel is not symmetric")
    return Definiteness(False, f"the kernel is not PSD: smallest eigenvalue {check.smallest_eigenvalue:.3g}")


def recomputed_scores(kernel: Kernel, X: RowData, tasks: Sequence[Delivered]) -> list[FloatArray]:
    """f = K dual_coef of every task on its own rows, from the data in float64; kernel values are shared."""
    return _shared_scores(kernel, X, tasks, [task.rows for task in tasks])


def _shared_scores(
    kernel: Kernel, X: RowData, tasks: Sequence[Delivered], wanted: Sequence[IntArray]
) -> list[FloatArray]:
    """Scores of every task on the rows wanted of it, from one table of kernel values or, if less, task by task."""
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


def union(parts: Sequence[IntArray]) -> IntArray:
    """Row numbers that occur in any of the parts, in order."""
    everything = np.concatenate(parts)
    present = np.zeros(1 + int(everything.max(initial=-1)), dtype=bool)
    present[everything] = True
    return np.flatnonzero(present)


def scores_at(kernel: Kernel, X: RowData, rows: IntArray, support: IntArray, coef: FloatArray) -> FloatArray:
    """K[rows, support] @ coef by blocks of rows, so that memory stays bounded."""
    scores = np.zeros((len(rows), *coef.shape[1:]))
    if len(support) == 0:
        return scores
    right = None if isinstance(kernel, Precomputed) else take(X, support)
    height = max(1, BLOCK_VALUES // len(support))
    for first in range(0, len(rows), height):
        block = rows[first : first + height]
        K = X[np.ix_(block, support)] if right is None else kernel(take(X, block), right)
        scores[first : first + height] = np.asarray(K, dtype=np.float64) @ coef
    return scores


def scores_of(kernel: Kernel, X: RowData, task: Delivered, rows: IntArray) -> FloatArray:
    """The decision function of a delivered task, its intercept included, on some rows of X."""
    support = np.flatnonzero(task.dual_coef)
    return scores_at(kernel, X, rows, task.rows[support], task.dual_coef[support]) + task.intercept


def bounded_scores(
    kernel: Kernel, X: RowData, tasks: Sequence[Delivered], known: Sequence[FloatArray], seed: int
) -> list[tuple[FloatArray, FloatArray]]:
    """Scores and error bounds of every task, from the solver's scores ``known``.

    A random sample is recomputed; all other scores are taken to be off by at most SAFETY times the largest error seen
    there. Rows that contribute to the gap within that error are then recomputed too (beyond DECISIVE_VALUES kernel
    values again a sample of them, with an error bound of its own). What was recomputed has error 0.
    """
    order = np.random.default_rng(seed).permutation(1 + max(int(task.rows.max()) for task in tasks))
    by_chance = [np.argsort(order[task.rows]) for task in tasks]  # one order, so that samples share kernel values
    samples = [rows[: max(SAMPLE_LEAST, min(SAMPLE, len(rows) // 8))] for rows in by_chance]
    scores, errors = [f.copy() for f in known], [np.zeros(len(f)) for f in known]
    everywhere = [np.ones(len(f), dtype=bool) for f in known]
    _recompute(kernel, X, tasks, samples, everywhere, scores, errors)
    decisive = [_decisive(task, f, error) for task, f, error in zip(tasks, scores, errors, strict=True)]
    if not any(rows.any() for rows in decisive):
        return list(zip(scores, errors, strict=True))
    chosen = []
    for task, rows, matters in zip(tasks, by_chance, decisive, strict=True):
        own = rows[matters[rows]]
        chosen.append(own if len(own) * np.count_nonzero(task.dual_coef) <= DECISIVE_VALUES else own[:SAMPLE])
    _recompute(kernel, X, tasks, chosen, decisive, scores, errors)
    return list(zip(scores, errors, strict=True))


def _recompute(
    kernel: Kernel,
    X: RowData,
    tasks: Sequence[Delivered],
    samples: Sequence[IntArray],
    kinds: Sequence[Any],
    scores: Sequence[FloatArray],
    errors: Sequence[FloatArray],
) -> None:
    """Exact scores on the samples, in place, and what that says of the errors of all rows of their kind."""
    values = _shared_scores(kernel, X, tasks, [task.rows[own] for task, own in zip(tasks, samples, strict=True)])
    for exact, own, kind, f, error in zip(values, samples, kinds, scores, errors, strict=True):
        error[kind] = SAFETY * float(np.abs(exact - f[own]).max(initial=0.0))
        error[own], f[own] = 0.0, exact


def _decisive(task: Delivered, f: FloatArray, error: FloatArray) -> Any:
    """Rows whose term of the gap is not certain to be 0; none if the error is negligible beside the objective."""
    problem, known = task.problem, error == 0
    here, down, up = (problem.recovered(task.dual_coef, f + s * error, task.intercept) for s in (0.0, -1.0, 1.0))
    low, high = problem.gap_terms(*down), problem.gap_terms(*up)
    raised = float(np.maximum(low, high).sum() - problem.gap_terms(*here).sum())
    if raised <= NEGLIGIBLE * abs(problem.dual(*here[:2])):
        return np.zeros(len(f), dtype=bool)
    return ((low > 0) | (high > 0))[: len(f)] & ~known


def take(X: RowData, rows: IntArray) -> RowData:
    """Rows of an array, a sparse matrix or a sequence."""
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return X[rows]
    return [X[i] for i in rows]


def must_recompute(problem: Problem) -> bool:
    """The hard margin's certificate depends on the smallest margin of all: no row may be estimated."""
    return isinstance(problem, HardMarginProblem)
