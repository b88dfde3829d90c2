"""The server, as browsers and as mischief see it."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from maxmargin.playground import serve
from maxmargin.playground._checks import MOST_CHARACTERS, MOST_POINTS
from maxmargin.playground._frames import decode, encode
from maxmargin.playground._guard import Guard, host_name
from maxmargin.playground._rooms import ROOMS
from maxmargin.playground._serve import STATIC
from tests.laws import examples

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the answers say it

HOST = "127.0.0.1:8642"


# -- who may talk to it ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", [HOST, "localhost:8642", "LOCALHOST", "[::1]:8642", "127.0.0.1"])
def test_a_known_host_is_served(client: TestClient, host: str) -> None:
    answer = client.get("/", headers={"host": host})
    assert answer.status_code == 200
    assert "maxmargin" in answer.text


@pytest.mark.parametrize(
    "host",
    [
        "example.com",
        "example.com:8642",
        "127.0.0.1.example.com",
        "127.0.0.2",
        "user@127.0.0.1",
        "",
        "localhost:x",
        "//",
    ],
)
@pytest.mark.parametrize("path", ["/", "/rooms.json", "/static/app.js"])
def test_a_foreign_host_is_refused(client: TestClient, host: str, path: str) -> None:
    assert client.get(path, headers={"host": host}).status_code == 403


@pytest.mark.parametrize(
    "origin",
    [
        "http://example.com",
        "null",
        "http://127.0.0.1:9999",
        "http://localhost:8642",
        "file://",
        "http://[",
        "https://x@127.0.0.1:8642",
    ],
)
def test_a_page_from_elsewhere_is_refused(client: TestClient, origin: str) -> None:
    assert client.get("/rooms.json", headers={"origin": origin}).status_code == 403
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect(f"ws://{HOST}/socket", headers={"origin": origin}),
    ):
        pass


def test_a_foreign_host_gets_no_socket(client: TestClient) -> None:
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("ws://example.com/socket"):
        pass


def test_hosts_can_be_allowed_and_two_hosts_are_none() -> None:
    guard = Guard(None, ["Lab.example:80"])
    assert guard.problem([(b"host", b"lab.example:8642"), (b"origin", b"http://lab.example:8642")]) is None
    assert guard.problem([(b"host", b"other.example")])
    assert guard.problem([(b"host", b"localhost"), (b"host", b"localhost")])
    assert guard.problem([])
    assert host_name("a/b") == host_name("a?b") == host_name("[::1") == ""


def test_the_page_is_bound_to_its_server(client: TestClient) -> None:
    headers = client.get("/static/app.js").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["/static/../_serve.py", "/static/%2e%2e/_serve.py", "/static/..%2f_serve.py", "/static/nothing.js"]
)
def test_only_the_page_is_served(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_nothing_is_loaded_from_elsewhere() -> None:
    for path in STATIC.rglob("*"):
        if path.suffix in (".html", ".js", ".css"):
            text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
            assert not re.search(r"https?://|@import|//cdn", text), path.name
            assert not re.search(r"<[^>]*\son\w+=|style=\"|\beval\(|innerHTML", text), path.name


def test_every_room_has_two_halves(client: TestClient) -> None:
    listed = client.get("/rooms.json").json()
    assert [room["name"] for room in listed] == list(ROOMS)
    for room in listed:
        assert "mount" in client.get(f"/static/rooms/{room['name']}.js").text


# -- what makes no sense --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        "",
        "{",
        "[]",
        "3",
        "null",
        "[" * 100_000,
        '{"id": ' + "9" * 5000 + "}",
        '{"room": "svm", "kind": "fit", "id": NaN, "body": {}}',
        '{"room": "svm", "kind": "fit", "id": -1, "body": {}}',
        '{"room": "svm", "kind": "fit", "id": true, "body": {}}',
        '{"room": "svm", "kind": "fit", "id": 1}',
        '{"room": "svm", "kind": "fit", "id": 1, "body": []}',
        '{"room": "svm", "kind": "__class__", "id": 1, "body": {}}',
        '{"room": ["svm"], "kind": {}, "id": 1, "body": {}}',
        '{"room": "../svm", "kind": "fit", "id": 1, "body": {}}',
        '{"id": 1}',
    ],
    ids=lambda text: text[:40],
)
def test_a_malformed_message_gets_an_error_and_the_page_goes_on(page: Any, moons: Any, message: str) -> None:
    page.socket.send_text(message)
    header, arrays = page.receive()
    assert header["error"]["cause"] == "request"
    assert arrays == {}
    values, _ = page.ask("fit", moons())
    assert values["certificate"]["holds"]


def test_a_binary_message_gets_an_error_and_the_page_goes_on(page: Any, moons: Any) -> None:
    page.socket.send_bytes(b"\0\1\2")
    assert "text" in page.receive()[0]["error"]["message"]
    page.ask("fit", moons())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": "many"}, "x must be a list"),
        ({"x": [1.0]}, "of one length"),
        ({"x": [True] * 60}, "numbers only"),
        ({"x": [1e9] * 60}, "beyond"),
        ({"c": [1.5] * 60}, "from 1 to 9"),
        ({"c": [10] * 60}, "from 1 to 9"),
        ({"c": [1] * 60}, "two classes"),
        ({"C": 0}, "C must be"),
        ({"C": -1}, "C must be"),
        ({"C": "much"}, "C must be"),
        ({"kernel": "rbf"}, "kernel must be an object"),
        ({"kernel": {"name": "eval"}}, "name must be one of"),
        ({"kernel": {"name": "gaussian", "gamma": -1}}, "gamma"),
        ({"kernel": {"name": "polynomial", "degree": 2.5}}, "degree"),
        ({"kernel": {"name": "polynomial", "coef0": -1}}, "negative"),
        ({"kernel": {"name": "sum", "left": {"name": "sum"}, "right": {}}}, "name must be one of"),
        ({"task": "magic"}, "task must be one of"),
        ({"solver": "sgd"}, "linear"),
        ({"solver": "pegasos", "C": "inf"}, "finite C"),
        ({"task": "regress", "solver": "perceptron"}, "classifiers"),
        ({"task": "regress", "C": "inf"}, "finite C"),
        ({"formulation": "nu", "nu": 0}, "nu must be"),
        ({"view": [0, 1, 2]}, "view must be"),
        ({"view": [1, 0, 0, 1]}, "view must be"),
        ({"columns": 401}, "columns"),
        ({"rows": 1}, "rows"),
        ({"columns": 10**30}, "columns"),
    ],
    ids=str,
)
def test_a_request_that_makes_no_sense_is_told_why(page: Any, moons: Any, change: dict[str, Any], words: str) -> None:
    error = page.error("fit", moons(**change))
    assert error["cause"] == "request"
    assert words in error["message"]


def test_points_and_characters_are_bounded(page: Any, moons: Any) -> None:
    assert f"at most {MOST_POINTS}" in page.error("fit", moons(x=[0.0] * (MOST_POINTS + 1)))["message"]
    page.socket.send_text(" " * (MOST_CHARACTERS + 1))
    assert "characters" in page.receive()[0]["error"]["message"]
    page.ask("fit", moons())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)
NAMES = [
    "task",
    "x",
    "y",
    "c",
    "kernel",
    "C",
    "view",
    "columns",
    "rows",
    "solver",
    "formulation",
    "nu",
    "multiclass",
    "text",
]


@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.dictionaries(st.sampled_from(NAMES), JSON, max_size=4), kind=st.sampled_from(sorted(ROOMS["svm"].kinds))
)
def test_no_request_breaks_the_server(page: Any, moons: Any, changes: dict[str, Any], kind: str) -> None:
    number = page.send(kind, moons(**changes))
    while True:
        header, _ = page.receive()
        assert header["id"] == number
        assert header.get("error", {}).get("cause") != "internal"
        if header["last"]:
            return


@examples(100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(message=JSON)
def test_no_message_breaks_the_server(page: Any, message: Any) -> None:
    page.socket.send_text(json.dumps(message))
    assert page.receive()[0]["error"]["cause"] == "request"


# -- frames ---------------------------------------------------------------------------------------------------------


def test_frames_bring_back_what_was_sent_and_lie_on_words() -> None:
    arrays = {
        "a": np.arange(5, dtype=np.uint8),
        "b": np.ones((2, 3), np.float32),
        "c": np.zeros(0),
        "d": np.arange(4, dtype=np.int32),
    }
    frame = encode({"id": 3, "values": {"x": np.float64(np.inf), "y": [1, np.nan], "z": np.arange(2)}}, arrays)
    header, found = decode(frame)
    assert header == {"id": 3, "values": {"x": None, "y": [1, None], "z": [0, 1]}}
    assert all((found[name] == array).all() and found[name].shape == array.shape for name, array in arrays.items())
    length = int.from_bytes(frame[:4], "little")
    assert (4 + length) % 8 == 0
    with pytest.raises(TypeError, match="a frame takes"):
        encode({}, {"words": np.array(["a"])})


# -- many of them ---------------------------------------------------------------------------------------------------


def test_fifty_tabs_are_all_answered(opened: Callable[[], Any], moons: Any) -> None:
    from contextlib import ExitStack

    with ExitStack() as stack:
        pages = [stack.enter_context(opened()) for _ in range(50)]
        greedy = pages[0].send("animate", moons(solver="dual-gradient"))
        numbers = [page.send("fit", moons(C=1.0 + k)) for k, page in enumerate(pages)]
        for page, number in zip(pages[1:], numbers[1:], strict=True):
            header, arrays = page.receive()
            assert header["id"] == number
            assert arrays["scores"].shape == (15, 20)
        seen = {pages[0].receive()[0]["id"] for _ in range(5)}
        assert seen <= {greedy, numbers[0]}


def test_newer_requests_overtake_older_ones(page: Any, moons: Any) -> None:
    numbers = [page.send("fit", moons(C=1.0 + k)) for k in range(200)]
    answered = []
    while not answered or answered[-1] != numbers[-1]:
        answered.append(page.receive()[0]["id"])
    assert answered == sorted(answered)
    assert len(answered) < len(numbers)


# -- starting and stopping ------------------------------------------------------------------------------------------


def test_a_port_in_use_is_said_plainly() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(SystemExit, match="cannot listen on"):
            serve(port=taken.getsockname()[1], open_browser=False)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ModuleNotFoundError, match=r"maxmargin\[playground\]"):
        serve(open_browser=False)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no Ctrl-C for one process there")
def test_ctrl_c_stops_it_while_a_tab_is_being_served(moons: Any) -> None:
    from websockets.sync.client import connect

    command = [sys.executable, "-m", "maxmargin", "playground", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            found = re.search(r"http://(127\.0\.0\.1:\d+)/", line)
            assert found, line
            with connect(f"ws://{found[1]}/socket", origin=f"http://{found[1]}", open_timeout=60, proxy=None) as tab:
                tab.send(json.dumps({"room": "svm", "kind": "animate", "id": 1, "body": moons(solver="dual-gradient")}))
                assert decode(tab.recv(timeout=120))[0]["id"] == 1
                server.send_signal(signal.SIGINT)
                output, errors = server.communicate(timeout=60)
        finally:
            server.kill()
    assert server.returncode == 0
    assert "playground stopped" in output
    assert "Traceback" not in errors
