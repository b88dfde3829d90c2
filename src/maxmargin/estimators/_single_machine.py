"""All classes in one problem, Crammer and Singer's or Weston and Watkins': SVC and LinearSVC come here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin._types import FloatArray
from maxmargin._validation import row_costs
from maxmargin.backends import single_threaded_blas
from maxmargin.certificates import judge_kernel_all_classes
from maxmargin.estimators._base import shape_of
from maxmargin.estimators._fit import ClassifierFamily, FoldFit
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._kernel_folds import fold_tables
from maxmargin.estimators._linear_run import linear_history
from maxmargin.estimators._machine import Training
from maxmargin.estimators._options import FitOptions
from maxmargin.estimators._proof import Goal, warn_unless_reached
from maxmargin.estimators._turns import Turn, turns_in_time
from maxmargin.kernels import require_consistent
from maxmargin.problems import ALL_CLASSES, AllClassesProblem, ShortfallProblem
from maxmargin.solvers import AllClassesBlocks, AllClassesPoint, AllClassesSolution

if TYPE_CHECKING:
    from maxmargin.estimators._kernel_classifier import KernelClassifier
    from maxmargin.estimators._linear_classifier import LinearClassifierMachine


def all_classes_problem(
    estimator: KernelClassifier | LinearClassifierMachine, data: Training, cost: float
) -> AllClassesProblem:
    """The problem of the kept rows; ``cost``, the machine's C, must be finite."""
    if np.isinf(cost):
        raise ValueError(
            f"multiclass={estimator._multiclass!r} needs a finite C; got C={cost!r}. The hard margin is there "
            "for two classes at a time: multiclass='ovo' or 'ovr'"
        )
    labels = data.extra
    kind = ALL_CLASSES[estimator._multiclass]
    return kind(labels.label, row_costs(cost, labels.weights(data)), len(labels.classes), estimator.fit_intercept)


class OneProblem(ClassifierFamily[AllClassesSolution]):
    """All classes of a kernel machine in one problem."""

    def __init__(self, machine: KernelClassifier, data: Training):
        if machine.solver not in ("auto", "decomposition"):
            raise ValueError(
                f"solver={machine.solver!r} is for two-class problems; multiclass={machine._multiclass!r} needs 'auto'"
            )
        self.machine, self.data, self.options = machine, data, FitOptions.of(machine)
        self.kernel, problem = machine._resolve_kernel(data), all_classes_problem(machine, data, machine.C)
        assert isinstance(problem, ShortfallProblem)  # kernel machines have no other single problem
        self.problem = problem

    def goal(self):
        return Goal(self.options.tol, self.options.gap_tol)

    def solve(self, reporter):
        machine, data = self.machine, self.data
        rows = machine._counted_rows(data)
        reporter.begin(1)
        after_round, end = reporter.round_callback(0)
        with InterruptFlag() as interrupted, single_threaded_blas():
            require_consistent(self.kernel, rows)
            self.gram = self.options.gram(self.kernel, rows)
            watch = self.options.watch(Turn(machine._solving_ends(data), interrupted, after_round))
            solver = AllClassesBlocks(self.options.backend)
            solution = solver.solve(self.problem, self.gram, watch, _warm_start(machine, data))
        end()
        return [solution]

    def prove(self, solutions):
        (solution,), data = solutions, self.data
        point = (self.problem, solution.alpha, solution.intercept)
        return [judge_kernel_all_classes(self.kernel, data.X, data.kept, *point)]

    def write(self, draft, solutions, certificates, reached):
        (solution,), data = solutions, self.data
        draft.kernel_, draft.history_ = self.kernel, linear_history(solutions)
        draft.fit_status_ = int(not reached)
        draft.shape_fit_ = shape_of(data)
        draft._write_table(data, _lines(solution.alpha), _lines(solution.intercept[None]).ravel())
        draft.n_iter_ = np.array([solution.n_iter])

    def scores(self, draft, solutions):
        return _lines(solutions[0].f).T.copy()

    def folds(self, draft, solutions, number):
        """The problem without the rows of each fold; held-out scores come with the solutions."""
        (solution,), end_of_all = solutions, self.data.deadline(self.machine.time_limit)
        start = AllClassesPoint(solution.alpha, solution.intercept)
        solver, solved = AllClassesBlocks(self.options.backend), []
        count = int(number.max(initial=-1)) + 1
        with InterruptFlag() as interrupted, single_threaded_blas():
            for fold, due in turns_in_time(count, end_of_all):
                held = number == fold
                watch = self.options.watch(Turn(due, interrupted))
                solved.append(solver.solve(self.problem.masked(held), self.gram, watch, start))
        warn_unless_reached(solved)
        return [
            FoldFit(_lines(own.alpha), _lines(own.intercept[None]).ravel(), _lines(own.f).T[number == fold])
            for fold, own in enumerate(solved)
        ]

    def kept(self, draft, coefs):
        return fold_tables(draft, self.data, coefs)


def _lines(alpha: FloatArray) -> FloatArray:
    """(n, classes) values as published: a line per class, or for two classes their difference."""
    return (alpha[:, 1] - alpha[:, 0])[None] if alpha.shape[1] == 2 else alpha.T.copy()


def _warm_start(estimator: KernelClassifier, data: Training) -> Any:
    """The last fit's dual variables, where the data have the same shape and the classes are the same."""
    known = estimator.warm_start and hasattr(estimator, "support_")
    if (
        not known
        or estimator.shape_fit_ != getattr(data.X, "shape", (data.n,))
        or not estimator._same_scheme(data.extra)
    ):
        return None
    table, b = estimator._fitted_table(data)[:, data.kept], estimator.intercept_
    if len(table) == 1:
        table, b = np.vstack([-table, table]) / 2, np.concatenate([-b, b]) / 2
    alpha = np.ascontiguousarray(table.T)
    return AllClassesPoint(alpha, b)
