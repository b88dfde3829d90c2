"""The container of a model file: a zip of JSON and .npy parts, with a manifest that has every part's checksum.

Parts are stored, not compressed, so that no part is larger than the file it came in.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from maxmargin._types import Array
from maxmargin.exceptions import ModelFileError
from maxmargin.io._files import located, replacing

FORMAT, VERSION = "maxmargin model", 1
MANIFEST = "manifest.json"
PARTS = re.compile(r"manifest\.json|model\.json|record\.json|arrays/\d{1,6}\.npy")
#: Largest file that is read unless the caller says otherwise, and largest JSON part in it.
MAX_BYTES, MAX_JSON = 2**32, 2**26
#: Values (commas and brackets) of a JSON part: Python needs some fifty bytes for each, however short it is written.
MAX_VALUES = 4_000_000
#: What may be raised while something is read that is not a sound zip file.
BROKEN = (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, OSError, ValueError, RuntimeError, LookupError,
          ArithmeticError, struct.error)  # fmt: skip
#: The first bytes of every part's header of a file, without date: equal models make equal files.
DATE = (1980, 1, 1, 0, 0, 0)


class Writer:
    """Parts on their way into a file."""

    def __init__(self, file: IO[bytes], about: dict[str, Any]):
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self._about, self._parts = about, dict[str, dict[str, Any]]()
        self._arrays = 0

    def json(self, name: str, value: Any) -> None:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        _require_modest(text, name)
        self._part(name, lambda file: file.write(text))

    def array(self, array: Array) -> str:
        """A part with an array; its name."""
        name = f"arrays/{self._arrays}.npy"
        self._arrays += 1
        self._part(name, lambda file: np.lib.format.write_array(file, array, allow_pickle=False))
        return name

    def close(self) -> None:
        """Write the manifest."""
        self.json(MANIFEST, {"format": FORMAT, "version": VERSION, **self._about, "parts": self._parts})
        self._zip.close()

    def _part(self, name: str, write: Callable[[Any], Any]) -> None:
        entry = zipfile.ZipInfo(name, DATE)
        with self._zip.open(entry, "w", force_zip64=True) as file:
            hashed = _Hashed(file)
            write(hashed)
        self._parts[name] = {"bytes": hashed.bytes, "sha256": hashed.sha.hexdigest()}


class _Hashed:
    """A file to write to that counts and hashes what passes."""

    def __init__(self, file: IO[bytes]):
        self._file, self.sha, self.bytes = file, hashlib.sha256(), 0

    def write(self, data: Any) -> int:
        self.sha.update(data)
        self.bytes += len(data)
        return self._file.write(data)


@contextmanager
def new_archive(path: str | os.PathLike[str], about: dict[str, Any]) -> Iterator[Writer]:
    """A new file to put parts into, which appears in one step."""
    with replacing(path) as file:
        writer = Writer(file, about)
        try:
            yield writer
            writer.close()
        except BaseException:
            writer._zip.fp = None  # the file is about to be removed; otherwise the zip would try to finish it
            raise


class Archive:
    """A file that is being read: its manifest, and its parts as they are asked for."""

    def __init__(self, path: str | os.PathLike[str], max_bytes: int = MAX_BYTES):
        self.path = located(path, pipes=False)
        size = self.path.stat().st_size
        if size > max_bytes:
            raise ModelFileError(
                f"the file has {size} bytes, more than max_bytes={max_bytes}; pass a larger max_bytes if you trust it",
                self.path,
            )
        self._file = open(self.path, "rb")  # noqa: SIM115  # closed by close()
        try:
            self._zip = zipfile.ZipFile(self._file)
        except BROKEN as error:
            self._file.close()
            raise ModelFileError(
                f"this is no model file, or it is cut off or damaged ({error}); copy it again", self.path
            ) from error
        try:
            self._entries = self._checked_entries(size)
            self.manifest = self._checked_manifest()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def json(self, name: str) -> Any:
        """The value of a JSON part."""
        return self._parsed(name, self._bytes(name))

    def array(self, name: str) -> Array:
        """The array of a .npy part."""
        try:
            return read_npy(self._bytes(name))
        except ModelFileError:
            raise
        except (ValueError, TypeError, OverflowError, MemoryError) as error:
            raise ModelFileError(str(error), self.path, name) from error

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    # -- checks -----------------------------------------------------------------------------------------------

    def _checked_entries(self, size: int) -> dict[str, zipfile.ZipInfo]:
        """The parts by name: only names and sizes that a model file can have."""
        entries: dict[str, zipfile.ZipInfo] = {}
        for entry in self._zip.infolist():
            name = entry.filename
            if not PARTS.fullmatch(name):
                raise ModelFileError(f"a model file has no part called {name[:100]!r}", self.path)
            if name in entries:
                raise ModelFileError("this part is there twice", self.path, name)
            if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
                raise ModelFileError(
                    "the part is compressed; model files hold their parts as they are", self.path, name
                )
            if entry.flag_bits & 0x1:
                raise ModelFileError("the part is encrypted; model files are not", self.path, name)
            if name.endswith(".json") and entry.file_size > MAX_JSON:
                raise ModelFileError(f"{entry.file_size} bytes of JSON are too many", self.path, name)
            entries[name] = entry
        total = sum(entry.file_size for entry in entries.values())
        if total > size:
            raise ModelFileError(f"the parts claim {total} bytes, but the file has {size}", self.path)
        return entries

    def _checked_manifest(self) -> dict[str, Any]:
        """The manifest of a format we can read, which names exactly the parts that are there."""
        if MANIFEST not in self._entries:
            raise ModelFileError(f"there is no part {MANIFEST}; this is no model file", self.path)
        manifest = self._parsed(MANIFEST, self._raw(MANIFEST))
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise ModelFileError(f"the manifest does not say format={FORMAT!r}; this is no model file", self.path)
        version = manifest.get("version")
        if type(version) is not int or version < 1:
            raise ModelFileError(f"version={version!r} is no format number", self.path, MANIFEST)
        if version > VERSION:
            raise ModelFileError(
                f"the file has format {version}, and this maxmargin reads formats up to {VERSION}; update maxmargin "
                "to read it",
                self.path,
            )
        parts = manifest.get("parts")
        if not isinstance(parts, dict) or {*parts, MANIFEST} != set(self._entries):
            raise ModelFileError("the manifest names other parts than there are", self.path, MANIFEST)
        return manifest

    def _bytes(self, name: Any) -> bytes:
        """A part, its size and checksum compared with the manifest's."""
        if not isinstance(name, str) or name not in self._entries or name == MANIFEST:
            raise ModelFileError(f"there is no part {str(name)[:100]!r}", self.path)
        data, said = self._raw(name), self.manifest["parts"][name]
        found = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        if said != found:
            raise ModelFileError(
                "the part is not the one that was written: its checksum differs; copy the file again", self.path, name
            )
        return data

    def _raw(self, name: str) -> bytes:
        try:
            return self._zip.read(self._entries[name])
        except BROKEN as error:
            raise ModelFileError(f"the part is damaged ({error}); copy the file again", self.path, name) from error

    def _parsed(self, name: str, data: bytes) -> Any:
        _require_modest(data, name, self.path)
        try:
            return json.loads(data.decode(), object_pairs_hook=_unique, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise ModelFileError(f"the JSON cannot be read ({error})", self.path, name) from error


def _require_modest(text: bytes, name: str, path: Path | str = "") -> None:
    values = sum(text.count(mark) for mark in (b",", b"[", b"{"))
    if len(text) > MAX_JSON or values > MAX_VALUES:
        raise ModelFileError(
            f"{len(text)} bytes of JSON with up to {values} values are more than a model file holds ({MAX_JSON} and "
            f"{MAX_VALUES}); large tables belong into arrays of numbers",
            path,
            name,
        )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


# -- Arrays as .npy parts: NumPy writes them; they are read with every size checked before memory is taken ----------
# ``numpy.load`` would allocate what a header promises and evaluate the header as an expression. Here a header has to
# match one pattern, and the bytes that follow must be exactly as many as it says.


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
    """The array in the bytes of a .npy file, writable and in native byte order; ValueError if they hold no array."""
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
