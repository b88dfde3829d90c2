"""Which cells need not be finished: those that lose by more than chance, on the same held-out rows.

After the first folds a cell is compared with the best one part by part of the held-out rows (row by row where the
score is a mean over rows). With d the mean of the differences and s its standard error, a cell with d > LOSES s is
dropped. Along a line of growing strength, where cells get ever more expensive, the rest is dropped once two in a row
have lost by more than chance and did not get better.
Papers: Maron and Moore 1994 (Hoeffding races); Krueger, Panknin and Braun 2015 (fast cross-validation).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxmargin.selection._cells import Cell

#: Standard errors by which a cell must lose to be dropped; and to count as one of two that end a line.
LOSES, LOSES_LINE = 2.0, 2.0
#: Fewest parts that a comparison may rest on.
FEWEST_PARTS = 8


def loss(cell: Cell, best: Cell) -> float:
    """By how many standard errors ``cell`` is worse than ``best``; 0 where nothing can be said."""
    common = sorted(cell.parts.keys() & best.parts.keys())
    if cell is best or not common:
        return 0.0
    difference = np.concatenate([best.parts[fold] - cell.parts[fold] for fold in common])
    if len(difference) < FEWEST_PARTS or not np.isfinite(difference).all():
        return 0.0
    mean, spread = float(difference.mean()), float(difference.std(ddof=1))
    if mean <= 0:
        return 0.0
    return np.inf if spread == 0 else mean / (spread / np.sqrt(len(difference)))


def leader(cells: Sequence[Cell]) -> Cell | None:
    """The best of the cells so far."""
    known = [cell for cell in cells if cell.open and not np.isnan(cell.mean)]
    return max(known, key=lambda cell: cell.mean, default=None)


def line_is_lost(line: Sequence[Cell], best: Cell | None) -> bool:
    """Whether the last two of the finished cells of a line lost and got no better."""
    if best is None or len(line) < 2:
        return False
    last = line[-2:]
    return last[1].mean <= last[0].mean and all(loss(cell, best) > LOSES_LINE for cell in last)


def drop_losers(cells: Sequence[Cell], folds: int) -> None:
    """Mark the cells that need not go on."""
    best = leader(cells)
    if best is None:
        return
    for cell in cells:
        lost = loss(cell, best) if cell.open else 0.0
        if lost > LOSES:
            behind = best.mean - cell.mean
            cell.status = f"dropped after {folds} folds: {behind:.4g} behind {best}, {lost:.1f} standard errors"
