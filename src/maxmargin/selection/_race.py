"""Which cells need not be finished: those that lose by more than chance, on the same held-out rows.

After the first folds a cell is compared with the best one part by part of the held-out rows (row by row where the
score is a mean over rows). With d the mean of the differences and s its standard error, a cell with d > LOSES s is
dropped. Along a line of growing strength, where cells get ever more expensive, the rest is dropped once two in a row
have lost by more than chance, and the line was better before.
Papers: Maron and Moore 1994 (Hoeffding races); Krueger, Panknin and Braun 2015 (fast cross-validation).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxmargin.selection._cells import Cell

#: Standard errors by which a cell must lose.
LOSES = 2.0
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
    """The best so far of the cells that have seen most folds."""
    known = [cell.known if cell.open else 0 for cell in cells]
    most = max(known, default=0)
    ahead = [cell for cell, folds in zip(cells, known, strict=True) if folds == most > 0]
    return max(ahead, key=lambda cell: cell.mean, default=None)


def has_fallen(line: Sequence[Cell]) -> bool:
    """Whether the last of the finished cells of a line is behind another: only then may the line be lost."""
    return len(line) > 1 and line[-1].mean < max(cell.mean for cell in line)


def line_is_lost(line: Sequence[Cell], best: Cell | None) -> bool:
    """Whether the last two of the finished cells of a line lost, and the line was better before."""
    if best is None or best in line[-2:]:
        return False
    return has_fallen(line) and all(loss(cell, best) > LOSES for cell in line[-2:])


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
