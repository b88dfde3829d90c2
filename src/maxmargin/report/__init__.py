"""One self-contained page about a training run."""

from maxmargin.report._findings import METHODS, Choice, Column, Findings, Margins, Notice, Proof, Test, Tuning
from maxmargin.report._page import render, require_writable, write_report

__all__ = [
    "METHODS",
    "Choice",
    "Column",
    "Findings",
    "Margins",
    "Notice",
    "Proof",
    "Test",
    "Tuning",
    "render",
    "require_writable",
    "write_report",
]
