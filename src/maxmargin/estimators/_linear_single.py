"""All classes in one problem: LinearSVC's (Crammer and Singer, Weston and Watkins) and LinearClassifier's softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maxmargin.backends import backend_for, single_threaded_blas
from maxmargin.certificates import Scaling, judge_linear_all_classes
from maxmargin.estimators._fit import RefittedFamily
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._linear_model import LinearFit, published_weights, unscaled, used_rows, write_fit
from maxmargin.estimators._linear_run import linear_history
from maxmargin.estimators._machine import Training, seed_of
from maxmargin.estimators._proof import Goal
from maxmargin.estimators._scaling import fitted_scaling, scaled
from maxmargin.estimators._single_machine import all_classes_problem
from maxmargin.penalties import resolve_penalty
from maxmargin.problems import ShortfallProblem, SoftmaxProblem
from maxmargin.solvers import AllClassesLinear, AllClassesPoint, AllClassesSolution, SoftmaxNewton, Watch, aimed

if TYPE_CHECKING:
    from maxmargin.estimators._linear_classifier import LinearClassifierMachine


class LinearOneProblem(RefittedFamily[AllClassesSolution]):
    """All classes of a linear machine in one problem; LinearSVC's ``loss`` is not used, as in scikit-learn."""

    def __init__(self, machine: LinearClassifierMachine, data: Training):
        if resolve_penalty(machine.penalty).name != "l2":
            raise ValueError(
                f"multiclass={machine._multiclass!r} needs penalty='l2' and a finite C; got penalty={machine.penalty!r}"
            )
        self.machine, self.data, self.cost = machine, data, machine._cost(data)
        self.whole = data
        self.problem = all_classes_problem(machine, data, self.cost)
        self.rows = data.X_kept
        self.scaling = fitted_scaling(self.rows, data.weight) if machine.scale else None

    def goal(self):
        return Goal(np.inf, self.machine.tol)

    def solve(self, reporter):
        machine, data = self.machine, self.data
        reporter.begin(1)
        after_round, end = reporter.round_callback(0)
        with InterruptFlag() as interrupted, single_threaded_blas():
            deadline = machine._solving_ends(data)
            watch = Watch(0.0, aimed(machine.tol), machine.max_iter, deadline, interrupted, after_round)
            start, X = _warm_start(machine, data, self.scaling), scaled(self.rows, self.scaling)
            if isinstance(self.problem, SoftmaxProblem):
                solution = SoftmaxNewton(backend_for("cpu")).solve(self.problem, X, watch, start)
            else:
                assert isinstance(self.problem, ShortfallProblem)
                solution = AllClassesLinear(backend_for("cpu"), seed_of(machine)).solve(self.problem, X, watch, start)
        end()
        return [solution]

    def prove(self, solutions):
        (solution,) = solutions
        coef, b = unscaled(solution.W, solution.intercept, self.scaling)
        return [judge_linear_all_classes(self.rows, self.problem, coef, b, solution.alpha, self.scaling)]

    def write(self, draft, solutions, certificates, reached):
        (solution,) = solutions
        W, b, two = solution.W, solution.intercept, self.problem.n_classes == 2
        model = LinearFit(
            W[1:] - W[:1] if two else W,
            b[1:] - b[:1] if two else b,
            *used_rows(solution.alpha.T, [None] * self.problem.n_classes, len(self.data.kept)),
            self.cost,
            solution.n_iter,
            linear_history(solutions),
        )
        write_fit(draft, self.data, model, self.scaling)

    def scores(self, draft, solutions):
        return draft._raw_scores(self.rows)


def _warm_start(estimator: LinearClassifierMachine, data: Training, scaling: Scaling | None) -> AllClassesPoint | None:
    """The last fit's dual variables and intercepts, if the data have the same shape and the classes are the same."""
    known = estimator.warm_start and getattr(estimator, "shape_fit_", None) == data.X.shape
    if not known or not estimator._same_labels(data):
        return None
    alpha = np.zeros((data.n, len(estimator.classes_)))
    alpha[estimator.support_] = estimator.dual_coef_.T
    W, b = published_weights(estimator, scaling)
    if len(b) == 1:  # the model keeps the difference of its two classes, which are opposite
        W, b = np.concatenate([-W, W]) / 2, np.concatenate([-b, b]) / 2
    return AllClassesPoint(alpha[data.kept], b, np.ascontiguousarray(W.T))
