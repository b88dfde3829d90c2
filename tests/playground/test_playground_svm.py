"""The SVM room: what it answers is what the library says, and the code on the page gives the same machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import maxmargin
from maxmargin import SVC, NuSVR, certify
from maxmargin.inspection import STATUSES, ZONES, status, zones
from maxmargin.kernels import Gaussian, Linear, Polynomial, Sigmoid
from maxmargin.playground._jobs import Job, Tab
from maxmargin.playground._rooms._expressions import Call
from maxmargin.playground._rooms._machines import fit, grid

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the answers say it

LINEAR, GAUSSIAN = {"name": "linear"}, {"name": "gaussian", "gamma": 1.0}


def rows(body: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    return np.column_stack([body["x"], body["y"]]), np.array(body["c"])


def cells(body: dict[str, Any]) -> np.ndarray:
    return grid(tuple(body["view"]), body["columns"], body["rows"])


def run(code: str) -> Any:
    """The model that a program on the page makes."""
    names: dict[str, Any] = {}
    exec(compile(code, "page", "exec"), names)  # the point of the code is that it can be run
    return names["model"]


# -- classification -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "kernel"),
    [
        (LINEAR, "linear"),
        (GAUSSIAN, Gaussian(gamma=1.0)),
        ({"name": "polynomial", "degree": 2, "coef0": 0.5, "gamma": 2.0}, Polynomial(2, 0.5, 2.0)),
        ({"name": "sigmoid", "gamma": 0.3, "coef0": -0.5}, Sigmoid(0.3, -0.5)),
        ({"name": "sum", "left": LINEAR, "right": GAUSSIAN}, Linear() + Gaussian(gamma=1.0)),
        (
            {"name": "product", "left": {"name": "polynomial", "degree": 2}, "right": GAUSSIAN},
            Polynomial(2) * Gaussian(gamma=1.0),
        ),
    ],
    ids=lambda value: value["name"] if isinstance(value, dict) else "",
)
def test_scores_and_statuses_are_the_librarys(page: Any, moons: Any, wanted: dict[str, Any], kernel: Any) -> None:
    body = moons(kernel=wanted, C=3.0)
    X, y = rows(body)
    model = SVC(kernel=kernel, C=3.0).fit(X, y)
    values, arrays = page.ask("fit", body)
    np.testing.assert_allclose(arrays["scores"].ravel(), model.decision_function(cells(body)), rtol=1e-4, atol=1e-4)
    found = status(model, X, y)
    assert [STATUSES[code] for code in arrays["status"]] == found.status.tolist()
    assert [ZONES[code] for code in arrays["zone"]] == zones(model, X, y).tolist()
    np.testing.assert_allclose(arrays["alpha"], found.alpha, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(arrays["slack"], found.slack, rtol=1e-4, atol=1e-4)
    assert values["certificate"]["holds"] == model.certificate_.holds
    assert values["accuracy"] == pytest.approx(model.score(X, y))
    assert values["classes"] == [1, 2]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"C": "inf", "kernel": {"name": "gaussian", "gamma": 30.0}},
        {"formulation": "nu", "nu": 0.4},
        {"solver": "dual-gradient"},
        {"solver": "pegasos", "kernel": LINEAR},
        {"solver": "pegasos"},
        {"solver": "sgd", "kernel": LINEAR, "season": 30},
        {"solver": "perceptron", "kernel": LINEAR},
        {"solver": "perceptron"},
        {"kernel": {"name": "sum", "left": LINEAR, "right": GAUSSIAN}},
        {"kernel": {"name": "sigmoid", "gamma": 0.1}},
        {"task": "one-class", "nu": 0.2},
    ],
    ids=str,
)
def test_the_code_on_the_page_gives_the_same_machine(
    page: Any, moons: Any, options: dict[str, Any], capsys: Any
) -> None:
    body = moons(**options)
    values, arrays = page.ask("fit", body)
    model = run(values["code"])
    assert capsys.readouterr().out.strip()
    np.testing.assert_allclose(arrays["scores"].ravel(), model.decision_function(cells(body)), rtol=1e-4, atol=1e-5)
    assert values["machine"] == type(model).__name__


@pytest.mark.parametrize("scheme", ["ovo", "ovr", "code", "crammer-singer", "weston-watkins"])
def test_many_classes(page: Any, blobs: Any, scheme: str) -> None:
    body = blobs(multiclass=scheme)
    values, arrays = page.ask("fit", body)
    X, y = rows(body)
    model = run(values["code"])
    assert model.multiclass == scheme
    np.testing.assert_array_equal(arrays["regions"].ravel(), model.predict(cells(body)))
    np.testing.assert_array_equal(arrays["wrong"], model.predict(X) != y)
    np.testing.assert_array_equal(np.flatnonzero(arrays["support"]), np.sort(model.support_))
    if scheme == "ovo":
        assert arrays["alpha"].shape == (60, 6)
        assert len(values["tasks"]) == 6
    assert values["unit"] == ("rounds" if scheme in ("crammer-singer", "weston-watkins") else "pairwise steps")
    found = status(model, X, y)
    assert values["tasks"] == list(found.tasks)
    np.testing.assert_allclose(arrays["alpha"], found.alpha, rtol=1e-4, atol=1e-4)
    if scheme == "crammer-singer":  # one slack, one status
        assert [STATUSES[code] for code in arrays["status"]] == found.status.tolist()
        return
    slack, free = (found.slack > 1e-3).any(axis=1), ((found.alpha > 0) & ~found.bound).any(axis=1)
    part = np.array(values["parts"])[arrays["part"]]
    assert (part[arrays["wrong"] == 1] == "misclassified").all()
    right = arrays["wrong"] == 0
    np.testing.assert_array_equal(part[right] == "with slack", slack[right])
    np.testing.assert_array_equal(part[right] == "on a margin", (free & ~slack)[right])


def test_a_scheme_without_such_a_machine_says_so_and_the_others_go_on(page: Any, blobs: Any) -> None:
    found = {
        v["scheme"]: v for v, _ in page.stream("schemes", blobs(C="inf", kernel={"name": "gaussian", "gamma": 50.0}))
    }
    assert all(found[scheme]["separable"] for scheme in ("ovo", "ovr", "code"))
    assert "finite C" in found["crammer-singer"]["message"]
    nu = {v["scheme"]: v for v, _ in page.stream("schemes", blobs(C="inf", formulation="nu", nu=0.1))}
    assert nu["ovo"]["certificate"]["holds"]  # C is not asked for
    assert not nu["weston-watkins"]["separable"]


def test_code_words_are_not_one_vs_all_again(page: Any, blobs: Any) -> None:
    found = {values["scheme"]: values for values, _ in page.stream("schemes", blobs())}
    assert (found["ovr"]["machines"], found["code"]["machines"]) == (4, 7)


def test_the_objectives_of_several_machines_are_summed(page: Any, blobs: Any, capsys: Any) -> None:
    values, _ = page.ask("fit", blobs())
    model = run(values["code"])
    assert values["certificate"]["primal"] == pytest.approx(sum(one.primal for one in model.certificates_))
    assert values["certificate"]["machines"] == 6
    assert f"dual {sum(one.dual for one in model.certificates_)}" in capsys.readouterr().out


@pytest.mark.parametrize("kernel", [LINEAR, GAUSSIAN], ids=["linear", "gaussian"])
def test_a_perceptron_has_mistakes_and_no_margin(page: Any, moons: Any, kernel: Any) -> None:
    values, arrays = page.ask("fit", moons(solver="perceptron", kernel=kernel))
    assert values["certificate"] is None
    assert values["width"] is None
    assert values["mistakes"] > 0
    assert (values["vectors"] is None) == (kernel is LINEAR)
    np.testing.assert_array_equal(np.array(values["parts"])[arrays["part"]] == "misclassified", arrays["wrong"] == 1)


def test_a_perceptron_that_separates_ends_its_animation(page: Any, moons: Any) -> None:
    apart = {"x": [-2.0, -1.8, -2.2, 2.0, 1.7, 2.1], "y": [0.1, -0.3, 0.4, 0.0, 0.5, -0.2], "c": [1, 1, 1, 2, 2, 2]}
    frames = page.stream("animate", moons(**apart, solver="perceptron", kernel=LINEAR))
    assert frames[-1][0]["steps"] < 100
    assert frames[-1][0]["accuracy"] == 1.0


def test_pegasos_in_a_feature_space_has_zones_and_dual_variables(page: Any, moons: Any) -> None:
    values, arrays = page.ask("fit", moons(solver="pegasos"))
    model, (X, y) = run(values["code"]), rows(moons())
    margin = np.where(y == 2, 1, -1) * model.decision_function(X)
    part = np.array(values["parts"])[arrays["part"]]
    np.testing.assert_array_equal(part == "misclassified", margin <= 0)
    np.testing.assert_array_equal(part == "inside the strip", (margin > 0) & (margin <= 1))
    np.testing.assert_allclose(arrays["slack"], np.maximum(0, 1 - margin), atol=1e-5)
    assert (arrays["alpha"][model.support_] > 0).all()


@pytest.mark.parametrize(
    "body",
    [
        {
            "task": "one-class",
            "nu": 0.2,
            "kernel": {"name": "linear"},
            "x": [-1.0, 1.0, -2.0, 2.0],
            "y": [0.5, -0.5, 1, -1],
        },
        {"x": [1.0] * 4, "y": [0.5] * 4, "c": [1, 2, 1, 2]},
    ],
    ids=["one class around 0", "all on one spot"],
)
def test_where_w_is_zero_no_rounding_is_drawn(page: Any, moons: Any, body: dict[str, Any]) -> None:
    values, arrays = page.ask("fit", moons(**{"c": [1, 1, 1, 1], **body}))
    assert values["constant"]
    assert np.ptp(arrays["scores"]) == 0
    assert values["certificate"]["gap"] < 1e-9


def test_a_sigmoid_that_is_no_kernel_proves_nothing(page: Any, moons: Any) -> None:
    error = page.error("fit", moons(C="inf", kernel={"name": "sigmoid", "gamma": 1.0, "coef0": 1.0}))
    assert error["cause"] == "library"
    assert "not positive semi-definite" in error["message"]


@pytest.mark.parametrize(
    "options", [{"C": 1e4, "kernel": LINEAR}, {"task": "regress", "formulation": "nu", "nu": 0.5}], ids=str
)
def test_an_animation_ends_at_the_machine(page: Any, moons: Any, options: dict[str, Any]) -> None:
    fitted, _ = page.ask("fit", moons(**options))
    for kind in ("animate", "trace"):
        last = page.stream(kind, moons(**options))[-1][0]
        found = last["certificate"] if kind == "animate" else last
        assert found["dual"] == pytest.approx(fitted["certificate"]["dual"], rel=1e-6)
        assert found["relative_gap"] < 1e-6


def test_schemes_side_by_side(page: Any, blobs: Any) -> None:
    found = page.stream("schemes", blobs())
    assert [values["scheme"] for values, _ in found] == ["ovo", "ovr", "code", "crammer-singer", "weston-watkins"]
    assert all(values["certificate"]["holds"] and arrays["regions"].shape == (15, 20) for values, arrays in found)
    assert [values["machines"] for values, _ in found][:2] == [6, 4]


def test_no_hard_margin_has_a_witness(page: Any, moons: Any) -> None:
    body = moons(C="inf", kernel=LINEAR)
    values, arrays = page.ask("fit", body)
    X, y = rows(body)
    assert values["separable"] is False
    positive, negative = arrays["positive"], arrays["negative"]
    for weights, own in ((positive, 2), (negative, 1)):
        assert weights.sum() == pytest.approx(1.0, abs=1e-5)
        assert (weights >= 0).all()
        assert (weights[y != own] == 0).all()
    np.testing.assert_allclose(positive @ X, negative @ X, atol=1e-4)
    with pytest.raises(maxmargin.NotSeparableError):
        run(values["code"])


def test_a_coarse_answer_leaves_the_words_out(page: Any, moons: Any) -> None:
    values, arrays = page.ask("fit", moons(detail="coarse"))
    assert "code" not in values
    assert "scores" in arrays
    assert values["certificate"]["holds"]


# -- regression and one class ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"epsilon": 0.3}, {"formulation": "nu", "nu": 0.3}], ids=["epsilon", "nu"])
def test_regression(page: Any, moons: Any, options: dict[str, Any]) -> None:
    body = moons(task="regress", C=2.0, columns=50, **options)
    values, arrays = page.ask("fit", body)
    model = run(values["code"])
    X, y = np.array(body["x"])[:, None], np.array(body["y"])
    np.testing.assert_allclose(arrays["curve"], model.predict(np.linspace(-4, 4, 50)[:, None]), rtol=1e-4, atol=1e-5)
    residual = np.abs(y - model.predict(X))
    outside = arrays["status"] == 3
    assert outside.any()
    assert (residual[outside] > values["tube"]).all()
    np.testing.assert_allclose(arrays["alpha"][outside], 2.0, rtol=1e-4)
    assert (residual[arrays["status"] == 0] <= values["tube"] + 1e-3).all()
    np.testing.assert_allclose(residual[arrays["status"] == 1], values["tube"], atol=5e-3)
    if isinstance(model, NuSVR):
        assert outside.mean() <= 0.3
    assert certify(model, X, y).holds


def test_one_class(page: Any, moons: Any) -> None:
    values, arrays = page.ask("fit", moons(task="one-class", nu=0.2))
    model = run(values["code"])
    assert (arrays["status"] == 3).mean() <= 0.2
    np.testing.assert_array_equal(np.flatnonzero(arrays["support"]), np.sort(model.support_))
    assert set(arrays["status"]) <= {0, 1, 2, 3}


# -- solvers at work ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"solver": "dual-gradient"},
        {"solver": "pegasos", "kernel": LINEAR},
        {"solver": "pegasos"},
        {"solver": "sgd", "kernel": LINEAR},
        {"solver": "perceptron", "kernel": LINEAR},
        {"task": "regress"},
        {"task": "one-class"},
        {"C": "inf", "kernel": {"name": "gaussian", "gamma": 30.0}},
    ],
    ids=str,
)
def test_an_animation_shows_real_moments_of_the_solver(page: Any, moons: Any, options: dict[str, Any]) -> None:
    body = moons(**options)
    frames = page.stream("animate", body)
    steps = [values["steps"] for values, _ in frames]
    assert steps[0] == 1
    assert steps == sorted(set(steps))
    assert len(frames) > 5
    if "perceptron" not in options.values():
        gaps = [values["certificate"]["relative_gap"] for values, _ in frames]
        assert gaps[-1] < 0.5 * next(gap for gap in gaps if gap is not None)  # none: infinite, as before a hard margin
    for values, arrays in (frames[0], frames[len(frames) // 2], frames[-1]):
        model = run(values["code"])
        if "curve" in arrays:
            found, expected = arrays["curve"], model.predict(np.linspace(-4, 4, 20)[:, None])
        else:
            found, expected = arrays["scores"].ravel(), model.decision_function(cells(body))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_the_gap_falls_to_the_certificate(page: Any, moons: Any) -> None:
    found = [values for values, _ in page.stream("trace", moons())]
    assert found[0]["steps"] == 1
    assert found[0]["relative_gap"] > 0.1
    assert found[-1]["relative_gap"] < 1e-9
    assert all(values["primal"] >= values["dual"] - 1e-9 and values["holds"] for values in found)
    assert page.stream("trace", moons(solver="perceptron")) == []
    assert page.stream("trace", moons(C="inf", kernel=LINEAR)) == []


# -- in time --------------------------------------------------------------------------------------------------------


class Impatient(Job):
    """A job that nobody waits for."""

    def __init__(self, rounds: int):
        super().__init__(Tab(lambda *heard: None), "fit", 1, lambda job: None)
        self.rounds = rounds

    def must_stop(self) -> bool:
        self.rounds -= 1
        return self.rounds < 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_that_nobody_waits_for_ends_with_what_it_has(moons: Any) -> None:
    X, y = rows(moons())
    call = Call("SVC", {"solver": "dual-gradient", "gap_tol": 1e-14, "C": 100.0})
    job = Impatient(rounds=3)
    model = fit(call, X, y, job).model
    assert model.fit_status_ == 1
    assert len(model.history_) <= 4
    assert model.certificate_.holds


def test_a_fit_that_takes_too_long_is_ended_and_says_so(page: Any, moons: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Job, "seconds_left", property(lambda job: 1e-6))
    values, arrays = page.ask("fit", moons(solver="dual-gradient"))
    assert values["stopped"]
    assert values["certificate"]["holds"]
    assert "scores" in arrays
    monkeypatch.undo()
    assert not page.ask("fit", moons())[0]["stopped"]


# -- tables ---------------------------------------------------------------------------------------------------------

FRUIT = "width,height,kind\n1.2,0.7,apple\n1.1,0.8,apple\n2.3,1.9,pear\n2.1,2.2,pear\n"


def test_a_table_with_names(page: Any) -> None:
    values, arrays = page.ask("table", {"text": FRUIT})
    assert (values["x"], values["y"], values["label"]) == ("width", "height", "kind")
    assert values["classes"] == ["apple", "pear"]
    assert arrays["c"].tolist() == [1, 1, 2, 2]
    assert arrays["px"].min() == -3.6
    assert arrays["py"].max() == 2.6
    assert np.argmax(arrays["px"]) == 2


@pytest.mark.parametrize("separator", [";", "\t", " "])
def test_tables_without_names_and_with_other_separators(page: Any, separator: str) -> None:
    text = "\n".join(
        separator.join(map(str, row)) for row in [(1.0, 2.0, 0), (2.0, 1.5, 1), (3.0, 0.5, 1), (0.5, 2.5, 0)]
    )
    values, arrays = page.ask("table", {"text": text})
    assert values["columns"] == ["column 1", "column 2", "column 3"]
    assert values["label"] == "column 3"
    assert arrays["c"].tolist() == [1, 2, 2, 1]


def test_numbers_may_have_commas(page: Any) -> None:
    values, arrays = page.ask("table", {"text": "\ufeffwide;high;kind\n1,5;2,5;a\n2,5;-0,5;b\n3;1,25;b\n"})
    assert values["columns"] == ["wide", "high", "kind"]
    assert values["numeric"] == ["wide", "high"]
    assert np.argsort(arrays["py"]).tolist() == [1, 2, 0]


def test_rows_that_are_not_whole_are_left_out_and_counted(page: Any) -> None:
    values, arrays = page.ask("table", {"text": FRUIT + "nan,1,apple\n1,2\n,3,pear\n# a remark\n"})
    assert len(arrays["c"]) == 4
    assert values["notes"] == ["1 row of another length left out", "2 rows with missing numbers left out"]


def test_the_most_frequent_classes_are_kept(page: Any) -> None:
    lines = ["a,b,kind", *(f"{k},{k % 7},c{min(k // 3, 10)}" for k in range(36))]
    values, arrays = page.ask("table", {"text": "\n".join(lines)})
    assert len(values["classes"]) == 9
    assert set(arrays["c"].tolist()) == set(range(1, 10))
    assert any("most frequent" in note for note in values["notes"])


@pytest.mark.parametrize("method", ["pca", "kda"])
def test_tables_are_projected(page: Any, method: str) -> None:
    from sklearn.datasets import load_iris

    iris = load_iris()
    lines = [
        "a,b,c,d,kind",
        *(",".join(map(str, row)) + f",{iris.target_names[k]}" for row, k in zip(iris.data, iris.target, strict=True)),
    ]
    values, arrays = page.ask("table", {"text": "\n".join(lines), "method": method})
    assert values["rows"] == 150
    body = {
        "task": "classify",
        "x": arrays["px"].tolist(),
        "y": arrays["py"].tolist(),
        "c": arrays["c"].tolist(),
        "kernel": GAUSSIAN,
    }
    fitted, _ = page.ask("fit", {**body, "C": 10.0, "view": [-4, 4, -3, 3], "columns": 10, "rows": 10})
    assert fitted["accuracy"] > 0.93


def test_two_classes_have_one_discriminant(page: Any) -> None:
    values, _ = page.ask("table", {"text": FRUIT, "method": "kda"})
    assert values["axes"] == ["discriminant", "principal component 1"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "text must be"),
        ({"text": "   "}, "paste a table"),
        ({"text": "a,b\nc,d\ne,f"}, "two columns of numbers"),
        ({"text": FRUIT, "x": "length"}, "x must be one of"),
        ({"text": FRUIT, "label": "sort"}, "no column 'sort'"),
        ({"text": FRUIT, "method": "tsne"}, "method must be one of"),
        ({"text": FRUIT, "method": "kda", "label": None}, "choose the column"),
        ({"text": ",".join("1" * 101)}, "100 columns"),
        ({"text": "1,2"}, "two rows"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_table_that_cannot_be_used_is_told_why(page: Any, body: dict[str, Any], words: str) -> None:
    error = page.error("table", body)
    assert error["cause"] == "request"
    assert words in error["message"]
