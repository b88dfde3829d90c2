"""Many perceptrons on the same rows, beside the one hyperplane that is farthest from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import SVC, Perceptron
from maxmargin.inspection import margins, mistake_bound
from maxmargin.plotting._shared import (
    BLUE,
    GREY,
    INK,
    TwoParts,
    class_style,
    column_names,
    labels,
    pale,
    points,
)

#: Room around the points, in units of their range.
ROOM = 0.12
#: The largest ratio of the features' ranges with which both have the same scale, and the shape of that picture.
LONGEST, SHAPE = 4.0, 1.2
#: Most passes of a perceptron; where rows can be separated it stops by itself.
PASSES = 100_000


class PerceptronDisplay(TwoParts):
    """Lines of perceptrons that saw the same rows in different orders, beside the widest strip between the classes.

    On the left every perceptron's line, and the strip of the hard margin, which no other line has. On the right, for
    every perceptron, how many mistakes it made and how large the margin is that it ended with: mistakes stay below
    Novikoff's bound (R / gamma)^2, margins below the widest. Make one with :meth:`from_data`.

    Parameters
    ----------
    X : ndarray of shape (n, 2)
        Rows.
    y : ndarray of shape (n,)
        Their classes.
    coefs : ndarray of shape (n_perceptrons, 3)
        w1, w2 and b of every perceptron.
    mistakes, margins : ndarrays of shape (n_perceptrons,)
        Mistakes that it made, and its geometric margin.
    bound : float
        (R / gamma)^2.
    widest : tuple of (ndarray of shape (2,), float)
        w and b of the hard margin, f being 1 and -1 at the edges of the strip.
    names : sequence of str, optional
        Names of the features.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the lines are.
    axes_ : tuple of two Axes
        Lines, and mistakes with margins.
    widest_margin : float
        1 / ||w|| of the hard margin.
    lines_ : list of Line2D
        One per perceptron.
    widest_line_ : Line2D
        The middle of the strip.
    strip_ : Polygon
        The strip.
    marks_ : Line2D
        A mark per perceptron on the right.
    bound_line_, margin_line_ : Line2D
        The two limits.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.plotting import PerceptronDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = PerceptronDisplay.from_data(X[:, 2:], y == 0, seeds=10)
    >>> len(display.lines_), bool(display.mistakes.max() <= display.bound)
    (10, True)
    >>> bool(display.margins.max() <= display.widest_margin)
    True
    """

    def __init__(
        self,
        X: NDArray[Any],
        y: NDArray[Any],
        coefs: NDArray[Any],
        mistakes: NDArray[Any],
        margins: NDArray[Any],
        bound: float,
        widest: tuple[NDArray[Any], float],
        names: Sequence[str] = ("feature 1", "feature 2"),
    ) -> None:
        self.X, self.y, self.coefs, self.mistakes, self.margins = X, y, coefs, mistakes, margins
        self.bound, self.widest, self.names = bound, widest, list(names)
        self.widest_margin = 1.0 / float(np.linalg.norm(widest[0]))

    @classmethod
    def from_data(
        cls, X: Any, y: Any, *, seeds: int | Sequence[int] = 20, max_iter: int = PASSES, ax: Any = None
    ) -> PerceptronDisplay:
        """Fit perceptrons and a hard margin, and draw them.

        Parameters
        ----------
        X : array-like of shape (n, 2)
            Rows that a line separates.
        y : array-like of shape (n,)
            Their classes, two of them.
        seeds : int or sequence of int, default=20
            ``random_state`` of every perceptron, which is the order in which it sees the rows; a number: 0 up to it.
        max_iter : int, default=100,000
            Most passes of each.
        ax : matplotlib Axes or pair of Axes, optional
            Where to draw; one Axes is split in two. None: in a new figure.

        Returns
        -------
        PerceptronDisplay
        """
        cls._require_matplotlib()
        names, X = column_names(X, "feature"), points(X)
        y = labels(y, len(X))
        if X.shape[1] != 2:
            raise ValueError(f"lines are drawn in the plane, but X has {X.shape[1]} features; choose two of them")
        if len(np.unique(y)) != 2:
            raise ValueError(f"a perceptron's line tells two classes apart; y has {len(np.unique(y))}")
        numbers = list(range(seeds)) if isinstance(seeds, (int, np.integer)) else [int(seed) for seed in seeds]
        if not numbers:
            raise ValueError(f"seeds must be a positive number, or several seeds; got {seeds!r}")
        hard = SVC(kernel="linear", C=np.inf).fit(X, y)  # says why, if no line separates the classes
        models = [Perceptron(max_iter=max_iter, random_state=seed).fit(X, y) for seed in numbers]
        return cls(
            X,
            y,
            np.array([[*model.coef_[0], model.intercept_[0]] for model in models]),
            np.array([int(model.mistakes_[0]) for model in models]),
            np.array([float(margins(model, X, y).geometric_margin) for model in models]),
            float(mistake_bound(X, y).bound),
            (hard.coef_[0], float(hard.intercept_[0])),
            names,
        ).plot(ax)

    def _draw(self, left: Any, right: Any) -> None:
        self._draw_lines(left)
        self._draw_mistakes(right)

    # -- parts of the picture ---------------------------------------------------------------------------------

    def _draw_lines(self, ax: Any) -> None:
        low, high = self.X.min(axis=0), self.X.max(axis=0)
        room = ROOM * np.where(high > low, high - low, 1.0)
        low, high = low - room, high + room
        same_scale = np.ptp(high - low) <= (LONGEST - 1) * (high - low).min()
        if same_scale:
            wanting = np.maximum((high - low).max() / SHAPE - (high - low), 0.0) / 2
            low, high = low - wanting, high + wanting
        w, b = self.widest
        edges = [_ends(w, b + level, low, high) for level in (1.0, -1.0)]
        self.strip_ = ax.fill(*np.vstack([edges[0], edges[1][::-1]]).T, color=pale(BLUE), zorder=0.5)[0]
        self.lines_ = [
            ax.plot(*_ends(c[:2], c[2], low, high).T, color=GREY, linewidth=0.8, alpha=0.7, zorder=1)[0]
            for c in self.coefs
        ]
        self.lines_[0].set_label(f"{len(self.lines_)} perceptrons")
        name = f"hard margin, {self.widest_margin:.3g} to either side"
        (self.widest_line_,) = ax.plot(*_ends(w, b, low, high).T, color=BLUE, linewidth=2.2, zorder=2, label=name)
        for number, value in enumerate(np.unique(self.y)):
            style, own = class_style(number), self.y == value
            ax.plot(
                *self.X[own].T, style.marker, color=style.colour, markeredgecolor="white", label=str(value), zorder=3
            )
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel=self.names[0], ylabel=self.names[1])
        if same_scale:
            ax.set_aspect("equal")  # so that distances from the lines can be seen
        ax.legend(loc="best", fontsize=9, framealpha=0.9)

    def _draw_mistakes(self, ax: Any) -> None:
        (self.marks_,) = ax.plot(
            self.mistakes, self.margins, "o", color=GREY, markeredgecolor="white", markersize=8, label="a perceptron"
        )
        name = f"(R / γ)² = {self.bound:.4g}"
        self.bound_line_ = ax.axvline(self.bound, color=INK, linestyle="--", linewidth=1.6, label=name)
        self.margin_line_ = ax.axhline(
            self.widest_margin, color=BLUE, linewidth=2.2, label="margin of the widest strip"
        )
        low = max(1.0, float(self.mistakes.min()))
        ax.set(xscale="log", xlim=(low / 1.6, 1.6 * max(self.bound, low)), ylim=(0.0, 1.25 * self.widest_margin))
        ax.set(xlabel="mistakes while learning", ylabel="geometric margin")
        ax.grid(True, alpha=0.25)
        ax.legend(loc="center right", fontsize=9, framealpha=0.9)


def _ends(w: NDArray[Any], b: float, low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.float64]:
    """(2, 2) two points of the line w.x + b = 0, beyond a rectangle on either side."""
    centre, reach = (low + high) / 2, float(np.linalg.norm(high - low))
    size = float(w @ w)
    if size == 0:
        return np.full((2, 2), np.nan)
    foot = centre - w * (float(w @ centre) + b) / size
    along = np.array([-w[1], w[0]]) / np.sqrt(size)
    return np.array([foot - reach * along, foot + reach * along])
