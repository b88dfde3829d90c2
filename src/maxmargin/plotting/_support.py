"""The dual variables and the slacks of a fit, as histograms."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.inspection import status
from maxmargin.plotting._shared import BLUE, GREY, ORANGE, Display, before_last, final_step


@dataclass(eq=False, repr=False)
class SupportDisplay(Display):
    """Histograms of the dual variables alpha and of the slacks xi of a machine's training rows.

    Rows at 0, most of them as a rule, are counted in the legend instead of drawn. Make one with
    :meth:`from_estimator`.

    Parameters
    ----------
    alpha, slack : ndarrays of shape (n,)
        The dual variable and the slack of every row (and task).
    bound : ndarray of bool of shape (n,)
        Whether alpha is at its largest value.
    classifies : bool, default=True
        Whether a slack above 1 is a mistake; for a regressor or a one-class machine it is not.
    name : str, optional
        The task, for the title.
    tol : float or ndarray of shape (n,), default=0.0
        Slacks this near to 0 and 1 count as equal to them; :meth:`from_estimator` takes
        :func:`maxmargin.inspection.tolerance`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the dual variables are.
    axes_ : tuple of two Axes
        Dual variables and slacks.
    alpha_bars_, slack_bars_ : list of BarContainer
        Unbound and bound support vectors; rows inside the strip and misclassified ones.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> from maxmargin.plotting import SupportDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[50:], y[50:]
    >>> model = SVC(C=10).fit(X, y)
    >>> display = SupportDisplay.from_estimator(model, X, y)
    >>> int((display.alpha > 0).sum()) == len(model.support_)
    True
    """

    alpha: NDArray[Any]
    slack: NDArray[Any]
    bound: NDArray[Any]
    _: KW_ONLY
    classifies: bool = True
    name: str | None = None
    tol: float | NDArray[Any] = 0.0

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        task: int | None = None,
        bins: int = 20,
        ax: Any = None,
    ) -> SupportDisplay:
        """Draw the dual variables and slacks of a fitted machine.

        Parameters
        ----------
        model : estimator
            A fitted machine with slacks: a support vector classifier or regressor, a machine for one class, or a
            pipeline that ends with one.
        X, y, sample_weight
            Exactly the training data, in the same order.
        task : int, optional
            Number of the task to draw, for a classifier with more than two classes. None: all of them together.
        bins : int, default=20
            Number of bins of each histogram.
        ax : matplotlib Axes or pair of Axes, optional
            Where to draw; one Axes is split in two. None: in a new figure.

        Returns
        -------
        SupportDisplay
        """
        cls._require_matplotlib()
        machine, rows = final_step(model), before_last(model, X)
        found = status(machine, rows, y, sample_weight)
        alpha, slack, bound, tol = (
            np.asarray(part).reshape(len(found.status), -1)
            for part in (found.alpha, found.slack, found.bound, found.tol)
        )
        count, name = alpha.shape[1], None
        if task is not None:
            if not isinstance(task, (int, np.integer)) or not 0 <= task < count:
                raise ValueError(f"task must be the number of a task, 0 ... {count - 1}, or None; got {task!r}")
            alpha, slack, bound, tol = alpha[:, [task]], slack[:, [task]], bound[:, [task]], tol[:, [task]]
            name = found.tasks[task]
        own = ~np.isnan(alpha)
        classifies = hasattr(machine, "classes_")  # regressors and machines for one class do not
        display = cls(alpha[own], slack[own], bound[own], classifies=classifies, name=name, tol=tol[own])
        return display.plot(ax, bins=bins)

    def plot(self, ax: Any = None, *, bins: int = 20) -> SupportDisplay:
        """Draw the histograms.

        Parameters
        ----------
        ax : matplotlib Axes or pair of Axes, optional
            Where to draw; one Axes is split in two. None: in a new figure.
        bins : int, default=20
            Number of bins of each histogram.

        Returns
        -------
        self
        """
        if not isinstance(bins, (int, np.integer)) or bins < 1:
            raise ValueError(f"bins must be a whole number of at least 1; got {bins!r}")
        left, right = self._on_two(ax, (9.6, 4.0), nrows=1, ncols=2)
        used, late = self.alpha > 0, self.slack > self.tol
        parts = [self.alpha[used & ~self.bound], self.alpha[used & self.bound]]
        names = ["unbound, 0 < α < C" if self.bound.any() else "support vectors, α > 0", "bound, α = C"]
        self.alpha_bars_ = _stacked(left, parts, names, int(bins), f"α = 0: {_rows(~used)}")
        wrong = self.slack > 1 + self.tol if self.classifies else np.zeros(len(self.slack), dtype=bool)
        parts = [self.slack[late & ~wrong], self.slack[late & wrong]]
        names = ["inside the strip, 0 < ξ ≤ 1", "misclassified, ξ > 1"] if self.classifies else ["outside, ξ > 0", ""]
        self.slack_bars_ = _stacked(right, parts, names, int(bins), f"ξ = 0: {_rows(~late)}", self.classifies)
        left.set(xlabel="dual variable α", ylabel="rows")
        right.set(xlabel="slack ξ", ylabel="rows")
        if self.name is not None:
            left.set_title(self.name, loc="left", fontsize=10)
        return self


def _stacked(
    ax: Any, parts: list[NDArray[Any]], names: list[str], bins: int, rest: str, split_at_1: bool = False
) -> list[Any]:
    """Two stacked histograms, from 0 to the largest value; the rest is a line of the legend."""
    high = max((float(part.max()) for part in parts if len(part)), default=1.0)
    if split_at_1 and high > 1:  # no bin on both sides of 1
        width = 1.0 / max(1, round(bins / high))
        edges = width * np.arange(np.ceil(high / width) + 1)
    else:
        edges = np.linspace(0.0, high, bins + 1)
    below, bars = np.zeros(len(edges) - 1), []
    for part, name, colour in zip(parts, names, (BLUE, ORANGE), strict=True):
        counts = np.histogram(part, edges)[0]
        label = f"{name}: {len(part)}" if name and len(part) else None
        style = {"color": colour, "edgecolor": "white", "linewidth": 0.8}
        bars.append(ax.bar(edges[:-1], counts, np.diff(edges), below, align="edge", label=label, **style))
        below = below + counts
    ax.plot([], [], linestyle="none", label=rest)
    ax.set(xlim=(0.0, edges[-1]), ylim=(0.0, 1.3 * max(below.max(), 1.0)))  # with room for the legend
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.grid(True, axis="y", alpha=0.25, color=GREY)
    ax.set_axisbelow(True)
    ax.legend(fontsize=9, framealpha=0.9)
    return bars


def _rows(chosen: NDArray[Any]) -> str:
    count = int(np.count_nonzero(chosen))
    return f"{count} row" if count == 1 else f"{count} rows"
