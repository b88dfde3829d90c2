"""The data sets: one file each; what it must define stands in the docstring of the arena."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from benchmarks.arena.case import Case


def discover() -> dict[str, tuple[Any, Case]]:
    """Every case by its full name, ``set`` or ``set/label``: the bundled sets first, then by name."""
    files = [f.name for f in pkgutil.iter_modules(__path__) if not f.name.startswith("_")]
    found = [importlib.import_module(f"{__name__}.{file}") for file in files]
    found.sort(key=lambda data: (not data.BUNDLED, data.NAME))
    return {f"{data.NAME}/{c.label}".rstrip("/"): (data, c) for data in found for c in data.CASES}
