"""The loss, kernel and neural rooms as a person uses them, in a real browser."""
# ruff: noqa: F811  # fixtures of the browser are imported by name and then asked for by name

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from tests.playground.rooms_talk import output_of
from tests.playground.test_playground_browser import (
    PATIENCE,
    Visitor,
    address,  # noqa: F401
    axe_script,  # noqa: F401
    complaints,
    driver,  # noqa: F401
    phone,  # noqa: F401
)

pytestmark = pytest.mark.slow

ROOMS = ("loss", "kernel", "neural")


class Guest(Visitor):
    """Somebody in one of these rooms, whose planes may stand in cards."""

    def find_plane(self, number: int = 0) -> Any:
        return self.driver.find_elements(By.CSS_SELECTOR, ".stage .plane")[number]

    def data(self, name: str, number: int = 0) -> str:
        return self.find_plane(number).get_attribute(f"data-{name}") or ""

    def place(self, x: float, y: float) -> tuple[int, int]:
        self.driver.execute_script("arguments[0].scrollIntoView({ block: 'center' })", self.find_plane())
        size = self.find_plane().size
        return round(x / 8 * size["width"]), round(-y / 6 * size["height"])

    def settled(self) -> None:
        script = """
            const planes = [...document.querySelectorAll(".stage .plane:not(.small)")];
            const busy = planes.some((one) => one.dataset.shown === "training" || !one.dataset.answer);
            return busy ? String(performance.now()) : planes.map((one) => one.dataset.answer).join();
        """
        seen = [""] * 4

        def calm() -> bool:
            seen.append(self.driver.execute_script(script))
            return len(set(seen[-5:])) == 1

        WebDriverWait(self.driver, PATIENCE, 0.12).until(lambda _: calm())

    def press(self, x: float, y: float, button: str = "click") -> None:
        chain = ActionChains(self.driver, duration=20)
        chain.move_to_element_with_offset(self.find_plane(), *self.place(x, y)).click().perform()

    def picture(self, selector: str) -> np.ndarray:
        """RGBA of a canvas as (rows, columns, 4)."""
        script = """
            const canvas = document.querySelector(arguments[0]);
            const { width, height } = canvas;
            const copy = document.createElement("canvas");
            [copy.width, copy.height] = [width, height];
            const context = copy.getContext("2d", { willReadFrequently: true });
            context.drawImage(canvas, 0, 0);
            return [width, height, Array.from(context.getImageData(0, 0, width, height).data)];
        """
        width, height, bytes_ = self.driver.execute_script(script, selector)
        return np.array(bytes_, dtype=np.uint8).reshape(height, width, 4)

    def pick(self, text: str) -> None:
        """One of a choice of few."""
        self.driver.find_element(By.XPATH, f"//label[text()='{text}']").click()

    def code(self) -> str:
        return self.find(".python pre").get_attribute("textContent")

    def weights(self) -> list[str]:
        """Read at once: between two questions the page may have put others in their place."""
        script = "return [...document.querySelectorAll('.panel .numbers td b')].map((one) => one.textContent)"
        return self.driver.execute_script(script)

    def fact(self, name: str, number: int = 0) -> str:
        """What stands beside a name in the lists of facts."""
        script = """
            const names = [...document.querySelectorAll("dt")].filter((one) => one.textContent === arguments[0]);
            return names[arguments[1]]?.nextElementSibling.textContent ?? "";
        """
        return self.driver.execute_script(script, name, number)


@pytest.fixture
def guest(driver: Any, address: str) -> Iterator[Guest]:
    """Opens rooms; whatever they do, the console must stay empty."""
    driver.get_log("browser")
    yield Guest(driver, address)
    assert complaints(driver) == []


# -- all three --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_opens_with_a_guide_of_three_sentences_and_a_machine(guest: Guest, room: str) -> None:
    guest.open(f"#{room}").settled()
    assert guest.find("nav [aria-current]").get_attribute("data-room") == room
    assert guest.find(".guide").text.count(". ") == 2
    assert guest.data("shown") in ("machine", "kernel")
    assert len(np.unique(guest.picture(".stage .plane canvas").reshape(-1, 4), axis=0)) > 2


@pytest.mark.parametrize("room", ROOMS)
def test_the_code_that_is_copied_runs(guest: Guest, room: str) -> None:
    guest.open(f"#{room}").settled()
    grant = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "origin": guest.address.rstrip("/")}
    guest.driver.execute_cdp_cmd("Browser.grantPermissions", grant)
    guest.button("Copy").click()
    guest.wait(lambda: "copied" in guest.find("#toast").text)
    text = guest.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])").replace("\r\n", "\n")
    assert text == guest.code()
    words = {"loss": "accuracy", "kernel": "positive semi-definite: True", "neural": "accuracy"}
    assert words[room] in output_of(text)


def test_points_go_with_you_from_room_to_room(guest: Guest) -> None:
    guest.open("#loss").settled()
    guest.press(-3.5, -2.5)
    guest.settled()
    n = guest.count
    for room in ("kernel", "neural", "svm", "loss"):
        guest.find(f"nav [data-room={room}]").click()
        guest.wait(lambda room=room: guest.driver.find_elements(By.CSS_SELECTOR, f".room-{room} .plane[data-answer]"))
        guest.wait(lambda: guest.count == n)
        np.testing.assert_allclose(guest.points()[-1], [-3.5, -2.5], atol=0.03)


def test_a_room_is_as_it_was_left(guest: Guest) -> None:
    guest.open("#svm").settled()
    n = guest.count
    guest.choose("Kernel", "polynomial")
    guest.press(3.5, 2.5)
    guest.settled()
    guest.find("#undo").click()
    guest.wait(lambda: guest.count == n)
    for room in ("loss", "svm"):  # what was undone stays undone elsewhere
        guest.find(f"nav [data-room={room}]").click()
        guest.wait(lambda room=room: guest.driver.find_elements(By.CSS_SELECTOR, f".room-{room} .plane[data-answer]"))
        assert guest.count == n
    assert "Polynomial" in guest.code()
    guest.find("#undo").click()
    guest.wait(lambda: "Gaussian" in guest.code())


def test_points_of_a_regression_stay_in_their_room(guest: Guest) -> None:
    guest.open("#svm").settled()
    guest.pick("Regression")
    guest.settled()
    n = guest.count
    guest.find("nav [data-room=loss]").click()
    guest.wait(lambda: guest.driver.find_elements(By.CSS_SELECTOR, ".room-loss .plane[data-answer]"))
    assert guest.data("shown") == "machine"
    guest.find("nav [data-room=svm]").click()
    guest.wait(lambda: guest.driver.find_elements(By.CSS_SELECTOR, ".room-svm .plane[data-answer]"))
    assert guest.count == n
    guest.wait(lambda: "SVR(" in guest.code())


@pytest.mark.parametrize("leave", ["document.querySelector('nav [data-room=svm]').click()", "location.hash = '#svm'"])
def test_a_link_that_is_written_while_a_room_is_left_does_not_lead_back(guest: Guest, leave: str) -> None:
    guest.open("#svm").settled()
    guest.find("nav [data-room=loss]").click()
    guest.wait(lambda: guest.driver.find_elements(By.CSS_SELECTOR, ".room-loss .plane[data-answer]"))
    guest.settled()
    # the address is new, but the page has not heard yet, and writes the link to the old room into it
    written = guest.driver.execute_script(f"{leave}; document.querySelector('#share').click(); return location.hash")
    assert written.startswith("#loss/")
    guest.wait(lambda: guest.driver.find_elements(By.CSS_SELECTOR, ".room-svm .plane[data-answer]"))
    guest.wait(lambda: guest.driver.execute_script("return location.hash").startswith("#svm/"))


def test_without_points_no_number_of_theirs_is_left(guest: Guest) -> None:
    guest.open("#loss").settled()
    assert guest.fact("Total")
    guest.button("Clear").click()
    guest.wait(lambda: guest.data("shown") == "error")
    assert guest.fact("Total") == ""
    assert guest.weights() == []
    assert guest.driver.execute_script("return document.querySelectorAll('.points tbody tr').length") == 0


@pytest.mark.parametrize("room", ROOMS)
def test_points_by_mouse_and_keyboard_undo_and_redo(guest: Guest, room: str) -> None:
    guest.open(f"#{room}").settled()
    n = guest.count
    guest.press(-3.4, -2.4)
    guest.wait(lambda: guest.count == n + 1)
    guest.driver.execute_script("document.querySelector('.stage .plane').focus()")
    guest.keys("2", Keys.ARROW_UP, Keys.ENTER)
    guest.wait(lambda: guest.count == n + 2)
    assert guest.state()["points"]["c"][-2:] == "12"
    guest.find("#undo").click()
    guest.wait(lambda: guest.count == n + 1)
    guest.find("#undo").click()
    guest.wait(lambda: guest.count == n)
    guest.find("#redo").click()
    guest.wait(lambda: guest.count == n + 1)
    guest.settled()


@pytest.mark.parametrize("room", ROOMS)
def test_without_points_the_room_says_what_to_do_and_goes_on(guest: Guest, room: str) -> None:
    guest.open(f"#{room}").settled()
    guest.button("Clear").click()
    guest.wait(lambda: guest.data("shown") == "error")
    where = ".verdict" if room == "kernel" else ".hint"
    assert "click to add" in guest.find(where).text
    Select(guest.control("Data")).select_by_value("three classes")
    guest.wait(lambda: guest.data("shown") != "error")
    guest.settled()


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize(
    "state", ["rubbish", "W10", "eyJ3ZWlnaHRzIjp7IjEiOlsiYSJdfSwiYXhlcyI6NywibGVmdCI6W10sInBvaW50cyI6N30"]
)
def test_a_damaged_link_opens_the_room_all_the_same(guest: Guest, room: str, state: str) -> None:
    guest.open(f"#{room}/{state}").settled()
    assert guest.data("shown") in ("machine", "kernel")
    assert guest.count > 30


@pytest.mark.parametrize("room", ROOMS)
def test_a_link_brings_everything_back(guest: Guest, room: str) -> None:
    guest.open(f"#{room}").settled()
    label, key = {"loss": ("λ", "lam"), "kernel": ("γ", "left"), "neural": ("C, the price", "C")}[room]
    before = guest.state()[key]
    guest.control(label).send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    guest.press(3.3, 2.3)
    guest.settled()
    state = guest.state()
    assert state[key] != before
    guest.open("#" + guest.driver.current_url.partition("#")[2]).settled()
    assert guest.state() == state


@pytest.mark.parametrize("room", ROOMS)
def test_dark_is_dark_in_every_canvas(guest: Guest, room: str) -> None:
    guest.open(f"#{room}").settled()
    canvases = [".stage .plane canvas", *([".matrix canvas"] if room == "kernel" else [])]
    light = [guest.picture(one)[..., :3].mean() for one in canvases]
    guest.find("#theme").click()
    dark = [guest.picture(one)[..., :3].mean() for one in canvases]
    guest.find("#theme").click()
    assert all(after < 0.6 * before for before, after in zip(light, dark, strict=True))


@pytest.mark.parametrize("room", ROOMS)
def test_on_a_phone_nothing_sticks_out(phone: Visitor, room: str) -> None:
    small = Guest(phone.driver, phone.address)
    small.open(f"#{room}").settled()
    wide = small.driver.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1] == 390
    assert small.find_plane().size["width"] > 320
    n = small.count
    box = small.driver.execute_script(
        "arguments[0].scrollIntoView({ block: 'center' });"
        "const b = arguments[0].getBoundingClientRect(); return [b.left, b.top, b.width, b.height]",
        small.find_plane(),
    )
    spot = {"x": box[0] + 0.05 * box[2], "y": box[1] + 0.05 * box[3]}
    for kind, touches in (("touchStart", [spot]), ("touchEnd", [])):
        small.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})
    small.wait(lambda: small.count == n + 1)
    script = """return [...document.querySelectorAll('button, select, .key label')].filter((one) => one.offsetParent
        && (one.offsetHeight < 28 || one.offsetWidth < 28)).map((one) => one.textContent)"""
    assert small.driver.execute_script(script) == []
    assert complaints(small.driver) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("room", ROOMS)
def test_accessibility(guest: Guest, axe_script: str, room: str, theme: str) -> None:
    guest.open(f"#{room}")
    guest.driver.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
    guest.settled()
    guest.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": axe_script})
    found = guest.driver.execute_async_script("axe.run().then(arguments[0])")
    assert [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found["violations"]] == []


# -- losses -----------------------------------------------------------------------------------------------------------


def test_one_step_moves_the_weights_and_lowers_the_loss(guest: Guest) -> None:
    guest.open("#loss").settled()
    weights, total = guest.weights(), float(guest.fact("Total"))
    assert len(weights) == 9
    guest.button("One step").click()
    guest.wait(lambda: guest.find(".plot").get_attribute("data-steps") == "1")
    assert guest.weights() != weights
    assert float(guest.fact("Total")) < total
    assert len(guest.driver.find_elements(By.CSS_SELECTOR, ".stage tbody tr")) == guest.count == 75
    guest.find("#undo").click()
    guest.wait(lambda: guest.weights() == weights)


@pytest.mark.parametrize("loss", ["crammer-singer", "weston-watkins", "one-vs-all", "softmax"])
def test_running_goes_downhill_until_it_is_stopped(guest: Guest, loss: str) -> None:
    guest.open("#loss").settled()
    if loss != "crammer-singer":
        guest.choose("Loss of a point", loss)
    total = float(guest.fact("Total"))
    guest.button("Run").click()
    guest.wait(lambda: int(guest.find(".plot").get_attribute("data-steps")) >= 20)
    guest.button("Stop").click()
    guest.settled()
    steps = guest.find(".plot").get_attribute("data-steps")
    assert float(guest.fact("Total")) < 0.9 * total
    assert guest.find(".plot").get_attribute("data-steps") == steps
    assert loss.replace("-", "_") in guest.code()
    assert output_of(guest.code()).startswith(f"total loss {guest.fact('Total')[:4]}")


def test_randomise_and_steps_that_are_too_long(guest: Guest) -> None:
    guest.open("#loss").settled()
    weights = guest.weights()
    guest.button("Randomise").click()
    guest.wait(lambda: guest.weights() != weights)
    guest.choose("Loss of a point", "one-vs-all")
    guest.choose("of every class", "squared")
    guest.control("η").send_keys(Keys.END)
    guest.button("Run").click()
    guest.wait(lambda: "too long" in guest.find(".hint").text)
    guest.wait(lambda: guest.button("Run"))


def test_the_curves_can_be_chosen_and_have_the_margins_under_them(guest: Guest) -> None:
    guest.open("#loss").settled()
    plot = guest.driver.find_elements(By.CSS_SELECTOR, ".plot")[1]
    count = lambda: len(plot.find_elements(By.CSS_SELECTOR, "polyline"))  # noqa: E731
    guest.wait(lambda: count() == 4)
    guest.driver.find_element(By.XPATH, "//ul[@class='key']//label[contains(., 'exponential')]").click()
    guest.wait(lambda: count() == 5)
    rugs = plot.find_elements(By.CSS_SELECTOR, ".rug")
    assert [rug.get_attribute("class") for rug in rugs] == [f"rug class-{c}" for c in (1, 2, 3)]
    assert all(rug.get_attribute("d").count("M") > 5 for rug in rugs)


# -- kernels ----------------------------------------------------------------------------------------------------------


def test_the_gram_matrix_follows_the_width(guest: Guest) -> None:
    guest.open("#kernel").settled()
    guest.control("γ").send_keys(Keys.HOME)
    guest.settled()
    alike = guest.picture(".matrix canvas")[40:, 40:, :3].astype(int)
    guest.control("γ").send_keys(Keys.END)
    guest.settled()
    bare = guest.picture(".matrix canvas")[40:, 40:, :3].astype(int)
    assert (alike[..., 2] - alike[..., 0] > 60).mean() > 0.8
    assert (bare[..., 2] - bare[..., 0] > 60).mean() < 0.1
    assert "80 eigenvalues" in guest.driver.find_element(By.CSS_SELECTOR, ".plot").get_attribute("aria-label")


def test_what_is_no_kernel_has_a_witness_or_is_refused(guest: Guest) -> None:
    guest.open("#kernel").settled()
    guest.choose("Kernel A", "sigmoid")
    assert guest.data("shown") == "witness"
    assert guest.find(".panel .verdict").text.startswith("No kernel")
    assert float(guest.fact("Witness: v'Kv")) < 0
    guest.pick("Witness")
    guest.wait(lambda: "v'Kv < 0" in guest.find(".remark").text)
    pixels = guest.picture(".stage .plane canvas + canvas").reshape(-1, 4).astype(int)
    assert ((pixels[:, 0] - pixels[:, 2] > 100) & (pixels[:, 3] > 80) & (pixels[:, 1] < 80)).sum() > 50
    guest.choose("Made of it", "difference")
    assert guest.data("shown") == "error"
    assert "difference of two kernels" in guest.find(".panel .verdict").text
    guest.choose("Made of it", "sum")
    assert guest.data("shown") == "witness"
    assert "kernel = A + B" in guest.code()


def test_the_space_is_turned_by_dragging_and_by_keys(guest: Guest) -> None:
    guest.open("#kernel").settled()
    space = guest.find(".space")
    guest.wait(lambda: space.get_attribute("data-cut") == "yes")
    turn, picture = space.get_attribute("data-turn"), guest.picture(".space canvas")
    ActionChains(guest.driver, duration=20).click_and_hold(space).move_by_offset(60, 20).release().perform()
    guest.wait(lambda: space.get_attribute("data-turn") != turn)
    assert (guest.picture(".space canvas") != picture).any(axis=2).mean() > 0.02
    turn = space.get_attribute("data-turn")
    guest.driver.execute_script("arguments[0].focus()", space)
    guest.keys(Keys.ARROW_LEFT)
    guest.wait(lambda: space.get_attribute("data-turn") != turn)
    assert guest.fact("Features") == "3"
    assert guest.fact("On the right side of the cut") == "100.0 %"
    guest.control("Constant c").send_keys(Keys.ARROW_RIGHT)
    guest.wait(lambda: guest.fact("Features") == "6")
    assert space.get_attribute("data-cut") == "no"
    Select(guest.control("First axis")).select_by_value("x")
    assert guest.state()["axes"] == ["x", "x y", "y^2"]


def test_likeness_is_that_of_the_point_under_the_pointer(guest: Guest) -> None:
    guest.open("#kernel").settled()
    before = guest.find(".remark").text
    x, y = guest.points()[-1]
    ActionChains(guest.driver).move_to_element_with_offset(guest.find_plane(), *guest.place(x, y)).perform()
    guest.wait(lambda: guest.find(".remark").text != before)
    guest.pick("Flat cut")
    guest.wait(lambda: "flat cut" in guest.find(".remark").text)


# -- networks ---------------------------------------------------------------------------------------------------------


def test_another_start_is_another_network_and_the_same_machine(guest: Guest) -> None:
    guest.open("#neural").settled()
    planes = [f".plane[data-machine={kind}] canvas" for kind in ("train", "machine")]
    network, machine = (guest.picture(one) for one in planes)
    answer = guest.data("answer")
    guest.button("Another start").click()
    guest.wait(lambda: guest.data("answer") != answer)
    guest.settled()
    assert (guest.picture(planes[0]) != network).any(axis=2).mean() > 0.005
    assert (guest.picture(planes[1]) == machine).all()
    assert guest.fact("Time to fit").endswith("s")
    assert guest.fact("Right", 1).endswith("%")
    assert "Proven" in guest.driver.find_elements(By.CSS_SELECTOR, ".stage .verdict")[1].text
    assert "random_state=1" in guest.code()
    guest.pick("SVM")
    assert "SVC(" in guest.code()


def test_layers_and_held_out_points(guest: Guest) -> None:
    guest.open("#neural").settled()
    assert guest.fact("Right, held out") == "–"
    guest.pick("Hold out a third")
    guest.wait(lambda: guest.fact("Right, held out").endswith("%"))
    guest.settled()
    assert "X[~held]" in guest.code()
    guest.pick("0")
    guest.wait(lambda: guest.fact("Parameters") == "3")
    guest.settled()
    assert "hidden_layer_sizes=()" in guest.code()


def test_training_can_be_stopped_and_begun_again(guest: Guest) -> None:
    guest.open("#neural").settled()
    guest.control("Epochs").send_keys(Keys.END)
    guest.pick("3")
    guest.wait(lambda: guest.data("shown") == "training")
    guest.button("Stop").click()
    guest.wait(lambda: guest.find(".stage .verdict").text == "Stopped.")
    answer = guest.data("answer")
    guest.control("Epochs").send_keys(Keys.HOME)
    guest.wait(lambda: guest.data("answer") != answer and guest.data("shown") == "machine")
    guest.settled()
    assert "10 epochs" in guest.find(".stage .verdict").text
