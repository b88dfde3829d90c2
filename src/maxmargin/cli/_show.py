"""A training run as a person reads it, and as a program does."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.cli._print import Screen, figure
from maxmargin.report import Findings, Importance, verdict_of

#: Confusions of more classes than this are for the report.
MOST_CLASSES = 12
#: Columns whose importance is printed.
MOST_COLUMNS = 6


def show_findings(
    screen: Screen, findings: Findings, out: Path, replaced: bool, report: Path | None, show_code: bool
) -> None:
    """Print everything, what the model is worth first."""
    verdict = verdict_of(findings)
    if verdict is not None:
        screen.line(f"Verdict: {verdict.sentence}", "bold" if verdict.kind == "better" else "bold red")
    for notice in findings.notices:
        screen.notice(notice.text)
    screen.title("What was chosen, and why")
    screen.reasons([(choice.name, choice.value, choice.why, choice.option) for choice in findings.choices])
    screen.title(f"Results on the {findings.test_rows:,} test rows")
    show_metrics(screen, findings)
    if findings.test.confusion is not None and len(findings.test.labels) <= MOST_CLASSES:
        show_confusion(screen, findings)
    if findings.importance is not None:
        show_importance(screen, findings.importance)
    screen.title("The proof")
    if findings.proof is not None:
        screen.paragraph(f"{findings.proof.sentence} {findings.proof.price}".rstrip())
        screen.paragraph("That is about training, not about use: what the model is worth, the verdict above says.")
    if findings.support is not None:
        screen.paragraph(
            f"{findings.support.vectors:,} of the {findings.support.rows:,} training rows are support vectors."
        )
    if show_code:
        screen.title("The same in Python")
        screen.code(findings.code)
    spent = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in findings.seconds.items() if what != "all")
    screen.line(f"{findings.seconds.get('all', 0.0):.1f} s: {spent}")
    screen.line(f"model   {out.resolve()}" + ("  (replaced)" if replaced else ""))
    if report is not None:
        screen.line(f"report  {report.resolve()}")


def show_metrics(screen: Screen, findings: Findings) -> None:
    """Metrics, their intervals, and the answer that looks at nothing."""
    test = findings.test
    rows = []
    for name, value in test.metrics.items():
        low, high = test.intervals.get(name, (float("nan"), float("nan")))
        interval = f"{figure(low)} to {figure(high)}" if low == low else ""
        rows.append([name, figure(value), interval, figure(test.baseline.get(name, float("nan")))])
    always = "commonest class" if test.labels else "mean"
    screen.grid(["", "model", "95 % interval", f"the {always} always"], rows, right=(1, 2, 3))


def show_importance(screen: Screen, found: Importance) -> None:
    """The columns that the model needs most."""
    screen.title(f"What the model looks at (loss of {found.metric} on held-out rows when a column is shuffled)")
    order = np.argsort(-np.asarray(found.means), kind="stable")[:MOST_COLUMNS].tolist()
    lines = [[found.names[k], figure(found.means[k]), f"± {figure(found.deviations[k])}"] for k in order]
    screen.grid(["column", "loss", ""], lines, right=(1, 2))
    if found.weights:
        known = [w for w in found.weights[:MOST_COLUMNS] if w.margin == w.margin]
        shown = [
            [w.name, figure(w.value), f"{figure(w.value - w.margin)} to {figure(w.value + w.margin)}"] for w in known
        ]
        if shown:
            screen.line()
            screen.grid(["weight of (scaled)", "", "95 % interval"], shown, right=(1, 2))


def show_confusion(screen: Screen, findings: Findings) -> None:
    """Rows are the truth, columns the answers."""
    test = findings.test
    assert test.confusion is not None
    screen.line()
    rows = [
        [label, *(str(number) if number else "." for number in line)]
        for label, line in zip(test.labels, test.confusion.tolist(), strict=True)
    ]
    screen.grid(["truth \\ answer", *test.labels], rows, right=tuple(range(1, len(test.labels) + 1)))


def summary(findings: Findings, out: Path, report: Path | None) -> dict[str, Any]:
    """The document that ``--json`` prints."""
    test = findings.test
    return {
        "model": str(out.resolve()),
        "report": None if report is None else str(report.resolve()),
        "data": {"name": findings.source, "sha256": findings.checksum, "rows": findings.rows},
        "target": findings.target,
        "task": findings.task,
        "rows": {"train": findings.train_rows, "test": findings.test_rows},
        "columns": [asdict(column) for column in findings.columns],
        "notices": [asdict(notice) for notice in findings.notices],
        "choices": [asdict(choice) for choice in findings.choices],
        "verdict": verdict_of(findings),
        "metrics": test.metrics,
        "intervals": test.intervals,
        "baseline": test.baseline,
        "cuts": findings.cuts,
        "importance": findings.importance,
        "labels": test.labels,
        "confusion": test.confusion,
        "cross_validated": findings.cross_validated,
        "proof": None if findings.proof is None else asdict(findings.proof),
        "support_vectors": None if findings.support is None else findings.support.vectors,
        "code": findings.code,
        "seconds": findings.seconds,
        "version": findings.version,
        "created": findings.created,
    }
