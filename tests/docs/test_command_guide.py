"""The shell lines of the command's page run, in the order of the page."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "command.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def lines() -> list[str]:
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    return [line for block in blocks for line in block.splitlines() if line.startswith("maxmargin ")]


def test_the_shell_lines_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    testing = pytest.importorskip("typer.testing", reason="the command needs the extra `cli`")
    from maxmargin.cli._app import app

    monkeypatch.chdir(tmp_path)
    found = lines()
    assert len(found) > 8
    for line in found:
        ended = testing.CliRunner().invoke(app, shlex.split(line)[1:])
        assert ended.exit_code == 0, f"{line}: {ended.output}"
    assert {"digits.html", "wine.html", "wine.mm", "answers.csv"} <= {path.name for path in tmp_path.iterdir()}


def test_every_command_is_on_the_page() -> None:
    pytest.importorskip("typer", reason="the command needs the extra `cli`")
    from maxmargin.cli._app import app

    text = PAGE.read_text(encoding="utf-8")
    for command in app.registered_commands:
        assert f"`{command.name}" in text


def test_every_option_of_train_is_on_the_page_or_in_the_help() -> None:
    typer = pytest.importorskip("typer", reason="the command needs the extra `cli`")
    from maxmargin.cli._app import app

    train = typer.main.get_command(app).commands["train"]
    text = PAGE.read_text(encoding="utf-8")
    shown = [option for parameter in train.params for option in parameter.opts if option.startswith("--")]
    unexplained = [p.name for p in train.params if not p.help]
    assert unexplained == []
    missing = {option for option in shown if option not in text}
    assert missing <= {"--device", "--format", "--code", "--tune"}
