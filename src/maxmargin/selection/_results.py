"""What a search publishes: scikit-learn's ``cv_results_``, with the gap and the fate of every cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from maxmargin._types import FloatArray
from maxmargin.selection._cells import Cell


def cv_results(cells: Sequence[Cell]) -> dict[str, Any]:
    """Arrays with an entry per cell, by name; scores of cells that were not finished are nan."""
    results: dict[str, Any] = {}
    for what, name in (("fit", "seconds"), ("score", "score_seconds")):
        spent = [getattr(cell, name)[: max(1, cell.known)] for cell in cells]
        results[f"mean_{what}_time"] = np.array([own.mean() for own in spent])
        results[f"std_{what}_time"] = np.array([own.std() for own in spent])
    for name in sorted({name for cell in cells for name in cell.params}):
        values = np.ma.masked_all(len(cells), dtype=object)
        for number, cell in enumerate(cells):
            if name in cell.params:
                values[number] = cell.params[name]
        results[f"param_{name}"] = values
    results["params"] = [cell.params for cell in cells]
    scores = np.array([cell.scores if cell.done else np.full_like(cell.scores, np.nan) for cell in cells])
    for fold, column in enumerate(scores.T):
        results[f"split{fold}_test_score"] = column
    mean = scores.mean(axis=1)
    results["mean_test_score"], results["std_test_score"] = mean, scores.std(axis=1)
    last = np.nanmin(mean, initial=0.0) - 1.0
    results["rank_test_score"] = rankdata(-np.where(np.isnan(mean), last, mean), method="min").astype(np.int32)
    for fold in range(scores.shape[1]):
        results[f"split{fold}_gap"] = np.array([cell.gaps[fold] for cell in cells])
    results["gap"] = np.array([np.max(_known(cell.gaps), initial=-np.inf) for cell in cells])
    results["gap"][np.isneginf(results["gap"])] = np.nan
    results["status"] = np.array([cell.status for cell in cells], dtype=object)
    return results


def _known(values: FloatArray) -> FloatArray:
    """Those that are there."""
    return values[~np.isnan(values)]


def best_cell(cells: Sequence[Cell], one_standard_error: bool, simplest: int) -> int:
    """The winner: the best mean score, the first of equal ones.

    Of cells that no fold is missing, if there is one; else of those that have seen most. With the one-standard-error
    rule: of those whose mean is within one standard error of the best, the least strength (``simplest=1``) or the
    largest (-1), then the best score.
    """
    most = max(cell.known for cell in cells if cell.open)
    known = [k for k, cell in enumerate(cells) if cell.open and cell.known == most]
    winner = max(known, key=lambda k: cells[k].mean)
    if not one_standard_error:
        return winner
    scores = _known(cells[winner].scores)
    error = float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else 0.0
    close = [k for k in known if cells[k].mean >= cells[winner].mean - error]
    return min(close, key=lambda k: (simplest * cells[k].strength, -cells[k].mean))
