"""Cross-validation of a fitted kernel classifier: folds as masks over its kernel, started at its solution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin._rows import take
from maxmargin._types import FloatArray, IntArray
from maxmargin.delivered import FoldModels, FoldTables
from maxmargin.estimators._fit import FoldFit
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._machine import Training
from maxmargin.estimators._options import FitOptions
from maxmargin.estimators._proof import warn_unless_reached
from maxmargin.estimators._run import Outcome, Task, published_scale, run_tasks
from maxmargin.estimators._turns import turns_in_time
from maxmargin.kernels import Kernel
from maxmargin.multiclass import BinaryTask
from maxmargin.solvers import left_out

if TYPE_CHECKING:
    from maxmargin.estimators._kernel_classifier import KernelClassifier


def solve_folds(
    estimator: KernelClassifier, data: Training, kernel: Kernel, outcomes: list[Outcome], number: IntArray
) -> list[FoldFit]:
    """The tasks without the rows of each fold: masks over one kernel matrix.

    All folds are solved together; under a time limit one after the other, as long as there is time.
    """
    tasks, count = data.extra.scheme.tasks(data.extra.label), int(number.max(initial=-1)) + 1
    options, deadline = FitOptions.of(estimator), data.deadline(estimator.time_limit)
    parts = [range(count)] if deadline == np.inf else [range(fold, fold + 1) for fold in range(count)]
    own: dict[tuple[int, int], Outcome] = {}
    fitted = 0
    with InterruptFlag() as flag:
        for turn, due in turns_in_time(len(parts), deadline):
            wanted = _fold_tasks(outcomes, tasks, number, parts[turn])
            solved = run_tasks(options, kernel, data.X, list(wanted.values()), due, flag=flag) if wanted else []
            own |= zip(wanted, solved, strict=True)
            fitted = parts[turn].stop
    warn_unless_reached([outcome.solution for outcome in own.values()])
    # a fold that holds out no row of a task has the task of the whole fit
    per_fold = [[own.get((fold, k), outcomes[k]) for k in range(len(tasks))] for fold in range(fitted)]
    whole = all(len(task.rows) == len(number) for task in tasks)
    whole &= all(outcome.solution.scores_are_known for of_fold in per_fold for outcome in of_fold)
    return [
        packed_fold(
            data,
            [(outcome.delivered.dual_coef, outcome.delivered.intercept) for outcome in of_fold],
            np.column_stack([known_scores(outcome) for outcome in of_fold])[number == fold] if whole else None,
        )
        for fold, of_fold in enumerate(per_fold)
    ]


def _fold_tasks(
    outcomes: list[Outcome], tasks: list[BinaryTask], number: IntArray, folds: range
) -> dict[tuple[int, int], Task]:
    """(fold, task) to the task without the rows of the fold, started near its solution, where it has such rows."""
    wanted = {}
    for k, (outcome, task) in enumerate(zip(outcomes, tasks, strict=True)):
        for fold in folds:
            held = number[task.rows] == fold
            if held.any():
                problem, start = left_out(outcome.delivered.problem, outcome.solution.beta, held)
                wanted[fold, k] = Task(outcome.delivered.rows, problem, start)
    return wanted


def packed_fold(data: Training, tasks: list[tuple[FloatArray, float]], scores: FloatArray | None) -> FoldFit:
    """A fold from the (coefficients, intercept) of its tasks, in the scheme's table."""
    table = data.extra.scheme.pack([coef for coef, _ in tasks], data.extra.label)
    return FoldFit(table, [b for _, b in tasks], scores)


def known_scores(outcome: Outcome) -> FloatArray:
    """Scores on the task's rows, as the solver left them."""
    return outcome.solution.f * published_scale(outcome) + outcome.delivered.intercept


def fold_tables(estimator: KernelClassifier, data: Training, tables: list[FloatArray]) -> FoldTables:
    """Tables (lines, n) of every fold, kept on the rows that count in any of them."""
    stacked = np.array(tables) if tables else np.zeros((0, 1, len(data.kept)))  # classes of one row: no folds
    used = np.flatnonzero((stacked != 0).any(axis=(0, 1)))
    order = used[np.argsort(data.extra.label[used], kind="stable")]
    basis = estimator._basis(data, data.kept[order])
    return FoldTables(basis, data.extra.label[order], stacked[:, :, order])


def held_out_scores(estimator: KernelClassifier, data: Training, folds: FoldModels) -> FloatArray:
    """(n, tasks) scores of the rows of each fold by its own tasks, of rows in none by the model itself."""
    scores = np.empty((len(data.kept), folds.intercept.shape[1]))
    for fold in range(-1, len(folds.intercept)):
        held = np.flatnonzero(folds.number == fold)
        if len(held) == 0:
            continue
        some = take(data.as_given, data.kept[held])
        if fold < 0:
            scores[held] = estimator._task_scores(some)
            continue
        (scores[held],) = fold_scores(estimator, some, folds.coef, folds.intercept[[fold]], [fold])
    return scores


def fold_scores(
    estimator: KernelClassifier, X: Any, tables: FoldTables, intercept: FloatArray, which: list[int] | None = None
) -> list[FloatArray]:
    """(n, tasks) scores of every fold's tasks (or of some), from one table of kernel values."""
    scheme = estimator._scheme
    blocks = [
        scheme.tables(table, tables.label) for table in (tables.tables if which is None else tables.tables[which])
    ]
    sums = estimator._products(X, [np.hstack(of_folds) for of_folds in zip(*blocks, strict=True)], tables.support)
    split = [np.split(values, len(blocks), axis=1) for values in sums]
    scores = [scheme.from_tables([part[k] for part in split]) for k in range(len(blocks))]
    for own, b in zip(scores, intercept, strict=True):
        own += b
    return scores
