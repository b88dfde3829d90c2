"""Talking to the rooms as the page does, for tests."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
from starlette.testclient import TestClient

from maxmargin.playground import make_app
from maxmargin.playground._frames import decode

VIEW = [-4.0, 4.0, -3.0, 3.0]


class Talk:
    """One tab of a server of its own; use it as a context."""

    def __init__(self, room: str) -> None:
        self.room, self.count = room, 0
        self.client = TestClient(make_app(workers=1), base_url="http://127.0.0.1")

    def __enter__(self) -> Talk:
        self.client.__enter__()
        self.socket = self.client.websocket_connect("/socket", headers={"host": "127.0.0.1"}).__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.socket.__exit__(*error)
        self.client.__exit__(*error)

    def send(self, kind: str, body: dict[str, Any], **more: Any) -> int:
        self.count += 1
        self.socket.send_text(json.dumps({"room": self.room, "kind": kind, "id": self.count, "body": body, **more}))
        return self.count

    def read(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return decode(self.socket.receive_bytes())

    def ask(self, kind: str, body: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """(values, arrays) of an answer in one part."""
        self.send(kind, body)
        header, arrays = self.read()
        assert "error" not in header, header
        assert header["last"]
        return header["values"], arrays

    def refusal(self, kind: str, body: dict[str, Any]) -> tuple[str, str]:
        """(cause, message) of a request that is refused."""
        self.send(kind, body)
        header, _ = self.read()
        return header["error"]["cause"], header["error"]["message"]

    def parts(self, kind: str, body: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """All the parts of an answer, without the empty last one."""
        self.send(kind, body)
        found = []
        while True:
            header, arrays = self.read()
            assert "error" not in header, header
            if header["values"]:
                found.append((header["values"], arrays))
            if header["last"]:
                return found


def clouds(classes: int = 3, each: int = 12, seed: int = 0) -> dict[str, Any]:
    """A request's points: a cloud for each class, around a circle."""
    generator = np.random.default_rng(seed)
    angle = np.repeat(2 * np.pi * np.arange(classes) / classes, each)
    X = 1.5 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.5 * generator.normal(size=(classes * each, 2))
    x, y = X.round(3).T.tolist()
    return {"x": x, "y": y, "c": np.repeat(np.arange(1, classes + 1), each).tolist(), "view": VIEW}


def output_of(code: str) -> str:
    """What a program from the page prints, in a Python of its own."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout
