"""Cells of a search: one combination of parameters each, with what every fold made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin._types import FloatArray

DONE, WAITING = "done", "not reached"


@dataclass(eq=False)
class Cell:
    """One combination of parameters; ``line`` numbers the combination without its strength."""

    params: dict[str, Any]
    line: int
    strength: float
    scores: FloatArray  # (folds,) nan where not known
    gaps: FloatArray
    seconds: FloatArray  # of training, all passes together
    score_seconds: FloatArray
    status: str = WAITING
    tight: bool = False  # solved to the machine's own goal, in all folds
    parts: dict[int, FloatArray] = field(default_factory=dict)  # of every fold, scores of its parts, for the race

    @classmethod
    def fresh(cls, params: dict[str, Any], line: int, strength: float, folds: int) -> Cell:
        """A cell of which nothing is known."""
        scores, gaps = np.full((2, folds), np.nan)
        return cls(params, line, strength, scores, gaps, *np.zeros((2, folds)))

    @property
    def open(self) -> bool:
        """Whether it is still in the race."""
        return not self.status.startswith(("dropped", "failed", "invalid"))

    @property
    def done(self) -> bool:
        return self.status == DONE

    @property
    def known(self) -> int:
        """Folds that have a score."""
        return len(self._known_scores)

    @property
    def mean(self) -> float:
        """Mean score of the folds that are known; nan if none is."""
        known = self._known_scores
        return float(np.add.reduce(known)) / len(known) if known else float("nan")

    @property
    def _known_scores(self) -> list[float]:
        """Asked for at every step of a race: a mask of NumPy's would take ten times as long."""
        return [score for score in self.scores.tolist() if score == score]

    def __str__(self) -> str:
        return ", ".join(f"{name}={_short(value)}" for name, value in self.params.items())


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
