"""The loss room's server: gradients, steps, curves, and code that runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from maxmargin import LinearSVC
from maxmargin.losses import LOSSES
from maxmargin.playground._rooms import loss as many
from maxmargin.playground._rooms.loss import BINARY, CURVES, MANY, MOST_STEPS
from tests.playground.rooms_talk import Talk, clouds, output_of, talking

LOSSES_OF_MANY = {
    **{f"one-vs-all {name}": partial(many.one_vs_all, loss=LOSSES[name]()) for name in BINARY},
    "weston-watkins": many.weston_watkins,
    "crammer-singer": many.crammer_singer,
    "softmax": many.softmax_loss,
}
WEIGHTS = [0.4, -0.2, 0.1, -0.3, 0.5, 0.0, 0.2, 0.1, -0.4]


@pytest.fixture(scope="module")
def talk(client: Any) -> Iterator[Talk]:
    with talking(client, "loss") as open_one:
        yield open_one


def request(**more: object) -> dict:
    return {**clouds(), "weights": WEIGHTS, "loss": "crammer-singer", "lam": 0.05, "rate": 0.2, **more}


# -- the mathematics --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOSSES_OF_MANY)
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_gradients_are_those_of_finite_differences(name: str, classes: int) -> None:
    generator = np.random.default_rng(classes)
    X, label = generator.normal(size=(30, 2)), generator.integers(0, classes, 30)
    W, b, lam, h = generator.normal(size=(classes, 2)), generator.normal(size=classes), 0.3, 1e-6
    value = partial(many.risk, X, label, lam=lam, loss=LOSSES_OF_MANY[name])
    _, _, dW, db = value(W, b)
    for k in range(classes):
        for j in range(2):
            step = np.zeros_like(W)
            step[k, j] = h
            assert (value(W + step, b)[0] - value(W - step, b)[0]) / (2 * h) == pytest.approx(dW[k, j], abs=1e-6)
        step = h * np.eye(classes)[k]
        assert (value(W, b + step)[0] - value(W, b - step)[0]) / (2 * h) == pytest.approx(db[k], abs=1e-6)


@pytest.mark.parametrize("name", LOSSES_OF_MANY)
def test_at_kinks_the_gradient_is_a_subgradient(name: str) -> None:
    generator = np.random.default_rng(0)
    label = generator.integers(0, 3, 200)
    F = generator.integers(-2, 3, size=(200, 3)).astype(float)  # many scores meet their kink exactly
    losses, G = LOSSES_OF_MANY[name](F, label)
    for _ in range(20):
        other = F + generator.normal(size=F.shape)
        ahead = LOSSES_OF_MANY[name](other, label)[0]
        assert (ahead >= losses + np.sum(G * (other - F), axis=1) - 1e-9).all()


def test_the_losses_are_the_sums_of_hinges_that_their_margins_show() -> None:
    generator = np.random.default_rng(1)
    F, label, hinge = generator.normal(size=(40, 4)), generator.integers(0, 4, 40), LOSSES["hinge"]()
    for name in ("one-vs-all", "weston-watkins", "crammer-singer"):
        margins = many.margins(F, label, name)
        assert np.allclose(hinge.value(1.0, margins).sum(axis=1), MANY[name][0](F, label)[0])


def test_two_classes_of_softmax_are_the_logistic_loss() -> None:
    F, label = np.random.default_rng(2).normal(size=(20, 2)), np.arange(20) % 2
    margin = many.margins(F, label, "softmax")[:, 0]
    assert np.allclose(many.softmax_loss(F, label)[0], np.log(2) * LOSSES["logistic"]().value(1.0, margin))


@pytest.mark.parametrize("scheme", ["crammer-singer", "weston-watkins"])
def test_no_weights_have_less_risk_than_the_library_s_machine(talk: Talk, scheme: str) -> None:
    """The page's objective is the library's problem, divided by n C, with lam = 1 / (n C)."""
    body = clouds()
    X, y = np.column_stack([body["x"], body["y"]]), np.array(body["c"])
    cost = 0.5
    model = LinearSVC(C=cost, loss="hinge", multiclass=scheme, fit_intercept=True, tol=1e-7).fit(X, y)
    weights = np.column_stack([model.coef_, model.intercept_]).ravel().tolist()
    lam = 1 / (len(X) * cost)
    best, _ = talk.ask("descend", request(weights=weights, loss=scheme, lam=lam))
    assert best["total"] * len(X) * cost == pytest.approx(model.certificate_.primal, rel=1e-6)
    after, _ = talk.ask("descend", request(weights=weights, loss=scheme, lam=lam, rate=0.01, steps=50))
    assert after["total"] >= best["total"] * (1 - 1e-6)


# -- the protocol -----------------------------------------------------------------------------------------------------


def test_an_answer_holds_what_the_page_shows(talk: Talk) -> None:
    values, arrays = talk.ask("descend", request(columns=20, rows=15))
    n = len(clouds()["x"])
    assert values["classes"] == [1, 2, 3]
    assert values["total"] == pytest.approx(values["mean"] + values["penalty"])
    assert values["mean"] == pytest.approx(arrays["losses"].mean(), rel=1e-6)
    assert not values["diverged"]
    shapes = {name: array.shape for name, array in arrays.items()}
    assert shapes == {
        "regions": (15, 20), "weights": (3, 3), "gradient": (3, 3), "losses": (n,), "scores": (n, 3), "margins": (n, 1),
        "history": (1,),
    }  # fmt: skip
    assert arrays["weights"].ravel().tolist() == WEIGHTS
    assert set(np.unique(arrays["regions"])) <= {1, 2, 3}


@pytest.mark.parametrize("loss", MANY)
def test_steps_follow_the_gradient_and_lower_the_loss(talk: Talk, loss: str) -> None:
    _, before = talk.ask("descend", request(loss=loss))
    values, after = talk.ask("descend", request(loss=loss, steps=1))
    assert np.allclose(after["weights"], before["weights"] - 0.2 * before["gradient"])
    _, many_steps = talk.ask("descend", request(loss=loss, rate=0.05, steps=100))
    assert len(many_steps["history"]) == 101
    assert many_steps["history"][-1] < 0.8 * many_steps["history"][0]
    assert values["total"] == pytest.approx(after["history"][-1])


def test_classes_need_not_be_numbered_without_holes(talk: Talk) -> None:
    body = request()
    body["c"] = [{1: 2, 2: 5, 3: 9}[c] for c in body["c"]]
    values, arrays = talk.ask("descend", body)
    assert values["classes"] == [2, 5, 9]
    assert set(np.unique(arrays["regions"])) <= {2, 5, 9}


def test_a_step_that_is_too_long_is_not_made(talk: Talk) -> None:
    values, arrays = talk.ask("descend", request(loss="one-vs-all", binary="squared", rate=50.0, steps=MOST_STEPS))
    assert values["diverged"]
    assert np.abs(arrays["weights"]).max() <= 1e3
    assert np.isfinite(arrays["losses"]).all()


def test_the_curves_are_the_library_s(talk: Talk) -> None:
    values, arrays = talk.ask("curves", {"low": -2, "high": 2, "columns": 41})
    margin = arrays["margin"]
    assert list(values["curves"]) == list(CURVES)
    for name in CURVES:
        loss = LOSSES[name]()
        assert np.allclose(arrays[name], loss.value(1.0, margin.astype(float)), atol=1e-5)
        assert values["curves"][name] == {"convex": loss.convex, "smooth": loss.smooth, "bounds": loss.bounds_zero_one}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": [1, 2, 3]}, "three numbers for each of 3 classes"),
        ({"weights": [1e4] * 9}, "weights must lie within"),
        ({"weights": "many"}, "weights must be a list"),
        ({"loss": "hope"}, "loss must be one of"),
        ({"binary": "exponential"}, "binary must be one of"),
        ({"lam": -1}, "lam must be a number"),
        ({"rate": "fast"}, "rate must be a number"),
        ({"steps": 10**6}, "steps must be a whole number"),
        ({"c": [1] * 36}, "points of two classes are needed"),
        ({"x": [], "y": [], "c": []}, "points of two classes are needed"),
        ({"view": [1, 1, 1, 1]}, "view must be"),
    ],
)
def test_what_makes_no_sense_is_refused(talk: Talk, change: dict, message: str) -> None:
    cause, found = talk.refusal("descend", {**request(), **change})
    assert cause == "request"
    assert message in found


def test_curves_of_no_range_are_refused(talk: Talk) -> None:
    assert "low must be less than high" in talk.refusal("curves", {"low": 1, "high": 1})[1]


@pytest.mark.parametrize("loss", MANY)
def test_the_code_on_the_page_gives_the_numbers_on_the_page(talk: Talk, loss: str) -> None:
    binary = "squared_hinge"
    values, _ = talk.ask("descend", request(loss=loss, binary=binary))
    after, _ = talk.ask("descend", request(loss=loss, binary=binary, steps=1))
    assert "noqa" not in values["code"]
    code = values["code"] + "print(W.tolist(), b.tolist(), sep='|')\n"
    total, accuracy, weights = output_of(code).splitlines()
    assert float(total.split()[-1]) == pytest.approx(values["total"], rel=1e-12)
    assert float(accuracy.split()[-1]) == pytest.approx(values["accuracy"])
    W, b = (np.array(eval(text)) for text in weights.split("|"))
    stepped = talk.ask("descend", request(loss=loss, binary=binary, steps=1))[1]["weights"]
    assert np.allclose(np.column_stack([W, b]), stepped)
    assert after["total"] != values["total"]
