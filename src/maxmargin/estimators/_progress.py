"""What a person sees while a fit runs: a progress line, and scikit-learn's callbacks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from maxmargin.problems import relative
from maxmargin.solvers import Record

#: Seconds between two updates of the progress line.
UPDATE_EVERY = 0.2


class ProgressLine:
    """One line on the terminal: task, seconds, steps, relative gap."""

    def __init__(self, name: str, n_tasks: int):
        self.name, self.n_tasks = name, n_tasks
        self._last = 0.0
        self._width = 0

    def show(self, number: int, record: Record, final: bool = False) -> None:
        """Redraw if it is time to; ``final`` always draws."""
        now = time.perf_counter()
        if not final and now - self._last < UPDATE_EVERY:
            return
        self._last = now
        task = f" task {number} of {self.n_tasks}" if self.n_tasks > 1 else ""
        gap = relative(record.gap, record.primal, record.dual)
        text = f"[{self.name}]{task} {record.seconds:7.2f} s  {record.iteration:>9,} steps  relative gap {gap:.2e}"
        self._width = max(self._width, len(text))
        print("\r" + text.ljust(self._width), end="", flush=True, file=sys.stdout)

    def close(self) -> None:
        print(flush=True, file=sys.stdout)


class FitReporter:
    """Feeds one fit's rounds to the progress line and to scikit-learn's callbacks, if either is wanted."""

    def __init__(self, estimator: Any, X: Any, y: Any):
        self._estimator, self._X, self._y = estimator, X, y
        self._line: ProgressLine | None = None
        self._root: Any = None

    def begin(self, n_tasks: int) -> None:
        """The fit starts, with so many tasks."""
        estimator = self._estimator
        if estimator.verbose:
            self._line = ProgressLine(type(estimator).__name__, n_tasks)
        if self._has_callbacks:
            self._root = estimator._init_callback_context(max_subtasks=n_tasks, sequential_subtasks=False)
            self._root.call_on_fit_task_begin(estimator=estimator, X=self._X, y=self._y)

    def say(self, text: str) -> None:
        """A line of its own, if somebody reads lines."""
        if self._line is not None:
            print(f"[{self._line.name}] {text}", flush=True, file=sys.stdout)

    @property
    def wanted(self) -> bool:
        """Whether anybody will listen once the fit begins."""
        return bool(self._estimator.verbose) or self._has_callbacks

    @property
    def _has_callbacks(self) -> bool:
        """Whether scikit-learn's callbacks were set here or on a pipeline or search around it.

        Every Pipeline gives its steps a context of its own, and the callbacks with it, if there are any.
        """
        return bool(getattr(self._estimator, "_skl_callbacks", None))

    @property
    def active(self) -> bool:
        """Whether anybody listens, so that tasks must run one after the other."""
        return self._line is not None or self._root is not None

    def round_callback(self, number: int) -> tuple[Callable[[Record], bool] | None, Callable[[], None]]:
        """(called after every round of task ``number``: True stops it, called when the task has ended)."""
        if not self.active:
            return None, lambda: None
        context = None
        if self._root is not None:
            context = self._root.subcontext(task_name="task", task_id=number, max_subtasks=None)
            context.call_on_fit_task_begin(estimator=self._estimator)
        last: list[Record] = []

        def after_round(record: Record) -> bool:
            last[:] = [record]
            if self._line is not None:
                self._line.show(number, record)
            if context is None:
                return False
            step = context.subcontext(task_name="round")
            step.call_on_fit_task_begin(estimator=self._estimator)
            return bool(step.call_on_fit_task_end(estimator=self._estimator, metadata=record._asdict()))

        def end() -> None:
            if self._line is not None and last:
                self._line.show(number, last[0], final=True)
            if context is not None:
                context.call_on_fit_task_end(estimator=self._estimator)

        return after_round, end

    def close(self) -> None:
        """The fit is over and the estimator is fitted."""
        if self._line is not None:
            self._line.close()
        if self._root is not None:
            fitted = {name: value for name, value in vars(self._estimator).items() if name.endswith("_")}
            self._root.call_on_fit_task_end(
                estimator=self._estimator, X=self._X, y=self._y, reconstruction_attributes=fitted
            )


def history_of(tasks: Sequence[Sequence[Record]]) -> np.ndarray:
    """All rounds of all tasks as one structured array, the form of every ``history_``."""
    kinds = [("task", int), ("iteration", int), ("seconds", float), ("primal", float), ("dual", float), ("gap", float)]
    return np.array([(number, *record) for number, records in enumerate(tasks) for record in records], dtype=kinds)
