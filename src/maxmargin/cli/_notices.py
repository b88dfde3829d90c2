"""What a person should know about the data before trusting a model of them."""

from __future__ import annotations

from collections import Counter

import numpy as np

from maxmargin.cli._columns import Chosen
from maxmargin.cli._print import counted, figure, listed, share
from maxmargin.io import Table
from maxmargin.report import Notice

#: The rarest class has less than this share of what it would have if all were equal: of two classes, and of more.
IMBALANCED_PAIR, IMBALANCED = 0.2, 0.4
#: Below this share it is worth a word.
UNEVEN = 0.3
#: Outliers lie so many times the middle half's width beyond it, and are no more than this share of the rows.
FAR, MOST_FAR = 3.0, 0.05
#: One column alone that is right this often about rows it has not seen gives the answer away.
SUSPECT = 0.99
#: Most rows and columns looked at for leakage.
LEAK_ROWS, LEAK_COLUMNS = 4000, 300
#: Columns whose spreads differ by more than this factor are said to be unscaled.
UNSCALED = 100.0


def find_notices(
    table: Table, chosen: Chosen, y: np.ndarray, classifies: bool, copies: np.ndarray, together: bool, seed: int
) -> list[Notice]:
    """Everything worth saying, the worst first."""
    found = [
        leaks(table, chosen, y, classifies, seed),
        duplicates(copies, y, together),
        imbalance(y) if classifies else outliers(y),
        missing(table, chosen),
        constants(chosen),
        unscaled(table, chosen),
    ]
    return [notice for notice in found if notice is not None]


def leaks(table: Table, chosen: Chosen, y: np.ndarray, classifies: bool, seed: int) -> Notice | None:
    """Columns that alone give the answer away."""
    rows = np.random.default_rng(seed).permutation(len(y))[:LEAK_ROWS]
    if len(rows) < 40:
        return None
    suspects = []
    for name in chosen.used[:LEAK_COLUMNS]:
        right = alone(codes(table[name][rows]), y[rows], classifies)
        if right >= SUSPECT:
            suspects.append(f"{name} ({share(right)})")
    if not suspects:
        return None
    what = "of the classes" if classifies else "of the spread"
    return Notice(
        "leakage",
        f"One column alone explains nearly all {what}: {listed(suspects)}. If it becomes known only after the answer "
        "does, leave it out with --drop: otherwise the model looks good here and fails in practice.",
    )


def alone(values: np.ndarray, y: np.ndarray, classifies: bool) -> float:
    """Balanced accuracy, or R², of a small tree that sees one column, on the half that it was not grown on."""
    from sklearn.metrics import balanced_accuracy_score, r2_score
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    half = len(y) // 2
    X = np.nan_to_num(values, nan=float(np.nanmin(values, initial=0.0)) - 1.0)[:, None]
    if len(np.unique(y[:half])) < 2 or len(np.unique(y[half:])) < 2:
        return 0.0
    if classifies:
        tree = DecisionTreeClassifier(max_leaf_nodes=4 * len(np.unique(y)), min_samples_leaf=2, random_state=0)
        guessed = tree.fit(X[:half], y[:half]).predict(X[half:])
        return float(balanced_accuracy_score(y[half:], guessed))
    tree = DecisionTreeRegressor(max_leaf_nodes=64, min_samples_leaf=2, random_state=0)
    return float(r2_score(y[half:], tree.fit(X[:half], y[:half]).predict(X[half:])))


def codes(values: np.ndarray) -> np.ndarray:
    """Numbers as they are, text by its place in the alphabet."""
    if values.dtype != object:
        return values
    return np.unique(["" if not isinstance(value, str) else value for value in values], return_inverse=True)[1] + 0.0


def duplicates(copies: np.ndarray, y: np.ndarray, together: bool) -> Notice | None:
    """Rows that are there more than once, and those that contradict each other."""
    repeated = int(np.count_nonzero(copies != np.arange(len(copies))))
    if not repeated:
        return None
    torn = int(np.count_nonzero(y != y[copies]))
    text = f"{counted(repeated, 'row')} ({share(repeated / len(y))}) that repeat an earlier row in every column."
    if together:
        text += " Copies stay on one side of the split, so that no test row has been seen in training."
    else:
        text += " Most rows are copies, so test rows have been seen in training: results say little about new rows."
    if torn:
        text += f" In {counted(torn, 'copy')} the target differs from the original's: no model can get both right."
    return Notice("duplicates", text)


def is_imbalanced(y: np.ndarray) -> bool:
    """Whether the rarest class has much less than its even share of the rows."""
    counts = np.unique(y, return_counts=True)[1]
    return bool(counts.min() * len(counts) < (IMBALANCED_PAIR if len(counts) == 2 else IMBALANCED) * len(y))


def imbalance(y: np.ndarray) -> Notice | None:
    """A class that is much rarer than the others."""
    counts = Counter(y.tolist())
    rarest, number = min(counts.items(), key=lambda item: item[1])
    commonest, most = counts.most_common(1)[0]
    uneven = f"Class {rarest} has {share(number / len(y))} of the rows and {commonest} has {share(most / len(y))}."
    if not is_imbalanced(y):
        if number * len(counts) >= UNEVEN * len(y):
            return None
        return Notice(
            "imbalance",
            f"{uneven} Look at balanced accuracy and the confusion of classes rather than at accuracy; --class-weight "
            "balanced makes rare classes count as much as common ones.",
        )
    return Notice(
        "imbalance",
        f"{uneven} So models are compared by balanced accuracy, with and without class weights, and of two classes "
        "the cut is chosen on held-out scores (--scoring, --class-weight, --threshold, --cost). Accuracy would say "
        "little.",
    )


def outliers(y: np.ndarray) -> Notice | None:
    """Targets of a regression that are far from all others (Tukey's far outliers)."""
    low, middle, high = np.quantile(y, [0.25, 0.5, 0.75])
    room = FAR * (high - low)
    far = (y < low - room) | (y > high + room)
    number = int(np.count_nonzero(far))
    if high == low or not number or number > MOST_FAR * len(y):
        return None
    worst = float(y[np.argmax(np.abs(y - middle))])
    return Notice(
        "outliers",
        f"{counted(number, 'row')} with a target far from the others (half lie between {figure(low)} and "
        f"{figure(high)}), such as {figure(worst)}. Check whether they are mistakes: a few of them can decide R2 "
        "and the mean squared error, if not the model, which counts large errors only in proportion.",
    )


def missing(table: Table, chosen: Chosen) -> Notice | None:
    """Gaps in the columns that are used."""
    with_gaps = [column for column in chosen.columns if column.missing and column.kind != "left out"]
    if not with_gaps:
        return None
    worst = sorted(with_gaps, key=lambda column: -column.missing)
    named = listed([f"{column.name} ({share(column.missing / len(table))})" for column in worst])
    return Notice(
        "missing",
        f"{counted(len(with_gaps), 'column')} with missing values: {named}. Missing numbers are replaced by the median "
        "of their column; a missing category counts as a category of its own.",
    )


def constants(chosen: Chosen) -> Notice | None:
    """Columns with one value or none."""
    names = [column.name for column in chosen.left_out if column.distinct <= 1]
    if not names:
        return None
    return Notice("constant", f"{counted(len(names), 'column')} with one value or none, left out: {listed(names)}.")


def unscaled(table: Table, chosen: Chosen) -> Notice | None:
    """Columns of very different sizes."""
    spreads = {name: float(np.nanstd(table[name])) for name in chosen.numbers}
    spreads = {name: spread for name, spread in spreads.items() if spread > 0}
    if len(spreads) < 2:
        return None
    least, largest = min(spreads, key=spreads.__getitem__), max(spreads, key=spreads.__getitem__)
    if spreads[largest] <= UNSCALED * spreads[least]:
        return None
    return Notice(
        "unscaled",
        f"Columns differ in size: {largest} varies by {figure(spreads[largest])} and {least} by "
        f"{figure(spreads[least])}. All are scaled to unit variance, so that large ones do not drown out the others.",
    )
