"""Compiled code on disk: one file per function and signature, whole or not at all, and checked before it is run.

Numba's own files have no checksum: a truncated one ends every fit with an error of ``pickle``, and a flipped bit in the
machine code is run. Its index is read, changed and written back, so that two processes which compile at the same time
may file the code of one signature under the name of another. Here a file is named after its signature, needs no
index, and is compiled anew, with a line that says so, if it is not the one that was written.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import secrets
import sys
import warnings
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from llvmlite import binding
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime import _nrt_python
from numba.core.serialize import dumps

#: Bytes of a checksum, and of the stamp of the sources.
DIGEST = 32


class KeptCode:
    """The files of one function; what Numba calls the file of a cache."""

    def __init__(self, folder: str, name: str):
        self._folder, self._name = Path(folder), name

    def load(self, key: Any) -> Any:
        """What was saved under ``key``, or None if nothing is there that may be run."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        if len(data) < 2 * DIGEST or checksum(data[DIGEST:]) != data[:DIGEST]:
            say_damaged(path)
            return None
        if data[DIGEST : 2 * DIGEST] != sources():
            return None  # of another version of the code: overwritten by the next save
        saved, code = _Reader(io.BytesIO(data[2 * DIGEST :])).load()
        return code if saved == key else None

    def save(self, key: Any, code: Any) -> None:
        """Keep ``code`` under ``key``; the file appears whole or not at all."""
        data, path = sources() + dumps((key, code)), self._path(key)
        draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
        try:
            draft.write_bytes(checksum(data) + data)
            os.replace(draft, path)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise

    def flush(self) -> None:
        """Forget all that is kept (``Dispatcher.recompile``)."""
        for path in self._folder.glob(f"{self._name}.*.nbc"):
            path.unlink(missing_ok=True)

    def _path(self, key: Any) -> Path:
        return self._folder / f"{self._name}.{checksum(repr(key).encode()).hex()[:16]}.nbc"


class _Reader(pickle.Unpickler):
    """Reads what was kept without Numba's arrays and strings, large modules that only compiling needs."""

    def find_class(self, module: str, name: str) -> Any:
        return _environment if name == "_rebuild_env" else super().find_class(module, name)


def _environment(module: str, constants: Any, name: str) -> Any:
    """What Numba's ``_rebuild_env`` makes, with the module's name alone: globals are for code with Python objects."""
    made = lookup_environment(name)
    if made is None:
        made = Environment._memo[name] = Environment({"__name__": module})
        made.consts[:], made.env_name = constants, name
    return made


def kept_folder() -> Path | None:
    """Where compiled code is kept; None where it cannot be."""
    from maxmargin.backends._numba.smo import pair_block

    path = getattr(pair_block._cache, "cache_path", None)
    return None if path is None or not os.access(path, os.W_OK) else Path(path)


def keep(dispatcher: Any) -> Any:
    """Have Numba keep what it compiles for ``dispatcher`` in such files; a disk that fails costs a warning."""
    cache = dispatcher._cache
    cache._cache_file = KeptCode(cache.cache_path, cache._impl.filename_base)
    load, save = cache._load_overload, cache.save_overload

    def load_or_say(signature: Any, context: Any) -> Any:
        # Numba's load_overload first imports all that a compilation may need, which takes longer than the rest of a
        # first fit; code that runs needs memory functions alone, and a compilation sees to the rest itself
        _find_memory_functions()
        try:
            return load(signature, context)
        except Exception:  # whole, but not for this Numba: whatever it is, compiling anew is the remedy
            say_damaged(Path(cache.cache_path))
            return None

    def save_or_warn(signature: Any, result: Any) -> None:
        try:
            save(signature, result)
        except OSError as error:
            cache.disable()
            warn_once(error)

    cache.load_overload, cache.save_overload = load_or_say, save_or_warn
    return dispatcher


@lru_cache(maxsize=1)
def _find_memory_functions() -> None:
    """Tell LLVM where compiled code finds the functions by which Numba allocates arrays."""
    for name, address in _nrt_python.c_helpers.items():
        binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def checksum(data: bytes) -> bytes:
    """SHA-256."""
    return hashlib.sha256(data).digest()


@lru_cache(maxsize=1)
def sources() -> bytes:
    """Hash of Numba's version and of all compiled modules: a function is compiled together with those it calls."""
    from numba import __version__

    files = sorted(Path(__file__).parent.glob("*.py"))
    return checksum(__version__.encode() + b"".join(path.read_bytes() for path in files))


@lru_cache(maxsize=1)
def _once() -> set[str]:
    """What this process has said already."""
    return set()


def say_damaged(path: Path) -> None:
    """One line per process: the first fit takes longer than it should, and the disk may be to blame."""
    if "damaged" not in _once():
        _once().add("damaged")
        print(
            f"maxmargin: the compiled code kept in {path} is damaged; it is compiled anew.", file=sys.stderr, flush=True
        )


def warn_once(error: Exception) -> None:
    """Say once per process that nothing can be kept."""
    if "unkept" not in _once():
        _once().add("unkept")
        warnings.warn(
            f"compiled code cannot be kept on disk ({error}); every process will compile anew. "
            "Set NUMBA_CACHE_DIR to a directory that can be written.",
            RuntimeWarning,
            stacklevel=4,
        )
