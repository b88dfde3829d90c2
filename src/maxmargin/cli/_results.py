"""How good the answers are for rows that no choice has seen, and how sure that is."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import binomtest
from sklearn import metrics as m
from sklearn.dummy import DummyClassifier, DummyRegressor

from maxmargin.cli._cut import Price, price_of, rare_class
from maxmargin.cli._notices import is_imbalanced
from maxmargin.cli._options import TrainOptions
from maxmargin.report import Test

#: Samples of the test rows behind an interval, and the most rows that are sampled.
SAMPLES, SAMPLED_ROWS = 200, 20_000

Metric = Callable[[np.ndarray, np.ndarray], float]

CLASSES: dict[str, Metric] = {
    "accuracy": m.accuracy_score,
    "balanced accuracy": m.balanced_accuracy_score,
    "error": lambda truth, answer: 1.0 - float(m.accuracy_score(truth, answer)),
}
NUMBERS: dict[str, Metric] = {
    "R2": m.r2_score,
    "mean absolute error": m.mean_absolute_error,
    "root mean squared error": m.root_mean_squared_error,
    "median absolute error": m.median_absolute_error,
}

#: Metrics of which more is better, by name.
METRICS = {name: metric for name, metric in {**CLASSES, **NUMBERS}.items() if "error" not in name}


def test_results(
    model: Any, X: Any, y: np.ndarray, y_train: np.ndarray, classifies: bool, options: TrainOptions
) -> Test:
    """Test results of a fitted model."""
    seed = options.seed
    predicted = np.asarray(model.predict(X))
    constant = DummyClassifier(strategy="most_frequent") if classifies else DummyRegressor(strategy="mean")
    guess = constant.fit(np.zeros((len(y_train), 1)), y_train).predict(np.zeros((len(y), 1)))
    if not classifies:
        found = {name: float(metric(y, predicted)) for name, metric in NUMBERS.items()}
        plain = {name: float(metric(y, guess)) for name, metric in NUMBERS.items()}
        intervals = {name: sampled(metric, y, predicted, seed) for name, metric in NUMBERS.items()}
        return Test(found, plain, intervals, y, predicted)
    headline = "balanced accuracy" if is_imbalanced(y_train) else "accuracy"
    test = class_results(model, X, y, predicted, guess, seed, headline)
    return test if options.cost is None else priced(test, price_of(y_train, options), rare_class(y_train))


def priced(test: Test, price: Price, wanted: Any) -> Test:
    """The same, judged by what mistakes cost."""

    def cost(truth: np.ndarray, answer: np.ndarray) -> float:
        missed = np.count_nonzero((truth == wanted) & (answer != wanted))
        alarms = np.count_nonzero((truth != wanted) & (answer == wanted))
        return float(price.missed * missed + price.alarm * alarms) / len(truth)

    name, n = "cost per row", len(test.target)
    sought, said = test.target == wanted, test.predicted == wanted
    errors = [(sought & ~said, sought, price.missed), (~sought & said, ~sought, price.alarm)]
    shares = [(int(wrong.sum()), int(of.sum()), each * of.sum() / n) for wrong, of, each in errors if of.any()]
    labels = np.unique(test.target)
    constant = {str(label): cost(test.target, np.full(len(test.target), label)) for label in labels}
    cheapest = min(constant, key=lambda label: constant[label])
    return replace(
        test,
        metrics={**test.metrics, name: cost(test.target, test.predicted)},
        baseline={**test.baseline, name: constant[cheapest]},
        intervals={**test.intervals, name: combined(shares, cost(test.target, test.predicted))},
        guess=f"always answering {cheapest!r}",
        headline=name,
    )


def class_results(
    model: Any, X: Any, y: np.ndarray, predicted: np.ndarray, guess: np.ndarray, seed: int, headline: str
) -> Test:
    """Test results of a classifier."""
    scores = np.asarray(model.decision_function(X))
    probabilities = np.asarray(model.predict_proba(X)) if hasattr(model, "predict_proba") else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class without a test row
        found = {name: float(metric(y, predicted)) for name, metric in CLASSES.items()}
        plain = {name: float(metric(y, guess)) for name, metric in CLASSES.items()}
        right = int(np.count_nonzero(y == predicted))
        intervals = {"accuracy": wilson(right, len(y)), "error": wilson(len(y) - right, len(y))}
        intervals["balanced accuracy"] = combined(recalls(y, predicted), found["balanced accuracy"])
    labels = list(model.classes_)
    rank(found, plain, intervals, y, labels, scores, seed)
    if probabilities is not None:
        found["log loss"] = float(m.log_loss(y, probabilities, labels=labels))
        shares = np.array([np.mean(y == label) for label in labels])
        plain["log loss"] = float(m.log_loss(y, np.tile(shares, (len(y), 1)), labels=labels))
    confusion = np.asarray(m.confusion_matrix(y, predicted, labels=labels))
    return Test(
        found,
        plain,
        intervals,
        y,
        predicted,
        [str(label) for label in labels],
        confusion,
        scores,
        probabilities,
        headline=headline,
    )


def rank(found, plain, intervals, y: np.ndarray, labels: list[Any], scores: np.ndarray, seed: int) -> None:
    """Areas under the ROC and precision-recall curves; of many classes the mean of each against the rest."""
    if len(labels) == 2:
        positive = y == labels[1]
        if positive.all() or not positive.any():
            return
        found["ROC AUC"], plain["ROC AUC"] = float(m.roc_auc_score(positive, scores)), 0.5
        found["PR AUC"], plain["PR AUC"] = float(m.average_precision_score(positive, scores)), float(positive.mean())
        intervals["ROC AUC"] = sampled(m.roc_auc_score, positive, scores, seed)
        intervals["PR AUC"] = sampled(m.average_precision_score, positive, scores, seed)
        return
    there = [k for k, label in enumerate(labels) if 0 < np.count_nonzero(y == label) < len(y)]
    if there:
        areas = [m.roc_auc_score(y == labels[k], scores[:, k]) for k in there]
        found["ROC AUC"], plain["ROC AUC"] = float(np.mean(areas)), 0.5


def wilson(right: int, n: int) -> tuple[float, float]:
    """95 % interval of a share (Wilson 1927)."""
    low, high = binomtest(right, n).proportion_ci(method="wilson")
    return float(low), float(high)


def recalls(truth: np.ndarray, answer: np.ndarray) -> list[tuple[int, int, float]]:
    """(rows found, rows, weight) of every class: their weighted shares are the balanced accuracy."""
    labels, sizes = np.unique(truth, return_counts=True)
    right = [int(np.count_nonzero((truth == label) & (answer == label))) for label in labels]
    return [(found, int(rows), 1.0 / len(labels)) for found, rows in zip(right, sizes, strict=True)]


def combined(shares: list[tuple[int, int, float]], value: float) -> tuple[float, float]:
    """95 % interval of a weighted sum of independent shares, from Wilson's of each (Newcombe 1998).

    Samples of the rows would not do: of a class with two rows, both of them found, all samples say the same.
    """
    below = above = 0.0
    for number, rows, weight in shares:
        low, high = wilson(number, rows)
        below += (weight * (number / rows - low)) ** 2
        above += (weight * (high - number / rows)) ** 2
    return value - below**0.5, value + above**0.5


def sampled(metric: Metric, truth: np.ndarray, answer: np.ndarray, seed: int) -> tuple[float, float]:
    """95 % interval of a metric: of samples of the test rows, drawn with replacement (Efron 1979)."""
    if len(truth) > SAMPLED_ROWS:
        truth, answer = truth[:SAMPLED_ROWS], answer[:SAMPLED_ROWS]
    draw, found = np.random.default_rng(seed), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a sample may lack a class; it says nothing then
        for _ in range(SAMPLES):
            rows = draw.integers(0, len(truth), len(truth))
            if len(np.unique(truth[rows])) > 1:
                found.append(float(metric(truth[rows], answer[rows])))
    if len(found) < SAMPLES // 2:
        return float("nan"), float("nan")
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)
