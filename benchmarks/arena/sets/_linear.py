"""The cases of linear machines, the same for every set."""

from __future__ import annotations

from benchmarks.arena.case import Case
from benchmarks.arena.linear import TASKS

COSTS = (0.01, 1.0, 100.0)


def linear_cases(large: bool = False, bias: bool = False) -> tuple[Case, ...]:
    """Both losses at every C without an intercept; with `bias` also at C = 1 with a free one, ``-bias``."""
    problems = [(C, False) for C in COSTS] + [(1.0, True)] * bias
    return tuple(
        Case(
            task,
            {"C": C, "fit_intercept": free},
            f"{task}/C{C:g}{'-bias' if free else ''}",
            large=large,
        )
        for task in TASKS
        for C, free in problems
    )
