"""The kernel machine: what SVC, NuSVC, SVR, NuSVR, OneClassSVM and SVDD have in common.

``fit`` checks the data and hands over to :func:`maxmargin.estimators._fit.fit`; :class:`KernelTasks` is what kernel
machines add to it.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted

from maxmargin._rows import count, dense
from maxmargin._types import Array, FloatArray, IntArray
from maxmargin._validation import Scaling, kept_rows, scaled
from maxmargin.estimators._called import tabulated, write_rows
from maxmargin.estimators._fit import ClassifierFamily, Family, fit
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._kernel_folds import fold_tables, held_out_scores, known_scores, solve_folds
from maxmargin.estimators._kernel_model import KernelModel
from maxmargin.estimators._machine import Training, check_target, leaves_no_trace
from maxmargin.estimators._options import FitOptions
from maxmargin.estimators._progress import FitReporter, history_of
from maxmargin.estimators._proof import Goal, certified_outcomes
from maxmargin.estimators._run import Outcome, Task, history, run_tasks
from maxmargin.estimators._soft_margins import SoftOutcomes, run_soft_margins
from maxmargin.kernels import Kernel, Linear
from maxmargin.problems import FEASIBILITY_TOL, Problem, SoftMargins
from maxmargin.solvers import NAMES


class KernelMachine(KernelModel):
    """Base of the kernel machines; subclasses say what their problem is and how it is published."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "shrinking": ["boolean"],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "solver": [StrOptions(set(NAMES))],
        "gap_tol": [Interval(Real, 0.0, None, closed="neither"), None],
        "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
        "certify": [StrOptions({"auto", "full"}), Options(bool, {False})],
        "warm_start": ["boolean"],
    }

    # -- what a machine must say ------------------------------------------------------------------------------

    @abstractmethod
    def _problems(self, data: Training, kernel: Kernel) -> list[tuple[IntArray, Problem]]:
        """(rows of X, problem) of every task; may raise on targets that make no sense."""

    def _soft_margins(self, data: Training) -> tuple[IntArray, SoftMargins] | None:
        """(row of X of each position, the problems) where all of them are soft margins, else None."""
        return None

    def _write(self, data: Training, outcomes: Sequence[Outcome]) -> None:
        """The fitted attributes that scikit-learn's machine has; here those of a machine with one task."""
        (outcome,) = outcomes
        used = np.flatnonzero(outcome.delivered.dual_coef)
        self.n_support_: Any = np.array([len(used)], dtype=np.int32)
        self.intercept_: Any = np.array([outcome.delivered.intercept])
        self.n_iter_: Any = outcome.solution.n_iter
        self._write_support(data, data.kept[used], outcome.delivered.dual_coef[None, used])

    def _validate_targets(self, y: Any) -> Any:
        """Targets as the machine wants them."""
        return y.astype(np.float64, copy=False)

    def _describe(self, data: Training) -> Any:
        """What else the machine wants to know of its targets, once."""
        return None

    # -- fit --------------------------------------------------------------------------------------------------

    @with_callbacks
    @leaves_no_trace
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the machine to the training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            Training rows; the Gram matrix for ``kernel='precomputed'``; any sequence for a callable kernel.
        y : array-like of shape (n_samples,)
            Class labels or real targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row: 2 is the row twice; rows of weight 0 or less are left out.

        Returns
        -------
        self
        """
        data = self._validate(X, y, sample_weight)
        return fit(self, data, self._family(data))

    def _family(self, data: Training) -> Family[Any]:
        """How the machine does the parts of a fit."""
        return KernelTasks(self, data)

    def _validate(self, X, y, sample_weight) -> Training:
        began = time.perf_counter()
        given, X = X, self._checked_rows(X)
        n = count(X)
        target = self._validate_targets(check_target(self, y, n)) if self._needs_y(y) else None
        weight, kept = kept_rows(sample_weight, X, n)
        data = Training(X, target, weight[kept], kept, n, began=began, unscaled=given if isinstance(X, list) else None)
        data = data._replace(extra=self._describe(data))
        self._check_gram(X)
        return self._scaled(data)

    def _needs_y(self, y: Any) -> bool:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        return True

    def _warm_starts(self, data: Training, problems: list[tuple[IntArray, Problem]]) -> list[FloatArray | None]:
        """Where each task starts: at the fitted model's coefficients, made feasible, or from scratch."""
        if (
            not self.warm_start
            or not hasattr(self, "support_")
            or self.shape_fit_ != getattr(data.X, "shape", (data.n,))
        ):
            return [None] * len(problems)
        coefs = self._fitted_coefs(data, problems)
        starts: list[FloatArray | None] = []
        for (_, problem), coef in zip(problems, coefs, strict=True):
            start = None if coef is None else problem.qp.nearby(problem.recovered(coef, coef, 0.0)[0])
            starts.append(start if start is not None and problem.qp.infeasibility(start) <= FEASIBILITY_TOL else None)
        return starts

    def _fitted_coefs(self, data: Training, problems: list[tuple[IntArray, Problem]]) -> list[FloatArray | None]:
        """Published coefficients of the last fit on the rows of every task."""
        table = np.zeros(data.n)
        table[self.support_] = dense(self.dual_coef_).ravel()
        return [table[rows] for rows, _ in problems]

    def _write_support(self, data: Training, support: IntArray, dual_coef: FloatArray) -> None:
        """support_, support_vectors_ and dual_coef_, sparse where X was; and what was done to X."""
        self._write_scaling(data)
        self.support_ = support.astype(np.int32)
        self.support_vectors_: Any = self._basis(data, support).vectors
        sparse_type = sp.csr_matrix if isinstance(data.X, sp.spmatrix) else sp.csr_array
        self.dual_coef_: Any = sparse_type(dual_coef) if sp.issparse(data.X) else dual_coef

    @property
    def coef_(self) -> Array:
        """Weights of the features (as scaled, with ``scale=True``), for the linear kernel only."""
        check_is_fitted(self)
        if not isinstance(self.kernel_, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef = self._linear_weights()
        values: Any = coef.data if sp.issparse(coef) else coef
        values.flags.writeable = False
        return coef

    def _linear_weights(self) -> Array:
        return self.dual_coef_ @ scaled(self.support_vectors_, Scaling.of(self))


class KernelTasks(ClassifierFamily[Outcome]):
    """Tasks of a kernel machine, on one Gram matrix."""

    def __init__(self, machine: KernelMachine, data: Training):
        self.machine, self.given, self.options = machine, data, FitOptions.of(machine)
        self.own_kernel = machine._resolve_kernel(data)
        self.kernel, self.data = self.own_kernel, self.given

    def goal(self) -> Goal | None:
        return Goal(self.options.tol, self.options.gap_tol)

    def solve(self, reporter: FitReporter) -> Sequence[Outcome]:
        with InterruptFlag() as flag:
            self.tabulate()
            return self._solved(reporter, flag)

    def tabulate(self) -> None:
        """Let the table of a user's function be what is solved with, where there is one."""
        self.kernel, self.data = tabulated(self.machine, self.own_kernel, self.given)

    def _solved(self, reporter: FitReporter, flag: InterruptFlag) -> Sequence[Outcome]:
        """What :meth:`solve` gives; ``flag`` hears Ctrl-C from beginning to end."""
        machine, data = self.machine, self.data
        soft = None if reporter.wanted or machine.warm_start else machine._soft_margins(data)
        if soft is not None:
            ends = machine._solving_ends(data)
            outcomes = run_soft_margins(self.options, self.kernel, data.X, *soft, ends, flag)
            if outcomes is not None:
                return outcomes
        problems = machine._problems(data, self.kernel)
        starts = machine._warm_starts(self.given, problems)
        return self._run([Task(*task, start) for task, start in zip(problems, starts, strict=True)], reporter, flag)

    def _run(self, tasks: list[Task], reporter: FitReporter | None, flag: InterruptFlag) -> list[Outcome]:
        ends = self.machine._solving_ends(self.data)
        return run_tasks(self.options, self.kernel, self.data.X, tasks, ends, reporter, flag)

    def prove(self, solutions):
        return certified_outcomes(self.options, self.kernel, self.data.X, solutions, self.goal())

    def write(self, draft, solutions, certificates, reached):
        draft.kernel_ = self.own_kernel
        soft = isinstance(solutions, SoftOutcomes)
        draft.history_ = history_of(solutions.history(certificates)) if soft else history(solutions, certificates)
        draft.fit_status_ = int(not reached)
        draft.shape_fit_ = shape_of(self.given)
        draft._write(self.given, solutions)
        if self.data is not self.given:
            write_rows(draft, self.given)

    def scores(self, draft, solutions):
        return np.column_stack([known_scores(outcome) for outcome in solutions])

    def folds(self, draft, solutions, number):
        return solve_folds(draft, self.data, self.kernel, solutions, number)

    def kept(self, draft, coefs):
        return fold_tables(draft, self.given, coefs)

    def held_out(self, draft, solutions, folds, fits):
        """Scores that came with the gradients, where every task has all rows."""
        whole = all(len(solution.delivered.rows) == len(folds.number) for solution in solutions)
        if whole and all(own.scores is not None for own in fits):
            return super().held_out(draft, solutions, folds, fits)
        return held_out_scores(draft, self.given, folds)


def shape_of(data: Training) -> tuple[int, ...]:
    """The shape of X, which a warm start and a certificate compare; of a sequence, its length."""
    return data.X.shape if hasattr(data.X, "shape") else (data.n,)
