"""Running the command inside the process, and tables to run it on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

typer_testing = pytest.importorskip("typer.testing", reason="the command needs the extra `cli`")
pytest.importorskip("rich", reason="the command needs the extra `cli`")


class Result:
    """What a run of the command gave."""

    def __init__(self, ended: Any):
        self.code, self.out, self.err = ended.exit_code, ended.stdout, ended.stderr

    @property
    def text(self) -> str:
        """Everything that was printed, on one line."""
        return " ".join((self.out + self.err).split())

    @property
    def document(self) -> Any:
        """The JSON document: all of standard output."""
        return json.loads(self.out)


Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in an empty folder."""
    from maxmargin.cli._app import app

    monkeypatch.chdir(tmp_path)
    runner = typer_testing.CliRunner()
    return lambda *words: Result(runner.invoke(app, [str(word) for word in words]))


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A messy table: numbers, categories, gaps, names, dates, a constant, an identifier."""
    draw = np.random.default_rng(3)
    lines = ["id,age,income,town,note,constant,empty,buys"]
    for row in range(240):
        age, income = int(draw.integers(18, 80)), float(draw.lognormal(10, 0.5))
        town = str(draw.choice(["Ulm", "Bonn", '"Köln, Süd"']))
        score = 0.15 * (age - 45) + 2.5 * (town == "Ulm")
        buys = "yes" if draw.random() < 1 / (1 + np.exp(-score)) else "no"
        shown = "" if draw.random() < 0.1 else str(age)
        lines.append(f'{row},{shown},{income:.2f},{town},"text {row}\nof ""two"" lines",x,,{buys}')
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def flowers(tmp_path: Path) -> Path:
    """A small clean table of three classes."""
    from sklearn.datasets import load_iris

    iris = load_iris()
    path = tmp_path / "flowers.csv"
    lines = [",".join((*map(str, row), iris.target_names[t])) for row, t in zip(iris.data, iris.target, strict=True)]
    path.write_text("a,b,c,d,species\n" + "\n".join(lines) + "\n")
    return path
