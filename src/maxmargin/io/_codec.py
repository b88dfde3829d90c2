"""From a model to JSON values and arrays, and back."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._types import Array
from maxmargin.exceptions import ModelFileError
from maxmargin.io._archive import can_hold
from maxmargin.io._registry import registry

#: Values inside values.
MAX_DEPTH = 100

#: Sparse matrices, by the name that the file gives them.
SPARSE = {kind.__name__: kind for kind in (sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array)}

#: Classes that stand for a kind of number, as parameters called ``dtype`` do.
TYPES: dict[str, type] = {
    "float": float,
    "int": int,
    "bool": bool,
    "str": str,
    "object": object,
    "numpy.number": np.number,
    **{f"numpy.{kind.__name__}": kind for kind in (np.float32, np.float64, np.int8, np.int16, np.int32, np.int64)},
    **{f"numpy.{kind.__name__}": kind for kind in (np.uint8, np.uint16, np.uint32, np.uint64, np.bool_)},
}


def fits_64_bits(value: int) -> bool:
    """Whether a whole number is one that files hold."""
    return -(2**63) <= value < 2**64


# -- From a model to JSON values and arrays; what cannot be stored as data is refused here, with advice -------------


CALLABLE_ADVICE = (
    "is code, and a model file holds data only, so that loading one never runs anything. Write a kernel as an "
    "expression of maxmargin.kernels, compute what a function does beforehand or by a transformer that is known, "
    "or keep this model with pickle"
)


class Encoder:
    """Values to JSON; arrays go to ``store``, which says under which name."""

    def __init__(self, store: Callable[[Array], str], path: object):
        self._store, self._path, self._known = store, path, registry()
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
        if hasattr(type(value), "ordinary"):  # a machine fitted on a cluster is kept as the one of one computer
            value = value.ordinary()
        entry = self._known.by_class.get(type(value))
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
        encoded = {name: self.value(item, f"{where}.{name}", depth + 1) for name, item in state.items()}
        try:  # after what is code was refused as such
            entry.check(value)
        except (ValueError, TypeError, AttributeError) as error:
            raise self._refused(f"is not a {entry.name} that could be loaded again: {error}", where) from error
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


# -- From JSON values and arrays to a model, without running anything that the file could name ----------------------
# Classes come from the registry alone; objects are made by ``__new__`` and given attributes that their class is known
# to have, and are then checked as a whole.


_DTYPE = re.compile(r"[<>|][biufcSUmMOV]\d{0,9}(\[\d{0,9}\w{1,2}\])?")
_SCALAR = re.compile(r"[<>|]([biuf][1248]|U\d{1,9})")
#: What a check may raise about values that make no sense.
SENSELESS = (ValueError, TypeError, AttributeError, KeyError, IndexError, OverflowError, ArithmeticError, MemoryError)
_FLOATS = {"nan": np.nan, "inf": math.inf, "-inf": -math.inf}


class Decoder:
    """JSON to values; arrays come from ``fetch``, by name."""

    def __init__(self, fetch: Callable[[str], Array], path: object, part: str):
        self._fetch, self._path, self._part, self._known = fetch, path, part, registry()
        self._arrays: dict[str, Array] = {}

    def value(self, given: Any, depth: int = 0) -> Any:
        """The value that some JSON stands for."""
        if depth > MAX_DEPTH:
            raise self._wrong("the values are nested too deeply")
        if isinstance(given, list):
            return [self.value(item, depth + 1) for item in given]
        if not isinstance(given, dict):
            if type(given) is int and not fits_64_bits(given):
                raise self._wrong("a whole number does not fit into 64 bits")
            return given
        decode = _KINDS.get(given.get("kind")) if isinstance(given.get("kind"), str) else None
        if decode is None:
            raise self._wrong(f"there is no kind of value called {str(given.get('kind'))[:100]!r}")
        try:
            return decode(self, given, depth)
        except ModelFileError:
            raise
        except (*SENSELESS, RecursionError) as error:
            raise self._wrong(f"a value of kind {given['kind']!r} makes no sense: {_brief(error)}") from error

    # -- containers ---------------------------------------------------------------------------------------------

    def _tuple(self, given: dict[str, Any], depth: int) -> Any:
        return tuple(self._items(given, "items", depth))

    def _dict(self, given: dict[str, Any], depth: int) -> Any:
        keys, values = self._items(given, "keys", depth), self._items(given, "values", depth)
        if not all(isinstance(key, str | int | float | tuple | np.generic | None) for key in keys):
            raise self._wrong("a key of a dict is no name or number")
        found = dict(zip(keys, values, strict=True))
        if len(found) != len(keys):
            raise self._wrong("a key of a dict is there twice")
        return found

    def _slice(self, given: dict[str, Any], depth: int) -> Any:
        items = self._items(given, "items", depth)
        if not all(item is None or type(item) is int for item in items):
            raise self._wrong("a slice needs whole numbers")
        return slice(*items)

    def _items(self, given: dict[str, Any], name: str, depth: int) -> list[Any]:
        if not isinstance(given.get(name), list):
            raise self._wrong(f"a {given['kind']} needs a list called {name!r}")
        return self.value(given[name], depth)

    # -- arrays -------------------------------------------------------------------------------------------------

    def _array(self, given: dict[str, Any], depth: int) -> Any:
        return self._from_part(given["part"])

    def _from_part(self, name: Any) -> Array:
        if not isinstance(name, str) or not name.startswith("arrays/"):
            raise self._wrong(f"{str(name)[:100]!r} is no part with an array")
        if name not in self._arrays:
            self._arrays[name] = self._fetch(name)
        return self._arrays[name]

    def _objects(self, given: dict[str, Any], depth: int) -> Any:
        items, shape = self._items(given, "items", depth), given["shape"]
        if not _is_shape(shape) or math.prod(shape) != len(items):
            raise self._wrong(f"{len(items)} values do not fill an array of shape {str(shape)[:100]}")
        array = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            array[i] = item
        return array.reshape(shape)

    def _masked(self, given: dict[str, Any], depth: int) -> Any:
        data, mask, fill = (self.value(given[name], depth + 1) for name in ("data", "mask", "fill"))
        if (
            type(data) is not np.ndarray
            or type(mask) is not np.ndarray
            or (mask.shape, mask.dtype) != (data.shape, bool)
        ):
            raise self._wrong("a masked array needs values and a mask of the same shape")
        return np.ma.MaskedArray(data, mask=mask, fill_value=fill)

    def _scalar(self, given: dict[str, Any], depth: int) -> Any:
        value, dtype = self.value(given["value"], depth + 1), given["dtype"]
        if dtype == "" and type(value) is np.ndarray and value.shape == ():
            return value[()]
        if not isinstance(dtype, str) or not _SCALAR.fullmatch(dtype) or type(value) not in (bool, int, float, str):
            raise self._wrong("a scalar needs a number or text, and its data type")
        if isinstance(value, str) != ("U" in dtype) or (dtype[1] in "iu" and type(value) is not int):
            raise self._wrong(f"a scalar of type {dtype} cannot be {str(value)[:100]!r}")
        return np.str_(value) if isinstance(value, str) else np.dtype(dtype).type(value)

    def _sparse(self, given: dict[str, Any], depth: int) -> Any:
        kind, shape = SPARSE.get(given["type"]), given["shape"]
        if kind is None or not _is_shape(shape) or len(shape) != 2:
            raise self._wrong("a sparse matrix needs a known type and two sizes")
        data, indices, indptr = (self._from_part(given[name]) for name in ("data", "indices", "indptr"))
        lines, width = shape if "csr" in given["type"] else shape[::-1]
        sound = (
            all(part.ndim == 1 for part in (data, indices, indptr))
            and all(part.dtype in (np.int32, np.int64) for part in (indices, indptr))
            and data.dtype.kind in "biuf"
            and len(indptr) == lines + 1
            and len(data) == len(indices) == int(indptr[-1])
            and int(indptr[0]) == 0
            and bool((np.diff(indptr) >= 0).all())
            and bool((indices >= 0).all() and (indices < width).all())
        )
        if not sound:
            raise self._wrong("the parts of a sparse matrix do not fit together")
        return kind((data, indices, indptr), shape=tuple(shape))

    # -- the rest -------------------------------------------------------------------------------------------------

    def _float(self, given: dict[str, Any], depth: int) -> Any:
        return _FLOATS[given["value"]]

    def _dtype(self, given: dict[str, Any], depth: int) -> Any:
        if not isinstance(given["value"], str) or not _DTYPE.fullmatch(given["value"]):
            raise self._wrong("there is no such data type")
        return np.dtype(given["value"])

    def _type(self, given: dict[str, Any], depth: int) -> Any:
        return TYPES[given["value"]]

    def _random_state(self, given: dict[str, Any], depth: int) -> Any:
        state = self.value(given["state"], depth + 1)
        if state["bit_generator"] != "MT19937" or state["state"]["key"].shape != (624,):
            raise self._wrong("this is no state of a RandomState")
        if not 0 <= state["state"]["pos"] <= 624:
            raise self._wrong("this is no state of a RandomState")
        random = np.random.RandomState()
        random.set_state(state)
        return random

    def _function(self, given: dict[str, Any], depth: int) -> Any:
        function = self._known.functions.get(given["name"])
        if function is None:
            raise self._wrong(f"no function {str(given['name'])[:100]!r} is known; nothing else is ever called")
        return function

    def _object(self, given: dict[str, Any], depth: int) -> Any:
        entry = self._known.classes.get(given["class"])
        if entry is None:
            raise self._wrong(
                f"no class {str(given['class'])[:100]!r} is known to this maxmargin; nothing else is ever made"
            )
        if not isinstance(given["state"], dict):
            raise self._wrong(f"a {entry.name} needs a state")
        state = {}
        for name, item in given["state"].items():
            if not entry.allows(name):
                raise self._wrong(f"a {entry.name} has no attribute {name[:100]!r}")
            state[name] = self.value(item, depth + 1)
        try:
            made = entry.make(state)
            entry.check(made)
        except (*SENSELESS, RecursionError) as error:
            raise self._wrong(f"the attributes of a {entry.name} do not fit together: {_brief(error)}") from error
        return made

    def _wrong(self, why: str) -> ModelFileError:
        return ModelFileError(why, self._path, self._part)


def _is_shape(given: Any) -> bool:
    return (
        isinstance(given, list) and len(given) <= 32 and all(type(size) is int and 0 <= size < 2**62 for size in given)
    )


def _brief(error: BaseException) -> str:
    return f"{str(error)[:300] or type(error).__name__}" if not isinstance(error, KeyError) else f"{error} is missing"


_KINDS: dict[Any, Callable[[Decoder, dict[str, Any], int], Any]] = {
    "tuple": Decoder._tuple,
    "dict": Decoder._dict,
    "slice": Decoder._slice,
    "array": Decoder._array,
    "objects": Decoder._objects,
    "masked": Decoder._masked,
    "scalar": Decoder._scalar,
    "sparse": Decoder._sparse,
    "float": Decoder._float,
    "dtype": Decoder._dtype,
    "type": Decoder._type,
    "RandomState": Decoder._random_state,
    "function": Decoder._function,
    "object": Decoder._object,
}
