"""Charts of regressors on the test rows: predicted against true, and what is left."""

from __future__ import annotations

import numpy as np

from maxmargin.report._svg import Chart, histogram, padded
from maxmargin.report._text import count, number, rows

#: Most points of a scatter plot.
POINTS = 2000


def chosen_points(truth: np.ndarray, predicted: np.ndarray, most: int = POINTS) -> np.ndarray:
    """Which rows a scatter plot shows: all, or the ten worst and an even draw of the others."""
    n = len(truth)
    if n <= most:
        return np.arange(n)
    worst = np.argsort(-np.abs(truth - predicted), kind="stable")[:10]
    others = np.setdiff1d(np.arange(n), worst)
    drawn = np.random.default_rng(0).choice(others, most - len(worst), replace=False)
    return np.sort(np.r_[worst, drawn])


def scatter_chart(truth: np.ndarray, predicted: np.ndarray) -> str:
    """Predicted against true values on equal axes."""
    shown = chosen_points(truth, predicted)
    low, high = padded(min(truth.min(), predicted.min()), max(truth.max(), predicted.max()))
    chart = Chart(
        "scatter",
        "Predicted against true values",
        f"{rows(len(truth))}, true values from {number(truth.min())} to {number(truth.max())}, predicted from "
        f"{number(predicted.min())} to {number(predicted.max())}.",
        height=390,
    )
    x, y = chart.x(low, high), chart.y(low, high)
    chart.axes(x, y, "true", "predicted")
    chart.path("reference", [(x(low), y(low)), (x(high), y(high))])
    chart.dots("dots", [(x(t), y(p)) for t, p in zip(truth[shown].tolist(), predicted[shown].tolist(), strict=True)])
    note = "On the dashed line a prediction is right."
    if len(shown) < len(truth):
        note += (
            f" {count(len(shown))} of {rows(len(truth))} are drawn: the ten worst and a random choice of the others."
        )
    return chart.render(note)


def residual_chart(truth: np.ndarray, predicted: np.ndarray) -> str:
    """What is left: true minus predicted."""
    left = truth - predicted
    low, high = np.quantile(left, [0.005, 0.995])
    reach = max(abs(low), abs(high)) or 1.0
    edges = np.linspace(-reach, reach, 32)
    counts = histogram(left, edges)
    chart = Chart(
        "residuals",
        "Residuals, true minus predicted",
        f"A histogram of {rows(len(left))}: mean {number(left.mean())}, standard deviation {number(left.std())}.",
        height=390,
    )
    x, y = chart.x(*padded(-reach, reach, 0.02)), chart.y(0.0, 1.1 * counts.max())
    chart.axes(x, y, "true minus predicted", "rows")
    for a, b, tall in zip(edges[:-1], edges[1:], counts, strict=True):
        chart.rect("bar c1", x(a), y(tall), x(b) - 0.6, y(0.0), f"{number(a, 3)} to {number(b, 3)}: {rows(tall)}")
    chart.line("mark", x(0.0), chart.top, x(0.0), chart.height - chart.bottom)
    note = f"Mean {number(left.mean())}, standard deviation {number(left.std())}."
    outside = int(np.sum(np.abs(left) > reach))
    return chart.render(note + (f" The outermost bars hold {rows(outside)} that lie further out." if outside else ""))
