"""How the time of a fit grows with the rows and with the columns: ``python -m benchmarks.scaling --data DIR``.

Every competitor runs at its own default tol, once, in the arena's worker, warmed up on a few rows. One that is cut off
is not asked for larger sizes. The exponent p of ``time ~ size^p`` is fitted by least squares in logarithms over the
upper half of the sizes, at least three.

**Against n**: covtype and a9a as in the arena, the smaller sets drawn from the larger.
**Against d**: one and the same problem at every d. The digits 3 and 8 of mnist are projected on their first eight
principal components, and those are mapped into d columns by a random orthonormal map. Distances, hence support vectors
and steps, stay as they are (up to rounding to float32); what grows is the cost of a kernel value, with dense columns.
Columns left out or projected away would change the problem with d, and that would be timed instead.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.arena import competitors, sets, table
from benchmarks.arena.__main__ import choose, environment, run_case
from benchmarks.arena.case import SCALE, Case, Missing, Source, Split, fix_gamma, open_source
from benchmarks.arena.measure import Plan
from benchmarks.arena.row import Row

COMPETITORS = ["maxmargin", "sklearn", "sklearnex-f32"]
DIGITS, DIGIT_ROWS, COMPONENTS = (3, 8), 5000, 8
TEST_ROWS = 100  # predictions are not the subject here
LEAST_POINTS = 3  # for an exponent


@dataclass(frozen=True)
class Series:
    """One line of growth: `load` gives the split of a size; `by` is what the size counts, n or d."""

    name: str
    by: str
    C: float
    sizes: tuple[int, ...]
    load: Callable[[Source, int], Split]

    def label(self, size: int) -> str:
        """The name of one point."""
        return f"{self.name} {self.by}={size}"


def drawn(name: str) -> Callable[[Source, int], Split]:
    """Rows of one of the arena's sets."""

    def load(source: Source, rows: int) -> Split:
        data = next(data for data, _ in sets.discover().values() if name == data.NAME)
        split: Split = data.load(source, rows)
        return split._replace(X_test=split.X[:TEST_ROWS], y_test=split.y[:TEST_ROWS])

    return load


def embedded_digits(source: Source, columns: int) -> Split:
    """Two digits in their first principal components, turned into `columns` dense columns; distances stay."""
    pixels, label, *_ = source("mnist")
    rows = np.flatnonzero(np.isin(label, DIGITS))[:DIGIT_ROWS]
    X = np.asarray(pixels[rows], dtype=np.float64) / 255.0
    X -= X.mean(axis=0)
    _, vectors = np.linalg.eigh(X.T @ X)
    X = X @ vectors[:, ::-1][:, :COMPONENTS]
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(columns, COMPONENTS)))[0]
    y = (label[rows] == DIGITS[0]).astype(int)
    return Split(X @ turn.T, y, X[:TEST_ROWS] @ turn.T, y[:TEST_ROWS])


SERIES = (
    Series("covtype", "n", 10.0, (2000, 5000, 10_000, 20_000, 50_000, 100_000), drawn("covtype")),
    Series("a9a", "n", 1.0, (2000, 5000, 10_000, 20_000, 32_561), drawn("a9a")),
    Series("digits 3 and 8", "d", 10.0, (8, 32, 128, 512, 784), embedded_digits),
)


def points(
    series: Series, source: Source, sides: dict[str, Any], limit: float, most: int | None
) -> Iterator[list[Row]]:
    """The rows of one size after the other; a competitor that was cut off is left out of the larger ones."""
    sides = dict(sides)
    params: dict[str, Any] = {"C": series.C, "gamma": SCALE}
    for size in series.sizes:
        if most is not None and size > most:
            return
        split = series.load(source, size)
        fixed = fix_gamma(params, split.X)
        params = fixed if series.by == "d" else params  # one problem at every d has one gamma
        case = Case("svc", fixed, series.label(size), large=True)
        (rows,) = run_case(case.label, case, split, sides, [Plan(once=True)], limit)
        yield rows
        sides = {name: side for name, side in sides.items() if _may_go_on(name, rows)}


def _may_go_on(name: str, rows: list[Row]) -> bool:
    return all(row.status == "ok" for row in rows if row.competitor == name)


def exponent(sizes: list[float], seconds: list[float]) -> float | None:
    """p of ``seconds ~ size^p`` over the upper half of the sizes, at least three; None where there are fewer."""
    order = np.argsort(sizes)[len(sizes) - max(LEAST_POINTS, math.ceil(len(sizes) / 2)) :]
    if len(sizes) < LEAST_POINTS:
        return None
    x, t = np.log(np.asarray(sizes, dtype=float)[order]), np.log(np.asarray(seconds)[order])
    return float(np.polyfit(x, t, 1)[0])


def exponents(rows: list[dict[str, Any]]) -> dict[str, dict[str, float | None]]:
    """The exponent of every competitor in every series, from fits that ended."""
    found: dict[str, dict[str, float | None]] = {}
    for series in dict.fromkeys(row["series"] for row in rows):
        of_series = [row for row in rows if row["series"] == series and row["status"] == "ok" and row["fit"]]
        names = dict.fromkeys(row["competitor"] for row in of_series)
        found[series] = {
            name: exponent(*_columns([row for row in of_series if row["competitor"] == name])) for name in names
        }
    return found


def _columns(rows: list[dict[str, Any]]) -> tuple[list[float], list[float]]:
    return [row["size"] for row in rows], [row["fit"] for row in rows]


def run(options: argparse.Namespace) -> None:
    """Measure and print size by size, then the exponents."""
    known = competitors.discover()
    sides = {name: known[name] for name in choose(options.competitors or COMPETITORS, list(known), "competitor")}
    source = open_source(options.data)
    rows: list[dict[str, Any]] = []
    for series in SERIES:
        if options.series is not None and series.name.split()[0] not in options.series:
            continue
        try:
            for size, block in zip(
                series.sizes, points(series, source, sides, options.limit, options.most), strict=False
            ):
                rows += [{"series": series.name, "by": series.by, "size": size} | asdict(row) for row in block]
                print(table.block("\n" + series.label(size), block), flush=True)
                _write(options, rows)
        except (Missing, OSError) as why:
            print(f"\n{series.name}: missed: {why}")
    for name, fitted in exponents(rows).items():
        said = (f"{side} {'-' if p is None else format(p, '.2f')}" for side, p in fitted.items())
        print(f"\n{name}: exponents of the time:", ", ".join(said))


def _write(options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Everything measured so far, as JSON."""
    if options.json is None:
        return
    report = {"environment": environment(), "limit": options.limit, "rows": rows, "exponents": exponents(rows)}
    options.json.write_text(json.dumps(report, indent=1) + "\n")


def main(arguments: list[str] | None = None) -> None:
    """Parse and run."""
    p = argparse.ArgumentParser("python -m benchmarks.scaling", description=(__doc__ or "").partition("\n")[0])
    p.add_argument("--data", metavar="DIR", help="folder with a load.py, as for the arena")
    p.add_argument("--competitors", nargs="+", metavar="NAME", help=f"default: {' '.join(COMPETITORS)}")
    p.add_argument("--series", nargs="+", choices=[s.name.split()[0] for s in SERIES], help="default: all")
    p.add_argument("--most", type=int, metavar="SIZE", help="leave out larger sizes")
    p.add_argument("--limit", type=float, default=120.0, help="seconds after which a fit is cut off (default 120)")
    p.add_argument("--json", metavar="FILE", type=Path, help="also write everything here, after every size")
    run(p.parse_args(arguments))


if __name__ == "__main__":
    main()
