"""The duality gap of a fit as it closes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.plotting._shared import (
    COLOURS,
    DASHES,
    GREY,
    MARKERS,
    Display,
    final_step,
    numbered_tasks,
    require_fitted,
    task_names,
)

FIELDS = ("task", "iteration", "seconds", "primal", "dual", "gap")
AXES = {"seconds": "seconds", "iteration": "iterations"}
#: Gaps below this are drawn at this value: a logarithmic axis has no 0.
FLOOR = 1e-17


class GapDisplay(Display):
    """The relative duality gap of a fit against time, with the certificate of the model it ended with.

    Make one with :meth:`from_estimator`.

    Parameters
    ----------
    history : structured array
        task, iteration, seconds, primal, dual and gap of every round, as in ``history_``.
    certificates : sequence of Certificate, optional
        One per task: the judge's word on the finished model.
    goal : float, optional
        The relative gap that the fit was to reach.
    names : sequence of str, optional
        Names of the tasks.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the curves are.
    lines_ : dict of int to Line2D, or to (primal, dual) pairs of them
        The curves of every task that is drawn.
    certificate_lines_ : dict of int to Line2D
        The mark of every certificate.
    goal_line_ : Line2D or None
        The goal.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.plotting import GapDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC(scale=True, tol=1e-6).fit(X, y)
    >>> display = GapDisplay.from_estimator(model)
    >>> display.ax_.get_yscale(), bool(display.relative_gap(0)[-1] <= 1e-6)
    ('log', True)
    """

    def __init__(
        self,
        history: NDArray[Any],
        *,
        certificates: Sequence[Any] | None = None,
        goal: float | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        history = np.asarray(history)
        missing = [field for field in FIELDS if field not in (history.dtype.names or ())]
        if missing:
            raise ValueError(
                f"the history has no {', '.join(missing)}: only machines that watch their duality gap can show it "
                "(SVC and its relatives, LinearSVC, LinearClassifier, PegasosSVC, ...)"
            )
        if len(history) == 0:
            raise ValueError("the history is empty: the fit ended before its first round")
        self.history, self.certificates, self.goal = history, certificates, goal
        self.tasks = [int(task) for task in np.unique(history["task"])]
        self.names = numbered_tasks(max(self.tasks) + 1) if names is None else list(names)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        kind: str = "gap",
        x: str = "seconds",
        tasks: str | int | Sequence[int] = "auto",
        ax: Any = None,
    ) -> GapDisplay:
        """Draw the history of a fitted machine.

        Parameters
        ----------
        model : estimator
            A fitted machine with ``history_``, or a pipeline that ends with one.
        kind : {'gap', 'values'}, default='gap'
            The relative gap on a logarithmic axis (below 1e-17 drawn as 1e-17), or the primal and the dual value,
            between which the optimum lies.
        x : {'seconds', 'iteration'}, default='seconds'
            The horizontal axis.
        tasks : {'auto', 'all', 'worst'}, int or sequence of int, default='auto'
            Which tasks to draw: all of them, the one that ended with the largest relative gap, or by their numbers.
            'auto' is 'all' for up to ten and 'worst' beyond.
        ax : matplotlib Axes, optional
            Where to draw; None: in a new figure.

        Returns
        -------
        GapDisplay
        """
        cls._require_matplotlib()
        history = require_fitted(model, "history_", "fit it first; only machines of maxmargin keep their history")
        machine = final_step(model)
        goal = machine.gap_tol if hasattr(machine, "gap_tol") else getattr(machine, "tol", None)
        count = int(np.max(history["task"], initial=0)) + 1
        certificates = getattr(machine, "certificates_", None)
        display = cls(history, certificates=certificates, goal=goal, names=task_names(machine, count))
        return display.plot(ax, kind=kind, x=x, tasks=tasks)

    def relative_gap(self, task: int) -> NDArray[np.float64]:
        """gap / max(|primal|, |dual|) of every round of a task, 0 where the gap is 0."""
        rounds = self._rounds(task)
        size = np.maximum(np.abs(rounds["primal"]), np.abs(rounds["dual"]))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(rounds["gap"] == 0, 0.0, rounds["gap"] / size)

    def plot(
        self, ax: Any = None, *, kind: str = "gap", x: str = "seconds", tasks: str | int | Sequence[int] = "auto"
    ) -> GapDisplay:
        """Draw the curves; the parameters are those of :meth:`from_estimator`.

        Returns
        -------
        self
        """
        if kind not in ("gap", "values"):
            raise ValueError(f"kind must be 'gap' or 'values'; got {kind!r}")
        if x not in AXES:
            raise ValueError(f"x must be 'seconds' or 'iteration'; got {x!r}")
        chosen = self._chosen(tasks)
        ax = self._on(ax, (6.4, 4.6))
        self.lines_: dict[int, Any] = {}
        self.certificate_lines_: dict[int, Any] = {}
        self.goal_line_ = None
        for place, task in enumerate(chosen):
            draw = self._draw_gap if kind == "gap" else self._draw_values
            draw(ax, x, task, place, self._label(task, kind))
        if kind == "gap":
            ax.set_yscale("log")
            if self.goal is not None:
                label = f"goal, {self.goal:.0e}"
                self.goal_line_ = ax.axhline(self.goal, color=GREY, linestyle=(0, (4, 3)), linewidth=1.2, label=label)
            if self.certificate_lines_:
                ax.plot([], [], "*", color=GREY, markersize=12, label=self._certificate_label(chosen))
        ax.set(xlabel=AXES[x], ylabel="relative duality gap" if kind == "gap" else "objective value")
        ax.grid(True, alpha=0.25)
        if kind == "values":
            ax.set_ylim(*self._interesting(chosen))
        ax.legend(loc="best", fontsize=9, framealpha=0.9, title=self._title(chosen))
        return self

    # -- parts of the picture ---------------------------------------------------------------------------------

    def _rounds(self, task: int) -> NDArray[Any]:
        return self.history[self.history["task"] == task]

    def _chosen(self, tasks: str | int | Sequence[int]) -> list[int]:
        """Numbers of the tasks to draw."""
        if isinstance(tasks, str):
            if tasks not in ("auto", "all", "worst"):
                raise ValueError(f"tasks must be 'auto', 'all', 'worst' or numbers of tasks; got {tasks!r}")
            if tasks == "all" or (tasks == "auto" and len(self.tasks) <= len(COLOURS)):
                return self.tasks
            return [max(self.tasks, key=self._last)]
        numbers = [int(task) for task in np.atleast_1d(np.asarray(tasks))]
        unknown = [task for task in numbers if task not in self.tasks]
        if unknown or not numbers:
            raise ValueError(f"tasks must be some of 0 ... {max(self.tasks)}; got {tasks!r}")
        return numbers

    def _last(self, task: int) -> float:
        """The relative gap that a task ended with: the certificate's if there is one."""
        if self.certificates is not None and task < len(self.certificates):
            return float(self.certificates[task].relative_gap)
        return float(self.relative_gap(task)[-1])

    def _draw_gap(self, ax: Any, x: str, task: int, place: int, label: str) -> None:
        colour, rounds = COLOURS[place % len(COLOURS)], self._rounds(task)
        gap = np.maximum(self.relative_gap(task), FLOOR)
        dash, marker = DASHES[place % len(DASHES)], MARKERS[place % len(MARKERS)]
        (self.lines_[task],) = ax.plot(
            rounds[x], gap, color=colour, linestyle=dash, marker=marker, markersize=4.5, linewidth=1.6, label=label
        )
        if self.certificates is not None and task < len(self.certificates):
            (self.certificate_lines_[task],) = ax.plot(
                rounds[x][-1:], [max(self._last(task), FLOOR)], "*", color=colour, markersize=13,
                markeredgecolor="white", markeredgewidth=0.6, zorder=4,
            )  # fmt: skip

    def _draw_values(self, ax: Any, x: str, task: int, place: int, label: str) -> None:
        colour, rounds = COLOURS[place % len(COLOURS)], self._rounds(task)
        marker = MARKERS[place % len(MARKERS)]
        self.lines_[task] = tuple(
            ax.plot(
                rounds[x], np.where(np.isfinite(rounds[value]), rounds[value], np.nan), color=colour, linestyle=dash,
                marker=marker, markersize=4.5, markerfacecolor=face, linewidth=1.6, label=_join(label, value),
            )[0]
            for value, dash, face in (("primal", "-", colour), ("dual", "--", "white"))
        )  # fmt: skip

    def _label(self, task: int, kind: str) -> str:
        if len(self.tasks) > 1:
            return self.names[task]
        return "gap after each round" if kind == "gap" else ""

    def _title(self, chosen: list[int]) -> str | None:
        """What the legend says about tasks that are not drawn."""
        if len(chosen) == len(self.tasks):
            return None
        few = "the worst" if len(chosen) == 1 and chosen[0] == max(self.tasks, key=self._last) else str(len(chosen))
        return f"{few} of {len(self.tasks)} tasks"

    def _interesting(self, chosen: list[int]) -> tuple[float, float]:
        """Limits of the axis: around the last objective values, since the first may be orders of magnitude away."""
        rounds = [self._rounds(task) for task in chosen]
        seen = np.concatenate([part[value] for part in rounds for value in ("primal", "dual")])
        last = np.array([part[value][-1] for part in rounds for value in ("primal", "dual")])
        seen, last = seen[np.isfinite(seen)], last[np.isfinite(last)]
        reach = float(np.abs(last).max(initial=0.0)) or float(np.ptp(seen)) or 1.0
        low, high = max(seen.min(), last.min() - 1.5 * reach), min(seen.max(), last.max() + 1.5 * reach)
        room = 0.05 * (high - low) or 0.05 * reach
        return low - room, high + room

    def _certificate_label(self, chosen: list[int]) -> str:
        worst = max(self._last(task) for task in chosen)
        return f"certificate: {worst:.1e}" if len(chosen) == 1 else f"certificates, the worst {worst:.1e}"


def _join(name: str, value: str) -> str:
    return f"{name}, {value}" if name else f"{value} value"
