"""Bad input: a sentence with file and line, exit code 2, and nothing lost or half written."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

GOOD = "a,b,kind\n" + "".join(f"{k % 7},{k * 0.37 % 1:.3f},{'xy'[k % 2]}\n" for k in range(60))


def numbers(column: int, value: str, line: int) -> str:
    """The good table with one cell changed."""
    lines = GOOD.splitlines()
    cells = lines[line - 1].split(",")
    cells[column] = value
    lines[line - 1] = ",".join(cells)
    return "\n".join(lines) + "\n"


CASES = {
    "empty": ("", "is empty"),
    "one line": ("a,b,kind\n", "no rows of values"),
    "few rows": ("a,b,kind\n1,2,x\n3,4,y\n", "2 rows with a value in 'kind'"),
    "ragged": (GOOD + "1,2\n", "line 62: 2 cells where the first line has 3"),
    "one class": (GOOD.replace("y\n", "x\n"), "'kind' is x in every row"),
    "a class of one row": (numbers(2, "z", 30), "line 30: class 'z' of 'kind' has 1 of 60 rows"),
    "twice the same name": (GOOD.replace("a,b", "a,a", 1), "columns 1 and 2 are both named 'a'"),
    "infinite": (numbers(1, "inf", 10), "line 10, column 'b': 'inf' is not finite"),
    "text among numbers": (numbers(1, "abc", 10), "line 10, column 'b': 'abc' is not a number, and 59 other cells"),
    "quotes": (GOOD + '1,"2,x\n', "line 62: the row that begins here"),
    "no column left": ("a,kind\n" + "1,x\n1,y\n" * 20, "no column is left to learn from"),
    "no answers": ("a,kind\n" + "1,\n" * 20, "0 rows with a value in 'kind'"),
    "decimals of both kinds": (
        "a;kind\n" + "".join(f"{k}{',.'[k % 3 == 0]}{k * 7 % 10};{'xy'[k % 2]}\n" for k in range(60)),
        "line 3, column 'a': '1,7' has a decimal comma",
    ),
    "one column": ("a:b:kind\n" + "".join(f"{k}:{k % 7}:{'xy'[k % 2]}\n" for k in range(60)), "say --sep"),
    "classes without end": ("a,kind\n" + "".join(f"{k % 9},name{k}\n" for k in range(60)), "too many for classes"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_table(run, tmp_path: Path, case: str) -> None:
    text, says = CASES[case]
    (tmp_path / "table.csv").write_text(text)
    found = run("train", "table.csv", "--no-tune")
    assert says in found.text
    assert "table.csv" in found.text
    assert found.code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv"]


def test_not_utf_8(run, tmp_path: Path) -> None:  # nor anything else: no text has control characters
    (tmp_path / "table.csv").write_bytes(GOOD.encode().replace(b"a,b", b"a,\xe9\x01", 1))
    found = run("train", "table.csv")
    assert (found.code, "line 1: not UTF-8" in found.text) == (2, True)


def test_a_wrong_target_is_answered_with_the_nearest(run, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(GOOD)
    found = run("train", "table.csv", "--target", "kinds")
    assert found.code == 2
    assert "no column 'kinds' to predict; did you mean 'kind'?" in found.text
    assert "did you mean 'kind'?" in run("train", "table.csv", "--target", "KIND").text
    assert "did you mean 'digits'?" in run("train", "digit").text


def test_a_million_columns(run, tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text(",".join(f"c{k}" for k in range(1_000_000)) + "\n1\n")
    began = time.perf_counter()
    found = run("train", "wide.csv")
    assert (found.code, "1,000,000 columns" in found.text, "svmlight" in found.text) == (2, True, True)
    assert time.perf_counter() - began < 60


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--kernel", "gauss"), "--kernel 'gauss' is unknown; choose linear, rbf, poly, sigmoid"),
        (("--C", "-1"), "--C -1 must be a number above 0"),
        (("--test-size", "1.5"), "--test-size 1.5"),
        (("--folds", "1"), "--folds 1"),
        (("--scoring", "accurracy"), "did you mean accuracy?"),
        (("--multiclass", "all"), "--multiclass 'all' is unknown"),
        (("--gamma", "1", "--kernel", "linear"), "--gamma is the width of a kernel"),
        (("--drop", "nothing"), "no column 'nothing'"),
        (("--drop", "a", "--drop", "b"), "no column is left"),
        (("--task", "regression"), "is text"),
        (("--out", "missing/model.mm"), "the folder missing does not exist"),
        (("--out", "."), "is a folder"),
        (("--out", "table.csv"), "which it would replace"),
        (("--out", "same.mm", "--report", "same.mm"), "which it would replace"),
        (("--report", "missing/report.html"), "the folder missing does not exist"),
    ],
)
def test_a_bad_option(run, tmp_path: Path, options: tuple[str, ...], says: str) -> None:
    (tmp_path / "table.csv").write_text(GOOD)
    found = run("train", "table.csv", *options)
    assert says in found.text
    assert found.code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_seen_before_training(run, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(GOOD)
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    found = run("train", "table.csv", "--out", "locked/model.mm")
    assert (found.code, "cannot be written" in found.text) == (2, True)


def test_a_full_disk_leaves_the_old_model(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "table.csv").write_text(GOOD)
    assert run("train", "table.csv", "--no-tune").code == 0
    before = (tmp_path / "table.mm").read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("maxmargin.io._files.os.fsync", full)
    found = run("train", "table.csv", "--no-tune", "--seed", "1")
    assert found.code == 1
    assert "disk is full" in found.text
    assert (tmp_path / "table.mm").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.csv", "table.mm"]


def test_damaged_models_are_bad_input(run, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(GOOD)
    assert run("train", "table.csv", "--no-tune").code == 0
    whole = (tmp_path / "table.mm").read_bytes()
    (tmp_path / "table.mm").write_bytes(whole[: len(whole) // 2])
    for words in (("predict", "table.mm", "table.csv"), ("inspect", "table.mm"), ("certify", "table.mm", "table.csv")):
        found = run(*words)
        assert found.code == 2, found.text
        assert "table.mm" in found.text
    (tmp_path / "table.mm").write_text("what is this")
    assert "is no model" in run("inspect", "table.mm").text
    assert "does not exist" in run("inspect", "nothing.mm").text


def test_an_error_that_nobody_foresaw_is_exit_code_1(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr("maxmargin.cli._train.prepare", broken)
    found = run("train", "iris")
    assert found.code == 1
    assert "a mistake of ours" in found.text
    assert "Traceback" in found.text


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_with_what_there_is(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    X = draw.normal(size=(3000, 20))
    y = (np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.5 * draw.normal(size=3000) > 1).astype(int)
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    process = subprocess.Popen(
        [sys.executable, "-m", "maxmargin", "train", "rows.npz", "--json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    process.stderr.readline()  # the data are read; tuning begins
    time.sleep(4.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode in (0, 130), err
    if process.returncode == 130:
        finished = '"model"' in out
        assert (tmp_path / "rows.mm").exists() == finished
        assert finished or "nothing was written" in err
    assert "Traceback" not in err


def test_a_port_in_use_is_bad_input() -> None:
    pytest.importorskip("uvicorn", reason="the playground needs its extra")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "maxmargin", "playground", "--no-browser", "--port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr
    assert "Traceback" not in done.stderr
