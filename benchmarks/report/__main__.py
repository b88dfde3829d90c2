"""``python -m benchmarks.report ARENA.json ... [--scaling FILE] [--classes FILE] [...] [--into PAGE]``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks import everyday
from benchmarks.report import classes, growth, large, linear, markdown, minimum, rates, results, selection


def make(
    arena: list[dict[str, Any]],
    scaling: dict[str, Any] | None = None,
    computer: dict[str, Any] | None = None,
    many_classes: dict[str, Any] | None = None,
    searches: dict[str, Any] | None = None,
    beyond: dict[str, Any] | None = None,
    small: dict[str, Any] | None = None,
) -> dict[str, str]:
    """Every table that can be made of these, by name."""
    tables = results.tables(arena) | linear.tables(arena)
    if arena:
        tables["environment"] = _environment(arena[0])
    if scaling is not None:
        tables |= growth.tables(scaling)
    if computer is not None:
        tables["rates"] = rates.rates(computer)
        tables["minimum"] = minimum.least_work(arena, computer)
    if many_classes is not None:
        tables |= classes.tables(many_classes)
    if searches is not None:
        tables |= selection.tables(searches)
    if beyond is not None:
        tables |= large.tables(beyond)
    if small is not None:
        tables |= everyday.tables(everyday.lines_of(small))
    return tables


def _environment(report: dict[str, Any]) -> str:
    """What the arena ran on, and with which packages."""
    known = dict(report["environment"])
    computer = f"{known.pop('cores')} cores, {known.pop('machine')}, Python {known.pop('python')}"
    packages = ", ".join(f"{name} {version}" for name, version in known.items())
    return f"{computer},\n{packages}."


def main(arguments: list[str] | None = None) -> None:
    """Print the tables, or put them into a page."""
    p = argparse.ArgumentParser("python -m benchmarks.report", description=__doc__)
    p.add_argument("arena", nargs="*", type=Path, help="what the arena wrote; several runs with different goals")
    p.add_argument("--scaling", type=Path, metavar="FILE", help="what benchmarks.scaling wrote")
    p.add_argument("--computer", type=Path, metavar="FILE", help="what benchmarks.computer wrote")
    p.add_argument("--classes", type=Path, metavar="FILE", help="what benchmarks.classes wrote")
    p.add_argument("--selection", type=Path, metavar="FILE", help="what benchmarks.selection wrote")
    p.add_argument("--large", type=Path, metavar="FILE", help="what benchmarks.large wrote")
    p.add_argument("--everyday", type=Path, metavar="FILE", help="what benchmarks.everyday wrote")
    p.add_argument("--into", type=Path, metavar="PAGE", help="put the tables into this page instead of printing them")
    options = p.parse_args(arguments)
    others = (options.scaling, options.computer, options.classes, options.selection, options.large, options.everyday)
    tables = make([_read(path) for path in options.arena], *map(_optional, others))
    if options.into is None:
        print("\n\n".join(f"<!-- table: {name} -->\n\n{text}\n\n<!-- end -->" for name, text in tables.items()))
        return
    page = options.into.read_text(encoding="utf-8")
    options.into.write_text(markdown.fill(page, tables), encoding="utf-8")
    there = set(markdown.places(page))
    print(f"filled: {', '.join(n for n in tables if n in there) or 'nothing'}")
    print(f"no place for: {', '.join(n for n in tables if n not in there) or 'nothing'}")
    print(f"left as they were: {', '.join(sorted(there - set(tables))) or 'nothing'}")


def _read(path: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return report


def _optional(path: Path | None) -> dict[str, Any] | None:
    return None if path is None else _read(path)


if __name__ == "__main__":
    main()
