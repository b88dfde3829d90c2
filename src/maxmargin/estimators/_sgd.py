"""SGDSVC: stochastic gradient descent in epochs or seasons."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from maxmargin.backends import backend_for
from maxmargin.estimators._machine import Training, seed_of
from maxmargin.estimators._scaling import scaled
from maxmargin.estimators._stochastic_base import StochasticMachine, StochasticTasks
from maxmargin.estimators._stochastic_params import documented_stochastic
from maxmargin.solvers.seasons import TUNED_FOR, TUNED_ON, HeldOut, Schedule, Season, Seasons, tuned_schedule

#: Share of the rows that is held out if a stopping rule needs some.
HELD_OUT = 0.1
LINE = [("task", int), ("season", int), ("steps", int), ("eta", float), ("error", float), ("objective", float)]


@documented_stochastic
class SGDSVC(StochasticMachine):
    r"""Linear support vector classifier by stochastic gradient descent in epochs or seasons.

    .. math:: \min_{a,b}\; \tfrac1N \sum_i \max(0, 1 - t_i(a\cdot x_i + b)) + \tfrac{\lambda}{2} a\cdot a

    Each step moves (a, b) against the mean gradient of a batch: of a row, :math:`(\lambda a, 0)` if
    :math:`t_i(a\cdot x_i + b) \ge 1`, else :math:`(\lambda a - t_i x_i, -t_i)`. The steps are grouped in epochs (a pass
    over the data each) or seasons (a number of steps), and in the e-th the rate is :math:`\eta = m / (e + l)`.

    Parameters
    ----------
    lam : float, default=1e-4
        Weight of the penalty against the mean loss: lam = 1 / (n C).
    {batch}
    max_iter : int, default=20
        Epochs, or seasons if ``steps_per_season`` is given: the first stopping rule.
    steps_per_season : int or None, default=None
        Steps of a season. None: epochs.
    schedule : 'auto' or tuple (m, l), default='auto'
        Rate m / (e + l) of epoch or season e = 1, 2, ... 'auto' tries some on 1,000 rows, from the same start, and
        takes the best; ``schedule_`` says which.
    error_goal : float or None, default=None
        The second stopping rule: stop when the error on the held-out rows is at most this.
    patience : int or None, default=None
        The third: stop when that error has not improved for so many epochs or seasons. With the second or the third
        rule the model is that of the epoch or season with the smallest such error, of equals the one with the smallest
        objective.
    validation_fraction : float or None, default=None
        Share of the rows to hold out, at random. None: 0.1 if a stopping rule needs them, else none. The problem that
        is solved and certified is that of the other rows.
    init : {'zero', 'random'}, default='zero'
        Where to start; 'random' draws weights of variance 1 / n_features.
    average : bool, default=True
        Deliver the average of the iterates of the last (or best) epoch or season instead of its last iterate.
    fit_intercept : bool, default=True
        Whether there is an intercept b; it is never penalised.
    {shared}

    Attributes
    ----------
    {attributes}
    schedule_ : ndarray of shape (n_tasks, 2)
        m and l of every task.
    held_out_ : ndarray
        Rows that were held out.

    References
    ----------
    Bottou 2010; Forsyth 2019 (seasons, the schedule).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from maxmargin import SGDSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SGDSVC(lam=1e-2, scale=True, patience=5, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.97, model.certificate_.holds, len(model.history_) <= 20
    (True, True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StochasticMachine._parameter_constraints,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "steps_per_season": [Interval(Integral, 1, None, closed="left"), None],
        "schedule": [StrOptions({"auto"}), tuple, list],
        "error_goal": [Interval(Real, 0.0, 1.0, closed="both"), None],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="left"), None],
        "init": [StrOptions({"zero", "random"})],
    }

    def __init__(
        self,
        lam=1e-4,
        *,
        batch_size=1,
        max_iter=20,
        steps_per_season=None,
        schedule="auto",
        error_goal=None,
        patience=None,
        validation_fraction=None,
        init="zero",
        order="shuffle",
        average=True,
        fit_intercept=True,
        class_weight=None,
        scale=False,
        time_limit=None,
        certify=True,
        n_jobs=None,
        warm_start=False,
        verbose=0,
        random_state=None,
        multiclass="ovr",
        code_words="one-hot",
        calibration=None,
    ):
        self._store(locals())

    # -- fit --------------------------------------------------------------------------------------------------

    def _family(self, data):
        trained, self._held_rows = self._split(data)
        self._held_data = None if self._held_rows is None else (data.X[self._held_rows[0]], *self._held_rows[1:])
        return StochasticTasks(self, trained, data)

    def _split(self, data: Training) -> tuple[Training, Any]:
        """(rows to train on, (rows, labels, weights) that are held out or None)."""
        needed = self.error_goal is not None or self.patience is not None
        share = (HELD_OUT if needed else 0.0) if self.validation_fraction is None else float(self.validation_fraction)
        if share == 0.0:
            if needed:
                raise ValueError(
                    f"error_goal={self.error_goal!r} and patience={self.patience!r} look at held-out rows, but "
                    "validation_fraction=0 holds none out; leave it at None or give a positive share."
                )
            return data, None
        labels, n = data.extra, len(data.kept)
        chosen = np.sort(np.random.default_rng(seed_of(self)).permutation(n)[: int(np.ceil(share * n))])
        rest = np.setdiff1d(np.arange(n), chosen)
        if len(np.unique(labels.label[rest])) < len(labels.classes):
            raise ValueError(
                f"validation_fraction={share:g} holds {len(chosen)} of {n} rows out and leaves a class without any; "
                "give more rows or hold out fewer."
            )
        weight = data.weight[chosen] * labels.factors[labels.label[chosen]]
        held = (data.kept[chosen], labels.label[chosen], weight, labels.scheme)
        trained = data._replace(
            kept=data.kept[rest], weight=data.weight[rest], extra=replace(labels, label=labels.label[rest])
        )
        return trained, held

    def _begin(self, n_tasks, scaling):
        goes_on = self._reached is not None and self.schedule == "auto" and hasattr(self, "schedule_")
        self._schedules: list[Any] = [Schedule(*line) for line in self.schedule_] if goes_on else [None] * n_tasks
        self._drawn = seed_of(self)
        self._lines: list[list[Season]] = [[] for _ in range(n_tasks)]
        self._held: list[HeldOut | None] = [None] * n_tasks
        held = getattr(self, "_held_data", None)
        if held is not None:
            X, label, weight, scheme = held
            design = backend_for("cpu").design(scaled(X, scaling))
            self._held = [
                HeldOut(design.take(task.rows), task.sign, weight[task.rows]) if len(task.rows) else None
                for task in scheme.tasks(label)
            ]
        self._held_out = np.zeros(0, dtype=np.int64) if held is None else self._held_rows[0]

    def _prepare(self, run, visits, number):
        v, state = run.vectors.v, run.vectors.state
        if self.init == "random" and state[0] == 0 and not v.any():
            rng = np.random.default_rng([self._drawn, number])
            v[:] = rng.normal(size=len(v)) / np.sqrt(max(1, len(v)))
            state[4] = rng.normal() if self.fit_intercept else 0.0
        if self._schedules[number] is not None:  # of the last fit, or of a chunk before this one
            return
        if self.schedule == "auto":
            seasons = min(int(self.max_iter), TUNED_FOR)
            self._schedules[number] = tuned_schedule(run, visits.spread(TUNED_ON), seasons, self._drawn)
        else:
            self._schedules[number] = _given(self.schedule)

    def _run(self, problem, run, visits, watch, number):
        seasons = Seasons(
            self._schedules[number], int(self.max_iter), self.steps_per_season, self.average, self.error_goal,
            self.patience, self._seasons, self._proves,
        )  # fmt: skip
        solution, self._lines[number] = seasons.solve(problem, run, visits, watch, self._held[number])
        return solution

    def _write_more(self):
        unknown = Schedule(np.nan, np.nan)  # no chunk had rows of either class of the pair
        self.schedule_ = np.array([schedule or unknown for schedule in self._schedules], dtype=np.float64)
        lines = [(task, *line) for task, seasons in enumerate(self._lines) for line in seasons]
        if lines:
            self.history_, self.held_out_ = np.array(lines, dtype=LINE), self._held_out
        self._lines, self._held = [], []
        for name in ("_held_rows", "_held_data"):
            self.__dict__.pop(name, None)

    # -- streams ----------------------------------------------------------------------------------------------

    def _stream_steps(self, run, visits, number):
        """A chunk is a season, or goes on with the season that the last one began."""
        if self.steps_per_season is None:
            run.advance(visits.take(1), self._schedules[number].rate(self._seasons + 1), self.average)
            return
        rows, place = visits.take(1), 0
        while place < rows.shape[1]:
            season, within = divmod(run.steps, int(self.steps_per_season))
            until = place + (int(self.steps_per_season) - within) * run.batch
            run.advance(rows[:, place:until], self._schedules[number].rate(season + 1), self.average)
            place = until


def _given(schedule: Any) -> Schedule:
    """(m, l) as a schedule, or a clear error."""
    try:
        m, l = (float(value) for value in schedule)
    except (TypeError, ValueError):
        m = l = float("nan")
    if not (m > 0 and l > -1 and np.isfinite(m + l)):
        raise ValueError(f"schedule must be 'auto' or two numbers (m, l) with m > 0 and l > -1, got {schedule!r}")
    return Schedule(m, l)
