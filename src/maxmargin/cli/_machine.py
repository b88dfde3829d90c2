"""Which machine, with which parameters: by size and by cross-validated score."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin.cli._options import TrainOptions
from maxmargin.cli._print import Screen, figure
from maxmargin.cli._search import Rounds, Trial, scorer_name, tuning_of
from maxmargin.cli._split import Split
from maxmargin.multiclass import MARGIN
from maxmargin.report import Choice, Cuts, Tuning

#: Kernel machines are tried on up to this many training rows.
KERNEL_ROWS = 60_000
#: With more columns than this a linear machine separates most data; kernels are not tried.
KERNEL_COLUMNS = 5_000
#: Probabilities are fitted by default to up to this many training rows: five more fits.
CALIBRATED_ROWS = 10_000
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
    cuts: Cuts | None = None  # of two classes, where the machine's own cut does not stay

    @property
    def class_name(self) -> str:
        linear = self.kernel == "linear"
        return ("Linear" if linear else "") + ("SVR" if "epsilon" in self.params else "SVC")

    def machine(self) -> Any:
        import maxmargin

        return getattr(maxmargin, self.class_name)(**self.params)

    def bare_machine(self) -> Any:
        """The machine without probabilities, which take more fits."""
        return self.machine().set_params(**({"calibration": None} if "calibration" in self.params else {}))


def pick_machine(
    X: Any, y: np.ndarray, classifies: bool, options: TrainOptions, screen: Screen, split: Split | None = None
) -> Pick:
    """Choose kernel, C and gamma for encoded training rows."""
    tries, why = kernels_to_try(X, options)
    fixed = fixed_parameters(y, classifies, options)
    pick = chosen_by_score(tries, why, X, y, classifies, options, fixed, screen, split)
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
    if options.class_weight == "balanced":
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


def chosen_by_score(tries, why, X, y, classifies, options, fixed, screen, split) -> Pick:
    """Search every kernel's grid; the best score wins, and a draw goes to the linear machine."""
    if not options.tune or (options.C is not None and (tries == ["linear"] or options.gamma is not None)):
        return untuned(tries[0], why, options)
    limit = None if options.time_limit is None else time.perf_counter() + TUNING_SHARE * options.time_limit
    rounds = Rounds(X, y, classifies, options, fixed, limit, screen, split)
    sample, about = rounds.rows_for(tries)
    for kernel in tries:
        for weight in rounds.weights():
            rounds.search(kernel, sample, weight)
    found = dict(rounds.found)
    if not found:
        pick = untuned(tries[0], why or "the time limit left no time to compare", options)
        pick.remarks = rounds.remarks
        return pick
    best = simplest(found)
    choices = [kernel_choice(found, best, why), *scoring_choice(rounds)]
    if best.kernel == "linear" and tries != ["linear"] and len(sample) < len(y):  # it is quick enough for more rows
        more, named = rounds.rows_for(["linear"])
        if rounds.search("linear", more, best.weight):
            found[best], about = rounds.found[best], named
    search = found[best]
    params = {name: rounded(value) for name, value in search.best_params_.items()}
    choices += parameter_choices(search, best.kernel, about, options)
    if len(rounds.weights()) > 1:
        choices.append(weight_choice(found, best))
        params.update({"class_weight": best.weight} if best.weight else {})
    score = float(search.best_score_)
    if np.isfinite(score):
        choices.append(spread_choice(search, score))
    return Pick(best.kernel, params, choices, tuning_of(found, best), score, rounds.interrupted, rounds.remarks)


def rounded(value: Any) -> Any:
    """To four digits: cross-validation does not tell more apart, and people can read them."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def standard_error(search: Any) -> float:
    """How far the winner's mean score may be off: the spread of the folds over the root of their number."""
    spread = float(search.cv_results_["std_test_score"][search.best_index_])
    return spread / max(1.0, search.n_splits_ - 1.0) ** 0.5 if np.isfinite(spread) else 0.0


def simplest(found: dict[Trial, Any]) -> Trial:
    """The first trial within one standard error of the best: linear before Gaussian, without weights before with them.

    Weights are no matter of simplicity, so that of one kernel the better score counts.
    """
    best = max(found, key=lambda one: score_of(found[one]))
    enough = score_of(found[best]) - standard_error(found[best])
    near = [one for one in found if score_of(found[one]) >= enough]
    kernel = near[0].kernel  # kernels are tried from the simple to the flexible
    return max((one for one in near if one.kernel == kernel), key=lambda one: score_of(found[one]))


def score_of(search: Any) -> float:
    """The winner's mean score; that of a search which time cut short before all folds counts for nothing."""
    return float(search.best_score_) if np.isfinite(search.best_score_) else -np.inf


def spread_choice(search: Any, score: float) -> Choice:
    """The score in cross-validation, and how far the folds were apart."""
    spread = float(search.cv_results_["std_test_score"][search.best_index_])
    why = f"mean and standard deviation over {search.n_splits_} folds; ties go to the simpler model"
    return Choice("cross-validation", f"{scorer_name(search)} {score:.4f} ± {spread:.4f}", why)


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


def scoring_choice(rounds: Rounds) -> list[Choice]:
    """What the score is, where it is not the usual one."""
    if rounds.scoring is None:
        return []
    why = "you said so" if rounds.options.scoring else "classes are so unequal that accuracy says little"
    return [Choice("scoring", rounds.scoring, why, "--scoring")]


def weight_choice(found: dict[Trial, Any], best: Trial) -> Choice:
    """Whether rare classes count as much as common ones."""
    scores = [f"{trial.weight or 'none'} {search.best_score_:.4f}" for trial, search in found.items()
              if trial.kernel == best.kernel]  # fmt: skip
    why = f"cross-validated {scorer_name(found[best])}: {' against '.join(scores)}"
    return Choice("class weight", best.weight or "none", why, "--class-weight")


def kernel_choice(found: dict[Trial, Any], best: Trial, why: str) -> Choice:
    """The kernel, and the scores that speak for it."""
    named = {"linear": "linear", "rbf": "rbf (Gaussian)"}
    kernels = dict.fromkeys(trial.kernel for trial in found)
    if len(kernels) > 1:
        tops = {k: max(score_of(s) for trial, s in found.items() if trial.kernel == k) for k in kernels}
        scores = [f"{kernel} {top:.4f}" for kernel, top in tops.items()]
        why = f"cross-validated {scorer_name(found[best])}: {' against '.join(scores)}"
        if score_of(found[best]) < max(map(score_of, found.values())):
            why += ", within one standard error: a tie goes to the simpler kernel"
    return Choice("kernel", named.get(best.kernel, best.kernel), why or "the only one tried", "--kernel")


def parameter_choices(search: Any, kernel: str, about: str, options: TrainOptions) -> list[Choice]:
    """C and gamma as found."""
    cells = len(search.cv_results_["params"])
    why = f"of {cells} cells in {search.n_splits_} folds of {about}: {search.best_score_:.4f}"
    means = np.asarray(search.cv_results_["mean_test_score"], dtype=np.float64)
    best = float(np.max(means, initial=-np.inf, where=np.isfinite(means)))
    if search.best_score_ < best:
        why = f"the simplest within one standard error of the best ({best:.4f}) {why}"
    else:
        why = f"best {why}"
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
        why = "turns scores into probabilities, for five more short fits"
    else:
        why = f"skipped above {CALIBRATED_ROWS:,} rows to save time"
    found.append(Choice("calibration", calibration, why, "--calibration"))
    return found
