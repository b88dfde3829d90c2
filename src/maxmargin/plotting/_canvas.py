"""Where displays draw: matplotlib, loaded at first use, and the axes of a picture."""

from __future__ import annotations

from typing import Any

import numpy as np

INSTALL = 'pip install "maxmargin[plot]"'


def require_matplotlib(display: str) -> None:
    """Say at once, before anything is computed, that matplotlib is missing and how to get it."""
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{display} draws with matplotlib, which is not installed: {INSTALL}") from error


def one_axes(ax: Any, display: str, size: tuple[float, float] = (6.4, 5.0)) -> Any:
    """The given axes, or those of a new pyplot figure."""
    require_matplotlib(display)
    from matplotlib.axes import Axes

    if ax is None:
        import matplotlib.pyplot as plt

        return plt.subplots(figsize=size, layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise TypeError(f"ax must be a matplotlib Axes or None; got {type(ax).__name__}")
    return ax


def two_axes(ax: Any, display: str, size: tuple[float, float], **grid: Any) -> tuple[Any, Any]:
    """Two axes: the given pair, one given axes split in two, or those of a new figure.

    ``grid`` goes to ``subplots`` or ``subgridspec``: how many rows and columns, and their relative sizes.
    """
    require_matplotlib(display)
    from matplotlib.axes import Axes

    if ax is None:
        import matplotlib.pyplot as plt

        ratios = {key: grid[key] for key in ("height_ratios", "width_ratios") if key in grid}
        axes = plt.subplots(grid["nrows"], grid["ncols"], figsize=size, layout="constrained", **ratios)[1]
        return axes[0], axes[1]
    if not isinstance(ax, Axes):
        pair = tuple(np.ravel(np.asarray(ax, dtype=object)))
        if len(pair) == 2 and all(isinstance(one, Axes) for one in pair):
            return pair
        raise TypeError(f"ax must be a matplotlib Axes, a pair of them or None; got {ax!r}")
    cell = ax.get_subplotspec()
    if cell is None:
        raise ValueError(
            f"{display} has two parts, and only axes of a grid (made by subplots) can be split; "
            "pass a pair of Axes as ax, or None"
        )
    ax.set_axis_off()
    parts = cell.subgridspec(**grid)
    return ax.figure.add_subplot(parts[0]), ax.figure.add_subplot(parts[1])
