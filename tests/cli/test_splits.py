"""Tests that are honest: on later rows, on other groups, on another file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from maxmargin import io
from maxmargin.cli._options import TrainOptions
from maxmargin.cli._split import folds_of
from tests.cli.test_train_command import namespace

QUICK = ("--kernel", "linear")


@pytest.fixture
def drift(tmp_path: Path) -> Path:
    """Rows in the order of a date, of 30 patients, most telling by what cannot be known of new ones."""
    draw = np.random.default_rng(0)
    lines = ["day,patient,a,b,ill"]
    for k in range(300):
        day = f"2024-{1 + k // 28:02d}-{1 + k % 28:02d}" if k < 300 else ""
        a, b = draw.normal(size=2)
        lines.append(f"{day},P{k % 30},{a:.3f},{b:.3f},{'yes' if a + 0.5 * b > 0 else 'no'}")
    path = tmp_path / "drift.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def sides(name: str) -> tuple[np.ndarray, np.ndarray]:
    record = io.load_record(name)
    return record["train_rows"], record["test_rows"]


def same_as_code(told: dict, model: str) -> None:
    made = namespace(told["code"])
    np.testing.assert_array_equal(io.load(model).predict(made["X"]), made["model"].predict(made["X"]))


def test_later_rows_are_tested_on(run, drift: Path) -> None:
    told = run("train", drift.name, "--json", *QUICK, "--time-column", "day").document
    train, test = sides("drift.mm")
    assert train.max() < test.min()
    assert len(test) == pytest.approx(60, abs=3)
    choice = {c["name"]: c for c in told["choices"]}["test set"]
    assert "the latest" in choice["why"]
    assert choice["option"].startswith("--time-column")
    same_as_code(told, "drift.mm")
    assert not any(notice["kind"] == "time" for notice in told["notices"])


def test_rows_in_the_order_of_a_date_are_noticed(run, drift: Path) -> None:
    told = run("train", drift.name, "--json", *QUICK, "--C", "1").document
    text = next(notice["text"] for notice in told["notices"] if notice["kind"] == "time")
    assert "--time-column 'day'" in text


def test_groups_are_not_torn_apart(run, drift: Path) -> None:
    told = run("train", drift.name, "--json", *QUICK, "--group", "patient").document
    train, test = sides("drift.mm")
    assert not {k % 30 for k in train.tolist()} & {k % 30 for k in test.tolist()}
    kinds = {column["name"]: column["kind"] for column in told["columns"]}
    assert kinds["patient"] == "left out"
    same_as_code(told, "drift.mm")


def test_a_second_file_is_tested_on(run, drift: Path, tmp_path: Path) -> None:
    lines = drift.read_text().splitlines()
    (tmp_path / "train.csv").write_text("\n".join(lines[:201]) + "\n")
    (tmp_path / "test.csv").write_text("\n".join([lines[0], *lines[201:]]) + "\n")
    told = run("train", "train.csv", "--json", *QUICK, "--test", "test.csv").document
    assert told["rows"] == {"train": 200, "test": 100}
    same_as_code(told, "train.mm")
    assert run("certify", "train.mm", "train.csv").code == 0
    (tmp_path / "test.csv").write_text("day,a,ill\n2024-01-01,1,yes\n")
    refused = run("train", "train.csv", "--test", "test.csv")
    assert (refused.code, "lacks columns" in refused.text) == (2, True)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--time-column", "ill"), "neither dates nor numbers"),
        (("--time-column", "when"), "is no column"),
        (("--group", "who"), "is no column"),
        (("--group", "patient", "--time-column", "day"), "take one of them"),
        (("--test", "missing.csv"), "does not exist"),
    ],
)
def test_splits_that_make_no_sense(run, drift: Path, options: tuple[str, ...], says: str) -> None:
    found = run("train", drift.name, *options)
    assert (found.code, says in found.text) == (2, True), found.text


def test_folds_keep_time_and_groups() -> None:
    draw = np.random.default_rng(0)
    y, times, groups = draw.integers(0, 2, 90), draw.permutation(90), draw.integers(0, 12, 90)
    for train, held in folds_of("time", times, y, True, TrainOptions()):
        assert times[train].max() < times[held].min()
    for train, held in folds_of("group", groups, y, True, TrainOptions()):
        assert not set(groups[train]) & set(groups[held])


def test_the_report_says_whether_more_data_would_help(run, drift: Path, tmp_path: Path) -> None:
    run("train", drift.name, *QUICK, "--C", "1", "--report", "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Would more data help?" in page
    assert "Accuracy over training rows" in page
