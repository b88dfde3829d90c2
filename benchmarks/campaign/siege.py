"""The playground under siege: ``python -m benchmarks.campaign.siege`` (``make siege``).

The application runs in this process; tabs are websockets of a test client. Kinds of trials:

========  ==========================================================================================================
messages  a message that is damaged, nonsense, or right, to any room: it is answered, and never with an internal error
drags     requests that overtake each other, as when a point is dragged: the newest is answered
tabs      a tab that is closed in the middle of a fit: the workers are idle again within two seconds
========  ==========================================================================================================
"""

from __future__ import annotations

import faulthandler
import json
import random
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.campaign._trials import Failure, Kind, run
from maxmargin.playground import make_app
from maxmargin.playground._frames import decode
from maxmargin.playground._rooms import ROOMS
from maxmargin.playground._rooms._expressions import LEAVES, OPERATIONS
from maxmargin.playground._rooms._machines import EXACT, SCHEMES, STEPWISE, TASKS
from maxmargin.playground._rooms.loss import BINARY, MANY

HOST = "127.0.0.1:8642"
#: Seconds after which workers must be idle, and after which an answer is overdue.
IDLE, OVERDUE = 2.0, 60.0
#: Values that no request expects.
ODD: list[Any] = [None, True, -1, 0, 1, 1e308, 2**70, "", "gaussian", "\0", "x" * 5000, [], [[]], {}, [1, "a"]]


class Tab:
    """One tab, seen from the browser."""

    def __init__(self, socket: Any):
        self.socket, self.count = socket, 0

    def send(self, room: str, kind: str, body: Any) -> int:
        """Ask, without waiting for the answer; the number of the request."""
        self.count += 1
        self.socket.send_text(json.dumps({"room": room, "kind": kind, "id": self.count, "body": body}))
        return self.count

    def read(self) -> dict[str, Any]:
        """The next answer's header; an internal error is a failure."""
        header, _ = decode(self.socket.receive_bytes())
        if header.get("error", {}).get("cause") == "internal":
            raise Failure(f"an internal error: {header['error']['message']}")
        return header

    def read_until(self, number: int) -> dict[str, Any]:
        """Read on to the last answer of a request."""
        while True:
            header = self.read()
            if header.get("id") == number and header.get("last"):
                return header

    def barrier(self) -> None:
        """Wait for the answer to a request that is refused at once: all messages before it have been looked at."""
        self.read_until(self.send("nowhere", "nothing", {}))


#: What stays open from trial to trial; :func:`ended` closes it.
_open = ExitStack()


@lru_cache(maxsize=1)
def client() -> Any:
    """The application, running."""
    from starlette.testclient import TestClient

    return _open.enter_context(TestClient(make_app(workers=2), base_url=f"http://{HOST}"))


def ended() -> None:
    """Close what is open. Left to the end of the process, a socket would wait for a loop that no longer runs."""
    _open.close()
    client.cache_clear()
    lasting.cache_clear()


@contextmanager
def opened() -> Iterator[Tab]:
    """A tab, closed at the end."""
    with client().websocket_connect(f"ws://{HOST}/socket", headers={"origin": f"http://{HOST}"}) as socket:
        yield Tab(socket)


def body_of(draw: random.Random, n: int, **options: Any) -> dict[str, Any]:
    """A request of the SVM room for n points of two classes that overlap."""
    rng = np.random.default_rng(draw.getrandbits(32))
    label = rng.integers(0, 2, size=n)
    places = (rng.normal(size=(n, 2)) + label[:, None]).round(3)
    return {
        "task": "classify",
        "x": places[:, 0].tolist(),
        "y": places[:, 1].tolist(),
        "c": (label + 1).tolist(),
        "kernel": {"name": "gaussian", "gamma": 1.0},
        "C": 1.0,
        "view": [-4.0, 4.0, -3.0, 3.0],
        "columns": 12,
        "rows": 9,
        **options,
    }


def leaf_of(draw: random.Random) -> dict[str, Any]:
    """A kernel without parts."""
    name = draw.choice([*LEAVES, "laplacian", "exponential", "cosine"])
    return {"name": name, "gamma": draw.choice([1e-6, 0.1, 1.0, 1e6]), "coef0": draw.choice([0.0, 1.0, -1e3])}


def any_body(draw: random.Random) -> dict[str, Any]:
    """All that any room reads, each drawn from what it may be."""
    n, classes = draw.choice([0, 1, 2, *[8] * 6, 30]), draw.choice([2, 2, 3])
    kernel = draw.choice([leaf_of(draw), {"name": "sum", "left": leaf_of(draw), "right": leaf_of(draw)}])
    lines = "\n".join(f"{draw.random():.3f},{draw.random():.1e},{draw.choice('pq')}" for _ in range(draw.randrange(9)))
    options: dict[str, Any] = {
        "task": draw.choice(TASKS),
        "solver": draw.choice([*EXACT, *STEPWISE]),
        "multiclass": draw.choice(SCHEMES),
        "formulation": draw.choice(["C", "nu"]),
        "kernel": kernel,
        "C": draw.choice([1e-6, 1.0, 1e9, "inf"]),
        "nu": draw.choice([1e-3, 0.5, 1.0]),
        "detail": draw.choice(["coarse", "fine"]),
        "operation": draw.choice(list(OPERATIONS)),
        "left": leaf_of(draw),
        "right": leaf_of(draw),
        "weights": [draw.uniform(-9, 9) for _ in range(3 * classes)],
        "loss": draw.choice(list(MANY)),
        "binary": draw.choice(BINARY),
        "rate": draw.choice([0.0, 0.1, 1e3]),
        "steps": draw.choice([0, 1, 50]),
        "zx": draw.uniform(-4, 4),
        "zy": draw.uniform(-3, 3),
        "layers": draw.choice([[], [3], [4, 4]]),
        "epochs": draw.choice([1, 5]),
        "held": draw.choice([0, 3]),
        "text": draw.choice(["a,b,kind\n", "", "\n"]) + lines,
        "method": draw.choice(["columns", "pca", "kda"]),
    }
    body = body_of(draw, n, **options)
    body["c"] = [1 + draw.randrange(classes) for _ in range(n)]
    return body


def odd_text(draw: random.Random) -> str:
    """A message that is right, nearly right, or not at all."""
    room = draw.choice([*ROOMS] * 9 + ["nowhere"])
    kind = draw.choice([*ROOMS[room].kinds] if room in ROOMS else ["fit"])
    body = any_body(draw)
    if kind == "table":  # where x and y are names of columns
        body |= {"x": draw.choice(["a", "b", "column 1"]), "y": draw.choice(["b", "kind"])}
        body = {name: value for name, value in body.items() if name not in "xy" or draw.random() < 0.5}
    for _ in range(draw.choice([0, 0, 1, 3])):
        body[draw.choice([*body, "kernel", "C", "__class__"])] = draw.choice(ODD)
    text = json.dumps({"room": room, "kind": kind, "id": draw.choice([1] * 18 + [-1, "x"]), "body": body})
    if draw.random() < 0.2:
        at = draw.randrange(len(text))
        text = text[:at] + draw.choice(["", "{", '"', "\0", "nan", "]", "9" * 400]) + text[at + draw.randrange(30) :]
    return text


@lru_cache(maxsize=1)
def lasting() -> Tab:
    """A tab that stays open from trial to trial."""
    return _open.enter_context(opened())


def message(seed: int) -> str:
    """One message; its last answer is awaited, for the next one could supersede it before it was looked at."""
    tab = lasting()
    tab.socket.send_text(odd_text(random.Random(seed)))
    with watched():
        while not (header := tab.read()).get("last"):
            pass
    return header["error"]["cause"] if "error" in header else "done"


class watched:
    """An answer that does not come ends the campaign, with the lines at which all threads are."""

    def __enter__(self) -> None:
        faulthandler.dump_traceback_later(OVERDUE, exit=True, file=2)

    def __exit__(self, *exception: object) -> None:
        faulthandler.cancel_dump_traceback_later()


def drag(seed: int) -> str:
    """Requests faster than answers; the newest one is served."""
    draw = random.Random(seed)
    tab = lasting()
    body = body_of(draw, draw.choice([20, 60, 150]))
    number = 0
    for _ in range(draw.randrange(2, 12)):
        place = draw.randrange(len(body["x"]))
        body["x"][place] += draw.uniform(-0.2, 0.2)
        number = tab.send("svm", "fit", body)
    with watched():
        header = tab.read_until(number)
    return "refused in words" if "error" in header else "fitted"


def closed_tab(seed: int, idle: float = IDLE) -> str:
    """A tab closed in the middle of a fit leaves nothing that runs."""
    draw = random.Random(seed)
    pool = client().app.state.pool
    with opened() as tab:
        tab.barrier()
        kernel = draw.choice([{"name": "gaussian", "gamma": 0.01}, {"name": "polynomial", "degree": 5}])
        body = body_of(draw, draw.choice([300, 2000]), C=draw.choice([1.0, 1e4, 1e6]), kernel=kernel)
        tab.send("svm", draw.choice(list(ROOMS["svm"].kinds)), body)
        time.sleep(draw.uniform(0.0, 0.4))
    began = time.monotonic()
    while pool._running:
        if time.monotonic() - began > idle:
            raise Failure(f"a worker is busy {idle:.0f} s after the tab was closed")
        time.sleep(0.005)
    return "idle"


KINDS = {"messages": Kind(100_000, message), "drags": Kind(5_000, drag), "tabs": Kind(1_000, closed_tab)}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    code = run("siege", KINDS, __doc__)
    ended()
    sys.exit(code)
