"""How a competitor is brought to the goal: its `tol` is tightened until our certificate is good enough."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from benchmarks.arena.contender import Contender, CutOff, Failed
from benchmarks.arena.row import Row

START_TOL = 1e-3  # the default of every competitor here
LEAST_TOL = 1e-14
STALLED = 0.9  # a tightening that leaves more than this share of the gap has stalled ...
PATIENCE = 2  # ... and this many in a row are a floor: one alone may be chance


@dataclass(frozen=True)
class Plan:
    """How far and how often: `gap=None` leaves `tol` as it is, `tol=None` is each competitor's own default.

    `tol` is divided by `step`; with `predict` by what the last gap says is needed, at most `step` squared. `once`
    times one fit, in a process warmed up on a few rows.
    """

    gap: float | None = None
    tol: float | None = None
    step: float = 10.0
    repeat: int = 3
    predict: bool = False
    once: bool = False


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


@dataclass
class Search:
    """Where the tightening of one competitor stands; a smaller goal goes on from here."""

    trial: Trial | None = None
    best: Trial | None = None
    stalled: int = 0
    in_vain: bool = False  # the last tightening
    ended: bool = False  # at the floor

    def done(self, goal: float | None) -> bool:
        """Whether nothing is left to try for this goal."""
        return self.ended or (self.trial is not None and _reached(self.trial, goal))

    def take(self, trial: Trial, step: float) -> None:
        """Note a new trial; only a tightening by a whole `step` may count as one in vain."""
        if self.trial is None or self.best is None:
            self.trial = self.best = trial
            return
        assert self.trial.tol is not None
        assert trial.tol is not None
        if trial.gap is not None and self.best.gap is not None:
            self.in_vain = trial.gap > STALLED * self.best.gap
            whole = trial.tol <= 1.001 * self.trial.tol / step
            self.stalled = self.stalled + whole if self.in_vain else 0
            self.best = trial if trial.gap < self.best.gap else self.best
        self.trial = trial


def settle(contender: Contender, row: Row, plan: Plan, search: Search | None = None) -> list[float]:
    """Find the `tol` at which this competitor reaches the goal, or its floor; the warm fit times seen on the way."""
    trial, row.status = _tighten(contender, row, plan, Search() if search is None else search)
    row.tol = trial.tol
    row.gap, row.kkt, row.holds = trial.gap, trial.proof.get("kkt"), trial.proof.get("holds")
    row.certify = trial.proof.get("seconds")
    row.support, row.values = trial.fit.get("support"), trial.fit.get("values")
    row.add(*trial.fit["warnings"], trial.fit["note"])
    if trial.proof and trial.gap is None:
        row.add(f"its certified gap is {trial.proof['gap']}")
    if trial.proof and not row.holds:
        row.add(f"the certificate does not hold: {trial.proof['reason']}")
    return [trial.fit["seconds"]] if trial.warm else []


def _tighten(contender: Contender, row: Row, plan: Plan, search: Search) -> tuple[Trial, str]:
    """Tighten `tol` until the certified gap is at most the goal or falls no more; the best trial and its status."""
    if search.trial is None:
        search.take(_try(contender, row, START_TOL if plan.gap is not None else plan.tol), plan.step)
    while not search.done(plan.gap):
        assert search.best is not None
        tol = _next_tol(search, plan)
        if tol < LEAST_TOL or search.stalled == PATIENCE:
            search.ended = True
            break
        try:
            search.take(_try(contender, row, tol), plan.step)
        except CutOff as cut:
            row.add(f"tol={tol:.0e}: {cut}; listed at tol={search.best.tol:.0e}")
            search.ended = True
            contender.restart()
            contender.fit(search.best.tol)
    assert search.trial is not None
    assert search.best is not None
    return (search.best, "floor") if search.ended else (search.trial, "ok")


def _next_tol(search: Search, plan: Plan) -> float:
    """The next `tol`: divided by `step`, or half of what the goal needs if the gap is proportional to `tol`."""
    trial = search.trial
    assert trial is not None
    assert trial.tol is not None
    whole = trial.tol / plan.step
    if not plan.predict or plan.gap is None or trial.gap is None or search.in_vain:
        return whole
    factor = max(plan.step**-2, min(0.5, 0.5 * plan.gap / trial.gap))
    return max(trial.tol * factor, min(whole, LEAST_TOL))


def _reached(trial: Trial, goal: float | None) -> bool:
    """Whether there is nothing to tighten: no goal, no certificate, or a gap that is small enough."""
    return goal is None or trial.gap is None or trial.gap <= goal


def _try(contender: Contender, row: Row, tol: float | None) -> Trial:
    """Fit and certify once; a failing certificate leaves the fit standing."""
    warm = contender.fits > 0
    fit = contender.fit(tol)
    if row.first is None and not warm:
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
