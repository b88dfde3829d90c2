"""What the arena tells of one competitor on one case."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Row:
    """One line of the arena's table; None is "not measured"."""

    case: str
    competitor: str
    status: str = "ok"  # ok, floor, cut off, failed, absent
    goal: float | None = None  # certified relative gap it was to reach; None: its tol was given
    tol: float | None = None
    fit: float | None = None  # seconds, best warm fit
    first: float | None = None  # seconds, first fit of a fresh process; not of large cases
    gap: float | None = None
    kkt: float | None = None
    holds: bool | None = None
    certify: float | None = None  # seconds
    memory: float | None = None  # MB over the memory in use after the data were read
    score: float | None = None
    scored_on: str = ""
    predict: float | None = None  # seconds
    imported: float | None = None  # seconds, importing its package once scikit-learn and NumPy are there
    support: int | None = None  # support vectors; with several classes those of any pair, each counted once
    values: float | None = None  # rows times support vectors; with several classes the sum over pairs
    shape: dict[str, float] = field(default_factory=dict)  # rows, columns, features: see `work.shape`
    large: bool = False  # timed once
    task: str = ""
    params: dict[str, Any] = field(default_factory=dict)  # of the case, gamma as a number
    notes: list[str] = field(default_factory=list)

    def add(self, *notes: str) -> None:
        """Keep each note once."""
        self.notes += [note for note in dict.fromkeys(notes) if note and note not in self.notes]
