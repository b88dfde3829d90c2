"""The kernel room's server: Gram matrices, witnesses, compositions, the map, and code that runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from maxmargin.kernels import Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from maxmargin.playground._rooms._expressions import OPERATIONS
from maxmargin.playground._rooms.kernel import MOST_ROWS
from tests.playground.rooms_talk import Talk, clouds, output_of, talking

GAUSSIAN = {"name": "gaussian", "gamma": 0.7}


@pytest.fixture(scope="module")
def talk(client: Any) -> Iterator[Talk]:
    with talking(client, "kernel") as open_one:
        yield open_one


def request(**more: object) -> dict:
    return {**clouds(), "operation": "none", "left": GAUSSIAN, **more}


def rows_of(body: dict, order: np.ndarray) -> np.ndarray:
    return np.column_stack([body["x"], body["y"]])[order]


def test_the_gram_matrix_is_the_kernel_s_sorted_by_class(talk: Talk) -> None:
    body = request()
    body["c"] = body["c"][::-1]
    values, arrays = talk.ask("gram", body)
    order = arrays["order"]
    assert values["classes"] == sorted(body["c"])
    assert np.array(body["c"])[order].tolist() == values["classes"]
    assert np.allclose(arrays["gram"], Gaussian(gamma=0.7)(rows_of(body, order)), atol=1e-6)
    assert (np.diff(arrays["spectrum"]) <= 0).all()
    assert arrays["spectrum"].sum() == pytest.approx(len(order))
    assert values["psd"]
    assert values["promised"]
    leading = arrays["spectrum"][: values["leading"]].sum() / arrays["spectrum"].sum()
    assert leading >= 0.99 - 1e-9


def test_a_kernel_that_is_none_has_a_witness(talk: Talk) -> None:
    body = request(left={"name": "sigmoid", "gamma": 1.0, "coef0": -1.0})
    values, arrays = talk.ask("gram", body)
    assert not values["psd"]
    assert not values["promised"]
    K, v = Sigmoid(1.0, -1.0)(rows_of(body, arrays["order"])), arrays["witness"]
    assert v @ K @ v == pytest.approx(values["form"])
    assert values["form"] < 0
    assert values["form"] == pytest.approx(values["smallest"])


@pytest.mark.parametrize(
    ("operation", "more", "expected"),
    [
        ("sum", {"right": {"name": "linear"}}, Gaussian(gamma=0.7) + Linear()),
        ("sum", {"right": {"name": "linear"}, "weight": 0.5}, Gaussian(gamma=0.7) + 0.5 * Linear()),
        ("product", {"right": {"name": "laplacian", "gamma": 2.0}}, Gaussian(gamma=0.7) * Laplacian(gamma=2.0)),
        ("square", {}, Gaussian(gamma=0.7) ** 2),
        ("exp", {}, Gaussian(gamma=0.7).exp()),
        ("over", {}, Gaussian(gamma=1.0, over=Gaussian(gamma=0.7))),
    ],
)
def test_compositions_are_the_library_s_algebra(talk: Talk, operation: str, more: dict, expected: object) -> None:
    body = request(operation=operation, **more)
    values, arrays = talk.ask("gram", body)
    assert np.allclose(arrays["gram"], expected(rows_of(body, arrays["order"])), rtol=1e-5)
    assert values["psd"]


def test_the_library_refuses_what_is_no_kernel(talk: Talk) -> None:
    cause, message = talk.refusal("gram", request(operation="difference", right={"name": "linear"}))
    assert cause == "library"
    assert "difference of two kernels is not a kernel" in message


def test_of_many_points_some_are_taken(talk: Talk) -> None:
    values, arrays = talk.ask("gram", request(**clouds(3, 300)))
    assert (values["rows"], values["of"]) == (MOST_ROWS, 900)
    assert len(np.unique(arrays["order"])) == MOST_ROWS
    assert set(values["classes"]) == {1, 2, 3}


def test_likeness_is_the_kernel_with_one_point(talk: Talk) -> None:
    _, arrays = talk.ask("likeness", request(zx=0.5, zy=-0.25, columns=40, rows=30))
    scores = arrays["scores"]
    assert scores.shape == (30, 40)
    row, column = np.unravel_index(scores.argmax(), scores.shape)
    assert (column, row) == (22, 16)  # the cell whose centre is nearest to (0.5, -0.25) or one that is as near
    assert scores[0, 0] == pytest.approx(np.exp(-0.7 * ((-3.9 - 0.5) ** 2 + (2.9 + 0.25) ** 2)), rel=1e-4)


def test_a_kernel_that_overflows_is_refused_in_words(talk: Talk) -> None:
    body = request(operation="exp", left={"name": "polynomial", "degree": 8, "gamma": 5.0, "coef0": 1.0})
    assert "finite" in talk.refusal("gram", body)[1]
    assert "overflows" in talk.refusal("likeness", {**body, "zx": 1, "zy": 1})[1]


@pytest.mark.parametrize(
    ("constant", "names"), [(0.0, ["x^2", "x y", "y^2"]), (1.0, ["1", "x", "y", "x^2", "x y", "y^2"])]
)
def test_the_map_agrees_with_its_kernel(talk: Talk, constant: float, names: list[str]) -> None:
    body = {**clouds(2), "coef0": constant}
    values, arrays = talk.ask("features", body)
    assert values["names"] == names
    assert values["difference"] < 1e-12
    X = np.column_stack([body["x"], body["y"]])
    Phi = arrays["features"].astype(float)
    assert np.allclose(Phi @ Phi.T, Polynomial(2, constant)(X), rtol=1e-4, atol=1e-4)
    assert len(arrays["normal"]) == len(names)
    right = np.sign(Phi @ arrays["normal"] + values["offset"]) == np.where(np.array(body["c"]) == 2, 1, -1)
    assert right.mean() == pytest.approx(values["accuracy"])


def test_with_three_classes_there_is_no_plane(talk: Talk) -> None:
    _, arrays = talk.ask("features", clouds())
    assert set(arrays) == {"features"}


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("gram", {"x": [], "y": [], "c": []}, "two points at least"),
        ("gram", {"left": {"name": "guess"}}, "name must be one of"),
        ("gram", {"left": None}, "left must be an object"),
        ("gram", {"operation": "quotient"}, "operation must be one of"),
        ("gram", {"operation": "sum"}, "right must be an object"),
        ("gram", {"left": {"name": "laplacian", "gamma": -1}}, "gamma must be a number"),
        ("likeness", {"zx": 100, "zy": 0}, "zx must be a number"),
        ("features", {"x": [], "y": [], "c": []}, "needs points"),
        ("features", {"coef0": -1}, "coef0 must be a number"),
    ],
)
def test_what_makes_no_sense_is_refused(talk: Talk, kind: str, change: dict, message: str) -> None:
    cause, found = talk.refusal(kind, {**request(), **change})
    assert cause == "request"
    assert message in found


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name != "difference"])
def test_the_code_of_every_composition_runs(talk: Talk, operation: str) -> None:
    body = request(operation=operation, right={"name": "polynomial", "degree": 2}, weight=0.25)
    values, arrays = talk.ask("gram", body)
    found = output_of(values["code"] + "print(K.sum())\n")
    assert found.startswith("positive semi-definite: True")
    assert float(found.splitlines()[-1]) == pytest.approx(arrays["gram"].sum(dtype=float), rel=1e-5)


def test_the_code_shows_the_witness(talk: Talk) -> None:
    values, _ = talk.ask("gram", request(left={"name": "sigmoid", "gamma": 1.0, "coef0": -1.0}))
    found = output_of(values["code"])
    assert found.startswith("positive semi-definite: False")
    assert float(found.split()[-1]) == pytest.approx(values["form"])


@pytest.mark.parametrize("classes", [2, 3])
def test_the_code_of_the_map_runs(talk: Talk, classes: int) -> None:
    values, _ = talk.ask("features", clouds(classes))
    found = output_of(values["code"])
    assert float(found.splitlines()[0].split()[-1]) < 1e-12
    assert ("accuracy" in found) == (classes == 2)
