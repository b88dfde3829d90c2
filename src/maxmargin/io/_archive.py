"""The container of a model file: a zip of JSON and .npy parts, with a manifest that has every part's checksum.

Parts are stored, not compressed, so that no part is larger than the file it came in.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from maxmargin._types import Array
from maxmargin.exceptions import ModelFileError
from maxmargin.io._atomic import replacing
from maxmargin.io._files import located
from maxmargin.io._npy import read_npy

FORMAT, VERSION = "maxmargin model", 1
MANIFEST = "manifest.json"
PARTS = re.compile(r"manifest\.json|model\.json|record\.json|arrays/\d{1,6}\.npy")
#: Largest file that is read unless the caller says otherwise, and largest JSON part in it.
MAX_BYTES, MAX_JSON = 2**32, 2**26
#: Values (commas and brackets) of a JSON part: Python needs some fifty bytes for each, however short it is written.
MAX_VALUES = 4_000_000
#: What reading a zip file that is none may raise.
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
        """A part of JSON."""
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

    def abandon(self) -> None:
        """Forget the file, which is about to be removed; otherwise the zip would try to finish it."""
        self._zip.fp = None

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


def write_archive(path: str | os.PathLike[str], about: dict[str, Any], fill: Callable[[Writer], None]) -> None:
    """A new file, filled by ``fill``, in one step."""
    with replacing(path) as file:
        writer = Writer(file, about)
        try:
            fill(writer)
            writer.close()
        except BaseException:
            writer.abandon()
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
