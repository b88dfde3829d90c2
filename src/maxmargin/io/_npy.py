"""Arrays as .npy parts: NumPy writes them; they are read with every size checked before memory is taken.

``numpy.load`` would allocate what a header promises and evaluate the header as an expression. Here a header has to
match one pattern, and the bytes that follow must be exactly as many as it says.
"""

from __future__ import annotations

import math
import re

import numpy as np

from maxmargin._types import Array

MAGIC = b"\x93NUMPY"
#: Kinds of numbers, texts and times: no objects, so nothing that would have to be unpickled.
_PLAIN = r"'[<>|][biufcSUmM]\d{1,9}(?:\[\d{0,9}[a-zA-Zμ]{1,2}\])?'"
_FIELDS = rf"\[\('\w{{1,99}}', {_PLAIN}\)(?:, \('\w{{1,99}}', {_PLAIN}\))*\]"
HEADER = re.compile(
    rf"\{{'descr': (?P<descr>{_PLAIN}|{_FIELDS}), 'fortran_order': (?P<fortran>True|False), "
    r"'shape': \((?P<shape>(?:\d{1,19}(?:, \d{1,19})*,?)?)\), \} *\n"
)
#: Longest header that is looked at; a history has 200 characters.
MAX_HEADER = 8192


def can_hold(array: Array) -> bool:
    """Whether a part can hold such an array."""
    kinds = [array.dtype] if array.dtype.names is None else [array.dtype[name] for name in array.dtype.names]
    return all(kind.kind in "biufcSUmM" and kind.subdtype is None and kind.itemsize <= 10**8 for kind in kinds) and all(
        re.fullmatch(r"\w{1,99}", name) for name in array.dtype.names or ()
    )


def read_npy(data: bytes) -> Array:
    """The array in the bytes of a .npy file, writable and in native byte order; ValueError if there is none."""
    if len(data) < 10 or not data.startswith(MAGIC):
        raise ValueError("this is no .npy file")
    wide = data[6] >= 2
    start = 12 if wide else 10
    length = int.from_bytes(data[8:start], "little")
    if length > MAX_HEADER or len(data) < start + length:
        raise ValueError(f"the header has {length} bytes, which is too many")
    found = HEADER.fullmatch(data[start : start + length].decode("latin-1"))
    if found is None:
        raise ValueError("the header does not describe an array of numbers, texts or times")
    dtype = _dtype(found["descr"])
    shape = tuple(int(size) for size in found["shape"].split(",") if size.strip())
    there, promised = len(data) - start - length, math.prod(shape) * dtype.itemsize
    if there != promised:
        raise ValueError(f"an array of shape {shape} and type {dtype} has {promised} bytes, but {there} are there")
    flat = np.frombuffer(data, dtype=dtype, count=math.prod(shape), offset=start + length)
    array = flat.reshape(shape, order="F" if found["fortran"] == "True" else "C")
    return array.astype(dtype.newbyteorder("="), order="K")


def _dtype(descr: str) -> np.dtype:
    """The data type of a header's description, which has matched the pattern."""
    texts = re.findall(r"'([^']*)'", descr)
    try:
        if not descr.startswith("["):
            return np.dtype(texts[0])
        return np.dtype(list(zip(texts[::2], texts[1::2], strict=True)))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"there is no data type {descr[:100]}") from error
