"""How smoothly the playground follows a dragged point: real requests over a real WebSocket, or a real browser.

    python -m benchmarks.playground [--points 200] [--requests 200]
    python -m benchmarks.playground --browser [--points 200] [--seconds 4]

A point moves with every request. A *trip* is what a page waits for: the request, the fit, the scores on the grid, the
statuses of the points, and the answer. *Frames* are answers per second with two requests under way, as the page has it.

With ``--browser`` a point is dragged about in headless Chromium, a move for every picture. *Machines* are the different
machines that were drawn per second, *pictures* what the browser showed, and *longest* is the longest time without a new
machine. Server and browser share the cores.
"""

from __future__ import annotations

import argparse
import base64
import json
import math
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
#: More of what is on the screen, for the browser.
SLOWER: tuple[tuple[str, dict[str, Any]], ...] = (
    ("linear, C = 1000", {"kernel": {"name": "linear"}, "C": 1000.0}),
    ("Gaussian, hard margin", {"kernel": {"name": "gaussian", "gamma": 10.0}, "C": "inf"}),
    ("linear, no hard margin", {"kernel": {"name": "linear"}, "C": "inf"}),
    ("three classes, one-vs-all", {"kernel": {"name": "gaussian", "gamma": 1.0}, "multiclass": "ovr"}),
    ("three classes, Crammer-Singer", {"kernel": {"name": "gaussian", "gamma": 1.0}, "multiclass": "crammer-singer"}),
    ("three classes, Weston-Watkins", {"kernel": {"name": "gaussian", "gamma": 1.0}, "multiclass": "weston-watkins"}),
    ("nu = 0.2", {"kernel": {"name": "gaussian", "gamma": 1.0}, "formulation": "nu", "nu": 0.2}),
    ("regression", {"task": "regress", "kernel": {"name": "gaussian", "gamma": 1.0}}),
    ("one class", {"task": "one-class", "kernel": {"name": "gaussian", "gamma": 1.0}, "nu": 0.2}),
    ("dual gradient", {"kernel": {"name": "gaussian", "gamma": 1.0}, "solver": "dual-gradient"}),
    ("Pegasos, linear", {"kernel": {"name": "linear"}, "solver": "pegasos"}),
)
#: Moves the pressed pointer with every picture, for so long, and counts what happens in the page. (A mouse moved from
#: outside waits for an answer after every move: it would be slower than a hand.)
DRAG = """
const [x, y, milliseconds, done] = arguments;
const plane = document.querySelector(".stage > .plane"), began = performance.now(), machines = [];
const drawn = new MutationObserver(() => machines.push(performance.now()));
drawn.observe(plane, { attributeFilter: ["data-answer"] });
let pictures = 0;
const tick = () => {
  const now = performance.now() - began;
  if (now > milliseconds) return done([machines, pictures]);
  pictures += 1;
  const [clientX, clientY] = [x + 60 * Math.cos(0.003 * now), y + 60 * Math.sin(0.003 * now)];
  plane.dispatchEvent(new PointerEvent("pointermove", { clientX, clientY, isPrimary: true, bubbles: true }));
  requestAnimationFrame(tick);
};
requestAnimationFrame(tick);
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--browser", action="store_true", help="drag a point in Chromium")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each drag in the browser")
    options = parser.parse_args()
    if options.browser:
        in_the_browser(options.points, options.seconds)
        return
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

    X, y = scene_points(name, points)
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


def scene_points(name: str, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Two moons, or blobs of three classes."""
    if "three" in name:
        return make_blobs(points, centers=3, center_box=(-2.5, 2.5), random_state=0)
    return make_moons(points, noise=0.25, random_state=0)


def in_the_browser(points: int, seconds: float) -> None:
    """One line for every scene: machines and pictures per second while the mouse drags a point."""
    from tests.playground import chromium

    print(f"{points} points, a drag of {seconds:g} s each")
    print(f"{'scene':<32}{'machines/s':>12}{'pictures/s':>12}{'longest ms':>12}")
    with chromium.server() as (address, _), chromium.browser() as driver:
        for name, wanted in (*((name, wanted) for name, wanted, _, _ in SCENES), *SLOWER):
            X, y = scene_points(name, points)
            thousandths = np.round(1000 * X).astype(int)
            state = {**wanted, "points": {"x": thousandths[:, 0].tolist(), "y": thousandths[:, 1].tolist()}}
            state["points"]["c"] = "".join(str(c) for c in y + 1)
            packed = base64.urlsafe_b64encode(json.dumps(state).encode()).decode().rstrip("=")
            driver.get("about:blank")
            driver.get(f"{address}#svm/{packed}")
            time.sleep(3.0)  # the first fit, the gap of it, what is compiled for it
            times, pictures = dragged(driver, X[0] / (8.0, -6.0), seconds)
            longest = max(np.diff(times), default=math.nan)
            rate = len(times) / seconds
            print(f"{name:<32}{rate:>12.0f}{pictures / seconds:>12.0f}{longest:>12.0f}", flush=True)


def dragged(driver: Any, place: np.ndarray, seconds: float) -> tuple[list[float], int]:
    """(when machines were drawn, pictures) while a point moves; ``place``: shares of the plane, from its middle."""
    box = driver.execute_script("""
        const { left, top, width, height } = document.querySelector(".stage > .plane").getBoundingClientRect();
        return [left, top, width, height];
    """)
    x, y = box[0] + box[2] * (0.5 + place[0]), box[1] + box[3] * (0.5 + place[1])

    def mouse(kind: str, dx: float = 0.0, dy: float = 0.0, buttons: int = 1) -> None:
        event = {"type": kind, "x": x + dx, "y": y + dy, "button": "left", "buttons": buttons, "clickCount": 1}
        driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)

    mouse("mousePressed")
    mouse("mouseMoved", 10.0)
    machines, pictures = driver.execute_async_script(DRAG, x, y, 1e3 * seconds)
    mouse("mouseReleased", buttons=0)
    return machines, pictures


if __name__ == "__main__":
    main()
