"""A search: all cells on the first folds to a loose gap, the race, then what is left on all folds, tight."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from maxmargin.backends import run_queue
from maxmargin.selection._cells import DONE, Cell
from maxmargin.selection._progress import ProgressBar
from maxmargin.selection._race import drop_losers, leader, line_is_lost
from maxmargin.selection._scoring import Scorer
from maxmargin.selection._trainer import Line, Trainer

#: Folds that a cell must see before it may be dropped, and the relative gap they are solved to.
FIRST_FOLDS, LOOSE = 2, 1e-2
#: Cells below which a race does not pay.
FEW_CELLS = 4


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
        if self.drop and self.folds > FIRST_FOLDS and sum(cell.open for cell in self.cells) > FEW_CELLS:
            self._pass("first folds", list(range(FIRST_FOLDS)), LOOSE, ends_lines=True)
            if not self._stopped():
                drop_losers(self.cells, FIRST_FOLDS)
        if not self._stopped():
            self._pass("all folds", list(range(self.folds)), None, ends_lines=False)
        return self._stopped()

    def _stopped(self) -> str | None:
        if self.interrupted():
            return "interrupted"
        return "time_limit" if time.perf_counter() >= self.deadline else None

    def _pass(self, what: str, folds: list[int], gap: float | None, ends_lines: bool) -> None:
        """Train all open cells, line by line, in these folds."""
        numbers = _from_the_middle(sorted({cell.line for cell in self.cells if cell.open}))
        total, done = sum(cell.open for cell in self.cells), 0
        for number in numbers:
            line = [cell for cell in self.cells if cell.line == number and cell.open]
            line.sort(key=lambda cell: cell.strength)
            for first in range(0, len(folds), self.trainer.at_once):
                some = folds[first : first + self.trainer.at_once]
                if not self._line(line, some, gap, ends_lines):
                    return
            if gap is None:
                for cell in line:
                    cell.status = DONE if cell.open else cell.status
            done += len(line)
            self.bar.show(what, done, total, self.cells, final=done == total)

    def _line(self, line: list[Cell], folds: list[int], gap: float | None, ends_lines: bool) -> bool:
        """Train a line in some folds; False if the search must stop."""
        solver = self.trainer.line(self.apply(line[0].params), folds)
        finished: list[Cell] = []
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
            finished.append(cell)
            if ends_lines and line_is_lost(finished, leader(self.cells)):
                for other in line:
                    if other.strength > cell.strength and other.open:
                        other.status = f"dropped: at this and smaller strengths the line of {cell} fell behind"
                break
        return True

    def _train(self, solver: Line, cell: Cell, fold: int, gap: float | None) -> None:
        trained = solver.train(fold, cell.strength, gap)
        score, parts = self.scorer(trained.held)
        if not np.isfinite(score):
            raise ValueError(f"the score of fold {fold} is {score} at {cell}")
        cell.scores[fold], cell.gaps[fold], cell.seconds[fold] = score, trained.gap, trained.seconds
        cell.parts[fold] = parts


def _from_the_middle(numbers: list[int]) -> list[int]:
    """The middle first, then outwards: a good cell is found early, and lines that lose are ended early."""
    middle = (len(numbers) - 1) / 2
    return sorted(numbers, key=lambda number: abs(numbers.index(number) - middle))
