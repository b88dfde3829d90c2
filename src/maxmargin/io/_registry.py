"""All that a model file can hold: the classes and functions that are known, and the attributes that a class has."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

#: Attributes that belong to the process, not to the model: callbacks, and a note of CountVectorizer to itself.
TRANSIENT = re.compile(r"_skl_.*|_callback.*|_parent_.*|_stop_words_id")
#: Every estimator may have these.
COMMON = frozenset({"n_features_in_", "feature_names_in_", "_sklearn_output_config", "_n_features_out"})
_KINDS = {"f": "f", "i": "iu", "b": "b", "*": "biufcSUOmM", "v": "V"}
_SHAPE = re.compile(r"([fib*v])\[([^\]]*)\]")


@dataclass(frozen=True)
class Entry:
    """One class.

    ``shapes`` says of array attributes which kind and sizes they have: ``'f[tasks,sv]'`` is a float array with two
    axes, and whatever is called ``sv`` must be equal throughout the object; ``.`` is any size. Attributes that are
    missing or None are passed over. ``others`` are attributes with values of their own. ``review`` sees what this
    cannot say; ``revive`` makes attributes that are not stored.
    """

    name: str
    cls: type
    shapes: Mapping[str, str] = field(default_factory=dict)
    others: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    review: Callable[[Any], None] | None = None
    revive: Callable[[Any], None] | None = None

    @cached_property
    def parameters(self) -> frozenset[str]:
        """What the constructor takes."""
        cls: Any = self.cls
        if hasattr(cls, "_get_param_names"):
            return COMMON.union(cls._get_param_names())
        return frozenset(field_names(cls))

    def state(self, value: Any) -> dict[str, Any]:
        """The attributes to store."""
        if isinstance(value, tuple):
            return value._asdict()  # type: ignore[attr-defined]  # registered tuples have names
        stored = {k: v for k, v in vars(value).items() if k not in self.dropped and not TRANSIENT.fullmatch(k)}
        if dataclasses.is_dataclass(value):  # what a cached property keeps is computed again
            stored = {k: v for k, v in stored.items() if k in self.parameters or k in self.others}
        return stored

    def allows(self, name: str) -> bool:
        """Whether the class has such an attribute."""
        return name in self.parameters or name in self.shapes or name in self.others

    def make(self, state: dict[str, Any]) -> Any:
        """An object with these attributes; its constructor is not called."""
        if issubclass(self.cls, tuple):
            return self.cls.__new__(self.cls, **state)
        made = self.cls.__new__(self.cls)
        made.__dict__.update(state)
        if self.revive is not None:
            self.revive(made)
        return made

    def check(self, value: Any) -> None:
        """ValueError, TypeError or AttributeError where the attributes are not those of such an object."""
        if dataclasses.is_dataclass(value):
            # the constructor of a value checks it; a class of ours, from the registry
            self.cls(**{name: getattr(value, name) for name in field_names(value)})
        elif hasattr(value, "_validate_params") and hasattr(value, "_parameter_constraints"):
            value._validate_params()
        check_shapes(value, self.shapes)
        if self.review is not None:
            self.review(value)


def field_names(kind: Any) -> list[str]:
    """The fields of a dataclass or a named tuple; none of any other class."""
    if dataclasses.is_dataclass(kind):
        return [item.name for item in dataclasses.fields(kind)]
    return list(getattr(kind, "_fields", ()))


def check_shapes(value: Any, shapes: Mapping[str, str], sizes: dict[str, int] | None = None) -> dict[str, int]:
    """Compare the array attributes with what is written of them; the sizes that were found, by name."""
    sizes = {} if sizes is None else sizes
    if not isinstance(value, tuple):
        _common(value, sizes)
    for name, text in shapes.items():
        array = getattr(value, name, None) if isinstance(value, tuple) else vars(value).get(name)  # what a file keeps
        if array is not None:
            check_array(name, array, text, sizes)
    return sizes


def check_array(name: str, array: Any, text: str, sizes: dict[str, int]) -> None:
    """Compare one array with what is written of it, ``sizes`` being those known so far."""
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise AssertionError(f"{text!r} describes no array")
    if type(array) is not np.ndarray and not sp.issparse(array):
        raise ValueError(f"{name} must be an array, not a {type(array).__name__}")
    if array.dtype.kind not in _KINDS[found[1]] or (found[1] == "f" and array.dtype.itemsize not in (4, 8)):
        raise ValueError(f"{name} has type {array.dtype}")
    axes = found[2].split(",")
    if len(axes) != array.ndim:
        raise ValueError(f"{name} has {array.ndim} axes instead of {len(axes)}")
    for axis, size in zip(axes, array.shape, strict=True):
        if axis != "." and sizes.setdefault(axis, size) != size:
            raise ValueError(f"{name} has shape {array.shape}, but there are {sizes[axis]} {axis}")


def _common(value: Any, sizes: dict[str, int]) -> None:
    """What all estimators have."""
    count = vars(value).get("n_features_in_")
    if count is not None:
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 0 <= count < 2**62:
            raise ValueError(f"n_features_in_ is {count!r}")
        sizes["features"] = int(count)
    if vars(value).get("feature_names_in_") is not None:
        check_array("feature_names_in_", value.feature_names_in_, "*[features]", sizes)


@dataclass(frozen=True)
class Registry:
    """Classes and functions by name; nothing else is ever made or called."""

    classes: dict[str, Entry]
    functions: dict[str, Callable[..., Any]]

    @cached_property
    def by_class(self) -> dict[type, Entry]:
        """The entry of exactly this class."""
        return {entry.cls: entry for entry in self.classes.values()}

    def function_name(self, value: Any) -> str | None:
        """The name of a known function."""
        return next((name for name, known in self.functions.items() if known is value), None)


@cache
def registry() -> Registry:
    """Everything that is known; imported when a file is first saved or loaded."""
    from maxmargin.io import _known, _known_transformers

    entries = [*_known.entries(), *_known_transformers.entries()]
    return Registry({entry.name: entry for entry in entries}, _known_transformers.functions())
