"""Numbers and strings as a page shows them: rounded for people, and escaped whatever the data contain."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import numpy as np

UNKNOWN = "not known"
#: Months, whatever the language of the computer.
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
#: Longest text from the data that is shown whole in a table, in characters.
LONGEST = 200
#: What neither HTML nor XML may contain: control characters, halves of surrogate pairs, non-characters.
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
#: A word so long that it has to be broken somewhere.
UNBROKEN = re.compile(r"\S{30}")
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
#: Metrics that are shares of rows.
SHARES = {"accuracy", "balanced accuracy", "error", "error rate", "precision", "recall"}


def plain(value: Any, longest: int = LONGEST) -> str:
    """Text without forbidden characters, cut with an ellipsis."""
    text = FORBIDDEN.sub("\ufffd", str(value))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def escaped(value: Any, longest: int = LONGEST) -> str:
    """Text for HTML, SVG and attribute values."""
    return html.escape(plain(value, longest), quote=True)


def foreign(value: Any, longest: int = LONGEST) -> str:
    """Text from the data, isolated so that its writing direction stays its own; cut text is whole in a tooltip."""
    whole = str(value)
    tip = f' title="{escaped(whole, 10 * LONGEST)}"' if len(whole) > longest else ""
    kind = ' class="long"' if UNBROKEN.search(whole[:longest]) else ""
    return f"<bdi{kind}{tip}>{escaped(whole, longest)}</bdi>"


def number(value: Any, digits: int = 4) -> str:
    """A number with so many digits, powers of ten written out; no number at all is 'not known'."""
    if value is None:
        return UNKNOWN
    value = float(value)
    if math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == int(value) and abs(value) < 1e7:
        return f"{int(value):,}"
    shown = f"{value:.{digits}g}"
    if "e" in shown:
        mantissa, exponent = shown.split("e")
        return f"{mantissa} × 10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    return f"{float(shown):,.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"


def tick(value: float) -> str:
    """A number at an axis: short, without trailing zeros."""
    if value == 0:
        return "0"
    power = math.floor(math.log10(abs(value)) + 1e-9)
    if -4 <= power < 6:
        return f"{value:,.10f}".rstrip("0").rstrip(".") if power < 3 else f"{value:,.0f}"
    mantissa = f"{value / 10.0**power:.6g}"
    tail = "10" + str(power).translate(SUPERSCRIPTS)
    return tail if mantissa == "1" else f"{mantissa}·{tail}"


def count(value: Any) -> str:
    """A whole number with thousands."""
    return f"{int(value):,}"


def rows(value: Any) -> str:
    """'1 row', '1,200 rows'."""
    return f"{count(value)} row{'' if int(value) == 1 else 's'}"


def share(value: Any, digits: int = 1) -> str:
    """A share as a percentage; never rounded up to all or down to nothing."""
    if value is None or not math.isfinite(float(value)):
        return UNKNOWN
    percent = 100.0 * float(value)
    shown = f"{percent:.{digits}f}"
    if float(shown) == 100.0 and percent < 100.0:
        shown = f"{100.0 - 10.0**-digits:.{digits}f}"
    if float(shown) == 0.0:
        shown = f"{percent:.1g}"
    return f"{shown} %"


def fixed(value: Any) -> str:
    """A figure between 0 and 1, with the same number of digits in every line."""
    return UNKNOWN if value is None or not math.isfinite(float(value)) else f"{float(value):.3f}"


def metric(name: str, value: Any) -> str:
    """A metric in its own unit: shares of rows in percent."""
    return share(value) if name in SHARES else number(value)


def seconds(value: Any) -> str:
    if value is None or not math.isfinite(float(value)):
        return UNKNOWN
    value = float(value)
    if value < 1:
        return f"{1000 * value:.3g} ms"
    if value < 120:
        return f"{value:.3g} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 120 else f"{minutes} min {rest} s"


def moment(iso: str) -> str:
    """A time as people write it: '5 March 2026, 14:05 UTC'; what is no ISO time stays as it is."""
    try:
        when = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    zone = f" {when.tzname()}" if when.tzinfo is not None else ""
    return f"{when.day} {MONTHS[when.month - 1]} {when.year}, {when:%H:%M}{zone}"


def listed(words: Iterable[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def width(text: str, size: float) -> float:
    """Roughly how wide a text is in a sans-serif font of that size; wide characters count double."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return size * (0.56 * (len(text) - wide) + 1.05 * wide)


def drawable(values: Any) -> np.ndarray:
    """Which values a chart can show: finite ones whose squares are finite too."""
    return np.abs(np.asarray(values, dtype=np.float64)) < 1e150  # nan compares as False


def finite(values: Any) -> np.ndarray:
    """The values of any array that a chart can show."""
    flat = np.asarray(values, dtype=np.float64).ravel()
    return flat[drawable(flat)]
