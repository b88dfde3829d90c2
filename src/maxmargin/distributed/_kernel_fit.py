"""The parts of a fit of SVC and SVR on a cluster: tasks in rounds, one after the other, a proof in parts, a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.certificates import Certificate, Definiteness, joined_certificate
from maxmargin.distributed._crew import ATTEMPTS, Apart, Crew
from maxmargin.distributed._kernel_part import Claim, Plan
from maxmargin.distributed._kernel_rounds import FED_ROWS, Outcome, Rounds, Variables, stacked
from maxmargin.distributed._tasks import Lost
from maxmargin.estimators.interface import (
    ClassifierFamily,
    FitOptions,
    Goal,
    Training,
    history_of,
    side_by_side,
    take_turns,
)
from maxmargin.exceptions import ClusterError

#: Kernel values of a proof that are all computed by their NumPy definition; beyond, by the compiled tiles.
CHEAP_VALUES = 2**22
#: Tasks that are under way at a time: while the driver solves one's candidates, the workers update another's scores.
AT_ONCE = 4


class ClusterKernelTasks(ClassifierFamily[Outcome]):
    """Tasks of a kernel machine whose rows are on a cluster."""

    def __init__(self, machine: Any, data: Training, crew: Crew, plan: Plan, starts: list[Variables] | None):
        self.machine, self.data, self.crew, self.plan = machine, data, crew, plan
        self.options, self.starts = FitOptions.of(machine), starts
        self.vault = machine._new_vault(data, crew, plan)

    def goal(self):
        return Goal(self.options.tol, self.options.gap_tol)

    def solve(self, reporter):
        tasks = len(self.data.extra.scheme.names(self.data.extra.classes)) if self.plan.labels is not None else 1
        reporter.begin(tasks)
        ends = self.machine._solving_ends(self.data)

        def one(number: int, turn: Any) -> Outcome:
            beta = Variables([{} for _ in range(len(self.crew))]) if self.starts is None else self.starts[number]
            options = self.options
            return Rounds(
                self.crew, self.plan, number, options.backend, options.threads, options.memory, options.watch(turn),
                beta, self.vault,
            ).solve()  # fmt: skip

        try:
            solved = take_turns(one, list(range(tasks)), side_by_side(reporter, tasks, AT_ONCE), ends, reporter)
        except ClusterError:
            if self.vault is not None:
                self.vault.save(self.machine.checkpoint)
            raise
        return [solved[number] for number in range(tasks)]

    # -- the proof ----------------------------------------------------------------------------------------------

    def prove(self, solutions: Sequence[Outcome]) -> list[Certificate]:
        support = union_of_support(self.crew, self.plan, solutions)
        n, kernel = self.data.n, self.plan.kernel
        compiled = self.options.certify != "full" and n * support.count > CHEAP_VALUES
        definite = Definiteness(
            kernel.is_psd, "" if kernel.is_psd else f"not known to be PSD ({n} rows are not checked)"
        )
        parts = self._judged(solutions, support, compiled)
        method = "bounded" if compiled else "recomputed"
        return [
            joined_certificate([own[k] for own in parts], solutions[k].balance, definite, method)
            for k in range(len(solutions))
        ]

    def _judged(self, solutions: Sequence[Outcome], support: Support, compiled: bool) -> list[Any]:
        """Every partition's part of every certificate."""
        verdicts: dict[int, Any] = {}
        for _ in range(ATTEMPTS):
            left = [p for p in range(len(self.crew)) if isinstance(verdicts.get(p, Lost()), Lost)]
            if not left:
                return [verdicts[p] for p in range(len(self.crew))]
            self.crew.call("judge", self.plan, compiled, only=left)
            fed = 0
            for vectors, coef in support.parts(self.crew, self.plan, raw=False):
                self.crew.call("judge_feed", self.plan, fed, vectors, coef, only=left)
                fed += 1
            claims = Apart({p: self._claim(solutions, p) for p in left})
            verdicts.update(zip(left, self.crew.call("verdict", self.plan, fed, claims, only=left), strict=True))
        raise ClusterError(f"a partition lost its state {ATTEMPTS} times while the model was judged")

    def _claim(self, solutions: Sequence[Outcome], p: int) -> Claim:
        own = [solution.beta[p] for solution in solutions]
        return Claim([o[0] for o in own], [o[1] for o in own], [s.offsets.intercept for s in solutions])

    # -- the model ----------------------------------------------------------------------------------------------

    def write(self, draft, solutions, certificates, reached):
        support = union_of_support(self.crew, self.plan, solutions)
        rows, coefs = [], []
        for vectors, coef in support.parts(self.crew, self.plan, raw=True):
            rows.append(vectors)
            coefs.append(coef)
        d, kind = self.data.X.shape[1], self.data.X.dtype
        X = stacked(rows) if rows else np.empty((0, d), dtype=kind)
        if self.data.X.sparse and not sp.issparse(X):
            X = sp.csr_array(X)
        coef = np.concatenate(coefs) if coefs else np.zeros((0, len(solutions)))
        draft.fit_status_ = int(not reached)
        draft.history_ = history_of([solution.history for solution in solutions])
        draft.traffic_ = self.crew.traffic.copy()
        draft.rounds_ = np.array([solution.rounds for solution in solutions])
        intercept = np.array([solution.offsets.intercept for solution in solutions])
        n_iter = np.array([solution.n_iter for solution in solutions])
        numbers, y = support.numbers(self.crew), support.targets(self.crew)
        publish(draft, self.data, self.plan, X, y, numbers, coef, intercept, n_iter)

    # -- probabilities --------------------------------------------------------------------------------------------

    def scores(self, draft, solutions):
        raise AssertionError("calibrations are refused before the fit")

    def folds(self, draft, solutions, number):
        raise AssertionError("calibrations are refused before the fit")


def publish(
    draft: Any,
    data: Training,
    plan: Plan,
    X: RowData,
    y: Any,
    numbers: IntArray,
    coef: FloatArray,
    intercept: FloatArray,
    n_iter: IntArray,
) -> None:
    """The fitted attributes of the machine, by its own means, from its support vectors (as they came) alone."""
    m = len(coef)
    few = Training(X, y, np.ones(m), np.arange(m), m, scaling=plan.scaling, unscaled=X)
    if plan.labels is not None:
        labels = replace(plan.labels, label=np.searchsorted(plan.labels.classes, y))
        tasks = labels.scheme.end_to_end(labels.label)
        number = np.repeat(np.arange(len(intercept)), np.diff(tasks.pointers))
        table = labels.scheme.publish(tasks, coef[tasks.rows, number], m)
        draft._write_table(few._replace(extra=labels), table, intercept)
        draft.n_iter_ = n_iter
    else:
        draft.n_support_, draft.intercept_ = np.array([m], dtype=np.int32), intercept
        draft.n_iter_ = int(n_iter[0])
        draft._write_support(few, np.arange(m), np.ascontiguousarray(coef.T))
    draft.support_ = numbers[draft.support_].astype(np.int32 if data.n < 2**31 else np.int64)
    draft.kernel_, draft.shape_fit_ = plan.kernel, data.X.shape


class Support:
    """The rows that are support vectors of any task, partition by partition."""

    def __init__(self, rows: list[IntArray], coef: list[FloatArray]):
        self.rows, self.coef = rows, coef  # numbers in the partition; (rows, tasks)

    @property
    def count(self) -> int:
        return sum(len(own) for own in self.rows)

    def parts(self, crew: Crew, plan: Plan, raw: bool) -> Iterator[tuple[RowData, FloatArray]]:
        """(vectors, coefficients), so many at a time."""
        for p, own in enumerate(self.rows):
            for first in range(0, len(own), FED_ROWS):
                part = slice(first, first + FED_ROWS)
                (X,) = crew.call("rows", plan, None, own[part], raw, only=[p])
                yield X, self.coef[p][part]

    def targets(self, crew: Crew) -> Any:
        return np.concatenate(crew.call("targets", Apart(dict(enumerate(self.rows)))))

    def numbers(self, crew: Crew) -> IntArray:
        """Their numbers among all rows."""
        sizes = crew.call("size")
        starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        return np.concatenate([start + own for start, own in zip(starts, self.rows, strict=True)])


def union_of_support(crew: Crew, plan: Plan, solutions: Sequence[Outcome]) -> Support:
    """The support vectors of all tasks."""
    used = crew.call("numbers", plan, Apart({p: [s.beta[p][0] for s in solutions] for p in range(len(crew))}))
    rows: list[IntArray] = []
    coefs: list[FloatArray] = []
    for p, numbers in enumerate(used):
        own = np.unique(np.concatenate(numbers)) if numbers else np.zeros(0, dtype=np.intp)
        coef = np.zeros((len(own), len(solutions)))
        for k, solution in enumerate(solutions):
            coef[np.searchsorted(own, numbers[k]), k] = solution.beta[p][1]
        rows.append(own)
        coefs.append(coef)
    return Support(rows, coefs)
