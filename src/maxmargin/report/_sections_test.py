"""Sections about the test rows: metrics, confusion, curves, residuals, calibration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.report._charts_test import (
    CURVE_CLASSES,
    MATRIX_CLASSES,
    Curve,
    confusion_chart,
    learning_chart,
    many_roc_chart,
    precision_recall,
    precision_recall_chart,
    reliability_chart,
    residual_chart,
    roc,
    roc_chart,
    scatter_chart,
)
from maxmargin.report._findings import Cuts, Findings, Test
from maxmargin.report._html import capped, charts, folded, missing, section, table
from maxmargin.report._text import count, drawable, escaped, fixed, foreign, listed, metric, number, rows, share

#: Bins of the reliability diagram, and most lines of the tables.
BINS, MOST_CLASSES, MOST_PAIRS = 10, 200, 15


def results(findings: Findings) -> str:
    """How the model does on the rows that no choice has seen."""
    test = findings.test
    parts = _regression(test) if findings.task == "regression" else _classes(test)
    return section("test", "Test results", _metrics(findings), *parts, _cuts(findings.cuts), _learning(findings))


def _learning(findings: Findings) -> str:
    """Whether more rows would help."""
    found = findings.learning
    if found is None or len(found.sizes) < 3:
        return ""
    low, high = findings.test.intervals.get(found.metric, (math.nan, math.nan))
    gain, noise = found.scores[-1] - found.scores[-2], (high - low) / 2
    name = escaped(found.metric)
    if not math.isfinite(noise):
        said = ""
    elif gain > noise / 2:
        said = f"The last step still brought {number(gain, 2)}: more rows would probably help."
    elif max(found.scores[:-1]) >= found.scores[-1] - noise / 4:
        said = "The line is level within the uncertainty of the test: more rows like these would hardly help."
    else:
        said = "The line still rises a little, but by less than the test can tell."
    return (
        f"<h3>Would more data help?</h3><p>The {name} on the rows held back, of the same machine trained on a part "
        f"of the training rows. {said}</p>" + charts(learning_chart(found))
    )


def _cuts(cuts: Cuts | None) -> str:
    """What other cuts between the classes would find, and at what price."""
    if cuts is None:
        return ""
    label = foreign(cuts.label, 60)
    if cuts.priced:
        price = f"A missed row costs {number(cuts.missed)}, a false alarm {number(cuts.alarm)}."
    else:
        price = "The cost counts both classes the same, however rare one of them is."
    said = (
        f"<h3>Thresholds</h3><p>A row counts as one class or the other by its score. These cuts were tried on "
        f"{rows(cuts.rows)} of {label} and {rows(cuts.others)} of {foreign(cuts.other, 60)} that were held out of "
        f"training in turn. {price} Another cut can be had by <code>--threshold</code>, other costs by "
        "<code>--cost</code>.</p>"
    )
    marks = {cuts.chosen: " (chosen)"}
    lines = [
        (
            number(threshold) + marks.get(k, " (the hyperplane)" if threshold == 0 else ""),
            f"{count(found)} ({share(found / max(1, cuts.rows))})",
            count(alarms),
            number(cost),
        )
        for k, (threshold, found, alarms, cost) in enumerate(
            zip(cuts.thresholds, cuts.found, cuts.alarms, cuts.costs, strict=True)
        )
    ]
    heads = ("score", f"{label} found", "false alarms", "cost")
    return said + table("Cuts and what they give", heads, lines, (1, 2, 3))


def _metrics(findings: Findings) -> str:
    test = findings.test
    if not test.metrics:
        return missing("No metrics were computed: there were no test rows.")
    lines = []
    for name, value in test.metrics.items():
        low, high = test.intervals.get(name, (math.nan, math.nan))
        known = math.isfinite(low) and math.isfinite(high)
        between = f"{metric(name, low)} to {metric(name, high)}" if known else "–"
        base = metric(name, test.baseline[name]) if name in test.baseline else "–"
        lines.append((escaped(name), metric(name, value), between, base))
    words = "always the mean of the training targets" if findings.task == "regression" else "always the commonest class"
    said = (
        f"<p>On {rows(findings.test_rows)} that neither training nor tuning has seen. The baseline looks at no column "
        f"(for example, {words}); a model is of use where it beats it.</p>"
    )
    heads = ("metric", "model", "95 % interval", "baseline")
    return said + table("Metrics on the test rows", heads, lines, (1, 2, 3)) + _few(findings.test_rows)


def _few(n: int) -> str:
    return missing(f"{rows(n)}: too few to tell models apart.") if n < 30 else ""


# -- classes ------------------------------------------------------------------------------------------------------


def codes(values: Any, labels: list[str]) -> np.ndarray:
    """The place of every value among the labels, -1 where it is not among them."""
    values = np.asarray(values)
    place = {label: k for k, label in enumerate(labels)}
    names = values.astype(str) if values.dtype.kind != "f" else np.array([str(v) for v in values.tolist()])
    return np.array([place.get(str(name), -1) for name in names], dtype=np.int64)


def _classes(test: Test) -> list[str]:
    if not test.labels or len(test.target) == 0:
        return [missing("There are no test rows with classes, so there is no confusion matrix and no curve.")]
    truth, answer = codes(test.target, test.labels), codes(test.predicted, test.labels)
    confusion = test.confusion
    if confusion is None:
        both = (truth >= 0) & (answer >= 0)
        confusion = np.zeros((len(test.labels), len(test.labels)), dtype=np.int64)
        np.add.at(confusion, (truth[both], answer[both]), 1)
    curves = _two_curves(test, truth) if len(test.labels) == 2 else _many_curves(test, truth)
    *drawn, note = curves
    matrix = confusion_chart(confusion, test.labels) if len(test.labels) <= MATRIX_CLASSES else ""
    how = (
        "<p>A line of the matrix is a true class, a column an answer; the stronger the colour, the larger the share of "
        "that line. Blue is right, brown is wrong.</p>"
    )
    each, pairs = _per_class(confusion, test.labels), _pairs(confusion, test.labels)
    if len(test.labels) == 2:
        return [how, charts(matrix, each), charts(*drawn), note]
    return [how if matrix else "", charts(matrix, pairs), charts(*drawn, each), note]


def _two_curves(test: Test, truth: np.ndarray) -> list[str]:
    """Charts, and last what there is to say."""
    scores = _scores(test, 2)
    if scores is None:
        return [missing("There are no scores, so there is no ROC curve.")]
    known = truth >= 0
    positive, own = truth[known] == 1, scores[known]
    first, second = roc(positive, own), precision_recall(positive, own)
    note = _lost(own)
    if first is None or second is None:
        return [
            missing("The test rows are of one class only, so there is no ROC and no precision-recall curve.") + note
        ]
    prevalence = float(positive[np.isfinite(own)].mean())
    name = test.labels[1]
    return [roc_chart(first, name), precision_recall_chart(second, name, prevalence), note]


def _many_curves(test: Test, truth: np.ndarray) -> list[str]:
    scores = _scores(test, len(test.labels))
    if scores is None:
        return [missing("There is no score for every class, so there are no ROC curves.")]
    found: list[tuple[str, Curve]] = []
    without = []
    for k, label in enumerate(test.labels):
        curve = roc(truth[truth >= 0] == k, scores[truth >= 0, k])
        if curve is None:
            without.append(label)
        else:
            found.append((label, curve))
    if not found:
        return [missing("The test rows are of one class only, so there are no ROC curves.")]
    worst = sorted(found, key=lambda item: item[1].area)[:CURVE_CLASSES]
    drawn = [item for item in found if item in worst] if len(found) > CURVE_CLASSES else found
    note = _lost(scores)
    if len(drawn) < len(found):
        note += f"<p>ROC curves: the {len(drawn)} classes of the smallest areas, of {count(len(found))}.</p>"
    if without:
        names = listed([foreign(label, 40) for label in without[:10]])
        note += f"<p>No curve for classes without test rows: {names}{' and others' if len(without) > 10 else ''}.</p>"
    return [many_roc_chart(drawn), note]


def _scores(test: Test, classes: int) -> np.ndarray | None:
    """Decision values, else probabilities, in the shape that the curves need."""
    for values in (test.scores, test.probabilities):
        if values is None:
            continue
        values = np.asarray(values, dtype=np.float64)
        if classes == 2 and values.ndim == 2 and values.shape[1] == 2:
            return values[:, 1]
        if classes == 2 and values.size == len(test.target):
            return values.ravel()
        if classes > 2 and values.shape == (len(test.target), classes):
            return values
    return None


def _lost(scores: np.ndarray) -> str:
    lost = int(np.sum(~np.isfinite(scores.reshape(len(scores), -1)).all(axis=1)))
    return missing(f"{rows(lost)} had a score that is no finite number; the curves are without them.") if lost else ""


def _pairs(confusion: np.ndarray, labels: list[str]) -> str:
    """Which classes are taken for which, for more classes than two."""
    if len(labels) <= 2:
        return ""
    wrong = np.array(confusion, dtype=np.int64)
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")
    totals = np.maximum(1, confusion.sum(axis=1))
    pairs = [(int(k) // len(labels), int(k) % len(labels)) for k in order[:MOST_PAIRS]]
    lines = [
        (foreign(labels[i], 60), foreign(labels[j], 60), count(wrong[i, j]), share(wrong[i, j] / totals[i]))
        for i, j in pairs
        if wrong[i, j] > 0
    ]
    if not lines:
        return "<p>Not one test row was taken for another class.</p>"
    return table(
        "What was taken for what, most often first", ("truth", "answer", "rows", "share of the class"), lines, (2, 3)
    )


def _per_class(confusion: np.ndarray, labels: list[str]) -> str:
    right, truly, answered = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    lines = []
    for k, label in enumerate(labels[:MOST_CLASSES]):
        precision = right[k] / answered[k] if answered[k] else math.nan
        recall = right[k] / truly[k] if truly[k] else math.nan
        both = 2 * right[k] / (answered[k] + truly[k]) if answered[k] + truly[k] else math.nan
        lines.append((foreign(label, 60), count(truly[k]), share(precision), share(recall), fixed(both)))
    heads = ("class", "test rows", "precision", "recall", "F1")
    body = table(
        "Each class: of the answers, how many are right; of the class, how many are found", heads, lines, (1, 2, 3, 4)
    )
    return folded(
        f"{count(len(labels))} classes, one by one", body + capped(len(labels), len(lines), "classes"), len(lines), 30
    )


# -- regression ---------------------------------------------------------------------------------------------------


def _regression(test: Test) -> list[str]:
    truth = np.asarray(test.target, dtype=np.float64).ravel()
    predicted = np.asarray(test.predicted, dtype=np.float64).ravel()
    usable = drawable(truth) & drawable(predicted)
    if not usable.any():
        return [missing("There are no test rows with finite values, so there is nothing to draw.")]
    lost = int(np.sum(~usable))
    note = missing(f"{rows(lost)} had a value that is no finite number; the charts are without them.") if lost else ""
    truth, predicted = truth[usable], predicted[usable]
    return [charts(scatter_chart(truth, predicted), residual_chart(truth, predicted)), note]


# -- calibration --------------------------------------------------------------------------------------------------


def calibration(findings: Findings) -> str:
    """Whether probabilities are what they say."""
    title = "Calibration"
    if findings.task == "regression":
        return section("calibration", title, missing("A model that predicts a number has no class probabilities."))
    test = findings.test
    if test.probabilities is None:
        text = "The model gives no probabilities. They come with the option <code>--calibration</code>."
        return section("calibration", title, missing(text))
    found = _reliability(test)
    if found is None:
        return section("calibration", title, missing("There are no test rows with probabilities of all classes."))
    predicted, happened, brier = found
    place = np.minimum(BINS - 1, (predicted * BINS).astype(np.int64))
    bins = np.unique(place)
    counts = np.array([int(np.sum(place == b)) for b in bins])
    mean = np.array([predicted[place == b].mean() for b in bins])
    seen = np.array([happened[place == b].mean() for b in bins])
    off = float(np.sum(counts * np.abs(mean - seen)) / counts.sum())
    many = len(test.labels) != 2
    what = "The probability of the predicted class" if many else f"The probability of {foreign(test.labels[1], 60)}"
    said = (
        f"<p>{what}, against how often it came true. On the dashed line a probability is what it says; below it things "
        f"happen less often than predicted, above it more often. The lines through the points are 95 % intervals: with "
        f"few rows they are wide, and the point is small. On average the two differ by {number(off, 2)} (expected "
        f"calibration error, {BINS} bins); the Brier score is {number(brier, 3)}, and 0 would be perfect.</p>"
    )
    name = "" if many else test.labels[1]
    return section("calibration", title, said, charts(reliability_chart(mean, seen, counts, BINS, many, name)))


def _reliability(test: Test) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Probability and outcome of every row, and the Brier score; beyond two classes of the likeliest class."""
    p = np.asarray(test.probabilities, dtype=np.float64)
    if p.ndim == 1 and len(test.labels) == 2:
        p = np.column_stack([1.0 - p, p])
    if p.shape != (len(test.target), len(test.labels)) or len(p) == 0:
        return None
    truth = codes(test.target, test.labels)
    keep = np.isfinite(p).all(axis=1) & (truth >= 0)
    p, truth = np.clip(p[keep], 0.0, 1.0), truth[keep]
    if len(p) == 0:
        return None
    if p.shape[1] == 2:
        return p[:, 1], truth == 1, float(np.mean((p[:, 1] - (truth == 1)) ** 2))
    brier = float(np.mean(np.sum((p - np.eye(p.shape[1])[truth]) ** 2, axis=1)))
    return p.max(axis=1), p.argmax(axis=1) == truth, brier
