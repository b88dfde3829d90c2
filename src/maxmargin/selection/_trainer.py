"""How a search has its cells trained: what a trainer is, and the one that fits any machine."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _safe_split

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin._validation import cache_bytes
from maxmargin.estimators.interface import Machine, Training, fitted_scaling, scaled
from maxmargin.selection._folds import Fold
from maxmargin.selection._scoring import Held, known_scores


@dataclass(frozen=True)
class SearchInput:
    """Checked input of a search."""

    X: Any
    y: Array
    weight: FloatArray  # of all rows
    weighted: bool  # whether the user gave weights
    kept: IntArray
    folds: list[Fold]

    def training(self, rows: IntArray) -> Training:
        """Some of the rows as a fit has its input."""
        return Training(self.X, self.y, self.weight[rows], rows, len(self.y))

    def classes(self, machine: Machine) -> int:
        """Number of classes; 0 for real targets."""
        return len(np.unique(self.y[self.kept])) if is_classifier(machine) else 0

    def held_out(self, fold: int, machine: Machine, labels: Any, scores: FloatArray) -> Held:
        """The held-out rows of a fold, whose scores (rows, tasks) are known."""
        held = self.folds[fold].held
        model = known_scores(machine, labels, scores)
        return Held(model, lambda: _safe_indexing(self.X, held), self.y[held], self.weights(held))

    def weights(self, rows: IntArray) -> FloatArray | None:
        """Weights of some rows, None where all are equal."""
        return self.weight[rows] if self.weighted else None


class Trained(NamedTuple):
    """A cell of one fold: what predicts, its certified relative gap (nan if there is none), and the time it took."""

    held: Held
    gap: float
    seconds: float


class Line(ABC):
    """The cells of one line, in some folds."""

    def expect(self, strengths: list[float]) -> None:
        """Told before the first ``train`` which strengths are to come: some lines do what these share, most nothing."""
        return

    @abstractmethod
    def train(self, fold: int, strength: float, gap: float | None) -> Trained:
        """Train at this strength, to a relative gap or (None) to the machine's own goal.

        Called with growing strength, and from several threads for different folds.
        """


class Trainer(ABC):
    """Makes lines; ``at_once`` is the number of folds that a line may have, ``method`` says what is shared."""

    machine: Machine
    data: SearchInput
    at_once: int
    method: ClassVar[str]
    loosens: bool = True  # whether a cell may be trained to a gap wider than the machine's own goal

    @abstractmethod
    def line(self, params: dict[str, Any], folds: list[int]) -> Line:
        """The line with these parameters (all but the strength)."""


class FitTrainer(Trainer):
    """Every cell is a fit of the machine, started at the cell before it if the machine can and forgets where it began.

    Stochastic machines do not: what a cell scores would depend on the other cells of the grid.
    """

    method = "one fit per cell"

    def __init__(self, machine: Machine, strength: str, data: SearchInput, threads: int, scale: bool):
        self.machine, self.strength, self.data, self.threads = machine, strength, data, threads
        self.at_once, self.scale = len(data.folds), scale
        self.loosens = bool(loose(machine, math.inf))

    def line(self, params, folds):
        own = self.machine.get_params()
        given: dict[str, Any] = {name: value for name, value in (("verbose", 0), ("time_limit", None)) if name in own}
        side_by_side = min(self.threads, len(folds))
        if side_by_side > 1 and "n_jobs" in own:
            given["n_jobs"] = 1
        if side_by_side > 1 and "cache_size" in own:
            given["cache_size"] = cache_bytes(own["cache_size"]) / 2**20 / side_by_side
        if hasattr(self.machine, "_warm_starts") and getattr(self.machine, "_forgets_start", True):
            given["warm_start"] = True
        models = {k: clone(self.machine).set_params(**params, **given) for k in folds}
        return _FitLine(self, models)


class _FitLine(Line):
    def __init__(self, trainer: FitTrainer, models: dict[int, Any]):
        self.trainer, self.models = trainer, models

    def train(self, fold, strength, gap):
        data, model, rows = self.trainer.data, self.models[fold], self.trainer.data.folds[fold]
        goal = {} if gap is None else loose(self.trainer.machine, gap)
        model.set_params(**{self.trainer.strength: strength}, **goal)
        began = time.perf_counter()
        all_rows = data.X
        if self.trainer.scale:
            all_rows = scaled(data.X, fitted_scaling(data.X[rows.train], data.weight[rows.train]))
        X, y = _safe_split(model, all_rows, data.y, rows.train)
        given = {"sample_weight": data.weight[rows.train]} if data.weighted else {}
        model.fit(X, y, **given)
        X_held, y_held = _safe_split(model, all_rows, data.y, rows.held, rows.train)
        held = Held(lambda part: model, lambda: X_held, y_held, data.weights(rows.held), needs_rows=True)
        return Trained(held, certified_gap(model), time.perf_counter() - began)


def certified_gap(model: Any) -> float:
    """The relative gap that a fitted machine's certificate gives; nan without one, or if it is only an estimate."""
    certificate = getattr(model, "certificate_", None)
    return math.nan if certificate is None or certificate.method == "estimated" else float(certificate.relative_gap)


def loose(machine: Machine, gap: float) -> dict[str, float]:
    """Parameters that let the machine stop at this relative gap."""
    if hasattr(machine, "gap_tol"):
        return {"gap_tol": gap} if machine.gap_tol is None else {}
    stops_on_gap = hasattr(machine, "_pair") and isinstance(getattr(machine, "tol", None), float)
    return {"tol": max(machine.tol, gap)} if stops_on_gap else {}
