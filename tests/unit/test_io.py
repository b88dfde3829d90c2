"""Files as streams of chunks: the same numbers as trusted readers, bounded memory, and errors that name the line."""

from __future__ import annotations

import bz2
import gzip
import inspect
import lzma
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.linear_model import SGDClassifier

import maxmargin
from maxmargin.io import Chunk, read_chunks

MEGABYTE = 2**20
NO_ARROW = "Parquet is read through pyarrow"


def written(path: Path, text: str | bytes) -> Path:
    """The path, after writing; compressed where the name says so."""
    data = text.encode() if isinstance(text, str) else text
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
    path.write_bytes(pack(data))
    return path


def whole(path: Path, rows: int = 3, **options: Any) -> tuple[Any, np.ndarray]:
    """All chunks of a file put together."""
    chunks = list(read_chunks(path, rows, **options))
    assert all(chunk.X.shape[0] == len(chunk.y) == rows for chunk in chunks[:-1])
    assert len({chunk.X.shape[1] for chunk in chunks}) == 1
    y = np.concatenate([chunk.y for chunk in chunks])
    stack = sp.vstack if sp.issparse(chunks[0].X) else np.vstack
    return stack([chunk.X for chunk in chunks]), y


def error_of(path: Path, kind: type[Exception] = ValueError, **options: Any) -> str:
    """The message with which reading ends; it begins with the file."""
    with pytest.raises(kind) as caught:
        whole(path, **options)
    message = str(caught.value)
    assert str(path) in message
    return message.replace(str(path), "FILE")


@pytest.fixture
def sparse_rows() -> tuple[sp.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(0)
    X = sp.random_array((20, 7), density=0.4, format="csr", random_state=rng, dtype=np.float64)
    return sp.csr_matrix(X), rng.integers(0, 3, 20).astype(float)


# -- which format ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".svm", ".svmlight", ".libsvm", ".txt", ".SVM", ".svm.gz", ".txt.bz2", ".svm.xz"])
def test_svmlight_files_are_known_by_name(tmp_path: Path, ending: str) -> None:
    (chunk,) = read_chunks(written(tmp_path / f"some.data{ending}", "1 2:3\n"))
    assert isinstance(chunk, Chunk)
    assert isinstance(chunk.X, sp.csr_matrix)
    assert chunk.X.toarray().tolist() == [[0, 3]]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".CSV", ".csv.gz", ".tsv.bz2", ".csv.xz"])
def test_csv_files_are_known_by_name(tmp_path: Path, ending: str) -> None:
    text = "1,2,3\n" if "csv" in ending.lower() else "1\t2\t3\n"
    (chunk,) = read_chunks(written(tmp_path / f"some{ending}", text))
    assert (chunk.X.tolist(), chunk.y.tolist()) == ([[1, 2]], [3])


def test_a_format_that_is_named_wins_over_the_name(tmp_path: Path) -> None:
    path = written(tmp_path / "table.txt", "1,2,3\n")
    (chunk,) = read_chunks(path, format="csv")
    assert chunk.X.tolist() == [[1, 2]]


def test_a_name_that_does_not_tell_the_format_is_refused_with_a_list(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.data.gz", "1 1:1\n")
    message = error_of(path)
    assert message.startswith("FILE: the name does not tell the format; pass format=, one of ")
    assert all(name in message for name in ("'svmlight' (.svm,", "'csv' (.csv, .tsv)", "'parquet' (.parquet)"))


def test_an_unknown_format_is_refused_with_a_list(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.svm", "1 1:1\n")
    with pytest.raises(ValueError, match=r"format='arff' is unknown; pass one of 'svmlight' .*'csv' .*'parquet'"):
        read_chunks(path, format="arff")


def test_a_compressed_parquet_file_is_refused(tmp_path: Path) -> None:
    assert "decompress the file first" in error_of(written(tmp_path / "rows.parquet.gz", "x"))


def test_a_missing_file_and_a_folder_are_named_at_the_call(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.svm does not exist; check the path"):
        read_chunks(tmp_path / "nothing.svm")
    with pytest.raises(IsADirectoryError, match="is a folder; read the files in it one by one"):
        read_chunks(tmp_path)


@pytest.mark.parametrize("name", ["rows.svm", "rows.csv", "rows.csv.gz"])
@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_file_without_rows_is_an_error(tmp_path: Path, name: str, text: str) -> None:
    message = error_of(written(tmp_path / name, text))
    assert message == "FILE: the file has no rows of data; check that it was written completely"


def test_a_header_alone_is_an_error(tmp_path: Path) -> None:
    assert "no rows of data" in error_of(written(tmp_path / "rows.csv", "a,b\n"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 0}, "rows=0 must be a whole number of at least 1"),
        ({"rows": 2.5}, "rows=2.5 must be a whole number of at least 1"),
        ({"n_features": 0}, "n_features=0 must be a whole number of at least 1"),
        ({"dtype": int}, "dtype=<class 'int'> is not supported; pass np.float32 or np.float64"),
        ({"target": 1.5}, "target=1.5 is no column; pass the name or the index"),
        ({"target": 0}, "target=0 has no meaning for format='svmlight'; leave it out"),
        ({"header": True}, "header=True has no meaning for format='svmlight'; leave it out"),
        ({"format": "csv", "zero_based": True}, "zero_based=True has no meaning for format='csv'; leave it out"),
        ({"format": "parquet", "header": False}, "header=False has no meaning for format='parquet'; leave it out"),
    ],
)
def test_a_wrong_option_is_refused_at_the_call(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    path = written(tmp_path / "rows.svm", "1 1:1\n")
    with pytest.raises(ValueError) as caught:
        read_chunks(path, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["rows.svm.gz", "rows.csv.gz", "rows.svm.bz2", "rows.csv.xz"])
def test_damaged_compressed_data_are_reported_with_the_line(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, "\n".join(["1,1.5"] * 9 if "csv" in name else ["1 1:1.5"] * 9))
    path.write_bytes(path.read_bytes()[:-9])
    options = {} if "csv" in name else {"n_features": 1}
    message = error_of(path, OSError, **options)
    assert message.startswith("FILE, after line ")
    assert "copy or download the file again" in message


# -- svmlight -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zero_based", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [1, 3, 20, 65536])
def test_svmlight_chunks_are_what_scikit_learn_reads(
    tmp_path: Path, sparse_rows: tuple[sp.csr_matrix, np.ndarray], zero_based: bool, dtype: Any, rows: int
) -> None:
    path = tmp_path / "rows.svm"
    dump_svmlight_file(*sparse_rows, str(path), zero_based=zero_based, comment="written by a test")
    X, y = whole(path, rows, dtype=dtype, zero_based=zero_based)
    expected, labels = load_svmlight_file(str(path), dtype=dtype, zero_based=zero_based)
    assert X.dtype == dtype
    assert y.dtype == np.float64
    np.testing.assert_array_equal(X.toarray(), expected.toarray())
    np.testing.assert_array_equal(y, labels)


def test_comments_empty_lines_and_line_ends_do_not_matter(tmp_path: Path) -> None:
    text = "\ufeff# head, qid:3 and a_b\r\n\r\n+1 1:0.5  3:2 # a_b 9:9\r\n   \n-1\t2:1e0\n \t# more\n0\n2 3:-4"
    X, y = whole(written(tmp_path / "rows.svm", text), 2)
    assert X.toarray().tolist() == [[0.5, 0, 2], [0, 1, 0], [0, 0, 0], [0, 0, -4]]
    assert y.tolist() == [1, -1, 0, 2]


def test_columns_are_counted_over_the_whole_file(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.svm", "1 1:1\n" * 5 + "1 2:1 9:1\n" + "1 3:1\n")
    assert [X.shape for X, _ in read_chunks(path, 3)] == [(3, 9), (3, 9), (1, 9)]
    assert [X.shape for X, _ in read_chunks(path, 3, zero_based=True)] == [(3, 10), (3, 10), (1, 10)]
    assert [X.shape for X, _ in read_chunks(path, 3, n_features=12)] == [(3, 12), (3, 12), (1, 12)]


def test_sparse_chunks_have_the_indices_that_compiled_code_expects(tmp_path: Path) -> None:
    X, _ = next(read_chunks(written(tmp_path / "rows.svm", "1 2:3\n")))
    assert (X.indices.dtype, X.indptr.dtype) == (np.int32, np.int32)


BAD_LINES = [
    ("x 1:2", "the label 'x' is not a number; a line reads 'label index:value"),
    ("1,2 1:2", "the label '1,2' is not a number; a line reads 'label index:value"),
    ("1:2 2:3", "the label '1:2' is not a number; a line reads 'label index:value"),
    ("nan 1:2", "the label 'nan' is not finite; fill in or remove such values"),
    ("1 qid:4 1:2", "'qid:4' marks a query for ranking, which cannot be learned here; remove the qid entries"),
    ("1 qid:4", "'qid:4' marks a query for ranking"),
    ("1 3", "'3' is not index:value with a whole number as its index; correct or remove it"),
    ("1 a:3", "'a:3' is not index:value with a whole number as its index; correct or remove it"),
    ("1 1.5:3", "'1.5:3' is not index:value with a whole number as its index; correct or remove it"),
    ("1 1_0:3", "'1_0:3' is not index:value with a whole number as its index; correct or remove it"),
    ("1 1:", "in '1:' the value is wrong: the value is empty; fill in missing values"),
    ("1 1:x", "in '1:x' the value is wrong: 'x' is not a number"),
    ("1 1:1_0", "in '1:1_0' the value is wrong: '1_0' is not a number"),
    ("1 1:nan", "in '1:nan' the value is wrong: 'nan' is not finite; fill in or remove such values"),
    ("1 1:-inf", "in '1:-inf' the value is wrong: '-inf' is not finite; fill in or remove such values"),
    ("1 1:1e39", "in '1:1e39' the value is wrong: '1e39' is too large for float32; scale the data or pass dtype="),
    ("1 0:3", "the index 0 is below 1, the first column; if this file counts from 0, pass zero_based=True"),
    ("1 -2:3", "the index -2 is below 1, the first column; correct it"),
    ("1 3:1 2:1", "the index 2 follows 3; indices must increase within a line, so sort them"),
    ("1 2:1 2:1", "the index 2 follows 2; indices must increase within a line, so sort them"),
    ("1 2147483647:1", "the index 2147483647 is beyond 2147483646, the largest possible; renumber the columns"),
    ("1 99999999999:1", "the index 99999999999 is beyond 2147483646, the largest possible; renumber the columns"),
]


@pytest.mark.parametrize("n_features", [None, 5])
@pytest.mark.parametrize(("line", "message"), BAD_LINES)
def test_a_bad_svmlight_line_is_named(tmp_path: Path, line: str, message: str, n_features: int | None) -> None:
    text = f"# comment\n\n1 1:1\n1 2:1\n1 5:1\n1 1:2\n{line}  # comment\n1 1:1\nworse\n"
    complaint = error_of(written(tmp_path / "rows.svm", text), n_features=n_features)
    assert complaint.startswith(f"FILE, line 7: {message}")


def test_an_index_beyond_the_columns_promised_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.svm", "1 0:1 5:1\n" * 4 + "1 6:1\n")
    assert error_of(path, n_features=6, zero_based=True) == (
        "FILE, line 5: the index 6 is beyond the last column, 5, of n_features=6; "
        "pass n_features=7 or more, or None to have the columns counted"
    )
    path = written(tmp_path / "rows.svm", "1 1:1 5:1\n" * 4 + "1 6:1\n")
    assert "the index 6 is beyond the last column, 5, of n_features=5; pass n_features=6" in error_of(
        path, n_features=5
    )


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    message = error_of(written(tmp_path / "rows.svm", b"1 1:1\n\xff\xfe 1:1\n"))
    assert message.startswith(r"FILE, line 2: the label '\\xff\\xfe' is not a number")


def test_what_nobody_can_explain_still_names_the_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise ValueError("no reason")

    monkeypatch.setattr("sklearn.datasets.load_svmlight_file", refuse)
    message = error_of(written(tmp_path / "rows.svm", "\n1 1:1\n1 1:1\n"))
    assert message.startswith("FILE, lines 2 to 3: not svmlight text (no reason); a line reads")
    message = error_of(written(tmp_path / "rows.csv", "a,b\n1,x\n1,\0\n"))  # NumPy does not keep such a label
    assert message.startswith("FILE, lines 2 to 3: not a table of numbers; write cells as plain numbers")


def test_a_file_of_labels_alone_asks_for_the_number_of_columns(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.svm", "1\n-1\n")
    assert error_of(path) == "FILE: no line has a feature, so there are no columns to count; pass n_features="
    X, y = whole(path, n_features=4)
    assert (X.shape, y.tolist()) == ((2, 4), [1, -1])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are POSIX")
def test_the_columns_of_a_pipe_are_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "pipe.svm"
    os.mkfifo(path)
    assert "can be read only once, so its columns cannot be counted first; pass n_features=" in error_of(path)


# -- CSV ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz", ".csv.bz2", ".csv.xz"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("target", [-1, 0, 2, -3])
def test_csv_chunks_are_what_numpy_reads(tmp_path: Path, ending: str, dtype: Any, header: bool, target: int) -> None:
    separator = "\t" if "tsv" in ending else ","
    table = np.random.default_rng(1).normal(size=(11, 5))
    names = [separator.join("abcde")] if header else []
    lines = names + [separator.join(map(repr, row)) for row in table.tolist()]
    X, y = whole(written(tmp_path / f"rows{ending}", "\n".join(lines)), 4, dtype=dtype, target=target)
    assert (X.dtype, y.dtype) == (dtype, np.float64)
    assert X.flags.c_contiguous
    np.testing.assert_array_equal(X, np.delete(table, target, axis=1).astype(dtype))
    np.testing.assert_array_equal(y, table[:, target])


def test_the_target_may_be_a_name(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", '\ufefffirst,"the label", last \r\n1,2,3\r\n\r\n4,5,6\r\n')
    X, y = whole(path, target="first")
    assert (X.tolist(), y.tolist()) == ([[2, 3], [5, 6]], [1, 4])
    assert whole(path, target="the label")[1].tolist() == [2, 5]
    assert whole(path, target="last")[1].tolist() == [3, 6]


def test_labels_that_are_no_numbers_stay_text(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", 'kind,a,b\n"big, red",1,2\n 7 ,3,"4"\n"say ""no""",5,6\nnan,7,8\nä,9,10\n')
    X, y = whole(path, 2, target="kind")
    assert y.dtype.kind == "U"
    assert y.tolist() == ["big, red", "7", 'say "no"', "nan", "ä"]
    assert X.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]


def test_the_caller_may_decide_whether_there_is_a_header(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", "1,2,yes\n3,4,no\n")
    assert whole(path)[1].tolist() == ["no"]
    assert whole(path, header=False)[1].tolist() == ["yes", "no"]
    path = written(tmp_path / "rows.csv", "0,1\n3,4\n")
    assert whole(path)[1].tolist() == [1, 4]
    assert whole(path, header=True, target="0")[1].tolist() == [3]


BAD_ROWS = [
    ("1,red,3", ", column 'b': 'red' is not a number; encode the column as numbers or remove it, or, if it holds"),
    ("1,1_0,3", ", column 'b': '1_0' is not a number; encode the column"),
    ("1,,3", ", column 'b': the value is empty; fill in missing values, or remove the row or the column"),
    ("1, ,3", ", column 'b': the value is empty; fill in missing values"),
    ("1,NaN,3", ", column 'b': 'NaN' is not finite; fill in or remove such values"),
    ("1,inf,3", ", column 'b': 'inf' is not finite; fill in or remove such values"),
    ("1e39,2,3", ", column 'a': '1e39' is too large for float32; scale the data or pass dtype=np.float64"),
    ("1,2", ": 2 cells where the first line has 3; complete the line, or quote cells that contain ','"),
    ("1,2,3,4", ": 4 cells where the first line has 3; complete the line, or quote cells that contain ','"),
    ('1,2,"3', ": the row that begins here cannot be split into cells (unexpected end of data); look for a"),
    (b"1,2,\x81", ": not UTF-8 text (invalid start byte at byte 5); it looks like an older encoding"),
]


@pytest.mark.parametrize("labels", ["text", "numbers"])
@pytest.mark.parametrize("rows", [1, 3, 100])
@pytest.mark.parametrize(("row", "message"), BAD_ROWS)
def test_a_bad_csv_row_is_named(tmp_path: Path, row: str | bytes, message: str, labels: str, rows: int) -> None:
    good = b"1,2,yes\n" if labels == "text" else b"1,2,3\n"
    bad = row if isinstance(row, bytes) else row.encode()
    path = written(tmp_path / "rows.csv", b"a,b,c\n\n" + 3 * good + bad + b"\n" + 2 * good + b"worse\n")
    assert error_of(path, rows=rows).startswith(f"FILE, line 6{message}")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,2,", "the label is empty; fill it in or remove the row"),
        ("1,2,nan", "the label 'nan' is not finite; fill in or remove such values"),
        ("1,2,yes", "the label 'yes' is not a number, but all labels of the first chunk are; write all labels as"),
    ],
)
def test_a_bad_label_is_named(tmp_path: Path, row: str, message: str) -> None:
    path = written(tmp_path / "rows.csv", "1,2,3\n" * 4 + row + "\n1,2,3\n")
    assert error_of(path).startswith(f"FILE, line 5, column 2 (from 0): {message}")


def test_an_empty_label_among_text_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", "a,b\n1,yes\n1, \n")
    assert error_of(path) == "FILE, line 3, column 'b': the label is empty; fill it in or remove the row"


def test_an_empty_cell_in_the_first_line_does_not_make_it_a_header(tmp_path: Path) -> None:
    assert error_of(written(tmp_path / "rows.csv", "1,,3\n1,2,3\n")).startswith("FILE, line 1, column 1 (from 0): the")


def test_a_first_line_that_cannot_be_split_is_named(tmp_path: Path) -> None:
    assert error_of(written(tmp_path / "rows.csv", '\na,"b\n1,2\n')).startswith("FILE, line 2: the row that beg")
    assert error_of(written(tmp_path / "rows.csv", b"\x81,b\n1,2\n")).startswith("FILE, line 1: not UTF-8 text")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_labels_are_the_same_in_every_encoding_that_is_found(tmp_path: Path, encoding: str, end: str) -> None:
    path = written(tmp_path / "rows.csv", f"größe,b\n1,no\n2,é{end}".encode(encoding))
    X, y = whole(path)
    assert X.tolist() == [[1], [2]]
    assert y.tolist() == ["no", "é"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "a,b\n1,2\n",
            {"target": "c"},
            "there is no column named 'c'; pass target= as an index, or as one of 'a', 'b'",
        ),
        ("a,a\n1,2\n", {"target": "a"}, "there are 2 columns named 'a'; pass target= as an index"),
        ("1,2\n", {"target": "a"}, "without a header line there is no column 'a'; pass target= as an index"),
        ("1,2\n", {"target": 2}, "there is no column 2; pass target=-2 to 1"),
        (
            "1;2\n",
            {},
            "there is one column only, and labels and features need two; in text, cells must be separated by",
        ),
        ("1,2,3\n", {"n_features": 3}, "has 2 columns besides the target, not n_features=3; leave n_features out"),
    ],
)
def test_wrong_columns_are_named(tmp_path: Path, text: str, options: dict[str, Any], message: str) -> None:
    assert message in error_of(written(tmp_path / "rows.csv", text), **options)


def test_the_number_of_features_of_a_csv_file_may_be_stated(tmp_path: Path) -> None:
    X, _ = whole(written(tmp_path / "rows.csv", "1,2,3\n"), n_features=2)
    assert X.shape == (1, 2)


# -- Parquet --------------------------------------------------------------------------------------------------------


def stored(path: Path, columns: dict[str, Any], **how: Any) -> Path:
    """The path of a Parquet file with these columns."""
    pa = pytest.importorskip("pyarrow", reason=NO_ARROW)
    pq = pytest.importorskip("pyarrow.parquet", reason=NO_ARROW)
    pq.write_table(pa.table(columns), path, **how)
    return path


@pytest.mark.parametrize("row_group_size", [2, 5, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parquet_chunks_are_what_was_written(tmp_path: Path, row_group_size: int, dtype: Any) -> None:
    rng = np.random.default_rng(2)
    columns = {
        "a": rng.normal(size=17),
        "label": rng.integers(0, 3, 17),
        "b": rng.normal(size=17).astype(np.float32),
        "c": rng.integers(0, 9, 17),
        "d": rng.integers(0, 2, 17).astype(bool),
    }
    path = stored(tmp_path / "rows.parquet", columns, row_group_size=row_group_size)
    X, y = whole(path, 4, target="label", dtype=dtype)
    assert (X.dtype, y.dtype) == (dtype, np.float64)
    np.testing.assert_array_equal(X, np.column_stack([columns[name] for name in "abcd"]).astype(dtype))
    np.testing.assert_array_equal(y, columns["label"])


@pytest.mark.parametrize("encoded", [False, True])
def test_labels_in_parquet_may_be_text(tmp_path: Path, encoded: bool) -> None:
    pa = pytest.importorskip("pyarrow", reason=NO_ARROW)
    labels = pa.array(["yes", "no", "maybe", "no", "ä"])
    path = stored(tmp_path / "rows.parquet", {"a": range(5), "b": labels.dictionary_encode() if encoded else labels})
    X, y = whole(path, 2)
    assert y.dtype.kind == "U"
    assert (X.ravel().tolist(), y.tolist()) == ([0, 1, 2, 3, 4], ["yes", "no", "maybe", "no", "ä"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1, 2, 3, 4, None], "y": [0] * 5}, ", row 4 (from 0), column 'a': the value is null; fill in missing"),
        ({"a": [1] * 5, "y": ["u"] * 4 + [None]}, ", row 4 (from 0), column 'y': the value is null; fill in missing"),
        ({"a": [1.0] * 4 + [np.nan], "y": [0] * 5}, ", row 4 (from 0), column 'a': nan is not finite as float32; fill"),
        ({"a": [1.0] * 4 + [1e39], "y": [0] * 5}, ", row 4 (from 0), column 'a': 1e+39 is not finite as float32; sca"),
        ({"a": [1.0] * 5, "y": [0.0] * 4 + [np.inf]}, ", row 4 (from 0), column 'y': inf is not finite as float64; f"),
        ({"a": ["u"], "y": [0]}, ", column 'a': its type is string, not numbers; convert or remove the column, or, if"),
        ({"a": [1], "y": [[0]]}, ", column 'y': its type is list<"),
        ({"a": [1]}, ": there is one column only"),
    ],
)
def test_a_bad_parquet_value_is_named(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    assert error_of(stored(tmp_path / "rows.parquet", columns)).startswith(f"FILE{message}")


def test_a_file_that_is_not_parquet_is_named(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason=NO_ARROW)
    message = error_of(written(tmp_path / "rows.parquet", "a,b\n1,2\n" * 9))
    assert message.startswith("FILE: pyarrow cannot read the file (")
    assert message.endswith("check that it is Parquet, written completely")


def test_without_pyarrow_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"rows\.parquet needs pyarrow; .*`pip install maxmargin\[parquet\]`"):
        read_chunks(written(tmp_path / "rows.parquet", "x"))


# -- streaming ------------------------------------------------------------------------------------------------------


def peak_while_reading(path: Path, **options: Any) -> tuple[int, int]:
    """(rows, peak of the memory that Python and NumPy ask for, in bytes) of one pass over a file."""
    next(read_chunks(path, **{**options, "rows": 1})).X.sum()  # what is imported at first use is not counted
    tracemalloc.start()
    try:
        rows = sum(len(y) for _, y in read_chunks(path, **options))
        return rows, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_large_svmlight_file_takes_little_memory(tmp_path: Path) -> None:
    line = "-1 " + " ".join(f"{index}:0.{index:060d}" for index in range(1000, 1040)) + "\n"
    path, times = tmp_path / "large.svm", 30 * MEGABYTE // len(line)
    path.write_text(line * times)
    rows, peak = peak_while_reading(path, rows=200)  # columns are counted, too
    assert rows == times
    assert peak < path.stat().st_size / 15


def test_a_large_csv_file_takes_little_memory(tmp_path: Path) -> None:
    line = ",".join(f"0.{index:012d}" for index in range(40)) + ",1\n"
    path, times = tmp_path / "large.csv", 30 * MEGABYTE // len(line)
    path.write_text(line * times)
    rows, peak = peak_while_reading(path, rows=500)
    assert rows == times
    assert peak < path.stat().st_size / 15


def test_a_large_parquet_file_of_one_row_group_takes_little_memory(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason=NO_ARROW)
    rng = np.random.default_rng(3)
    columns = {f"x{column}": rng.normal(size=200_000) for column in range(20)}
    path = stored(tmp_path / "large.parquet", columns, row_group_size=200_000, compression="none", use_dictionary=False)
    assert path.stat().st_size > 30 * MEGABYTE
    columns.clear()
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in read_chunks(path, rows=2000)]
    assert len(held) == 100
    assert max(held) < path.stat().st_size / 5


def test_the_memory_check_sees_a_file_that_is_read_whole(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", "1.000000,2.000000\n" * 10_000)
    assert peak_while_reading(path, rows=10_000)[1] > path.stat().st_size


def test_a_stream_that_is_left_early_closes_its_file(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", "1,2\n" * 10)
    chunks = read_chunks(path, 1)
    assert inspect.isgenerator(chunks)
    next(chunks)
    chunks.close()
    path.unlink()  # which Windows refuses while a file is open
    assert list(chunks) == []


def test_a_model_learns_from_chunks(tmp_path: Path, sparse_rows: tuple[sp.csr_matrix, np.ndarray]) -> None:
    path = tmp_path / "rows.svm"
    dump_svmlight_file(*sparse_rows, str(path), zero_based=False)
    model = SGDClassifier(random_state=0)
    for X, y in read_chunks(path, rows=6):
        model.partial_fit(X, y, classes=[0, 1, 2])
    assert model.coef_.shape == (3, 7)


def test_importing_the_module_loads_neither_scikit_learn_nor_pyarrow() -> None:
    where = str(Path(maxmargin.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {where!r}); import maxmargin; maxmargin.io.read_chunks; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    loaded = set(run.stdout.split())
    assert "maxmargin.io" in loaded
    assert loaded & {"sklearn", "pyarrow", "pandas"} == set()
