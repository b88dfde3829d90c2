"""Columns of dates and times, and the numbers that a machine can learn from: year, month, weekday, hour, days."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import numpy as np

from maxmargin._types import Array, FloatArray

CLOCK = r"(?:[T ](?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
#: Ways to write a date, by what they are called; of two that fit a column the first one counts.
ORDERS = {
    "yyyy-mm-dd": re.compile(rf"(?P<year>\d{{4}})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}}){CLOCK}"),
    "dd.mm.yyyy": re.compile(rf"(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>\d{{4}}){CLOCK}"),
    "mm/dd/yyyy": re.compile(rf"(?P<month>\d{{1,2}})[/-](?P<day>\d{{1,2}})[/-](?P<year>\d{{4}}){CLOCK}"),
    "dd/mm/yyyy": re.compile(rf"(?P<day>\d{{1,2}})[/-](?P<month>\d{{1,2}})[/-](?P<year>\d{{4}}){CLOCK}"),
}
#: What becomes of a date.
PARTS = ("year", "month", "weekday", "hour", "days")
SECONDS = 86_400.0


def order_of(column: Array) -> str | None:
    """How the dates of a column are written; None if some cell is none, or no cell has a value."""
    texts = {cell for cell in column if isinstance(cell, str)}
    if not texts:
        return None
    return next((order for order in ORDERS if all(moment(text, order) is not None for text in texts)), None)


def moment(text: str, order: str) -> datetime | None:
    """The moment that a text stands for; times with a zone in UTC."""
    found = ORDERS[order].fullmatch(text.strip())
    if found is None:
        return None
    parts = found.groupdict()
    numbers = [int(parts[name] or 0) for name in ("year", "month", "day", "hour", "minute", "second")]
    try:
        plain = datetime(*numbers)  # type: ignore[arg-type]
        if parts["zone"] and parts["zone"] != "Z":
            zoned = datetime.fromisoformat(f"{plain.isoformat()}{parts['zone']}")
            return zoned.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
    return plain


def parts_of(column: Array, order: str) -> dict[str, FloatArray]:
    """The numbers of every date, nan where there is none; ``days`` count from 1970."""
    known = {cell: numbers_of(moment(cell, order)) for cell in {cell for cell in column if isinstance(cell, str)}}
    gap = (np.nan,) * len(PARTS)
    rows = np.array([known.get(cell, gap) if isinstance(cell, str) else gap for cell in column], dtype=np.float64)
    return dict(zip(PARTS, rows.reshape(-1, len(PARTS)).T, strict=True))


def numbers_of(when: datetime | None) -> tuple[float, ...]:
    """Year, month, weekday from Monday as 0, hour with its parts, days since 1970."""
    if when is None:
        return (np.nan,) * len(PARTS)
    hour = when.hour + when.minute / 60 + when.second / 3600
    days = (when - datetime(1970, 1, 1)).total_seconds() / SECONDS
    return float(when.year), float(when.month), float(when.weekday()), hour, days
