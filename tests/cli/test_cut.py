"""Very unequal classes: what is scored, the weights that are tried, and the cut between two classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from maxmargin import SVC, io
from maxmargin.cli._cut import Price, cuts_of
from tests.cli.test_train_command import namespace

PLAIN = ("--kernel", "linear", "--C", "0.1", "--no-code")


@pytest.fixture
def frauds(tmp_path: Path) -> Path:
    """A table with 5 % of a class that can be told apart, but not well."""
    draw = np.random.default_rng(2)
    y = np.arange(500) % 20 == 0
    X = draw.normal(size=(500, 2)) + 1.5 * y[:, None]
    lines = [f"{a:.3f},{b:.3f},{'fraud' if bad else 'sound'}" for (a, b), bad in zip(X, y, strict=True)]
    path = tmp_path / "frauds.csv"
    path.write_text("a,b,kind\n" + "\n".join(lines) + "\n")
    return path


def found(told: dict) -> float:
    """Share of the frauds among the test rows that are found; fraud is the first class."""
    line = told["confusion"][told["labels"].index("fraud")]
    return line[0] / sum(line)


def test_imbalance_is_acted_upon(run, frauds: Path) -> None:
    told = run("train", frauds.name, "--json", "--kernel", "linear", "--report", "page.html").document
    chosen = {choice["name"]: choice for choice in told["choices"]}
    assert chosen["scoring"]["value"] == "balanced_accuracy"
    assert "none" in chosen["class weight"]["why"]
    assert "balanced" in chosen["class weight"]["why"]
    assert chosen["cut"]["option"] == "--threshold, --cost"
    assert found(told) >= 0.6
    assert told["verdict"]["kind"] == "better"
    page = (frauds.parent / "page.html").read_text(encoding="utf-8")
    for words in ("<h3>Thresholds</h3>", "false alarms", "(chosen)"):
        assert words in page
    made = namespace(told["code"])
    saved = io.load("frauds.mm")
    np.testing.assert_array_equal(saved.predict(made["X"]), made["model"].predict(made["X"]))
    assert saved[-1].threshold == made["model"][-1].threshold == told["cuts"]["thresholds"][told["cuts"]["chosen"]]
    assert "cut" in run("inspect", "frauds.mm").text
    assert run("certify", "frauds.mm", frauds.name).code == 0


def test_missing_a_row_may_cost_more(run, frauds: Path) -> None:
    cheap, dear = (run("train", frauds.name, "--json", *PLAIN, "--cost", cost).document for cost in ("1:1", "100:1"))
    assert found(dear) >= found(cheap)
    more, fewer = (told["cuts"]["found"][told["cuts"]["chosen"]] for told in (dear, cheap))
    assert more > fewer
    assert dear["metrics"]["cost per row"] < 100 * 0.05  # cheaper than to miss all
    assert "cost per row" in dear["verdict"]["sentence"]


def test_a_threshold_may_be_given(run, frauds: Path) -> None:
    told = run("train", frauds.name, "--json", *PLAIN, "--threshold", "0.25").document
    whole = io.load("frauds.mm")
    X = io.read_table(frauds).rows(["a", "b"])
    np.testing.assert_array_equal(whole.predict(X) == "sound", whole.decision_function(X) >= 0.25)
    own = whole[-1].estimator_.predict(whole[:-1].transform(X))  # the machine's own answers stay its own
    np.testing.assert_array_equal(own, whole.classes_[whole.predict_proba(X).argmax(axis=1)])
    assert (own != whole.predict(X)).any()
    assert told["cuts"]["thresholds"][told["cuts"]["chosen"]] == 0.25
    run("predict", "frauds.mm", frauds.name, "--out", "answers.csv")
    answers = [line.split(",")[0] for line in Path("answers.csv").read_text().splitlines()[1:]]
    assert answers == whole.predict(X).tolist()


def test_even_classes_keep_the_machine_s_own_cut(run, tmp_path: Path) -> None:
    told = run("train", "breast_cancer", "--json", *PLAIN).document
    assert told["cuts"] is None
    assert not {"cut", "scoring", "class weight"} & {choice["name"] for choice in told["choices"]}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--cost", "ten"), "two numbers above 0"),
        (("--cost", "0:1"), "two numbers above 0"),
        (("--cost", "2:1", "--threshold", "0.5"), "leave one of them out"),
        (("--threshold", "nan"), "finite"),
    ],
)
def test_costs_that_make_no_sense(run, frauds: Path, options: tuple[str, ...], says: str) -> None:
    shown = run("train", frauds.name, *options)
    assert shown.code == 2
    assert says in shown.text


def test_only_two_classes_can_be_cut(run, flowers: Path) -> None:
    shown = run("train", flowers.name, "--threshold", "0.5")
    assert shown.code == 2
    assert "two classes" in shown.text


@pytest.mark.parametrize("first", [True, False])
def test_the_cheapest_cut_is_the_cheapest(first: bool) -> None:
    draw = np.random.default_rng(0)
    y = np.where(draw.random(300) < 0.2, "a" if first else "z", "m")
    scores = draw.normal(size=300) + (y != "m") * (-1.0 if first else 1.0)
    price = Price(7.0, 2.0)
    cuts = cuts_of(scores, y, price, None, True)
    rare = y != "m"

    def cost(cut: float) -> float:
        said = (scores < cut) if first else (scores >= cut)
        return 7.0 * np.count_nonzero(rare & ~said) + 2.0 * np.count_nonzero(~rare & said)

    every = [cost(cut) for cut in np.concatenate([[-9.0, 9.0], scores, scores + 1e-9])]
    assert cuts.costs[cuts.chosen] == min(every)
    assert [cost(cut) for cut in cuts.thresholds] == cuts.costs.tolist()


@pytest.mark.parametrize("how", ["decision_function", "predict_proba"])
@pytest.mark.parametrize("positive", [None, "sound", "fraud"])
def test_the_cut_is_in_the_file_and_in_onnx(tmp_path: Path, how: str, positive: str | None) -> None:
    from sklearn.model_selection import FixedThresholdClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    runtime = pytest.importorskip("onnxruntime", reason="ONNX models run there")
    draw = np.random.default_rng(3)
    y = np.where(draw.random(120) < 0.3, "fraud", "sound")
    X = draw.normal(size=(120, 2)) + (y == "fraud")[:, None]
    machine = SVC(calibration="sigmoid", random_state=0)
    cut = FixedThresholdClassifier(machine, threshold=0.3, response_method=how, pos_label=positive)
    model = make_pipeline(StandardScaler(), cut).fit(X, y)
    io.save(model, tmp_path / "cut.mm")
    back = io.load(tmp_path / "cut.mm")
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    assert (back.predict(X) != back[-1].estimator_.predict(back[:-1].transform(X))).any()
    io.export_onnx(model, tmp_path / "cut.onnx")
    label = runtime.InferenceSession(tmp_path / "cut.onnx").run(["label"], {"X": X})[0]
    np.testing.assert_array_equal(label, model.predict(X))
