"""The file: written whole or not at all, with errors that say what to do."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from maxmargin.report import Findings, _page, render, require_writable, write_report


def test_the_file_is_the_page(runs: dict[str, Findings], tmp_path: Path) -> None:
    path = write_report(runs["iris"], tmp_path / "report.html")
    assert path == tmp_path.resolve() / "report.html"
    assert path.read_text(encoding="utf-8") == render(runs["iris"])
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    write_report(runs["diabetes"], str(path))
    assert path.read_text(encoding="utf-8") == render(runs["diabetes"])


def test_others_may_read_it_as_far_as_the_user_lets_them(runs: dict[str, Findings], tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x")
    path = write_report(runs["iris"], tmp_path / "report.html")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_a_link_is_followed(runs: dict[str, Findings], tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link.html").symlink_to(tmp_path / "there" / "real.html")
    write_report(runs["iris"], tmp_path / "link.html")
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "there" / "real.html").is_file()


@pytest.mark.parametrize(
    ("place", "error", "words"),
    [
        ("nowhere/report.html", FileNotFoundError, "there is no folder .*create it"),
        ("folder", IsADirectoryError, "that is a folder"),
        ("file/report.html", FileNotFoundError, "there is no folder"),
        ("pipe", OSError, "no ordinary file"),
    ],
)
def test_a_place_that_cannot_be_written(
    runs: dict[str, Findings], tmp_path: Path, place: str, error: type[OSError], words: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(error, match=words):
        require_writable(tmp_path / place)
    with pytest.raises(error, match=words):
        write_report(runs["iris"], tmp_path / place)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_text() == "kept"


def test_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # the superuser may write everywhere
    with pytest.raises(PermissionError, match="not yours to write to"):
        require_writable(tmp_path / "report.html")


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_disk_that_fails_leaves_the_old_report(
    runs: dict[str, Findings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_page.os, step, full)
    with pytest.raises(OSError, match=r"cannot write the report to .*No space left"):
        write_report(runs["iris"], path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_findings_that_cannot_be_rendered_leave_the_old_report(
    runs: dict[str, Findings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def broken(_: Findings) -> str:
        raise ValueError("no page")

    monkeypatch.setattr(_page, "render", broken)
    with pytest.raises(ValueError, match="no page"):
        write_report(runs["iris"], path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
