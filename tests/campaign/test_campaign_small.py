"""The campaign in small: what ``make truth`` and its sisters do for hours, on some problems of each kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.campaign import commands
from tests.campaign.definite import examine_definiteness
from tests.campaign.many_rows import examine_many_rows
from tests.campaign.silent import examine_silence
from tests.campaign.truth import examine, examine_exactly, problem_of


def over(examiner: Any, seeds: range, **options: Any) -> dict[str, Any]:
    """Figures of a range of seeds, in this process."""
    return commands.summed([{"problems": 1, **examiner(seed, **options)} for seed in seeds])


def short(total: dict[str, Any]) -> list[str]:
    return [f"{f['rule']} {f['excess']:.1e} {f['recipe']} {f['detail']}" for f in total["faults"]]


@pytest.mark.parametrize(
    ("examiner", "seeds"),
    [
        (examine, range(240)),
        (examine_exactly, range(10_000, 10_030)),
        (examine_definiteness, range(60)),
        (examine_silence, range(20_000, 20_120)),
    ],
    ids=["truth", "truth-exact", "truth-psd", "truth-silent"],
)
def test_no_certificate_is_false(examiner: Any, seeds: range) -> None:
    total = over(examiner, seeds)
    assert total["holding"] > len(seeds) / 2
    assert short(total) == []


@pytest.mark.parametrize("seed", [3423, 6155, 6813, 10597])
def test_seeds_that_have_found_something_find_nothing_more(seed: int) -> None:
    assert short(over(examine, range(seed, seed + 1))) == []


def test_no_certificate_of_many_rows_is_false() -> None:
    total = over(examine_many_rows, range(3), fewest=1500, most=2500)
    assert total["holding"] >= 2
    assert short(total) == []


# -- the commands --------------------------------------------------------------------------------------------------


def test_a_seed_is_always_the_same_problem() -> None:
    for seed in (0, 1, 17):
        one, other = problem_of(seed), problem_of(seed)
        assert (one.X == other.X).all()
        assert (one.spec, one.params, one.configurations) == (other.spec, other.params, other.configurations)


def test_every_machine_and_kernel_turns_up() -> None:
    problems = [problem_of(seed) for seed in range(1500)]
    machines = {"SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "SVDD", "LSSVC", "LinearSVC", "LinearSVR",
                "LinearClassifier", "LinearRegressor"}  # fmt: skip
    assert {p.machine for p in problems} == machines
    assert {p.params.get("multiclass") for p in problems} >= {"ovo", "ovr", "code", "crammer-singer", "weston-watkins"}
    kernels = {p.spec[0] for p in problems if p.spec}
    simple = {"linear", "poly", "rbf", "exponential", "matern", "rational", "laplacian", "chi2", "cosine", "form"}
    assert kernels >= simple | {"precomputed", "callable", "sum", "product", "power", "exp", "over", "warp", "of"}
    assert all(len(p.configurations) >= 2 for p in problems)
    assert {str(p.X.dtype) for p in problems} == {"float32", "float64"}


def answers(seed: int, only: str | None = None) -> dict[str, Any]:
    """A stand-in for an examiner, with a fault, an error and a death in it."""
    if seed == 3:
        raise ZeroDivisionError("planted")
    faults = [{"rule": "dual", "excess": 0.5, "machine": "svc", "detail": "planted"}] if seed == 5 else []
    return {"fits": 2, "certificates": 2, "holding": 1, "faults": faults}


def test_a_campaign_counts_and_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "BLOCK", 4)
    state, key = tmp_path / "truth.jsonl", {"command": "truth", "only": None}
    total = commands.summed(list(commands.run(answers, key, 0, 10, state)))
    assert (total["problems"], total["fits"]) == (10, 18)
    assert [fault["seed"] for fault in total["faults"]] == [5]
    assert [entry["seed"] for entry in total["unexpected"]] == [3]
    assert [json.loads(line)["first"] for line in state.read_text().splitlines()] == [0, 4, 8]
    again = commands.summed(list(commands.run(never, key, 0, 10, state)))
    assert again == total
    other = commands.summed(list(commands.run(answers, {**key, "code": "another"}, 0, 10, state)))
    assert other == total
    assert len(state.read_text().splitlines()) == 6  # results of other code do not count
    assert "1 false, 0 lost, 1 unexpected" in commands.report("truth", total, 1.0, 3)


def never(seed: int, only: str | None = None) -> dict[str, Any]:
    raise AssertionError("a finished block is not examined again")


def test_a_problem_that_does_not_answer_is_lost_and_the_next_goes_on() -> None:
    total = commands.summed(list(commands.run(stubborn, {"command": "truth", "only": None}, 0, 4, None, 1.0)))
    assert total["problems"] == 4
    assert {entry["seed"]: entry["why"] for entry in total["lost"]} == {
        1: "no answer within 1 s",
        2: "the process died",
    }
    assert total["fits"] == 2


def stubborn(seed: int, only: str | None = None) -> dict[str, Any]:
    """An examiner that never answers for seed 1 and takes its process with it for seed 2."""
    import os
    import time

    if seed == 1:
        time.sleep(1000)
    if seed == 2:
        os._exit(1)
    return {"fits": 1, "faults": []}


def test_the_command_line_reports_and_fails_on_faults(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(commands, "commands", lambda: {"truth": (answers, 10, "")})
    assert commands.main(["truth", "--seed", "0", "--count", "3"]) == 0
    assert commands.main(["truth", "--seed", "4", "--count", "2"]) == 1
    out = capsys.readouterr().out
    assert "3 problems" in out
    assert "FALSE dual: 1" in out
