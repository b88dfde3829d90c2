"""Tables as other programs write them: read without a word said, or as the options say."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import io
from maxmargin.io._numerals import numbers_in, value_of
from tests.cli.workbooks import write_excel

QUICK = ("--kernel", "linear", "--C", "0.1", "--no-code")


def german(rows: int = 80) -> str:
    """Semicolons, decimal commas, thousands, currency, percent, dotted dates and umlauts."""
    draw = np.random.default_rng(0)
    lines = ["Größe;Umsatz;Preis;Anteil;Datum;Käufer"]
    for k in range(rows):
        size, turnover = draw.normal(170, 9), draw.integers(900, 90_000)
        shown = f"{turnover:,}".replace(",", ".")
        date = f"{k % 28 + 1:02d}.{k % 12 + 1:02d}.20{20 + k % 4}"
        lines.append(
            f"{size:.1f};{shown};{draw.integers(1, 99)},{draw.integers(10, 99)} €;{draw.integers(0, 99)} %;{date};"
            f"{'männlich' if size > 170 else 'weiblich'}".replace(f"{size:.1f}", f"{size:.1f}".replace(".", ","))
        )
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_a_german_file_just_works(run, tmp_path: Path, encoding: str) -> None:
    (tmp_path / "kunden.csv").write_bytes(german().encode(encoding))
    told = run("train", "kunden.csv", "--json", *QUICK, "--out", "m.mm").document
    kinds = {column["name"]: column["kind"] for column in told["columns"]}
    assert {kinds[name] for name in ("Größe", "Umsatz", "Preis", "Anteil")} == {"number"}
    assert told["labels"] == ["männlich", "weiblich"]
    assert told["metrics"]["accuracy"] > 0.8
    table = io.read_table(tmp_path / "kunden.csv")
    assert table["Umsatz"].min() >= 900  # 12.345 is twelve thousand here
    assert table["Anteil"].max() < 1
    data = told["choices"][0]
    assert "semicolons" in data["why"]
    assert "decimal commas in Größe" in data["why"]
    assert data["option"] == "--sep, --decimal, --encoding"
    run("predict", "m.mm", "kunden.csv", "--out", "answers.csv")
    found = [line.split(",")[0] for line in (tmp_path / "answers.csv").read_text(encoding="utf-8").splitlines()[1:]]
    record = io.load_record("m.mm")
    rows = table.with_dates(record["dates"]).rows([column["name"] for column in record["columns"]])
    assert found == io.load("m.mm").predict(rows).tolist()
    assert run("certify", "m.mm", "kunden.csv").code == 0


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("{a} {b} {kind}", ()),
        ("  {a}   {b} {kind} ", ()),
        ("{a}:{b}:{kind}", ("--sep", ":")),
        ("{a}\t{b}\t{kind}", ("--sep", "tab")),
        ("{a}|{b}|{kind}", ()),
    ],
)
def test_separators(run, tmp_path: Path, text: str, options: tuple[str, ...]) -> None:
    draw = np.random.default_rng(1)
    lines = [text.format(a="a", b="b", kind="kind")]
    for a, b in draw.normal(size=(60, 2)).round(2):
        lines.append(text.format(a=a, b=b, kind="yes" if a > 0 else "no"))
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    told = run("train", "rows.csv", "--json", *QUICK, *options).document
    assert [column["name"] for column in told["columns"]] == ["a", "b"]
    assert {column["kind"] for column in told["columns"]} == {"number"}
    assert run("predict", "rows.mm", "rows.csv", "--out", "answers.csv").code == 0


def test_options_say_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('a;b\n"1,234";x\n"5,678";y\n')
    assert io.read_table(path)["a"].tolist() == [1.234, 5.678]
    assert io.read_table(path, decimal=".")["a"].tolist() == [1234.0, 5678.0]
    path.write_bytes("a,b\n1,é\n2,ü\n".encode("utf-16-le"))
    assert io.read_table(path, format="csv", encoding="utf-16-le")["b"].tolist() == ["é", "ü"]
    for wrong in ({"separator": "ab"}, {"decimal": "x"}, {"encoding": "klingon"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            io.read_table(path, **wrong)


@pytest.mark.parametrize(
    ("text", "decimal", "value", "unit"),
    [
        ("1.234,50", ",", 1234.5, ""),
        ("1,234.50", ".", 1234.5, ""),
        ("1 234", ".", 1234.0, ""),
        ("1'234.5", ".", 1234.5, ""),
        ("€ 3,50", ",", 3.5, "€"),
        ("-$1,200", ".", -1200.0, "$"),
        ("12 %", ",", 0.12, "%"),
        ("12 CHF", ".", 12.0, "CHF"),
        ("−4,5", ",", -4.5, ""),
    ],
)
def test_numbers_as_people_write_them(text: str, decimal: str, value: float, unit: str) -> None:
    found = value_of(text, decimal)
    assert found is not None
    assert found[0] == pytest.approx(value, rel=1e-12)
    assert found[1] == unit


@pytest.mark.parametrize("text", ["12.05.2020", "1.23.456", "017 234 567", "abc", "5 % 6", "1,2,3", "", "€", "1..2"])
def test_what_is_no_number(text: str) -> None:
    assert value_of(text, ".") is None
    assert value_of(text, ",") is None


def test_units_are_not_mixed() -> None:
    assert numbers_in(["€ 1", "$ 2"], ".") is None
    assert numbers_in(["1", "x"], ".") is None
    np.testing.assert_array_equal(numbers_in(["€ 1", float("nan")], "."), [1.0, np.nan])


@settings(max_examples=50)
@given(st.lists(st.floats(-1e9, 1e9).map(lambda x: round(x, 2)), min_size=1, max_size=20))
def test_what_is_written_with_groups_is_read_back(values: list[float]) -> None:
    for decimal, swap in ((".", str), (",", lambda s: s.translate(str.maketrans(",.", ".,")))):
        cells = [swap(f"{value:,.2f}") for value in values]
        np.testing.assert_array_equal(numbers_in(cells, decimal), np.array(values) + 0.0)


def test_json_and_lines_of_json(run, tmp_path: Path, flowers: Path) -> None:
    table = io.read_table(flowers)
    rows = [{name: table[name][k] for name in table.names} for k in range(len(table))]
    rows[0]["a"] = None
    (tmp_path / "list.json").write_text(json.dumps(rows))
    (tmp_path / "columns.json").write_text(json.dumps({name: [row[name] for row in rows] for name in table.names}))
    (tmp_path / "lines.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("list.json", "columns.json", "lines.jsonl"):
        found = io.read_table(tmp_path / name)
        assert found.names == table.names
        np.testing.assert_array_equal(found["a"], [np.nan, *table["a"][1:]])
        assert found["species"].tolist() == table["species"].tolist()
        assert run("train", name, "--no-tune").code == 0
    for text, says in (
        ("[1, 2]", "no object"),
        ('[{"a": [1]}]', "no single value"),
        ("{", "no JSON"),
        ("3", "neither"),
    ):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ValueError, match=says):
            io.read_table(tmp_path / "bad.json")


def test_excel(run, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    rows = [["size", "when", "kind"]]
    for k, size in enumerate(draw.normal(size=60).round(3).tolist()):
        rows.append([None if k == 3 else size, (45000 + k,), "big" if size > 0 else "small"])
    write_excel(tmp_path / "book.xlsx", rows)
    table = io.read_table(tmp_path / "book.xlsx")
    assert table.names == ("size", "when", "kind")
    assert np.isnan(table["size"][3])
    assert table["when"][0] == "2023-03-15"
    assert table.place(0).endswith("line 2")
    assert run("train", "book.xlsx", *QUICK).code == 0
    assert run("predict", "book.mm", "book.xlsx", "--out", "answers.csv").code == 0
    (tmp_path / "bad.xlsx").write_bytes(b"PK nothing")
    assert run("train", "bad.xlsx").code == 2
    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/workbook.xml", b"<a>" + b" " * 2**27)
    with pytest.raises(ValueError, match="if you trust it"):
        io.read_table(tmp_path / "bomb.xlsx")


def test_answers_as_parquet(run, flowers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("maxmargin.cli._predict.ROWS", 40)
    run("train", flowers.name, "--no-tune")
    assert run("predict", "flowers.mm", flowers.name, "--out", "answers.parquet").code == 0
    run("predict", "flowers.mm", flowers.name, "--out", "answers.csv")
    found = parquet.read_table(tmp_path / "answers.parquet")
    lines = (tmp_path / "answers.csv").read_text().splitlines()
    assert found.column_names == lines[0].split(",")
    assert found.num_rows == 150
    assert found["prediction"].to_pylist() == [line.split(",")[0] for line in lines[1:]]


def test_standard_input(flowers: Path) -> None:
    program = (sys.executable, "-m", "maxmargin")

    def command(*words: str) -> str:
        with open(flowers, "rb") as file:
            ended = subprocess.run([*program, *words], cwd=flowers.parent, stdin=file, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    assert "standard input" in command("train", "-", "--no-tune", "--out", "m.mm")
    assert command("predict", "m.mm", "-").count("\n") == 151
