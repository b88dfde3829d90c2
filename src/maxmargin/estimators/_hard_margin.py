"""The hard margin (C = inf) of a linear classifier: the nearest points of two hulls, by the kernel machine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maxmargin._rows import dense
from maxmargin.certificates import judge_linear
from maxmargin.delivered import LinearDelivered
from maxmargin.estimators._classifiers import SVC
from maxmargin.estimators._fit import RefittedFamily
from maxmargin.estimators._linear_model import LinearFit, unscaled, used_rows, write_fit
from maxmargin.estimators._linear_run import linear_history
from maxmargin.estimators._machine import Training
from maxmargin.estimators._proof import Goal
from maxmargin.estimators._scaling import fitted_scaling, scaled
from maxmargin.estimators._turns import fair_share
from maxmargin.exceptions import NotSeparableError
from maxmargin.losses import Hinge
from maxmargin.penalties import L2
from maxmargin.problems import LinearProblem
from maxmargin.solvers import Record, Status

if TYPE_CHECKING:
    from maxmargin.estimators._linear_classifier import LinearClassifierMachine

#: Seconds that every task gets, however late it is.
LEAST_TIME = 1e-3


class Separated(NamedTuple):
    """A task whose two sides were told apart, by a kernel machine; one that was stopped has said so itself."""

    machine: SVC
    history: tuple[Record, ...]
    status: Status = Status.OPTIMAL


class HardMargin(RefittedFamily[Separated]):
    """Tasks of a LinearSVC with C = inf.

    Raises :class:`~maxmargin.exceptions.NotSeparableError` if the two sides of a task cannot be told apart.
    """

    def __init__(self, machine: LinearClassifierMachine, data: Training):
        if machine.penalty != "l2":
            raise ValueError(f"C=inf is the hard margin, which needs penalty='l2'; got penalty={machine.penalty!r}")
        self.machine, self.data, self.whole, self.rows = machine, data, data, data.X_kept
        self.scaling = fitted_scaling(self.rows, data.weight) if machine.scale else None
        self.tasks = data.extra.scheme.tasks(data.extra.label)

    def goal(self):
        return Goal(np.inf, self.machine.tol)

    def solve(self, reporter):
        machine, data, inputs, solutions = self.machine, self.data, scaled(self.rows, self.scaling), []
        for turn, task in enumerate(self.tasks):
            left = None
            if machine.time_limit is not None:
                due = fair_share(machine._solving_ends(data), len(self.tasks) - turn)
                left = max(LEAST_TIME, due - time.perf_counter())
            inner = SVC(
                C=np.inf,
                kernel="linear",
                gap_tol=machine.tol,
                fit_intercept=machine.fit_intercept,
                time_limit=left,
                certify=False,
                n_jobs=machine.n_jobs,
            )
            try:
                inner.fit(inputs[task.rows], task.sign)
            except NotSeparableError as error:
                raise error.on_rows(data.kept[task.rows], data.n) from None
            solutions.append(Separated(inner, tuple(Record(*line.tolist()[1:]) for line in inner.history_)))
        return solutions

    def _model(self, solutions: list[Separated]) -> LinearFit:
        machines = [solution.machine for solution in solutions]
        where = [task.rows[machine.support_] for task, machine in zip(self.tasks, machines, strict=True)]
        lines = [dense(machine.dual_coef_).ravel() for machine in machines]
        return LinearFit(
            np.vstack([dense(machine.coef_) for machine in machines]),
            np.concatenate([machine.intercept_ for machine in machines]),
            *used_rows(lines, where, len(self.data.kept)),
            np.inf,
            max(int(machine.n_iter_.max()) for machine in machines),
            linear_history(solutions),
        )

    def prove(self, solutions):
        """Of the published weights, which are sums of rows, rounded."""
        delivered, model = [], self._model(solutions)
        lines = zip(self.tasks, *unscaled(model.W, model.intercept, self.scaling), solutions, strict=True)
        for task, coef, b, solution in lines:
            cost, beta = np.full(len(task.rows), np.inf), np.zeros(len(task.rows))
            beta[solution.machine.support_] = dense(solution.machine.dual_coef_).ravel()
            problem = LinearProblem(Hinge(), L2(), task.sign, cost, self.machine.fit_intercept)
            delivered.append(LinearDelivered(problem, coef, float(b), beta, task.rows))
        return judge_linear(self.rows, delivered, self.scaling)

    def write(self, draft, solutions, certificates, reached):
        write_fit(draft, self.data, self._model(solutions), self.scaling)

    def scores(self, draft, solutions):
        return draft._raw_scores(self.rows)
