"""How many examples a law is tried on: as many as its test says, or a share of them in a short profile."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

#: What Hypothesis tries by itself, and `tests/conftest.py` leaves alone in the suite's own profile.
USUAL = 100


def examples(count: int, **options: Any) -> settings:
    """Settings for so many examples in the whole suite, fewer in `make quick`."""
    return settings(max_examples=max(2, count * settings.default.max_examples // USUAL), **options)
