"""Files that appear whole or not at all: whatever happens while one is written, the old one stays as it was."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A temporary file beside ``path`` to write to, which takes its place at the end.

    The bytes are on the disk before the name changes hands, so a crash or a power cut leaves the old file or the new
    one. After an error, such as a full disk, the old file is untouched and the temporary one gone.
    """
    target = Path(os.path.realpath(path))  # through a link, not instead of it
    _require_place(target)
    temporary = target.with_name(f".{target.name[:200]}.{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno is not None:
            state = "the old file is unchanged" if target.exists() else "no file was made"
            raise OSError(error.errno, f"{error.strerror} while {target} was written; {state}") from error
        raise
    _sync_folder(target.parent)


def _require_place(target: Path) -> None:
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give the name of a file in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist; make it first")


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk too, where the system can open folders."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
