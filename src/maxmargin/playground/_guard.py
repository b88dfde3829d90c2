"""Who may talk to the server: pages of its own, called by a name it knows.

A page from elsewhere that a browser happens to show could otherwise use this server (cross-site requests), or pretend
to be it (a foreign name that resolves to this computer). Every request must name a known host; a request that says
where it comes from must come from the very same host and port.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HEADERS = {
    b"content-security-policy": b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-cache",
}


class Guard:
    """ASGI middleware: refuses foreign hosts and origins and adds the headers that bind a page to its server."""

    def __init__(self, app: Any, allow_hosts: Iterable[str] = ()):
        self.app = app
        self.hosts = {host_name(name) for name in (*LOOPBACK, *allow_hosts)}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        problem = self.problem(scope["headers"])
        if problem is None:
            await self.app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": problem})  # answered with 403
        else:
            head = [(b"content-type", b"text/plain; charset=utf-8"), *HEADERS.items()]
            await send({"type": "http.response.start", "status": 403, "headers": head})
            await send({"type": "http.response.body", "body": problem.encode()})

    def problem(self, headers: Iterable[tuple[bytes, bytes]]) -> str | None:
        """Why a request is refused, or None."""
        named = [value.decode("latin-1") for name, value in headers if name == b"host"]
        if len(named) != 1 or host_name(named[0]) not in self.hosts:
            return "this server does not go by the name in the Host header; start it with --allow-host NAME to allow it"
        for origin in (value.decode("latin-1") for name, value in headers if name == b"origin"):
            parts = _split(origin)
            if parts is None or parts.scheme not in ("http", "https") or parts.netloc.lower() != named[0].lower():
                return "requests from pages of another origin are refused"
        return None


def host_name(netloc: str) -> str:
    """The host of host:port, in lower case; '' if that is not what it is."""
    parts = _split(f"//{netloc}")
    plain = parts is not None and not (parts.path or parts.query or parts.fragment or parts.username)
    return (parts.hostname or "") if parts is not None and plain else ""


def _split(address: str) -> Any:
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018  # raises where it is no number
    except ValueError:
        return None
    return parts


def _with_headers(send: Any) -> Any:
    async def sender(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message.get("headers", [])}
            extra = [(name, value) for name, value in HEADERS.items() if name not in own]
            message = {**message, "headers": [*message.get("headers", []), *extra]}
        await send(message)

    return sender
