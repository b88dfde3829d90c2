"""Charts of classifiers on the test rows: confusion, ROC and precision-recall curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from maxmargin.report._svg import LETTER, Chart, middle_cut
from maxmargin.report._text import count, fixed, foreign, number, plain, share, width

#: Most classes that a matrix or a legend is readable with.
MATRIX_CLASSES, CURVE_CLASSES = 30, 10
#: Most points of a curve; more cannot be told apart on the page.
CURVE_POINTS = 400


class Curve(NamedTuple):
    """Points of a curve from left to right, and the number that sums it up."""

    x: np.ndarray
    y: np.ndarray
    area: float


def counted(truth: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """True and false positives when everything down to each distinct score is called positive; ties together."""
    order = np.argsort(-scores, kind="stable")
    hits, values = truth[order].astype(np.float64), scores[order]
    last = np.r_[np.flatnonzero(np.diff(values)), len(values) - 1]
    right = np.cumsum(hits)[last]
    return right, last + 1.0 - right


def roc(truth: np.ndarray, scores: np.ndarray) -> Curve | None:
    """False positive rate, true positive rate, and the area (AUC); None where one class is missing."""
    keep = np.isfinite(scores)
    truth, scores = truth[keep], scores[keep]
    if truth.all() or not truth.any():
        return None
    right, wrong = counted(truth, scores)
    x, y = np.r_[0.0, wrong / wrong[-1]], np.r_[0.0, right / right[-1]]
    return Curve(x, y, float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2)))


def precision_recall(truth: np.ndarray, scores: np.ndarray) -> Curve | None:
    """Recall, precision, and the average precision; None where there is nothing to find."""
    keep = np.isfinite(scores)
    truth, scores = truth[keep], scores[keep]
    if not truth.any():
        return None
    right, wrong = counted(truth, scores)
    recall, precision = right / right[-1], right / (right + wrong)
    area = float(np.sum(np.diff(np.r_[0.0, recall]) * precision))
    return Curve(np.r_[0.0, recall], np.r_[precision[0], precision], area)


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
    chart.text(x(0.97), y(0.06), f"area {fixed(curve.area)}", "value", "end")
    return chart.render(f"What is called positive: {_name(positive)}. The dashed line is a coin.")


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
    chart.text(x(0.97), y(0.06), f"average {fixed(curve.area)}", "value", "end")
    return chart.render(f"Of {_name(positive)}. The dashed line is its share of the rows.")


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
