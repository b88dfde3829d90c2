"""The rooms of the playground.

A room is a module here, which answers requests, and one of the same name under ``static/rooms``, which draws. Its
``KINDS`` maps each kind of request to a function ``(body, job) -> Answer``, or to one that yields several. To add a room,
write the two and add a line below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from maxmargin.playground._frames import Answer
from maxmargin.playground._jobs import Job
from maxmargin.playground._rooms import svm


class Room(NamedTuple):
    """A name (of the modules), a title (on the page), and who answers which kind of request."""

    name: str
    title: str
    kinds: Mapping[str, Callable[[Mapping[str, Any], Job], Answer | Iterator[Answer]]]


#: In the order of the page.
ROOMS = {room.name: room for room in (Room("svm", "Support vectors", svm.KINDS),)}
