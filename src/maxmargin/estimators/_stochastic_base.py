"""What PegasosSVC and SGDSVC have in common: the order of rows, tasks side by side, streams, publishing."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.backends import backend_for, effective_threads, run_parallel, single_threaded_blas
from maxmargin.certificates import Scaling, worst
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._linear_base import LinearClassifierMachine
from maxmargin.estimators._linear_run import seed_of
from maxmargin.estimators._machine import Training, leaves_no_trace
from maxmargin.estimators._progress import FitReporter
from maxmargin.estimators._run import warn_unless_reached
from maxmargin.estimators._scaling import fitted_scaling, scaled, warn_of_unequal_columns
from maxmargin.estimators._stream import Chunk, checked_chunk, require_finite_weights
from maxmargin.losses import Hinge
from maxmargin.multiclass import OneVsRest
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
                "class_weight",
            )
        },
        "lam": [Interval(Real, 0.0, None, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "order": [StrOptions({"shuffle", "draw", "given"})],
        "average": ["boolean"],
    }  # fmt: skip

    _stream: Any = None  # the vectors of every task after the last chunk

    # -- what a machine must say ------------------------------------------------------------------------------

    @abstractmethod
    def _run(self, problem: LinearProblem, run: Run, visits: Visits, watch: Watch, number: int) -> LinearSolution:
        """All steps of task ``number``."""

    @abstractmethod
    def _stream_steps(self, run: Run, visits: Any, number: int) -> None:
        """The steps of one chunk."""

    def _first_step(self, design: Any, weight: FloatArray, gain: float) -> float:
        """The number of steps that count as done before the first; ``gain`` is the mean weight of the classes."""
        return 0.0

    def _radius(self, gain: float) -> float:
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

    def _fit(self, data: Training):
        rows = data.X if len(data.kept) == data.n else data.X[data.kept]
        loss, penalty = self._pair()
        cost = self._cost(data)
        problems = [LinearProblem(loss, penalty, t, cost * c, self.fit_intercept) for t, c in self._targets(data)]
        scaling = fitted_scaling(rows, data.weight) if self.scale else None
        if not self.scale:
            warn_of_unequal_columns(rows[:LOOKED_AT], getattr(self, "feature_names_in_", None))
        starts = self._warm_starts(data, problems, scaling)
        reporter = FitReporter(self, data.X, data.y)
        solutions, steps = self._solved(data, rows, scaling, problems, starts, reporter)
        require_finite_weights([solution.point.w for solution in solutions])
        warn_unless_reached(solutions)
        certificates = self._certified(rows, problems, solutions, scaling)
        self._forget()
        self._publish(data, problems, solutions, scaling, cost)
        self.t_, self._stream = steps, None
        self._publish_more()
        if certificates is not None:
            self.certificates_, self.certificate_ = certificates, worst(certificates)
        reporter.close()
        return self

    def _solved(self, data: Training, raw: RowData, scaling: Scaling | None, problems, starts, reporter):
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
            gain = data.extra.factors[data.extra.label]
            mean = float(np.average(gain, weights=data.weight))
            warm = any(start is not None for start in starts)
            before, radius = self.t_ if warm else self._first_step(design, data.weight, mean), self._radius(mean)
            runs = [
                Run(backend, design, problem.target * gain, float(self.lam), int(self.batch_size), self.fit_intercept,
                    started(design.d, design.n, start, before), radius)
                for problem, start in zip(problems, starts, strict=True)
            ]  # fmt: skip
            self._begin(len(problems), scaling)

            def share(numbers: range) -> None:
                for number in numbers:
                    after_round, end = reporter.round_callback(number)
                    watch = Watch(0.0, self._goal(), -1, deadline, interrupted, after_round)
                    visits = Visits(backend, rows, data.weight, self.order, seed)
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
        tasks = OneVsRest(len(chunk.classes)).tasks(chunk.label)
        gain = chunk.factors[chunk.label]
        mean = float(np.average(gain, weights=chunk.weight))
        before, radius = self._first_step(design, chunk.weight, mean) if first else 0.0, self._radius(mean)
        vectors = self._stream_vectors(design.d, before, len(tasks), scaling, first)
        runs = [
            Run(backend, design, task.sign * gain, float(self.lam), int(self.batch_size), self.fit_intercept,
                vectors[k], radius)
            for k, task in enumerate(tasks)
        ]  # fmt: skip
        seed = seed_of(self) + getattr(self, "chunks_", 0)
        rows = np.arange(design.n)
        if first:
            self._begin(len(tasks), scaling)
        for k, run in enumerate(runs):
            visits = Visits(backend, rows, chunk.weight, self.order, seed)
            if first:
                self._prepare(run, visits, k)
            self._stream_steps(run, visits, k)
        require_finite_weights([run.model()[0] for run in runs])
        self._publish_stream(chunk, runs, scaling)

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
        shift, none = scaling or Scaling.none(d), np.zeros(0)
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
        points = [
            LinearPoint(w * shift.scale, float(b + w @ shift.center) if self.fit_intercept else 0.0, none)
            for w, b in zip(coef, self.intercept_, strict=True)
        ]
        return [started(d, 0, point, self.t_) for point in points]

    def _publish_stream(self, chunk: Chunk, runs: list[Run], scaling: Scaling | None) -> None:
        chunks, seasons = getattr(self, "chunks_", 0) + 1, getattr(self, "n_iter_", 0) + 1
        self._forget()
        shift = scaling or Scaling.none(chunk.X.shape[1])
        models = [run.model() for run in runs]
        self.coef_ = np.array([w for w, _ in models]) / shift.scale
        self.intercept_ = np.array([b for _, b in models]) - self.coef_ @ shift.center
        if scaling is not None:
            self.center_, self.scale_ = scaling
        self.classes_, self.class_weight_ = chunk.classes, chunk.factors
        self.t_, self.chunks_, self.n_iter_ = max(run.steps for run in runs), chunks, seasons
        self._stream = [run.vectors for run in runs]
        self._publish_more()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # without an intercept half of all directions are of one class, whatever the weights of the classes
        tags.classifier_tags.poor_score = not self.fit_intercept
        return tags
