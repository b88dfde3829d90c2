"""Reading requests: every value is checked, against what one page may ask for, and what is wrong is said."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

#: Characters of a message; 2,000 points take about 60,000, and a pasted table may take more.
MOST_CHARACTERS = 1_000_000
#: Points of a plane.
MOST_POINTS = 2_000
#: Columns and rows of a grid of scores.
FINEST_GRID = 400
#: Seconds that one piece of work may take: a fit ends with what it has, a sequence of them with the last one.
MOST_SECONDS = 4.0
#: Seconds that a picture of it may take on top.
DRAWING_SECONDS = 3.0
#: Seconds that work goes on after the same tab has asked for something newer of the same kind.
GRACE_SECONDS = 0.25
#: Answers that a tab may leave unread before it gets no more work done.
MOST_UNREAD = 8
#: Tabs at one time.
MOST_TABS = 200


#: Coordinates beyond this are no points of the plane on the screen.
FARTHEST = 1e4


class BadRequest(ValueError):
    """A request that makes no sense; the message is for the person in front of the page."""


def parsed(text: str) -> dict[str, Any]:
    """The request as an object; NaN and infinities are not JSON."""

    def refuse(name: str) -> Any:
        raise BadRequest(f"the message holds {name}, which is not JSON")

    try:
        message = json.loads(text, parse_constant=refuse)
    except (json.JSONDecodeError, RecursionError) as error:
        raise BadRequest(f"the message is not JSON: {type(error).__name__}") from None
    except ValueError as error:  # an integer of thousands of digits
        raise BadRequest(
            str(error) if isinstance(error, BadRequest) else "the message holds a number too long"
        ) from None
    if not isinstance(message, dict):
        raise BadRequest(f"a message is a JSON object, got {type(message).__name__}")
    return message


def number(body: Mapping[str, Any], name: str, low: float, high: float, default: float | None = None) -> float:
    """A finite number between two others."""
    value = body.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise BadRequest(f"{name} must be a number from {low:g} to {high:g}, got {brief(value)}")
    return float(value)


def whole(body: Mapping[str, Any], name: str, low: int, high: int, default: int | None = None) -> int:
    """A whole number between two others."""
    value = body.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise BadRequest(f"{name} must be a whole number from {low} to {high}, got {brief(value)}")
    return value


def choice(body: Mapping[str, Any], name: str, options: Sequence[str], default: str | None = None) -> str:
    """A word out of a list."""
    value = body.get(name, default)
    if not isinstance(value, str) or value not in options:
        raise BadRequest(f"{name} must be one of {', '.join(options)}; got {brief(value)}")
    return value


def part(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object inside an object."""
    value = body.get(name)
    if not isinstance(value, dict):
        raise BadRequest(f"{name} must be an object, got {brief(value)}")
    return value


def numbers(body: Mapping[str, Any], name: str, most: int = MOST_POINTS) -> np.ndarray:
    """A list of finite numbers, as float64."""
    values = body.get(name)
    if not isinstance(values, list) or len(values) > most:
        length = f"{len(values)} of them" if isinstance(values, list) else brief(values)
        raise BadRequest(f"{name} must be a list of at most {most} numbers, got {length}")
    if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in values):
        raise BadRequest(f"{name} must hold numbers only")
    if not all(abs(one) <= FARTHEST for one in values):
        raise BadRequest(f"{name} holds a number beyond {FARTHEST:g}")
    return np.array(values, dtype=np.float64)


def points(body: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """(rows of shape (n, 2), classes 1 to 9) of a request's lists x, y and c."""
    x, y, c = numbers(body, "x"), numbers(body, "y"), numbers(body, "c")
    if not len(x) == len(y) == len(c):
        raise BadRequest(f"x, y and c must be of one length, got {len(x)}, {len(y)} and {len(c)}")
    if not np.isin(c, np.arange(1, 10)).all():
        raise BadRequest("c holds a class that is not a whole number from 1 to 9")
    return np.column_stack([x, y]), c.astype(np.int64)


def view(body: Mapping[str, Any]) -> tuple[float, float, float, float]:
    """The part of the plane on the screen: left, right, bottom, top."""
    values = numbers(body, "view", 4)
    if len(values) != 4 or not (values[0] < values[1] and values[2] < values[3]):
        raise BadRequest(f"view must be [left, right, bottom, top], got {brief(values.tolist())}")
    left, right, bottom, top = map(float, values)
    return left, right, bottom, top


def brief(value: Any) -> str:
    """The value as it was sent, cut where it is long."""
    text = repr(value) if not isinstance(value, float) or math.isfinite(value) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
