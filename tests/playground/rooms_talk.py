"""Talking to the rooms as the page does, for tests."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

import numpy as np

from tests.playground.conftest import HOST, Page

VIEW = [-4.0, 4.0, -3.0, 3.0]


class Talk:
    """A tab that is in one room."""

    def __init__(self, page: Page, room: str) -> None:
        self.page, self.room = page, room

    def send(self, kind: str, body: dict[str, Any]) -> int:
        return self.page.send(kind, body, self.room)

    def read(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.page.receive()

    def ask(self, kind: str, body: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """(values, arrays) of an answer in one part."""
        return self.page.ask(kind, body, self.room)

    def parts(self, kind: str, body: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """All the parts of an answer."""
        return self.page.stream(kind, body, self.room)

    def refusal(self, kind: str, body: dict[str, Any]) -> tuple[str, str]:
        """(cause, message) of a request that is refused."""
        error = self.page.error(kind, body, self.room)
        return error["cause"], error["message"]


@contextmanager
def talking(client: Any, room: str) -> Iterator[Talk]:
    """A tab in a room of the running application."""
    with client.websocket_connect(f"ws://{HOST}/socket", headers={"origin": f"http://{HOST}"}) as socket:
        yield Talk(Page(socket), room)


def clouds(classes: int = 3, each: int = 12, seed: int = 0) -> dict[str, Any]:
    """A request's points: a cloud for each class, around a circle."""
    generator = np.random.default_rng(seed)
    angle = np.repeat(2 * np.pi * np.arange(classes) / classes, each)
    X = 1.5 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.5 * generator.normal(size=(classes * each, 2))
    x, y = X.round(3).T.tolist()
    return {"x": x, "y": y, "c": np.repeat(np.arange(1, classes + 1), each).tolist(), "view": VIEW}


def output_of(code: str) -> str:
    """What a program from the page prints; it finds no names but its own."""
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "page", "exec"), {"__name__": "__main__"})
    return printed.getvalue()
