"""The tasks of an LSSVC: those of the same rows together, in closed form or by conjugate gradients."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from maxmargin._rows import take
from maxmargin._types import FloatArray, IntArray
from maxmargin._validation import cache_bytes, memory_at_first, row_costs
from maxmargin.backends import blas_threads, factor_threads, run_queue
from maxmargin.delivered import Delivered
from maxmargin.estimators._caller import levels_to_caller
from maxmargin.estimators._fit import FoldFit
from maxmargin.estimators._kernel_folds import packed_fold
from maxmargin.estimators._machine import Training
from maxmargin.estimators._options import FitOptions
from maxmargin.estimators._progress import FitReporter
from maxmargin.estimators._run import Outcome
from maxmargin.estimators._streamed import DIRECT_ROWS, gram_of, solve_streamed, warn_unless_solved
from maxmargin.kernels import Kernel
from maxmargin.problems import LSSVCProblem, Offsets
from maxmargin.solvers import Record, Solution, Status
from maxmargin.solvers.bordered import Bordered, solve_bordered

if TYPE_CHECKING:
    from maxmargin.estimators._lssvc import LSSVC

#: Matrices of a task's size that the closed form takes room for, and the share of the free memory it may take.
MATRICES, MEMORY_SHARE = 3, 0.5
#: Relative residual of the closed form from which on it is no solution.
HOPELESS = 0.1


class FoldSolution(NamedTuple):
    """A task without the rows of one fold."""

    coef: FloatArray  # one per row of the task
    intercept: float
    held: Any  # (rows of the fold,) their scores, where they came with the solution, else None


@dataclass(frozen=True)
class LSOutcome(Outcome):
    """What a task came to, and the same task without some rows."""

    residual: float
    number: IntArray | None = None  # the fold of every row of the fit
    folds: tuple[FoldSolution, ...] = ()
    left_out: FloatArray | None = None  # scores of every row by the task without it


class Work(NamedTuple):
    """What a system took."""

    steps: int
    entries: int  # kernel values
    began: float
    reached: bool | None = None  # None: what the residual says


class Group(NamedTuple):
    """Tasks of the same rows. They share a system: the C_i are those of the rows, whatever a task's signs."""

    numbers: list[int]
    rows: IntArray  # among those that count
    T: FloatArray  # (rows, tasks) signs


def solve_tasks(
    machine: LSSVC, data: Training, kernel: Kernel, reporter: FitReporter, number: IntArray | None
) -> list[LSOutcome]:
    """An outcome per task; with ``number``, the fold of every row that counts, those of the folds too."""
    tasks = data.extra.scheme.tasks(data.extra.label)
    reporter.begin(len(tasks))
    if all(len(task.rows) == len(data.kept) for task in tasks):
        groups = [Group(list(range(len(tasks))), tasks[0].rows, np.column_stack([task.sign for task in tasks]))]
    else:
        groups = [Group([k], task.rows, task.sign[:, None]) for k, task in enumerate(tasks)]
    run = _Fit(machine, data, kernel, groups, number, reporter)
    largest = max(len(group.rows) for group in groups)
    with blas_threads(1 if run.at_once > 1 else factor_threads(largest, machine.n_jobs)):
        run_queue([partial(run.solve, group) for group in groups], run.at_once)
    run.warn()
    return [run.found[k] for k in range(len(tasks))]


class _Fit:
    """One Gram matrix for all the tasks of a fit."""

    def __init__(
        self,
        machine: LSSVC,
        data: Training,
        kernel: Kernel,
        groups: list[Group],
        number: IntArray | None,
        reporter: FitReporter,
    ):
        self.machine, self.data, self.kernel, self.number, self.reporter = machine, data, kernel, number, reporter
        self.C = row_costs(float(machine.C), data.extra.weights(data))
        self.options = FitOptions.of(machine)
        self.threads = self.options.threads
        largest, side_by_side = max(len(group.rows) for group in groups), min(self.threads, len(groups))
        self.closed, self.told = _closed(machine, largest, side_by_side), False
        self.at_once = side_by_side if self.closed and not reporter.active else 1
        self.gram: Any = gram_of(self.options, data, kernel) if self.closed else None
        self.found: dict[int, LSOutcome] = {}

    def solve(self, group: Group) -> None:
        """All tasks of a group."""
        began = time.perf_counter()
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is an error below
            outcomes = self._closed_form(group) if self.closed else self._gradients(group)
        for k, outcome in zip(group.numbers, outcomes, strict=True):
            self.found[k] = outcome
            if self.reporter.active:
                after_round, end = self.reporter.round_callback(k)
                assert after_round is not None  # as somebody listens
                after_round(_record(outcome, time.perf_counter() - began))
                end()

    def _closed_form(self, group: Group) -> list[LSOutcome]:
        began, n, T, C = time.perf_counter(), len(group.rows), group.T, self.C[group.rows]
        gram = self.gram
        if n < gram.n or self.at_once > 1:
            gram = gram.take(group.rows, threads=max(1, self.threads // self.at_once))
        K = gram.matrix(heeds=True)
        if not np.isfinite(K).all():
            raise ValueError("the kernel matrix is not finite; scale the features, for example with StandardScaler")
        if not np.isfinite(C.max() * np.abs(K).max()):
            raise ValueError(f"C={self.machine.C:g} times the kernel's values is not finite; take a smaller C")
        left_out = self.machine.leave_one_out
        solved = solve_bordered(K, T, C, self.machine.fit_intercept, left_out or self.number is not None)
        folds = [solved.without(held, T) for held in self._held(group)]
        without = [
            tuple(FoldSolution(beta[:, k], float(b[k]), f[:, k]) for beta, b, f in folds) for k in range(T.shape[1])
        ]
        loo = solved.each_left_out(T) if left_out else None
        return self._outcomes(group, solved, K @ solved.beta, Work(1, n**2 // 2, began), without, loo)

    def _gradients(self, group: Group) -> list[LSOutcome]:
        began = time.perf_counter()
        solved, f, steps, reached = self._without(group, np.zeros(len(group.rows), dtype=bool))
        folds = [self._without(group, held)[0] for held in self._held(group)]
        without = [
            tuple(FoldSolution(fold.beta[:, k], float(fold.intercept[k]), None) for fold in folds)
            for k in range(group.T.shape[1])
        ]
        work = Work(steps, (steps + 1) * len(group.rows) ** 2, began, reached)
        return self._outcomes(group, solved, f, work, without, None)

    def _without(self, group: Group, held: Any) -> tuple[Bordered, FloatArray, int, bool]:
        """(the tasks without the rows ``held``, f = K beta, steps, whether to tol) by conjugate gradients."""
        rows, bias, T = group.rows[~held], self.machine.fit_intercept, group.T[~held]
        part, C = self.data._replace(kept=self.data.kept[rows], weight=self.data.weight[rows]), self.C[rows]
        some, residual, steps = solve_streamed(self.machine, part, self.kernel, C, 1.0, T, sum_zero=bias)
        warn_unless_solved(self.options, residual, steps, "take a smaller C")
        f = gram_of(self.options, part, self.kernel).product(some)
        intercept = C @ (T - f) / C.sum() if bias else np.zeros(T.shape[1])
        beta = np.zeros_like(group.T)
        beta[~held] = some
        return Bordered(beta, intercept), f, steps, residual <= self.machine.tol

    def _held(self, group: Group) -> list[Any]:
        """The rows of the group that every fold holds out."""
        if self.number is None:
            return []
        return [self.number[group.rows] == fold for fold in range(int(self.number.max(initial=-1)) + 1)]

    def _outcomes(
        self,
        group: Group,
        solved: Bordered,
        f: FloatArray,
        work: Work,
        without: list[tuple[FoldSolution, ...]],
        loo: FloatArray | None,
    ) -> list[LSOutcome]:
        """An outcome per task of the group; ``f`` = K beta."""
        if not (np.isfinite(solved.beta).all() and np.isfinite(solved.intercept).all()):
            raise ValueError(
                "the coefficients are not finite; scale the features, for example with StandardScaler, or take a "
                "smaller C"
            )
        rows, C, bias, outcomes = self.data.kept[group.rows], self.C[group.rows], self.machine.fit_intercept, []
        for k in range(group.T.shape[1]):
            beta, b = np.ascontiguousarray(solved.beta[:, k]), float(solved.intercept[k])
            problem = LSSVCProblem(np.ascontiguousarray(group.T[:, k]), C, bias)
            left = problem.sign - problem.ridged(beta, f[:, k]) - b
            residual = float(np.sqrt(C @ left**2 / C.sum()))  # the targets are of size 1
            if self.closed and not residual <= HOPELESS:
                raise ValueError(
                    f"C={self.machine.C:g} is too large for kernel values of this size: rounding errors leave a "
                    f"relative residual of {residual:.1e}; take a smaller C, or scale the features"
                )
            reached = residual <= self.machine.tol  # of what is published, whatever conjugate gradients believe
            self.told = self.told or work.reached is False
            status = Status.OPTIMAL if reached else Status.STALLED if self.closed else Status.MAX_ITER
            seconds = time.perf_counter() - work.began
            solution = Solution(beta, np.ascontiguousarray(f[:, k]), status, work.steps, (), work.entries, seconds)
            delivered = Delivered(rows, problem, beta, b)
            left_out = None if loo is None else loo[:, k]
            outcomes.append(LSOutcome(delivered, solution, residual, self.number, without[k], left_out))
        return outcomes

    def warn(self) -> None:
        """Tell the user of a system that rounding did not let solve to ``tol``; steps that were too few are told of."""
        residual = max(outcome.residual for outcome in self.found.values())
        if not self.told and not residual <= self.machine.tol:
            warnings.warn(
                f"rounding errors left a relative residual of {residual:.1e}, more than tol={self.machine.tol:g}: "
                "C is too large for kernel values of this size; take a smaller C, or scale the features",
                ConvergenceWarning,
                stacklevel=levels_to_caller(),
            )


def _closed(machine: LSSVC, n: int, at_once: int) -> bool:
    """Whether tasks of ``n`` rows are solved in closed form; an error where that was asked for and cannot be."""
    auto = isinstance(machine.cache_size, str)
    allowed = MEMORY_SHARE * memory_at_first() if auto else cache_bytes(machine.cache_size)
    needed = MATRICES * 8 * n**2 * at_once
    closed = machine.solver == "cholesky" or (
        machine.solver == "auto" and n <= DIRECT_ROWS and (needed <= allowed or machine.leave_one_out)
    )
    if closed and needed > allowed:
        raise ValueError(
            f"matrices of {n} rows take {needed / 2**20:.0f} MB, more than cache_size={machine.cache_size!r} allows, "
            f"{allowed / 2**20:.0f} MB; use solver='cg' (without leave_one_out), or give a larger cache_size"
        )
    if machine.leave_one_out and not closed:
        raise ValueError(
            f"leave_one_out=True needs the closed form, which tasks of {n} rows do not get by themselves; use "
            "solver='cholesky', or fewer rows"
        )
    return closed


def _record(outcome: LSOutcome, seconds: float) -> Record:
    task, f = outcome.delivered, outcome.solution.f
    offsets, problem = Offsets(intercept=task.intercept), task.problem
    primal, dual = problem.primal(task.dual_coef, f, offsets), problem.dual(task.dual_coef, f)
    return Record(outcome.solution.n_iter, seconds, primal, dual, problem.gap(task.dual_coef, f, offsets))


def without_folds(data: Training, outcomes: list[LSOutcome]) -> list[FoldFit]:
    """The tasks without the rows of each fold, as they came with the solutions."""
    fits = []
    for of_fold in zip(*(outcome.folds for outcome in outcomes), strict=True):
        held = [own.held for own in of_fold]
        whole = all(len(outcome.delivered.rows) == len(data.kept) for outcome in outcomes) and held[0] is not None
        scores = np.column_stack(held) if whole else None
        fits.append(packed_fold(data, [(own.coef, own.intercept) for own in of_fold], scores))
    return fits


def left_out_scores(machine: LSSVC, data: Training, outcomes: list[LSOutcome]) -> FloatArray:
    """(n, tasks) scores of the rows that count, each by tasks that have not seen it."""
    tasks = data.extra.scheme.tasks(data.extra.label)
    scores = np.empty((len(data.kept), len(tasks)))
    if any(len(task.rows) < len(data.kept) for task in tasks):  # a pair has not seen the rows of other classes
        scores = machine._task_scores(take(data.as_given, data.kept))
    for k, (task, outcome) in enumerate(zip(tasks, outcomes, strict=True)):
        scores[task.rows, k] = outcome.left_out
    return scores
