"""What PegasosSVC and SGDSVC have in common: the order of rows, tasks side by side, streams, publishing."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.backends import backend_for, effective_threads, run_parallel, single_threaded_blas
from maxmargin.certificates import Scaling, worst
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._linear_classifier import LinearClassifierMachine
from maxmargin.estimators._linear_model import publish_weights, published_weights
from maxmargin.estimators._machine import Labels, Training, leaves_no_trace, seed_of
from maxmargin.estimators._progress import FitReporter
from maxmargin.estimators._run import warn_unless_reached
from maxmargin.estimators._scaling import fitted_scaling, scaled, warn_of_unequal_columns
from maxmargin.estimators._stream import Chunk, checked_chunk, require_finite_weights
from maxmargin.losses import Hinge
from maxmargin.multiclass import Scheme
from maxmargin.penalties import resolve_penalty
from maxmargin.problems import LinearProblem
from maxmargin.solvers import LinearPoint, LinearSolution, Watch
from maxmargin.solvers.stochastic import Run, Visits, started

#: Rows in which columns of very unequal size are looked for.
LOOKED_AT = 2000


class StochasticMachine(LinearClassifierMachine):
    """Base of the stochastic hinge-loss classifiers; subclasses run the steps of one task."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: LinearClassifierMachine._parameter_constraints[name]
            for name in (
                "fit_intercept", "scale", "time_limit", "certify", "n_jobs", "warm_start", "verbose", "random_state",
                "class_weight", "multiclass", "code_words", "calibration",
            )
        },
        "lam": [Interval(Real, 0.0, None, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "order": [StrOptions({"shuffle", "draw", "given"})],
        "average": ["boolean"],
    }  # fmt: skip

    _no_single = "its steps are those of a two-class problem; use LinearSVC, or 'ovo', 'ovr' or 'code'"
    _folds_start_warm = False  # steps that start at the fit on all rows have seen those that are held out

    _stream: Any = None  # the vectors of every task after the last chunk

    # -- what a machine must say ------------------------------------------------------------------------------

    @abstractmethod
    def _run(self, problem: LinearProblem, run: Run, visits: Visits, watch: Watch, number: int) -> LinearSolution:
        """All steps of task ``number``."""

    @abstractmethod
    def _stream_steps(self, run: Run, visits: Any, number: int) -> None:
        """The steps of one chunk."""

    def _first_step(self, design: Any, weight: FloatArray, gain: float, lam: float) -> float:
        """The number of steps that count as done before the first; ``gain`` is the mean weight of the classes."""
        return 0.0

    def _radius(self, gain: float, lam: float) -> float:
        """The ball that iterates are projected onto, 0 for none; ``gain`` is the mean weight of the rows' classes."""
        return 0.0

    def _goal(self) -> float | None:
        """The relative gap to stop at."""
        return None

    def _begin(self, n_tasks: int, scaling: Scaling | None) -> None:
        """A fit or a stream of so many tasks begins."""

    def _prepare(self, run: Run, visits: Visits, number: int) -> None:
        """Whatever has to be known before the steps of task ``number`` begin."""

    def _publish_more(self) -> None:
        """Attributes of the subclass's own."""

    def _pair(self):
        return Hinge(), resolve_penalty("l2")

    def _cost(self, data):
        return 1.0 / (float(self.lam) * float(np.sum(data.weight)))

    # -- fit --------------------------------------------------------------------------------------------------

    def _fit_tasks(self, data: Training):
        rows = data.rows
        cost = self._cost(data)
        problems, where = self._problems(data, cost)
        scaling = fitted_scaling(rows, data.weight) if self.scale else None
        if not self.scale:
            warn_of_unequal_columns(
                backend_for("cpu").design(rows[:LOOKED_AT]), getattr(self, "feature_names_in_", None)
            )
        starts = self._warm_starts(data, problems, where, scaling)
        reporter = FitReporter(self, data.X, data.y)
        solutions, steps = self._solved(data, rows, scaling, problems, where, starts, reporter)
        require_finite_weights([solution.point.w for solution in solutions])
        warn_unless_reached(solutions)
        certificates = self._certified(rows, problems, where, solutions, scaling)
        self._forget()
        self._publish(data, where, solutions, scaling, cost)
        self.t_, self._stream = steps, None
        self._publish_more()
        if certificates is not None:
            self.certificates_, self.certificate_ = certificates, worst(certificates)
        reporter.close()
        return self

    def _solved(self, data: Training, raw: RowData, scaling: Scaling | None, problems, where, starts, reporter):
        """(solutions, steps made) of all tasks."""
        reporter.begin(len(problems))
        threads, backend = effective_threads(self.n_jobs), backend_for("cpu")
        at_once = 1 if reporter.active else min(threads, len(problems))
        seed = seed_of(self)
        deadline = math.inf if self.time_limit is None else time.perf_counter() + self.time_limit
        solutions: list[Any] = [None] * len(problems)
        with InterruptFlag() as interrupted, single_threaded_blas():
            design = backend.design(scaled(raw, scaling), threads if at_once == 1 else 1)
            rows = self._row_order(backend, raw, data.extra.label)
            gain, total = data.extra.factors[data.extra.label], float(data.weight.sum())

            def run_of(number: int) -> tuple[Run, IntArray, FloatArray]:
                """(run, order of its rows, their weights) of a task."""
                own, start, problem = where[number], starts[number], problems[number]
                part = _Part(design, rows, data.weight, gain) if own is None else _part(design, rows, data, gain, own)
                mean = float(np.average(part.gain, weights=part.weight))
                lam = float(self.lam) * total / float(part.weight.sum())  # C is the same for all tasks
                before = self.t_ if start is not None else self._first_step(part.design, part.weight, mean, lam)
                vectors = started(part.design.d, part.design.n, start, before)
                run = Run(backend, part.design, problem.target * part.gain, lam, int(self.batch_size),
                          self.fit_intercept, vectors, self._radius(mean, lam))  # fmt: skip
                return run, part.order, part.weight

            found = [run_of(number) for number in range(len(problems))]
            runs = [run for run, _, _ in found]
            self._begin(len(problems), scaling)

            def share(numbers: range) -> None:
                for number in numbers:
                    after_round, end = reporter.round_callback(number)
                    watch = Watch(0.0, self._goal(), -1, deadline, interrupted, after_round)
                    _, order, weight = found[number]
                    visits = Visits(backend, order, weight, self.order, seed)
                    self._prepare(runs[number], visits, number)
                    solutions[number] = self._run(problems[number], runs[number], visits, watch, number)
                    end()

            run_parallel([partial(share, range(k, len(problems), at_once)) for k in range(at_once)], at_once)
        return solutions, max(run.steps for run in runs)

    def _row_order(self, backend: Any, rows: RowData, label: IntArray) -> IntArray:
        """Rows in an order that depends on their values alone, so that neither their order nor copies matter."""
        if self.order == "given":
            return np.arange(len(label))
        keys = backend.row_keys(backend.design(rows).rows)
        return np.argsort(keys + label.astype(np.uint64))

    # -- streams ----------------------------------------------------------------------------------------------

    @leaves_no_trace
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Go on with one pass over a chunk of rows, for data that do not fit into memory.

        The rows are visited once, in random order unless ``order='given'``. After an error (other columns than the
        first chunk's, values that are not finite, an unknown class) the model is exactly what it was before the chunk.
        There is no certificate: a proof of optimality needs all rows, and those of earlier chunks are gone.
        ``scale=True`` keeps the first chunk's scaling; the average (``average=True``) is that of all chunks' iterates,
        weighted by t.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows of the chunk, for example from :func:`maxmargin.io.read_chunks`.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like, optional
            All classes that any chunk may have; needed in the first call.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row within the chunk: 2 is the row twice.

        Returns
        -------
        self
        """
        chunk = checked_chunk(self, X, y, classes, sample_weight)
        self._advance_over(chunk)
        return self

    def _advance_over(self, chunk: Chunk) -> None:
        """Steps over a checked chunk, on copies: nothing is published before all is done."""
        first = not hasattr(self, "coef_")
        scaling = self._stream_scaling(chunk, first)
        backend = backend_for("cpu")
        design = backend.design(scaled(chunk.X, scaling))
        scheme = self._new_scheme(len(chunk.classes)) if first else self._scheme
        tasks = scheme.tasks(chunk.label)
        gain = chunk.factors[chunk.label]
        lam, count = float(self.lam), len(tasks)
        mean = float(np.average(gain, weights=chunk.weight))
        before, radius = self._first_step(design, chunk.weight, mean, lam) if first else 0.0, self._radius(mean, lam)
        vectors = self._stream_vectors(design.d, before, count, scaling, first)
        if first:
            self._begin(count, scaling)
        seed, runs = seed_of(self) + getattr(self, "chunks_", 0), []
        for k, task in enumerate(tasks):
            own = design if len(task.rows) == design.n else design.take(task.rows)
            push = task.sign * gain[task.rows]
            run = Run(backend, own, push, lam, int(self.batch_size), self.fit_intercept, vectors[k], radius)
            runs.append(run)
            if own.n == 0:
                continue  # the chunk has no row of either class of this pair
            visits = Visits(backend, np.arange(own.n), chunk.weight[task.rows], self.order, seed)
            if first:
                self._prepare(run, visits, k)
            self._stream_steps(run, visits, k)
        require_finite_weights([run.model()[0] for run in runs])
        self._publish_stream(chunk, scheme, runs, scaling)

    def _stream_scaling(self, chunk: Chunk, first: bool) -> Scaling | None:
        if first:
            return fitted_scaling(chunk.X, chunk.weight) if self.scale else None
        return Scaling(self.center_, self.scale_) if hasattr(self, "scale_") else None

    def _stream_vectors(self, d: int, steps: float, count: int, scaling: Scaling | None, first: bool) -> list[Any]:
        """Where every task is, in arrays of its own: new, of the last chunk, or of the last ``fit``."""
        if first:
            return [started(d, 0, None, steps) for _ in range(count)]
        if self._stream is not None:
            return [vectors.copy() for vectors in self._stream]
        W, intercept = published_weights(self, scaling)
        points = [
            LinearPoint(w, float(b) if self.fit_intercept else 0.0, np.zeros(0))
            for w, b in zip(W, intercept, strict=True)
        ]
        return [started(d, 0, point, self.t_) for point in points]

    def _publish_stream(self, chunk: Chunk, scheme: Scheme, runs: list[Run], scaling: Scaling | None) -> None:
        chunks, seasons = getattr(self, "chunks_", 0) + 1, getattr(self, "n_iter_", 0) + 1
        self._forget()
        models = [run.model() for run in runs]
        publish_weights(self, np.array([w for w, _ in models]), np.array([b for _, b in models]), scaling)
        self._publish_scheme(Labels(chunk.classes, chunk.label, chunk.factors), scheme)
        self.class_weight_ = chunk.factors
        self.t_, self.chunks_, self.n_iter_ = max(run.steps for run in runs), chunks, seasons
        self._stream = [run.vectors for run in runs]
        self._publish_more()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # without an intercept half of all directions are of one class, whatever the weights of the classes
        tags.classifier_tags.poor_score = not self.fit_intercept
        return tags


class _Part(NamedTuple):
    """Rows of one task: in what order to take them, their weights and those of their classes."""

    design: Any
    order: IntArray
    weight: FloatArray
    gain: FloatArray


def _part(design: Any, order: IntArray, data: Training, gain: FloatArray, own: IntArray) -> _Part:
    """Some of the rows, numbered anew, in the order they have among all."""
    place = np.full(len(order), -1)
    place[own] = np.arange(len(own))
    numbers = place[order]
    return _Part(design.take(own), numbers[numbers >= 0], data.weight[own], gain[own])
