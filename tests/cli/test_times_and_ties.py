"""Parts of a run add up to the whole, work is not done that nobody sees, and ties go to the simpler model."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from maxmargin.cli._clock import Clock
from maxmargin.cli._machine import simplest
from maxmargin.cli._print import Screen
from maxmargin.cli._search import Trial


def test_parts_add_up_to_the_whole(run, flowers: Path) -> None:
    told = run("train", flowers.name, "--json", "--no-tune", "--report", "page.html").document
    seconds = told["seconds"]
    whole = seconds.pop("all")
    assert sum(seconds.values()) == pytest.approx(whole, rel=1e-9)
    assert {"read", "look", "tune", "train", "test", "zones", "importance", "learning curve", "write"} <= set(seconds)


def test_a_part_that_fails_is_counted_all_the_same() -> None:
    clock = Clock(Screen(), None)
    with pytest.raises(ValueError, match="no"), clock.part("work"):
        raise ValueError("no")
    assert clock.seconds["work"] >= 0
    assert not clock.late
    assert Clock(Screen(), 1e-9).late


def test_margins_are_not_computed_for_nobody(run, flowers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr("maxmargin.cli._train.support_of", lambda *_: asked.append(1))
    shown = run("train", flowers.name, "--no-tune")
    assert "support vectors" in shown.text
    assert not asked
    run("train", flowers.name, "--no-tune", "--report", "page.html")
    assert asked


def search(score: float, spread: float) -> SimpleNamespace:
    return SimpleNamespace(
        best_score_=score, best_index_=0, n_splits_=5, cv_results_={"std_test_score": np.array([spread])}
    )


def test_a_tie_goes_to_the_simpler_kernel() -> None:
    linear, rbf, weighed = Trial("linear"), Trial("rbf"), Trial("rbf", "balanced")
    assert simplest({linear: search(0.90, 0.04), rbf: search(0.91, 0.04)}) == linear
    assert simplest({linear: search(0.80, 0.04), rbf: search(0.91, 0.04)}) == rbf
    assert simplest({linear: search(0.80, 0.04), rbf: search(0.90, 0.04), weighed: search(0.91, 0.04)}) == weighed


def test_searches_that_time_cut_short_count_for_nothing() -> None:
    linear, rbf = Trial("linear"), Trial("rbf")
    nothing = float("nan")
    assert simplest({linear: search(nothing, nothing), rbf: search(0.8, 0.1)}) == rbf
    assert simplest({linear: search(nothing, nothing), rbf: search(nothing, nothing)}) == linear


def test_any_time_limit_gives_a_model(run) -> None:
    run("train", "wine", "--no-tune")  # what is compiled is there; then the limits end searches at any stage
    for limit in ("0.02", "0.1", "0.2", "0.3", "0.5"):
        found = run("train", "digits", "--json", "--time-limit", limit)
        assert found.code == 0, found.text
        assert found.document["metrics"]["accuracy"] > 0


def test_the_tie_and_the_spread_are_shown(run, tmp_path: Path) -> None:
    shown = run("train", "wine").text
    assert "a tie goes to the simpler kernel" in shown or "linear" in shown
    assert "ties go to the simpler model" in shown
    assert "±" in shown
