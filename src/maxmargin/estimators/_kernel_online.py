"""What KernelPegasosSVC and KernelPerceptron share: tasks, passes over the rows, streams, a budget, publishing."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets

from maxmargin._rows import count, dense, take
from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin._validation import Scaling, cache_bytes, kept_rows, scaled, unscaled
from maxmargin.backends import backend_for, effective_threads, single_threaded_blas
from maxmargin.certificates import Certificate
from maxmargin.delivered import Basis
from maxmargin.estimators._fit import FoldFit, Passes, RefittedFamily, fit
from maxmargin.estimators._kernel_model import KernelModel
from maxmargin.estimators._machine import Labels, Training, check_target, labels_of, seed_of
from maxmargin.estimators._many_classes import ManyClasses
from maxmargin.estimators._progress import FitReporter
from maxmargin.estimators._stream import Chunk, checked_chunk, require_finite_weights
from maxmargin.estimators._turns import Turn, side_by_side, take_turns
from maxmargin.kernels import Kernel, require_consistent
from maxmargin.multiclass import BinaryTask, Scheme
from maxmargin.solvers import Record
from maxmargin.solvers.expansion import KINDS, Expansion, Options, Source, Start, check_budget, new_run, pooled, stacked
from maxmargin.solvers.stochastic import AVERAGED, Progress, Visits

LINE = [("task", int), ("iteration", int), ("seconds", float), ("violations", int), ("vectors", int)]


class OnlineTask(NamedTuple):
    """One two-class task: its rows in the order of their first visit, and what steps want to know of them."""

    rows: IntArray
    weight: FloatArray
    push: FloatArray  # of all rows: sign times the weight of the class, 0 for rows of no part in the task
    lam: float
    before: float  # steps that count as done before the first


class KernelOnline(ManyClasses, ClassifierMixin, KernelModel):
    """Base of the classifiers that learn a kernel expansion from one row, or a few, at a time."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: KernelModel._parameter_constraints[name] for name in
           ("kernel", "degree", "gamma", "coef0", "cache_size", "n_jobs", "scale")},
        **ManyClasses._parameter_constraints,
        "budget": [Interval(Integral, 1, None, closed="left"), None],
        "maintenance": [StrOptions(set(KINDS))],
        "fit_intercept": ["boolean"],
        "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }  # fmt: skip

    _singles = ()
    _no_single = "its steps are those of a two-class problem; use SVC, or 'ovo', 'ovr' or 'code'"
    _stream: tuple[FloatArray, FloatArray]  # coefficients (tasks, vectors, 2) and states (tasks, 5) to go on from
    _reached: Progress | None = None  # the lam that they belong to
    device = "auto"

    # -- what a machine must say ------------------------------------------------------------------------------

    @abstractmethod
    def _options(self) -> Options:
        """How steps are made, lam being that of all rows."""

    @abstractmethod
    def _passes(self, length: int) -> int:
        """Passes of so many visits that a fit makes at most."""

    @property
    @abstractmethod
    def _visiting(self) -> str:
        """'shuffle', 'draw' or 'given'."""

    def _first_step(self, diagonal: FloatArray, weight: FloatArray, gain: float, lam: float) -> float:
        """The number of steps that count as done before the first; ``gain`` is the mean weight of the classes."""
        return 0.0

    def _is_done(self, violations: int) -> bool:
        """Whether a pass with so many violations is the last."""
        return False

    def _by_value(self) -> bool:
        """Whether rows are put in an order that depends on their values alone before they are shuffled."""
        return self._visiting != "given"

    def _task_rows(self, task: BinaryTask, order: IntArray) -> IntArray:
        """The rows of a task, in the order of all."""
        member = np.zeros(len(order), dtype=bool)
        member[task.rows] = True
        return order[member[order]]

    # -- fit --------------------------------------------------------------------------------------------------

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> Training:
        began = time.perf_counter()
        X = self._checked_rows(X)
        n = count(X)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = check_target(self, y, n)
        if y.dtype.kind not in "biu":  # whole numbers are classes whatever they are
            check_classification_targets(y)
        weight, kept = kept_rows(sample_weight, X, n)
        data = Training(X, y, weight[kept], kept, n, began=began)
        labels = labels_of(data, getattr(self, "class_weight", None))
        self._check_gram(X)
        counts = labels.factors[labels.label] > 0  # rows of a class without weight are left out like others
        if not counts.any():
            raise ValueError(f"class_weight={self.class_weight!r} leaves no row any weight; give one class more than 0")
        labels = replace(labels, label=labels.label[counts], scheme=self._new_scheme(len(labels.classes)))
        return self._scaled(data._replace(weight=data.weight[counts], kept=data.kept[counts], extra=labels))

    def _fit(self, data: Training) -> Any:
        return fit(self, data, OnlineTasks(self, data))

    def _write_fit(self, data: Training, tasks: list[BinaryTask], lines: list[Any]) -> None:
        """Attributes of the subclass's own."""

    def _proof(self, draft: Any, data: Training) -> list[Certificate]:
        """Certificates of a model that was written to a draft, of a machine that has any."""
        return []

    def _kernel_for(self, data: Training) -> Kernel:
        kernel = self._resolve_kernel(data)
        require_consistent(kernel, data.X)
        if self.budget is not None:
            check_budget(kernel, data.X, int(self.budget), self.maintenance, self._cache_bytes)
        return kernel

    @property
    def _cache_bytes(self) -> int:
        return cache_bytes(self.cache_size)

    def _row_order(self, X: RowData, kept: IntArray, n: int) -> tuple[IntArray, IntArray]:
        """(an order of the rows that count, for every row the first one that is equal to it)."""
        if not hasattr(X, "shape") or self._precomputed or X.dtype.kind not in "fiu":
            return np.arange(len(kept)), np.arange(n)
        backend: Any = backend_for("cpu")
        keys = backend.row_keys(backend.design(X).X)
        _, first, place = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(keys[kept], kind="stable") if self._by_value() else np.arange(len(kept))
        return order, first[place]

    def _jobs(self, kernel, X, tasks, order, numbers, weight, gain, n, whole: bool) -> list[OnlineTask]:
        """What to do for every task; ``numbers`` are the rows that count. ``whole``: C is the same for all tasks."""
        lam, jobs = self._options().lam, []
        diagonal, total = kernel.diag(X), float(weight.sum())
        for task in tasks:
            push = np.zeros(n)
            push[numbers[task.rows]] = task.sign * gain[task.rows]
            own = self._task_rows(task, order)
            part = own if len(own) else order
            own_lam = lam * (total / float(weight[part].sum())) if whole else lam
            mean = float(np.average(gain[part], weights=weight[part]))
            before = self._first_step(diagonal[numbers[part]], weight[part], mean, own_lam)
            jobs.append(OnlineTask(numbers[own], weight[own], push, own_lam, before))
        return jobs

    def _trained(
        self, source: Source, jobs: list[OnlineTask], start, same: IntArray, data: Training, reporter: FitReporter
    ):
        """(expansions, [(pass, seconds, violations, vectors)]) of all tasks."""
        reporter.begin(len(jobs))
        at_once = side_by_side(reporter, len(jobs), effective_threads(self.n_jobs))
        began, options = time.perf_counter(), self._options()
        with single_threaded_blas():
            source.keep_values(self._cache_bytes if options.budget is None else 0)

        def solve(number: int, turn: Turn) -> tuple[Any, list[Any]]:
            job = jobs[number]
            run = new_run(source, options._replace(lam=job.lam), job.push, same, start[number])
            lines = self._walk(run, job, began, turn)
            return run.expansion(), lines

        solved = take_turns(solve, list(range(len(jobs))), at_once, self._solving_ends(data), reporter)
        return tuple(zip(*(solved[number] for number in range(len(jobs))), strict=True))

    def _walk(self, run: Any, job: OnlineTask, began: float, turn: Turn) -> list[Any]:
        """All passes of a task."""
        visits = self._visits(job, seed_of(self))
        passes, lines = self._passes(visits.length), []
        begin = passes - max(1, int(AVERAGED * passes))
        for k in range(1, passes + 1):
            if k == begin + 1:
                run.forget_average()
            violations = run.advance(job.rows[visits.take(1)[0]], run.options.average and k > begin, turn.is_over)
            seconds = time.perf_counter() - began
            lines.append((k, seconds, violations, run.vectors))
            record = Record(k, seconds, float(violations), 0.0, float(violations))
            asked = turn.after_round is not None and turn.after_round(record)
            if asked or self._is_done(violations) or turn.is_over():
                break
        return lines

    def _visits(self, job: OnlineTask, seed: int) -> Visits:
        return Visits(backend_for("cpu"), np.arange(len(job.rows)), job.weight, self._visiting, seed)

    def _write_expansions(
        self, data: Training, expansions: list[Expansion], offset: int, labels: Labels, scheme: Scheme
    ) -> None:
        """Vectors of all tasks, each once, a line of coefficients per task, and what a stream goes on from."""
        rows, table, merged = stacked(expansions)
        coef = np.array([line @ own.factors for line, own in zip(table, expansions, strict=True)])
        require_finite_weights(coef)
        vectors = self._basis(data, rows[: len(rows) - len(merged)]).vectors
        if len(merged) or (self.budget is not None and self.maintenance == "merge"):
            vectors = dense(vectors)
            merged = unscaled(merged.reshape(-1, vectors.shape[1]), data.scaling)
            vectors = np.concatenate([vectors, merged.astype(vectors.dtype, copy=False)])
        self._write_scaling(data)
        self.support_ = np.where(rows >= offset, rows - offset, -1).astype(np.int32)
        self.support_[len(rows) - len(merged) :] = -1
        self.support_vectors_, self.dual_coef_ = vectors, coef
        self.intercept_ = np.array([own.intercept for own in expansions])
        self.n_vectors_ = np.array([len(own.which) for own in expansions])
        self._write_scheme(labels, scheme)
        self.class_weight_ = labels.factors
        self._stream = (table, np.array([own.state for own in expansions]))
        self._reached = Progress("", self._options().lam, self._stream[1][:, 0].copy(), 0)
        self.t_ = int(self._reached.steps.max())

    # -- streams ----------------------------------------------------------------------------------------------

    def _can_stream(self) -> bool:
        if self._precomputed:
            raise AttributeError(
                "partial_fit needs rows, and kernel='precomputed' has kernel values of one fixed set of rows only; "
                "use fit, or a kernel of rows"
            )
        return True

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any = None) -> list[int]:
        """One pass over a chunk, on top of the vectors there are; the violations of every task."""
        first, number = not hasattr(self, "classes_"), getattr(self, "chunks_", 0)
        chunk = checked_chunk(self, X, y, classes, sample_weight)
        scheme = self._new_scheme(len(chunk.classes)) if first else self._scheme
        n, known = chunk.X.shape[0], 0 if first else len(self.support_)
        data = self._pool(chunk, first)
        kernel, pool = self._kernel_for(data) if first else self.kernel_, data.X
        tasks, numbers = scheme.tasks(chunk.label), known + np.arange(n)
        order, same = self._row_order(pool, numbers, known + n)
        gain = chunk.factors[chunk.label]
        jobs = self._jobs(kernel, pool, tasks, order, numbers, chunk.weight, gain, known + n, whole=False)
        start = self._stream_starts(jobs, first)
        source, options, expansions, made = Source(kernel, pool, False), self._options(), [], []
        with single_threaded_blas():
            for job, begin in zip(jobs, start, strict=True):
                run = new_run(source, options, job.push, same, begin)
                visits = job.rows[self._visits(job, seed_of(self) + number).take(1)[0]] if len(job.rows) else job.rows
                made.append(run.advance(visits, options.average, lambda: False))
                expansions.append(run.expansion())
        passes = getattr(self, "n_iter_", 0) + 1
        self._forget()
        self.kernel_, self.shape_fit_, self.chunks_, self.n_iter_ = (
            kernel,
            (known + n, pool.shape[1]),
            number + 1,
            passes,
        )
        self._write_expansions(data, expansions, known + n, Labels(chunk.classes, chunk.label, chunk.factors), scheme)
        return made

    def _pool(self, chunk: Chunk, first: bool) -> Training:
        """The vectors that were kept and the rows of a chunk, in this order; scaled as the first chunk was."""
        n = chunk.X.shape[0]
        if first:
            return self._scaled(Training(chunk.X, None, chunk.weight, np.arange(n), n))
        given, scaling = pooled(self.support_vectors_, chunk.X), Scaling.of(self)
        data = Training(given, None, chunk.weight, len(self.support_) + np.arange(n), given.shape[0])
        return data if scaling is None else data._replace(X=scaled(given, scaling), scaling=scaling, unscaled=given)

    def _stream_starts(self, jobs: list[OnlineTask], first: bool) -> list[Start]:
        """Where every task goes on: nowhere yet, where the last chunk left it, or at the model that was published.

        Counts of violations mean something for the lam they were made with only; at another one the steps are counted
        anew, as their number says how much the past weighs.
        """
        if first:
            return [Start.nowhere(job.before) for job in jobs]
        lam, state = self._options().lam, self._stream[1]
        same = self._reached is not None and self._reached.lam == lam
        if same and hasattr(self, "chunks_"):
            return [Start.of(coef, own.copy()) for coef, own in zip(*self._stream, strict=True)]
        steps = state[:, 0] if same else np.array([job.before for job in jobs])
        models = zip(self.dual_coef_, self.intercept_, steps, strict=True)
        return [Start.at(coef, float(b), lam, float(before)) for coef, b, before in models]

    # -- folds and prediction ---------------------------------------------------------------------------------

    def _as_fold(self, rows):
        """This model as that of a fold, and its scores of the rows held out."""
        coef = Basis(self.support_, self.support_vectors_), np.ascontiguousarray(self.dual_coef_.T)
        return FoldFit(coef, self.intercept_, self._task_scores(rows))

    def _task_scores(self, X):
        return self._scores(X, np.ascontiguousarray(self.dual_coef_.T)) + self.intercept_

    def _fold_scores(self, X):
        return [
            self._scores(X, coef, basis) + b
            for (basis, coef), b in zip(self.folds_.coef, self.folds_.intercept, strict=True)
        ]


class OnlineTasks(RefittedFamily[Passes]):
    """Tasks of a kernel machine that learns online."""

    def __init__(self, machine: KernelOnline, data: Training):
        self.machine, self.data, self.whole, self.kernel = machine, data, data, machine._kernel_for(data)
        self.tasks = data.extra.scheme.tasks(data.extra.label)

    def goal(self):
        return None

    def solve(self, reporter):
        machine, data, labels = self.machine, self.data, self.data.extra
        gain = labels.factors[labels.label]
        order, same = machine._row_order(data.X, data.kept, data.n)
        jobs = machine._jobs(self.kernel, data.X, self.tasks, order, data.kept, data.weight, gain, data.n, whole=True)
        start = [Start.nowhere(job.before) for job in jobs]
        source = Source(self.kernel, data.X, machine._precomputed)
        same = np.arange(data.n) if machine.budget is None else same  # without a budget every row has a dual variable
        expansions, lines = machine._trained(source, jobs, start, same, data, reporter)
        return [Passes(*task) for task in zip(expansions, lines, strict=True)]

    def prove(self, solutions):
        draft = self.machine._draft()
        self.write(draft, solutions, None, True)
        return self.machine._proof(draft, self.data)

    def write(self, draft, solutions, certificates, reached):
        data, lines = self.data, [solution.lines for solution in solutions]
        draft.kernel_, draft.shape_fit_ = self.kernel, getattr(data.X, "shape", (data.n,))
        draft.history_ = np.array([(k, *line) for k, task in enumerate(lines) for line in task], dtype=LINE)
        draft.n_iter_ = max(len(task) for task in lines)
        draft._write_expansions(data, [solution.model for solution in solutions], 0, data.extra, data.extra.scheme)
        draft._write_fit(data, self.tasks, lines)

    def scores(self, draft, solutions):
        return draft._for_fold()._task_scores(take(self.data.as_given, self.data.kept))

    def kept(self, draft, coefs):
        return coefs
