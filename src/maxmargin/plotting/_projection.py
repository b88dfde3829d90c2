"""Points projected onto a few directions, by class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin.plotting._shared import MOST_NAMES, OnePart, class_style, labels, points

#: Points of a density curve, and how far it goes beyond the data, as a share of their range.
CURVE, MARGIN = 400, 0.12
#: Height of the band of one class below the densities, as a share of the highest density.
BAND = 0.09


class ProjectionDisplay(OnePart):
    """Rows after a projection onto a few directions, such as discriminants or principal components.

    One column is drawn as a density for each class, with its points in a band below; two columns as a scatter of
    points; of more columns, the first two. Make one with :meth:`from_transform`.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_directions)
        Projected rows.
    y : ndarray of shape (n_samples,), optional
        Their classes.
    names : sequence of str, optional
        Names of the directions.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the points are.
    classes_ : ndarray
        The classes, in the order of the lists below.
    points_ : list of Line2D or PathCollection
        The points of every class.
    densities_ : list of Line2D or None
        With one direction, the density of every class; None where a class has too few different values.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    >>> from maxmargin.plotting import ProjectionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> Z = LinearDiscriminantAnalysis().fit(X, y).transform(X)
    >>> display = ProjectionDisplay.from_transform(Z, y)
    >>> len(display.points_), display.ax_.get_xlabel()
    (3, 'direction 1')
    """

    SIZE = (6.4, 5.0)

    def __init__(self, Z: NDArray[Any], y: NDArray[Any] | None = None, names: Sequence[str] | None = None) -> None:
        Z = Z if sp.issparse(Z) else np.asarray(Z)
        self.Z = points(Z[:, None] if Z.ndim == 1 else Z, "Z")
        if self.Z.shape[1] == 0:
            raise ValueError("Z has no columns; project onto one direction at least")
        self.y = None if y is None else labels(y, len(self.Z), "Z")
        self.classes_ = np.unique(np.zeros(len(self.Z)) if self.y is None else self.y)
        if names is not None and len(names) != self.Z.shape[1]:
            raise ValueError(f"Z has {self.Z.shape[1]} columns but there are {len(names)} names; give one each")
        self.names = [f"direction {k + 1}" for k in range(self.Z.shape[1])] if names is None else list(names)

    @classmethod
    def from_transform(
        cls, Z: Any, y: Any = None, *, names: Sequence[str] | None = None, ax: Any = None
    ) -> ProjectionDisplay:
        """Draw what a ``transform`` returned.

        Parameters
        ----------
        Z : array-like of shape (n_samples,) or (n_samples, n_directions)
            Projected rows.
        y : array-like of shape (n_samples,), optional
            Their classes. None: all are drawn alike.
        names : sequence of str, optional
            Names of the directions.
        ax : matplotlib Axes, optional
            Where to draw; None: in a new figure.

        Returns
        -------
        ProjectionDisplay
        """
        cls._require_matplotlib()
        return cls(Z, y, names).plot(ax)

    def _draw(self, ax: Any) -> None:
        self.points_: list[Any] = []
        self.densities_: list[Any] = []
        if self.Z.shape[1] == 1:
            self._draw_densities(ax)
        else:
            self._draw_scatter(ax)
        if self.y is not None:
            columns = 1 if len(self.classes_) <= MOST_NAMES else 2
            legend = ax.legend(title="class", loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=9,
                               ncols=columns, borderaxespad=0.0)  # fmt: skip
            for handle in legend.legend_handles:
                handle.set_alpha(1.0)

    def _own(self, k: int) -> NDArray[Any]:
        """Points of class number k."""
        return self.Z if self.y is None else self.Z[self.y == self.classes_[k]]

    def _draw_scatter(self, ax: Any) -> None:
        for k, name in enumerate(self.classes_):
            style = class_style(k)
            self.points_.append(
                ax.scatter(
                    *self._own(k)[:, :2].T, s=22, color=style.colour, marker=style.marker, alpha=0.8, linewidths=0,
                    label=str(name),
                )
            )  # fmt: skip
        ax.axhline(0.0, color="black", linewidth=0.6, alpha=0.4, zorder=0)
        ax.axvline(0.0, color="black", linewidth=0.6, alpha=0.4, zorder=0)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])

    def _draw_densities(self, ax: Any) -> None:
        low, high = self.Z.min(), self.Z.max()
        room = MARGIN * (high - low if high > low else 1.0)
        x = np.linspace(low - room, high + room, CURVE)
        curves = [_density(self._own(k)[:, 0], x) for k in range(len(self.classes_))]
        step = BAND * max((float(c.max()) for c in curves if c is not None), default=1.0)
        for k, (name, curve) in enumerate(zip(self.classes_, curves, strict=True)):
            style, own = class_style(k), self._own(k)[:, 0]
            line = None
            if curve is not None:
                (line,) = ax.plot(x, curve, color=style.colour, linewidth=1.8)
                ax.fill_between(x, curve, color=style.colour, alpha=0.15, linewidth=0)
            self.densities_.append(line)
            (band,) = ax.plot(
                own, np.full(len(own), -step * (k + 0.8)), style.marker, color=style.colour, markersize=4.5, alpha=0.45,
                markeredgewidth=0, label=str(name),
            )  # fmt: skip
            self.points_.append(band)
        ax.axhline(0.0, color="black", linewidth=0.8)
        ax.set(xlabel=self.names[0], ylabel="density", xlim=(x[0], x[-1]))
        ax.set_ylim(bottom=-step * (len(self.classes_) + 0.6))
        ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= ax.get_ylim()[1]])


def _density(values: NDArray[Any], x: NDArray[Any]) -> NDArray[Any] | None:
    """A Gaussian kernel density estimate; None for fewer than two different values."""
    if np.ptp(values) <= 1e-12 * np.abs(values).max(initial=0.0):
        return None
    from scipy.stats import gaussian_kde

    return gaussian_kde(values)(x)
