"""Reliability diagrams: do things called 80 % likely happen in 80 % of the cases?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maxmargin.plotting._shared import BLUE, GREY, TwoParts, labels

#: How far the sum of a row's probabilities may be from 1.
SUM_TOL = 1e-3


@dataclass(eq=False, repr=False)
class ReliabilityDisplay(TwoParts):
    """Mean predicted probability against observed frequency, bin by bin, with the bins' counts below.

    Points on the diagonal are calibrated; where they are below it, the model is too sure. With more than two classes
    each row counts by its likeliest class: its probability is the confidence, the share of right ones the accuracy.

    Make one with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    prob_pred, prob_true : ndarrays
        Mean predicted probability and observed frequency of every bin that is not empty.
    counts : ndarray of shape (n_bins,)
        Weight of the rows in every bin.
    edges : ndarray of shape (n_bins + 1,)
        Ends of the bins.
    brier : float
        Brier score: the mean squared distance of the probabilities from what happened (with two classes that of the
        second one; with more, the sum over the classes).
    log_loss : float
        Mean of -log of the probability of what happened.
    top_label : bool, default=False
        Whether there are more than two classes.
    positive : str, default='1'
        Name of the second of two classes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the diagram is.
    axes_ : tuple of two Axes
        The diagram and the counts.
    line_, diagonal_ : Line2D
        The bins' points, and perfect calibration.
    bars_ : BarContainer
        The counts.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from maxmargin import LinearSVC
    >>> from maxmargin.plotting import ReliabilityDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC(C=0.01, scale=True, calibration="sigmoid").fit(X[::2], y[::2])
    >>> display = ReliabilityDisplay.from_estimator(model, X[1::2], y[1::2], n_bins=5)
    >>> int(display.counts.sum()), display.brier < 0.05
    (284, True)
    """

    SIZE = (5.4, 6.2)
    GRID: ClassVar[dict[str, Any]] = {"nrows": 2, "ncols": 1, "height_ratios": [3.4, 1.0]}

    prob_pred: NDArray[Any]
    prob_true: NDArray[Any]
    counts: NDArray[Any]
    edges: NDArray[Any]
    _: KW_ONLY
    brier: float
    log_loss: float
    top_label: bool = False
    positive: str = "1"

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        n_bins: int = 10,
        strategy: str = "uniform",
        ax: Any = None,
    ) -> ReliabilityDisplay:
        """Draw the reliability of a classifier's probabilities, best on rows that it was not fitted on.

        Parameters
        ----------
        model : estimator
            A fitted classifier with ``predict_proba``.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row: 2 is the row twice.
        n_bins : int, default=10
            Number of bins.
        strategy : {'uniform', 'quantile'}, default='uniform'
            Bins of equal width, or with about equally many rows.
        ax : matplotlib Axes or pair of Axes, optional
            Where to draw; one Axes is split in two. None: in a new figure.

        Returns
        -------
        ReliabilityDisplay
        """
        cls._require_matplotlib()
        if not hasattr(model, "predict_proba"):
            raise ValueError(
                f"{type(model).__name__} has no predict_proba: fit a classifier with calibration='sigmoid', "
                "'isotonic' or 'venn-abers'"
            )
        options = {"sample_weight": sample_weight, "n_bins": n_bins, "strategy": strategy}
        return cls.from_predictions(y, model.predict_proba(X), classes=model.classes_, ax=ax, **options)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        p: Any,
        *,
        classes: Sequence[Any] | None = None,
        sample_weight: Any = None,
        n_bins: int = 10,
        strategy: str = "uniform",
        ax: Any = None,
    ) -> ReliabilityDisplay:
        """Draw the reliability of given probabilities.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            True classes.
        p : array-like of shape (n_samples,) or (n_samples, n_classes)
            Probabilities of the second class, or of all classes.
        classes : sequence, optional
            All classes, in the order of the columns of ``p``. None: those in ``y``, sorted.
        sample_weight, n_bins, strategy, ax
            As in :meth:`from_estimator`.

        Returns
        -------
        ReliabilityDisplay
        """
        cls._require_matplotlib()
        p, label, names = _checked(y, p, classes)
        weight = np.ones(len(p)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if weight.shape != (len(p),) or not (weight >= 0).all() or not 0 < weight.sum() < np.inf:
            raise ValueError("sample_weight must have a non-negative number for each row, not all of them 0")
        happened = np.eye(p.shape[1])[label]
        squares = np.sum((p - happened) ** 2, axis=1) / (2 if p.shape[1] == 2 else 1)
        surprise = -np.log(np.maximum(p[np.arange(len(p)), label], np.finfo(np.float64).eps))
        top = p.shape[1] > 2
        confidence = p.max(axis=1) if top else p[:, 1]
        event = p.argmax(axis=1) == label if top else label == 1
        edges = _edges(confidence, weight, n_bins, strategy)
        counts, predicted, observed = _binned(confidence, event, weight, edges)
        display = cls(
            predicted, observed, counts, edges, brier=float(np.average(squares, weights=weight)),
            log_loss=float(np.average(surprise, weights=weight)), top_label=top, positive=str(names[1]),
        )  # fmt: skip
        return display.plot(ax)

    def _draw(self, top: Any, below: Any) -> None:
        label = "perfectly calibrated"
        (self.diagonal_,) = top.plot([0, 1], [0, 1], color=GREY, linestyle=(0, (4, 3)), linewidth=1.2, label=label)
        (self.line_,) = top.plot(
            self.prob_pred, self.prob_true, "o-", color=BLUE, markersize=6, linewidth=1.6, clip_on=False,
            label=f"Brier score {self.brier:.3g}\nlog loss {self.log_loss:.3g}",
        )  # fmt: skip
        what = ("confidence", "accuracy") if self.top_label else ("predicted probability", "observed frequency")
        of = "" if self.top_label else f" of class {self.positive}"
        top.set(xlim=(0, 1), ylim=(0, 1), ylabel=what[1] + of)
        top.tick_params(labelbottom=False)
        top.grid(True, alpha=0.25)
        top.legend(loc="upper left", fontsize=9, framealpha=0.9)
        widths = np.diff(self.edges)
        self.bars_ = below.bar(
            self.edges[:-1], self.counts, widths, align="edge", color=BLUE, edgecolor="white", linewidth=1.0
        )
        below.set(xlim=(0, 1), xlabel=what[0] + of, ylabel="rows")
        below.grid(True, axis="y", alpha=0.25)


def _checked(y: Any, p: Any, classes: Any) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[Any]]:
    """(probabilities of all classes, numbers of the true ones, names)."""
    p = np.asarray(p, dtype=np.float64)
    if p.ndim not in (1, 2) or len(p) == 0:
        raise ValueError(f"p must have shape (n_samples,) or (n_samples, n_classes), with rows; got {p.shape}")
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"probabilities lie between 0 and 1; p goes from {np.min(p):.3g} to {np.max(p):.3g}")
    p = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
    if p.shape[1] < 2 or np.abs(p.sum(axis=1) - 1).max() > SUM_TOL:
        raise ValueError("each row of p must have a probability for every class, with sum 1; pass what predict_proba "
                         "returns, or the second class's alone as a vector")  # fmt: skip
    y = labels(y, len(p), "p")
    names = np.unique(y) if classes is None else np.asarray(classes)
    if len(names) != p.shape[1]:
        raise ValueError(
            f"p is of {p.shape[1]} classes but there are {len(names)}: {names.tolist()}; "
            "pass classes, in the order of the columns of p"
        )
    order = np.argsort(names)
    place = np.searchsorted(names, y, sorter=order).clip(max=len(names) - 1)
    label = order[place]
    strangers = np.unique(y[names[label] != y])
    if len(strangers):
        raise ValueError(f"y has classes that are not among {names.tolist()}: {strangers.tolist()}")
    return p, label, names


def _edges(p: NDArray[Any], weight: NDArray[Any], n_bins: int, strategy: str) -> NDArray[np.float64]:
    """Ends of the bins, from 0 to 1."""
    if not isinstance(n_bins, (int, np.integer)) or n_bins < 1:
        raise ValueError(f"n_bins must be a whole number of at least 1; got {n_bins!r}")
    if strategy == "uniform":
        return np.linspace(0.0, 1.0, n_bins + 1)
    if strategy == "quantile":
        # a weight of 2 is the row twice
        inner = np.quantile(p, np.arange(1, n_bins) / n_bins, weights=weight, method="inverted_cdf")
        return np.unique(np.concatenate([[0.0], inner, [1.0]]))
    raise ValueError(f"strategy must be 'uniform' or 'quantile'; got {strategy!r}")


def _binned(
    p: NDArray[Any], event: NDArray[Any], weight: NDArray[Any], edges: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """(weights of all bins, mean prediction and frequency of those that are not empty)."""
    number = np.searchsorted(edges[1:-1], p)
    sums = [np.bincount(number, w, minlength=len(edges) - 1) for w in (weight, weight * p, weight * event)]
    full = sums[0] > 0
    return sums[0], sums[1][full] / sums[0][full], sums[2][full] / sums[0][full]
