"""Sections about the run: in short, what was done, the data, the tuning, the code, timings."""

from __future__ import annotations

import math

import numpy as np

from maxmargin.report._charts import count_chart, tuning_charts
from maxmargin.report._findings import Column, Findings, Tuning
from maxmargin.report._html import capped, charts, folded, missing, section, table
from maxmargin.report._text import count, escaped, foreign, metric, number, rows, seconds, share
from maxmargin.report._verdict import guess_of, verdict_of

#: Most lines of a table, so that the page of a million columns can still be opened.
MOST_COLUMNS, MOST_NOTICES, MOST_CELLS = 300, 100, 6
KINDS = {
    "imbalance": "Imbalance",
    "outliers": "Outliers",
    "time": "Order in time",
    "duplicates": "Duplicates",
    "leakage": "Possible leakage",
    "constant": "Constant columns",
    "unscaled": "Unscaled columns",
    "missing": "Missing values",
}


def summary(findings: Findings) -> str:
    """The few figures that matter, and a sentence about each."""
    tiles = []
    found = verdict_of(findings)
    if found is not None:
        tiles.append(("Verdict", foreign(found.short[0].upper() + found.short[1:], 100), foreign(found.why, 800)))
    test = findings.test
    if test.metrics:
        name = test.judged_by
        small = f"on {rows(findings.test_rows)} held back{_between(findings, name)}"
        tiles.append((f"Test {escaped(name)}", metric(name, test.metrics[name]), small))
        if name in test.baseline:
            guess = f"{foreign(guess_of(findings), 60)}, which looks at no column"
            tiles.append((f"Baseline {escaped(name)}", metric(name, test.baseline[name]), guess))
    if findings.proof is not None:
        proof = findings.proof
        if not proof.holds:
            small = "the certificate does not hold"
        elif proof.finished:
            small = "relative gap: training could do no better; whether the model is of use, the verdict says"
        else:
            small = "relative gap: training stopped before its goal, so this is no proof of optimality"
        what = "Proof of optimality" if proof.finished or not proof.holds else "Not there yet"
        tiles.append((what, number(proof.relative_gap, 2) if proof.holds else "none", small))
    if findings.support is not None:
        support = findings.support
        small = f"{share(support.vectors / max(1, support.rows), 0)} of {rows(support.rows)}"
        tiles.append(("Support vectors", count(support.vectors), small))
    kind = {"Verdict": f' class="verdict {found.kind.replace(" ", "-")}"'} if found is not None else {}
    figures = "".join(f"<div{kind.get(a, '')}><dt>{a}</dt><dd>{b} <small>{c}</small></dd></div>" for a, b, c in tiles)
    shown = f'<dl class="figures">{figures}</dl>' if tiles else ""
    return section("summary", "In short", shown, f"<p>{_sentence(findings)}</p>")


def _between(findings: Findings, name: str) -> str:
    low, high = findings.test.intervals.get(name, (math.nan, math.nan))
    return f"; 95 % interval {metric(name, low)} to {metric(name, high)}" if math.isfinite(low) else ""


def _sentence(findings: Findings) -> str:
    task = {
        "two classes": "tells two classes apart",
        "many classes": "tells classes apart",
        "regression": "predicts a number",
    }
    said = (
        f"The model {task[findings.task]}: the column {foreign(findings.target, 80)} of {foreign(findings.source, 80)}."
        f" It was chosen and trained on {rows(findings.train_rows)}; "
    )
    held = "were" if findings.test_rows != 1 else "was"
    said += (
        f"{rows(findings.test_rows)} {held} kept for the test below and used for nothing else."
        if findings.test_rows
        else "none were held back, so nothing is known about new rows."
    )
    if findings.cross_validated is not None and findings.tuning is not None:
        scorer = findings.tuning.scorer
        value = metric(scorer, findings.cross_validated)
        said += f" In cross-validation on the training rows its {escaped(scorer)} was {value}."
    warned = len(findings.notices)
    if warned:
        what = "There is one thing" if warned == 1 else f"There are {count(warned)} things"
        said += f' <a href="#data">{what} to know about the data</a>.'
    return said


def choices(findings: Findings) -> str:
    """What was decided, why, and how to decide otherwise."""
    if not findings.choices:
        return section("choices", "What was done and why", missing("No choices were recorded."))
    lines = [
        (
            escaped(c.name),
            foreign(c.value),
            foreign(c.why, 600),
            f"<code>{escaped(c.option)}</code>" if c.option else "–",
        )
        for c in findings.choices
    ]
    text = "<p>What was decided, why, and the option of the command that overrides it.</p>"
    return section(
        "choices", "What was done and why", text, table("Choices of the run", ("what", "value", "why", "option"), lines)
    )


def data(findings: Findings) -> str:
    """Warnings first, then classes and columns."""
    source = (
        f"<p>{foreign(findings.source, 120)}: {rows(findings.rows)} and {count(len(findings.columns))} columns; the "
        f"target is {foreign(findings.target, 80)}. {rows(findings.train_rows)} are for training, "
        f"{rows(findings.test_rows)} for the test.{_checksum(findings)}</p>"
    )
    return section("data", "The data", source, _notices(findings), _classes(findings), _columns(findings.columns))


def _checksum(findings: Findings) -> str:
    return f" SHA-256 <code>{escaped(findings.checksum)}</code>." if findings.checksum else ""


def _notices(findings: Findings) -> str:
    if not findings.notices:
        return "<h3>Warnings</h3><p>None: the checks found nothing unusual.</p>"
    shown = findings.notices[:MOST_NOTICES]
    lines = "".join(
        f"<li><b>{escaped(KINDS.get(n.kind, n.kind.capitalize()))}:</b>{foreign(n.text, 800)}</li>" for n in shown
    )
    return f'<h3>Warnings</h3><ul class="notes">{lines}</ul>{capped(len(findings.notices), len(shown), "warnings")}'


def _classes(findings: Findings) -> str:
    counts = findings.class_counts
    if not counts:
        return ""
    if len(counts) <= 30:
        return charts(count_chart(counts))
    total = max(1, sum(counts.values()))
    lines = [(foreign(k, 80), count(n), share(n / total)) for k, n in sorted(counts.items(), key=lambda item: -item[1])]
    body = table("Training rows of each class", ("class", "rows", "share"), lines[:MOST_COLUMNS], (1, 2))
    return folded(f"{count(len(counts))} classes", body + capped(len(lines), MOST_COLUMNS, "classes"), len(counts))


def _columns(columns: list[Column]) -> str:
    if not columns:
        return missing("No columns were recorded.")
    # Where not all are shown, those that something is the matter with come first.
    order = (
        columns if len(columns) <= MOST_COLUMNS else sorted(columns, key=lambda c: (c.kind != "left out", -c.missing))
    )
    shown = order[:MOST_COLUMNS]
    lines = [
        (
            foreign(c.name, 60),
            escaped(c.kind) + (f" ({foreign(c.why)})" if c.why else ""),
            count(c.missing),
            count(c.distinct),
            foreign(c.summary),
        )
        for c in shown
    ]
    body = table("Columns of the table", ("column", "kind", "missing", "distinct", "values"), lines, (2, 3))
    left = sum(c.kind == "left out" for c in columns)
    text = f"All {count(len(columns))} columns" + (f", {count(left)} of them left out" if left else "")
    return f"<h3>Columns</h3>{folded(text, body + capped(len(columns), len(shown), 'columns'), len(columns))}"


def tuning(findings: Findings) -> str:
    """The surface that cross-validation saw."""
    found = findings.tuning
    if found is None or len(found.means) == 0:
        return section(
            "tuning", "Tuning", missing("Nothing was tuned: the parameters were given, or tuning was switched off.")
        )
    dropped = int(np.sum(np.asarray(found.dropped, bool)))
    text = (
        f"<p>{count(len(found.means))} combinations were cross-validated with {count(found.folds)} folds; the score is "
        f"{escaped(found.scorer)}, and higher is better. "
        + (
            f"{count(dropped)} fell behind by more than chance and were dropped before their last fold. "
            if dropped
            else ""
        )
        + _edge(found)
        + "</p>"
    )
    return section("tuning", "Tuning", text, charts(*tuning_charts(found), _best_cells(found)))


def _edge(found: Tuning) -> str:
    """Whether the winner lies where the grid ends."""
    same = [k for k, kernel in enumerate(found.kernels) if kernel == found.kernels[found.best]]
    ends = []
    for name, values in ((escaped(found.strength, 20), found.strengths), ("gamma", found.widths)):
        own, chosen = np.asarray(values, float)[same], float(values[found.best])
        if len(np.unique(own[np.isfinite(own)])) > 2 and chosen in (np.nanmin(own), np.nanmax(own)):
            ends.append(f"the {'smallest' if chosen == np.nanmin(own) else 'largest'} {name}")
    return (
        f"The chosen cell has {' and '.join(ends)} of the grid: a wider grid might find a better one." if ends else ""
    )


def _best_cells(found: Tuning) -> str:
    means = np.asarray(found.means, float)
    order = [
        k for k in np.argsort(-np.where(np.isfinite(means), means, -np.inf), kind="stable") if np.isfinite(means[k])
    ]
    if not order:
        return missing("No cell was finished, so there are no scores.")
    order = [found.best, *(k for k in order if k != found.best)] if found.best in order else order
    lines: list[tuple[str, ...]] = [
        (
            foreign(found.kernels[k], 60) + (" (chosen)" if k == found.best else ""),
            number(found.strengths[k], 3),
            "–" if math.isnan(found.widths[k]) else number(found.widths[k], 3),
            number(means[k]),
            number(found.deviations[k], 2),
        )
        for k in order[:MOST_CELLS]
    ]
    heads: tuple[str, ...] = ("kernel", escaped(found.strength), "gamma", escaped(found.scorer), "standard deviation")
    if all(math.isnan(found.widths[k]) for k in order[:MOST_CELLS]):
        heads, lines = heads[:2] + heads[3:], [line[:2] + line[3:] for line in lines]
    title = "The chosen cell and the best others" if len(order) > 1 else "The chosen cell"
    return table(title, heads, lines, (1, 2, 3, 4))


def code(findings: Findings) -> str:
    """The program that makes the same model."""
    if not findings.code.strip():
        return section("code", "Make it again", missing("No code was recorded."))
    text = escaped(findings.code, 200_000)
    button = '<p><button id="copy" type="button" hidden>Copy</button></p>'
    said = "<p>This Python code trains the same model.</p>"
    return section("code", "Make it again", said, f'{button}<pre tabindex="0"><code id="code-text">{text}</code></pre>')


def timings(findings: Findings) -> str:
    """How long the steps took, and with which versions."""
    parts = {name: value for name, value in findings.seconds.items() if name != "all"}
    lines = [(escaped(name), seconds(value)) for name, value in parts.items()]
    known = [value for value in parts.values() if math.isfinite(value)]
    if len(known) > 1:
        lines.append(("together", seconds(sum(known))))
    took = table("Time of each step", ("step", "time"), lines, (1,)) if lines else missing("No times were recorded.")
    versions = {"maxmargin": findings.version, **findings.versions}
    made = table("Versions", ("package", "version"), [(escaped(k), escaped(v)) for k, v in versions.items()])
    return section("timings", "Times and versions", f'<div class="charts"><div>{took}</div><div>{made}</div></div>')
