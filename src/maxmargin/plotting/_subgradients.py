"""The lines that support a convex loss at a point: its subdifferential as a fan."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.losses import Loss, resolve_loss
from maxmargin.plotting._canvas import one_axes, require_matplotlib
from maxmargin.plotting._losses import TOP, loss_label
from maxmargin.plotting._style import BLUE, INK, ORANGE, pale

#: Lines of a fan, its two ends included.
LINES = 7


class SubgradientDisplay:
    """A convex loss L(t, y) against the score y, with the lines that touch it at one score and stay below it.

    Their slopes are the subdifferential there: one line where the loss is smooth, a fan of them at a kink. Make one
    with :meth:`from_loss`.

    Parameters
    ----------
    y, values : ndarrays of shape (n_points,)
        Scores, and the loss there.
    at : float
        The score that the lines touch the loss at.
    height : float
        The loss at this score.
    slopes : tuple of two floats
        The lowest and the highest slope.
    target : float
        t.
    label : str
        The loss in words.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the curve is.
    curve_, point_ : Line2D
        The loss, and the point that the lines go through.
    lines_ : list of Line2D
        The lines, from the lowest slope to the highest; one if both are the same.
    fan_ : list of PolyCollection
        What the lines sweep over; empty if there is one.

    Examples
    --------
    >>> from maxmargin.plotting import SubgradientDisplay
    >>> SubgradientDisplay.from_loss("hinge", at=1.0).slopes
    (-1.0, 0.0)
    >>> len(SubgradientDisplay.from_loss("logistic", at=1.0).lines_)
    1
    """

    ax_: Any
    figure_: Any
    curve_: Any
    point_: Any
    lines_: list[Any]
    fan_: list[Any]

    def __init__(
        self,
        y: NDArray[Any],
        values: NDArray[Any],
        at: float,
        height: float,
        slopes: tuple[float, float],
        target: float,
        label: str,
    ) -> None:
        self.y, self.values, self.at, self.height = y, values, at, height
        self.slopes, self.target, self.label = slopes, target, label

    @classmethod
    def from_loss(
        cls,
        loss: str | Loss,
        at: float,
        *,
        target: float = 1.0,
        limits: tuple[float, float] | None = None,
        n_points: int = 501,
        ax: Any = None,
    ) -> SubgradientDisplay:
        """Draw a loss and the lines that support it at a score.

        Parameters
        ----------
        loss : str or Loss
            A convex loss: its name, or a value of :mod:`maxmargin.losses`.
        at : float
            The score y. A kink has to be hit exactly: t for the hinge, 0 for the perceptron, t - epsilon
            and t + epsilon for a tube.
        target : float, default=1.0
            t; -1 or 1 for losses of the margin.
        limits : tuple of two floats, optional
            Range of the scores. None: 2.5 to either side of ``at``.
        n_points : int, default=501
            Points of the curve.
        ax : matplotlib Axes, optional
            Where to draw; None: in a new figure.

        Returns
        -------
        SubgradientDisplay
        """
        require_matplotlib(cls.__name__)
        loss, at, target = resolve_loss(loss), float(at), float(target)
        if not loss.convex:
            raise ValueError(f"lines support a convex loss, and {loss.name} is not convex; draw it with LossDisplay")
        if loss.of_margin and abs(target) != 1:
            raise ValueError(f"the loss {loss_label(loss)} needs a target of -1 or 1; got {target!r}")
        if not (np.isfinite(at) and np.isfinite(target)):
            raise ValueError(f"at and target must be finite numbers; got at={at!r} and target={target!r}")
        low, high = (at - 2.5, at + 2.5) if limits is None else (float(limit) for limit in limits)
        if not low <= at <= high or not 0 < high - low < np.inf:
            raise ValueError(f"limits must be two finite numbers with at={at:g} between them; got {limits!r}")
        y = np.union1d(np.linspace(low, high, n_points), [at])
        ends = loss.subdifferential(target, at)
        slopes = (float(ends[0]), float(ends[1]))
        height = float(loss.value(target, at))
        return cls(y, loss.value(target, y), at, height, slopes, target, loss_label(loss)).plot(ax)

    def plot(self, ax: Any = None) -> SubgradientDisplay:
        """Draw the loss and the lines.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; None: in a new figure.

        Returns
        -------
        self
        """
        self.ax_ = ax = one_axes(ax, type(self).__name__, (6.4, 4.6))
        self.figure_ = ax.figure
        low, high = self.slopes
        slopes = np.array([low]) if low == high else np.linspace(low, high, LINES)
        lines = self.height + slopes[:, None] * (self.y - self.at)
        self.fan_ = [] if low == high else [ax.fill_between(self.y, lines[0], lines[-1], color=pale(ORANGE), zorder=1)]
        self.lines_ = [
            ax.plot(
                self.y, line, color=ORANGE, linewidth=1.6 if k in (0, len(lines) - 1) else 0.8, zorder=2,
                label=self._label() if k == 0 else None,
            )[0]
            for k, line in enumerate(lines)
        ]  # fmt: skip
        (self.curve_,) = ax.plot(self.y, self.values, color=BLUE, linewidth=2.4, label=self.label, zorder=3)
        (self.point_,) = ax.plot([self.at], [self.height], "o", color=INK, markersize=7, zorder=4)
        top = min(max(float(np.max(self.values[np.isfinite(self.values)], initial=1.0)), 1.0), TOP + self.height)
        ax.set(xlim=(self.y[0], self.y[-1]), ylim=(-0.35 * top, 1.06 * top))
        ax.set(xlabel=f"score  y   (target t = {self.target:g})", ylabel="loss  L(t, y)")
        ax.grid(True, alpha=0.25)
        ax.legend(loc="best", fontsize=9, framealpha=0.9)
        return self

    def _label(self) -> str:
        low, high = self.slopes
        if low == high:
            return f"tangent, slope {low:.3g}"
        return f"supporting lines, slopes from {low:.3g} to {high:.3g}"
