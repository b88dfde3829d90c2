"""The searches of one training: grids of every kernel, with and without class weights, until time is up."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from maxmargin.cli._notices import is_imbalanced
from maxmargin.cli._options import TrainOptions
from maxmargin.cli._print import Screen, progress_on_stderr
from maxmargin.cli._split import Split, folds_of
from maxmargin.report import Tuning
from maxmargin.selection import SVCCV, SVRCV, LinearSVCCV, LinearSVRCV

#: Kernel machines are tuned on up to this many rows.
TUNING_ROWS = 4_000
#: Linear machines are tuned on up to this many rows.
LINEAR_TUNING_ROWS = 200_000
#: Megabytes of kernel values that a search may keep: the matrix of TUNING_ROWS rows, its lines and its distances.
SEARCH_CACHE = 512
#: What very unequal classes are scored by, and how their weights are named.
BALANCED, WEIGHED = "balanced_accuracy", " with class weights"


class Trial(NamedTuple):
    """What a search is about, besides the grid."""

    kernel: str
    weight: str | None = None  # 'balanced' where classes are made to count the same

    def __str__(self) -> str:
        return f"{self.kernel}, balanced" if self.weight else self.kernel


@dataclass
class Rounds:
    """Searches, one after the other, until time is up or Ctrl-C is pressed."""

    X: Any
    y: np.ndarray
    classifies: bool
    options: TrainOptions
    fixed: dict[str, Any]
    limit: float | None
    screen: Screen
    split: Split | None = None
    found: dict[Trial, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    interrupted: bool = False

    @property
    def unequal(self) -> bool:
        """Whether classes are so unequal that accuracy says little, and nobody said what to go by."""
        return self.classifies and is_imbalanced(self.y)

    @property
    def scoring(self) -> str | None:
        """What is scored: accuracy or R2, and balanced accuracy of very unequal classes."""
        return self.options.scoring or (BALANCED if self.unequal else None)

    def weights(self) -> list[str | None]:
        """Class weights to try."""
        return [None, "balanced"] if self.unequal and self.options.class_weight is None else [None]

    def rows_for(self, tries: list[str]) -> tuple[np.ndarray, str]:
        """Rows that parameters are chosen on: all, or a sample of many."""
        n, y, options = self.X.shape[0], self.y, self.options
        most = LINEAR_TUNING_ROWS if tries == ["linear"] else TUNING_ROWS
        rows, about = np.arange(n), f"all {n:,} training rows"
        if n > most:
            alike = y if self.classifies else None
            drawn, _ = train_test_split(rows, train_size=most, stratify=alike, random_state=options.seed)
            rows, about = np.sort(drawn), f"{most:,} of the {n:,} training rows"
        if not self.classifies:
            return rows, about
        labels, counts = np.unique(y[rows], return_counts=True)
        common = labels[counts >= options.folds]
        if 2 <= len(common) < len(labels):  # a class of a few rows would leave folds without it
            rows = rows[np.isin(y[rows], common)]
            about += f" (classes with fewer than {options.folds} rows aside)"
        return rows, about

    def search(self, kernel: str, rows: np.ndarray, weight: str | None = None) -> bool:
        """Search the grid of a kernel on some rows; whether anything came of it."""
        late = self.limit is not None and time.perf_counter() >= self.limit
        if self.interrupted or (self.found and late):
            if Trial(kernel, weight) not in self.found:
                why = "Ctrl-C was pressed" if self.interrupted else "the time limit was near"
                self.remarks.append(f"The {kernel} kernel{WEIGHED if weight else ''} was not tried: {why}.")
            return False
        y = self.y[rows]
        search = self._search_of(kernel, rows, weight)
        try:
            remark, self.interrupted = fit_search(search, self.X[rows], y)
        except KeyboardInterrupt:
            if not self.found:
                raise
            self.interrupted = True
            self.remarks.append(f"The search of the {kernel} kernel was ended by Ctrl-C before it had found anything.")
            return False
        except ValueError as error:
            if "no cell of the grid was finished: time_limit" not in str(error):
                raise
            self.remarks.append(f"The time limit left no time to tune the {kernel} kernel.")
            return False
        self.found[Trial(kernel, weight)] = search
        self.remarks += [remark] if remark else []
        return True

    def _search_of(self, kernel: str, rows: np.ndarray, weight: str | None) -> Any:
        """The search of a kernel's parameters."""
        y = self.y[rows]
        folds = folds_of("random", None, y, self.classifies, self.options)
        if self.split is not None:
            folds = self.split.folds(rows, y, self.classifies, self.options)
        linear, options, limit = kernel == "linear", self.options, self.limit
        given: dict[str, Any] = {**self.fixed, **({"class_weight": weight} if weight else {})}
        if linear:
            maker = LinearSVCCV if self.classifies else LinearSVRCV
        else:
            maker = SVCCV if self.classifies else SVRCV
            given.update(kernel=kernel, cache_size=SEARCH_CACHE)
            if options.gamma is not None:
                given["gammas"] = [options.gamma]
        if options.C is not None:
            given["Cs"] = [options.C]
        remaining = None if limit is None else max(limit - time.perf_counter(), 1e-3)
        return maker(
            cv=folds,
            scoring=self.scoring,
            time_limit=remaining,
            refit=False,
            one_standard_error=True,
            verbose=int(self.screen.live),
            **given,
        )


def fit_search(search: Any, X: Any, y: np.ndarray) -> tuple[str, bool]:
    """Run a search; (what to say about how it ended, whether Ctrl-C ended it)."""
    with progress_on_stderr(), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        search.fit(X, y)
    ended = [
        str(w.message) for w in heard if issubclass(w.category, ConvergenceWarning) and "ended early" in str(w.message)
    ]
    if not ended:
        return "", False
    return ended[0].partition(" cv_results_")[0], "interrupted" in ended[0]


def scorer_name(search: Any) -> str:
    """What the search's score is called."""
    if search.scoring is not None:
        return str(search.scoring)
    return "R2" if type(search).__name__.endswith("SVRCV") else "accuracy"


def tuning_of(found: dict[Trial, Any], best: Trial) -> Tuning:
    """All cells of all searches."""
    kernels: list[str] = []
    columns: dict[str, list[float]] = {"C": [], "gamma": [], "mean": [], "deviation": []}
    dropped: list[bool] = []
    place = 0
    for trial, search in found.items():
        results = search.cv_results_
        if trial == best:
            place = len(kernels) + int(search.best_index_)
        kernels += [str(trial)] * len(results["params"])
        columns["C"] += [float(params["C"]) for params in results["params"]]
        columns["gamma"] += [width_of(params) for params in results["params"]]
        columns["mean"] += list(map(float, results["mean_test_score"]))
        columns["deviation"] += list(map(float, results["std_test_score"]))
        dropped += [not str(status).startswith("done") for status in results["status"]]
    C, gamma, mean, deviation = (np.array(values) for values in columns.values())
    search = found[best]
    return Tuning(scorer_name(search), search.n_splits_, kernels, C, gamma, mean, deviation, place, np.array(dropped))


def width_of(params: dict[str, Any]) -> float:
    """gamma, nan where there is no gamma or only a name for one."""
    gamma = params.get("gamma")
    return float(gamma) if isinstance(gamma, (int, float)) else float("nan")
