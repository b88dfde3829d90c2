"""Markdown: tables, and pages with places for them."""

from __future__ import annotations

import re
from collections.abc import Sequence

MARK = re.compile(r"<!-- table: ([\w-]+) -->\n(.*?)(?=<!-- end -->|\n\n#|<!-- table: |\Z)", re.DOTALL)


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table whose first column is text and whose others are numbers."""
    rule = "|---|" + "---:|" * (len(head) - 1)
    return "\n".join([_line(head), rule, *(_line(line) for line in lines)])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def fill(page: str, tables: dict[str, str]) -> str:
    """The page with every table that has a place in it put there; places without a table stay as they are."""

    def put(found: re.Match[str]) -> str:
        name = found[1]
        return f"<!-- table: {name} -->\n\n{tables[name]}\n\n" if name in tables else found[0]

    filled = MARK.sub(put, page)
    return re.sub(r"\n{3,}(?=#)", "\n\n", filled)


def places(page: str) -> list[str]:
    """The names of the tables a page has places for."""
    return [found[1] for found in MARK.finditer(page)]
