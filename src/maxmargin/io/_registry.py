"""All that a model file can hold: the classes and functions that are known, by the names that files give them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from maxmargin.io._entry import Entry


@dataclass(frozen=True)
class Registry:
    """Classes and functions by name; nothing else is ever made or called."""

    classes: dict[str, Entry]
    functions: dict[str, Callable[..., Any]]

    def of(self, cls: type) -> Entry | None:
        """The entry of exactly this class."""
        return self._by_class().get(cls)

    def function_name(self, value: Any) -> str | None:
        """The name of a known function."""
        return next((name for name, known in self.functions.items() if known is value), None)

    def _by_class(self) -> dict[type, Entry]:
        known: dict[type, Entry] | None = self.__dict__.get("_classes")
        if known is None:
            known = self.__dict__["_classes"] = {entry.cls: entry for entry in self.classes.values()}
        return known


@cache
def registry() -> Registry:
    """Everything that is known; imported when a file is first saved or loaded."""
    from maxmargin.io import _known_machines, _known_transformers, _known_values

    entries: Iterable[Entry] = [
        *_known_values.entries(),
        *_known_machines.entries(),
        *_known_transformers.entries(),
    ]
    return Registry({entry.name: entry for entry in entries}, _known_transformers.functions())
