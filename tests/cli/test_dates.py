"""Dates become numbers, identifiers are left out, and the reasons given are right."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from maxmargin import io
from maxmargin.io._dates import moment, order_of
from tests.cli.test_train_command import namespace

QUICK = ("--kernel", "linear", "--C", "0.1")
FORMATS = {
    "yyyy-mm-dd": "%Y-%m-%d %H:%M",
    "dd.mm.yyyy": "%d.%m.%Y",
    "mm/dd/yyyy": "%m/%d/%Y",
    "dd/mm/yyyy": "%d/%m/%Y %H:%M:%S",
}


def visits(path: Path, form: str) -> None:
    """Weekends and the rest, with columns that only identify."""
    draw = np.random.default_rng(0)
    lines = ["when,customer_id,code,remark,amount,weekend"]
    for k in range(240):
        when = datetime(2024, 1, 1) + timedelta(days=int(draw.integers(0, 300)), hours=int(draw.integers(0, 24)))
        shown = "" if k == 7 else when.strftime(form)
        weekend = "yes" if when.weekday() >= 5 else "no"
        code, remark = f"A{k:03d}-{draw.integers(99)}", f"the customer number {k} came here again"
        lines.append(f"{shown},{100_000 + 37 * k},{code},{remark},{draw.normal():.2f},{weekend}")
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("order", FORMATS)
def test_dates_become_numbers(run, tmp_path: Path, order: str) -> None:
    visits(tmp_path / "visits.csv", FORMATS[order])
    told = run("train", "visits.csv", "--json", "--kernel", "rbf", "--C", "10", "--gamma", "0.3").document
    kinds = {column["name"]: column for column in told["columns"]}
    assert kinds["when: weekday"]["kind"] == "number"
    assert kinds["when: year"]["why"] == "it is 2,024 in every row" or "2024" in kinds["when: year"]["why"]
    assert (kinds["when: hour"]["kind"] == "number") == ("%H" in FORMATS[order])
    assert told["metrics"]["balanced accuracy"] > 0.85
    assert any(f"when ({order})" in choice["value"] for choice in told["choices"])
    assert "identifier" in kinds["customer_id"]["why"]
    assert "identifiers" in kinds["code"]["why"]
    assert "free text" in kinds["remark"]["why"]
    made = namespace(told["code"])
    saved = io.load("visits.mm")
    np.testing.assert_array_equal(saved.predict(made["X"]), made["model"].predict(made["X"]))
    run("predict", "visits.mm", "visits.csv", "--out", "answers.csv")
    answers = [line.split(",")[0] for line in (tmp_path / "answers.csv").read_text().splitlines()[1:]]
    assert answers == saved.predict(made["X"]).tolist()
    assert run("certify", "visits.mm", "visits.csv").code == 0


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("2024-02-29", "yyyy-mm-dd", datetime(2024, 2, 29)),
        ("2024-02-29T12:30:15.25Z", "yyyy-mm-dd", datetime(2024, 2, 29, 12, 30, 15)),
        ("2024-02-29T12:30+02:00", "yyyy-mm-dd", datetime(2024, 2, 29, 10, 30)),
        ("1.2.2024 7:05", "dd.mm.yyyy", datetime(2024, 2, 1, 7, 5)),
        ("30.2.2024", "dd.mm.yyyy", None),
        ("12", "yyyy-mm-dd", None),
    ],
)
def test_moments(text: str, order: str, expected: datetime | None) -> None:
    assert moment(text, order) == expected


def test_one_row_decides_what_a_slash_means() -> None:
    column = np.array(["01/02/2024", "13/02/2024", np.nan], dtype=object)
    assert order_of(column) == "dd/mm/yyyy"
    assert order_of(column[:1]) == "mm/dd/yyyy"
    assert order_of(np.array(["01/02/2024", "soon"], dtype=object)) is None


def test_numbers_that_are_all_different_are_no_identifiers_by_that_alone(run, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    income = draw.permutation(90_000)[:200]
    lines = [f"{value},{'rich' if value > 45_000 else 'poor'}" for value in income]
    (tmp_path / "rows.csv").write_text("income,kind\n" + "\n".join(lines) + "\n")
    told = run("train", "rows.csv", "--json", *QUICK).document
    assert told["columns"][0]["kind"] == "number"
