"""Numbers as people write them: decimal commas, thousands, currencies, percent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from maxmargin._types import Array, FloatArray

#: What may stand before or after a number; a column has one of them at most.
CURRENCIES = ("€", "$", "£", "¥", "₹", "EUR", "USD", "CHF", "GBP", "JPY")
#: The two signs that may part whole from broken.
DECIMALS = (".", ",")
UNIT = re.compile("|".join(map(re.escape, CURRENCIES)) + "|%")
#: Spaces that stand within numbers: plain, no-break, narrow, thin.
SPACES = "   \u2009"


@cache
def pattern(decimal: str) -> re.Pattern[str]:
    """A number with that sign for decimals; thousands may be grouped by the other one, spaces or apostrophes."""
    other = re.escape("," if decimal == "." else ".")
    point = re.escape(decimal)
    grouped = rf"(?:[1-9]\d{{0,2}}(?:(?P<group>[{other}{SPACES}'’])\d{{3}}(?:(?P=group)\d{{3}})*))"
    return re.compile(rf"[+-]?(?:{grouped}(?:{point}\d+)?|\d+(?:{point}\d*)?(?:[eE][+-]?\d+)?|{point}\d+)")


def value_of(text: str, decimal: str) -> tuple[float, str] | None:
    """(the number, its currency or %); None if the text is no number in that style."""
    text = text.strip().replace("−", "-")
    units = UNIT.findall(text)
    if len(units) > 1:
        return None
    unit = units[0] if units else ""
    if unit:
        sign, text = ("-", text[1:]) if text[:1] == "-" else ("", text)
        if not (text.startswith(unit) or text.endswith(unit)):
            return None
        text = sign + text.replace(unit, "").strip(SPACES)
    if not pattern(decimal).fullmatch(text):
        return None
    plain = re.sub(rf"[{SPACES}'’]", "", text).replace("," if decimal == "." else ".", "").replace(decimal, ".")
    value = float(plain)
    return (value / 100.0 if unit == "%" else value), unit


def numbers_in(cells: Sequence[str] | Array, decimal: str) -> FloatArray | None:
    """A column of such numbers, nan where a cell is no text; None if a cell is none, or units differ."""
    known: dict[str, float] = {}
    seen: set[str] = set()
    for cell in {cell for cell in cells if isinstance(cell, str)}:
        found = value_of(cell, decimal)
        if found is None:
            return None
        known[cell], unit = found
        seen.add(unit)
        if len(seen) > 1 or not np.isfinite(known[cell]):
            return None
    return np.array([known.get(cell, np.nan) if isinstance(cell, str) else np.nan for cell in cells]) if known else None


def decimal_of(columns: Iterable[Array], separator: str, points: bool) -> str:
    """The sign for decimals in a file, by the columns that leave no doubt; ``points`` says that others have points."""
    votes = dict.fromkeys(DECIMALS, 0)
    for column in columns:
        fits = [decimal for decimal in DECIMALS if numbers_in(column, decimal) is not None]
        if len(fits) == 1:
            votes[fits[0]] += 1
    if votes[","] != votes["."]:
        return max(votes, key=lambda decimal: votes[decimal])
    return "," if separator == ";" and not points else "."
