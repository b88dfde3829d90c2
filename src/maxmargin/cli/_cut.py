"""From which score on a row counts as the second class: chosen on held-out scores, by what mistakes cost."""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from maxmargin.cli._errors import InputError
from maxmargin.cli._machine import Pick
from maxmargin.cli._notices import is_imbalanced
from maxmargin.cli._options import TrainOptions
from maxmargin.cli._print import counted, figure, progress_on_stderr
from maxmargin.cli._split import Split
from maxmargin.report import Choice, Cuts

#: Most training rows whose held-out scores a cut is chosen by.
CUT_ROWS = 20_000
#: Shares of the rows looked for that the table of cuts has a line for.
FOUND = (0.5, 0.75, 0.9, 0.95, 0.99, 1.0)


class Price(NamedTuple):
    """What a missed row of the class looked for costs, and a false alarm."""

    missed: float
    alarm: float


def check_cut(y: np.ndarray, classifies: bool, options: TrainOptions) -> None:
    """InputError where a cut was asked for and there is nothing to cut."""
    given = "--threshold" if options.threshold is not None else "--cost" if options.cost is not None else ""
    if given and not (classifies and len(np.unique(y)) == 2):
        raise InputError(f"{given} moves the cut between two classes, and this target has not two; leave it out")


def rare_class(y: np.ndarray) -> Any:
    """The class that is looked for: the rarer one, the second of equals."""
    labels, counts = np.unique(y, return_counts=True)
    return labels[0] if counts[0] < counts[1] else labels[1]


def price_of(y: np.ndarray, options: TrainOptions) -> Price:
    """As given; else so that both classes weigh the same, which is balanced accuracy."""
    if options.cost is not None:
        return Price(*options.cost)
    rows = int(np.count_nonzero(y == rare_class(y)))
    return Price(len(y) / (2 * rows), len(y) / (2 * (len(y) - rows)))


def choose_cut(
    pick: Pick, X: Any, y: np.ndarray, options: TrainOptions, deadline: float | None, split: Split
) -> Cuts | None:
    """The cut of a machine of two classes, with what others would give; None where the machine's own answers stay."""
    if len(np.unique(y)) != 2 or (options.threshold is None and options.cost is None and not is_imbalanced(y)):
        return None
    rows = np.arange(len(y))
    if len(rows) > CUT_ROWS:
        rows = np.sort(train_test_split(rows, train_size=CUT_ROWS, stratify=y, random_state=options.seed)[0])
    scores = held_out_scores(pick, X[rows], y[rows], split.folds(rows, y[rows], True, options), deadline)
    if scores is None:
        pick.remarks.append(
            "The time limit left no time to choose the cut on held-out scores; the machine's own stays."
        )
        return None
    known = np.isfinite(scores)  # the earliest rows are never held out where folds follow time
    rows, scores = rows[known], scores[known]
    if len(np.unique(y[rows])) < 2:
        return None
    cuts = cuts_of(scores, y[rows], price_of(y, options), options.threshold, options.cost is not None)
    pick.choices.append(Choice("cut", f"score {figure(cuts.threshold)}", words(cuts, options), "--threshold, --cost"))
    return cuts


def held_out_scores(pick: Pick, X: Any, y: np.ndarray, folds: list[Any], deadline: float | None) -> np.ndarray | None:
    """Scores of rows by machines that have not seen them, nan of rows that are in no fold; None where time runs out."""
    scores = np.full(len(y), np.nan)
    for train, held in folds:
        if deadline is not None and time.perf_counter() >= deadline:
            return None
        machine = pick.bare_machine()
        machine.set_params(certify=False)
        if deadline is not None:
            machine.set_params(time_limit=max(deadline - time.perf_counter(), 1e-3))
        with progress_on_stderr(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            machine.fit(X[train], y[train])
        scores[held] = machine.decision_function(X[held])
    return scores


def cuts_of(scores: np.ndarray, y: np.ndarray, price: Price, threshold: float | None, priced: bool) -> Cuts:
    """The cut that costs least (or was asked for), the hyperplane, and some that find more."""
    wanted = rare_class(y)
    sought, last = y == wanted, wanted == np.unique(y)[-1]
    candidates = between(scores)
    found, alarms = counts_of(scores, sought, last, candidates)
    total = int(sought.sum())
    costs = price.missed * (total - found) + price.alarm * alarms
    cheapest = np.flatnonzero(costs <= costs.min() * (1 + 1e-12))
    best = float(candidates[cheapest[np.argmin(np.abs(candidates[cheapest]))]]) if threshold is None else threshold
    ladder = [0.0, best]
    for part in FOUND:
        enough = np.flatnonzero(found >= part * total)
        ladder.append(float(candidates[enough[np.argmin(alarms[enough])]]))
    lines = np.unique(ladder)
    found, alarms = counts_of(scores, sought, last, lines)
    costs = price.missed * (total - found) + price.alarm * alarms
    other = next(label for label in np.unique(y) if label != wanted)
    chosen = int(np.flatnonzero(lines == best)[0])
    return Cuts(str(wanted), str(other), lines, found, alarms, costs, total, len(y) - total, chosen, *price, priced)


def between(scores: np.ndarray) -> np.ndarray:
    """Cuts that part the scores in every way there is."""
    levels = np.unique(scores)
    middle = 0.5 * (levels[1:] + levels[:-1])
    room = 1.0 + abs(levels[-1])
    return np.concatenate([[levels[0] - room], middle, [levels[-1] + room]])


def counts_of(scores: np.ndarray, sought: np.ndarray, last: bool, cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rows found, false alarms) of every cut; a row counts as the last class where its score is no smaller."""
    inside, outside = np.sort(scores[sought]), np.sort(scores[~sought])
    found, alarms = np.searchsorted(inside, cuts), np.searchsorted(outside, cuts)
    return (len(inside) - found, len(outside) - alarms) if last else (found, alarms)


def words(cuts: Cuts, options: TrainOptions) -> str:
    """Why the cut is there."""
    if options.threshold is not None:
        why = "you said so"
    elif options.cost is not None:
        why = f"cheapest where a missed row costs {figure(cuts.missed)} and a false alarm {figure(cuts.alarm)}"
    else:
        why = "both classes count the same"
    own = int(np.flatnonzero(cuts.thresholds == 0.0)[0])

    def result(place: int) -> str:
        alarms = counted(int(cuts.alarms[place]), "false alarm")
        return f"{cuts.found[place]:,} of {cuts.rows:,} rows of {cuts.label!r} found, {alarms}"

    said = f"{why}: {result(cuts.chosen)} on held-out training rows"
    return said if own == cuts.chosen else f"{said} (the hyperplane itself, score 0: {result(own)})"
