"""Things that are no plain files, and files that become far larger than they look."""

from __future__ import annotations

import bz2
import gzip
import io as bytes_io
import lzma
import os
import socket
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from maxmargin import SVC
from maxmargin.io import (
    _files,
    load,
    load_liblinear,
    load_libsvm,
    load_record,
    read_chunks,
    read_table,
    read_table_chunks,
    save,
)
from tests.laws import examples

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="devices, sockets and pipes are POSIX's")
CSV = b"a,b,kind\n1,2,x\n3,,y\n5,6,x\n"


def chunks(path: Any, **how: Any) -> list[Any]:
    return list(read_chunks(path, format="csv", **how))


READERS: list[Callable[[Any], Any]] = [
    read_table,
    chunks,
    lambda path: list(read_table_chunks(path, format="csv")),
    load,
    load_record,
    load_libsvm,
    load_liblinear,
]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/dev/urandom"])
def test_devices_are_refused(read: Callable[[Any], Any], path: str) -> None:
    with pytest.raises(ValueError, match=f"{path} is a device, which may never end"):
        read(path)


@pytest.mark.parametrize("read", READERS)
def test_sockets_are_refused(read: Callable[[Any], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the names of sockets are short
    with socket.socket(socket.AF_UNIX) as own:
        own.bind("socket")
        with pytest.raises(ValueError, match="socket is a socket"):
            read("socket")


@pytest.fixture
def piped(tmp_path: Path):
    """A pipe that delivers some bytes, once."""
    path, threads = tmp_path / "pipe", []
    os.mkfifo(path)

    def feed(data: bytes) -> Path:
        thread = threading.Thread(target=path.write_bytes, args=(data,))
        thread.start()
        threads.append(thread)
        return path

    yield feed
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()


def same(one: Any, other: Any) -> bool:
    return one.names == other.names and all(map(np.array_equal, map(str_of, one.columns), map(str_of, other.columns)))


def str_of(column: np.ndarray) -> np.ndarray:
    return column.astype(str)


@pytest.mark.parametrize("kind", ["csv", "svmlight", "npz"])
def test_a_whole_table_from_a_pipe_is_that_of_the_file(kind: str, tmp_path: Path, piped: Any) -> None:
    buffer = bytes_io.BytesIO()
    np.savez(buffer, X=np.eye(3), y=np.arange(3))
    data = {"csv": CSV, "svmlight": b"1 1:2 3:4\n-1 2:5\n", "npz": buffer.getvalue()}[kind]
    (tmp_path / "file").write_bytes(data)
    table = read_table(piped(data), format=kind)
    assert same(table, read_table(tmp_path / "file", format=kind))
    assert table.path == tmp_path / "pipe"


def test_a_pipe_s_format_and_its_mixed_columns_are_found(tmp_path: Path, piped: Any) -> None:
    data = b"a,b\n" + b"1,2\n" * 5000 + b"x,3\n"  # text far below the first block
    table = read_table(piped(data))
    assert table["a"][0] == "1"
    assert len(table) == 5001


def test_errors_name_the_pipe(piped: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"^{tmp_path}/pipe, line 2: 1 cells"):
        read_table(piped(b"a,b\n1\n"))


def test_text_is_streamed_from_a_pipe(piped: Any) -> None:
    X, y = chunks(piped(b"1,2,0\n3,4,1\n"))[0]
    assert X.tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == [0, 1]
    parts = list(read_table_chunks(piped(CSV), rows=2, format="csv"))
    assert [len(part) for part in parts] == [2, 1]


def test_what_a_pipe_cannot_do_is_said(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ValueError, match="pass format="):
        read_table_chunks(path)
    for format in ("parquet", "npz", "arrow"):
        with pytest.raises(ValueError, match="pipe"):
            read_table_chunks(path, format=format)
    with pytest.raises(ValueError, match="Parquet is read from its end"):
        read_chunks(path, format="parquet")
    for read in (load, load_record, load_libsvm, load_liblinear):
        with pytest.raises(ValueError, match="is a pipe"):
            read(path)


def test_an_endless_pipe_ends(piped: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_files, "MOST_PIPED", 1000)
    with pytest.raises(ValueError, match="more than 1,000 bytes"):
        read_table(piped(b"1,2\n" * 400))


# -- bounds -----------------------------------------------------------------------------------------------------------

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@cache
def zeros(pack: str) -> bytes:
    """A little more than 64 MB of them, packed."""
    return PACK[pack](bytes(2**26 + 2))


@pytest.mark.parametrize("pack", PACK)
@pytest.mark.parametrize("kind", ["csv", "svm", "npz", "parquet", "feather"])
def test_zeros_that_were_packed_small_are_not_unpacked_whole(kind: str, pack: str, tmp_path: Path) -> None:
    path = tmp_path / f"zeros.{kind}{pack}"
    path.write_bytes(zeros(pack))
    with pytest.raises(ValueError, match="16,777,216 bytes" if kind in ("csv", "svm") else "if you trust it"):
        read_table(path)


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    length=st.integers(1, 60),
    lines=st.integers(1, 60),
    most=st.integers(10, 1500),
    encoding=st.sampled_from(["utf-8", "utf-16"]),
)
def test_what_is_read_is_never_more_than_the_bounds(
    length: int, lines: int, most: int, encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law: a compressed table is read if and only if its lines and all of it are within the bounds that are stated."""
    monkeypatch.setattr(_files, "MOST_LINE", 40)
    monkeypatch.setattr(_files, "MOST_GROWN", most)
    monkeypatch.setattr(_files, "MOST_TIMES", 0)
    monkeypatch.setattr(_files.most_bytes, "__defaults__", (0,))
    monkeypatch.setattr(_files.grown, "__defaults__", (0,))
    data = (("1" * length + "\n") * lines).encode(encoding)
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(data))
    if length + 1 <= 40 and len(data) <= most:
        assert len(read_table(path, header=False)) == lines
        return
    with pytest.raises(ValueError, match=r"rows\.csv\.gz"):
        read_table(path, header=False)


def test_npz_files_that_unpack_to_far_more_are_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "zeros.npz", X=np.zeros((9000, 1000)), y=np.zeros(9000))
    with pytest.raises(ValueError, match="when decompressed"):
        read_table(tmp_path / "zeros.npz")


def test_plain_files_of_any_size_and_models_are_as_before(tmp_path: Path) -> None:
    save(SVC(C=3.0), tmp_path / "m.mm")
    assert load(tmp_path / "m.mm").C == 3.0
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(CSV))
    assert read_table(tmp_path / "t.csv.gz").names == ("a", "b", "kind")
