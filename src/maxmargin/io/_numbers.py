"""Numbers as they are written in files, and what may be wrong with one."""

from __future__ import annotations

import math

import numpy as np


def number(text: str) -> float | None:
    """The number that the text stands for; None if it is not one."""
    if "_" in text:  # Python reads 1_000, no other program does
        return None
    try:
        return float(text)
    except ValueError:
        return None


def problem_with(text: str, dtype: np.dtype) -> str:
    """Why the text cannot be a value of type ``dtype``, and what to do; empty if it can."""
    value = number(text)
    if not text.strip():
        return "the value is empty; fill in missing values, or remove the row or the column"
    if value is None:
        return f"{text!r} is not a number"
    if not math.isfinite(value):
        return f"{text!r} is not finite; fill in or remove such values"
    if abs(value) > float(np.finfo(dtype).max):
        return f"{text!r} is too large for {dtype}; scale the data or pass dtype=np.float64"
    return ""
