"""Rows unlike those of training are noted; ONNX inputs have the columns' names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from maxmargin import io

QUICK = ("--kernel", "linear", "--C", "0.1", "--no-code")


@pytest.fixture
def model(run, people: Path) -> Path:
    run("train", people.name, *QUICK)
    return Path("people.mm")


def test_what_training_had_not_seen_is_noted(run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("age,income,town\n30,20000,Ulm\n300,20000,Rom\n31,20000,Rom\n")
    told = run("predict", model, "new.csv", "--out", "a.csv", "--json").document
    text = " ".join(told["notes"])
    assert "age: 1 row far outside" in text
    assert "300" in text
    assert "town: 2 rows with values that training had not seen ('Rom')" in text
    (tmp_path / "gap.csv").write_text("age,income,town\n,20000,Ulm\n,25000,Bonn\n")
    assert "no row has a value in age" in run("predict", model, "gap.csv", "--out", "a.csv").text
    (tmp_path / "usual.csv").write_text("age,income,town\n30,20000,Ulm\n")
    assert run("predict", model, "usual.csv", "--out", "a.csv", "--json").document["notes"] == []


def test_the_training_file_is_recognised(run, model: Path, people: Path, tmp_path: Path) -> None:
    shown = run("predict", model, people.name, "--out", "a.csv")
    assert "learned from 192 rows" in shown.text
    assert "no test" in shown.text
    (tmp_path / "other.csv").write_text(people.read_text(encoding="utf-8").replace("Ulm", "Bonn", 1), encoding="utf-8")
    assert "no test" not in run("predict", model, "other.csv", "--out", "a.csv").text


def test_onnx_inputs_have_the_columns_names(run, flowers: Path, people: Path, model: Path, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="ONNX models run there")
    run("train", flowers.name, "--no-tune")
    for name, wanted in (("flowers", ["a", "b", "c", "d"]), ("people", ["age", "income", "town"])):
        shown = run("convert", f"{name}.mm", f"{name}.onnx")
        assert shown.code == 0, shown.text
        assert f"columns by name: {wanted[0]}, {wanted[1]}" in shown.text
        session = runtime.InferenceSession(tmp_path / f"{name}.onnx")
        assert [one.name for one in session.get_inputs()] == wanted
    table, session = io.read_table(flowers), runtime.InferenceSession(tmp_path / "flowers.onnx")
    label = session.run(["label"], {name: table[name][:, None] for name in "abcd"})[0]
    np.testing.assert_array_equal(label, io.load("flowers.mm").predict(table.rows("abcd")))


def test_convert_speaks_of_the_command(run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = run("convert", model, "people.model")
    assert (shown.code, "train on a column of whole numbers" in shown.text) == (2, True)
    run("train", "digits", "--kernel", "linear", "--C", "0.01", "--no-code")
    shown = run("convert", "digits.mm", "digits.model")
    assert shown.code == 0, shown.text
    assert "no place for its probabilities and what comes before it (SimpleImputer, StandardScaler)" in shown.text
    assert "LabelEncoder" not in shown.text

    def refuse(*_: object, **__: object) -> None:
        from maxmargin.exceptions import ExportError

        raise ExportError("no; pass sample=, some rows of your data")

    monkeypatch.setattr("maxmargin.io.export_onnx", refuse, raising=False)
    found = run("convert", model, "people.onnx")
    assert (found.code, "sample=" in found.text) == (2, False)
