"""What campaigns share: seeds one after the other, outcomes counted, a state on disk to go on from.

A trial is a function of its seed. It returns a word for what happened, or raises :class:`Failure`; any other exception
is a failure, too. ``run`` prints one line per kind of trial and returns whether all went well.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

#: Seconds between two notes of where a campaign is.
NOTED = 5.0
#: Failures that are kept in words; more are only counted.
KEPT = 50


class Failure(AssertionError):
    """A trial in which the claim was false."""


class Kind(NamedTuple):
    """A kind of trial: how often it is made in the full campaign, and what it is."""

    trials: int
    trial: Callable[[int], str]


def run(name: str, kinds: dict[str, Kind], description: str | None, words: Sequence[str] | None = None) -> int:
    """Parse the options, make the trials, print the figures; the exit code."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="*", choices=list(kinds), default=list(kinds), help="which; all by default")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, help="seeds of every kind, in place of its own number")
    parser.add_argument("--state", type=Path, help="a file that says where to go on; written as the campaign goes")
    given = parser.parse_args(words)
    ended = [made(name, kind, kinds[kind], given.first, given.count, given.state) for kind in given.kinds]
    return 0 if all(ended) else 1


def made(name: str, title: str, kind: Kind, first: int, count: int | None, state: Path | None) -> bool:
    """Make the trials of one kind, and say how they went; whether all went well."""
    last = first + (kind.trials if count is None else count)
    known = noted(state).get(title, {})
    same = known.get("first") == first
    at = known["next"] if same else first
    outcomes: Counter[str] = Counter(known["outcomes"] if same else {})
    failures: list[str] = list(known["failures"]) if same else []
    began, seen = time.perf_counter(), time.perf_counter()
    for seed in range(at, last):
        try:
            outcomes[kind.trial(seed)] += 1
        except Exception as error:
            outcomes["FAILED"] += 1
            if len(failures) < KEPT:
                failures.append(f"{title} {seed}: {words_of(error)}")
        if state is not None and (time.perf_counter() - seen > NOTED or seed + 1 == last):
            seen = time.perf_counter()
            note(state, title, {"first": first, "next": seed + 1, "outcomes": outcomes, "failures": failures})
    total, seconds = sum(outcomes.values()), time.perf_counter() - began
    figures = ", ".join(f"{outcome} {number:,}" for outcome, number in sorted(outcomes.items()))
    print(f"{name} {title}: {total:,} trials (seeds {first} to {last - 1}), {outcomes['FAILED']} failures in "
          f"{seconds:.0f} s: {figures}", *failures, sep="\n  ", flush=True)  # fmt: skip
    return not outcomes["FAILED"]


def words_of(error: Exception) -> str:
    """What a failure says, and for an error that nobody foresaw the line it comes from."""
    if isinstance(error, Failure):
        return str(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno})"


def noted(state: Path | None) -> dict[str, Any]:
    """What an earlier run has written."""
    return json.loads(state.read_text()) if state is not None and state.exists() else {}


def note(state: Path, title: str, line: dict[str, Any]) -> None:
    """Write where the campaign is, in one step."""
    draft = state.with_name(state.name + ".tmp")
    draft.write_text(json.dumps({**noted(state), title: line}))
    os.replace(draft, state)
