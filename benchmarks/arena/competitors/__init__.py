"""The competitors: one file each; what it must define stands in the docstring of the arena."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any


def discover() -> dict[str, Any]:
    """Every competitor by name, maxmargin first."""
    files = [f.name for f in pkgutil.iter_modules(__path__) if not f.name.startswith("_")]
    found = [importlib.import_module(f"{__name__}.{file}") for file in files]
    return {side.NAME: side for side in sorted(found, key=lambda side: (side.NAME != "maxmargin", side.NAME))}
