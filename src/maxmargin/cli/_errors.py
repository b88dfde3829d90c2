"""What may go wrong, in words, and the exit code it ends with."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

#: Exit codes: failures that are not the input's, bad input, Ctrl-C.
FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130


class InputError(ValueError):
    """The data or the options make no sense; the message says what to do."""


#: Errors of the operating system that other input would not avoid: a disk or memory that is full or broken.
SYSTEM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE})


def exit_code_of(error: BaseException) -> int:
    """The code that the command ends with."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, OSError) and error.errno in SYSTEM:
        return FAILED
    return BAD_INPUT if isinstance(error, (ValueError, OSError)) else FAILED


def words_of(error: BaseException) -> str:
    """What a person reads."""
    if isinstance(error, KeyboardInterrupt):
        return "Stopped before there was a model; nothing was written."
    if isinstance(error, OSError) and error.errno is not None:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"The disk is full: {error}. Nothing was left half written; free some space and run it again."
        return f"{error.filename or 'the file'}: {error.strerror}"
    if isinstance(error, MemoryError):
        return "There is not enough memory for this. Take fewer rows or --kernel linear, or close other programs."
    return str(error) or type(error).__name__


def trace_of(error: BaseException) -> str:
    """Where it happened, for errors that nobody foresaw; empty for the others."""
    if isinstance(error, (ValueError, OSError, ImportError, MemoryError, KeyboardInterrupt)):
        return ""
    return "".join(traceback.format_exception(error))


class Finishing:
    """While a model is tested and saved, the first Ctrl-C is noted and the work goes on; the second one ends it."""

    def __init__(self) -> None:
        self.pressed = False
        self._before: Any = None

    def __enter__(self) -> Finishing:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True


def check_writable(path: Path | None, option: str, *inputs: str | Path | None) -> None:
    """InputError unless a file can be written there, and is not one of the inputs; asked before the work, not after."""
    if path is None:
        return
    for given in inputs:
        if given is not None and path.absolute() == Path(given).absolute():
            raise InputError(f"{option} {path} is also {given}, which it would replace; choose another name")
    folder = path.parent
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; give the name of a file")
    if not folder.is_dir():
        raise InputError(f"{option} {path}: the folder {folder} does not exist; make it first")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "Permission denied")
    except OSError as error:
        if error.errno in SYSTEM:
            raise
        raise InputError(f"{option} {path} cannot be written: {error.strerror}; choose another place") from error


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A file beside ``path`` to write to; it takes its place when all is well and vanishes otherwise."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(0o666 & ~_umask())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def close_quietly(stream: TextIO | None = None) -> None:
    """After a reader such as `head` has gone: let nothing more be written to standard output, or to ``stream``."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())
