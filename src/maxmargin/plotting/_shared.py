"""What all displays share: axes to draw on, colours and markers, checks of their input."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from maxmargin.delivered import machine_of, read

# -- Where displays draw: matplotlib, loaded at first use, and the axes of a picture --------------------------------


INSTALL = 'pip install "maxmargin[plot]"'


class Display:
    """A picture of something computed; matplotlib is loaded when the first one is drawn."""

    ax_: Any
    figure_: Any
    axes_: tuple[Any, Any]

    @classmethod
    def _require_matplotlib(cls) -> None:
        """Say at once, before anything is computed, that matplotlib is missing and how to get it."""
        try:
            import matplotlib as mpl  # noqa: F401
        except ImportError as error:
            raise ImportError(f"{cls.__name__} draws with matplotlib, which is not installed: {INSTALL}") from error

    def _on(self, ax: Any, size: tuple[float, float]) -> Any:
        """The given axes, or those of a new pyplot figure."""
        self._require_matplotlib()
        from matplotlib.axes import Axes

        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=size, layout="constrained")[1]
        if not isinstance(ax, Axes):
            raise TypeError(f"ax must be a matplotlib Axes or None; got {type(ax).__name__}")
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _on_two(self, ax: Any, size: tuple[float, float], **grid: Any) -> tuple[Any, Any]:
        """Two axes: the given pair, one given axes split in two, or those of a new figure.

        ``grid`` goes to ``subplots`` or ``subgridspec``: how many rows and columns, and their relative sizes.
        """
        self._require_matplotlib()
        self.axes_ = self._pair(ax, size, **grid)
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        return self.axes_

    def _pair(self, ax: Any, size: tuple[float, float], **grid: Any) -> tuple[Any, Any]:
        from matplotlib.axes import Axes

        if ax is None:
            import matplotlib.pyplot as plt

            axes = plt.subplots(figsize=size, layout="constrained", **grid)[1]
            return axes[0], axes[1]
        if not isinstance(ax, Axes):
            pair = tuple(np.ravel(np.asarray(ax, dtype=object)))
            if len(pair) == 2 and all(isinstance(one, Axes) for one in pair):
                return pair
            raise TypeError(f"ax must be a matplotlib Axes, a pair of them or None; got {ax!r}")
        cell = ax.get_subplotspec()
        if cell is None:
            raise ValueError(
                f"{type(self).__name__} has two parts, and only axes of a grid (made by subplots) can be split; "
                "pass a pair of Axes as ax, or None"
            )
        ax.set_axis_off()
        parts = cell.subgridspec(**grid)
        return ax.figure.add_subplot(parts[0]), ax.figure.add_subplot(parts[1])


class OnePart(Display, ABC):
    """A display with one axes."""

    SIZE: ClassVar[tuple[float, float]] = (6.4, 4.6)

    def plot(self, ax: Any = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; None: in a new figure.

        Returns
        -------
        self
        """
        self._draw(self._on(ax, self.SIZE))
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw on these axes."""


class TwoParts(Display, ABC):
    """A display with two axes, side by side unless ``GRID`` says otherwise."""

    SIZE: ClassVar[tuple[float, float]] = (11.0, 4.8)
    GRID: ClassVar[dict[str, Any]] = {"nrows": 1, "ncols": 2}

    def plot(self, ax: Any = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes or pair of Axes, optional
            Where to draw; one Axes is split in two. None: in a new figure.

        Returns
        -------
        self
        """
        self._draw(*self._on_two(ax, self.SIZE, **self.GRID))
        return self

    @abstractmethod
    def _draw(self, first: Any, second: Any) -> None:
        """Draw on these axes."""


# -- Colours and markers that all displays share --------------------------------------------------------------------


BLUE, ORANGE, GREY, INK = "#2b6cb0", "#dd6b20", "#4a5568", "#1a202c"
#: Distinct with every common kind of colour blindness, blue and orange first; markers repeat what colours say.
COLOURS = (BLUE, ORANGE, "#1b9e77", "#d47fb4", "#ecc94b", "#7cc7ee", "#2d3748", "#8c4a2f", "#7c3aed", "#a8d5a2")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "p", "*")
DASHES: tuple[Any, ...] = (
    "-",
    "--",
    "-.",
    ":",
    (0, (5, 1, 1, 1, 1, 1)),
    (0, (1, 1)),
    (0, (7, 2)),
    (0, (3, 1, 1, 1)),
    (0, (9, 2, 2, 2)),
    (0, (2, 2)),
)
#: Mean distance of the colour of a region from white.
PALE = 0.1
#: The most names for which a legend has one column.
MOST_NAMES = 10


class ClassStyle(NamedTuple):
    """How the points of one class look."""

    colour: str
    marker: str


def class_style(number: int) -> ClassStyle:
    """Colours repeat after ten classes and markers after eleven, so that 110 classes differ."""
    return ClassStyle(COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)])


def pale(colour: str) -> tuple[float, float, float]:
    """The colour mixed with white until all are equally light, for a region behind points."""
    depth = [1 - int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    strength = PALE / (sum(depth) / 3)
    red, green, blue = (1 - strength * part for part in depth)
    return red, green, blue


# -- Checks of a display's input; every error says what was wrong, the value received, and what to do ---------------


def final_step(model: Any) -> Any:
    """The machine at the end of a pipeline, or the model itself."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def before_last(model: Any, X: Any) -> Any:
    """Rows as they reach the machine at the end of a pipeline."""
    return model[:-1].transform(X) if isinstance(model, Pipeline) and len(model) > 1 else X


def require_fitted(model: Any, attribute: str, why: str) -> Any:
    """A fitted attribute, or an error that says what it is needed for."""
    machine = final_step(model)
    if not hasattr(machine, attribute):
        raise ValueError(f"{type(machine).__name__} has no {attribute}: {why}")
    return getattr(machine, attribute)


def points(X: Any, what: str = "X") -> NDArray[np.float64]:
    """Rows of finite numbers as a dense array of two dimensions."""
    dense = X.toarray() if sp.issparse(X) else np.asarray(X)
    if dense.dtype.kind not in "biuf":
        try:
            dense = dense.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{what} must be numbers to be drawn; got values of type {dense.dtype}") from None
    if dense.ndim != 2:
        raise ValueError(f"{what} must have two dimensions, (rows, columns); got shape {dense.shape}")
    if len(dense) == 0:
        raise ValueError(f"{what} has no rows; there is nothing to draw")
    if not np.isfinite(dense).all():
        raise ValueError(f"{what} holds NaN or infinity; leave those rows out")
    return dense.astype(np.float64, copy=False)


def labels(y: Any, n: int, rows: str = "X") -> NDArray[Any]:
    """One label per row."""
    found = np.asarray(y)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1 or len(found) != n:
        raise ValueError(f"y must have one label for each of the {n} rows of {rows}; got shape {found.shape}")
    return found


def column_names(X: Any, fallback: str) -> list[str]:
    """Names of the columns of a data frame, or numbered ones."""
    count = X.shape[1] if hasattr(X, "shape") else len(X[0])
    names = getattr(X, "columns", None)
    return [str(name) for name in names] if names is not None else [f"{fallback} {k}" for k in range(1, count + 1)]


def task_names(model: Any, count: int) -> list[str]:
    """What each task of a model asks; numbers where there are not as many tasks as names."""
    machine = final_step(model)
    names = read(machine).names if machine_of(machine) is not None else []
    return names if len(names) == count else numbered_tasks(count)


def numbered_tasks(count: int) -> list[str]:
    """Names of tasks of which nothing is known but the numbers that the history gives them."""
    return [f"task {k}" for k in range(count)]
