"""Losses as curves, and the lines that support a convex one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.losses import Loss, ZeroOne, resolve_loss
from maxmargin.plotting._shared import BLUE, COLOURS, DASHES, INK, ORANGE, OnePart, pale

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


@dataclass(eq=False, repr=False)
class LossDisplay(OnePart):
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

    x: NDArray[Any]
    values: NDArray[Any]
    labels: list[str]
    against: str
    zero_one: bool = True

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
        cls._require_matplotlib()
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

    def _draw(self, ax: Any) -> None:
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


# -- The lines that support a convex loss at a point: its subdifferential as a fan ----------------------------------


#: Lines of a fan, its two ends included.
LINES = 7


@dataclass(eq=False, repr=False)
class SubgradientDisplay(OnePart):
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

    y: NDArray[Any]
    values: NDArray[Any]
    at: float
    height: float
    slopes: tuple[float, float]
    target: float
    label: str

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
        cls._require_matplotlib()
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

    def _draw(self, ax: Any) -> None:
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

    def _label(self) -> str:
        low, high = self.slopes
        if low == high:
            return f"tangent, slope {low:.3g}"
        return f"supporting lines, slopes from {low:.3g} to {high:.3g}"
