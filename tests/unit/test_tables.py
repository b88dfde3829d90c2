"""Tables: kinds of columns, gaps, formats, and what is wrong with a file, in words."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest

from maxmargin.io import read_table, read_table_chunks

PEOPLE = "age,town,buys\n31,Ulm,yes\n,Bonn,no\n54,?,yes\n"


def written(folder: Path, text: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def complaint(path: Path, **options) -> str:
    with pytest.raises((ValueError, OSError)) as caught:
        read_table(path, **options)
    assert path.name in str(caught.value)
    return str(caught.value)


def test_numbers_text_and_gaps(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, PEOPLE))
    assert table.names == ("age", "town", "buys")
    assert [table.kind(name) for name in table.names] == ["number", "category", "category"]
    np.testing.assert_array_equal(table["age"], [31, np.nan, 54])
    assert table["town"][:2].tolist() == ["Ulm", "Bonn"]
    assert table.known("town").tolist() == [True, True, False]
    assert table.lines is not None
    assert table.lines.tolist() == [2, 3, 4]
    assert table.rows(["age"]).dtype == np.float64
    assert table.rows(["age", "town"]).dtype == object


@pytest.mark.parametrize(("pack", "end"), [(gzip.compress, ".gz"), (bz2.compress, ".bz2"), (lzma.compress, ".xz")])
def test_compressed_files(tmp_path: Path, pack, end: str) -> None:
    table = read_table(written(tmp_path, pack(PEOPLE.encode()), "table.csv" + end))
    assert table.names == ("age", "town", "buys")
    path = written(tmp_path, pack(PEOPLE.encode() * 50)[:-20], "short.csv" + end)
    assert "damaged or end too early" in complaint(path)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_found(tmp_path: Path, separator: str) -> None:
    table = read_table(written(tmp_path, PEOPLE.replace(",", separator), "table.data"))
    assert table.names == ("age", "town", "buys")


def test_quotes_embedded_newlines_and_a_byte_order_mark(tmp_path: Path) -> None:
    text = '\ufeff"name, first",note\n"a ""b""","two\nlines"\nc,d\n'
    table = read_table(written(tmp_path, text))
    assert table.names == ("name, first", "note")
    assert table["name, first"].tolist() == ['a "b"', "c"]
    assert table["note"][0] == "two\nlines"
    assert table.lines is not None
    assert table.lines.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1,2\n3,4\n", ("column 1", "column 2")),
        ("5.1,3.5,setosa\n4.9,3.0,virginica\n", ("column 1", "column 2", "column 3")),
        ("2019,2020,town\n1,2,Ulm\n", ("column 1", "column 2", "column 3")),
        ("a,2020,town\n1,2,Ulm\n", ("a", "2020", "town")),
        ("a,b\nx,y\n", ("a", "b")),
        (",a\n0,1\n1,2\n", ("column 1", "a")),
    ],
)
def test_a_line_of_names_is_told_from_values(tmp_path: Path, text: str, names: tuple[str, ...]) -> None:
    assert read_table(written(tmp_path, text)).names == names


@pytest.mark.parametrize("header", [None, True, False])
@pytest.mark.parametrize("cell", ["{0}", "{0} 7"])
@pytest.mark.parametrize("count", [2, 3, 20, 21, 22, 23, 100])
def test_no_row_is_lost_where_the_separator_is_looked_for(
    tmp_path: Path, count: int, cell: str, header: bool | None
) -> None:
    """Law: every line of a file without a known separator is a row, however many lines were looked at."""
    lines = [cell.format(number) for number in range(count + bool(header))]
    table = read_table(written(tmp_path, "\n".join(lines) + "\n"), header=header)
    assert len(table) == count
    assert table[table.names[0]].tolist() == list(range(bool(header), count + bool(header)))


def test_text_far_down_makes_the_whole_column_text_as_it_was_written(tmp_path: Path) -> None:
    path = written(tmp_path, "code,value\n" + "007,1\n" * 5000 + "A1,2\n")
    table = read_table(path)
    assert table.kind("code") == "category"
    assert set(table["code"]) == {"007", "A1"}
    assert table.kind("value") == "number"


def test_chunks_have_the_kinds_that_are_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, "code,value\n" + "007,1\n" * 7)
    parts = list(read_table_chunks(path, rows=3, kinds={"code": "category", "value": "number"}))
    assert [len(part) for part in parts] == [3, 3, 1]
    assert set(parts[2]["code"]) == {"007"}
    assert parts[1].place(0).endswith("line 5")
    path = written(tmp_path, "value;b\n1;1\n3,5;2\n", "comma.csv")
    with pytest.raises(ValueError, match=r"comma\.csv, line 3, column 'value': '3,5' is not a number; write decimals"):
        list(read_table_chunks(path, kinds={"value": "number"}))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a,b\n", "no rows of values"),
        (b"a,b\n1,2\n3\n", "line 3: 1 cells where the first line has 2"),
        (b"a,b\n1,2\n3,4,5\n", "line 3: 3 cells where the first line has 2"),
        (b"a,a\n1,2\n", "columns 1 and 2 are both named 'a'"),
        (b"a,b\n1,inf\n", "line 2, column 'b': 'inf' is not finite"),
        (b"a,b\n1,\x81\n", "line 2: not UTF-8 text"),
        ("a,b\n1,2\n".encode("utf-16") + b"\n", "not utf-16 text"),
        (b'a,b\n1,"2\n3,4\n', "line 2: the row that begins here"),
        (b"a,b\r1,2\r", "look for a quote"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: bytes, what: str) -> None:
    assert what in complaint(written(tmp_path, text))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_every_encoding_that_is_found_gives_the_same_table(tmp_path: Path, encoding: str, end: str, name: str) -> None:
    data = f"größe,b\n1,no\n2,é{end}".encode(encoding)
    table = read_table(written(tmp_path, gzip.compress(data) if name.endswith(".gz") else data, name))
    assert table.names == ("größe", "b")
    assert table["größe"].tolist() == [1, 2]
    assert table["b"].tolist() == ["no", "é"]


def test_a_million_columns_are_refused_from_the_first_line(tmp_path: Path) -> None:
    path = written(tmp_path, ",".join(f"c{k}" for k in range(1_000_000)) + "\n" + ",".join("1" * 1_000_000) + "\n")
    assert "1,000,000 columns" in complaint(path)


def test_a_folder_and_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "is a folder" in complaint(tmp_path)
    assert "does not exist" in complaint(tmp_path / "nothing.csv")


def test_svmlight_is_known_by_its_first_line(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "+1 1:0.5 3:2\n-1 2:1 # note\n", "a9a"))
    assert table.names == ("label",)
    assert table["label"].tolist() == [1, -1]
    assert table.features is not None
    assert table.features.toarray().tolist() == [[0.5, 0, 2], [0, 1, 0]]


def test_binary_tables_agree_with_text(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="Parquet and Arrow files need it")
    from pyarrow import feather, parquet

    data = pa.table({"age": [31, None, 54], "town": pa.array(["Ulm", "Bonn", None]).dictionary_encode()})
    parquet.write_table(data, tmp_path / "t.parquet")
    feather.write_feather(data, tmp_path / "t.feather")
    with pa.ipc.new_stream(str(tmp_path / "s.arrow"), data.schema) as sink:
        sink.write_table(data)
    (tmp_path / "t.parquet.gz").write_bytes(gzip.compress((tmp_path / "t.parquet").read_bytes()))
    for name in ("t.parquet", "t.feather", "s.arrow", "t.parquet.gz"):
        table = read_table(tmp_path / name)
        np.testing.assert_array_equal(table["age"], [31, np.nan, 54])
        assert table["town"][:2].tolist() == ["Ulm", "Bonn"]
        assert not table.known("town")[2]
    assert [len(part) for part in read_table_chunks(tmp_path / "t.feather", rows=2)] == [2, 1]
    feather.write_feather(pa.table({}), tmp_path / "none.feather")
    assert "has no columns" in complaint(tmp_path / "none.feather")
    assert "pyarrow cannot read" in complaint(written(tmp_path, b"PAR1 nonsense", "bad.parquet"))
    assert "pyarrow cannot read" in complaint(written(tmp_path, b"nonsense of some length", "bad.arrow"))


def test_npz(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    np.savez(path, X=np.eye(3), y=["a", "b", "a"])
    table = read_table(path)
    assert table.names == ("x0", "x1", "x2", "y")
    assert table["y"].tolist() == ["a", "b", "a"]
    np.savez(path, Z=np.eye(3))
    assert "no array 'X'" in complaint(path)
    np.savez(path, X=np.array([[1, "a"]], dtype=object))
    assert "NumPy cannot read" in complaint(path)
    np.savez(path, X=np.eye(3), y=np.ones(2))
    assert "y has shape (2,)" in complaint(path)
    assert "NumPy cannot read" in complaint(written(tmp_path, b"PK nonsense", "bad.npz"))


def test_copies_are_found(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "a,b,c\n0,x,1\n1,x,2\n-0,x,3\n,x,4\n,x,5\n"))
    assert table.copies(["a", "b"]).tolist() == [0, 1, 0, 3, 3]
    assert table.take(np.array([2, 4]))["c"].tolist() == [3, 5]
    sparse = read_table(written(tmp_path, "1 1:2\n2 2:1\n3 1:2\n", "s.svm"))
    assert sparse.copies().tolist() == [0, 1, 0]
