"""Files: which format a name stands for, and numbered lines of text, decompressed on the way."""

from __future__ import annotations

import lzma
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, TypeAlias, cast

#: Endings of file names, by format.
FORMATS = {
    "svmlight": (".svm", ".svmlight", ".libsvm", ".txt"),
    "csv": (".csv", ".tsv"),
    "parquet": (".parquet",),
}
COMPRESSED = (".gz", ".bz2", ".xz")
#: What reading a damaged compressed file ends with.
DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

#: Line numbers, from 1, and lines as they stand in the file.
Lines: TypeAlias = list[tuple[int, bytes]]


def located(path: str | os.PathLike[str]) -> Path:
    """The path of something that can be read: a file, or a pipe."""
    file = Path(path)
    if file.is_dir():
        raise IsADirectoryError(f"{file} is a folder; read the files in it one by one")
    if not file.exists():
        raise FileNotFoundError(f"{file} does not exist; check the path (the working directory is {Path.cwd()})")
    return file


def ending(path: Path) -> str:
    """The last ending of the name that does not stand for a compression, in lower case."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def format_of(path: Path, asked: str | None) -> str:
    """The format asked for, or the one the name stands for."""
    known = "; ".join(f"{name!r} ({', '.join(endings)})" for name, endings in FORMATS.items())
    if asked is None:
        found = next((name for name, endings in FORMATS.items() if ending(path) in endings), None)
        if found is None:
            raise ValueError(f"{path}: the name does not tell the format; pass format=, one of {known}")
    elif asked not in FORMATS:
        raise ValueError(f"format={asked!r} is unknown; pass one of {known}, or None to decide by the file's name")
    else:
        found = asked
    if found == "parquet" and path.suffix.lower() in COMPRESSED:
        raise ValueError(f"{path}: Parquet cannot be streamed from {path.suffix}; decompress the file first")
    return found


def opened(path: Path) -> IO[bytes]:
    """The file, open for reading bytes."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        import gzip

        return cast(IO[bytes], gzip.open(path, "rb"))
    if suffix == ".bz2":
        import bz2

        return cast(IO[bytes], bz2.open(path, "rb"))
    if suffix == ".xz":
        return cast(IO[bytes], lzma.open(path, "rb"))
    return open(path, "rb")


def numbered(path: Path, matters: Callable[[bytes], object]) -> Iterator[tuple[int, bytes]]:
    """Lines that matter, with their numbers, one at a time."""
    number = 0
    try:
        with opened(path) as file:
            for number, line in enumerate(file, 1):
                text = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
                if matters(text):
                    yield number, text
    except DAMAGE as error:
        raise damaged(f"{path}, after line {number}", error) from error


def damaged(place: str, error: Exception) -> Exception:
    """What to raise when reading ended with one of :data:`DAMAGE`."""
    if getattr(error, "errno", None) is not None:  # the operating system's own; it names the file
        return error
    return OSError(
        f"{place}: the compressed data are damaged or end too early ({error}); copy or download the file again"
    )


def blocks(lines: Iterable[tuple[int, bytes]], rows: int) -> Iterator[Lines]:
    """Lines, ``rows`` at a time."""
    remaining = iter(lines)
    while block := list(islice(remaining, rows)):
        yield block
