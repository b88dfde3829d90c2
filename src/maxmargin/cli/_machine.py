"""Which machine, with which parameters: by size and by cross-validated score."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from maxmargin.cli._options import TrainOptions
from maxmargin.cli._print import Screen, figure, progress_on_stderr
from maxmargin.multiclass import MARGIN
from maxmargin.report import Choice, Tuning
from maxmargin.selection import SVCCV, SVRCV, LinearSVCCV, LinearSVRCV

#: Kernel machines are tried on up to this many training rows, and tuned on up to that many of them.
KERNEL_ROWS, TUNING_ROWS = 60_000, 4_000
#: Linear machines are tuned on up to this many rows.
LINEAR_TUNING_ROWS = 200_000
#: With more columns than this a linear machine separates most data; kernels are not tried.
KERNEL_COLUMNS = 5_000
#: Probabilities are fitted by default to up to this many training rows: five more fits.
CALIBRATED_ROWS = 10_000
#: Megabytes of kernel values that a search may keep: the matrix of TUNING_ROWS rows, its lines and its distances.
SEARCH_CACHE = 512
#: Share of the time limit that tuning may take.
TUNING_SHARE = 0.6
#: Half the width of the tube of a regression, in standard deviations of the target.
TUBE = 0.1


@dataclass
class Pick:
    """A machine's parameters, not fitted yet, and how they were found."""

    kernel: str
    params: dict[str, Any]
    choices: list[Choice]
    tuning: Tuning | None = None
    cross_validated: float | None = None
    interrupted: bool = False
    remarks: list[str] = field(default_factory=list)

    @property
    def class_name(self) -> str:
        linear = self.kernel == "linear"
        return ("Linear" if linear else "") + ("SVR" if "epsilon" in self.params else "SVC")

    def machine(self) -> Any:
        import maxmargin

        return getattr(maxmargin, self.class_name)(**self.params)


def pick_machine(X: Any, y: np.ndarray, classifies: bool, options: TrainOptions, screen: Screen) -> Pick:
    """Choose kernel, C and gamma for encoded training rows."""
    tries, why = kernels_to_try(X, options)
    fixed = fixed_parameters(y, classifies, options)
    pick = chosen_by_score(tries, why, X, y, classifies, options, fixed, screen)
    pick.params = {**final_parameters(pick.kernel, options), **fixed, **pick.params}
    if classifies:
        pick.choices += class_choices(pick, y, options)
    else:
        given = options.epsilon is not None
        reason = "you said so" if given else f"{TUBE:g} standard deviations of the target: smaller errors cost nothing"
        pick.choices.append(Choice("epsilon", figure(fixed["epsilon"]), reason, "--epsilon"))
    return pick


def kernels_to_try(X: Any, options: TrainOptions) -> tuple[list[str], str]:
    """(kernels, why these)."""
    n, d = X.shape
    if options.kernel is not None:
        return [options.kernel], "you said so"
    if options.gamma is not None:
        return ["rbf"], "a --gamma was given"
    if n > KERNEL_ROWS:
        return ["linear"], f"{n:,} rows are many for a kernel, whose work grows with their square"
    if d > KERNEL_COLUMNS:
        return ["linear"], f"in {d:,} columns a straight line separates most data"
    if not options.tune:
        return ["rbf"], "nothing is tuned; a Gaussian kernel suits most tables"
    return ["linear", "rbf"], ""


def fixed_parameters(y: np.ndarray, classifies: bool, options: TrainOptions) -> dict[str, Any]:
    """Parameters that tuning does not touch."""
    if not classifies:
        epsilon = TUBE * float(np.std(y)) if options.epsilon is None else options.epsilon
        return {"epsilon": rounded(epsilon)}
    found: dict[str, Any] = {}
    if options.class_weight is not None:
        found["class_weight"] = options.class_weight
    if options.multiclass is not None and len(np.unique(y)) > 2:
        found["multiclass"] = options.multiclass
        if options.kernel == "linear" and options.multiclass in MARGIN:
            found["loss"] = "hinge"
    return found


def final_parameters(kernel: str, options: TrainOptions) -> dict[str, Any]:
    """Parameters of the fit on all training rows, besides those found."""
    found: dict[str, Any] = {} if kernel in ("linear", "rbf") else {"kernel": kernel}
    if kernel != "linear" and options.device != "auto":
        found["device"] = options.device
    if kernel != "linear" and options.certify != "auto":  # linear machines are always proven from the data alone
        found["certify"] = options.certify
    return found


def chosen_by_score(tries, why, X, y, classifies, options, fixed, screen) -> Pick:
    """Search every kernel's grid; the best score wins, and a draw goes to the linear machine."""
    if not options.tune or (options.C is not None and (tries == ["linear"] or options.gamma is not None)):
        return untuned(tries[0], why, options)
    limit = None if options.time_limit is None else time.perf_counter() + TUNING_SHARE * options.time_limit
    rounds = Rounds(X, y, classifies, options, fixed, limit, screen)
    sample, about = rounds.rows_for(tries)
    for kernel in tries:
        rounds.search(kernel, sample)
    found = dict(rounds.found)
    if not found:
        pick = untuned(tries[0], why or "the time limit left no time to compare", options)
        pick.remarks = rounds.remarks
        return pick
    best = max(found, key=lambda kernel: found[kernel].best_score_)  # the first of equals: linear
    choices = [kernel_choice(found, best, why)]
    if best == "linear" and tries != ["linear"] and len(sample) < len(y):  # a linear search is quick enough for more
        more, named = rounds.rows_for(["linear"])
        if rounds.search("linear", more):
            found["linear"], about = rounds.found["linear"], named
    search = found[best]
    params = {name: rounded(value) for name, value in search.best_params_.items()}
    choices += parameter_choices(search, best, about, options)
    score = float(search.best_score_)
    return Pick(best, params, choices, tuning_of(found, best), score, rounds.interrupted, rounds.remarks)


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
    found: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    interrupted: bool = False

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

    def search(self, kernel: str, rows: np.ndarray) -> bool:
        """Search the grid of a kernel on some rows; whether anything came of it."""
        late = self.limit is not None and time.perf_counter() >= self.limit
        if self.interrupted or (self.found and late):
            if kernel not in self.found:
                why = "Ctrl-C was pressed" if self.interrupted else "the time limit was near"
                self.remarks.append(f"The {kernel} kernel was not tried: {why}.")
            return False
        y = self.y[rows]
        search = self._search_of(kernel, y)
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
        self.found[kernel] = search
        self.remarks += [remark] if remark else []
        return True

    def _search_of(self, kernel: str, y: np.ndarray) -> Any:
        """The search of a kernel's parameters."""
        linear, options, limit = kernel == "linear", self.options, self.limit
        given: dict[str, Any] = dict(self.fixed)
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
            cv=self._folds_of(y),
            scoring=options.scoring,
            time_limit=remaining,
            refit=False,
            verbose=int(self.screen.live),
            **given,
        )

    def _folds_of(self, y: np.ndarray) -> Any:
        """A splitter; classes with few rows mean fewer folds."""
        folds, seed = self.options.folds, self.options.seed
        if not self.classifies:
            return KFold(min(folds, len(y)), shuffle=True, random_state=seed)
        rarest = int(np.unique(y, return_counts=True)[1].min())
        return StratifiedKFold(max(2, min(folds, rarest)), shuffle=True, random_state=seed)


def rounded(value: Any) -> Any:
    """To four digits: cross-validation does not tell more apart, and people can read them."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


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


def untuned(kernel: str, why: str, options: TrainOptions) -> Pick:
    """Parameters as given, or the defaults."""
    params: dict[str, Any] = {"C": 1.0 if options.C is None else options.C}
    choices = [Choice("kernel", kernel, why, "--kernel"), given_choice("C", params["C"], options.C)]
    if kernel != "linear":
        params["gamma"] = "scale" if options.gamma is None else options.gamma
        choices.append(given_choice("gamma", params["gamma"], options.gamma))
    return Pick(kernel, params, choices)


def given_choice(name: str, value: Any, given: Any) -> Choice:
    """A parameter that was not tuned."""
    text = value if isinstance(value, str) else figure(value)
    return Choice(name, text, "the default; nothing was tuned" if given is None else "you said so", f"--{name}")


def kernel_choice(found: dict[str, Any], best: str, why: str) -> Choice:
    """The kernel, and the scores that speak for it."""
    named = {"linear": "linear", "rbf": "rbf (Gaussian)"}
    if len(found) > 1:
        scores = [f"{kernel} {search.best_score_:.4f}" for kernel, search in found.items()]
        why = f"cross-validated {scorer_name(found[best])}: {' against '.join(scores)}"
    return Choice("kernel", named.get(best, best), why or "the only one tried", "--kernel")


def scorer_name(search: Any) -> str:
    """What the search's score is called."""
    if search.scoring is not None:
        return str(search.scoring)
    return "R2" if type(search).__name__.endswith("SVRCV") else "accuracy"


def parameter_choices(search: Any, kernel: str, about: str, options: TrainOptions) -> list[Choice]:
    """C and gamma as found."""
    cells = len(search.cv_results_["params"])
    why = f"best of {cells} cells in {search.n_splits_} folds of {about}: {search.best_score_:.4f}"
    found = []
    for name, given in (("C", options.C), ("gamma", options.gamma)):
        value = search.best_params_.get(name)
        if value is not None and (name == "C" or kernel != "linear"):
            text = value if isinstance(value, str) else figure(value)
            found.append(Choice(name, text, "you said so" if given is not None else why, f"--{name}, --no-tune"))
    return found


def class_choices(pick: Pick, y: np.ndarray, options: TrainOptions) -> list[Choice]:
    """How many classes are told apart, and whether there are probabilities; the latter goes into the parameters."""
    found = []
    if len(np.unique(y)) > 2:
        default = "ovr" if pick.kernel == "linear" else "ovo"
        value = options.multiclass or default
        names = {"ovo": "each pair of classes votes", "ovr": "each class against the rest"}
        why = "you said so" if options.multiclass else f"{names[default]}: the usual one for this kind of machine"
        found.append(Choice("multiclass", value, why, "--multiclass"))
    if options.class_weight is not None:
        found.append(Choice("class weight", options.class_weight, "you said so", "--class-weight"))
    few = len(y) <= CALIBRATED_ROWS and options.multiclass not in MARGIN
    calibration = options.calibration or ("sigmoid" if few else "none")
    if calibration != "none":
        pick.params.update(calibration=calibration, random_state=options.seed)
    if options.calibration is not None:
        why = "you said so"
    elif few:
        why = "scores become probabilities at the price of five quick fits"
    else:
        why = f"left away beyond {CALIBRATED_ROWS:,} rows for the time it takes"
    found.append(Choice("calibration", calibration, why, "--calibration"))
    return found


def tuning_of(found: dict[str, Any], best: str) -> Tuning:
    """All cells of all searches."""
    kernels: list[str] = []
    columns: dict[str, list[float]] = {"C": [], "gamma": [], "mean": [], "deviation": []}
    dropped: list[bool] = []
    place = 0
    for kernel, search in found.items():
        results = search.cv_results_
        if kernel == best:
            place = len(kernels) + int(search.best_index_)
        kernels += [kernel] * len(results["params"])
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
