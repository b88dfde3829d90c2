"""What a kernel's parameters may be; None, where it is allowed, is a width that an estimator will set."""

from __future__ import annotations

import math
from typing import Any


def require(ok: bool, what: str, value: Any) -> None:
    """Raise unless ``ok``; NaN fails every comparison and so is refused too."""
    if not ok:
        raise ValueError(f"{what}, got {value!r}")


def require_finite(value: Any, name: str) -> None:
    """Neither infinite nor NaN: the kernel would have no values."""
    require(value is None or math.isfinite(value), f"{name} must be finite", value)


def require_nonnegative(value: Any, name: str) -> None:
    """Finite and at least 0."""
    require(value is None or value >= 0, f"{name} must not be negative", value)
    require_finite(value, name)


def require_positive(value: Any, name: str) -> None:
    """Finite and above 0."""
    require(value is None or value > 0, f"{name} must be positive", value)
    require_finite(value, name)


def require_rate(compute: Any, name: str, value: Any) -> None:
    """Refuse a length so small that the rate computed from it is infinite."""
    try:
        rate = compute()
    except (ZeroDivisionError, OverflowError):
        rate = math.inf
    require(math.isfinite(rate), f"{name} is too small: a distance divided by it must be finite", value)


def given(gamma: float | None, kernel: Any) -> float:
    """The width, or an error that says how to get one."""
    if gamma is None:
        name = type(kernel).__name__
        raise ValueError(f"{name} has no width yet: give it one, as in {name}(1.0), or let an estimator's gamma set it")
    return float(gamma)
