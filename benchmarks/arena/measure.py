"""How a case is measured: bring every competitor to the goal, then time them in turns."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

from benchmarks.arena.contender import Contender, CutOff, Failed

START_TOL = 1e-3  # the default of every competitor here
LEAST_TOL = 1e-14
STALLED = 0.9  # a tightening that leaves more than this share of the gap has stalled ...
PATIENCE = 2  # ... and this many in a row are a floor: one alone may be chance
LONG = 30.0  # seconds of warm fits (or predictions) after which a competitor is not repeated
PAUSE = 0.25  # seconds between competitors, for the threads of the last one to go to sleep


@dataclass
class Row:
    """What the arena tells of one competitor on one case; None is "not measured"."""

    case: str
    competitor: str
    status: str = "ok"  # ok, floor, cut off, failed, absent
    tol: float | None = None
    fit: float | None = None  # seconds, best warm fit
    first: float | None = None  # seconds, first fit of a fresh process
    gap: float | None = None
    kkt: float | None = None
    holds: bool | None = None
    certify: float | None = None  # seconds
    memory: float | None = None  # MB over the memory in use after the data were read
    score: float | None = None
    scored_on: str = ""
    predict: float | None = None  # seconds
    imported: float | None = None  # seconds, importing its package once scikit-learn and NumPy are there
    notes: list[str] = field(default_factory=list)

    def add(self, *notes: str) -> None:
        """Keep each note once."""
        self.notes += [note for note in dict.fromkeys(notes) if note and note not in self.notes]


@dataclass(frozen=True)
class Plan:
    """How far and how often: `gap=None` leaves `tol` as it is, `tol=None` is each competitor's own default."""

    gap: float | None = None
    tol: float | None = None
    step: float = 10.0
    repeat: int = 3


@dataclass(frozen=True)
class Trial:
    """One fit and its certificate; `proof` is empty where there is none."""

    tol: float | None
    fit: dict[str, Any]
    proof: dict[str, Any]
    warm: bool

    @property
    def gap(self) -> float | None:
        """The certified relative gap; None where there is none or it is not finite."""
        gap = self.proof.get("gap")
        return gap if gap is not None and math.isfinite(gap) else None


def measure(rows: dict[str, Row], contenders: list[Contender], plan: Plan) -> None:
    """Measure all contenders of one case and fill in their rows."""
    live: list[tuple[Contender, Row, list[float], list[float]]] = []
    for contender in contenders:
        row = rows[contender.name]
        try:
            about = contender.load()
            row.scored_on, row.imported = about["scored_on"], about["import"]
            live.append((contender, row, settle(contender, row, plan), []))
        except (CutOff, Failed) as trouble:
            _give_up(row, contender, trouble)
        time.sleep(PAUSE)
    for _ in range(plan.repeat):
        live = [entry for entry in live if _turn(*entry)]


def settle(contender: Contender, row: Row, plan: Plan) -> list[float]:
    """Find the `tol` at which this competitor reaches the goal, or its floor; the warm fit times seen on the way."""
    trial, row.status = _tighten(contender, row, plan)
    row.tol = trial.tol
    row.gap, row.kkt, row.holds = trial.gap, trial.proof.get("kkt"), trial.proof.get("holds")
    row.certify = trial.proof.get("seconds")
    row.add(*trial.fit["warnings"], trial.fit["note"])
    if trial.proof and trial.gap is None:
        row.add(f"its certified gap is {trial.proof['gap']}")
    if trial.proof and not row.holds:
        row.add(f"the certificate does not hold: {trial.proof['reason']}")
    return [trial.fit["seconds"]] if trial.warm else []


def _tighten(contender: Contender, row: Row, plan: Plan) -> tuple[Trial, str]:
    """Divide `tol` until the certified gap is at most the goal or falls no more; the best trial and its status."""
    trial = best = _try(contender, row, START_TOL if plan.gap is not None else plan.tol)
    stalled = 0
    while not _reached(trial, plan.gap):
        assert trial.tol is not None
        tol = trial.tol / plan.step
        if tol < LEAST_TOL or stalled == PATIENCE:
            return best, "floor"
        try:
            trial = _try(contender, row, tol)
        except CutOff as cut:
            row.add(f"tol={tol:.0e}: {cut}; listed at tol={best.tol:.0e}")
            contender.restart()
            contender.fit(best.tol)
            return best, "floor"
        if trial.gap is not None and best.gap is not None:
            stalled = stalled + 1 if trial.gap > STALLED * best.gap else 0
            best = trial if trial.gap < best.gap else best
    return trial, "ok"


def _reached(trial: Trial, goal: float | None) -> bool:
    """Whether there is nothing to tighten: no goal, no certificate, or a gap that is small enough."""
    return goal is None or trial.gap is None or trial.gap <= goal


def _try(contender: Contender, row: Row, tol: float | None) -> Trial:
    """Fit and certify once; a failing certificate leaves the fit standing."""
    warm = contender.fits > 0
    fit = contender.fit(tol)
    if row.first is None:
        row.first = fit["seconds"]
    row.memory = max(row.memory or 0.0, fit["memory"])
    try:
        proof = contender.ask("certify", contender.limit)
    except (CutOff, Failed) as trouble:
        row.add(f"not certified: {trouble}")
        proof = {}
        if isinstance(trouble, CutOff):
            contender.restart()
            contender.fit(tol)
    return Trial(tol, fit, proof, warm)


def _turn(contender: Contender, row: Row, times: list[float], predicted: list[float]) -> bool:
    """One more warm fit and prediction, unless this competitor has had its time; False if it cannot go on."""
    try:
        if sum(times) < LONG:
            reply = contender.fit(row.tol)
            times.append(reply["seconds"])
            row.memory = max(row.memory or 0.0, reply["memory"])
        row.fit = min(times)
    except (CutOff, Failed) as trouble:
        _give_up(row, contender, trouble)
        return False
    try:
        if sum(predicted) < LONG:
            reply = contender.ask("predict", contender.limit)
            predicted.append(reply["seconds"])
            row.predict, row.score = min(predicted), reply["score"]
    except (CutOff, Failed) as trouble:
        row.add(str(trouble))
        return False
    time.sleep(PAUSE)
    return True


def _give_up(row: Row, contender: Contender, trouble: Exception) -> None:
    """List a competitor that was cut off or failed; a fit that was cut off took at least the limit."""
    row.status = "cut off" if isinstance(trouble, CutOff) else "failed"
    row.add(str(trouble))
    if row.status == "cut off" and row.fit is None:
        row.fit = contender.limit
