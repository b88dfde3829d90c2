"""How a case is measured: bring every competitor to the goal, then time them in turns; then the next goal."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from benchmarks.arena.contender import Contender, CutOff, Failed
from benchmarks.arena.row import Row
from benchmarks.arena.settle import Plan, Search, settle

__all__ = ["Plan", "Row", "measure", "settle"]

LONG = 30.0  # seconds of warm fits (or predictions) after which a competitor is not repeated
PAUSE = 0.25  # seconds between competitors, for the threads of the last one to go to sleep


@dataclass
class Run:
    """One competitor on its way from goal to goal; `row` is what was told of it at the last one."""

    contender: Contender
    row: Row | None = None
    search: Search = field(default_factory=Search)
    out: bool = False  # cut off or failed: no smaller goal will do better
    lost: bool = False  # its process was ended while it predicted
    times: list[float] = field(default_factory=list)
    predicted: list[float] = field(default_factory=list)


def measure(blocks: list[dict[str, Row]], contenders: list[Contender], plans: list[Plan]) -> None:
    """Measure all contenders of one case, goal by goal, and fill in their rows: one block for each goal."""
    runs = [Run(contender) for contender in contenders]
    for rows, plan in zip(blocks, plans, strict=True):
        live = [run for run in runs if _settle(run, rows[run.contender.name], plan)]
        for _ in range(1 if plan.once else plan.repeat):
            live = [run for run in live if _turn(run, plan)]


def _settle(run: Run, row: Row, plan: Plan) -> bool:
    """Bring one competitor to a goal; False if it is not to be timed there, or has been already."""
    before, run.row = run.row, row
    if before is not None and (run.out or run.search.done(plan.gap)):
        row.__dict__.update(replace(before, goal=row.goal, status=_carried(run, before)).__dict__)
        return False
    try:
        _prepare(run, before, plan)
        run.times, run.predicted = settle(run.contender, row, plan, run.search), []
    except (CutOff, Failed) as trouble:
        _give_up(run, trouble)
        return False
    finally:
        time.sleep(PAUSE)
    return True


def _carried(run: Run, before: Row) -> str:
    """The status at a smaller goal of a competitor that was not fitted again for it."""
    return "floor" if run.search.ended and not run.out else before.status


def _prepare(run: Run, before: Row | None, plan: Plan) -> None:
    """Load the data, or go on with the process there is."""
    assert run.row is not None
    if before is not None:
        run.row.__dict__.update({k: getattr(before, k) for k in ("scored_on", "imported", "first", "memory")})
        if run.lost:
            run.contender.restart()
        run.lost = False
        return
    about = run.contender.load()
    run.row.scored_on, run.row.imported = about["scored_on"], about["import"]
    if plan.once:
        run.contender.warm()


def _turn(run: Run, plan: Plan) -> bool:
    """One more warm fit and prediction, unless this competitor has had its time; False if it cannot go on."""
    contender, row, times, predicted = run.contender, run.row, run.times, run.predicted
    assert row is not None
    try:
        if not times or (not plan.once and sum(times) < LONG):
            reply = contender.fit(row.tol)
            times.append(reply["seconds"])
            row.memory = max(row.memory or 0.0, reply["memory"])
        row.fit = min(times)
    except (CutOff, Failed) as trouble:
        _give_up(run, trouble)
        return False
    try:
        if sum(predicted) < LONG:
            reply = contender.ask("predict", contender.limit)
            predicted.append(reply["seconds"])
            row.predict, row.score = min(predicted), reply["score"]
    except (CutOff, Failed) as trouble:
        row.add(str(trouble))
        run.lost = isinstance(trouble, CutOff)
        return False
    time.sleep(PAUSE)
    return True


def _give_up(run: Run, trouble: Exception) -> None:
    """List a competitor that was cut off or failed; a fit that was cut off took at least the limit."""
    assert run.row is not None
    run.out = True
    run.row.status = "cut off" if isinstance(trouble, CutOff) else "failed"
    run.row.add(str(trouble))
    if run.row.status == "cut off" and run.row.fit is None:
        run.row.fit = run.contender.limit
