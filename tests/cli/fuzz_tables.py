"""Random damage to tables of every format: a reader gives a table or a clear error, nothing else.

``make fuzz`` reads very many; ``fuzz(count, seed)`` is a short run over all formats. An input that breaks the rule is
written to the working directory and named in the error.
"""

from __future__ import annotations

import bz2
import gzip
import io as bytes_io
import lzma
import tempfile
from pathlib import Path

import numpy as np

from maxmargin.io import Table, _text, read_table, read_table_chunks
from tests.cli.workbooks import write_excel


class Refused(Exception):
    """A reader said no, as it may."""


#: What a reader may say no with.
REFUSALS = (ValueError, OSError)
#: Pieces that tables are made of, odd ones among them.
PIECES = [
    *(b"1", b"-2.5", b"1e400", b"nan", b"inf", b"abc", b"", b"NA", b"?", b"1_000", b"3,5", b'"a,b"', b'"', b'""'),
    *(
        b"1:2",
        b"0:1",
        b"2:x",
        b"-1:1",
        b"99999999999:1",
        b"#",
        b"qid:1",
        b"\r",
        b"\n",
        b"\r\n",
        b",",
        b";",
        b"\t",
        b"|",
    ),
    *(b" ", b"a" * 300, b"\xff", b"\x00", b"\xef\xbb\xbf", b"\xff\xfe"),
]
GOOD = {
    ".csv": b"a,b,kind\n" + b"".join(b"%d,%.2f,%s\n" % (k, k / 7, b"xy"[k % 2 : k % 2 + 1]) for k in range(12)),
    ".tsv": b"a\tb\n1\t2\n3\t4\n",
    ".svm": b"".join(b"%d 1:%.2f 3:%d\n" % (k % 2, k / 7, k) for k in range(12)),
    ".unknown": b"1 2:3 4:5\n",
    ".json": b'[{"a": 1, "b": "x"}, {"a": null, "b": "y"}]',
    ".jsonl": b'{"a": 1, "b": "x"}\n{"a": null, "b": "y"}\n',
    ".txt": "größe;preis\n1,5;1.234,00 €\n2,5;3,00 €\n".encode("cp1252"),
}
PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def seeds() -> dict[str, bytes]:
    """A good file of every format that can be written here."""
    found = dict(GOOD)
    buffer = bytes_io.BytesIO()
    np.savez(buffer, X=np.eye(4), y=np.arange(4))
    found[".npz"] = buffer.getvalue()
    buffer = bytes_io.BytesIO()
    write_excel(buffer, [["size", "when", "kind"], [1.5, (45000,), "a"], [None, (45001,), "b"]])
    found[".xlsx"] = buffer.getvalue()
    try:
        import pyarrow as pa
        from pyarrow import feather, parquet
    except ImportError:
        return found
    table = pa.table({"a": [1.0, None, 3.0], "b": ["x", "y", None]})
    for ending, write in ((".parquet", parquet.write_table), (".feather", feather.write_feather)):
        buffer = bytes_io.BytesIO()
        write(table, buffer)
        found[ending] = buffer.getvalue()
    return found


def damaged(data: bytes, draw: np.random.Generator) -> bytes:
    """The bytes with a few changes."""
    changed = bytearray(data)
    for _ in range(draw.integers(1, 6)):
        at = int(draw.integers(0, len(changed) + 1))
        what = draw.integers(0, 4)
        if what == 0:
            changed[at:at] = PIECES[draw.integers(0, len(PIECES))]
        elif what == 1:
            del changed[at : at + int(draw.integers(1, 20))]
        elif what == 2 and changed:
            changed[at % len(changed)] ^= 1 << int(draw.integers(0, 8))
        else:
            changed[at : at + 1] = PIECES[draw.integers(0, len(PIECES))]
    return bytes(changed)


def check(path: Path) -> bool:
    """Whether the file is a table; AssertionError if what was read is none, any other error if the reader broke."""
    try:
        table = read_table(path)
    except REFUSALS as error:
        if path.name not in f"{error} {getattr(error, 'filename', '')}":
            raise AssertionError(f"{error!r} does not name the file") from error
        if said_by_pyarrow(path) != str(error):
            raise AssertionError(f"{error!r} is not what is said after pyarrow has looked at the file") from error
        return False
    consistent(table)
    assert said_by_pyarrow(path) == content(table)
    try:
        parts = list(read_table_chunks(path, rows=5))
    except REFUSALS:
        return True
    assert sum(map(len, parts)) == len(table)
    return True


def said_by_pyarrow(path: Path) -> object:
    """The table's content, or the error, if pyarrow is asked first even for a few bytes of text."""
    least, _text.ARROW_LEAST = _text.ARROW_LEAST, 0
    try:
        return content(read_table(path))
    except REFUSALS as error:
        return str(error)
    finally:
        _text.ARROW_LEAST = least


def content(table: Table) -> object:
    """All that a table says, for comparison."""
    return table.names, [repr(column.tolist()) for column in table.columns], repr(table.lines)


def consistent(table: Table) -> None:
    """AssertionError unless the table is one."""
    assert len(table) > 0
    assert len(set(table.names)) == len(table.names) == len(table.columns)
    for name in table.names:
        assert table[name].shape == (len(table),)
        assert table[name].dtype in (np.float64, object)
        if table[name].dtype == np.float64:
            assert not np.isinf(table[name]).any()
    assert len(table.copies(table.names)) == len(table)


def fuzz(count: int, seed: int = 0) -> int:
    """Read ``count`` damaged files; how many of them were tables all the same."""
    draw, good, read = np.random.default_rng(seed), seeds(), 0
    endings = sorted(good)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            ending = endings[draw.integers(0, len(endings))]
            pack = ["", "", "", *PACK][draw.integers(0, 3 + len(PACK))]
            data = PACK[pack](damaged(good[ending], draw))
            if pack and draw.random() < 0.3:
                data = damaged(data, draw)
            path = Path(folder, f"table{ending}{pack}")
            path.write_bytes(data)
            try:
                read += check(path)
            except Exception as error:
                kept = Path(f"fuzz-table-{seed}-{number}{ending}{pack}").resolve()
                kept.write_bytes(data)
                raise AssertionError(f"{kept} breaks the reader: {error!r}") from error
    return read
