"""Files: which format a name stands for, numbered lines of text, and files that appear whole or not at all."""

from __future__ import annotations

import codecs
import lzma
import math
import os
import re
import secrets
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from io import BytesIO, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

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
#: What programs for Windows write that know no UTF-8, a superset of Latin-1; and what stands in no text.
WINDOWS = "cp1252"
UNPRINTED = re.compile("[\x00-\x08\x0e-\x1f]")
#: Bytes that are looked at together for the encoding; every reader of chunks holds as many.
LOOKED_THROUGH = 2**16
#: Longest line, in bytes; a binary file without line ends must not be taken into memory as one.
MOST_LINE = 2**24
#: A compressed file may grow to so many bytes, or to so many times its size, whichever is more.
MOST_GROWN, MOST_TIMES = 2**26, 200
#: A compressed file that has to be in memory as a whole may grow to so many times its size.
HELD_TIMES = 20
#: Bytes of a pipe that are copied to the disk where a reader needs them twice.
MOST_PIPED = 2**33

#: Line numbers, from 1, and lines as they stand in the file.
Lines: TypeAlias = list[tuple[int, bytes]]


def located(path: str | os.PathLike[str], pipes: bool = True) -> Path:
    """The path of something that can be read: a file or, if ``pipes`` will do, a pipe."""
    file = Path(path)
    if file.is_dir():
        raise IsADirectoryError(f"{file} is a folder; read the files in it one by one")
    if not file.exists():
        raise FileNotFoundError(f"{file} does not exist; check the path (the working directory is {Path.cwd()})")
    mode = file.stat().st_mode
    if stat.S_ISFIFO(mode) and not pipes:
        raise ValueError(f"{file} is a pipe, which can be read only once and from front to back; save it as a file")
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        kind = "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise ValueError(f"{file} is {kind}, which may never end; give a file or a pipe")
    return file


@contextmanager
def replayable(path: Path) -> Iterator[Path]:
    """The file, or for a pipe a temporary copy of what it delivers; errors name the pipe all the same."""
    if not path.is_fifo():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="maxmargin-") as folder:
        copy = Path(folder, path.name)
        try:
            with open(path, "rb") as source, open(copy, "wb") as target:
                _copy(path, source, target)
            yield copy
        except (ValueError, OSError) as error:
            if getattr(error, "errno", None) is not None or str(copy) not in str(error):
                raise
            raise type(error)(str(error).replace(str(copy), str(path))) from error


def _copy(path: Path, source: IO[bytes], target: IO[bytes]) -> None:
    """All of a pipe, up to MOST_PIPED."""
    while block := source.read(2**20):
        target.write(block)
        if target.tell() > MOST_PIPED:
            raise ValueError(
                f"{path}: the pipe delivers more than {MOST_PIPED:,} bytes, which is too much for a whole table; read "
                "it in chunks, or save it as a file"
            )


def most_bytes(path: Path, times: int = MOST_TIMES) -> int:
    """How many bytes a compressed file may become."""
    return max(MOST_GROWN, times * path.stat().st_size)


def grown(path: Path, times: int = MOST_TIMES) -> ValueError:
    """What to raise when a file decompresses to more than that."""
    return ValueError(
        f"{path} holds more than {most_bytes(path, times):,} bytes when decompressed ({times} times its size, or "
        f"{MOST_GROWN:,} if that is more); if you trust it, decompress it first"
    )


def held(path: Path) -> Any:
    """What readers of binary files take: the path, or what it decompresses to, in memory."""
    if path.suffix.lower() not in COMPRESSED:
        return path
    most = most_bytes(path, HELD_TIMES)
    try:
        with opened(path) as file:
            data = file.read(most + 1)
    except DAMAGE as error:
        raise damaged(str(path), error) from error
    if len(data) > most:
        raise grown(path, HELD_TIMES)
    return BytesIO(data)


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
    if found == "parquet" and path.is_fifo():
        raise ValueError(f"{path}: Parquet is read from its end, which a pipe does not show; save it as a file")
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


def encoding_of(path: Path) -> str:
    """UTF-8 if the file is that; UTF-16 where its first bytes say so; Latin-1 as Windows has it if that makes text."""
    if not path.is_file():
        return "utf-8"
    left = most_bytes(path) if path.suffix.lower() in COMPRESSED else math.inf
    decoders = {name: codecs.getincrementaldecoder(name)() for name in ("utf-8", WINDOWS)}
    try:
        with opened(path) as file:
            block = file.read(LOOKED_THROUGH)
            if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                return "utf-16"
            ended = False
            while decoders and not ended and left >= 0:
                ended = not block
                for name in tuple(decoders):
                    try:
                        text = decoders[name].decode(block, ended)
                    except UnicodeDecodeError:
                        del decoders[name]
                        continue
                    if name == WINDOWS and UNPRINTED.search(text):
                        del decoders[name]
                left -= len(block)
                block = file.read(LOOKED_THROUGH)
    except DAMAGE:  # whoever reads the lines will say so, and where
        return "utf-8"
    return WINDOWS if "utf-8" not in decoders and WINDOWS in decoders else "utf-8"


def recoded(file: IO[bytes], encoding: str) -> Callable[[int], bytes]:
    """The ``readline`` of a file, in UTF-8 whatever the file has."""
    if encoding == "utf-8":
        return file.readline
    text = TextIOWrapper(file, encoding=encoding, newline="\n")
    return lambda most: text.readline(most).encode()


def numbered(path: Path, matters: Callable[[bytes], object], encoding: str = "utf-8") -> Iterator[tuple[int, bytes]]:
    """Lines that matter, with their numbers, one at a time, in UTF-8."""
    packed = path.suffix.lower() in COMPRESSED and path.is_file()
    number, most = 0, most_bytes(path) if packed else math.inf
    try:
        with opened(path) as file:
            for number, line in enumerate(iter(partial(recoded(file, encoding), MOST_LINE + 1), b""), 1):
                if len(line) > MOST_LINE:
                    raise ValueError(
                        f"{path}, line {number}: the line has more than {MOST_LINE:,} bytes, the most that is read; "
                        "check that the file is text, one row to a line"
                    )
                if packed and file.tell() > most:  # what was decompressed, not what it is in UTF-8
                    raise grown(path)
                text = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
                if matters(text):
                    yield number, text
    except UnicodeError as error:
        raise ValueError(f"{path}, after line {number}: not {encoding} text ({error}); pass another encoding") from None
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


# -- Files that appear whole or not at all: whatever happens while one is written, the old one stays as it was ------


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
