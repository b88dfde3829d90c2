"""Colours and markers that all displays share."""

from __future__ import annotations

from typing import Any, NamedTuple

BLUE, ORANGE, GREY, INK = "#2b6cb0", "#dd6b20", "#4a5568", "#1a202c"
#: Distinct with every common kind of colour blindness, blue and orange first; markers repeat what colours say.
COLOURS = (BLUE, ORANGE, "#1b9e77", "#d47fb4", "#ecc94b", "#7cc7ee", "#2d3748", "#8c4a2f", "#7c3aed", "#a8d5a2")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "p", "*")
DASHES: tuple[Any, ...] = (
    "-",
    "--",
    "-.",
    ":",
    (0, (5, 1, 1, 1, 1, 1)),
    (0, (1, 1)),
    (0, (7, 2)),
    (0, (3, 1, 1, 1)),
    (0, (9, 2, 2, 2)),
    (0, (2, 2)),
)
#: Mean distance of the colour of a region from white.
PALE = 0.1
#: The most names for which a legend has one column.
MOST_NAMES = 10


class ClassStyle(NamedTuple):
    """How the points of one class look."""

    colour: str
    marker: str


def class_style(number: int) -> ClassStyle:
    """Colours repeat after ten classes and markers after eleven, so that 110 classes differ."""
    return ClassStyle(COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)])


def pale(colour: str) -> tuple[float, float, float]:
    """The colour mixed with white until all are equally light, for a region behind points."""
    depth = [1 - int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    strength = PALE / (sum(depth) / 3)
    red, green, blue = (1 - strength * part for part in depth)
    return red, green, blue
