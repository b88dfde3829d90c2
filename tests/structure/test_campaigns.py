"""Campaigns in small: every kind of trial once or twice, and each seen to fail where it should."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the playground needs its extra")

from benchmarks.campaign import _trials, audit, siege
from benchmarks.campaign._trials import Failure, Kind

posix = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks, limits and /proc are Linux's")


def test_trials_are_counted_noted_and_gone_on_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made: list[int] = []

    def trial(seed: int) -> str:
        made.append(seed)
        if seed == 4:
            raise Failure("seed 4 is bad")
        return "even" if seed % 2 == 0 else "odd"

    kinds, state = {"any": Kind(3, trial)}, tmp_path / "state.json"
    assert _trials.run("test", kinds, "", ["--first", "2", "--count", "2", "--state", str(state)]) == 0
    assert _trials.run("test", kinds, "", ["--first", "2", "--count", "4", "--state", str(state)]) == 1
    assert made == [2, 3, 4, 5]
    assert json.loads(state.read_text())["any"]["outcomes"] == {"even": 1, "odd": 2, "FAILED": 1}
    assert "seed 4 is bad" in capsys.readouterr().out


def test_an_error_that_nobody_foresaw_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert _trials.run("test", {"any": Kind(1, lambda seed: 1 / seed)}, "", []) == 1
    assert "ZeroDivisionError" in capsys.readouterr().out


@posix
@pytest.mark.parametrize("kind", ["fits", "train", "saving", "disk", "memory"])
def test_hostile_conditions(kind: str) -> None:
    from benchmarks.campaign import hostile

    for seed in range(2):
        assert hostile.KINDS[kind].trial(seed)


@posix
def test_hostile_trials_see_tracebacks_crashes_and_half_files(tmp_path: Path) -> None:
    from benchmarks.campaign import hostile

    def broken() -> int:
        raise RuntimeError("nobody foresaw this")

    with pytest.raises(Failure, match="nobody foresaw this"):
        hostile.child(broken).require(0)
    with pytest.raises(Failure, match="exit code -9"):
        hostile.child(lambda: time.sleep(60) or 0, hostile.sent(9, 0.0)).require(0)
    (tmp_path / ".m.mm.tmp").write_bytes(b"half")
    with pytest.raises(Failure, match="left behind"):
        hostile.require_whole(tmp_path)


@posix
def test_hostile_trials_see_values_that_a_fit_has_changed() -> None:
    from benchmarks.campaign import hostile

    machine = hostile.mm.LSSVC().fit(*hostile.rows_of(0, 30))
    before = hostile.state_of(machine)
    assert hostile.state_of(machine) == before
    machine.intercept_[0] += 1.0
    assert hostile.state_of(machine) != before


def test_siege_in_small() -> None:
    try:
        for seed in range(60):
            assert siege.message(seed) in ("done", "request", "library")
        assert siege.drag(0) == "fitted"
        assert siege.closed_tab(3, idle=120.0) == "idle"
    finally:
        siege.ended()


def test_a_siege_sees_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def receive_bytes(self) -> bytes:
            from maxmargin.playground._frames import encode

            return encode({"id": 1, "last": True, "error": {"cause": "internal", "message": "oh"}}, {})

    with pytest.raises(Failure, match="internal error: oh"):
        siege.Tab(Broken()).read()


def test_constraints_name_versions_and_nothing_else() -> None:
    lines = [line for line in audit.CONSTRAINTS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[A-Za-z0-9.+!]+", line) for line in lines)
    names = {line.partition("==")[0] for line in lines}
    asked = {audit.normal(re.split(r"[\[<>=; ]", line)[0]) for line in audit.requirements()}
    assert asked <= names


def test_lowest_versions_come_from_the_project() -> None:
    found = audit.lowest(["numpy>=2.0", "dask[distributed]>=2024.8", "x; python_version<'3'", "a_b.c>=1"])
    assert found == {"numpy": "2.0", "dask": "2024.8", "a-b-c": "1"}
    assert set(audit.lowest(audit.requirements())) >= {"numpy", "scipy", "scikit-learn", "numba"}


def test_packages_of_which_nothing_is_known_are_not_called_clean() -> None:
    known, weak = {"name": "a", "version": "1", "vulns": []}, {"name": "b", "version": "2", "vulns": [{"id": "CVE-0"}]}
    unknown = {"name": "c", "skip_reason": "not found"}
    assert audit.answer_of([known]).startswith("clean")
    assert audit.answer_of([known, unknown]).startswith("unanswered: nothing is known of 1 of 2 packages")
    assert audit.answer_of([known, weak, unknown]) == "FOUND: b 2: CVE-0"
