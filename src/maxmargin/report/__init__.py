"""One self-contained page about a training run."""

from maxmargin.report._findings import (
    METHODS,
    Choice,
    Column,
    Cuts,
    Effect,
    Findings,
    Importance,
    Learning,
    Margins,
    Notice,
    Proof,
    Test,
    Tuning,
    Weight,
)
from maxmargin.report._page import render, require_writable, write_report
from maxmargin.report._verdict import Verdict, verdict_of

__all__ = [
    "METHODS",
    "Choice",
    "Column",
    "Cuts",
    "Effect",
    "Findings",
    "Importance",
    "Learning",
    "Margins",
    "Notice",
    "Proof",
    "Test",
    "Tuning",
    "Verdict",
    "Weight",
    "render",
    "require_writable",
    "verdict_of",
    "write_report",
]
