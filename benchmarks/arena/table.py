"""The arena's words: a block per case, ratios, geometric means."""

from __future__ import annotations

import math
from collections.abc import Iterable

from benchmarks.arena.row import Row

OURS = "maxmargin"
HEAD = (
    "competitor",
    "tol",
    "fit",
    "ratio",
    "first",
    "gap",
    "kkt",
    "certify",
    "memory",
    "score",
    "predict",
    "ratio",
    "",
)
COUNTED = ("ok", "floor", "cut off")


def ratio(ours: Row | None, theirs: Row, what: str = "fit") -> tuple[float, str] | None:
    """Their time over ours, and what is known of it: "=", or ">" and "<" where one of the two was cut off."""
    if ours is None or ours is theirs or {ours.status, theirs.status} - set(COUNTED):
        return None
    mine, other = getattr(ours, what), getattr(theirs, what)
    if not mine or not other:
        return None
    cut = ours.status == "cut off", theirs.status == "cut off"
    if all(cut):
        return None
    return other / mine, {(False, False): "=", (False, True): ">", (True, False): "<"}[cut]


def block(title: str, rows: list[Row]) -> str:
    """The rows of one case as a table, with their notes below."""
    ours = next((row for row in rows if row.competitor == OURS), None)
    cells = [HEAD] + [_cells(row, ours) for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(HEAD))]
    lines = [_line(line, widths) for line in cells]
    notes = [f"    {row.competitor}: {note}" for row in rows for note in row.notes]
    return "\n".join([title, *lines, *notes])


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    first, *others = (c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True)))
    return ("  " + "  ".join([first, *others])).rstrip()


def _cells(row: Row, ours: Row | None) -> tuple[str, ...]:
    gap = _number(row.gap, ".1e") + ("?" if row.holds is False else "")
    score = _number(row.score, ".4f") + ("*" if row.score is not None and row.scored_on == "train" else "")
    fit = (">" if row.status == "cut off" and row.fit is not None else "") + seconds(row.fit)
    return (
        row.competitor,
        _number(row.tol, ".0e") if row.tol is not None or row.fit is None else "default",
        fit,
        _times(ratio(ours, row)),
        seconds(row.first),
        gap,
        _number(row.kkt, ".1e"),
        seconds(row.certify),
        _number(row.memory, ".0f", " MB"),
        score,
        seconds(row.predict),
        _times(ratio(ours, row, "predict")),
        "" if row.status == "ok" else row.status,
    )


def seconds(value: float | None) -> str:
    """A time with three digits and its unit."""
    if value is None:
        return "-"
    return f"{value:.3g} s" if value >= 1.0 else f"{1000.0 * value:.3g} ms"


def _number(value: float | None, form: str, unit: str = "") -> str:
    return "-" if value is None else f"{value:{form}}{unit}"


def _times(known: tuple[float, str] | None) -> str:
    if known is None:
        return ""
    value, sign = known
    return f"{'' if sign == '=' else sign}{value:.2f} x"


def means(blocks: Iterable[list[Row]], what: str = "fit") -> dict[str, dict[str, float | int | str]]:
    """For each competitor the geometric mean of its ratios, their least, their number, and how sure the mean is."""
    found: dict[str, list[tuple[float, str]]] = {}
    for rows in blocks:
        ours = next((row for row in rows if row.competitor == OURS), None)
        for row in rows:
            known = ratio(ours, row, what)
            if known is not None:
                found.setdefault(row.competitor, []).append(known)
    return {name: _mean(ratios) for name, ratios in found.items()}


def _mean(ratios: list[tuple[float, str]]) -> dict[str, float | int | str]:
    values = [value for value, _ in ratios]
    signs = {sign for _, sign in ratios} - {"="}
    sign = "=" if not signs else signs.pop() if len(signs) == 1 else "?"
    return {
        "mean": math.exp(sum(map(math.log, values)) / len(values)),
        "least": min(values),
        "cases": len(values),
        "sign": sign,
    }


def summary(blocks: list[list[Row]], missed: dict[str, str], goal: str = "") -> str:
    """Geometric means, rows left out of them, and sets that could not be run."""
    lines = [f"How many times as long as maxmargin{goal} (geometric mean over cases; > and < where some were cut off)"]
    for what in ("fit", "predict"):
        for name, m in means(blocks, what).items():
            sign = "" if m["sign"] == "=" else m["sign"]
            lines.append(f"  {what:8}{name:16}{sign}{m['mean']:.2f} x   least {m['least']:.2f} x   {m['cases']} cases")
    if len(lines) == 1:
        lines.append("  nothing to compare")
    out = [f"  {r.case}: {r.competitor}: {r.status}" for rows in blocks for r in rows if r.status not in COUNTED]
    lines += ["Not counted", *out] if out else []
    lines += ["Missed", *(f"  {name}: {why}" for name, why in missed.items())] if missed else []
    return "\n".join(lines)
