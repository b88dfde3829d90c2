"""A full disk is nobody's input: exit code 1, one sentence, and nothing left half written."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

import maxmargin
from maxmargin.cli import _errors
from maxmargin.cli._errors import BAD_INPUT, FAILED, exit_code_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits and devices are POSIX's")
SOURCE = str(Path(maxmargin.__file__).parents[1])
LIMIT = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
from maxmargin.cli import main
main()
"""


def test_exit_codes_of_the_operating_system_s_errors() -> None:
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE):
        assert exit_code_of(OSError(number, "x")) == FAILED
    for number in (errno.ENOENT, errno.EACCES, errno.EISDIR):
        assert exit_code_of(OSError(number, "x")) == BAD_INPUT
    assert exit_code_of(OSError("the compressed data are damaged")) == BAD_INPUT


def test_a_disk_that_is_full_before_the_work_is_no_bad_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**how):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_errors.tempfile, "TemporaryFile", full)
    with pytest.raises(OSError, match="No space left") as caught:
        _errors.check_writable(tmp_path / "m.mm", "--out")
    assert exit_code_of(caught.value) == FAILED


def command(*words: str, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE,
            code: str = "from maxmargin.cli import main; main()"):  # fmt: skip
    own = {**os.environ, "PYTHONPATH": SOURCE}
    return subprocess.run(
        [sys.executable, "-c", code, *words], env=own, stdout=stdout, stderr=stderr, text=True, timeout=300
    )


def test_training_onto_a_full_disk(tmp_path: Path) -> None:
    ended = command("train", "iris", "--kernel", "linear", "--C", "1", "--no-tune", "--out", str(tmp_path / "m.mm"),
                    code=LIMIT)  # fmt: skip
    assert ended.returncode == FAILED
    assert "Traceback" not in ended.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_printing_onto_a_full_disk() -> None:
    with open("/dev/full", "w") as full:
        ended = command("datasets", "--json", stdout=full.fileno())
    assert ended.returncode == FAILED
    assert "The disk is full" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_the_exit_code_needs_no_disk_to_be_told_on() -> None:
    with open("/dev/full", "w") as full:
        assert command("datasets", "--json", stdout=full.fileno(), stderr=full.fileno()).returncode == FAILED
        assert command("train", "nowhere.csv", stdout=full.fileno(), stderr=full.fileno()).returncode == BAD_INPUT
