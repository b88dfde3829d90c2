"""The neural room's server: networks in training beside a machine, bounded and cancellable, and code that runs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from maxmargin.playground._rooms import neural
from tests.playground.rooms_talk import Talk, clouds, output_of, talking


@pytest.fixture(scope="module")
def talk(client: Any) -> Iterator[Talk]:
    with talking(client, "neural") as open_one:
        yield open_one


def network(classes: int = 2, **more: object) -> dict:
    return {**clouds(classes), "layers": [8, 8], "activation": "tanh", "epochs": 150, "rate": 0.02, **more}


def machine(classes: int = 2, **more: object) -> dict:
    return {**clouds(classes), "kernel": {"name": "gaussian", "gamma": 0.5}, "C": 1.0, **more}


@pytest.mark.parametrize("classes", [2, 3])
def test_a_network_learns_and_is_shown_on_the_way(talk: Talk, classes: int) -> None:
    parts = talk.parts("train", network(classes))
    epochs = [values["epochs"] for values, _ in parts]
    assert epochs == sorted(set(epochs))
    values, arrays = parts[-1]
    assert values["ended"]
    assert values["epochs"] == values["wanted"] == 150
    assert len(arrays["losses"]) == 150
    assert arrays["losses"][-1] < 0.5 * arrays["losses"][0]
    assert values["accuracy"] > 0.8
    assert values["held"] is None
    assert values["milliseconds"] > 0
    outputs = 1 if classes == 2 else classes
    assert values["parameters"] == (2 + 1) * 8 + (8 + 1) * 8 + (8 + 1) * outputs
    assert ("scores" in arrays) == (classes == 2)
    assert ("regions" in arrays) == (classes == 3)


def test_a_network_without_hidden_layers_is_a_line(talk: Talk) -> None:
    _, arrays = talk.parts("train", network(layers=[]))[-1]
    p = arrays["scores"].astype(float) + 0.5
    logit = np.log(p / (1 - p))
    assert np.allclose(np.diff(logit, 2, axis=1), 0, atol=1e-2)


def test_the_machine_beside_it_is_the_library_s_and_proven(talk: Talk) -> None:
    values, arrays = talk.ask("machine", machine(3))
    assert values["separable"]
    assert values["certificate"]["holds"]
    assert values["vectors"] > 0
    assert values["accuracy"] == pytest.approx(1 - arrays["wrong"].mean())


def test_a_hard_margin_that_is_none_is_told(talk: Talk) -> None:
    values, _ = talk.ask(
        "machine",
        {**machine(kernel={"name": "linear"}, C="inf"), "x": [0, 0, 1, 1], "y": [0, 1, 0, 1], "c": [1, 2, 2, 1]},
    )
    assert not values["separable"]
    assert values["message"]


@pytest.mark.parametrize("kind", ["train", "machine"])
def test_held_out_points_are_not_seen(talk: Talk, kind: str) -> None:
    body = {**network(3, held=3), **machine(3)}
    values, arrays = talk.parts(kind, body)[-1]
    assert arrays["held"].sum() == 12
    assert values["rows"] == 24
    assert values["held"] == pytest.approx(1 - arrays["wrong"][arrays["held"] == 1].mean())
    moved = {**body, "x": [x + 5 * (i % 3 == 0) for i, x in enumerate(body["x"])]}
    again, other = talk.parts(kind, moved)[-1]
    picture = "regions" if "regions" in arrays else "scores"
    assert np.array_equal(arrays[picture], other[picture])
    assert again["accuracy"] == values["accuracy"]


def test_training_ends_when_its_time_is_over(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neural, "TRAIN_SECONDS", 0.2)
    began = time.perf_counter()
    values, _ = talk.parts("train", {**network(epochs=3000, layers=[64, 64, 64]), **clouds(3, 300)})[-1]
    assert time.perf_counter() - began < 10
    assert values["ended"]
    assert values["epochs"] < values["wanted"]
    assert f"range({values['epochs']})" in values["code"]


def test_training_can_be_cancelled(talk: Talk) -> None:
    number = talk.send("train", network(epochs=3000, layers=[64, 64, 64]))
    header, _ = talk.read()
    assert header["id"] == number
    talk.page.socket.send_text(json.dumps({"room": "neural", "kind": "train", "id": number + 1, "cancel": True}))
    talk.page.count += 1
    last = talk.send("machine", machine())
    seen = 0
    while header["id"] != last:
        header, _ = talk.read()
        seen += 1
    assert seen < 10
    later, _ = talk.ask("machine", machine())
    assert later["separable"]


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("train", {"layers": [0]}, "whole numbers of neurons"),
        ("train", {"layers": [1.5]}, "whole numbers of neurons"),
        ("train", {"layers": [8] * 9}, "at most 4 numbers"),
        ("train", {"activation": "hope"}, "activation must be one of"),
        ("train", {"epochs": 0}, "epochs must be"),
        ("train", {"rate": 0}, "rate must be"),
        ("train", {"alpha": -1}, "alpha must be"),
        ("train", {"seed": -1}, "seed must be"),
        ("train", {"view": None}, "view must be"),
        ("train", {"c": [1] * 24}, "points of two classes"),
        ("train", {"x": [0, 1, 2, 3], "y": [0, 1, 2, 3], "c": [2, 1, 1, 3], "held": 3}, "held out"),
        ("machine", {"c": [1] * 24}, "points of two classes"),
        ("machine", {"kernel": None}, "kernel must be"),
    ],
)
def test_what_makes_no_sense_is_refused(talk: Talk, kind: str, change: dict, message: str) -> None:
    cause, found = talk.refusal(kind, {**network(), **machine(), **change})
    assert cause == "request"
    assert message in found


@pytest.mark.parametrize("held", [0, 3])
def test_the_code_on_the_page_gives_the_numbers_on_the_page(talk: Talk, held: int) -> None:
    for kind in ("train", "machine"):
        values, _ = talk.parts(kind, {**network(epochs=30), **machine(), "held": held})[-1]
        found = [float(line.split()[-1]) for line in output_of(values["code"]).splitlines()]
        expected = [values["accuracy"], values["held"]] if held else [values["accuracy"]]
        assert found == pytest.approx(expected)
