"""The Lagrangian of the soft margin as a saddle, and the two values that meet there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.inspection import TaskLagrangian, lagrangian
from maxmargin.plotting._shared import BLUE, GREY, INK, ORANGE, TwoParts, before_last, final_step

#: Levels of the contours.
LEVELS = 18
#: The height of the right part, in units of the optimum's.
ROOM = 2.4


class SaddleDisplay(TwoParts):
    """The Lagrangian L(s w, r alpha) of a fitted soft-margin machine, for multiples s of w and r of alpha.

    On the left L itself, lowest in s and highest in r at the optimum, s = r = 1, with the lowest point for every r.
    On the right the largest value of L for every s, which is the primal value, and the least for every r, the dual
    value: the one stays above the other, and at the optimum they meet. Make one with :meth:`from_estimator`.

    Parameters
    ----------
    task : TaskLagrangian
        Of :func:`maxmargin.inspection.lagrangian`.
    reach : float, default=2.0
        The multiples go from 0 to this.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where L is.
    axes_ : tuple of two Axes
        L, and the two values.
    multiples : ndarray of shape (n_points,)
        s and r.
    values : ndarray of shape (n_points, n_points)
        L, with r along the rows and s along the columns.
    contours_ : QuadContourSet
        L.
    valley_, saddle_ : Line2D
        The lowest point for every r, and s = r = 1.
    primal_, dual_ : Line2D
        The two values; the dual one ends where r alpha is above C.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> from maxmargin.plotting import SaddleDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[50:], y[50:]
    >>> display = SaddleDisplay.from_estimator(SVC(C=1, kernel="linear").fit(X, y), X, y)
    >>> bool(display.dual_.get_ydata().max() <= display.primal_.get_ydata().min() + 1e-9)
    True
    """

    SIZE = (11.0, 4.6)

    def __init__(self, task: TaskLagrangian, *, reach: float = 2.0, n_points: int = 201) -> None:
        if not 1 < reach < np.inf:
            raise ValueError(f"reach must be a finite number above 1, where the optimum is; got {reach!r}")
        if not task.norm > 0 or not task.alpha.any():
            raise ValueError("w or alpha is 0, so that it has no multiples; fit with a larger C")
        self.task, self.reach = task, float(reach)
        self.multiples = np.union1d(np.linspace(0.0, self.reach, n_points), [1.0])
        self.values: NDArray[Any] = task.value_at(self.multiples[None, :], self.multiples[:, None])

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        task: int = 0,
        reach: float = 2.0,
        ax: Any = None,
    ) -> SaddleDisplay:
        """Draw the saddle of a fitted machine.

        Parameters
        ----------
        model : estimator
            A fitted soft-margin classifier (see :func:`maxmargin.inspection.lagrangian`), or a pipeline that ends with
            one.
        X, y, sample_weight
            Exactly the training data, in the same order.
        task : int, default=0
            Number of the task to draw, of a classifier with more than two classes.
        reach : float, default=2.0
            The multiples go from 0 to this.
        ax : matplotlib Axes or pair of Axes, optional
            Where to draw; one Axes is split in two. None: in a new figure.

        Returns
        -------
        SaddleDisplay
        """
        cls._require_matplotlib()
        tasks = lagrangian(final_step(model), before_last(model, X), y, sample_weight).tasks
        if not isinstance(task, (int, np.integer)) or not 0 <= task < len(tasks):
            raise ValueError(f"task must be the number of a task, 0 ... {len(tasks) - 1}; got {task!r}")
        return cls(tasks[task], reach=reach).plot(ax)

    def _draw(self, left: Any, right: Any) -> None:
        self._draw_saddle(left)
        self._draw_values(right)

    # -- parts of the picture ---------------------------------------------------------------------------------

    def _draw_saddle(self, ax: Any) -> None:
        m, task = self.multiples, self.task
        self.contours_ = ax.contourf(m, m, self.values, levels=LEVELS, cmap="PuOr_r", alpha=0.75)
        ax.contour(m, m, self.values, levels=self.contours_.levels, colors=INK, linewidths=0.4, alpha=0.5)
        # the lowest s for every r: where the slope s |w|^2 - r w.v vanishes, v = sum alpha_i t_i phi(x_i)
        slope = float((task.alpha * task.sign) @ (task.f - task.intercept)) / task.norm**2
        (self.valley_,) = ax.plot(slope * m, m, color=INK, linestyle="--", linewidth=1.4, label="least L for every r")
        if task.largest_multiple < self.reach:
            edge = task.largest_multiple
            ax.axhspan(edge, self.reach, facecolor="none", edgecolor=GREY, hatch="//", linewidth=0.0, alpha=0.6)
            ax.axhline(edge, color=GREY, linewidth=1.2, label="above: some r α > C")
        saddle = f"the fitted point, L = {task.value:.4g}"
        (self.saddle_,) = ax.plot([1.0], [1.0], "o", color=ORANGE, markeredgecolor=INK, markersize=9, label=saddle)
        ax.set(xlim=(0.0, self.reach), ylim=(0.0, self.reach), xlabel="multiple s of w", ylabel="multiple r of α")
        ax.set_title("L(s w, r α)", loc="left", fontsize=10)
        ax.legend(loc="upper left", fontsize=9, framealpha=0.9)

    def _draw_values(self, ax: Any) -> None:
        m, task = self.multiples, self.task
        primal, dual = task.primal_at(m), task.dual_at(m)
        own = np.isfinite(dual)
        (self.primal_,) = ax.plot(m, primal, color=BLUE, linewidth=2.0, label="primal value at s w: max of L over α, μ")
        (self.dual_,) = ax.plot(
            m[own],
            dual[own],
            color=ORANGE,
            linestyle="--",
            linewidth=2.0,
            label="dual value at r α: min of L over w, b, ξ",
        )
        ends = [value for value in (task.primal, task.dual) if np.isfinite(value)]
        ax.plot([1.0] * len(ends), ends, "o", color=INK, markersize=6)
        low = float(np.min(dual[own], initial=0.0))
        high = max(task.primal, float(np.max(dual[own], initial=low)))  # where they meet; the ends may be far above
        ax.set(xlim=(0.0, self.reach), ylim=(low - 0.1 * (high - low), low + ROOM * (high - low)))
        ax.set(xlabel="multiple s of w, r of α", ylabel="objective value")
        ax.set_title("max min L ≤ min max L", loc="left", fontsize=10)
        ax.grid(True, alpha=0.25)
        ax.legend(loc="upper right", fontsize=9, framealpha=0.9)
