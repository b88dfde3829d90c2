"""Files appear whole or not at all: killed writers, full disks, links and permissions."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import maxmargin
from maxmargin import SVC, io
from maxmargin.io._files import replacing

SOURCE = str(Path(maxmargin.__file__).parents[1])
WRITER = """
import sys
sys.path.insert(0, {source!r})
import numpy as np
from maxmargin import SVC, io
{before}
large = {{"rows": np.zeros({size})}}
print("ready", flush=True)
while True:
    io.save(SVC(C=2.0), {path!r}, record=large)
"""


def writer(path: Path, size: int, before: str = "") -> subprocess.Popen[str]:
    code = WRITER.format(source=SOURCE, path=str(path), size=size, before=before)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "m.mm"
    io.save(SVC(C=1.0), path)
    found = set()
    for delay in (0.0, 0.01, 0.1):
        process = writer(path, 3_000_000)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(delay)
        process.kill()
        process.communicate()
        found.add(io.load(path).C)
    assert found <= {1.0, 2.0}


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit on the size of files to stand for a full disk")
def test_a_full_disk_is_a_clear_error_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "m.mm"
    io.save(SVC(C=1.0), path)
    limit = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))"
    process = writer(path, 1_000_000, limit)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert f"while {path} was written; the old file is unchanged" in errors.strip().splitlines()[-1]
    assert "Exception ignored" not in errors
    assert io.load(path).C == 1.0
    assert os.listdir(tmp_path) == ["m.mm"]


def test_an_error_keeps_its_number_and_leaves_nothing(tmp_path: Path) -> None:
    def write() -> None:
        with replacing(tmp_path / "new") as file:
            file.write(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="no file was made") as caught:
        write()
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(b"old")

    def write() -> None:
        with replacing(tmp_path / "m") as file:
            file.write(b"new")
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        write()
    assert (tmp_path / "m").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["m"]


def test_places_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder"):
        io.save(SVC(), tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist; make it first"):
        io.save(SVC(), tmp_path / "nowhere" / "m.mm")


@pytest.mark.skipif(sys.platform == "win32", reason="links and permissions are other ones there")
def test_links_are_followed_and_permissions_kept(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "m.mm", tmp_path / "m.mm"
    io.save(SVC(C=1.0), real)
    real.chmod(0o640)
    link.symlink_to(real)
    io.save(SVC(C=2.0), link)
    assert link.is_symlink()
    assert io.load(real).C == 2.0
    assert real.stat().st_mode & 0o777 == 0o640
    mask = os.umask(0o027)
    try:
        io.save(SVC(), tmp_path / "new.mm", record={"a": np.arange(3)})
    finally:
        os.umask(mask)
    assert (tmp_path / "new.mm").stat().st_mode & 0o777 == 0o640
