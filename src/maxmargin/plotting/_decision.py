"""Decisions in the plane: regions, boundary, margins, and what the training rows are to them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.inspection import STATUSES, status, tolerance
from maxmargin.plotting._shared import (
    GREY,
    INK,
    OnePart,
    before_last,
    class_style,
    column_names,
    final_step,
    labels,
    pale,
    points,
)

#: Room around the points, as a share of their range.
ROOM = 0.08
#: Level lines of f: (level, dashes, width, colour).
LEVELS = ((-1.0, (0, (4, 3)), 1.2, GREY), (0.0, "-", 2.0, INK), (1.0, (0, (4, 3)), 1.2, GREY))
#: Names of the two sides of a machine for one class, by the sign of f.
SIDES = ("outside", "inside")


class DecisionDisplay(OnePart):
    """Decisions of a machine with two features: regions, boundary, margins, and the rows by their status.

    Two classes are divided by the line f = 0 between the margins f = -1 and f = +1 (a calibrated model predicts the
    likelier class, and changes its mind close to that line); more classes have a region each.
    Training rows are marked by what they are to the solution: not a support vector, on the margin, inside the strip,
    misclassified. Make one with :meth:`from_estimator`.

    Parameters
    ----------
    x, y : ndarrays of shape (n_x,) and (n_y,)
        The grid.
    f : ndarray of shape (n_y, n_x) or None
        Scores on the grid, for one or two classes; None for more.
    regions : ndarray of int of shape (n_y, n_x)
        The class that the model decides on, as its number.
    classes : sequence
        Names of the classes.
    rows : ndarray of shape (n_samples, 2)
        Points to draw.
    label : ndarray of int of shape (n_samples,)
        Their classes, as numbers.
    marks : list of Marked, optional
        Rows to mark, by status.
    names : pair of str, default=('feature 1', 'feature 2')
        Names of the two features.
    levels : tuple of float, default=(-1, 0, 1)
        Scores at which to draw level lines.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the picture is.
    regions_ : list of one QuadContourSet or QuadMesh
        The filled regions.
    contours_ : list of QuadContourSet
        The level lines of f in one set; beyond two classes, the border of every class.
    points_ : list of PathCollection
        The points of every class.
    marks_ : dict of str to PathCollection
        The marks of every status.
    legend_ : Legend
        What everything means, with the number of rows of each status.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> from maxmargin.plotting import DecisionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[50:, 2:], y[50:]
    >>> model = SVC(kernel="linear").fit(X, y)
    >>> display = DecisionDisplay.from_estimator(model, X, y)
    >>> display.contours_[0].levels
    array([-1.,  0.,  1.])
    """

    SIZE = (8.0, 5.0)

    def __init__(
        self,
        x: NDArray[Any],
        y: NDArray[Any],
        f: NDArray[Any] | None,
        regions: NDArray[Any],
        classes: Any,
        *,
        rows: NDArray[Any],
        label: NDArray[Any],
        marks: list[Marked] | None = None,
        names: tuple[str, str] = ("feature 1", "feature 2"),
        levels: tuple[float, ...] = (-1.0, 0.0, 1.0),
    ) -> None:
        self.x, self.y, self.f, self.regions, self.classes = x, y, f, regions, classes
        self.rows, self.label, self.marks, self.names, self.levels = rows, label, marks or [], names, levels
        self.styles = [class_style(k) for k in range(len(classes))]
        if classes is SIDES:
            self.styles.reverse()  # inside is the first colour

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        support: str = "auto",
        grid_resolution: int = 250,
        ax: Any = None,
    ) -> DecisionDisplay:
        """Draw the decisions of a fitted machine and its training rows.

        Parameters
        ----------
        model : estimator
            A fitted classifier with two features, a pipeline that ends with one, or a machine for one class.
        X : array-like of shape (n_samples, 2)
            The rows that the model was fitted on, or others (see ``support``).
        y : array-like of shape (n_samples,)
            Their classes; not needed for a machine for one class.
        sample_weight : array-like of shape (n_samples,), optional
            Weights that the model was fitted with.
        support : {'auto', 'status', 'all', 'none'}, default='auto'
            How to mark rows. 'status': with two classes, each by its status (:func:`maxmargin.inspection.status`);
            with more, the support vectors of any task, and the rows that are misclassified. 'all': all support vectors
            alike. 'none': not at all. 'auto' is 'status' where model and rows allow it; for models without dual
            variables or far from their optimum, and for rows other than the training rows, it marks those inside the
            strip and those misclassified.
        grid_resolution : int, default=250
            Points of the grid in either direction.
        ax : matplotlib Axes, optional
            Where to draw; None: in a new figure.

        Returns
        -------
        DecisionDisplay
        """
        cls._require_matplotlib()
        if support not in ("auto", "status", "all", "none"):
            raise ValueError(f"support must be 'auto', 'status', 'all' or 'none'; got {support!r}")
        if not isinstance(grid_resolution, (int, np.integer)) or grid_resolution < 2:
            raise ValueError(f"grid_resolution must be a whole number of at least 2; got {grid_resolution!r}")
        rows = points(X)
        _require_plane(model, rows)
        classes, label = _classes(model, X, y, len(rows))
        grid_x, grid_y, grid = _grid(rows, grid_resolution, X)
        f, regions = _decisions(model, grid, classes, (grid_resolution, grid_resolution))
        first, second = column_names(X, "feature")
        marks = marked_rows(model, X, y, sample_weight, support)
        levels = (0.0,) if classes is SIDES else (-1.0, 0.0, 1.0)
        display = cls(
            grid_x, grid_y, f, regions, classes, rows=rows, label=label, marks=marks, names=(first, second),
            levels=levels,
        )  # fmt: skip
        return display.plot(ax)

    def _draw(self, ax: Any) -> None:
        handles = self._draw_levels(ax) if self.f is not None else self._draw_regions(ax)
        self.points_ = []
        for k, name in enumerate(self.classes):
            style, own = self.styles[k], self.rows[self.label == k]
            self.points_.append(
                ax.scatter(
                    *own.T, s=18, color=style.colour, marker=style.marker, linewidths=0, zorder=3, label=str(name)
                )
            )
        self.marks_ = {
            mark.status: self._draw_mark(ax, mark) for mark in self.marks if len(mark.rows) and mark.status != IDLE
        }
        ax.set(xlim=(self.x[0], self.x[-1]), ylim=(self.y[0], self.y[-1]))
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        self.legend_ = ax.legend(
            handles=[*self.points_, *handles, *self._summary(ax), *self.marks_.values()], loc="upper left",
            bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=9, borderaxespad=0.0,
        )  # fmt: skip

    def _summary(self, ax: Any) -> list[Any]:
        """Lines of the legend without a mark: how many rows are no support vectors, and how many are."""
        sizes = {mark.status: len(mark.rows) for mark in self.marks}
        if IDLE not in sizes:
            return []
        dot = ax.plot([], [], "o", color=GREY, markersize=4, label=f"{IDLE} ({sizes[IDLE]})")
        heading = f"{SUPPORT} ({sum(sizes.values()) - sizes[IDLE]})"
        return [*dot, *ax.plot([], [], linestyle="none", label=heading)]

    def _draw_levels(self, ax: Any) -> list[Any]:
        """Two regions and the level lines of f; handles for the legend."""
        colours = [pale(style.colour) for style in self.styles]
        self.regions_ = [ax.contourf(self.x, self.y, self.f, levels=[-np.inf, 0.0, np.inf], colors=colours, zorder=0)]
        f = self.f
        assert f is not None  # there are two sides
        seen = [style for style in LEVELS if style[0] in self.levels and f.min() < style[0] < f.max()]
        if not seen:
            self.contours_ = []
            return []
        levels, dashes, widths, colours_of_lines = zip(*seen, strict=True)
        self.contours_ = [
            ax.contour(
                self.x,
                self.y,
                f,
                levels=levels,
                linestyles=dashes,
                linewidths=widths,
                colors=colours_of_lines,
                zorder=2,
            )
        ]
        handles = ax.plot([], [], color=INK, linewidth=2.0, label="boundary, f = 0") if 0.0 in levels else []
        if len(levels) > 1 or 0.0 not in levels:
            handles += ax.plot([], [], color=GREY, linestyle=(0, (4, 3)), linewidth=1.2, label="margins, f = ±1")
        return handles

    def _draw_regions(self, ax: Any) -> list[Any]:
        """A region for every class, with its border; handles for the legend."""
        from matplotlib.colors import ListedColormap
        from scipy.ndimage import gaussian_filter

        colours = ListedColormap([pale(style.colour) for style in self.styles])
        limits = {"vmin": -0.5, "vmax": len(self.styles) - 0.5}
        self.regions_ = [
            ax.pcolormesh(
                self.x, self.y, self.regions, cmap=colours, shading="nearest", rasterized=True, zorder=0, **limits
            )
        ]
        self.contours_ = []
        for k in np.unique(self.regions) if np.ptp(self.regions) else ():
            own = gaussian_filter((self.regions == k).astype(float), 1.0, mode="nearest")  # stairs become lines
            self.contours_.append(ax.contour(self.x, self.y, own, levels=[0.5], colors=INK, linewidths=1.4, zorder=2))
        return ax.plot([], [], color=INK, linewidth=1.4, label="boundaries") if self.contours_ else []

    def _draw_mark(self, ax: Any, mark: Marked) -> Any:
        label = f"{mark.status} ({len(mark.rows)})"
        return ax.scatter(*self.rows[mark.rows].T, **{"zorder": 4, **MARKS[mark.status]}, label=label)


def _require_plane(model: Any, rows: NDArray[Any]) -> None:
    if rows.shape[1] != 2:
        raise ValueError(
            f"decisions are drawn in the plane, but X has {rows.shape[1]} features: fit on two columns "
            "(X[:, [0, 1]]), or on a projection (sklearn.decomposition.PCA(n_components=2))"
        )
    for name in ("decision_function", "predict"):
        if not hasattr(model, name):
            raise ValueError(
                f"{type(final_step(model)).__name__} has no {name}: decisions are drawn of classifiers and of machines "
                "for one class"
            )


def _classes(model: Any, X: Any, y: Any, n: int) -> tuple[Any, NDArray[Any]]:
    """(names of the classes, the class of every row as a number)."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return SIDES, (np.asarray(model.predict(X)) > 0).astype(int)
    if y is None:
        raise ValueError("y is None: the classes of the rows are needed to draw them")
    y = labels(y, n)
    label = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    strangers = np.unique(y[classes[label] != y])
    if len(strangers):
        raise ValueError(f"y has classes that the model does not know: {strangers.tolist()}; it knows {list(classes)}")
    return classes, label


def _grid(rows: NDArray[Any], resolution: int, X: Any) -> tuple[NDArray[Any], NDArray[Any], Any]:
    """(x, y, all points of the grid as rows; a data frame if X is one, so that names are known)."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    room = ROOM * np.where(high > low, high - low, 1.0)
    x, y = (np.linspace(low[k] - room[k], high[k] + room[k], resolution) for k in range(2))
    grid = np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
    return x, y, type(X)(grid, columns=X.columns) if hasattr(X, "iloc") else grid


def _decisions(model: Any, grid: Any, classes: Any, shape: tuple[int, int]) -> tuple[NDArray[Any] | None, NDArray[Any]]:
    """(scores of two sides, or None for more classes; numbers of the classes decided on)."""
    if len(classes) == 2:
        f = np.asarray(model.decision_function(grid)).reshape(shape)
        return f, (f > 0).astype(int)
    return None, np.searchsorted(classes, model.predict(grid)).reshape(shape)


# -- Which training rows a picture marks, and how: by their status, or as support vectors ---------------------------


SUPPORT, WRONG = "support vectors", "misclassified"
IDLE, STRIP, ODD = STATUSES[0], STATUSES[3], STATUSES[-1]
RING = {"facecolors": "none", "edgecolors": INK}
#: Keywords of ``scatter`` by status; rows without a mark are those that the solution would not miss.
MARKS: dict[str, dict[str, Any]] = {
    "on the margin": {**RING, "s": 95, "linewidths": 1.7},
    "bound, on the margin": {**RING, "s": 85, "linewidths": 1.3, "marker": "s"},
    "inside the strip": {**RING, "s": 58, "linewidths": 0.8},
    "on the hyperplane": {"color": INK, "s": 70, "linewidths": 1.4, "marker": "+"},
    WRONG: {"color": INK, "s": 75, "linewidths": 1.3, "marker": "x", "zorder": 2.5},  # its arms show around the point
    ODD: {"facecolors": "none", "edgecolors": "#b83280", "s": 85, "linewidths": 1.2, "marker": "D"},
    SUPPORT: {**RING, "s": 60, "linewidths": 0.7},
}
#: Share of the rows that may be 'not optimal' before statuses say more about the fit than about the rows.
MOST_ODD = 0.02


class Marked(NamedTuple):
    """Rows that are marked alike."""

    status: str
    rows: NDArray[Any]


def marked_rows(model: Any, X: Any, y: Any, sample_weight: Any, support: str) -> list[Marked]:
    """Rows by status, as ``support`` asks ('auto': as far as the model and the rows can tell)."""
    machine, rows = final_step(model), before_last(model, X)
    if support == "none":
        return []
    if support == "all":
        return [Marked(SUPPORT, _support(machine, rows))]
    try:
        if len(getattr(model, "classes_", ())) != 2:
            return [Marked(SUPPORT, _support(machine, rows)), *_wrong(model, X, y)]
        found = _by_status(machine, rows, y, sample_weight)
        sizes = {mark.status: len(mark.rows) for mark in found}
        if support == "status" or sizes[ODD] <= MOST_ODD * sum(sizes.values()):
            return found
    except (TypeError, ValueError):  # a loss without slack, no dual variables, or not the training rows
        if support == "status":
            raise
    return _wrong(model, X, y)


def _by_status(machine: Any, rows: Any, y: Any, sample_weight: Any) -> list[Marked]:
    found = status(machine, rows, y, sample_weight).status
    return [Marked(name, np.flatnonzero(found == name)) for name in (*STATUSES[1:], IDLE)]


def _wrong(model: Any, X: Any, y: Any) -> list[Marked]:
    """What can be said about any rows of a classifier: which are misclassified and, with two classes, in the strip."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return []
    y = np.asarray(y).ravel()
    if len(classes) > 2:
        return [Marked(WRONG, np.flatnonzero(np.asarray(model.predict(X)) != y))]
    margin = np.where(y == classes[1], 1.0, -1.0) * np.asarray(model.decision_function(X))
    short = margin < 1.0 - _tolerance(model, X)  # rows on the margin are not inside the strip
    return [Marked(STRIP, np.flatnonzero((margin > 0) & short)), Marked(WRONG, np.flatnonzero(margin <= 0))]


def _tolerance(model: Any, X: Any) -> Any:
    """How near counts as on the margin; 0 for machines that inspection does not read."""
    try:
        return tolerance(final_step(model), before_last(model, X))
    except (TypeError, ValueError):
        return 0.0


def _support(machine: Any, rows: Any) -> NDArray[Any]:
    """Numbers of the support vectors among the training rows."""
    name = type(machine).__name__
    if not hasattr(machine, "support_"):
        raise ValueError(f"{name} keeps no support vectors; draw its decisions with support='none'")
    support, n = np.asarray(machine.support_), rows.shape[0] if hasattr(rows, "shape") else len(rows)
    known = int(np.max(support, initial=-1)) < n and getattr(machine, "shape_fit_", (n,))[0] == n
    vectors = getattr(machine, "support_vectors_", None)
    if known and vectors is not None:
        known = np.allclose(points(rows)[support], points(vectors) if len(support) else 0.0, rtol=1e-5, atol=0.0)
    if not known:
        raise ValueError(
            f"the support vectors of {name} are not among the rows of X: pass the training rows, in the same order, or "
            "draw other rows with support='none'"
        )
    return support
