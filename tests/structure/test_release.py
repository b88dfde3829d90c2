"""What `make release` asks before it builds, and what it looks for in the archives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import release

ROOT = Path(__file__).parents[2]
CHANGELOG, CITATION = ((ROOT / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "CITATION.cff"))


def test_version_and_day_are_the_same_everywhere() -> None:
    assert release.disagreements(release.version(), CHANGELOG, CITATION) == []


@pytest.mark.parametrize(
    ("changelog", "citation", "what"),
    [
        ("## [1.2.3] - unreleased\n", "version: 1.2.3\n", "no section"),
        ("## [1.2.3] - 2030-01-02\n", "version: 1.2.2\ndate-released: 2030-01-02\n", "does not say version"),
        ("## [1.2.3] - 2030-01-02\n", "version: 1.2.3\ndate-released: 2030-01-01\n", "date-released: 2030-01-02"),
    ],
)
def test_a_difference_is_seen(changelog: str, citation: str, what: str) -> None:
    (found,) = release.disagreements("1.2.3", changelog, citation)
    assert what in found


def test_data_and_compiled_code_are_strangers() -> None:
    names = ["a/b.py", "a/LICENSE", "a/data.npz", "a/x.csv", "a/m.mm", "a/c.so", "a/static/page.js"]
    assert release.strangers(names) == ["a/data.npz", "a/x.csv", "a/m.mm", "a/c.so"]


def test_the_source_archive_holds_what_a_build_needs_and_no_data(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="the archives are built by hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (archive,) = tmp_path.glob("*.tar.gz")
    names = {name.partition("/")[2] for name in release.contents(archive)}
    assert release.strangers(sorted(names)) == []
    assert {"pyproject.toml", "LICENSE", "README.md", "CITATION.cff", "src/maxmargin/__init__.py"} <= names
    assert "tests/conftest.py" in names
