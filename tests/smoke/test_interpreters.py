"""Which interpreters the smoke part runs on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.smoke import interpreters as smoke

MISSING = "3.99"


@pytest.fixture
def pythons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A PATH of our own, on which programs say they are some Python."""
    if sys.platform == "win32":
        pytest.skip("the programs are shell scripts")
    monkeypatch.setenv("PATH", str(tmp_path))

    def add(name: str, body: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return str(path)

    return add


def test_the_declared_versions_are_those_of_the_classifiers() -> None:
    assert "3.11" in smoke.declared()
    assert all(version.startswith("3.") for version in smoke.declared())


def test_interpreters_on_the_path_and_of_pyenv_are_found(pythons, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(smoke, "declared", lambda: [smoke.HERE, "3.96", "3.97", "3.98", MISSING])
    pythons("python3.96", "echo 3.96")
    pythons("python3.97", "exit 127")  # a shim that leads nowhere
    pythons("versions/3.97.2/bin/python", "echo 3.97")
    newest = pythons("versions/3.97.10/bin/python", "echo 3.97")
    pythons("python3.98", "echo 3.97")  # not what its name says
    pythons("pyenv", f'[ "$1" = root ] && echo {tmp_path} || echo "3.97.2 3.97.10"')
    assert smoke.interpreters([]) == {"3.96": "python3.96", "3.97": newest, "3.98": None, MISSING: None}


def test_named_interpreters_go_first_and_must_run(pythons, monkeypatch) -> None:
    monkeypatch.setattr(smoke, "declared", lambda: [smoke.HERE, "3.96"])
    pythons("python3.96", "echo 3.96")
    mine, other = pythons("mine", "echo 3.96"), pythons("other", f"echo {MISSING}")
    assert smoke.interpreters([mine, other]) == {"3.96": mine, MISSING: other}
    with pytest.raises(SystemExit, match="nowhere"):
        smoke.interpreters([mine, "nowhere"])


def test_a_failure_is_a_failure_and_a_missing_interpreter_is_named(monkeypatch, capsys) -> None:
    monkeypatch.setattr(smoke, "interpreters", lambda named: {MISSING: None})
    ran = []
    for code, expected in ((0, 0), (1, 1)):
        monkeypatch.setattr(smoke, "passes", lambda what, command, code=code: ran.append(command) or code == 0)
        assert smoke.main() == expected
    assert ran[0][1] == "-OO"
    assert f"Python {MISSING}: none was found" in capsys.readouterr().out


def test_a_part_that_takes_too_long_or_fails_is_told(monkeypatch, capsys) -> None:
    assert not smoke.passes("wrong", [sys.executable, "-c", "raise SystemExit(1)"])
    assert smoke.passes("right", [sys.executable, "-c", "pass"])
    monkeypatch.setattr(smoke, "HANGS", 0.05)
    assert not smoke.passes("hanging", [sys.executable, "-c", "import time; time.sleep(60)"])
    said = capsys.readouterr().out
    assert "wrong: FAILED" in said
    assert "right: passed" in said
    assert "hanging: FAILED" in said


@pytest.mark.skipif(sys.platform == "win32", reason="processor time is bounded on POSIX systems")
def test_a_part_that_works_too_long_is_stopped(monkeypatch, capsys) -> None:
    monkeypatch.setattr(smoke, "LIMIT", 1)
    assert not smoke.passes("slow", [sys.executable, "-c", "while True: pass"])
    assert "slow: more than 1 s of processor time" in capsys.readouterr().out
