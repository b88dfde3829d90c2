"""A search: all cells on the first folds, the race, what is left on the other folds; all that to a loose gap.

Then the best cells are solved tight, and again the best, until those in front are tight.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from maxmargin._stop import Stopped, stops_when
from maxmargin.backends import run_queue
from maxmargin.selection._cells import DONE, Cell
from maxmargin.selection._progress import ProgressBar
from maxmargin.selection._race import LOSES, drop_losers, has_fallen, leader, line_is_lost
from maxmargin.selection._scoring import Scorer
from maxmargin.selection._trainer import Line, Trainer

#: Folds that a cell must see before it may be dropped, and the relative gap they are solved to.
FIRST_FOLDS, LOOSE = 2, 1e-2
#: Cells up to which a race does not pay, and how many of the best must be tight in the end.
FEW_CELLS, FINALISTS = 4, 3
SAID = f"more than {LOSES:g} standard errors"


@dataclass
class Search:
    """One search: the cells change in place."""

    cells: Sequence[Cell]
    trainer: Trainer
    scorer: Scorer
    apply: Callable[[dict[str, Any]], dict[str, Any]]  # the machine's parameters of a cell, without the strength
    folds: int
    threads: int
    drop: bool
    raises: bool
    deadline: float = math.inf
    interrupted: Callable[[], bool] = lambda: False
    bar: ProgressBar = field(default_factory=lambda: ProgressBar("", shown=False))

    def run(self) -> str | None:
        """Why the search ended before its time; None if it did not."""
        races = self.drop and self.folds > FIRST_FOLDS and sum(cell.open for cell in self.cells) > FEW_CELLS
        if not races:
            self._pass("all folds", self._open(), list(range(self.folds)), None)
            return self._stopped()
        self._pass("first folds", self._open(), list(range(FIRST_FOLDS)), LOOSE, ends_lines=True)
        if not self._stopped():
            drop_losers(self.cells, FIRST_FOLDS)
            self._pass("other folds", self._open(), list(range(FIRST_FOLDS, self.folds)), LOOSE)
        while not self._stopped() and (finalists := self._finalists()):
            self._pass("finalists", finalists, list(range(self.folds)), None)
        return self._stopped()

    def add(self, what: str, more: list[Cell]) -> str | None:
        """Train cells that were added, tight on all folds; why that ended before its time, or None."""
        self._pass(what, more, list(range(self.folds)), None)
        return self._stopped()

    def _open(self) -> list[Cell]:
        return [cell for cell in self.cells if cell.open]

    def _finalists(self) -> list[Cell]:
        """Those of the best cells that are not solved tight yet."""
        ranked = sorted(self._open(), key=lambda cell: cell.mean, reverse=True)
        return [cell for cell in ranked[:FINALISTS] if not cell.tight]

    def _stopped(self) -> str | None:
        if self.interrupted():
            return "interrupted"
        return "time_limit" if time.perf_counter() >= self.deadline else None

    def _heeded(self) -> AbstractContextManager[None]:
        """Fits inside end when the search must."""
        return stops_when(lambda: self._stopped() is not None)

    @property
    def _has_score(self) -> bool:
        """Whether some cell has come so far that it may be chosen."""
        return any(cell.open and cell.known for cell in self.cells)

    def _pass(
        self, what: str, cells: list[Cell], folds: list[int], gap: float | None, ends_lines: bool = False
    ) -> None:
        """Train cells, line by line, in these folds, to a relative gap or (None) tight."""
        numbers, done = _from_the_middle(sorted({cell.line for cell in cells})), 0
        for number in numbers:
            line = sorted((cell for cell in cells if cell.line == number), key=lambda cell: cell.strength)
            at_once = self.trainer.at_once
            for first in range(0, len(folds), at_once):
                last = first + at_once >= len(folds)
                if not self._line(line, folds[first : first + at_once], gap, ends_lines and last):
                    self._mark(line, tight=False)
                    return
            self._mark(line, tight=gap is None or not self.trainer.loosens)
            done += len(line)
            self.bar.show(what, done, len(cells), self.cells, final=done == len(cells))

    def _mark(self, line: list[Cell], tight: bool) -> None:
        """Say how far every cell of a line has come."""
        for cell in line:
            if cell.open and cell.known == self.folds:
                cell.status, cell.tight = DONE, tight
            elif cell.open and cell.known:
                cell.status = f"{cell.known} of {self.folds} folds"

    def _line(self, line: list[Cell], folds: list[int], gap: float | None, ends_lines: bool) -> bool:
        """Train a line in some folds; False if the search must stop."""
        solver = self.trainer.line(self.apply(line[0].params), folds)
        finished: list[Cell] = []
        try:
            with self._heeded():
                solver.expect([cell.strength for cell in line if cell.open])
        except Stopped:
            return False
        except Exception as error:
            if self.raises:
                raise
            for cell in line:
                cell.status = f"failed: {type(error).__name__}: {error}" if cell.open else cell.status
        for cell in line:
            if self._stopped():
                return False
            if not cell.open:
                continue
            try:
                run_queue([partial(self._train, solver, cell, fold, gap) for fold in folds], self.threads)
            except Exception as error:
                if self.raises:
                    raise
                cell.status = f"failed: {type(error).__name__}: {error}"
                continue
            if self._stopped():
                return False
            finished.append(cell)
            if ends_lines and has_fallen(finished) and line_is_lost(finished, leader(self.cells)):
                for other in line:
                    if other.strength > cell.strength and other.open:
                        other.status = f"dropped: not finished, as {cell} and the cell before it lost by {SAID}"
                break
        return True

    def _train(self, solver: Line, cell: Cell, fold: int, gap: float | None) -> None:
        try:
            with self._heeded():
                trained = solver.train(fold, cell.strength, gap)
        except Stopped:
            return
        if self._stopped() and self._has_score:
            return  # of a fit that was cut off; any score is better than none, but not than another
        began = time.perf_counter()
        score, parts = self.scorer(trained.held, wants_parts=gap is not None and fold < FIRST_FOLDS)
        if not np.isfinite(score):
            raise ValueError(f"the score of fold {fold} is {score} at {cell}")
        cell.scores[fold], cell.gaps[fold], cell.parts[fold] = score, trained.gap, parts
        cell.seconds[fold] += trained.seconds
        cell.score_seconds[fold] += time.perf_counter() - began


def _from_the_middle(numbers: list[int]) -> list[int]:
    """The middle first, then outwards: a good cell is found early, and lines that lose are ended early."""
    middle = (len(numbers) - 1) / 2
    return sorted(numbers, key=lambda number: abs(numbers.index(number) - middle))
