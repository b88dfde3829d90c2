"""The server: static files, one WebSocket per tab, and how it starts and stops."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import threading
import warnings
import webbrowser
from collections.abc import AsyncIterator, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from maxmargin.playground._checks import MOST_CHARACTERS, MOST_TABS, BadRequest, parsed, whole
from maxmargin.playground._frames import Answer, encode
from maxmargin.playground._guard import Guard
from maxmargin.playground._jobs import Job, Pool, Tab, describe

STATIC = Path(__file__).parent / "static"
#: Where the page is unless told otherwise.
PORT = 8642
#: Request numbers a page can count to.
MOST_REQUESTS = 2**53
#: Seconds that a WebSocket and the workers are given to end.
STOP_SECONDS = 3

log = logging.getLogger("maxmargin.playground")


def serve(
    host: str = "127.0.0.1", port: int = PORT, open_browser: bool = True, allow_hosts: Iterable[str] = ()
) -> None:
    """Serve the playground until Ctrl-C.

    Parameters
    ----------
    host : str, default='127.0.0.1'
        Address to listen on; the default is reached from this computer only.
    port : int, default=8642
        Port to listen on; 0 takes a free one.
    open_browser : bool, default=True
        Whether to open the page in the browser.
    allow_hosts : iterable of str, default=()
        Names, besides those of the loopback interface and ``host``, by which browsers may call this server.
    """
    uvicorn = _needed("uvicorn")
    _needed("starlette.applications")
    _needed("websockets")
    allowed = [*allow_hosts] if host in ("0.0.0.0", "::", "") else [*allow_hosts, host]
    listener = _listener(host, port)
    address = f"http://{_named(host)}:{listener.getsockname()[1]}/"
    config = uvicorn.Config(
        make_app(allowed),
        log_level="warning",
        ws="websockets-sansio",
        ws_max_size=4 * MOST_CHARACTERS,  # a character takes up to four bytes
        ws_max_queue=8,
        ws_per_message_deflate=False,  # the way is short: packing grids would take longer than sending them
        timeout_graceful_shutdown=STOP_SECONDS,
        lifespan="on",
    )
    threading.Thread(target=_warm_up, daemon=True).start()
    print(f"playground on {address} (Ctrl-C stops it)", flush=True)
    if open_browser:
        threading.Timer(0.6, webbrowser.open, [address]).start()
    with contextlib.suppress(KeyboardInterrupt), listener:
        uvicorn.Server(config).run(sockets=[listener])
    print("playground stopped", flush=True)


def make_app(allow_hosts: Iterable[str] = (), workers: int | None = None) -> Any:
    """The ASGI application; ``workers`` threads compute (default: one per core, two at least)."""
    _needed("starlette.applications")
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.responses import FileResponse, JSONResponse
    from starlette.routing import Mount, Route, WebSocketRoute
    from starlette.staticfiles import StaticFiles

    from maxmargin.playground._rooms import ROOMS

    async def page(request: Any) -> Any:
        return FileResponse(STATIC / "index.html")

    async def rooms(request: Any) -> Any:
        return JSONResponse([{"name": room.name, "title": room.title} for room in ROOMS.values()])

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        from sklearn.exceptions import ConvergenceWarning

        warnings.simplefilter("ignore", ConvergenceWarning)  # a page says itself what a fit did not reach
        app.state.pool, app.state.tabs = Pool(workers or max(2, os.cpu_count() or 2)), 0
        try:
            yield
        finally:
            await asyncio.to_thread(app.state.pool.close, STOP_SECONDS)

    return Starlette(
        routes=[
            Route("/", page),
            Route("/rooms.json", rooms),
            WebSocketRoute("/socket", partial(_talk)),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(Guard, allow_hosts=tuple(allow_hosts))],
        lifespan=lifespan,
    )


# -- one tab ------------------------------------------------------------------------------------------------------


async def _talk(ws: Any) -> None:
    """Read the tab's requests until it closes."""
    state = ws.app.state
    await ws.accept()
    if state.tabs >= MOST_TABS:
        await ws.close(1013, f"{MOST_TABS} tabs are open already")
        return
    state.tabs += 1
    outbox: asyncio.Queue[bytes] = asyncio.Queue()
    loop, tab = asyncio.get_running_loop(), None

    def send(job: Job, answer: Answer | Exception, last: bool) -> None:
        frame = _frame(job.lane, job.number, answer, last)
        with contextlib.suppress(RuntimeError):  # the server has stopped meanwhile
            loop.call_soon_threadsafe(outbox.put_nowait, frame)

    tab = Tab(send)
    writer = asyncio.create_task(_write(ws, outbox, state.pool, tab))
    try:
        while (message := await ws.receive())["type"] != "websocket.disconnect":
            problem = _accept(message, state.pool, tab)
            if problem is not None:
                await _say(ws, problem)
    finally:
        state.tabs -= 1
        state.pool.leave(tab)
        writer.cancel()


async def _write(ws: Any, outbox: asyncio.Queue[bytes], pool: Pool, tab: Tab) -> None:
    """Send what the workers have answered; a tab that has gone is noticed by its reader."""
    while True:
        frame = await outbox.get()
        await _say(ws, frame)
        pool.read(tab)


async def _say(ws: Any, frame: bytes) -> None:
    """Send; that nobody is listening is noticed later."""
    with contextlib.suppress(RuntimeError, OSError):
        await ws.send_bytes(frame)


def _accept(message: dict[str, Any], pool: Pool, tab: Tab) -> bytes | None:
    """Queue a request; the answer at once, if it cannot be queued."""
    from maxmargin.playground._rooms import ROOMS

    lane, number = "", 0
    try:
        text = message.get("text")
        if text is None:
            raise BadRequest("requests are text, got a binary message")
        if len(text) > MOST_CHARACTERS:
            raise BadRequest(f"a message may have {MOST_CHARACTERS:,} characters, got {len(text):,}")
        request = parsed(text)
        number = whole(request, "id", 0, MOST_REQUESTS)
        room, kind = request.get("room"), request.get("kind")
        if not isinstance(room, str) or not isinstance(kind, str) or room not in ROOMS or kind not in ROOMS[room].kinds:
            raise BadRequest(f"there is no request {kind!r:.60} of a room {room!r:.60}")
        lane, body = f"{room}/{kind}", request.get("body")
        if request.get("cancel") is True:
            pool.cancel(tab, lane)
            return None
        if not isinstance(body, dict):
            raise BadRequest(f"body must be an object, got {type(body).__name__}")
        pool.submit(Job(tab, lane, number, partial(ROOMS[room].kinds[kind], body)))
    except BadRequest as error:
        return _frame(lane, number, error, True)
    return None


def _frame(lane: str, number: int, answer: Answer | Exception, last: bool) -> bytes:
    room, _, kind = lane.partition("/")
    header: dict[str, Any] = {"room": room, "kind": kind, "id": number, "last": last}
    if isinstance(answer, Exception):
        cause, sentence = describe(answer)
        return encode({**header, "error": {"cause": cause, "message": sentence}}, {})
    return encode({**header, "values": answer.values}, answer.arrays)


# -- starting -----------------------------------------------------------------------------------------------------


def _warm_up() -> None:
    """Load what the first fit needs, while the browser opens."""
    from maxmargin import SVC
    from maxmargin.inspection import status

    X, y = [[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]], [1, 1, 2, 2]
    model = SVC(n_jobs=1).fit(X, y)
    model.decision_function(X)
    status(model, X, y)


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    if os.name != "nt":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)  # before the address is told: whoever comes early waits
    except (OSError, OverflowError) as error:
        listener.close()
        raise SystemExit(f"cannot listen on {host}:{port}: {error}; another --port may be free, 0 takes any") from None
    return listener


def _named(host: str) -> str:
    """The address as a browser on this computer writes it."""
    if host in ("0.0.0.0", "::", ""):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _needed(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f'the playground needs {name.partition(".")[0]}: pip install "maxmargin[playground]"'
        ) from error
