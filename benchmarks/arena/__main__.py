"""The arena's command line: ``python -m benchmarks.arena --help``."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.arena import bound, competitors, fastest, linear, sets, table, work
from benchmarks.arena.case import Case, Missing, Split, fix_gamma, open_source, save
from benchmarks.arena.contender import Contender
from benchmarks.arena.measure import Plan, measure
from benchmarks.arena.row import Row

PACKAGES = ("maxmargin", "numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "numba")
LINEAR_PACKAGES = ("liblinear-official", "snapml", "skglm")
LEGEND = """\
fit: best warm fit; first: first fit of a fresh process (it compiles where a disk cache is empty); gap, kkt: our float64
certificate of its solution (? does not hold); certify: what that took; memory: peak of the fits above the memory after
reading the data, its own code included; score: accuracy, R2 of a regression, share accepted by a one-class machine (*
on the training rows: there are no others); ratio: its time over ours; floor: its gap falls no further, whatever tol."""


def parser() -> argparse.ArgumentParser:
    """The options; equal gaps are the default."""
    p = argparse.ArgumentParser("python -m benchmarks.arena", description=__doc__)
    p.add_argument("--data", metavar="DIR", help="folder with a load.py for the sets that no package carries")
    p.add_argument(
        "--sets", nargs="+", metavar="SET", help="sets or cases (a9a, a9a/10k, a9a/linear-hinge); default: all"
    )
    p.add_argument("--tasks", nargs="+", metavar="TASK", help="only these tasks (svc, linear-hinge, ...); default: all")
    p.add_argument("--large", action="store_true", help="include the large cases, which may take hours")
    p.add_argument("--competitors", nargs="+", metavar="NAME", help="default: all")
    goal = p.add_mutually_exclusive_group()
    goal.add_argument(
        "--gap",
        type=float,
        nargs="+",
        default=[1e-4],
        help="certified relative gap to bring all to (default 1e-4); several: each gets its own table",
    )
    goal.add_argument("--tol", type=_tol, help="fit at this tol instead, whatever the gap; 'default': each one's own")
    p.add_argument("--step", type=float, default=10.0, help="tol is divided by this until the gap is met (default 10)")
    p.add_argument("--fixed-step", action="store_true", help="always by --step, not by what the last gap says")
    p.add_argument("--repeat", type=int, default=3, help="turns of each competitor (default 3)")
    p.add_argument("--limit", type=float, default=600.0, help="seconds after which a fit is cut off (default 600)")
    p.add_argument("--json", metavar="FILE", type=Path, help="also write everything here, after every case")
    p.add_argument("--list", action="store_true", help="list sets and competitors, and stop")
    return p


def _tol(text: str) -> float | str:
    return text if text == "default" else float(text)


def choose(wanted: list[str] | None, known: Sequence[str], what: str) -> list[str]:
    """The names asked for, in the arena's order; "a9a" stands for all its cases, as does all that ends at a "/"."""
    if wanted is None:
        return list(known)
    for name in wanted:
        if not any(_stands_for(name, k) for k in known):
            raise SystemExit(f"arena: unknown {what} {name!r}; known: {', '.join(known)}")
    return [k for k in known if any(_stands_for(name, k) for name in wanted)]


def _stands_for(name: str, known: str) -> bool:
    return known == name or known.startswith(f"{name}/")


def run_case(
    name: str, case: Case, split: Split, sides: dict[str, Any], plans: list[Plan], limit: float
) -> list[list[Row]]:
    """All competitors on one case, a list of rows for each plan; who cannot take part is listed with the reason."""
    sides = {side: module for side, module in sides.items() if _of_the_kind(module, case.task)}
    about: dict[str, Any] = {
        "shape": work.shape(split.X),
        "large": case.large,
        "task": case.task,
        "params": case.params,
    }
    blocks = [{side: Row(name, side, goal=plan.gap, **about) for side in sides} for plan in plans]
    with ExitStack() as stack:
        path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "case.npz"
        save(path, split)
        setup = {"path": str(path), "task": case.task, "params": case.params}
        contenders = []
        for side, module in sides.items():
            why = _why_not(module, case)
            if not why:
                contenders.append(stack.enter_context(Contender(side, setup, limit)))
                continue
            for rows in blocks:
                rows[side].status = "absent"
                rows[side].add(why)
        if contenders and linear.is_linear(case.task):
            said = bound.prepare(path, case.task, case.params, limit)
            for rows in blocks:
                rows[contenders[0].name].add(said)
        measure(blocks, contenders, plans)
    return [list(rows.values()) for rows in blocks]


def _of_the_kind(module: Any, task: str) -> bool:
    """Whether a competitor has anything to do with such tasks: who has no linear machine is not listed among them."""
    return any(linear.is_linear(known) == linear.is_linear(task) for known in module.TASKS)


def _why_not(module: Any, case: Case) -> str:
    """Why a competitor cannot take part, or ""."""
    if case.task not in module.TASKS:
        return f"has no {case.task}"
    cannot = getattr(module, "cannot", None)
    return module.available() or (cannot and cannot(case.task, case.params)) or ""


def plans_of(options: argparse.Namespace) -> list[Plan]:
    """One plan for each gap asked for, the largest first; one in all where tol is given."""
    tol = None if options.tol in (None, "default") else options.tol
    plan = Plan(None, tol, options.step, options.repeat, predict=not options.fixed_step)
    if options.tol is not None:
        return [plan]
    return [replace(plan, gap=gap) for gap in sorted(set(options.gap), reverse=True)]


def run(options: argparse.Namespace) -> None:
    """Run the cases asked for, one after the other, and print each as it is done."""
    sides = competitors.discover()
    sides = {name: sides[name] for name in choose(options.competitors, list(sides), "competitor")}
    cases = sets.discover()
    tasks = choose(options.tasks, list(dict.fromkeys(case.task for _, case in cases.values())), "task")
    source = open_source(options.data)
    plans = plans_of(options)
    found: list[list[list[Row]]] = [[] for _ in plans]  # by plan, then by case
    missed: dict[str, str] = {}
    print(_heading(plans), LEGEND, sep="\n")
    for name in choose(options.sets, list(cases), "set"):
        data, case = cases[name]
        if case.task not in tasks:
            continue
        if case.large and not options.large and name not in (options.sets or ()):
            missed[name] = "large: name it in --sets, or give --large"
            continue
        try:
            split = data.load(source, case.rows)
        except (Missing, OSError) as why:
            missed[name] = str(why)
            continue
        case = replace(case, params=fix_gamma(case.params, split.X))
        blocks = run_case(name, case, split, sides, [replace(p, once=case.large) for p in plans], options.limit)
        title = f"\n{name}: {case.task}, {split.X.shape[0]} x {split.X.shape[1]}, {_words(case.params)}"
        for of_plan, plan, rows in zip(found, plans, blocks, strict=True):
            of_plan.append(rows)
            print(table.block(title + _goal(plan, plans), rows), flush=True)
        _write(options, plans, found, missed)
    for of_plan, plan in zip(found, plans, strict=True):
        kernel, lines = fastest.others(of_plan), fastest.linear_only(of_plan)
        if kernel or missed or not lines:
            print("\n" + table.summary(kernel, missed, _goal(plan, plans)))
        if lines:
            print("\n" + fastest.summary(lines, _goal(plan, plans)))
    _write(options, plans, found, missed)


def _goal(plan: Plan, plans: list[Plan]) -> str:
    """The goal, where there are several to tell apart."""
    return f", gap {plan.gap:g}" if len(plans) > 1 else ""


def _words(params: dict[str, Any]) -> str:
    return ", ".join(f"{k}={v}" if isinstance(v, bool) else f"{k}={v:.4g}" for k, v in params.items())


def _heading(plans: list[Plan]) -> str:
    plan, gaps = plans[0], " and ".join(f"{plan.gap:g}" for plan in plans if plan.gap is not None)
    goal = f"certified relative gap {gaps}" if gaps else f"tol={plan.tol or 'default'}"
    versions = ", ".join(f"{name} {version}" for name, version in _versions().items())
    return (
        f"Arena: {goal}, best of {plan.repeat}; {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"
    )


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES + LINEAR_PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def environment() -> dict[str, Any]:
    """What a reader must know of the computer and its packages."""
    computer = {"cores": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version()}
    return computer | _versions()


def _write(
    options: argparse.Namespace, plans: list[Plan], found: list[list[list[Row]]], missed: dict[str, str]
) -> None:
    """Everything measured so far, as JSON; `ratios` where there is one goal, by goal where there are several."""
    if options.json is None:
        return
    kernel = [fastest.others(blocks) for blocks in found]
    ratios = [{what: table.means(blocks, what) for what in ("fit", "predict")} for blocks in kernel]
    goals = [(plan, blocks) for plan, blocks in zip(plans, found, strict=True) if plan.gap is not None]
    by_goal = {f"{plan.gap:g}": r for plan, r in zip(plans, ratios, strict=True) if plan.gap is not None}
    report = {
        "options": {k: str(v) if isinstance(v, Path) else v for k, v in vars(options).items() if k != "data"},
        "environment": environment(),
        "rows": [asdict(row) for blocks in found for rows in blocks for row in rows],
        "ratios": ratios[0] if len(plans) == 1 else by_goal,
        "linear": {f"{plan.gap:g}": fastest.mean(fastest.linear_only(b)) for plan, b in goals},
        "missed": missed,
    }
    options.json.write_text(json.dumps(report, indent=1) + "\n")


def main(arguments: list[str] | None = None) -> None:
    """Parse and run."""
    options = parser().parse_args(arguments)
    if options.list:
        print("sets:", *sets.discover(), "\ncompetitors:", *competitors.discover())
        return
    run(options)


if __name__ == "__main__":
    main()
