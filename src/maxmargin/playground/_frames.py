"""How answers travel: one binary frame, a line of JSON followed by raw arrays.

A frame is a little-endian uint32 (the length of the header in bytes), the header, zeros up to a multiple of 8, and the
arrays, each padded to a multiple of 8 so that a page can lay a typed array over it. ``header["arrays"]`` says of each
``name``, ``dtype`` ('u1', 'i4', 'f4' or 'f8'), ``shape`` and ``offset`` (bytes after the padded header).
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 8
DTYPES = ("u1", "i4", "f4", "f8")


class Answer(NamedTuple):
    """What a room has to say: JSON values, and arrays that travel as they are."""

    values: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]] = {}


def encode(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    described, parts, offset = [], [], 0
    for name, array in arrays.items():
        dtype = array.dtype.str[1:]
        if dtype not in DTYPES:
            raise TypeError(f"array {name!r} has the type {array.dtype}; a frame takes {', '.join(DTYPES)}")
        data = np.ascontiguousarray(array, dtype="<" + dtype).tobytes()
        described.append({"name": name, "dtype": dtype, "shape": list(array.shape), "offset": offset})
        parts.append(data + bytes(-len(data) % ALIGNMENT))
        offset += len(parts[-1])
    text = json.dumps({**plain(dict(header)), "arrays": described}, allow_nan=False).encode()
    text += b" " * (-(len(text) + 4) % ALIGNMENT)
    return struct.pack("<I", len(text)) + text + b"".join(parts)


def decode(frame: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """(header, arrays) of a frame, as the page reads it."""
    (length,) = struct.unpack_from("<I", frame)
    header = json.loads(frame[4 : 4 + length])
    arrays = {}
    for one in header.pop("arrays"):
        count = math.prod(one["shape"])
        values = np.frombuffer(frame, "<" + one["dtype"], count, 4 + length + one["offset"])
        arrays[one["name"]] = values.reshape(one["shape"])
    return header, arrays


def plain(value: Any) -> Any:
    """The value as JSON can say it; numbers that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
