"""What PegasosSVC and SGDSVC have in common: the order of rows, tasks side by side, streams, publishing."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.backends import backend_for, effective_threads, single_threaded_blas
from maxmargin.certificates import Scaling
from maxmargin.estimators._estimate import estimated_certificate
from maxmargin.estimators._fit import Family
from maxmargin.estimators._linear_base import LinearTasks
from maxmargin.estimators._linear_classifier import LinearClassifierMachine
from maxmargin.estimators._linear_model import published_weights, write_weights
from maxmargin.estimators._machine import Labels, Training, leaves_no_trace, seed_of
from maxmargin.estimators._progress import FitReporter
from maxmargin.estimators._proof import Goal
from maxmargin.estimators._scaling import fitted_scaling, scaled, warn_of_unequal_columns
from maxmargin.estimators._stream import Chunk, checked_chunk, require_finite_weights
from maxmargin.estimators._turns import Turn, side_by_side, take_turns
from maxmargin.losses import Hinge
from maxmargin.multiclass import Scheme
from maxmargin.penalties import resolve_penalty
from maxmargin.problems import LinearProblem
from maxmargin.solvers import LinearPoint, LinearSolution, Watch
from maxmargin.solvers.stochastic import Progress, Run, Visits, best_multiple, started

#: Rows in which columns of very unequal size are looked for.
LOOKED_AT = 2000


class StochasticMachine(LinearClassifierMachine):
    """Base of the stochastic hinge-loss classifiers; subclasses run the steps of one task."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: LinearClassifierMachine._parameter_constraints[name]
            for name in (
                "fit_intercept", "scale", "time_limit", "n_jobs", "warm_start", "verbose", "random_state",
                "class_weight", "multiclass", "code_words", "calibration",
            )
        },
        "certify": ["boolean", StrOptions({"sample"})],
        "lam": [Interval(Real, 0.0, None, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "order": [StrOptions({"shuffle", "draw", "given"})],
        "average": ["boolean"],
    }  # fmt: skip

    _singles = ()
    _no_single = "its steps are those of a two-class problem; use LinearSVC, or 'ovo', 'ovr' or 'code'"
    _forgets_start = False  # steps that start at the fit on all rows have seen those that are held out

    _stream: Any = None  # the vectors of every task after the last chunk
    _reached: Progress | None = None  # what the next call may go on from

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
        """Find out what the steps of task ``number`` need to know, unless an earlier call has."""

    def _write_more(self) -> None:
        """Attributes of the subclass's own."""

    @property
    def _seasons(self) -> int:
        """Epochs or seasons that the rate has come down for before this call."""
        return 0 if self._reached is None else self._reached.seasons

    def _pair(self):
        return Hinge(), resolve_penalty("l2")

    def _cost(self, data):
        total = float(np.sum(data.weight))
        price = float(self.lam) * total
        if not (price > 0 and np.isfinite(1.0 / price)):
            raise ValueError(
                f"lam={self.lam:g} times the sum of the weights, {total:.3g}, is too small for floating-point numbers; "
                "take a larger lam or larger weights"
            )
        return 1.0 / price

    # -- fit --------------------------------------------------------------------------------------------------

    def _family(self, data: Training) -> Family[Any]:
        return StochasticTasks(self, data)

    @property
    def _proves(self) -> bool:
        """Whether a fit ends with a look at all rows: for a proof, and for the best dual point there is."""
        return bool(self.certify) and self.certify != "sample"

    def _row_order(self, keys: Array, label: IntArray) -> IntArray:
        """Rows in an order that depends on their values alone, so that neither their order nor copies matter."""
        return np.arange(len(label)) if self.order == "given" else np.argsort(keys + label.astype(np.uint64))

    def _digest(self, data: Training, keys: Array) -> str:
        """The same for the same rows, targets, weights and lam; ``keys`` stand for the rows."""
        known = hashlib.blake2b(repr((float(self.lam), self.fit_intercept, self.scale)).encode(), digest_size=16)
        for array in (keys, data.extra.label, data.weight, data.extra.factors):
            known.update(np.ascontiguousarray(array).data)
        return known.hexdigest()

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
        anew = first or self._reached is None or self._reached.lam != lam
        if anew:  # steps are counted from the first one again
            self._reached = None
            self._begin(count, scaling)
        before, radius = self._first_step(design, chunk.weight, mean, lam), self._radius(mean, lam)
        vectors = self._stream_vectors(design.d, before, count, scaling, first)
        seed, runs = seed_of(self) + getattr(self, "chunks_", 0), []
        for k, task in enumerate(tasks):
            own = design if len(task.rows) == design.n else design.take(task.rows)
            push = task.sign * gain[task.rows]
            run = Run(backend, own, push, lam, int(self.batch_size), self.fit_intercept, vectors[k], radius)
            runs.append(run)
            if own.n == 0:
                continue  # the chunk has no row of either class of this pair
            visits = Visits(backend, np.arange(own.n), chunk.weight[task.rows], self.order, seed)
            self._prepare(run, visits, k)
            self._stream_steps(run, visits, k)
        require_finite_weights([run.model()[0] for run in runs])
        self._write_stream(chunk, scheme, runs, scaling)

    def _stream_scaling(self, chunk: Chunk, first: bool) -> Scaling | None:
        if first:
            return fitted_scaling(chunk.X, chunk.weight) if self.scale else None
        return Scaling(self.center_, self.scale_) if hasattr(self, "scale_") else None

    def _stream_vectors(self, d: int, steps: float, count: int, scaling: Scaling | None, first: bool) -> list[Any]:
        """Where every task is, in arrays of its own: new, of the last chunk, or of the last ``fit``.

        ``steps`` are what the counter begins with where it does not go on.
        """
        if first:
            return [started(d, 0, None, steps) for _ in range(count)]
        if self._stream is not None and self._reached is not None:
            return [vectors.copy() for vectors in self._stream]
        W, intercept = published_weights(self, scaling)
        points = [
            LinearPoint(w, float(b) if self.fit_intercept else 0.0, np.zeros(0))
            for w, b in zip(W, intercept, strict=True)
        ]
        before = np.full(count, steps) if self._reached is None else self._reached.steps
        return [started(d, 0, point, float(begin)) for point, begin in zip(points, before, strict=True)]

    def _write_stream(self, chunk: Chunk, scheme: Scheme, runs: list[Run], scaling: Scaling | None) -> None:
        chunks, passes, seasons = getattr(self, "chunks_", 0) + 1, getattr(self, "n_iter_", 0) + 1, self._seasons + 1
        self._forget()
        models = [run.model() for run in runs]
        write_weights(self, np.array([w for w, _ in models]), np.array([b for _, b in models]), scaling)
        self._write_scheme(Labels(chunk.classes, chunk.label, chunk.factors), scheme)
        self.class_weight_ = chunk.factors
        self.t_, self.chunks_, self.n_iter_ = max(run.steps for run in runs), chunks, passes
        steps = np.array([run.steps for run in runs], dtype=np.float64)
        self._reached = Progress("", float(self.lam), steps, seasons)
        self._stream = [run.vectors for run in runs]
        self._write_more()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # without an intercept half of all directions are of one class, whatever the weights of the classes
        tags.classifier_tags.poor_score = not self.fit_intercept
        return tags


class StochasticTasks(LinearTasks):
    """Tasks that are solved by many small steps."""

    def goal(self):
        gap = self.machine._goal()
        return None if gap is None else Goal(np.inf, gap)

    def solve(self, reporter):
        machine, data, backend = self.machine, self.data, backend_for("cpu")
        if not machine.scale:
            warn_of_unequal_columns(backend.design(self.rows[:LOOKED_AT]), getattr(machine, "feature_names_in_", None))
        starts = machine._warm_starts(data, self.problems, self.where, self.scaling)
        keys = backend.row_keys(backend.design(self.rows).X)
        self.digest, self.reached = machine._digest(data, keys), machine._reached
        if starts[0] is None or self.reached is None or self.reached.problem != self.digest:
            self.reached = None
        machine._reached = self.reached
        order = machine._row_order(keys, data.extra.label)
        solutions, self.steps = self._solved(starts, reporter, order)
        require_finite_weights([solution.point.w for solution in solutions])
        return solutions

    def prove(self, solutions):
        if self.machine.certify != "sample":
            return super().prove(solutions)
        tasks = zip(self.problems, self.where, solutions, strict=True)
        with single_threaded_blas():
            return [
                estimated_certificate(
                    self.rows, problem, own, solution.point, self.scaling, seed_of(self.machine) + number
                )
                for number, (problem, own, solution) in enumerate(tasks)
            ]

    def write(self, draft, solutions, certificates, reached):
        super().write(draft, solutions, certificates, reached)
        draft.t_, draft._stream = int(self.steps.max()), None
        seasons = self.machine._seasons + draft.n_iter_
        draft._reached = Progress(self.digest, float(self.machine.lam), self.steps, seasons)
        draft._write_more()

    def _solved(self, starts: list[Any], reporter: FitReporter, rows: IntArray) -> tuple[list[Any], FloatArray]:
        """(solutions, number of the last step) of all tasks; ``rows`` are in the order that visits begin with."""
        machine, data, problems = self.machine, self.data, self.problems
        reporter.begin(len(problems))
        threads, backend = effective_threads(machine.n_jobs), backend_for("cpu")
        at_once, seed = side_by_side(reporter, len(problems), threads), seed_of(machine)
        with single_threaded_blas():
            design = backend.design(scaled(self.rows, self.scaling), threads if at_once == 1 else 1)
            gain, total = data.extra.factors[data.extra.label], float(data.weight.sum())

            def run_of(number: int) -> tuple[Run, IntArray, FloatArray]:
                """(run, order of its rows, their weights) of a task."""
                own, problem, start = self.where[number], problems[number], starts[number]
                part = (
                    _TaskRows(design, rows, data.weight, gain)
                    if own is None
                    else _rows_of(design, rows, data, gain, own)
                )
                mean = float(np.average(part.gain, weights=part.weight))
                lam = float(machine.lam) * total / float(part.weight.sum())  # C is the same for all tasks
                if machine._reached is not None:
                    before = float(machine._reached.steps[number])
                else:
                    before = machine._first_step(part.design, part.weight, mean, lam)
                    start = None if start is None else best_multiple(problem, part.design, start)
                vectors = started(part.design.d, part.design.n, start, before)
                run = Run(backend, part.design, problem.target * part.gain, lam, int(machine.batch_size),
                          machine.fit_intercept, vectors, machine._radius(mean, lam))  # fmt: skip
                return run, part.order, part.weight

            found = [run_of(number) for number in range(len(problems))]
            runs = [run for run, _, _ in found]
            machine._begin(len(problems), self.scaling)

        def solve(number: int, turn: Turn) -> LinearSolution:
            _, order, weight = found[number]
            visits = Visits(backend, order, weight, machine.order, seed)
            machine._prepare(runs[number], visits, number)
            watch = turn.watch(0.0, machine._goal(), -1)
            solution: LinearSolution = machine._run(problems[number], runs[number], visits, watch, number)
            return solution

        solved = take_turns(solve, list(range(len(problems))), at_once, machine._solving_ends(data), reporter)
        solutions = [solved[number] for number in range(len(problems))]
        return solutions, np.array([run.steps for run in runs], dtype=np.float64)


class _TaskRows(NamedTuple):
    """Rows of one task: in what order to take them, their weights and those of their classes."""

    design: Any
    order: IntArray
    weight: FloatArray
    gain: FloatArray


def _rows_of(design: Any, order: IntArray, data: Training, gain: FloatArray, own: IntArray) -> _TaskRows:
    """Some of the rows, numbered anew, in the order they have among all."""
    place = np.full(len(order), -1)
    place[own] = np.arange(len(own))
    numbers = place[order]
    return _TaskRows(design.take(own), numbers[numbers >= 0], data.weight[own], gain[own])
