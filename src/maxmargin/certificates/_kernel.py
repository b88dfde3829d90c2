"""Certificates of kernel machines.

The judge shares no code with the accused: this module knows kernels (their NumPy meaning) and problems (their
objectives), and imports neither solvers nor back ends. For a feasible dual point the gap primal - dual bounds the
distance to the optimum; it is computed as a sum of non-negative Fenchel-Young terms, one per row, each at the worst
score that its error bound allows. docs/certificates.md has the error analysis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray, RowData
from maxmargin.certificates._all_classes import judge_all_classes
from maxmargin.certificates._certificate import Certificate, Definiteness
from maxmargin.certificates._definiteness import definiteness
from maxmargin.certificates._scores import (
    ROOM,
    ErrorBounds,
    Scores,
    proven_scores,
    scores_at,
    union,
)
from maxmargin.delivered import Delivered, KernelTrained, is_stochastic
from maxmargin.kernels import Kernel
from maxmargin.kernels.rounding import UNIT, summed
from maxmargin.problems import (
    FEASIBILITY_TOL,
    AllClassesProblem,
    DualQP,
    HardMarginProblem,
    Problem,
    SoftMargins,
    SVCProblem,
    relative,
)

#: A dual point that misses its constraints by no more than this, relatively, is repaired (float32 models).
REPAIRABLE = 1e-4
#: Dual variables within this relative distance of a bound count as on it when the KKT violation is measured.
SNAP = 1e-6
#: Rounding steps between a score and its cost.
STEPS = 4


def certify_kernel_tasks(trained: KernelTrained) -> list[Certificate]:
    """One certificate per binary task (pair of classes), in the order of ``intercept_``."""
    kernel, X = trained.fitted.kernel, trained.X
    if trained.fitted.single:
        return [judge_kernel_all_classes(kernel, X, *trained.all_classes())]
    tasks = trained.tasks()
    definite = definiteness(kernel, X, union([task.rows for task in tasks]))
    scores = proven_scores(kernel, X, tasks, definite)
    mend = made_feasible if is_stochastic(trained.fitted.model) else repaired
    mended = [mend(kernel, X, task, own, definite) for task, own in zip(tasks, scores, strict=True)]
    return judge_all(mended, scores, definite)


def judge_kernel_all_classes(
    kernel: Kernel, X: RowData, rows: IntArray, problem: AllClassesProblem, alpha: FloatArray, intercept: FloatArray
) -> Certificate:
    """Certificate of a kernel machine for all classes, from its dual variables (rows, classes)."""
    definite, used = definiteness(kernel, X, rows), np.flatnonzero(alpha.any(axis=1))
    f = scores_at(kernel, X, rows, rows[used], alpha[used])
    bounds = ErrorBounds(kernel, X, rows, definite)
    error = np.max([bounds.of(rows, line) for line in alpha.T], axis=0)
    size, own = np.abs(alpha), np.sqrt(np.square(bounds.rounding.size) + bounds.deficit)
    off = float(size.sum(axis=1) @ error + summed(f.size) * np.vdot(size, np.abs(f)))
    square, inside = (float(np.vdot(alpha, f)), off), problem.inside(alpha)
    moved = float(own @ np.abs(alpha - inside).sum(axis=1)) + float(own.max(initial=0.0)) * problem.imbalance(inside)
    distance = 0.5 * moved * moved * ROOM
    return judge_all_classes(problem, square, f + intercept, error, alpha, intercept, own, definite, distance)


def repaired(kernel: Kernel, X: RowData, task: Delivered, scores: Scores, definite: Definiteness) -> Delivered:
    """A task whose dual point misses its constraints by rounding, with a feasible point beside it."""
    beta, _, _ = task.problem.recovered(task.dual_coef, scores.f, task.intercept + scores.shift)
    miss = task.problem.qp.infeasibility(beta)
    if miss <= FEASIBILITY_TOL or miss > REPAIRABLE or isinstance(task.problem, HardMarginProblem):
        return task
    return made_feasible(kernel, X, task, scores, definite)


def made_feasible(kernel: Kernel, X: RowData, task: Delivered, scores: Scores, definite: Definiteness) -> Delivered:
    """The task with a feasible dual point near its own.

    The model's w stays as it is; it is then no longer w(alpha), and the gap gains 1/2 ||w - w(alpha)||^2.
    """
    beta, _, _ = task.problem.recovered(task.dual_coef, scores.f, task.intercept + scores.shift)
    moved = task.problem.qp.nearby(beta) - beta
    support = np.flatnonzero(moved)
    change = scores_at(kernel, X, task.rows[support], task.rows[support], moved[support])
    error = ErrorBounds(kernel, X, task.rows, definite).of(task.rows, moved)[support]
    distance = 0.5 * float(
        moved[support] @ change + np.abs(moved[support]) @ (error + summed(len(support)) * abs(change))
    )
    return task._replace(moved=moved, distance=max(0.0, distance) * ROOM)


def judge(task: Delivered, scores: Scores, definite: Definiteness, method: str = "recomputed") -> Certificate:
    """Certificate of one task from its scores (without intercept) and their error bounds."""
    values = _hard_margin(task, scores) if isinstance(task.problem, HardMarginProblem) else _values(task, scores)
    problem, qp = task.problem, task.problem.qp
    at_bounds = qp.snapped(values.beta, SNAP)
    slack = qp.slack(values.beta)
    slack = 0.0 if qp.budget is not None and slack <= SNAP * qp.budget else slack
    kkt = qp.violation(at_bounds, problem.gradient(values.beta, values.f), values.error, slack)
    feasible = values.miss <= FEASIBILITY_TOL and not (values.gap == np.inf and np.isfinite(values.primal))
    finite = bool(np.isfinite([values.primal, values.dual, values.gap]).all())
    reason = "" if feasible else "the dual point is not feasible"
    reason = reason or definite.reason
    if not finite:
        reason = "no finite primal value: some row is on the wrong side" if np.isinf(values.primal) else "not finite"
    return Certificate(
        primal=values.primal,
        dual=values.dual,
        gap=values.gap,
        relative_gap=relative(values.gap, values.primal, values.dual),
        kkt=float(kkt / problem.unit(values.beta, values.f)),
        feasible=feasible,
        holds=feasible and finite and definite.psd,
        method=method,
        reason=reason,
        error_bound=float(scores.error.max(initial=0.0)),
        rounding=values.rounding,
        judged=definite.judged,
    )


class _Values(NamedTuple):
    """An upper bound on the primal, a lower one on the dual, a bound on the gap and the part of it that is rounding."""

    primal: float
    dual: float
    gap: float
    rounding: float
    miss: float  # how far the model's dual variables miss their constraints, relatively
    beta: FloatArray  # the dual point in the QP, its scores there and what they may be off by
    f: FloatArray
    error: FloatArray


@np.errstate(over="ignore", invalid="ignore")
def _values(task: Delivered, scores: Scores) -> _Values:
    problem, qp, n = task.problem, task.problem.qp, len(scores.f)
    beta, f, offsets = problem.recovered(task.dual_coef, scores.f, task.intercept + scores.shift)
    moved = np.zeros(n) if task.moved is None else task.moved
    point = np.clip(beta + moved, qp.lower, qp.upper)
    clipped = float(np.abs(point - beta - moved).sum())
    error = _scale(beta, task.dual_coef) * scores.error + scores.largest * clipped
    distance = task.distance  # 1/2 ||w - w(point)||^2: what was moved before, and what clipping moves
    if clipped > 0:
        apart = math.sqrt(2.0 * distance) + math.sqrt(scores.largest) * clipped
        distance = 0.5 * ROOM * apart * apart
    if not point.any() and scores.shift == 0:  # scores of 0: the errors of the few sums left are known
        error = error + 2 * problem.slips(point, f, offsets)
    else:
        error = error + STEPS * UNIT * problem.reach(point, f, offsets)
    ends = (f, f - error, f + error)
    here, low, high = (problem.gap_terms(point, at, offsets) for at in ends)
    costs, *others = (problem.costs(point, at, offsets) for at in ends)
    worst = np.maximum(costs, np.maximum(*others))
    short = np.abs(problem.shortfall(point, f, offsets)) + error
    slope = np.abs(problem.gradient(point, f)) + abs(_scale(beta, task.dual_coef) * scores.shift) + error + qp.epsilon
    loss, lost = _charges(qp, point, short, slope, scores.largest)
    stated = problem.value_scale  # of what is computed in the QP's units
    gap = float(np.maximum(here, np.maximum(low, high)).clip(min=0.0).sum()) * (1.0 + summed(n + 10))
    gap += stated * (distance + loss)
    size, linear = np.abs(point), np.abs(qp.linear) + qp.epsilon
    sizes = float(size @ (problem.reach(point, f, offsets) + linear) + worst.sum()) + abs(problem.fixed(offsets))
    balance = abs(scores.shift * _scale(beta, task.dual_coef) * math.fsum(beta[beta != 0].tolist()))
    off = ROOM * (2 * summed(n + 10) * sizes + float((np.abs(beta) + size) @ error) + balance)
    primal = problem.primal(beta, f, offsets) + stated * (float((worst - costs).sum()) + off)
    dual = problem.dual(point, f) - stated * (off + lost + abs(float(moved @ f)) + 2 * distance)
    exact = float(here.clip(min=0.0).sum()) + stated * task.distance
    return _Values(primal, dual, gap, gap - exact, qp.infeasibility(beta + moved), point, f, error)


def _hard_margin(task: Delivered, scores: Scores) -> _Values:
    """The hard margin itself: (w, b) rescaled to functional margin 1 against the dual sum alpha - 1/2||w||^2.

    With w' = w / margin the gap is sum alpha_i (t_i f'_i - 1) + 1/2 ||w' - w||^2, all terms >= 0.
    """
    problem, n = task.problem, len(scores.f)
    assert isinstance(problem, HardMarginProblem)  # the caller has looked
    coef, f, b = task.dual_coef, scores.f, task.intercept + scores.shift
    error = scores.error + STEPS * UNIT * (np.abs(f) + abs(b))
    alpha, margins = problem.sign * coef, problem.sign * (f + b)
    beta, hull_f, _ = problem.recovered(coef, f, b)
    hull_error, miss = _scale(beta, coef) * error, problem.qp.infeasibility(beta)
    margin, whole = float((margins - error).min()), math.fsum(coef[coef != 0].tolist())
    sizes = float(np.abs(coef) @ (np.abs(f) + 1.0))
    off = ROOM * (summed(n + 10) * sizes + float(np.abs(coef) @ error) + abs(scores.shift * whole))
    square = max(float(coef @ f), 0.0)
    short = np.abs(1.0 - margins) + error
    loss, lost = _charges(DualQP(-problem.sign, np.where(problem.sign > 0, 0.0, -np.inf),
                                 np.where(problem.sign > 0, np.inf, 0.0), balance=problem.fit_intercept),
                          coef, short, np.abs(f + scores.shift - problem.sign) + error, scores.largest)  # fmt: skip
    dual = float(alpha.sum() - 0.5 * square) - off - lost
    if not margin > 0:
        return _Values(np.inf, dual, np.inf, 0.0, miss, beta, hull_f, hull_error)
    stretch = 1.0 / margin - 1.0
    exact = float((alpha * (margins / margins.min() - 1.0)).sum()) + 0.5 * (1.0 / margins.min() - 1.0) ** 2 * square
    terms = alpha * np.maximum((margins + error) / margin - 1.0, 0.0)
    gap = (float(terms.sum()) + 0.5 * stretch * stretch * (square + 2 * off)) * (1.0 + summed(n + 10)) + loss
    return _Values(
        (0.5 * square + off) / margin / margin * (1.0 + summed(8)),
        dual,
        gap,
        gap - max(exact, 0.0),
        miss,
        beta,
        hull_f,
        hull_error,
    )


def _charges(
    qp: DualQP, point: FloatArray, short: FloatArray, slope: FloatArray, largest: float
) -> tuple[float, float]:
    """What rounding errors in the sums of a dual point cost: (in the gap, in the dual value).

    A point that meets the sums exactly is next to it, where one row gives or takes the rest r. That changes the gap by
    at most |r| times the row's shortfall plus r^2 k(x, x) / 2, and the dual value by |r| times its slope plus the same.
    Both are infinite where the rows have no room for it.
    """
    gap = dual = 0.0
    for rest, room in _rests(qp, point):
        if rest == 0:
            continue
        one = room >= abs(rest)
        if one.any():
            row = int(np.argmin(np.where(one, short, np.inf)))
            a, b = short[row], slope[row]
        elif float(room.sum()) >= abs(rest):
            a, b = float(short[room > 0].max()), float(slope[room > 0].max())
        else:
            return np.inf, np.inf
        gap += ROOM * abs(rest) * (a + abs(rest) * largest)
        dual += 2 * ROOM * abs(rest) * (b + abs(rest) * largest)
    return float(gap), float(dual)


def _rests(qp: DualQP, point: FloatArray) -> Iterator[tuple[float, FloatArray]]:
    """(error of a sum, how far each row could move to correct it) of every sum that is prescribed."""
    size, cap = np.abs(point), np.where(point > 0, qp.upper, -qp.lower)
    if qp.budget is not None and not qp.budget_is_bound:
        sides: list[Array] = [qp.upper > 0, qp.lower < 0] if qp.balance else [np.ones(qp.n, dtype=bool)]
        for side in sides:
            yield _rest(np.where(side, size, 0.0), cap, qp.budget / len(sides))
        return
    moved = 0.0
    if qp.balance and qp.total:
        yield _rest(size, cap, qp.total)
    elif qp.balance:
        rest = math.fsum(point[size > 0].tolist())
        shrinks, moved = (point > 0) == (rest > 0), abs(rest)
        yield rest, np.where(size > 0, np.where(shrinks, size, cap - size), 0.0)
    if qp.budget is not None:  # a bound: both sides shrink where they must stay in balance, any row where not
        rest = max(0.0, math.fsum([*size[size > 0].tolist(), -qp.budget, moved]))
        for side in (point > 0, point < 0) if qp.balance else (size > 0,):
            yield rest, np.where(side, size, 0.0)


def _rest(size: FloatArray, cap: FloatArray, prescribed: float) -> tuple[float, FloatArray]:
    """(sum of ``size`` - ``prescribed``, how far each row could move to correct it).

    The largest sum that the rows can hold may be the prescribed one, and either is rounded (nu sum C, or bounds 1/n).
    Rows that are full then miss it by no more than that rounding, which is charged as if they could correct it.
    """
    rest = math.fsum([*size[size > 0].tolist(), -prescribed])
    room = np.where(size > 0, cap - size, 0.0)
    if rest > 0 or (float(room.sum()) < -rest <= summed(len(size) + 2) * prescribed):
        room = size
    return rest, room


def judge_all(
    tasks: Sequence[Delivered], scores: Sequence[Scores], definite: Definiteness, method: str = "recomputed"
) -> list[Certificate]:
    """:func:`judge` of every task; many soft-margin tasks (all pairs of classes) are judged in one sweep."""
    soft = [task.problem for task in tasks if isinstance(task.problem, SVCProblem)]
    plain = all(task.moved is None and own.shift == 0 for task, own in zip(tasks, scores, strict=True))
    if len(tasks) > 2 and plain and len(soft) == len(tasks) and len({problem.fit_intercept for problem in soft}) == 1:
        coef, b = np.concatenate([task.dual_coef for task in tasks]), np.array([task.intercept for task in tasks])
        f, error = (np.concatenate([getattr(own, name) for own in scores]) for name in ("f", "error"))
        largest = max(own.largest for own in scores)
        return judge_soft_margins(SoftMargins.of(soft), coef, b, Scores(f, error, largest), definite, method)
    return [judge(task, own, definite, method) for task, own in zip(tasks, scores, strict=True)]


@np.errstate(over="ignore", invalid="ignore")
def judge_soft_margins(
    problems: SoftMargins,
    coef: FloatArray,
    b: FloatArray,
    scores: Scores,
    definite: Definiteness,
    method: str,
) -> list[Certificate]:
    """The formulas of :class:`SVCProblem` on all tasks laid end to end, summed task by task.

    Tasks with anything unusual go to :func:`judge`, which says what it is.
    """
    total, spread, sizes = problems.total, problems.spread, problems.sizes
    f, sign, C, alpha = scores.f, problems.sign, problems.C, problems.sign * coef
    shift, room = spread(b), C - alpha
    reach = 1.0 + np.abs(f) + np.abs(shift)
    error = scores.error + STEPS * UNIT * reach
    short = 1.0 - sign * (f + shift)

    def terms(by: FloatArray) -> FloatArray:
        return room * np.maximum(0.0, by) - alpha * np.minimum(0.0, by)

    here = total(terms(short))
    worst = total(np.maximum(terms(short - error), terms(short + error)))  # each is convex
    gamma = summed(int(sizes.max()) + 10)
    linear = total(alpha)
    rest = np.abs(total(coef)) + gamma * linear if problems.fit_intercept else np.zeros(len(problems))
    wide = spread(rest)
    free = (alpha >= wide) & (alpha <= C - wide) & (alpha > 0)
    near = problems.least(np.where(free, np.abs(short) + error, np.inf))
    charge = np.where(rest > 0, ROOM * rest * (near + rest * scores.largest), 0.0)
    gap = worst * (1.0 + gamma) + charge
    quadratic, slack = total(coef * f) / 2, total(C * np.maximum(0.0, short))
    off = ROOM * (2 * gamma * (total(alpha * reach) + linear + slack) + 2 * total(alpha * error))
    lost = 2 * ROOM * rest * (near + np.abs(b) + rest * scores.largest)  # a free row's slope is its shortfall and b
    primal = quadratic + slack + total(C * error * (short + error > 0)) + off
    dual = linear - quadratic - off - np.where(rest > 0, lost, 0.0)
    up, down = problems.slopes(alpha, f, SNAP, error)
    kkt = np.maximum(down - up if problems.fit_intercept else np.maximum(-up, down), 0.0)
    ordinary = ~(problems.most(((alpha < 0) | (alpha > C)).astype(float)) > 0)
    ordinary &= (rest <= FEASIBILITY_TOL * np.maximum(linear, 1e-300)) & np.isfinite(gap)
    ordinary &= np.isfinite(primal) & np.isfinite(dual) & (linear > 0)  # scores of 0 have errors that are known
    largest_error, rounding = problems.most(scores.error).tolist(), (gap - here).tolist()
    columns = zip(*(values.tolist() for values in (primal, dual, gap, kkt)), strict=True)
    return [
        Certificate(
            p, d, g, relative(g, p, d), k, True, definite.psd, method, definite.reason,
            error_bound=largest_error[t], rounding=rounding[t], judged=definite.judged,
        )
        if ordinary[t]
        else _judge_one(problems, t, coef, b, scores, definite, method)
        for t, (p, d, g, k) in enumerate(columns)
    ]  # fmt: skip


def _judge_one(
    problems: SoftMargins,
    number: int,
    coef: FloatArray,
    b: FloatArray,
    scores: Scores,
    definite: Definiteness,
    method: str,
) -> Certificate:
    """One of many, by itself."""
    own = problems.part(number)
    task = Delivered(np.arange(own.stop - own.start), problems[number], coef[own], float(b[number]))
    return judge(task, Scores(scores.f[own], scores.error[own], scores.largest), definite, method)


def _scale(beta: FloatArray, dual_coef: FloatArray) -> float:
    """The dual variables divided by the published coefficients."""
    return float(np.abs(beta).sum()) / max(float(np.abs(dual_coef).sum()), np.finfo(float).tiny)


def must_recompute(problem: Problem) -> bool:
    """Whether no row may be estimated: the hard margin's certificate depends on the smallest margin of all."""
    return isinstance(problem, HardMarginProblem)
