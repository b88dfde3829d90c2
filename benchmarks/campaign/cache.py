"""Damaged compiled code on disk: ``python -m benchmarks.campaign.cache`` (``make cache``).

A process compiles into a folder. A trial damages a copy of it (files truncated, bits flipped, filled with zeros,
swapped, removed, or taken by a folder) and fits in a new process: the fit must end with the same bits, and if a file
was damaged there must be a line that says so. In the second kind two processes compile into an empty folder at the same
time, and a third must load what they left.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

import maxmargin
from benchmarks.campaign._trials import Failure, Kind, run

FIT = """
import sys
sys.path.insert(0, {source!r})
import numpy as np
from maxmargin import SVC
X = np.random.default_rng(0).uniform(size=(60, 3))
y = (X.sum(axis=1) > 1.5).astype(int)
from maxmargin.backends._numba._kept_code import KeptCode
load, read = KeptCode.load, set()
KeptCode.load = lambda self, key: (read.add(self._path(key).name), load(self, key))[1]
print(SVC().fit(X, y).decision_function(X).tobytes().hex(), *sorted(read))
"""
SOURCE = str(Path(maxmargin.__file__).parents[1])
#: What is said of a file that is not the one that was written.
SAID = "is damaged; it is compiled anew"
WAYS = ("cut", "empty", "flip", "zeros", "swap", "remove", "folder")


def started(cache: Path) -> subprocess.Popen[str]:
    """A process that fits and prints the bits of its scores."""
    words = [sys.executable, "-c", FIT.format(source=SOURCE)]
    own = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(words, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def fitted(process: subprocess.Popen[str]) -> tuple[str, str, list[str]]:
    """(bits, what was said, files that were asked for)."""
    printed, said = process.communicate(timeout=600)
    if process.returncode:
        raise Failure(f"the fit ended with {process.returncode}: {said.strip()[-300:]}")
    bits, *files = printed.split()
    return bits, said, files


@lru_cache(maxsize=1)
def whole() -> tuple[Path, str, list[str]]:
    """(a folder with all that a fit compiles, its bits, the files that a second one loads)."""
    folder = Path(tempfile.mkdtemp(prefix="maxmargin-cache-"))
    bits, _, _ = fitted(started(folder))
    # a function that is called by compiled ones alone has a file, too, which nobody asks for again
    return folder, bits, fitted(started(folder))[2]


def damage(way: str, path: Path, others: list[Path], draw: random.Random) -> None:
    """Do something to a file that no program of ours does."""
    data = path.read_bytes()
    if way == "cut":
        path.write_bytes(data[: draw.randrange(1, len(data))])
    elif way == "empty":
        path.write_bytes(b"")
    elif way == "flip":
        at = draw.randrange(len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :])
    elif way == "zeros":
        at = draw.randrange(len(data) - 1)
        path.write_bytes(data[:at] + bytes(min(4096, len(data) - at)) + data[at + 4096 :])
    elif way == "swap":
        shutil.copy(draw.choice(others), path)
    else:
        path.unlink()
        if way == "folder":
            path.mkdir()


def damaged(seed: int) -> str:
    """A damaged folder costs time and a line, nothing else."""
    original, bits, asked = whole()
    draw = random.Random(seed)
    way = WAYS[seed % len(WAYS)]
    with tempfile.TemporaryDirectory() as name:
        cache = shutil.copytree(original, Path(name, "cache"))
        files = sorted(path for path in cache.rglob("*.nbc") if path.name in asked)
        path = draw.choice(files)
        before = path.read_bytes()
        damage(way, path, [other for other in files if other != path], draw)
        changed = path.is_file() and path.read_bytes() != before
        found, said, _ = fitted(started(cache))
    if found != bits:
        raise Failure(f"{way}: other bits")
    # a swapped file is whole, only not the one that is looked for
    if changed and way != "swap" and SAID not in said:
        raise Failure(f"{way}: no line says that the file was damaged: {said.strip()[-300:]}")
    return way


def together(seed: int) -> str:
    """Two processes that compile at the same time leave files that a third can use."""
    _, bits, _ = whole()
    with tempfile.TemporaryDirectory() as name:
        both = [started(Path(name)) for _ in range(2)]
        ended = [fitted(process) for process in both]
        ended.append(fitted(started(Path(name))))
    if any(found != bits for found, _, _ in ended):
        raise Failure("other bits")
    if "compiling" in ended[-1][1] or SAID in ended[-1][1]:
        raise Failure(f"the third process could not use the files: {ended[-1][1].strip()[-300:]}")
    return "loaded"


KINDS = {"damaged": Kind(200, damaged), "together": Kind(10, together)}

if __name__ == "__main__":
    try:
        sys.exit(run("cache", KINDS, __doc__))
    finally:
        if whole.cache_info().currsize:
            shutil.rmtree(whole()[0], ignore_errors=True)
