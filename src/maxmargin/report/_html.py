"""Pieces of HTML: sections, tables, lists of figures. Cells are HTML already, so what comes from data is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from maxmargin.report._text import count

#: Tags within a heading; and columns of figures beside each other that a phone has room for.
TAG = re.compile("<[^>]*>")
MOST_ABREAST = 4


def section(name: str, title: str, *parts: str) -> str:
    """A section with its heading; ``name`` is what the navigation points to."""
    body = "".join(part for part in parts if part)
    return f'<section id="{name}" aria-labelledby="{name}-heading"><h2 id="{name}-heading">{title}</h2>{body}</section>'


def missing(text: str) -> str:
    """What is not there, and why."""
    return f'<p class="missing">{text}</p>'


def table(caption: str, heads: Sequence[str], lines: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A table that scrolls by itself. The first cell of a line is its heading; ``numbers`` are columns of figures."""
    right = set(numbers)

    names = [TAG.sub("", text) for text in heads]  # what a cell is called where a narrow screen stacks the cells
    stacked = ' class="stack"' if len(heads) - len(right) > 2 or len(heads) > MOST_ABREAST else ""

    def cell(place: int, text: str, tag: str) -> str:
        scope = ' scope="row"' if tag == "th" else ""
        aligned = ' class="number"' if place in right else ""
        named = f' data-name="{names[place]}"' if stacked and tag == "td" else ""
        return f"<{tag}{scope}{aligned}{named}>{text}</{tag}>"

    head = "".join(
        f'<th scope="col"{" class=" + chr(34) + "number" + chr(34) if k in right else ""}>{text}</th>'
        for k, text in enumerate(heads)
    )
    body = "".join(
        f"<tr>{''.join(cell(k, text, 'th' if k == 0 else 'td') for k, text in enumerate(line))}</tr>" for line in lines
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}"><table{stacked}>'
        f"<caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def folded(summary: str, body: str, lines: int, longest: int = 12) -> str:
    """Behind a line to click on where it is long."""
    return body if lines <= longest else f"<details><summary>{summary}</summary>{body}</details>"


def capped(total: int, shown: int, what: str) -> str:
    """A line that says that there would be more."""
    return f"<p>{count(shown)} of {count(total)} {what} are shown.</p>" if shown < total else ""


def charts(*figures: str) -> str:
    """Figures side by side where there is room."""
    return f'<div class="charts">{"".join(figures)}</div>' if any(figures) else ""
