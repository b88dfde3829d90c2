"""The rooms of the playground.

A room is a module here, which answers requests, and one of the same name under ``static/rooms``, which draws. Its
``KINDS`` maps each kind of request to a function ``(body, job) -> Answer``, or to one that yields several. To add a
room, write the two and add a line below.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from maxmargin.playground._jobs import Handler
from maxmargin.playground._rooms import kernel, loss, neural, svm


class Room(NamedTuple):
    """A name (of the modules), a title (on the page), and who answers which kind of request."""

    name: str
    title: str
    kinds: Mapping[str, Handler]


#: In the order of the page.
ROOMS = {
    room.name: room
    for room in (
        Room("svm", "Support vectors", svm.KINDS),
        Room("loss", "Losses", loss.KINDS),
        Room("kernel", "Kernels", kernel.KINDS),
        Room("neural", "Networks", neural.KINDS),
    )
}
