"""Tasks of a fit take turns: side by side where there are threads, each with its share of the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import NamedTuple, TypeVar

from maxmargin.backends import run_parallel, single_threaded_blas
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._progress import FitReporter
from maxmargin.solvers import Record, Watch, aimed

R = TypeVar("R")


class Turn(NamedTuple):
    """When a task must end, who may ask it to end earlier, and who is told of its rounds."""

    deadline: float
    interrupted: Callable[[], bool]
    after_round: Callable[[Record], bool] | None = None

    def watch(self, tol: float, gap_tol: float | None, max_iter: int) -> Watch:
        """Stopping rules of a solver that is to reach a goal."""
        return Watch(tol, aimed(gap_tol), max_iter, self.deadline, self.interrupted, self.after_round)

    def is_over(self) -> bool:
        """Whether the task must end."""
        return self.interrupted() or time.perf_counter() >= self.deadline


def fair_share(deadline: float, left: int) -> float:
    """The deadline of the next of ``left`` tasks: each gets an equal part of the time that is left for all of them."""
    now = time.perf_counter()
    return now + max(0.0, deadline - now) / left


def turns_in_time(count: int, deadline: float) -> Iterator[tuple[int, float]]:
    """(number, its share's end) of the first of ``count`` long parts, and of every other that there is time for.

    A part takes its share, and beyond that as much as the last one did: what it has to do however early it must end.
    """
    late = 0.0
    for number in range(count):
        if number and time.perf_counter() + late >= deadline:
            return
        due = fair_share(deadline, count - number)
        yield number, due
        late = max(0.0, time.perf_counter() - due)


def side_by_side(reporter: FitReporter | None, count: int, threads: int) -> int:
    """How many tasks run at a time: one where somebody wants to see the rounds."""
    return 1 if reporter is not None and reporter.active else min(threads, count)


def take_turns(
    solve: Callable[[int, Turn], R],
    numbers: list[int],
    at_once: int,
    deadline: float,
    reporter: FitReporter | None,
    flag: InterruptFlag | None = None,
) -> dict[int, R]:
    """What ``solve(number, turn)`` returns for every task; ``at_once`` of them run side by side.

    Without ``reporter`` nobody is told of the rounds; ``flag`` is one that hears Ctrl-C already.
    """
    solved: dict[int, R] = {}
    with nullcontext(flag) if flag is not None else InterruptFlag() as interrupted, single_threaded_blas():

        def share(own: list[int]) -> None:
            for place, number in enumerate(own):
                after_round, end = reporter.round_callback(number) if reporter else (None, lambda: None)
                solved[number] = solve(number, Turn(fair_share(deadline, len(own) - place), interrupted, after_round))
                end()

        run_parallel([partial(share, numbers[k::at_once]) for k in range(at_once)], at_once)
    return solved
