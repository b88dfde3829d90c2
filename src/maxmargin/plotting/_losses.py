"""Losses as curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.losses import Loss, ZeroOne, resolve_loss
from maxmargin.plotting._canvas import one_axes, require_matplotlib
from maxmargin.plotting._style import COLOURS, DASHES, INK

#: What is drawn by default: the losses of the margin.
MARGIN_LOSSES = ("hinge", "squared_hinge", "logistic", "exponential", "squared", "perceptron", "sigmoid")
AXES = {"margin": "margin  t · y", "residual": "residual  t − y"}
#: Curves leave the picture above this value, below which the losses differ most.
TOP = 4.0
NAMES = {
    "zero_one": "0/1", "epsilon_insensitive": "ε-insensitive", "huber": "Huber",
    "squared_epsilon_insensitive": "squared ε-insensitive",
}  # fmt: skip
SYMBOLS = {"epsilon": "ε", "delta": "δ", "quantile": "q"}


class LossDisplay:
    """Losses L(t, y) as curves: against the margin t y, or against the residual t - y of a regression.

    Make one with :meth:`from_losses`.

    Parameters
    ----------
    x : ndarray of shape (n_points,)
        Margins or residuals.
    values : ndarray of shape (n_losses, n_points)
        Every loss there.
    labels : list of str
        Names of the losses.
    against : {'margin', 'residual'}
        What ``x`` is.
    zero_one : bool, default=True
        Whether to draw the 0/1 loss beside them; only against the margin.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the curves are.
    lines_ : list of Line2D
        One per loss.
    zero_one_ : Line2D or None
        The 0/1 loss.

    Examples
    --------
    >>> from maxmargin.plotting import LossDisplay
    >>> display = LossDisplay.from_losses(["hinge", "logistic"])
    >>> [line.get_label() for line in display.lines_], display.ax_.get_xlabel()
    (['hinge', 'logistic'], 'margin  t · y')
    """

    ax_: Any
    figure_: Any
    lines_: list[Any]
    zero_one_: Any

    def __init__(
        self, x: NDArray[Any], values: NDArray[Any], labels: list[str], against: str, zero_one: bool = True
    ) -> None:
        self.x, self.values, self.labels, self.against, self.zero_one = x, values, labels, against, zero_one

    @classmethod
    def from_losses(
        cls,
        losses: Sequence[str | Loss] | None = None,
        *,
        against: str = "auto",
        limits: tuple[float, float] = (-2.5, 2.5),
        n_points: int = 501,
        zero_one: bool = True,
        ax: Any = None,
    ) -> LossDisplay:
        """Draw losses.

        Parameters
        ----------
        losses : sequence of str or Loss, optional
            Names, or values of :mod:`maxmargin.losses` where they have options: ``Huber(delta=0.5)``. None: those of
            the margin.
        against : {'auto', 'margin', 'residual'}, default='auto'
            The horizontal axis. 'auto' is 'residual' if no loss depends on the margin alone. A loss of the residual
            may be drawn against the margin if it is symmetric: (t - y)^2 = (1 - t y)^2 for t = -1 or +1.
        limits : tuple of two floats, default=(-2.5, 2.5)
            Range of the horizontal axis.
        n_points : int, default=501
            Points of every curve.
        zero_one : bool, default=True
            Whether to draw the 0/1 loss too, against the margin.
        ax : matplotlib Axes, optional
            Where to draw; None: in a new figure.

        Returns
        -------
        LossDisplay
        """
        require_matplotlib(cls.__name__)
        chosen = _resolved(MARGIN_LOSSES if losses is None else losses)
        if against not in ("auto", *AXES):
            raise ValueError(f"against must be 'auto', 'margin' or 'residual'; got {against!r}")
        if against == "auto":
            against = "margin" if any(loss.of_margin for loss in chosen) else "residual"
        low, high = (float(limit) for limit in limits)
        if not low < high or not np.isfinite(high - low):
            raise ValueError(f"limits must be two finite numbers, the smaller one first; got {limits!r}")
        x = np.linspace(low, high, n_points)
        curve = _of_margin if against == "margin" else _of_residual
        values = np.array([curve(loss, x) for loss in chosen]).reshape(len(chosen), n_points)
        return cls(x, values, [loss_label(loss) for loss in chosen], against, zero_one).plot(ax)

    def plot(self, ax: Any = None) -> LossDisplay:
        """Draw the curves.

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
        self.lines_ = [
            ax.plot(
                self.x, curve, color=COLOURS[k % len(COLOURS)], linestyle=DASHES[k % len(DASHES)], linewidth=1.9,
                label=label,
            )[0]
            for k, (curve, label) in enumerate(zip(self.values, self.labels, strict=True))
        ]  # fmt: skip
        self.zero_one_ = self._draw_zero_one(ax) if self.zero_one and self.against == "margin" else None
        highest = np.max(self.values[np.isfinite(self.values)], initial=1.0)
        ax.set(xlim=(self.x[0], self.x[-1]), ylim=(-0.12, min(TOP, 1.06 * highest)))
        ax.set(xlabel=AXES[self.against], ylabel="loss  L(t, y)")
        ax.grid(True, alpha=0.25)
        ax.legend(loc="upper right" if self.against == "margin" else "upper center", fontsize=9, framealpha=0.9)
        return self

    def _draw_zero_one(self, ax: Any) -> Any:
        """The step with its two ends: 1 at the margin 0, and 0 to the right of it."""
        x = np.array([self.x[0], 0.0, 0.0, self.x[-1]])
        y = np.array([1.0, 1.0, np.nan, np.nan])
        ax.plot(x[2:], [0.0, 0.0], color=INK, linewidth=2.6, solid_capstyle="butt", zorder=1.9)
        ax.plot([0.0], [1.0], "o", color=INK, markersize=6, zorder=3)
        ax.plot([0.0], [0.0], "o", color=INK, markersize=6, markerfacecolor="white", zorder=3)
        return ax.plot(x, y, color=INK, linewidth=2.6, solid_capstyle="butt", zorder=1.9, label="0/1")[0]


def _resolved(losses: Sequence[str | Loss]) -> list[Loss]:
    """Losses by name or value; the 0/1 loss is drawn as a step of its own."""
    if isinstance(losses, (str, Loss)):
        losses = [losses]
    found = [loss for loss in map(resolve_loss, losses) if not isinstance(loss, ZeroOne)]
    if not found and not len(losses):
        raise ValueError("losses is empty; name at least one, for example ['hinge']")
    return found


def _of_margin(loss: Loss, margin: NDArray[Any]) -> NDArray[Any]:
    positive, negative = loss.value(np.ones_like(margin), margin), loss.value(-np.ones_like(margin), -margin)
    if not np.allclose(positive, negative):
        raise ValueError(
            f"the loss {loss_label(loss)} is not a function of the margin t y: it treats t = 1 and t = -1 differently; "
            "draw it with against='residual'"
        )
    return positive


def _of_residual(loss: Loss, residual: NDArray[Any]) -> NDArray[Any]:
    if loss.of_margin:
        raise ValueError(
            f"the loss {loss_label(loss)} is a function of the margin t y, not of the residual t - y; "
            "draw it with against='margin'"
        )
    return loss.value(residual, np.zeros_like(residual))


def loss_label(loss: Loss) -> str:
    """The loss in words, with its options."""
    name = NAMES.get(loss.name, loss.name.replace("_", " "))
    options = [f"{SYMBOLS.get(f.name, f.name)} = {getattr(loss, f.name):g}" for f in fields(loss)]
    return ", ".join([name, *options])
