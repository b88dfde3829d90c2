"""From a model to JSON values and arrays; what cannot be stored as data is refused here, with advice."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._types import Array
from maxmargin.exceptions import ModelFileError
from maxmargin.io._npy import can_hold
from maxmargin.io._registry import Registry, registry
from maxmargin.io._values import MAX_DEPTH, SPARSE, TYPES, fits_64_bits

CALLABLE_ADVICE = (
    "is code, and a model file holds data only, so that loading one never runs anything. Write a kernel as an "
    "expression of maxmargin.kernels, compute what a function does beforehand or by a transformer that is known, "
    "or keep this model with pickle"
)


class Encoder:
    """Values to JSON; arrays go to ``store``, which says under which name."""

    def __init__(self, store: Callable[[Array], str], path: object = "", known: Registry | None = None):
        self._store, self._path = store, path
        self._known = registry() if known is None else known
        self._names: dict[int, tuple[Array, str]] = {}  # by identity; the array is kept, or its id could be reused

    def value(self, value: Any, where: str = "model", depth: int = 0) -> Any:
        """The JSON of any value."""
        if depth > MAX_DEPTH:
            raise self._refused("is nested too deeply (or contains itself)", where)
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int:
            if not fits_64_bits(value):
                raise self._refused("does not fit into 64 bits", where)
            return value
        if kind is float:
            return value if math.isfinite(value) else {"kind": "float", "value": repr(value)}
        if kind is list:
            return [self.value(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value)]
        for known, encode in _CASES:
            if kind is known or (known in _FAMILIES and isinstance(value, known)):
                return encode(self, value, where, depth)
        if sp.issparse(value):
            return self._sparse(value, where)
        return self._other(value, where, depth)

    # -- containers ---------------------------------------------------------------------------------------------

    def _tuple(self, value: tuple[Any, ...], where: str, depth: int) -> Any:
        return {"kind": "tuple", "items": self.value(list(value), where, depth)}

    def _dict(self, value: dict[Any, Any], where: str, depth: int) -> Any:
        values = [self.value(item, f"{where}[{key!r}]", depth + 1) for key, item in value.items()]
        return {"kind": "dict", "keys": self.value(list(value), f"{where}, keys", depth), "values": values}

    def _slice(self, value: slice, where: str, depth: int) -> Any:
        return {"kind": "slice", "items": self.value([value.start, value.stop, value.step], where, depth)}

    # -- arrays -------------------------------------------------------------------------------------------------

    def _array(self, value: Array, where: str, depth: int) -> Any:
        if value.dtype == object:
            items = [self.value(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value.ravel())]
            return {"kind": "objects", "shape": list(value.shape), "items": items}
        return {"kind": "array", "part": self._part(value, where)}

    def _masked(self, value: Any, where: str, depth: int) -> Any:
        data, mask = self._array(np.asarray(value.data), where, depth), self._array(np.ma.getmaskarray(value), where, 0)
        return {"kind": "masked", "data": data, "mask": mask, "fill": self.value(value.fill_value, where, depth + 1)}

    def _part(self, value: Array, where: str) -> str:
        if not can_hold(value):
            raise self._refused(f"is an array of type {value.dtype}, which no .npy part can hold", where)
        if id(value) not in self._names:
            self._names[id(value)] = (value, self._store(value))
        return self._names[id(value)][1]

    def _scalar(self, value: np.generic, where: str, depth: int) -> Any:
        if (value.dtype.kind in "biufU" and value.dtype.itemsize <= 8) or value.dtype.kind == "U":
            return {"kind": "scalar", "dtype": value.dtype.str, "value": self.value(value.item(), where, depth + 1)}
        return {"kind": "scalar", "dtype": "", "value": {"kind": "array", "part": self._part(np.asarray(value), where)}}

    def _sparse(self, value: Any, where: str) -> Any:
        name = type(value).__name__
        if SPARSE.get(name) is not type(value):
            raise self._refused(f"is a {name}; of sparse matrices {', '.join(SPARSE)} can be stored", where)
        parts = {part: self._part(getattr(value, part), where) for part in ("data", "indices", "indptr")}
        return {"kind": "sparse", "type": name, "shape": [int(size) for size in value.shape], **parts}

    # -- the rest -------------------------------------------------------------------------------------------------

    def _dtype(self, value: np.dtype, where: str, depth: int) -> Any:
        if value.names is not None or value.subdtype is not None:
            raise self._refused("is a data type made of others, which is not stored", where)
        return {"kind": "dtype", "value": value.str}

    def _type(self, value: type, where: str, depth: int) -> Any:
        name = next((name for name, known in TYPES.items() if known is value), None)
        if name is None:
            raise self._refused(f"is the class {value.__qualname__}, which {CALLABLE_ADVICE}", where)
        return {"kind": "type", "value": name}

    def _random_state(self, value: np.random.RandomState, where: str, depth: int) -> Any:
        state: Any = value.get_state(legacy=False)
        return {"kind": "RandomState", "state": self.value(state, where, depth + 1)}

    def _other(self, value: Any, where: str, depth: int) -> Any:
        """A registered function or object."""
        function = self._known.function_name(value)
        if function is not None:
            return {"kind": "function", "name": function}
        entry = self._known.of(type(value))
        if entry is None:
            name = f"{type(value).__module__}.{type(value).__qualname__}"
            if name.startswith("pandas."):
                raise self._refused(f"is a {name}; make it a list or an array", where)
            if callable(value) or type(value).__name__ == "FunctionTransformer":
                raise self._refused(f"(a {name}) {CALLABLE_ADVICE}", where)
            raise self._refused(
                f"is a {name}, which model files do not know; docs/files.md lists what they hold. Keep it with pickle",
                where,
            )
        state = entry.state(value)
        for name in state:
            if not entry.allows(name):
                raise self._refused(f"is no attribute that a file keeps for a {entry.name}", f"{where}.{name}")
        try:
            entry.check(value)
        except (ValueError, TypeError, AttributeError) as error:
            raise self._refused(f"is not a {entry.name} that could be loaded again: {error}", where) from error
        encoded = {name: self.value(item, f"{where}.{name}", depth + 1) for name, item in state.items()}
        return {"kind": "object", "class": entry.name, "state": encoded}

    def _refused(self, why: str, where: str) -> ModelFileError:
        return ModelFileError(f"{where} {why}", self._path)


#: Kinds whose sub-classes count too.
_FAMILIES = (np.generic, np.dtype)
_CASES: list[tuple[Any, Callable[[Encoder, Any, str, int], Any]]] = [
    (tuple, Encoder._tuple),
    (dict, Encoder._dict),
    (slice, Encoder._slice),
    (np.ndarray, Encoder._array),
    (np.ma.MaskedArray, Encoder._masked),
    (np.generic, Encoder._scalar),
    (np.dtype, Encoder._dtype),
    (type, Encoder._type),
    (np.random.RandomState, Encoder._random_state),
]
