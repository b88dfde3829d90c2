"""The time to the first fit: a new process that imports SVC and fits 100 rows, beside scikit-learn's.

    python -m benchmarks.cold --rounds 10

The processes take turns, so that all of them meet the same noise. Seconds are those of the processor (user and system),
the least of all rounds; "empty" is a computer on which nothing is compiled yet.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping

FIT = """
from sklearn.datasets import load_iris
from {package} import SVC
X, y = load_iris(return_X_y=True)
SVC().fit(X[:100], y[:100])
"""


def seconds(package: str, environment: Mapping[str, str]) -> tuple[float, float]:
    """(seconds of the processor, seconds) that a new process takes."""
    before, begun = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", FIT.format(package=package)], env=environment, check=True)
    after = os.times()
    busy = after.children_user - before.children_user + after.children_system - before.children_system
    return busy, time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for package in ("maxmargin", "sklearn.svm"):  # compiles, and writes byte code
        seconds(package, environment)
    taken: dict[str, list[tuple[float, float]]] = {"maxmargin": [], "sklearn.svm": []}
    for _ in range(options.rounds):
        for package, times in taken.items():
            times.append(seconds(package, environment))
    with tempfile.TemporaryDirectory() as cache:
        empty = seconds("maxmargin", {**environment, "NUMBA_CACHE_DIR": cache})
    (ours, our_wall), (theirs, their_wall) = (tuple(map(min, zip(*times, strict=True))) for times in taken.values())
    print(f"maxmargin    {ours:6.2f} s of the processor, {our_wall:6.2f} s")
    print(f"scikit-learn {theirs:6.2f} s of the processor, {their_wall:6.2f} s; ratio {ours / theirs:.2f}")
    print(f"empty        {empty[0]:6.2f} s of the processor, {empty[1]:6.2f} s")


if __name__ == "__main__":
    main()
