"""``maxmargin train``: what it chooses, prints and saves, and that its code gives the same model."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from maxmargin import io

QUICK = ("--kernel", "linear")


def namespace(code: str) -> dict:
    """What the printed script leaves behind."""
    found: dict = {}
    exec(compile(code, "reproduction", "exec"), found)
    return found


def test_a_messy_table(run, people: Path, tmp_path: Path) -> None:
    found = run("train", people.name, "--json", *QUICK, "--out", "people.mm", "--report", "people.html")
    assert found.code == 0, found.err
    told = found.document
    assert told["target"] == "buys"
    assert told["task"] == "two classes"
    kinds = {column["name"]: column["kind"] for column in told["columns"]}
    assert [name for name, kind in kinds.items() if kind == "left out"] == ["id", "note", "constant", "empty"]
    assert (kinds["age"], kinds["town"]) == ("number", "category")
    assert {notice["kind"] for notice in told["notices"]} >= {"missing", "constant", "unscaled"}
    assert told["metrics"]["accuracy"] > told["baseline"]["accuracy"]
    low, high = told["intervals"]["accuracy"]
    assert low < told["metrics"]["accuracy"] < high
    assert np.sum(told["confusion"]) == told["rows"]["test"] == 48
    assert told["proof"]["holds"]
    assert told["proof"]["relative_gap"] < 1e-4
    assert "<html" in (tmp_path / "people.html").read_text(encoding="utf-8").lower()


def test_the_printed_code_gives_the_same_model(run, people: Path) -> None:
    told = run("train", people.name, "--json", "--kernel", "rbf", "--no-tune", "--calibration", "sigmoid").document
    made = namespace(told["code"])
    saved = io.load("people.mm")
    np.testing.assert_array_equal(saved.predict(made["X"]), made["model"].predict(made["X"]))
    np.testing.assert_array_equal(saved.decision_function(made["X"]), made["model"].decision_function(made["X"]))
    record = io.load_record("people.mm")
    np.testing.assert_array_equal(record["train_rows"], made["train"])


@pytest.mark.parametrize("name", ["digits", "iris", "breast_cancer", "wine", "diabetes"])
def test_built_in_sets_and_their_code(run, name: str) -> None:
    told = run("train", name, "--json", "--no-tune").document
    made = namespace(told["code"])
    saved = io.load(f"{name}.mm")
    np.testing.assert_array_equal(saved.predict(made["X"]), made["model"].predict(made["X"]))
    best = "R2" if name == "diabetes" else "accuracy"
    assert told["metrics"][best] > told["baseline"][best]
    assert np.isclose(told["metrics"][best], made["model"].score(made["X"][made["test"]], made["y"][made["test"]]))


def test_copies_stay_together_and_the_code_knows(run, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(60, 3)).round(2)
    rows = np.vstack([rows, rows[:30], rows[:30]])
    lines = [",".join((*map(str, row), "ab"[int(row[0] > 0)])) for row in rows]
    (tmp_path / "copies.csv").write_text("x,y,z,kind\n" + "\n".join(lines) + "\n")
    told = run("train", "copies.csv", "--json", *QUICK, "--target", "kind").document
    assert any(notice["kind"] == "duplicates" for notice in told["notices"])
    record = io.load_record("copies.mm")
    seen = {tuple(rows[row]) for row in record["train_rows"]}
    assert not seen & {tuple(rows[row]) for row in record["test_rows"]}
    made = namespace(told["code"])
    np.testing.assert_array_equal(made["train"], record["train_rows"])


def test_the_record_remembers(run, flowers: Path) -> None:
    assert run("train", flowers.name, *QUICK, "--no-tune").code == 0
    record = io.load_record("flowers.mm")
    assert record["sha256"] == hashlib.sha256(flowers.read_bytes()).hexdigest()
    assert (record["data"], record["target"], record["task"]) == ("flowers.csv", "species", "many classes")
    assert len(record["train_rows"]) == 120
    assert set(record["train_rows"]) | set(record["test_rows"]) == set(range(150))
    assert record["versions"]["maxmargin"]


def test_every_choice_is_printed_with_its_reason_and_option(run, flowers: Path) -> None:
    shown = run("train", flowers.name, "--no-tune")
    for what in ("species: it is the last one [--target]", "many classes: species is text", "[--test-size, --seed]"):
        assert what in shown.text
    assert "rbf: nothing is tuned" in shown.text
    assert "from maxmargin import SVC" in shown.out
    assert "proven optimal" in shown.text
    assert shown.out.rstrip().splitlines()[-1].endswith("flowers.mm")


def test_linear_and_kernel_are_compared_by_score(run, tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(160, 2))
    inside = (rows**2).sum(axis=1) < 1.2
    lines = [f"{a:.4f},{b:.4f},{'in' if i else 'out'}" for (a, b), i in zip(rows, inside, strict=True)]
    (tmp_path / "ring.csv").write_text("a,b,where\n" + "\n".join(lines) + "\n")
    told = run("train", "ring.csv", "--json").document
    choice = {choice["name"]: choice for choice in told["choices"]}
    assert choice["kernel"]["value"].startswith("rbf")
    assert "linear" in choice["kernel"]["why"]
    assert told["cross_validated"] > 0.9
    assert told["metrics"]["accuracy"] > 0.9


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--kernel", "poly", "--C", "2", "--gamma", "0.1"), 'SVC(kernel="poly", C=2.0, gamma=0.1'),
        (("--multiclass", "ovr", "--no-tune"), 'multiclass="ovr"'),
        (("--multiclass", "crammer-singer", "--kernel", "linear", "--C", "1"), 'loss="hinge"'),
        (("--calibration", "none", "--no-tune"), 'SVC(C=1.0, gamma="scale")'),
        (("--class-weight", "balanced", "--no-tune"), 'class_weight="balanced"'),
        (("--device", "cpu", "--no-tune"), 'device="cpu"'),
        (("--seed", "7", "--no-tune", "--test-size", "0.3"), "test_size=0.3, random_state=7"),
        (("--no-scale", "--no-tune"), "SimpleImputer"),
        (("--drop", "a", "--no-tune"), 'names = ["b", "c", "d"]'),
        (("--kernel", "linear", "--folds", "3", "--scoring", "balanced_accuracy"), "LinearSVC("),
    ],
)
def test_every_choice_can_be_overridden(run, flowers: Path, options: tuple[str, ...], says: str) -> None:
    told = run("train", flowers.name, "--json", *options).document
    assert says in told["code"]
    made = namespace(told["code"])
    np.testing.assert_array_equal(io.load("flowers.mm").predict(made["X"]), made["model"].predict(made["X"]))
    assert ("StandardScaler" in told["code"]) == ("--no-scale" not in options)


def test_a_sparse_file(run, tmp_path: Path) -> None:
    from sklearn.datasets import dump_svmlight_file

    draw = np.random.default_rng(0)
    X = draw.integers(0, 2, size=(120, 30)) * (draw.random((120, 30)) < 0.2)
    y = np.where(X[:, :5].sum(axis=1) > X[:, 5:10].sum(axis=1), 1, -1)
    dump_svmlight_file(X, y, str(tmp_path / "sparse.svm"), zero_based=False)
    told = run("train", "sparse.svm", "--json").document
    assert told["task"] == "two classes"
    made = namespace(told["code"])
    np.testing.assert_array_equal(io.load("sparse.mm").predict(made["X"]), made["model"].predict(made["X"]))


def test_regression_from_numbers_and_by_request(run, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(100, 2))
    y = 1000 * (3 * x[:, 0] - x[:, 1])
    lines = [f"{a:.5f},{b:.5f},{t:.3f}" for (a, b), t in zip(x, y, strict=True)]
    (tmp_path / "line.csv").write_text("a,b,price\n" + "\n".join(lines) + "\n")
    told = run("train", "line.csv", "--json").document
    assert told["task"] == "regression"
    assert told["metrics"]["R2"] > 0.95
    (tmp_path / "votes.csv").write_text("a,votes\n" + "\n".join(f"{k % 7},{k % 5}" for k in range(60)) + "\n")
    assert run("train", "votes.csv", "--json", "--no-tune").document["task"] == "many classes"
    told = run("train", "votes.csv", "--json", "--no-tune", "--task", "regression").document
    assert told["task"] == "regression"


def test_leakage_and_imbalance_are_said(run, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    lines = []
    for row in range(300):
        bad = row % 10 == 0
        lines.append(f"{draw.normal():.3f},{int(bad) * 5 + draw.random():.3f},{'bad' if bad else 'good'}")
    (tmp_path / "leak.csv").write_text("noise,after,quality\n" + "\n".join(lines) + "\n")
    told = run("train", "leak.csv", "--json", *QUICK).document
    text = {notice["kind"]: notice["text"] for notice in told["notices"]}
    assert "after" in text["leakage"]
    assert "noise" not in text["leakage"]
    assert "bad has 10.0%" in text["imbalance"]


def test_rows_without_an_answer_are_left_out(run, flowers: Path) -> None:
    lines = flowers.read_text().splitlines()
    lines[3:8] = ["1,2,3,4,"] * 5
    flowers.write_text("\n".join(lines) + "\n")
    told = run("train", flowers.name, "--json", *QUICK, "--no-tune").document
    assert any("5 rows without a value in species" in notice["text"] for notice in told["notices"])
    record = io.load_record("flowers.mm")
    assert not set(range(2, 7)) & (set(record["train_rows"]) | set(record["test_rows"]))
    made = namespace(told["code"])
    np.testing.assert_array_equal(io.load("flowers.mm").predict(made["X"]), made["model"].predict(made["X"]))


def test_a_class_of_three_rows_does_not_spoil_the_folds(run, flowers: Path) -> None:
    text = flowers.read_text() + "".join(f"9,9,{k},9,rare\n" for k in range(3))
    flowers.write_text(text)
    told = run("train", flowers.name, "--json").document
    why = {choice["name"]: choice["why"] for choice in told["choices"]}
    assert "in 5 folds" in why["C"]
    assert "classes with fewer than 5 rows aside" in why["C"]
    assert "rare" in told["labels"]


def test_many_rows_are_tuned_on_a_sample(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxmargin.cli._search.TUNING_ROWS", 100)
    draw = np.random.default_rng(0)
    X = draw.normal(size=(400, 3))
    np.savez(tmp_path / "line.npz", X=X, y=(X[:, 0] + 0.3 * draw.normal(size=400) > 0).astype(int))
    told = run("train", "line.npz", "--json").document
    why = {choice["name"]: (choice["value"], choice["why"]) for choice in told["choices"]}
    about = "all 320 training rows" if why["kernel"][0] == "linear" else "100 of the 320 training rows"
    assert about in why["C"][1]
    np.savez(tmp_path / "ring.npz", X=X, y=(X[:, 0] ** 2 + X[:, 1] ** 2 > 1.4).astype(int))
    told = run("train", "ring.npz", "--json").document
    why = {choice["name"]: (choice["value"], choice["why"]) for choice in told["choices"]}
    assert why["kernel"][0].startswith("rbf")
    assert "100 of the 320 training rows" in why["C"][1]


def test_a_time_limit_still_gives_a_model(run) -> None:
    told = run("train", "digits", "--json", "--time-limit", "0.01").document
    assert any("time" in notice["text"] for notice in told["notices"])
    assert told["metrics"]["accuracy"] > 2 * told["baseline"]["accuracy"]  # how good it is, the machine's load decides


def test_the_same_seed_gives_the_same_file_but_for_its_time(run, flowers: Path) -> None:
    first, second = (run("train", flowers.name, "--json", *QUICK, "--seed", 5).document for _ in range(2))
    for key in ("metrics", "choices", "code", "confusion", "cross_validated"):
        assert first[key] == second[key]


def test_a_real_process(flowers: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "maxmargin", "train", flowers.name, "--no-tune", "--json"],
        cwd=flowers.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("\n") == 1
    assert "proven optimal" in " ".join(ended.stderr.split())
