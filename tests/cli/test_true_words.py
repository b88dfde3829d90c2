"""What the command says of optimality and of usefulness is what was proven and measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC, io
from maxmargin.certificates import Certificate
from maxmargin.cli._proof import goal_of, proof_of

QUICK = ("--kernel", "rbf", "--no-tune", "--calibration", "none")


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """A model whose training was cut short, and its data beside it."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(150, 3)).round(3)
    y = (X[:, 0] + draw.normal(size=150) > 0).astype(int)
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    with pytest.warns(ConvergenceWarning):
        machine = SVC(C=10, max_iter=1, random_state=0).fit(X, y)
    io.save(machine, tmp_path / "stopped.mm")
    return tmp_path / "stopped.mm"


def test_what_was_cut_short_is_not_proven_optimal(run, stopped: Path) -> None:
    shown = run("certify", stopped.name, "rows.npz")
    assert shown.code == 1
    assert "not there yet" in shown.text
    assert "proven optimal" not in shown.text
    assert "proven optimal" not in run("inspect", stopped.name).text


def test_certify_holds_a_model_against_the_gap_that_is_asked_for(run, stopped: Path) -> None:
    gap = run("certify", stopped.name, "rows.npz", "--json").document["proof"]["relative_gap"]
    assert gap > 0
    assert run("certify", stopped.name, "rows.npz", "--max-gap", 1.005 * gap).code == 0
    assert run("certify", stopped.name, "rows.npz", "--max-gap", 0.995 * gap).code == 1
    assert run("certify", stopped.name, "rows.npz", "--max-gap", 2).code == 2


def test_a_training_that_was_cut_short_writes_its_model_and_says_so(
    run, flowers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maxmargin.cli._machine.final_parameters", lambda *_: {"max_iter": 1})
    shown = run("train", flowers.name, *QUICK, "--C", "100", "--report", "page.html")
    assert shown.code == 0, shown.text
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (tmp_path / "flowers.mm").exists()
    assert "not there yet" in shown.text
    assert "proven optimal" not in shown.text
    assert "Training stopped early" in page
    assert "proven optimal" not in page


def test_no_gap_is_printed_that_float64_cannot_tell_from_none() -> None:
    tiny = Certificate(
        primal=12.0, dual=12.0, gap=7e-25, relative_gap=6e-26, kkt=1e-13, feasible=True, holds=True, rounding=6e-25
    )
    told = proof_of([tiny], goal_of(SVC()))
    assert told.gap >= 2**-52 * 12
    assert told.relative_gap >= 2**-52
    assert "2.2e-16" in told.sentence
    assert "2.22e-16" in str(tiny)
    assert "rounding" in str(tiny)
    rough = replace(tiny, gap=1e-9, rounding=1e-6, relative_gap=1e-10)
    assert proof_of([rough], goal_of(SVC())).gap == 1e-6
    plain = replace(tiny, gap=1e-4, relative_gap=1e-5)
    assert proof_of([plain], goal_of(SVC())).gap == 1e-4


@pytest.mark.parametrize("name", ["wine", "iris"])
def test_the_rounding_bound_holds_for_real_fits(run, name: str) -> None:
    proof = run("train", name, "--json", "--kernel", "linear", "--C", "1e-8", "--calibration", "none").document["proof"]
    assert proof["gap"] >= 2**-52 * proof["primal"]


def test_words_follow_the_method_of_the_proof(run, flowers: Path, tmp_path: Path) -> None:
    independent = "shares nothing with the code that trained"
    shown = run("train", flowers.name, *QUICK, "--report", "page.html")
    assert "given the arithmetic of the compiled kernel" in shown.text
    assert "--certify full makes it independent" in shown.text
    assert "kernel values" in shown.text
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert independent not in shown.text + page
    assert "given the arithmetic of the compiled kernel" in page
    assert "--certify full makes it independent" in page
    full = run("train", flowers.name, *QUICK, "--certify", "full", "--report", "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for text in (" ".join(full.text.split()), page):
        assert independent in text
        assert "--certify full makes" not in text
        assert "given the arithmetic" not in text
    assert 'certify="full"' in full.out
    assert run("train", flowers.name, "--certify", "half").code == 2
