"""How fast tables are read, with pyarrow and without: ``python -m benchmarks.tables``.

100,000 rows of 20 numbers as CSV (35 MB), whole and in chunks, the best of three. With ``PYTHONPATH=OLD/src`` in front
of it the same is told of an older version.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROWS, COLUMNS, REPEAT = 100_000, 20, 3


def best(read: Callable[[], Any]) -> float:
    """Seconds of the fastest of a few."""
    times = []
    for _ in range(REPEAT):
        began = time.perf_counter()
        read()
        times.append(time.perf_counter() - began)
    return min(times)


def measured(path: Path) -> str:
    """Both ways to read a file, in words."""
    from maxmargin.io import read_chunks, read_table

    whole = best(lambda: read_table(path))
    chunks = best(lambda: [len(y) for _, y in read_chunks(path, target="y")])
    return f"table {whole:.2f} s, chunks {chunks:.2f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--read", nargs=2, metavar=("FILE", "HOW"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        path, how = given.read
        if how == "without":
            sys.modules["pyarrow"] = None  # type: ignore[assignment]  # what an import of a missing package finds
        print(f"{how} pyarrow: {measured(Path(path))}")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numbers.csv"
        table = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
        names = ",".join([f"c{k}" for k in range(COLUMNS - 1)] + ["y"])
        np.savetxt(path, table, delimiter=",", header=names, comments="", fmt="%.15g")
        print(f"{path.stat().st_size / 1e6:.0f} MB", flush=True)
        for how in ("with", "without"):
            subprocess.run([sys.executable, "-m", "benchmarks.tables", "--read", str(path), how], check=True)


if __name__ == "__main__":
    main()
