"""What KernelPegasosSVC and KernelPerceptron share: tasks, passes over the rows, streams, a budget, publishing."""

from __future__ import annotations

import copy
import math
import time
from abc import abstractmethod
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets

from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin._validation import cache_bytes, kept_rows
from maxmargin.backends import backend_for, effective_threads, run_parallel, single_threaded_blas
from maxmargin.certificates import take
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._kernel_model import KernelModel, Support
from maxmargin.estimators._machine import Labels, Training, check_target, labels_of, seed_of
from maxmargin.estimators._many_classes import Folds, ManyClasses
from maxmargin.estimators._progress import FitReporter
from maxmargin.estimators._stream import checked_chunk, require_finite_weights
from maxmargin.kernels import Kernel
from maxmargin.multiclass import BinaryTask, Scheme
from maxmargin.solvers import Record
from maxmargin.solvers.expansion import KINDS, Options, Part, Source, Start, check_budget, new_run, pooled, stacked
from maxmargin.solvers.stochastic import AVERAGED, Visits

LINE = [("task", int), ("iteration", int), ("seconds", float), ("violations", int), ("vectors", int)]


class Job(NamedTuple):
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
           ("kernel", "degree", "gamma", "coef0", "cache_size", "n_jobs")},
        **ManyClasses._parameter_constraints,
        "budget": [Interval(Integral, 1, None, closed="left"), None],
        "maintenance": [StrOptions(set(KINDS))],
        "fit_intercept": ["boolean"],
        "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }  # fmt: skip

    _no_single = "its steps are those of a two-class problem; use SVC, or 'ovo', 'ovr' or 'code'"
    _stream: tuple[FloatArray, FloatArray]  # coefficients (tasks, vectors, 2) and states (tasks, 5) to go on from
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
        n = X.shape[0] if hasattr(X, "shape") else len(X)
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
        labels = labels._replace(label=labels.label[counts], scheme=self._new_scheme(len(labels.classes)))
        return data._replace(weight=data.weight[counts], kept=data.kept[counts], extra=labels)

    def _fit(self, data: Training) -> Any:
        self._fit_tasks(data)
        if self._multiclass == "code":
            self._publish_fired(self._nameless()._task_scores(take(data.X, data.kept)))
        if self._wanted_calibration is not None:
            self._calibrate(data)
        return self

    def _fit_tasks(self, data: Training) -> Any:
        labels, kernel = data.extra, self._kernel_for(data)
        tasks = labels.scheme.tasks(labels.label)
        gain = labels.factors[labels.label]
        order, same = self._row_order(data.X, data.kept, data.n)
        jobs = self._jobs(kernel, data.X, tasks, order, data.kept, data.weight, gain, data.n, whole=True)
        reporter = FitReporter(self, data.X, data.y)
        start = [Start.nowhere(job.before) for job in jobs]
        source = Source(kernel, data.X, self._precomputed)
        same = np.arange(data.n) if self.budget is None else same  # without a budget every row has a dual variable
        parts, lines = self._trained(source, jobs, start, same, reporter)
        self._forget()
        self.kernel_, self.shape_fit_ = kernel, getattr(data.X, "shape", (data.n,))
        self.history_ = np.array([(k, *line) for k, task in enumerate(lines) for line in task], dtype=LINE)
        self.n_iter_ = max(len(task) for task in lines)
        self._publish_parts(data.X, parts, 0, labels, labels.scheme)
        self._publish_fit(data, tasks, lines)
        reporter.close()
        return self

    def _publish_fit(self, data: Training, tasks: list[BinaryTask], lines: list[Any]) -> None:
        """Attributes of the subclass's own."""

    def _kernel_for(self, data: Training) -> Kernel:
        kernel = self._resolve_kernel(data)
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
        keys = backend.row_keys(backend.design(X).rows)
        _, first, place = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(keys[kept], kind="stable") if self._by_value() else np.arange(len(kept))
        return order, first[place]

    def _jobs(self, kernel, X, tasks, order, numbers, weight, gain, n, whole: bool) -> list[Job]:
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
            jobs.append(Job(numbers[own], weight[own], push, own_lam, before))
        return jobs

    def _trained(self, source: Source, jobs: list[Job], start, same: IntArray, reporter: FitReporter):
        """(parts, [(pass, seconds, violations, vectors)]) of all tasks."""
        reporter.begin(len(jobs))
        at_once = 1 if reporter.active else min(effective_threads(self.n_jobs), len(jobs))
        began, options = time.perf_counter(), self._options()
        deadline = math.inf if self.time_limit is None else began + self.time_limit
        parts: list[Any] = [None] * len(jobs)
        lines: list[list[tuple[int, float, int, int]]] = [[] for _ in jobs]
        with InterruptFlag() as interrupted, single_threaded_blas():
            source.keep_values(self._cache_bytes if options.budget is None else 0)

            def stop() -> bool:
                return interrupted() or time.perf_counter() >= deadline

            def share(numbers: range) -> None:
                for number in numbers:
                    after_round, end = reporter.round_callback(number)
                    job = jobs[number]
                    run = new_run(source, options._replace(lam=job.lam), job.push, same, start[number])
                    lines[number] = self._walk(run, job, began, stop, after_round)
                    parts[number] = run.part()
                    end()

            run_parallel([partial(share, range(k, len(jobs), at_once)) for k in range(at_once)], at_once)
        return parts, lines

    def _walk(self, run: Any, job: Job, began: float, stop: Any, after_round: Any) -> list[Any]:
        """All passes of a task."""
        visits = self._visits(job, seed_of(self))
        passes, lines = self._passes(visits.length), []
        begin = passes - max(1, int(AVERAGED * passes))
        for k in range(1, passes + 1):
            if k == begin + 1:
                run.forget_average()
            violations = run.advance(job.rows[visits.take(1)[0]], run.options.average and k > begin, stop)
            seconds = time.perf_counter() - began
            lines.append((k, seconds, violations, run.vectors))
            record = Record(k, seconds, float(violations), 0.0, float(violations))
            asked = after_round is not None and after_round(record)
            if asked or self._is_done(violations) or stop():
                break
        return lines

    def _visits(self, job: Job, seed: int) -> Visits:
        return Visits(backend_for("cpu"), np.arange(len(job.rows)), job.weight, self._visiting, seed)

    def _publish_parts(self, X: RowData, parts: list[Part], offset: int, labels: Labels, scheme: Scheme) -> None:
        """Vectors of all tasks, each once, a line of coefficients per task, and what a stream goes on from."""
        rows, table, merged = stacked(parts)
        coef = np.array([line @ part.factors for line, part in zip(table, parts, strict=True)])
        require_finite_weights(coef)
        support = self._support(Training(X, None, np.zeros(0), rows, 0), rows[: len(rows) - len(merged)])
        vectors = support.vectors
        if len(merged) or (self.budget is not None and self.maintenance == "merge"):
            vectors = vectors.toarray() if hasattr(vectors, "toarray") else vectors
            vectors = np.concatenate([vectors, merged.reshape(-1, vectors.shape[1])])
        self.support_ = np.where(rows >= offset, rows - offset, -1).astype(np.int32)
        self.support_[len(rows) - len(merged) :] = -1
        self.support_vectors_, self.dual_coef_ = vectors, coef
        self.intercept_ = np.array([part.intercept for part in parts])
        self.n_vectors_ = np.array([len(part.which) for part in parts])
        self._publish_scheme(labels, scheme)
        self.class_weight_ = labels.factors
        self._stream = (table, np.array([part.state for part in parts]))
        self.t_ = int(self._stream[1][:, 0].max())

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
        n = chunk.X.shape[0]
        kernel = self.kernel_ if not first else self._kernel_for(Training(chunk.X, None, chunk.weight, np.arange(n), n))
        known = 0 if first else len(self.support_)
        pool = chunk.X if first else pooled(self.support_vectors_, chunk.X)
        tasks, numbers = scheme.tasks(chunk.label), known + np.arange(n)
        order, same = self._row_order(pool, numbers, known + n)
        gain = chunk.factors[chunk.label]
        jobs = self._jobs(kernel, pool, tasks, order, numbers, chunk.weight, gain, known + n, whole=False)
        start = [Start.nowhere(job.before) for job in jobs]
        if not first:
            start = [Start.of(coef, state.copy()) for coef, state in zip(*self._stream, strict=True)]
        source, options, parts, made = Source(kernel, pool, False), self._options(), [], []
        with single_threaded_blas():
            for job, begin in zip(jobs, start, strict=True):
                run = new_run(source, options, job.push, same, begin)
                visits = job.rows[self._visits(job, seed_of(self) + number).take(1)[0]] if len(job.rows) else job.rows
                made.append(run.advance(visits, options.average, lambda: False))
                parts.append(run.part())
        passes = getattr(self, "n_iter_", 0) + 1
        self._forget()
        self.kernel_, self.shape_fit_, self.chunks_, self.n_iter_ = (
            kernel,
            (known + n, pool.shape[1]),
            number + 1,
            passes,
        )
        self._publish_parts(pool, parts, known + n, Labels(chunk.classes, chunk.label, chunk.factors), scheme)
        return made

    # -- folds and prediction ---------------------------------------------------------------------------------

    def _calibrate(self, data: Training) -> None:
        """Fit the model without the rows of each fold in turn, and calibrate on the scores of these."""
        labels, number = data.extra, self._new_folds(data)
        scores = self._nameless()._task_scores(take(data.X, data.kept))
        coefs, intercepts = [], []
        for fold in range(int(number.max(initial=-1)) + 1):
            train, held = number != fold, np.flatnonzero(number == fold)
            model = self._nameless()
            model.calibration, model.verbose, model.time_limit = None, 0, data.time_left(self.time_limit)
            model.certify = model.bound = False
            part = labels._replace(label=labels.label[train])
            model._fit_tasks(data._replace(kept=data.kept[train], weight=data.weight[train], extra=part))
            coefs.append((Support(model.support_, model.support_vectors_), np.ascontiguousarray(model.dual_coef_.T)))
            intercepts.append(model.intercept_)
            scores[held] = model._task_scores(take(data.X, data.kept[held]))
        folds = Folds(number, coefs, np.array(intercepts).reshape(len(coefs), -1))
        self._publish_calibration(data, folds, scores)

    def _nameless(self) -> Any:
        """A copy that takes rows without the names of their columns, and reports to nobody."""
        model = copy.copy(self)
        for name in [k for k in vars(model) if k.startswith(("_skl_", "_callback", "_parent_", "feature_names_in_"))]:
            del model.__dict__[name]
        return model

    def _task_scores(self, X):
        return self._scores(X, np.ascontiguousarray(self.dual_coef_.T)) + self.intercept_

    def _fold_scores(self, X):
        return [
            self._scores(X, coef, support) + b
            for (support, coef), b in zip(self.folds_.coef, self.folds_.intercept, strict=True)
        ]
