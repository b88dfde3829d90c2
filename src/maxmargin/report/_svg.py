"""Charts as SVG text: scales with nice ticks, axes and marks. Colours are classes that the page's style defines."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from maxmargin.report._text import escaped, plain, tick, width

#: Size of the letters, in the units of the view box; a chart is about as many of them wide as a phone has pixels.
LETTER = 12.0
WIDTH, HEIGHT = 440.0, 300.0
#: How much larger than that a chart is shown where there is room.
GROWTH = 1.15
#: Below this, ranges are drawn as if they were nothing: dividing by them would overflow.
SMALLEST = 1e-200
#: Steps between ticks, per power of ten.
STEPS = (1.0, 2.0, 5.0, 10.0)


def nice_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers inside [low, high], about so many."""
    span = high - low
    if not (math.isfinite(span) and span > 0):
        return [low]
    rough = span / max(about, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * min(STEPS, key=lambda s: abs(s - rough / power))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 12 - math.floor(math.log10(step))) + 0.0 for k in range(first, last + 1)]


def decades(low: float, high: float, about: int = 6) -> list[float]:
    """Powers of ten inside [low, high]; 1, 2, 5 in between where there are few, and fewer where there are many."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = max(1, math.ceil((last - first) / about))
    found = [10.0**k for k in range(first, last + 1, step)]
    if len(found) >= 3:
        return found
    powers = range(math.floor(math.log10(low)), last + 1)
    found = [m * 10.0**k for k in powers for m in (1, 2, 5) if low * 0.999 <= m * 10.0**k <= high * 1.001]
    return found or [math.sqrt(low * high)]


@dataclass(frozen=True)
class Scale:
    """From the values [low, high] to the coordinates [start, stop]."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)
        at = math.log10(value) if self.log else value
        return self.start + (at - low) / (high - low) * (self.stop - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        return decades(self.low, self.high, about) if self.log else nice_ticks(self.low, self.high, about)


def padded(low: float, high: float, share: float = 0.04) -> tuple[float, float]:
    """A range with some room on both sides, also where it has no width."""
    largest = max(abs(low), abs(high))
    if largest < SMALLEST:
        return low - 0.5, high + 0.5
    room = (high - low) * share
    room = room if room > 1e-12 * largest else 0.05 * largest
    return low - room, high + room


def coordinate(value: float) -> str:
    """A tenth of a unit is fine enough; what is not finite is a bug, not a picture."""
    if not math.isfinite(value):
        raise ValueError(f"a coordinate of a chart must be finite; got {value!r}")
    return f"{value:.1f}".removesuffix(".0")


def middle_cut(text: str, letters: int) -> str:
    """The beginning and the end of a text: names of a kind often differ at their ends."""
    if len(text) <= letters:
        return text
    tail = max(0, (letters - 1) // 2)
    return text[: max(1, letters - 1 - tail)] + "…" + text[len(text) - tail :]


@dataclass
class Chart:
    """A picture in the making. ``name`` is unique on the page; title and description are for screen readers too."""

    name: str
    title: str
    description: str
    width: float = WIDTH
    height: float = HEIGHT
    left: float = 54.0
    right: float = 14.0
    top: float = 12.0
    bottom: float = 44.0
    wide: bool = False  # scrolls on a phone instead of shrinking
    marks: list[str] = field(default_factory=list)

    def x(self, low: float, high: float, log: bool = False) -> Scale:
        return Scale(low, high, self.left, self.width - self.right, log)

    def y(self, low: float, high: float, log: bool = False) -> Scale:
        return Scale(low, high, self.height - self.bottom, self.top, log)

    def _mark(self, tag: str, kind: str, tip: str, **at: float | str) -> None:
        values = "".join(
            f' {name.replace("_", "-")}="{v if isinstance(v, str) else coordinate(v)}"' for name, v in at.items()
        )
        body = f"><title>{escaped(tip, 400)}</title></{tag}>" if tip else "/>"
        self.marks.append(f'<{tag} class="{kind}"{values}{body}')

    def rect(self, kind: str, left: float, top: float, right: float, bottom: float, tip: str = "", **more: str) -> None:
        self._mark(
            "rect", kind, tip, x=left, y=top, width=max(0.0, right - left), height=max(0.0, bottom - top), **more
        )

    def line(self, kind: str, x1: float, y1: float, x2: float, y2: float) -> None:
        self._mark("line", kind, "", x1=x1, y1=y1, x2=x2, y2=y2)

    def dot(self, kind: str, x: float, y: float, radius: float, tip: str = "") -> None:
        self._mark("circle", kind, tip, cx=x, cy=y, r=radius)

    def path(self, kind: str, points: Iterable[tuple[float, float]], closed: bool = False, tip: str = "") -> None:
        steps = " ".join(f"{coordinate(x)},{coordinate(y)}" for x, y in points)
        self._mark("polygon" if closed else "polyline", kind, tip, points=steps)

    def dots(self, kind: str, points: Iterable[tuple[float, float]]) -> None:
        """Many dots as one path, for its size: lines of no length with round ends."""
        self._mark("path", kind, "", d="".join(f"M{coordinate(x)} {coordinate(y)}h0" for x, y in points))

    def text(
        self, x: float, y: float, text: str, kind: str = "label", anchor: str = "start", turn: bool = False
    ) -> None:
        turned = f' transform="rotate(-90 {coordinate(x)} {coordinate(y)})"' if turn else ""
        place = f'x="{coordinate(x)}" y="{coordinate(y)}" text-anchor="{anchor}"'
        self.marks.append(f'<text class="{kind}" {place}{turned}>{escaped(text, 400)}</text>')

    def label(self, x: float, y: float, text: str, room: float, anchor: str = "start") -> None:
        """A name from the data, cut in the middle where there is no room, and whole in its tooltip."""
        text = plain(text, 400)
        letters = max(2, int(room / max(width(text, LETTER) / max(len(text), 1), 1.0)))
        if len(text) <= letters:
            return self.text(x, y, text, anchor=anchor)
        place = f'x="{coordinate(x)}" y="{coordinate(y)}" text-anchor="{anchor}"'
        whole, cut = escaped(text, 400), escaped(middle_cut(text, letters))
        self.marks.append(f'<text class="label" {place}>{cut}<title>{whole}</title></text>')

    def axes(
        self, x: Scale, y: Scale, x_title: str, y_title: str, ticks: tuple[bool, bool] = (True, True), grid: bool = True
    ) -> None:
        """Grid lines, ticks and titles; ``ticks`` says whether of x and y."""
        bottom, right = self.height - self.bottom, self.width - self.right
        for value in x.ticks(max(2, int((right - self.left) / 70))) if ticks[0] else ():
            if grid:
                self.line("grid", x(value), self.top, x(value), bottom)
            self.text(x(value), bottom + 16, tick(value), "tick", "middle")
        for value in y.ticks(max(2, int((bottom - self.top) / 48))) if ticks[1] else ():
            if grid:
                self.line("grid", self.left, y(value), right, y(value))
            self.text(self.left - 6, y(value) + 4, tick(value), "tick", "end")
        self.line("axis", self.left, bottom, right, bottom)
        self.line("axis", self.left, self.top, self.left, bottom)
        self.text((self.left + right) / 2, self.height - 8, x_title, "axis-title", "middle")
        self.text(13, (self.top + bottom) / 2, y_title, "axis-title", "middle", turn=True)

    def render(self, caption: str = "", below: str = "") -> str:
        """The figure; ``caption`` is HTML that stands above it, and ``below`` what stands under it."""
        grown = 1.0 if self.wide else GROWTH
        focus = ' tabindex="0"' if self.wide else ""  # what scrolls can be scrolled with keys
        size = (
            f'viewBox="0 0 {coordinate(self.width)} {coordinate(self.height)}" '
            f'width="{self.width * grown:.0f}" height="{self.height * grown:.0f}"'
        )
        kind = "chart wide" if self.wide else "chart"
        named = f'aria-labelledby="{self.name}-title {self.name}-desc"'
        note = f"<p>{caption}</p>" if caption else ""
        title = escaped(self.title, 400)
        return (
            f'<figure class="{kind}"><figcaption><strong>{title}</strong>{note}</figcaption>'
            f'<div class="scroll"{focus}><svg {size} role="img" {named}><title id="{self.name}-title">{title}</title>'
            f'<desc id="{self.name}-desc">{escaped(self.description, 1000)}</desc>{"".join(self.marks)}</svg></div>'
            f"{below}</figure>"
        )


def histogram(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Counts between the edges; what lies outside is in the first and in the last."""
    if len(values) == 0:
        return np.zeros(len(edges) - 1, dtype=np.int64)
    return np.histogram(np.clip(values, edges[0], edges[-1]), bins=edges)[0]
