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
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.arena import competitors, sets, table
from benchmarks.arena.case import Case, Missing, fix_gamma, open_source, save
from benchmarks.arena.contender import Contender
from benchmarks.arena.measure import Plan, Row, measure

PACKAGES = ("maxmargin", "numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "numba")
LEGEND = """\
fit: best warm fit; first: first fit of a fresh process (it compiles where a disk cache is empty); gap, kkt: our float64
certificate of its solution (? does not hold); certify: what that took; memory: peak of the fits above the memory after
reading the data, its own code included; score: accuracy, R2 of a regression, share accepted by a one-class machine (*
on the training rows: there are no others); ratio: its time over ours; floor: its gap falls no further, whatever tol."""


def parser() -> argparse.ArgumentParser:
    """The options; equal gaps are the default."""
    p = argparse.ArgumentParser("python -m benchmarks.arena", description=__doc__)
    p.add_argument("--data", metavar="DIR", help="folder with a load.py for the sets that no package carries")
    p.add_argument("--sets", nargs="+", metavar="SET", help="sets or single cases (a9a, a9a/10k); default: all")
    p.add_argument("--large", action="store_true", help="include the large cases, which may take hours")
    p.add_argument("--competitors", nargs="+", metavar="NAME", help="default: all")
    goal = p.add_mutually_exclusive_group()
    goal.add_argument("--gap", type=float, default=1e-4, help="certified relative gap to bring all to (default 1e-4)")
    goal.add_argument("--tol", type=_tol, help="fit at this tol instead, whatever the gap; 'default': each one's own")
    p.add_argument("--step", type=float, default=10.0, help="tol is divided by this until the gap is met (default 10)")
    p.add_argument("--repeat", type=int, default=3, help="turns of each competitor (default 3)")
    p.add_argument("--limit", type=float, default=600.0, help="seconds after which a fit is cut off (default 600)")
    p.add_argument("--json", metavar="FILE", type=Path, help="also write everything here, after every case")
    p.add_argument("--list", action="store_true", help="list sets and competitors, and stop")
    return p


def _tol(text: str) -> float | str:
    return text if text == "default" else float(text)


def choose(wanted: list[str] | None, known: Sequence[str], what: str) -> list[str]:
    """The names asked for, in the arena's order; "a9a" stands for all its cases."""
    if wanted is None:
        return list(known)
    for name in wanted:
        if not any(k == name or k.split("/")[0] == name for k in known):
            raise SystemExit(f"arena: unknown {what} {name!r}; known: {', '.join(known)}")
    return [k for k in known if k in wanted or k.split("/")[0] in wanted]


def run_case(name: str, case: Case, path: Path, sides: dict[str, Any], plan: Plan, limit: float) -> list[Row]:
    """All competitors on one case; those that cannot take part are listed with the reason."""
    rows = {side: Row(name, side) for side in sides}
    setup = {"path": str(path), "task": case.task, "params": case.params}
    with ExitStack() as stack:
        contenders = []
        for side, module in sides.items():
            why = module.available() or ("" if case.task in module.TASKS else f"has no {case.task}")
            if why:
                rows[side].status = "absent"
                rows[side].add(why)
            else:
                contenders.append(stack.enter_context(Contender(side, setup, limit)))
        measure(rows, contenders, plan)
    return list(rows.values())


def run(options: argparse.Namespace) -> None:
    """Run the cases asked for, one after the other, and print each as it is done."""
    sides = competitors.discover()
    sides = {name: sides[name] for name in choose(options.competitors, list(sides), "competitor")}
    cases = sets.discover()
    source = open_source(options.data)
    tol = None if options.tol in (None, "default") else options.tol
    plan = Plan(options.gap if options.tol is None else None, tol, options.step, options.repeat)
    blocks: list[list[Row]] = []
    missed: dict[str, str] = {}
    print(_heading(plan), LEGEND, sep="\n")
    for name in choose(options.sets, list(cases), "set"):
        data, case = cases[name]
        if case.large and not options.large and name not in (options.sets or ()):
            missed[name] = "large: name it in --sets, or give --large"
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "case.npz"
            try:
                split = data.load(source, case.rows)
            except (Missing, OSError) as why:
                missed[name] = str(why)
                continue
            case = Case(case.task, fix_gamma(case.params, split.X))
            save(path, split)
            blocks.append(run_case(name, case, path, sides, plan, options.limit))
            title = f"\n{name}: {case.task}, {split.X.shape[0]} x {split.X.shape[1]}, {_words(case.params)}"
        print(table.block(title, blocks[-1]), flush=True)
        _write(options, blocks, missed)
    print("\n" + table.summary(blocks, missed))
    _write(options, blocks, missed)


def _words(params: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value:.4g}" for key, value in params.items())


def _heading(plan: Plan) -> str:
    goal = f"tol={plan.tol or 'default'}" if plan.gap is None else f"certified relative gap {plan.gap:g}"
    versions = ", ".join(f"{name} {version}" for name, version in _versions().items())
    return (
        f"Arena: {goal}, best of {plan.repeat}; {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"
    )


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _write(options: argparse.Namespace, blocks: list[list[Row]], missed: dict[str, str]) -> None:
    """Everything measured so far, as JSON."""
    if options.json is None:
        return
    machine = {"cores": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version()}
    report = {
        "options": {k: str(v) if isinstance(v, Path) else v for k, v in vars(options).items() if k != "data"},
        "environment": machine | _versions(),
        "rows": [asdict(row) for rows in blocks for row in rows],
        "ratios": {what: table.means(blocks, what) for what in ("fit", "predict")},
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
