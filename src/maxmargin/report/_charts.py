"""Charts of tuning and training: the surface that cross-validation saw, margins, class counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from maxmargin.report._findings import Tuning
from maxmargin.report._svg import Chart, Scale, histogram, padded
from maxmargin.report._text import count, drawable, finite, number, plain, rows, share

#: Zones of the margin t f(x): class of the style, lower end, upper end, name.
MARGIN_ZONES = (
    ("zone-4", -math.inf, -1.0, "beyond the other margin"),
    ("zone-3", -1.0, 0.0, "in the strip, wrong side"),
    ("zone-2", 0.0, 1.0, "in the strip, right side"),
    ("zone-1", 1.0, math.inf, "on its margin or beyond"),
)
TUBE_ZONES = (("zone-1", -math.inf, 0.0, "on the tube or inside"), ("zone-4", 0.0, math.inf, "outside the tube"))


def opacity(value: float, low: float, high: float) -> float:
    """How strong the colour of a score is, from 0.06 to 1."""
    return 0.06 + 0.94 * max(0.0, value - low) / (high - low) if high > low else 1.0


def score_limits(scores: np.ndarray) -> tuple[float, float]:
    """Scores of the weakest and of the strongest colour.

    Cells much worse than most are as weak as any, so that colours tell the good ones apart.
    """
    high = float(scores.max())
    return max(float(scores.min()), high - 3.0 * (high - float(np.median(scores)))), high


# -- tuning -------------------------------------------------------------------------------------------------------


def tuning_charts(tuning: Tuning) -> list[str]:
    """One chart per kernel: a map over C and gamma, or a line over C where there is no gamma; colours mean the same."""
    kernels = list(dict.fromkeys(tuning.kernels))
    scores = finite(tuning.means)
    limits = score_limits(scores) if len(scores) else (0.0, 0.0)
    found = []
    for place, kernel in enumerate(kernels):
        cells = np.array([k == kernel for k in tuning.kernels])
        strengths, widths = np.asarray(tuning.strengths, float), np.asarray(tuning.widths, float)
        usable = cells & np.isfinite(strengths) & (strengths > 0)
        maps = usable & np.isfinite(widths) & (widths > 0)
        if len(np.unique(widths[maps])) > 1:
            found.append(_surface(tuning, np.flatnonzero(maps), limits, f"tuning-{place}"))
        elif len(np.unique(strengths[usable])) > 1:
            found.append(_score_line(tuning, np.flatnonzero(usable), f"tuning-{place}"))
    return found


def extents(values: Sequence[float]) -> dict[float, tuple[float, float]]:
    """Of every value the middle between it and its neighbours, mirrored at the ends."""
    known = sorted(set(values))
    if len(known) == 1:
        return {known[0]: (known[0] - 0.25, known[0] + 0.25)}
    middles = [(a + b) / 2 for a, b in pairwise(known)]
    lows = [2 * known[0] - middles[0], *middles]
    highs = [*middles, 2 * known[-1] - middles[-1]]
    return {value: (low, high) for value, low, high in zip(known, lows, highs, strict=True)}


def tiles(u: np.ndarray, v: np.ndarray) -> list[tuple[float, float, float, float]]:
    """A rectangle around every cell, up to its neighbours in its own row and column; finer grids get smaller ones."""
    across = {b: extents([x for x, y in zip(u, v, strict=True) if y == b]) for b in set(v)}
    along = {a: extents([y for x, y in zip(u, v, strict=True) if x == a]) for a in set(u)}
    boxes = [(*across[b][a], *along[a][b]) for a, b in zip(u, v, strict=True)]
    (left, _, low, _), (_, right, _, high) = np.min(boxes, axis=0), np.max(boxes, axis=0)
    return [  # the outermost cells reach to the frame, whatever their neighbours
        (
            float(left if a == u.min() else box[0]),
            float(right if a == u.max() else box[1]),
            float(low if b == v.min() else box[2]),
            float(high if b == v.max() else box[3]),
        )
        for a, b, box in zip(u, v, boxes, strict=True)
    ]


def _surface(tuning: Tuning, cells: np.ndarray, limits: tuple[float, float], name: str) -> str:
    u = np.round(np.log10(tuning.strengths[cells]), 9)
    v = np.round(np.log10(tuning.widths[cells]), 9)
    boxes = tiles(u, v)
    means = np.asarray(tuning.means, float)
    chart = Chart(
        name,
        f"{_capital(tuning.scorer)} over {tuning.strength} and gamma, kernel {plain(tuning.kernels[cells[0]], 60)}",
        f"A map of {len(cells)} cells.{_best(tuning, cells)}",
        height=340,
        bottom=82,
    )
    lows, highs = np.min(boxes, axis=0), np.max(boxes, axis=0)
    x, y = chart.x(lows[0], highs[1]), chart.y(lows[2], highs[3])
    scores = finite(means[cells])
    order = sorted(range(len(cells)), key=lambda k: -(boxes[k][1] - boxes[k][0]) * (boxes[k][3] - boxes[k][2]))
    for k in order:
        _tile(chart, x, y, boxes[k], tuning, int(cells[k]), limits)
    logs = chart.x(10 ** lows[0], 10 ** highs[1], log=True), chart.y(10 ** lows[2], 10 ** highs[3], log=True)
    chart.axes(*logs, "", "gamma", grid=False)
    chart.text((chart.left + chart.width - chart.right) / 2, chart.height - 46, tuning.strength, "axis-title", "middle")
    if tuning.best in cells:
        k = int(np.flatnonzero(cells == tuning.best)[0])
        chart.dot("best", x(u[k]), y(v[k]), 6.0, f"best: {_cell(tuning, tuning.best)}")
    ends = f"{'≤ ' if (scores < limits[0]).any() else ''}{number(limits[0], 3)}", number(limits[1], 3)
    crossed = not drawable(means[cells]).all()
    _colour_bar(chart, ends if len(scores) else None, tuning.best in cells, crossed)
    return chart.render()


def _tile(
    chart: Chart,
    x: Scale,
    y: Scale,
    box: tuple[float, float, float, float],
    tuning: Tuning,
    cell: int,
    limits: tuple[float, float],
) -> None:
    left, right, top, bottom = x(box[0]), x(box[1]), y(box[3]), y(box[2])
    mean, tip = float(tuning.means[cell]), _cell(tuning, cell)
    chart.rect("backing", left, top, right, bottom)
    if drawable(mean):
        chart.rect("heat", left, top, right, bottom, tip, fill_opacity=f"{opacity(mean, *limits):.2f}")
        return
    chart.rect("dropped", left, top, right, bottom, tip)
    middle, centre, arm = (left + right) / 2, (top + bottom) / 2, min(4.0, (right - left) / 4, (bottom - top) / 4)
    chart.line("cross", middle - arm, centre - arm, middle + arm, centre + arm)
    chart.line("cross", middle - arm, centre + arm, middle + arm, centre - arm)


def _capital(words: str) -> str:
    words = plain(words, 40)
    return words[:1].upper() + words[1:]


def _best(tuning: Tuning, cells: np.ndarray) -> str:
    """The chosen cell, where it is one of these."""
    return f" Chosen: {_cell(tuning, tuning.best)}." if tuning.best in cells else " The chosen cell is not among them."


def _cell(tuning: Tuning, cell: int) -> str:
    gamma = float(tuning.widths[cell])
    where = f"{tuning.strength} {number(tuning.strengths[cell], 3)}" + (
        "" if math.isnan(gamma) else f", gamma {number(gamma, 3)}"
    )
    mean = float(tuning.means[cell])
    if not math.isfinite(mean):
        return f"{where}: {'dropped early' if bool(tuning.dropped[cell]) else 'no score'}"
    return f"{where}: {number(mean)} ± {number(tuning.deviations[cell], 2)}"


def _colour_bar(chart: Chart, ends: tuple[str, str] | None, chosen: bool, crossed: bool) -> None:
    """What the colours mean, below the axes."""
    top, left, size = chart.height - 28, chart.left, 12.0
    if ends is not None:
        for k in range(11):
            at = left + 10 * k
            chart.rect("heat", at, top, at + 10.2, top + size, fill_opacity=f"{0.06 + 0.094 * k:.2f}")
        chart.text(left, chart.height - 3, ends[0], "tick")
        chart.text(left + 110, chart.height - 3, ends[1], "tick", "end")
    if chosen:
        chart.dot("best", left + 150, top + 6, 6.0)
        chart.text(left + 162, top + 10, "chosen", "tick")
    if crossed:
        chart.rect("dropped", left + 220, top, left + 236, top + size)
        chart.line("cross", left + 224, top + 2, left + 232, top + 10)
        chart.line("cross", left + 224, top + 10, left + 232, top + 2)
        chart.text(left + 242, top + 10, "dropped early", "tick")


def _score_line(tuning: Tuning, cells: np.ndarray, name: str) -> str:
    cells = cells[np.argsort(tuning.strengths[cells], kind="stable")]
    chart = Chart(
        name,
        f"{_capital(tuning.scorer)} over {tuning.strength}, kernel {plain(tuning.kernels[cells[0]], 60)}",
        f"A line over {len(cells)} values, with one standard deviation of the folds to either side."
        f"{_best(tuning, cells)}",
    )
    means = np.asarray(tuning.means, float)[cells]
    scored = drawable(means)
    spread = np.asarray(tuning.deviations, float)[cells]
    spread = np.where(drawable(spread), spread, 0.0)
    ends = np.r_[(means - spread)[scored], (means + spread)[scored]]
    x = chart.x(*_log_padded(tuning.strengths[cells]), log=True)
    y = chart.y(*padded(ends.min(), ends.max(), 0.08)) if len(ends) else chart.y(0.0, 1.0)
    chart.axes(x, y, tuning.strength, plain(tuning.scorer, 40))
    at = [x(float(c)) for c in tuning.strengths[cells]]
    upper = [(at[k], y(means[k] + spread[k])) for k in np.flatnonzero(scored)]
    lower = [(at[k], y(means[k] - spread[k])) for k in np.flatnonzero(scored)]
    chart.path("band", upper + lower[::-1], closed=True)
    chart.path("curve c1", [(at[k], y(means[k])) for k in np.flatnonzero(scored)])
    for k, cell in enumerate(cells):
        if scored[k]:
            chart.dot("point c1", at[k], y(means[k]), 3.5, _cell(tuning, int(cell)))
        else:
            chart.text(at[k], chart.height - chart.bottom - 4, "×", "tick", "middle")
        if cell == tuning.best and scored[k]:
            chart.dot("best", at[k], y(means[k]), 7.0, f"best: {_cell(tuning, int(cell))}")
    note = "The band is one standard deviation of the folds."
    note += " The ring is what was chosen." if tuning.best in cells else ""
    return chart.render(note if scored.all() else note + " A × at the axis was dropped early.")


def _log_padded(values: np.ndarray) -> tuple[float, float]:
    low, high = padded(math.log10(values.min()), math.log10(values.max()))
    return 10.0**low, 10.0**high


# -- margins, counts ------------------------------------------------------------------------------------------------


def margin_chart(margins: np.ndarray, regression: bool) -> str:
    """How the training rows lie against the strip or the tube, the zones coloured."""
    zones = TUBE_ZONES if regression else MARGIN_ZONES
    values = on_edges(finite(margins), regression)
    edges, clipped = _edges(values, [low for _, low, _, _ in zones if math.isfinite(low)])
    counts = histogram(values, edges)
    what = "|y - f(x)| - epsilon" if regression else "margin t·f(x)"
    chart = Chart(
        "margins",
        "Training rows by distance from the tube" if regression else "Training rows by margin",
        f"A histogram of {rows(len(values))} from {number(values.min())} to {number(values.max())}.",
    )
    x, y = chart.x(edges[0], edges[-1]), chart.y(0.0, 1.1 * counts.max())
    chart.axes(x, y, what, "rows")
    below = np.zeros(len(counts))  # zones are stacked where a bar is wider than one
    for kind, start, stop, zone in zones:
        for k, n in enumerate(histogram(values[(start <= values) & (values < stop)], edges)):
            if n:
                tip = f"{zone}, {number(edges[k], 3)} to {number(edges[k + 1], 3)}: {rows(n)}"
                chart.rect(f"bar {kind}", x(edges[k]), y(below[k] + n), x(edges[k + 1]) - 0.6, y(below[k]), tip)
                below[k] += n
    for _, low, _, _ in zones:
        if edges[0] < low < edges[-1]:
            chart.line("mark", x(low), chart.top, x(low), chart.height - chart.bottom)
    names = "".join(f'<li><span class="key {kind}"></span>{name}</li>' for kind, _, _, name in reversed(zones))
    lines = "The dashed line is at 0." if regression else "The dashed lines are at -1, 0 and 1."
    return chart.render(lines + _outside(clipped), f'<ul class="legend">{names}</ul>')


def on_edges(margins: np.ndarray, regression: bool) -> np.ndarray:
    """Rows on the tube, moved to the side on which they cost nothing; rows on a margin already lie on that side."""
    return np.where(margins == 0, -1e-9 * np.abs(margins).max(initial=0.0), margins) if regression else margins


def _outside(clipped: int) -> str:
    return f" The first and the last bar hold {rows(clipped)} that lie further out." if clipped else ""


def _edges(values: np.ndarray, fixed: Sequence[float], bins: int = 40) -> tuple[np.ndarray, int]:
    """Edges of equal width around the fixed values, on them where they are fine enough; how many values are outside.

    Half a percent of the rows on either side does not stretch the picture.
    """
    low, high = np.quantile(values, [0.005, 0.995])
    low, high = min(low, *fixed), max(high, *fixed)
    low, high = padded(low, high, 0.02)
    parts = bins / (high - low)
    parts = (
        round(parts) if parts > 1 else 1.0 / math.ceil(1.0 / parts)
    )  # so that whole numbers, or at least 0, are edges
    edges = np.arange(math.floor(low * parts), math.ceil(high * parts) + 1) / parts
    return edges, int(np.sum((values < edges[0]) | (values > edges[-1])))


def count_chart(counts: dict[str, int]) -> str:
    """Training rows of every class as bars."""
    chart = Chart(
        "counts",
        "Training rows of each class",
        "; ".join(f"{plain(label, 40)}: {count(n)}" for label, n in list(counts.items())[:30]),
        height=16 + 22.0 * len(counts),
        left=118,
        right=90,
        top=4,
        bottom=12,
    )
    total, x = sum(counts.values()), chart.x(0.0, max(1, *counts.values()))
    for place, (label, n) in enumerate(counts.items()):
        top = chart.top + 22.0 * place
        chart.label(chart.left - 6, top + 15, label, chart.left - 14, "end")
        chart.rect("bar c1", x(0.0), top + 3, x(n), top + 19)
        chart.text(x(n) + 5, top + 15, f"{count(n)} ({share(n / max(total, 1), 0)})", "tick")
    return chart.render()
