"""What the first touch of memory costs on this computer: measured once and kept, so that every process decides alike.

The system clears a page when it is first written to, which may take longer than computing what is written.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import cache
from math import ceil, log2
from pathlib import Path

import numpy as np

#: Bytes that are touched (more than the C library keeps for reuse), how often, and how far apart.
TOUCHED, TURNS, PAGE = 40 * 2**20, 5, 4096
#: Seconds per byte that are assumed where nothing can be kept.
ASSUMED = 2.0**-31
NAME = "first_touch.txt"


@cache
def first_touch() -> float:
    """Seconds per byte of fresh memory, as a power of 2."""
    from maxmargin.backends._numba._kept_code import kept_folder

    path = kept_folder()
    return ASSUMED if path is None else kept(path / NAME)


def kept(path: Path) -> float:
    """What the file says; written first if there is none, by whichever process is first."""
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        try:
            draft.write_text(repr(measured()), encoding="ascii")
            with suppress(FileExistsError):
                os.link(draft, path)
        except OSError:
            return ASSUMED
        finally:
            draft.unlink(missing_ok=True)
    try:
        value = float(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return ASSUMED
    return value if 0 < value < 1 else ASSUMED


def measured() -> float:
    """The least of a few turns, rounded up to a power of 2."""
    return 2.0 ** ceil(log2(max(min(_turn() for _ in range(TURNS)), 1e-12)))


def _turn() -> float:
    memory = np.empty(TOUCHED, dtype=np.uint8)
    began = time.perf_counter()
    memory[::PAGE] = 1
    return (time.perf_counter() - began) / TOUCHED
