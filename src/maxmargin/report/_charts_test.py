"""Charts of the test rows: confusion, ROC and precision-recall curves, calibration, and of regressors what is left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve

from maxmargin.report._findings import Learning
from maxmargin.report._svg import LETTER, Chart, histogram, middle_cut, padded
from maxmargin.report._text import count, fixed, foreign, number, plain, rows, share, tick, width

#: Most classes that a matrix or a legend is readable with.
MATRIX_CLASSES, CURVE_CLASSES = 30, 10
#: Most points of a curve; more cannot be told apart on the page.
CURVE_POINTS = 400


class Curve(NamedTuple):
    """Points of a curve from left to right, and the number that sums it up."""

    x: np.ndarray
    y: np.ndarray
    area: float


def roc(truth: np.ndarray, scores: np.ndarray) -> Curve | None:
    """False positive rate, true positive rate, and the area (AUC); None where one class is missing."""
    keep = np.isfinite(scores)
    truth, scores = truth[keep], scores[keep]
    if truth.all() or not truth.any():
        return None
    x, y, _ = roc_curve(truth, scores, drop_intermediate=False)
    return Curve(x, y, auc(x, y))


def precision_recall(truth: np.ndarray, scores: np.ndarray) -> Curve | None:
    """Recall, precision, and the average precision; None where there is nothing to find."""
    keep = np.isfinite(scores)
    truth, scores = truth[keep], scores[keep]
    if not truth.any():
        return None
    precision, recall, _ = precision_recall_curve(truth, scores)
    precision[-1] = precision[-2]  # where nothing has been found yet: as good as the first find, not perfect
    return Curve(recall[::-1], precision[::-1], average_precision_score(truth, scores))


def thinned(curve: Curve) -> list[tuple[float, float]]:
    """At most so many points, spread evenly along the curve; its ends are always among them."""
    if len(curve.x) <= CURVE_POINTS:
        return list(zip(curve.x.tolist(), curve.y.tolist(), strict=True))
    walked = np.r_[0.0, np.cumsum(np.abs(np.diff(curve.x)) + np.abs(np.diff(curve.y)))]
    chosen = np.unique(np.searchsorted(walked, np.linspace(0.0, walked[-1], CURVE_POINTS)).clip(0, len(walked) - 1))
    chosen = np.unique(np.r_[0, chosen, len(walked) - 1])
    return list(zip(curve.x[chosen].tolist(), curve.y[chosen].tolist(), strict=True))


def roc_chart(curve: Curve, positive: str) -> str:
    chart = Chart("roc", "ROC curve", f"Area under the curve {number(curve.area)}; chance is 0.5.", height=360)
    x, y = chart.x(0.0, 1.0), chart.y(0.0, 1.0)
    chart.axes(x, y, "false positive rate", "true positive rate")
    chart.path("reference", [(x(0.0), y(0.0)), (x(1.0), y(1.0))])
    chart.path("curve c1", [(x(a), y(b)) for a, b in thinned(curve)])
    return chart.render(
        f"The positive class is {_name(positive)}; the area under the curve is {fixed(curve.area)}. The dashed line is "
        "what guessing would give, with an area of 0.5."
    )


def precision_recall_chart(curve: Curve, positive: str, prevalence: float) -> str:
    chart = Chart(
        "precision-recall",
        "Precision and recall",
        f"Average precision {number(curve.area)}; without looking it would be {number(prevalence)}.",
        height=360,
    )
    x, y = chart.x(0.0, 1.0), chart.y(0.0, 1.0)
    chart.axes(x, y, "recall", "precision")
    chart.path("reference", [(x(0.0), y(prevalence)), (x(1.0), y(prevalence))])
    chart.path("curve c1", [(x(a), y(b)) for a, b in thinned(curve)])
    return chart.render(
        f"The positive class is {_name(positive)}; the average precision is {fixed(curve.area)}. The dashed line is "
        "what guessing would give: its share of the rows."
    )


def many_roc_chart(curves: Sequence[tuple[str, Curve]]) -> str:
    """One curve per class against the rest, told apart by colour and by dashes."""
    lines = (len(curves) + 1) // 2
    chart = Chart(
        "roc",
        "ROC curves, each class against the rest",
        "; ".join(f"{plain(label, 40)}: area {number(curve.area)}" for label, curve in curves),
        height=350 + 18.0 * lines,
        bottom=50 + 18.0 * lines,
    )
    x, y = chart.x(0.0, 1.0), chart.y(0.0, 1.0)
    chart.axes(x, y, "", "true positive rate")
    below = chart.height - chart.bottom
    chart.text((x(0.0) + x(1.0)) / 2, below + 34, "false positive rate", "axis-title", "middle")
    chart.path("reference", [(x(0.0), y(0.0)), (x(1.0), y(1.0))])
    for place, (label, curve) in enumerate(curves):
        style = f"c{place % 5 + 1} d{place % 4 + 1}"
        chart.path(f"curve {style}", [(x(a), y(b)) for a, b in thinned(curve)], tip=f"{label}: {number(curve.area)}")
        left, base = 8.0 + 222.0 * (place % 2), below + 58 + 18.0 * (place // 2)
        chart.path(f"curve {style}", [(left, base - 4), (left + 28, base - 4)])
        chart.label(left + 34, base, label, 112)
        chart.text(left + 196, base, fixed(curve.area), "tick", "end")
    return chart.render("The figures are the areas under the curves.")


def confusion_chart(confusion: np.ndarray, labels: Sequence[str]) -> str:
    """Truth in the rows, answers in the columns; colours are shares of the rows."""
    k, side = len(labels), _side(len(labels))
    longest = max((width(plain(label, 24), LETTER) for label in labels), default=0.0)
    room = min(150.0, 12 + longest)
    upright = room > side
    chart = Chart(
        "confusion",
        "Confusion matrix",
        f"{k} classes; {share(_diagonal(confusion))} of the rows lie on the diagonal, where answer and truth agree.",
        width=max(300.0, 26 + room + k * side + 6),
        height=24 + (room if upright else 24.0) + k * side + 8,
        wide=26 + room + k * side > 480,
    )
    left, top = 26 + room, 24 + (room if upright else 24.0)
    chart.text(left + k * side / 2, 14, "answer", "axis-title", "middle")
    chart.text(13, top + k * side / 2, "truth", "axis-title", "middle", turn=True)
    totals = confusion.sum(axis=1)
    for i, label in enumerate(labels):
        chart.label(left - 6, top + (i + 0.5) * side + 4, label, room - 8, "end")
        middle = left + (i + 0.5) * side
        if upright:
            chart.text(middle + 4, top - 6, middle_cut(plain(label, 400), max(2, int(room / 7))), "label", turn=True)
        else:
            chart.label(middle, top - 6, label, side - 2, "middle")
        for j, answer in enumerate(labels):
            part = confusion[i, j] / totals[i] if totals[i] else 0.0
            tip = f"{plain(label, 60)} answered as {plain(answer, 60)}: {count(confusion[i, j])} ({share(part)})"
            _confusion_cell(
                chart, left + j * side, top + i * side, side, int(confusion[i, j]), float(part), tip, i == j
            )
    return chart.render()


def _confusion_cell(chart: Chart, x: float, y: float, side: float, n: int, part: float, tip: str, right: bool) -> None:
    kind = "heat" if right else "heat-wrong"
    chart.rect("cell", x, y, x + side, y + side)
    if n == 0:
        if side >= 44:
            chart.text(x + side / 2, y + side / 2 + 4, "0", "tick", "middle")
        return
    chart.rect(kind, x + 0.5, y + 0.5, x + side - 0.5, y + side - 0.5, tip, fill_opacity=f"{0.08 + 0.92 * part:.2f}")
    over = "over-strong" if part > 0.62 else "over-middle" if part > 0.42 else "over-weak"
    if side >= 44:
        chart.text(x + side / 2, y + side / 2, count(n), f"inside {over}", "middle")
        chart.text(x + side / 2, y + side / 2 + 14, share(part, 0), f"inside small {over}", "middle")
    elif side >= 20:
        small = "small " if side < 30 or n > 999 else ""
        chart.text(x + side / 2, y + side / 2 + 4, count(n) if n <= 9999 else "…", f"inside {small}{over}", "middle")


def _side(k: int) -> float:
    return 72.0 if k <= 4 else 46.0 if k <= 7 else 34.0 if k <= 12 else 24.0


def _diagonal(confusion: np.ndarray) -> float:
    return float(np.trace(confusion) / max(1, confusion.sum()))


def _name(label: str) -> str:
    return f"<strong>{foreign(label, 60)}</strong>"


def reliability_chart(mean: np.ndarray, seen: np.ndarray, counts: np.ndarray, bins: int, many: bool, name: str) -> str:
    """Predicted probability against how often it came true, with 95 % Wilson intervals; counts below."""
    chart = Chart(
        "reliability",
        "Predicted probability against what happened",
        "; ".join(
            f"{number(m, 2)} predicted, {number(s, 2)} seen ({rows(c)})"
            for m, s, c in zip(mean, seen, counts, strict=True)
        ),
        height=390,
        bottom=130,
    )
    x, y = chart.x(0.0, 1.0), chart.y(0.0, 1.0)
    chart.axes(x, y, "", "share that came true", ticks=(False, True))
    chart.path("reference", [(x(0.0), y(0.0)), (x(1.0), y(1.0))])
    for m, s, c in zip(mean, seen, counts, strict=True):
        low, high = binomtest(round(s * c), int(c)).proportion_ci(method="wilson")
        chart.line("whisker", x(m), y(low), x(m), y(high))
        size = 2.5 + 4.0 * math.sqrt(c / counts.max())  # a bin of few rows says little
        chart.dot("point c1", x(m), y(s), size, f"{number(m, 3)} predicted, {number(s, 3)} seen, {rows(c)}")
    chart.path("curve c1 faint", [(x(m), y(s)) for m, s in zip(mean, seen, strict=True)])
    floor, tallest = chart.height - 44, max(1, *map(int, counts))
    for m, c in zip(mean, counts, strict=True):
        place = min(bins - 1, int(m * bins))
        top = floor - 62.0 * c / tallest
        chart.rect("bar c1", x(place / bins) + 1, top, x((place + 1) / bins) - 1, floor, f"{rows(c)}")
    chart.line("axis", chart.left, floor, chart.width - chart.right, floor)
    for value in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        chart.text(x(value), floor + 16, tick(value), "tick", "middle")
    chart.text(chart.left - 6, floor - 54, count(tallest), "tick", "end")
    chart.text(chart.left - 6, floor, "0 rows", "tick", "end")
    title = "probability of the predicted class" if many else f"probability of {plain(name, 30)}"
    chart.text((x(0.0) + x(1.0)) / 2, chart.height - 8, title, "axis-title", "middle")
    return chart.render()


# -- Charts of regressors on the test rows: predicted against true, and what is left --------------------------------


#: Most points of a scatter plot.
POINTS = 2000


def chosen_points(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Which rows a scatter plot shows: all, or the ten worst and an even draw of the others."""
    n = len(truth)
    if n <= POINTS:
        return np.arange(n)
    worst = np.argsort(-np.abs(truth - predicted), kind="stable")[:10]
    others = np.setdiff1d(np.arange(n), worst)
    drawn = np.random.default_rng(0).choice(others, POINTS - len(worst), replace=False)
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


def learning_chart(found: Learning) -> str:
    """The score over the number of rows that were learned from."""
    chart = Chart(
        "learning",
        f"{plain(found.metric[:1].upper() + found.metric[1:], 60)} over training rows",
        "; ".join(f"{rows(n)}: {number(score, 3)}" for n, score in zip(found.sizes, found.scores, strict=True)),
        right=30.0,
    )
    x = chart.x(*padded(0.0, found.sizes[-1], 0.03))
    y = chart.y(*padded(min(found.scores), max(found.scores), 0.12))
    chart.axes(x, y, "training rows", plain(found.metric, 40))
    points = [(x(n), y(score)) for n, score in zip(found.sizes, found.scores, strict=True)]
    chart.path("curve c1", points)
    for (across, up), n, score in zip(points, found.sizes, found.scores, strict=True):
        chart.dot("point c1", across, up, 3.5, f"{rows(n)}: {number(score, 3)}")
    return chart.render()
