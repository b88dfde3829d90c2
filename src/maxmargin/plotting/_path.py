"""A regularisation path: coefficients against C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.plotting._shared import COLOURS, DASHES, GREY, INK, Display

#: Lines that get a colour and a name each; others are grey.
NAMED = len(COLOURS)
#: Points between the ends of an exact path, besides its breakpoints.
POINTS = 300


class PathDisplay(Display):
    """Coefficients, dual variables or anything else along a path of C, on a logarithmic axis.

    Make one with :meth:`from_arrays` or :meth:`from_path`. Where there are more than ten lines, those that reach
    farthest from 0 are coloured and named, and the others are grey.

    Parameters
    ----------
    Cs : ndarray of shape (n_Cs,)
        Values of C, positive and finite, in any order.
    values : ndarray of shape (n_Cs, n_lines)
        What every line is at each C.
    labels : sequence of str, optional
        Names of the lines.
    ylabel : str, default='coefficient'
        Name of the vertical axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the lines are.
    lines_ : list of Line2D
        All lines, in the order of the columns of ``values``.
    chosen_line_ : Line2D or None
        The line that marks the C that was chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.plotting import PathDisplay
    >>> data = load_iris()
    >>> Cs = np.logspace(-2, 2, 5)
    >>> fits = [LinearSVC("l1", C=C).fit(data.data, data.target == 1) for C in Cs]
    >>> coefs = np.array([model.coef_[0] for model in fits])
    >>> display = PathDisplay.from_arrays(Cs, coefs, data.feature_names)
    >>> len(display.lines_), display.ax_.get_xscale()
    (4, 'log')
    """

    def __init__(
        self,
        Cs: NDArray[Any],
        values: NDArray[Any],
        labels: Sequence[str] | None = None,
        ylabel: str = "coefficient",
    ) -> None:
        Cs, values = np.asarray(Cs, dtype=np.float64), np.asarray(values, dtype=np.float64)
        if Cs.ndim != 1 or len(Cs) == 0 or not np.all((Cs > 0) & np.isfinite(Cs)):
            raise ValueError(f"Cs must be a list of positive, finite numbers; got {Cs.tolist()!r}")
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or len(values) != len(Cs):
            raise ValueError(
                f"values must have a row for each of the {len(Cs)} values of C and a column per line; "
                f"got shape {values.shape}"
            )
        if labels is not None and len(labels) != values.shape[1]:
            raise ValueError(f"values has {values.shape[1]} columns but there are {len(labels)} labels; give one each")
        order = np.argsort(Cs, kind="stable")
        self.Cs, self.values, self.ylabel = Cs[order], values[order], ylabel
        self.labels = None if labels is None else [str(label) for label in labels]

    @classmethod
    def from_arrays(
        cls,
        Cs: Any,
        values: Any,
        labels: Sequence[str] | None = None,
        *,
        ylabel: str = "coefficient",
        chosen: float | None = None,
        ax: Any = None,
    ) -> PathDisplay:
        """Draw a path given as arrays.

        Parameters
        ----------
        Cs : array-like of shape (n_Cs,)
            Values of C, positive and finite, in any order.
        values : array-like of shape (n_Cs,) or (n_Cs, n_lines)
            What every line is at each C.
        labels : sequence of str, optional
            Names of the lines.
        ylabel : str, default='coefficient'
            Name of the vertical axis.
        chosen : float, optional
            A C to mark, for example the one that cross-validation chose.
        ax : matplotlib Axes, optional
            Where to draw; None: in a new figure.

        Returns
        -------
        PathDisplay
        """
        cls._require_matplotlib()
        return cls(Cs, values, labels, ylabel).plot(ax, chosen=chosen)

    @classmethod
    def from_path(
        cls,
        path: Any,
        labels: Sequence[str] | None = None,
        *,
        values: str = "coefs",
        chosen: float | None = None,
        ax: Any = None,
    ) -> PathDisplay:
        """Draw a path given as an object with the arrays as attributes.

        Parameters
        ----------
        path : object
            Has ``Cs`` of shape (n_Cs,), and ``coefs`` or whatever ``values`` names, of shape (n_Cs, n_lines): what
            :func:`maxmargin.regularization_path` returns. Exact paths are drawn linear in C between their breakpoints.
        labels : sequence of str, optional
            Names of the lines.
        values : str, default='coefs'
            Which attribute to draw: 'coefs', 'alphas', ...
        chosen : float, optional
            A C to mark.
        ax : matplotlib Axes, optional
            Where to draw; None: in a new figure.

        Returns
        -------
        PathDisplay
        """
        missing = [name for name in ("Cs", values) if not hasattr(path, name)]
        if missing:
            raise ValueError(
                f"{type(path).__name__} has no {' and no '.join(missing)}: a path has Cs and {values}; "
                "use from_arrays, or name another attribute with values=..."
            )
        name = {"coefs": "coefficient", "alphas": "dual variable α"}.get(values, values)
        found = getattr(path, values)
        if found is None:
            raise ValueError(f"this path has no {values}: they are there for machines with one task that have them")
        Cs, lines = _curved(path.Cs, found) if getattr(path, "exact", False) else (path.Cs, found)
        return cls.from_arrays(Cs, lines, labels, ylabel=name, chosen=chosen, ax=ax)

    def plot(self, ax: Any = None, *, chosen: float | None = None) -> PathDisplay:
        """Draw the lines.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; None: in a new figure.
        chosen : float, optional
            A C to mark.

        Returns
        -------
        self
        """
        ax = self._on(ax, (6.8, 4.6))
        count = self.values.shape[1]
        reach = np.max(np.abs(self.values), axis=0, initial=0.0)
        named = np.sort(np.argsort(-reach, kind="stable")[:NAMED]).tolist()
        self.lines_ = [self._draw(ax, k, named.index(k) if k in named else None) for k in range(count)]
        ax.axhline(0.0, color=INK, linewidth=0.8, zorder=1)
        self.chosen_line_ = None
        if chosen is not None:
            label = f"chosen, C = {chosen:.3g}"
            self.chosen_line_ = ax.axvline(chosen, color=GREY, linestyle=(0, (4, 3)), linewidth=1.2, label=label)
        if count > NAMED:
            ax.plot([], [], color=GREY, alpha=0.35, linewidth=1.0, label=f"{count - NAMED} others")
        ax.set(xscale="log", xlabel="C", ylabel=self.ylabel)
        ax.grid(True, alpha=0.25)
        if self.labels is not None or chosen is not None:
            ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=9, borderaxespad=0.0)
        return self

    def _draw(self, ax: Any, column: int, place: int | None) -> Any:
        """One line; ``place`` is that of its colour."""
        if place is None:
            style: dict[str, Any] = {"color": GREY, "alpha": 0.35, "linewidth": 1.0, "zorder": 1.5}
        else:
            style = {"color": COLOURS[place], "linestyle": DASHES[place], "linewidth": 1.8}
            style |= {"marker": "o", "markersize": 3.5} if len(self.Cs) <= 12 else {}
            style |= {"label": self.labels[column]} if self.labels is not None else {}
        return ax.plot(self.Cs, self.values[:, column], **style)[0]


def _curved(Cs: NDArray[Any], values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """More points between the breakpoints: what is linear in C is a curve on a logarithmic axis."""
    dense = np.unique(np.concatenate([Cs, np.geomspace(Cs[0], Cs[-1], POINTS)]))
    return dense, np.column_stack([np.interp(dense, Cs, column) for column in values.T])
