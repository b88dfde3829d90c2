"""How smoothly the playground follows a dragged point: round trips of real requests over a real WebSocket.

    python -m benchmarks.playground [--points 200] [--requests 200]

A point moves with every request. A *trip* is what a page waits for: the request, the fit, the scores on the grid, the
statuses of the points, and the answer. *Frames* are answers per second with two requests under way, as the page has it.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs, make_moons

#: (name, options, columns, rows): what is on the screen, and how fine it is while something moves.
SCENES: tuple[tuple[str, dict[str, Any], int, int], ...] = (
    ("Gaussian, C = 1", {"kernel": {"name": "gaussian", "gamma": 1.0}, "C": 1.0}, 100, 75),
    ("Gaussian, C = 100", {"kernel": {"name": "gaussian", "gamma": 1.0}, "C": 100.0}, 100, 75),
    ("linear, C = 1", {"kernel": {"name": "linear"}, "C": 1.0}, 100, 75),
    ("polynomial of degree 3, C = 1", {"kernel": {"name": "polynomial", "degree": 3}, "C": 1.0}, 100, 75),
    ("three classes, Gaussian, C = 1", {"kernel": {"name": "gaussian", "gamma": 1.0}, "C": 1.0}, 120, 90),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--requests", type=int, default=200)
    options = parser.parse_args()
    command = [sys.executable, "-m", "maxmargin", "playground", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://(\S+)/", server.stdout.readline())
            assert found is not None
            print(f"{options.points} points, {options.requests} requests each")
            print(f"{'scene':<32}{'trip ms':>9}{'95 %':>8}{'frames/s':>10}{'fit ms':>8}{'kB':>7}")
            for name, wanted, columns, rows in SCENES:
                report(found[1], name, {**wanted, "columns": columns, "rows": rows}, options.points, options.requests)
        finally:
            server.terminate()


def report(host: str, name: str, wanted: dict[str, Any], points: int, requests: int) -> None:
    """One line: trips one after the other, then answers per second with two requests under way."""
    from websockets.sync.client import connect

    from maxmargin.playground._frames import decode

    if "three" in name:
        X, y = make_blobs(points, centers=3, center_box=(-2.5, 2.5), random_state=0)
    else:
        X, y = make_moons(points, noise=0.25, random_state=0)
    with connect(f"ws://{host}/socket", max_size=None, compression=None) as tab:

        def send(number: int) -> None:
            moved = X.copy()
            moved[0] += 0.8 * np.array([np.cos(number / 9), np.sin(number / 9)])
            body = {"task": "classify", "detail": "coarse", "view": [-4, 4, -3, 3], **wanted, "c": (y + 1).tolist()}
            body |= {"x": moved[:, 0].round(3).tolist(), "y": moved[:, 1].round(3).tolist()}
            tab.send(json.dumps({"room": "svm", "kind": "fit", "id": number, "body": body}))

        trips, fits, size = [], [], 0
        for number in range(1, requests + 20):
            began = time.perf_counter()
            send(number)
            frame = tab.recv()
            assert isinstance(frame, bytes)
            if number >= 20:  # the first ones load what fits need
                trips.append(1e3 * (time.perf_counter() - began))
                header, _ = decode(frame)
                fits.append(header["values"]["milliseconds"]["fit"])
                size = len(frame)
        began, answered, number = time.perf_counter(), 0, requests + 20
        send(number)
        last = number + requests
        while number < last:
            number += 1
            send(number)
            answer = tab.recv()
            assert isinstance(answer, bytes)
            answered += 1
        rate = answered / (time.perf_counter() - began)
    tail = sorted(trips)[int(0.95 * len(trips))]
    line = f"{name:<32}{statistics.median(trips):>9.1f}{tail:>8.1f}{rate:>10.0f}{statistics.median(fits):>8.1f}"
    print(f"{line}{size / 1e3:>7.0f}")


if __name__ == "__main__":
    main()
