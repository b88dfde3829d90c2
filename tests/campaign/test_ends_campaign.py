"""A small version of the campaign ``make ends``: its cases end within bounded work, and it catches what does not."""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from benchmarks.campaign import ends
from benchmarks.campaign.ends import Outcome, failures, figures, known, outcome, watched
from benchmarks.campaign.ends_cases import KERNEL_SOLVERS, LINEAR_SOLVERS, MACHINES, MOST_ROWS, case

#: Steps, whatever a machine counts as one, that none of the small problems needs.
MOST_STEPS = 1_000_000
#: A worker that fits nothing: seed 1 hangs, seed 2 dies, the others end at once.
WORKER = """
import json, os, sys, time
for seed in map(int, sys.argv[1:]):
    print(json.dumps({"begins": seed}), flush=True)
    if seed == 1:
        time.sleep(60)
    if seed == 2:
        os._exit(3)
    made = {"seed": seed, "seconds": 0.1, "cpu": 0.1, "ended": "reached", "steps": 5, "what": f"seed {seed}"}
    print(json.dumps(made), flush=True)
"""


@pytest.mark.parametrize("number", range(len(MACHINES)))
def test_every_machine_ends(number):
    for turn in range(6):
        made = outcome(case(number + turn * len(MACHINES)))
        assert not made.ended.startswith("undocumented"), made
        assert made.steps <= MOST_STEPS, made


def test_the_cases_are_what_the_campaign_promises():
    made = [case(seed) for seed in range(30 * len(MACHINES))]
    assert max(len(one.X) for one in made) <= MOST_ROWS
    assert {type(one.machine).__name__ for one in made} >= {"SVC", "NuSVR", "SVDD", "LinearSVC", "LSSVC", "Perceptron"}
    options = [one.machine.get_params() for one in made]
    assert {chosen.get("fit_intercept") for chosen in options} >= {True, False}
    assert {chosen.get("solver") for chosen in options} >= {*KERNEL_SOLVERS, *LINEAR_SOLVERS}
    assert str(case(7)) == str(case(7))
    assert (case(7).X == case(7).X).all()


def test_a_fit_that_hangs_is_killed_and_one_that_dies_is_named():
    found = list(watched([0, 1, 2, 3], 2.0, [sys.executable, "-c", WORKER]))
    assert [one.seed for one in found] == [0, 1, 2, 3]
    assert Counter(one.ended for one in found) == {"reached": 2, "killed": 1, "crashed": 1}
    assert [one.seed for one in failures(found)] == [1, 2]
    assert any("2 above" in line for line in figures(found))


def test_a_slow_fit_and_an_undocumented_error_are_failures():
    fine = Outcome(0, 4.9, 1.0, "warned", 10, "a")
    slow = Outcome(1, 5.0, 5.1, "reached", 10, "b")
    wrong = Outcome(2, 0.1, 0.1, "undocumented ZeroDivisionError", 0, "c")
    assert failures([fine, slow, wrong]) == [slow, wrong]


def test_a_second_run_goes_on_where_the_first_one_ended(tmp_path, monkeypatch, capsys):
    asked = []

    def fake(seeds, patience, command):
        asked.append(list(seeds))
        yield from (Outcome(seed, 0.1, 0.1, "reached", 1, "") for seed in seeds)

    monkeypatch.setattr(ends, "watched", fake)
    out = tmp_path / "ends.jsonl"
    assert ends.main(["--count", "3", "--out", str(out)]) == 0
    out.write_text(out.read_text() + '{"seed": 3, "sec')  # cut off while it was written
    assert ends.main(["--count", "5", "--out", str(out)]) == 0
    assert asked == [[0, 1, 2], [3, 4]]
    assert sorted(one.seed for one in known(out)) == [0, 1, 2, 3, 4]
    assert "5 fits" in capsys.readouterr().out
