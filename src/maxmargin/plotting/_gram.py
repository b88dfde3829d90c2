"""The Gram matrix as a picture, classes side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin.kernels import Linear, Precomputed, resolve_kernel, takes_any_rows
from maxmargin.plotting._shared import BLUE, INK, ORANGE, OnePart, before_last, final_step, labels

#: The most class names on an axis; of more, only some are written.
MOST_TICKS = 20


@dataclass(eq=False, repr=False)
class GramDisplay(OnePart):
    """The Gram matrix K_ij = k(x_i, x_j), rows sorted by class, with lines between the classes.

    A kernel that suits the classes shows blocks along the diagonal. Make one with :meth:`from_kernel` or
    :meth:`from_estimator`.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The matrix, its rows and columns in the order of the classes.
    sizes : ndarray of shape (n_classes,)
        Number of rows of every class.
    classes : sequence, optional
        Names of the classes.
    order : ndarray of shape (n,), optional
        Rows of X that the rows of K belong to.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the matrix is.
    image_ : AxesImage
        The matrix.
    colorbar_ : Colorbar
        Its scale.
    borders_ : list of Line2D
        Two lines, one across and one down, between each class and the next.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.kernels import Gaussian
    >>> from maxmargin.plotting import GramDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = GramDisplay.from_kernel(Gaussian(gamma=0.5), X, y)
    >>> display.K.shape, display.sizes, len(display.borders_)
    ((150, 150), array([50, 50, 50]), 4)
    """

    SIZE = (6.0, 5.2)

    K: NDArray[Any]
    sizes: NDArray[Any]
    classes: Any = None
    order: NDArray[Any] | None = None

    @classmethod
    def from_kernel(
        cls, kernel: Any, X: Any, y: Any = None, *, gamma: float | None = None, max_rows: int = 1000, ax: Any = None
    ) -> GramDisplay:
        """Draw the values of a kernel between rows.

        Parameters
        ----------
        kernel : Kernel, str or callable
            What the machines take as ``kernel``; for 'precomputed', X is the matrix.
        X : array-like or sparse matrix of shape (n_samples, n_features), or a sequence for a callable
            Rows.
        y : array-like of shape (n_samples,), optional
            Their classes. None: one class, rows in their own order.
        gamma : float, optional
            Width for a kernel that leaves its own open. None: 1 / (n_features * variance of X), the machines' 'scale'.
        max_rows : int, default=1000
            The most rows to draw; of more, a sample is drawn evenly from all classes.
        ax : matplotlib Axes, optional
            Where to draw; None: in a new figure.

        Returns
        -------
        GramDisplay
        """
        cls._require_matplotlib()
        if not isinstance(max_rows, (int, np.integer)) or max_rows < 1:
            raise ValueError(f"max_rows must be a whole number of at least 1; got {max_rows!r}")
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        label = np.zeros(n, dtype=int) if y is None else labels(y, n)
        order = np.argsort(label, kind="stable")
        if n > max_rows:
            order = order[np.linspace(0, n - 1, max_rows).round().astype(int)]
        classes, sizes = np.unique(label[order], return_counts=True)
        K = _values(kernel, X, order, gamma)
        return cls(K, sizes, None if y is None else classes, order).plot(ax)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any = None, *, max_rows: int = 1000, ax: Any = None) -> GramDisplay:
        """Draw the values of a fitted machine's kernel; for a linear machine, the linear kernel.

        Parameters
        ----------
        model : estimator
            A fitted machine with ``kernel_`` or ``coef_``, or a pipeline that ends with one.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, as the model takes them.
        y : array-like of shape (n_samples,), optional
            Their classes. None: one class, rows in their own order.
        max_rows : int, default=1000
            The most rows to draw; of more, a sample is drawn evenly from all classes.
        ax : matplotlib Axes, optional
            Where to draw; None: in a new figure.

        Returns
        -------
        GramDisplay
        """
        machine = final_step(model)
        if hasattr(machine, "kernel_"):
            kernel = machine.kernel_
        elif hasattr(machine, "coef_"):
            kernel = Linear()
        else:
            raise ValueError(
                f"{type(machine).__name__} has neither kernel_ nor coef_: fit it first, or name the kernel: "
                "GramDisplay.from_kernel(kernel, X, y)"
            )
        return cls.from_kernel(kernel, before_last(model, X), y, max_rows=max_rows, ax=ax)

    def _draw(self, ax: Any) -> None:
        self.image_ = ax.imshow(self.K, interpolation="nearest", **_scale(self.K))
        self.colorbar_ = ax.figure.colorbar(self.image_, ax=ax, label="k(x, z)", shrink=0.85)
        ends = np.cumsum(self.sizes)
        style = {"color": INK, "linewidth": 1.1}
        self.borders_ = [
            line for end in ends[:-1] for line in (ax.axhline(end - 0.5, **style), ax.axvline(end - 0.5, **style))
        ]
        if self.classes is None:
            ax.set(xlabel="row", ylabel="row")
            return
        middle, names = ends - self.sizes / 2 - 0.5, [str(name) for name in self.classes]
        every = -(-len(names) // MOST_TICKS)
        turned = sum(map(len, names[::every])) > 40
        ax.set_xticks(middle[::every], names[::every], rotation=45 if turned else 0, ha="right" if turned else "center")
        ax.set_yticks(middle[::every], names[::every])
        ax.tick_params(length=0)
        ax.set(xlabel="class", ylabel="class")


def _values(kernel: Any, X: Any, order: NDArray[Any], gamma: float | None) -> NDArray[Any]:
    """The matrix of the chosen rows."""
    if isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == "precomputed"):
        K = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(f"a precomputed kernel needs a square matrix of values; got shape {K.shape}")
        return K[np.ix_(order, order)]
    if takes_any_rows(kernel) and not hasattr(X, "shape"):
        return resolve_kernel(kernel)([X[i] for i in order])
    rows = sp.csr_array(X)[order] if sp.issparse(X) else np.asarray(X)[order]
    if gamma is None and rows.dtype.kind in "biuf":
        gamma = _scale_width(sp.csr_array(X) if sp.issparse(X) else np.asarray(X))
    return resolve_kernel(kernel, 1.0 if gamma is None else gamma)(rows)


def _scale_width(X: Any) -> float:
    """1 / (n_features * variance), what ``gamma='scale'`` is."""
    variance = float(X.multiply(X).mean() - X.mean() ** 2) if sp.issparse(X) else float(X.var())
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def _scale(K: NDArray[Any]) -> dict[str, Any]:
    """White for 0 and blue for large values; negative ones are orange, over the same range."""
    from matplotlib.colors import LinearSegmentedColormap

    low, high = float(K.min()), float(K.max())
    if low >= -1e-9 * max(abs(high), 1e-300):
        ramp = LinearSegmentedColormap.from_list("gram", ["white", "#bcd4ec", BLUE, "#12304f"])
        return {"cmap": ramp, "vmin": 0.0, "vmax": high if high > 0 else 1.0}
    both = LinearSegmentedColormap.from_list("gram", ["#6b2d06", ORANGE, "white", BLUE, "#12304f"])
    reach = max(-low, high)
    return {"cmap": both, "vmin": -reach, "vmax": reach}
