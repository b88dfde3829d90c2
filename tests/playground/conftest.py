"""A server in this process, and what a page would send to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons
from starlette.testclient import TestClient

from maxmargin.playground import make_app
from maxmargin.playground._frames import decode

HOST = "127.0.0.1:8642"


class Page:
    """One tab, seen from the browser."""

    def __init__(self, socket: Any):
        self.socket, self.count = socket, 0

    def send(self, kind: str, body: Any, room: str = "svm") -> int:
        """Ask, without waiting for the answer."""
        self.count += 1
        self.socket.send_text(json.dumps({"room": room, "kind": kind, "id": self.count, "body": body}))
        return self.count

    def receive(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The next answer: (header, arrays)."""
        return decode(self.socket.receive_bytes())

    def ask(self, kind: str, body: Any, room: str = "svm") -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """(values, arrays) of the only answer; an error of the server is an error of the test."""
        self.send(kind, body, room)
        header, arrays = self.receive()
        assert "error" not in header, header["error"]
        assert header["last"]
        return header["values"], arrays

    def stream(self, kind: str, body: Any, room: str = "svm") -> list[tuple[dict[str, Any], dict[str, np.ndarray]]]:
        """All answers that say something."""
        self.send(kind, body, room)
        found = []
        while True:
            header, arrays = self.receive()
            assert "error" not in header, header["error"]
            if header["values"]:
                found.append((header["values"], arrays))
            if header["last"]:
                return found

    def error(self, kind: str, body: Any, room: str = "svm") -> dict[str, str]:
        """The error that a request is answered with."""
        self.send(kind, body, room)
        return self.receive()[0]["error"]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """The application, running."""
    with TestClient(make_app(workers=2), base_url=f"http://{HOST}") as running:
        yield running


@pytest.fixture
def opened(client: TestClient) -> Callable[[], Any]:
    """Opens another tab; use it with ``with``."""

    @contextmanager
    def tab() -> Iterator[Page]:
        with client.websocket_connect(f"ws://{HOST}/socket", headers={"origin": f"http://{HOST}"}) as socket:
            yield Page(socket)

    return tab


@pytest.fixture
def page(opened: Callable[[], Any]) -> Iterator[Page]:
    """One tab."""
    with opened() as one:
        yield one


def body_of(X: np.ndarray, label: Any, **options: Any) -> dict[str, Any]:
    """A request of the SVM room for these points."""
    X = np.round(X, 3)
    return {
        "task": "classify",
        "x": X[:, 0].tolist(),
        "y": X[:, 1].tolist(),
        "c": np.asarray(label).tolist(),
        "kernel": {"name": "gaussian", "gamma": 1.0},
        "C": 1.0,
        "view": [-4.0, 4.0, -3.0, 3.0],
        "columns": 20,
        "rows": 15,
        **options,
    }


@pytest.fixture
def moons() -> Callable[..., dict[str, Any]]:
    """Requests for 60 points of two classes."""
    X, y = make_moons(60, noise=0.25, random_state=0)
    return lambda **options: body_of(X, y + 1, **options)


@pytest.fixture
def blobs() -> Callable[..., dict[str, Any]]:
    """Requests for 60 points of four classes."""
    X, y = make_blobs(60, centers=4, cluster_std=0.6, center_box=(-2.5, 2.5), random_state=3)
    return lambda **options: body_of(X, y + 1, **options)
