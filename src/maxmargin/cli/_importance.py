"""What a model looks at: which columns it needs, how it uses them, and what decided about a row."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from maxmargin.cli._models import machine_in
from maxmargin.report import Effect, Importance, Weight

#: Test rows and shuffles that a column is judged by, and the most columns.
ROWS, SHUFFLES, COLUMNS = 500, 5, 100
#: Columns whose effect is drawn, rows it is averaged over, and values it is asked for.
EFFECTS, EFFECT_ROWS, EFFECT_VALUES = 3, 200, 15
#: Fits to resampled rows behind the interval of a weight, and numbers in the rows up to which they are made.
REFITS, REFIT_NUMBERS = 40, 1_000_000
#: Columns that are named as the reasons for an answer.
REASONS = 3

Score = Callable[[np.ndarray, np.ndarray], float]


def importance_of(
    model: Pipeline, names: list[str], rows: tuple[Any, Any], answers: tuple[Any, Any], metric: tuple[str, Score],
    seed: int,
) -> Importance:  # fmt: skip
    """What a fitted pipeline looks at; ``rows`` and ``answers`` are those to train on, and those held out."""
    (X, X_test), (y, y_test) = rows, answers
    name, score = metric
    draw = np.random.default_rng(seed)
    looked = names[:COLUMNS]
    some = np.sort(draw.permutation(len(y_test))[:ROWS])
    drops = shuffled(model, X_test[some], y_test[some], len(looked), score, draw)
    means = drops.mean(axis=1)
    top = np.argsort(-means, kind="stable")[:EFFECTS]
    few = X[np.sort(draw.permutation(len(X))[:EFFECT_ROWS])]
    response, what = response_of(model, y)
    effects = [effect_of(few, k, names[k], response) for k in top.tolist() if means[k] > 0]
    deviations = drops.std(axis=1, ddof=1)
    weights = weights_of(model, X, y, names, seed)
    return Importance(name, looked, means, deviations, len(some), SHUFFLES, len(names), effects, what, weights)


def shuffled(
    model: Any, X: np.ndarray, y: np.ndarray, columns: int, score: Score, draw: np.random.Generator
) -> np.ndarray:
    """How much worse the score is with one column shuffled, for every column and shuffle."""
    whole = score(y, model.predict(X))
    drops = np.empty((columns, SHUFFLES))
    for k in range(columns):
        spoilt = np.tile(X, (SHUFFLES, 1))
        spoilt[:, k] = np.concatenate([draw.permutation(X[:, k]) for _ in range(SHUFFLES)])
        answers = np.asarray(model.predict(spoilt)).reshape(SHUFFLES, len(y))
        drops[k] = [whole - score(y, answer) for answer in answers]
    return drops


def response_of(model: Pipeline, y: np.ndarray) -> tuple[Callable[[Any], np.ndarray], str]:
    """(what is drawn over a column, its name): the number, or the probability or score of a class."""
    classes = getattr(model[-1], "classes_", None)
    if classes is None:
        return lambda X: np.asarray(model.predict(X)), "prediction"
    commonest = Counter(y.tolist()).most_common(1)[0][0]
    k = 1 if len(classes) == 2 else int(np.flatnonzero(classes == commonest)[0])
    if hasattr(model, "predict_proba"):
        return lambda X: np.asarray(model.predict_proba(X))[:, k], f"probability of {classes[k]}"

    def scores(X: Any) -> np.ndarray:
        found = np.asarray(model.decision_function(X))
        return found if found.ndim == 1 else found[:, k]

    return scores, f"score of {classes[k]}"


def effect_of(X: np.ndarray, k: int, name: str, response: Callable[[Any], np.ndarray]) -> Effect:
    """The mean response over some rows whose column takes one value after the other (Friedman 2001)."""
    column = X[:, k]
    text = any(isinstance(value, str) for value in column)
    values: list[Any]
    if text:
        values = [value for value, _ in Counter(v for v in column if isinstance(v, str)).most_common(8)]
    else:
        numbers = column.astype(np.float64)
        numbers = numbers[np.isfinite(numbers)]
        values = (
            np.unique(np.quantile(numbers, np.linspace(0.02, 0.98, EFFECT_VALUES))).tolist() if len(numbers) else []
        )
    means = []
    for value in values:
        asked = X.copy()
        asked[:, k] = value
        means.append(float(np.mean(response(asked))))
    return Effect(name, values, means)


def weights_of(model: Pipeline, X: Any, y: np.ndarray, names: list[str], seed: int) -> list[Weight]:
    """The weights of a linear machine with one task, largest first, with intervals where refits are quick."""
    machine = machine_in(model[-1])
    coef = getattr(machine, "coef_", None)
    if coef is None or np.size(coef) != machine.n_features_in_:
        return []
    encoded = model[:-1].transform(X) if len(model) > 1 else X
    columns = model[:-1].get_feature_names_out(names) if len(model) > 1 else names
    own, spread = np.ravel(coef), np.full(np.size(coef), np.nan)
    if encoded.size <= REFIT_NUMBERS:
        spread = np.std(refits(machine, encoded, y, seed), axis=0, ddof=1)
    order = np.argsort(-np.abs(own), kind="stable")
    return [
        Weight(str(columns[k]).partition("__")[2] or str(columns[k]), float(own[k]), float(1.96 * spread[k]))
        for k in order.tolist()
    ]


def refits(machine: Any, X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """Weights of the same machine fitted to rows drawn with replacement (Efron 1979)."""
    draw, found = np.random.default_rng(seed), []
    again = clone(machine).set_params(certify=False)
    if "calibration" in again.get_params():
        again.set_params(calibration=None)
    for _ in range(REFITS):
        rows = draw.integers(0, len(y), len(y))
        if len(np.unique(y[rows])) < 2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(np.ravel(again.fit(X[rows], y[rows]).coef_))
    return np.array(found)


# -- What decided about a row ---------------------------------------------------------------------------------------


def typical_row(X: np.ndarray, names: list[str]) -> dict[str, Any]:
    """The median of every column of numbers, and the commonest of text."""
    found: dict[str, Any] = {}
    for name, column in zip(names, X.T, strict=True):
        texts = Counter(value for value in column if isinstance(value, str))
        found[name] = texts.most_common(1)[0][0] if texts else float(np.nanmedian(column.astype(np.float64)))
    return found


def reasons(whole: Any, X: np.ndarray, names: list[str], typical: dict[str, Any]) -> np.ndarray:
    """For every row the columns that move its answer most, beside a row that is typical in that column."""
    base, place = answer_scores(whole, X, None)
    moved = np.empty((len(names), len(X)))
    for k, name in enumerate(names):
        usual = X.copy()
        usual[:, k] = typical[name]
        moved[k] = base - answer_scores(whole, usual, place)[0]
    order = np.argsort(-np.abs(moved), axis=0, kind="stable")[:REASONS]
    lines = [
        "; ".join(f"{names[k]} {moved[k, row]:+.3g}" for k in order[:, row].tolist() if moved[k, row] != 0)
        for row in range(len(X))
    ]
    return np.array(lines, dtype=object)


def answer_scores(whole: Any, X: np.ndarray, place: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """(scores, of which class): of the answer itself, or of the class at ``place``; numbers are their own score."""
    if not hasattr(whole, "decision_function"):
        return np.asarray(whole.predict(X), dtype=np.float64), np.zeros(len(X), dtype=int)
    scores = np.asarray(whole.decision_function(X))
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    classes = np.asarray(whole.classes_)
    if scores.shape[1] != len(classes):  # a column for each pair of classes
        raise ValueError("the model's scores are of pairs of classes, so there is no score of the answer to explain")
    if place is None:
        place = np.searchsorted(classes, whole.predict(X))
    return scores[np.arange(len(X)), place], place
