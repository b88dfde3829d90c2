"""Perceptron: a step for every mistake, and the bound on their number."""

from __future__ import annotations

import time
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from maxmargin._types import FloatArray, RowData
from maxmargin.backends import backend_for, effective_threads
from maxmargin.certificates import Scaling
from maxmargin.estimators._caller import levels_to_caller
from maxmargin.estimators._fit import Passes, RefittedFamily
from maxmargin.estimators._linear_classifier import LinearClassifierMachine
from maxmargin.estimators._linear_model import published_weights, write_weights
from maxmargin.estimators._machine import Labels, Training, check_target, leaves_no_trace, seed_of
from maxmargin.estimators._params import document_classes
from maxmargin.estimators._progress import FitReporter
from maxmargin.estimators._scaling import fitted_scaling, scaled
from maxmargin.estimators._stream import checked_chunk, require_finite_weights
from maxmargin.estimators._turns import Turn, side_by_side, take_turns
from maxmargin.inspection import separation
from maxmargin.losses import PerceptronLoss
from maxmargin.multiclass import BinaryTask, Scheme
from maxmargin.penalties import resolve_penalty
from maxmargin.solvers import Record
from maxmargin.solvers.stochastic import Visits

LINE = [("task", int), ("iteration", int), ("seconds", float), ("mistakes", int)]


@document_classes
class Perceptron(LinearClassifierMachine):
    r"""The perceptron: one row at a time, a step for every mistake, with Novikoff's bound beside the mistakes.

    .. math:: t_i (w\cdot x_i + b) \le 0 \;\Rightarrow\; w \leftarrow w + t_i x_i,\quad b \leftarrow b + t_i

    These are subgradient steps on :math:`\sum_i \max(0, -t_i f(x_i))` without a penalty. If some unit vector separates
    the rows (x, 1) with margin gamma, there are at most :math:`(R/\gamma)^2` mistakes, R being the norm of the longest
    of these rows.

    Parameters
    ----------
    max_iter : int, default=100
        Most passes over the rows. A pass without mistakes ends the fit.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    shuffle : bool, default=True
        Whether every pass takes the rows in a new random order. If not, the iterates are those of scikit-learn's
        ``Perceptron(shuffle=False)`` on dense rows. (On sparse rows that one multiplies the steps of the intercept by
        0.01; this one does not, so dense and sparse rows give the same model.)
    penalty : {'l2', 'l1', 'elasticnet'} or None, default=None
        Whether the weights shrink at every row, mistake or not: 'l2' by the factor 1 - alpha before its step (those
        iterates, too, are scikit-learn's), 'l1' by alpha towards 0 after it, 'elasticnet' in both ways.
    alpha : float, default=0.0001
        How much they shrink.
    l1_ratio : float in [0, 1], default=0.15
        Of 'elasticnet', the part of alpha that is that of 'l1'.
    bound : bool, default=False
        Whether to compute ``mistake_bound_``, which takes the fit of a hard-margin machine.
    scale : bool, default=False
        Centre every feature (not of sparse rows) and divide it by its standard deviation first. The model remembers: it
        takes unscaled rows, and ``coef_`` belongs to these. The bound is for the scaled rows.
    time_limit : float or None, default=None
        Seconds after which the fit ends with what it has.
    n_jobs : int or None, default=None
        Threads; classes are fitted side by side. None: all cores, or one inside a worker of joblib's.
    warm_start : bool, default=False
        Start from the last fit's weights, if the columns and classes are the same.
    verbose : bool or int, default=0
        Show a progress line.
    random_state : int, RandomState or None, default=None
        Seed of the order of the rows, of the folds of a calibration and of random code words; None is 0.
    {many_classes}

    Attributes
    ----------
    coef_, intercept_, n_iter_, n_features_in_
        As in scikit-learn.
    {many_attributes}
    mistakes_ : ndarray of shape (n_tasks,)
        Mistakes made, of all passes together; after ``partial_fit`` of all chunks.
    mistake_bound_ : ndarray of shape (n_tasks,)
        Their largest possible number, inf if the rows are not separable; only with ``bound=True``.
    history_ : structured array
        task, iteration (pass), seconds and mistakes of every pass.
    chunks_ : int
        Calls to ``partial_fit``.
    center_, scale_ : ndarrays
        What ``scale=True`` subtracted and divided by.

    References
    ----------
    Rosenblatt 1958; Novikoff 1962 (the bound).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron(bound=True, random_state=0).fit(X, y == 0)
    >>> model.score(X, y == 0), bool(model.mistakes_[0] <= model.mistake_bound_[0])
    (1.0, True)
    """

    mistakes_: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: LinearClassifierMachine._parameter_constraints[name]
            for name in (
                "fit_intercept", "scale", "time_limit", "n_jobs", "warm_start", "verbose", "random_state",
                "multiclass", "code_words", "calibration",
            )
        },
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
        "shuffle": ["boolean"],
        "bound": ["boolean"],
        "penalty": [StrOptions({"l2", "l1", "elasticnet"}), None],
        "alpha": [Interval(Real, 0.0, 1.0, closed="left")],
        "l1_ratio": [Interval(Real, 0.0, 1.0, closed="both")],
    }  # fmt: skip

    _singles = ()
    _no_single = "its steps are those of a two-class problem; use LinearSVC, or 'ovo', 'ovr' or 'code'"
    _forgets_start = False  # steps that start at the fit on all rows have seen those that are held out

    def __init__(
        self,
        *,
        max_iter=100,
        fit_intercept=True,
        shuffle=True,
        bound=False,
        scale=False,
        time_limit=None,
        n_jobs=None,
        warm_start=False,
        verbose=0,
        random_state=None,
        multiclass="ovr",
        code_words="one-hot",
        calibration=None,
        penalty=None,
        alpha=0.0001,
        l1_ratio=0.15,
    ):
        self._store(locals())

    def _pair(self):
        return PerceptronLoss(), resolve_penalty(self.penalty)

    @property
    def _shrinking(self) -> tuple[float, float]:
        """(factor of the weights before a step, how far they go towards 0 after it)."""
        part = {None: (0.0, 0.0), "l2": (1.0, 0.0), "l1": (0.0, 1.0)}.get(
            self.penalty, (1.0 - self.l1_ratio, self.l1_ratio)
        )
        return 1.0 - part[0] * float(self.alpha), part[1] * float(self.alpha)

    def _slack_of(self, f, y):
        """How far every row is from a score of the right sign."""
        return np.maximum(0.0, -self._signs(y) * f)

    # -- fit --------------------------------------------------------------------------------------------------

    @with_callbacks
    @leaves_no_trace
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Fit the model to the training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; float32 stays float32.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self
        """
        if self.bound and self.penalty is not None:
            raise ValueError(
                f"bound=True is for the plain perceptron: with penalty={self.penalty!r} there is no bound on its "
                "mistakes; set one of them to its default"
            )
        return self._fit(self._validate(X, y, None))

    def _family(self, data):
        return PerceptronTasks(self, data)

    def _passes(self, X: RowData, tasks: list[BinaryTask], weights: list[Any], deadline: float, reporter: FitReporter):
        """((w, b), [(pass, seconds, mistakes)]) of every task."""
        reporter.begin(len(tasks))
        at_once = side_by_side(reporter, len(tasks), effective_threads(self.n_jobs))
        constant = float(self.fit_intercept)
        backend: Any = backend_for("cpu")
        shrinking = self._shrinking
        began, seed, design = time.perf_counter(), seed_of(self), backend.design(X)

        def solve(number: int, turn: Turn) -> list[tuple[int, float, int]]:
            lines: list[tuple[int, float, int]] = []
            visits, task = self._visits(backend, len(tasks[number].rows), seed), _on_rows(design, tasks[number])
            for k in range(1, int(self.max_iter) + 1):
                mistakes = backend.perceptron_pass(
                    *task, visits.take(1)[0], *weights[number], 1.0, constant, *shrinking
                )
                seconds = time.perf_counter() - began
                lines.append((k, seconds, mistakes))
                record = Record(k, seconds, float(mistakes), 0.0, float(mistakes))
                if mistakes == 0 or (turn.after_round is not None and turn.after_round(record)) or turn.is_over():
                    break
            return lines

        solved = take_turns(solve, list(range(len(tasks))), at_once, deadline, reporter)
        return weights, [solved[number] for number in range(len(tasks))]

    def _visits(self, backend: Any, n: int, seed: int) -> Visits:
        return Visits(backend, np.arange(n), np.ones(n), "shuffle" if self.shuffle else "given", seed)

    def _starts(self, data: Training, count: int, scaling: Scaling | None) -> list[tuple[FloatArray, FloatArray]]:
        d = data.X.shape[1]
        known = self.warm_start and hasattr(self, "coef_") and self.coef_.shape == (count, d)
        return (
            self._weights(scaling)
            if known and self._same_labels(data)
            else [(np.zeros(d), np.zeros(1)) for _ in range(count)]
        )

    def _weights(self, scaling: Scaling | None) -> list[tuple[FloatArray, FloatArray]]:
        """Copies of the published weights, in scaled units."""
        return [(w, np.array([float(b)])) for w, b in zip(*published_weights(self, scaling), strict=True)]

    def _write_tasks(self, weights: list[Any], labels: Labels, scheme: Scheme, scaling: Scaling | None) -> None:
        W = np.array([w for w, _ in weights])
        require_finite_weights(W)
        write_weights(self, W, np.array([float(b[0]) for _, b in weights]), scaling)
        self._write_scheme(labels, scheme)

    # -- streams and the bound --------------------------------------------------------------------------------

    @leaves_no_trace
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None):
        """Go on with one pass over a chunk of rows, for data that do not fit into memory.

        After an error (other columns than the first chunk's, values that are not finite, an unknown class) the model is
        exactly what it was before the chunk. ``scale=True`` keeps the first chunk's scaling.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows of the chunk, for example from :func:`maxmargin.io.read_chunks`.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like, optional
            All classes that any chunk may have; needed in the first call.

        Returns
        -------
        self
        """
        chunk = checked_chunk(self, X, y, classes)
        first, number = not hasattr(self, "coef_"), getattr(self, "chunks_", 0)
        if first:
            scaling = fitted_scaling(chunk.X, chunk.weight) if self.scale else None
        else:
            scaling = Scaling(self.center_, self.scale_) if hasattr(self, "scale_") else None
        scheme = self._new_scheme(len(chunk.classes)) if first else self._scheme
        tasks = scheme.tasks(chunk.label)
        d = chunk.X.shape[1]
        weights = [(np.zeros(d), np.zeros(1)) for _ in tasks] if first else self._weights(scaling)
        before = np.zeros(len(tasks), dtype=int) if first else self.mistakes_
        backend: Any = backend_for("cpu")
        design, made = backend.design(scaled(chunk.X, scaling)), []
        for task, pair in zip(tasks, weights, strict=True):
            visits = self._visits(backend, len(task.rows), seed_of(self) + number).take(1)[0]
            rows = _on_rows(design, task)
            steps = (*rows, visits, *pair, 1.0, float(self.fit_intercept), *self._shrinking)
            made.append(backend.perceptron_pass(*steps))
        self._forget()
        self._write_tasks(weights, Labels(chunk.classes, chunk.label, chunk.factors), scheme, scaling)
        self.mistakes_, self.chunks_, self.n_iter_ = before + np.array(made), number + 1, number + 1
        return self

    def mistake_bound(self, X, y):
        """(R / gamma)^2 of these rows: no order of them makes a perceptron that starts at 0 commit more mistakes.

        gamma is the margin of the hard-margin machine on the rows as the perceptron sees them (scaled if it scales,
        with a constant feature 1 if there is an intercept).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their classes, among ``classes_``.

        Returns
        -------
        ndarray of shape (n_tasks,)
            inf where the two sides of the task cannot be separated.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        y = check_target(self, y, X.shape[0])
        label = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        rows = scaled(X, Scaling(self.center_, self.scale_) if hasattr(self, "scale_") else None)
        tasks = self._scheme.tasks(label)
        return np.array([separation(rows[t.rows], t.sign, self.fit_intercept).mistakes for t in tasks])


def _on_rows(design: Any, task: BinaryTask) -> tuple[Any, FloatArray]:
    """(rows, signs) of a task, as compiled passes want them."""
    return (design.X if len(task.rows) == design.n else design.take(task.rows).X), task.sign


class PerceptronTasks(RefittedFamily[Passes]):
    """Tasks of a perceptron: a step for every mistake, pass after pass."""

    def __init__(self, machine: Perceptron, data: Training):
        self.machine, self.data, self.whole = machine, data, data
        self.scaling = fitted_scaling(data.X_kept, data.weight) if machine.scale else None
        self.inputs, self.tasks = scaled(data.X_kept, self.scaling), data.extra.scheme.tasks(data.extra.label)

    def goal(self):
        return None

    def solve(self, reporter):
        machine, data = self.machine, self.data
        starts = machine._starts(data, len(self.tasks), self.scaling)
        weights, lines = machine._passes(self.inputs, self.tasks, starts, machine._solving_ends(data), reporter)
        warn_of_mistakes(lines, "separated, raise max_iter; if not, it never ends: use LinearSVC or PegasosSVC.")
        return [Passes(*task) for task in zip(weights, lines, strict=True)]

    def prove(self, solutions):
        return []

    def write(self, draft, solutions, certificates, reached):
        lines = [solution.lines for solution in solutions]
        draft._write_tasks([s.model for s in solutions], self.data.extra, self.data.extra.scheme, self.scaling)
        draft.history_ = np.array([(k, *line) for k, task in enumerate(lines) for line in task], dtype=LINE)
        draft.mistakes_ = np.array([sum(line[2] for line in task) for task in lines])
        draft.n_iter_ = max(len(task) for task in lines)
        if draft.bound:
            bounds = [separation(self.inputs[t.rows], t.sign, draft.fit_intercept).mistakes for t in self.tasks]
            draft.mistake_bound_ = np.array(bounds)

    def scores(self, draft, solutions):
        return draft._raw_scores(self.data.X_kept)


def warn_of_mistakes(lines: list[list[tuple[int, float, int]]], advice: str) -> None:
    """Where a last pass still made mistakes; ``advice`` ends a sentence that begins "If the classes can be"."""
    left = [task[-1] for task in lines if task[-1][2] > 0]
    if left:
        warnings.warn(
            f"{len(left)} of {len(lines)} perceptrons still made mistakes in their last pass, up to "
            f"{max(line[2] for line in left)}, after {max(line[0] for line in left)} passes. If the classes can be "
            f"{advice}",
            ConvergenceWarning,
            stacklevel=levels_to_caller(),
        )
