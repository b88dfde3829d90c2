"""What a model is worth: its first figure beside the answer that looks at no column."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from maxmargin.report._findings import Findings
from maxmargin.report._text import count, listed, metric, rows

#: Metrics of which less is better.
LESS_IS_BETTER = frozenset(
    {
        "cost per row",
        "error",
        "error rate",
        "log loss",
        "mean absolute error",
        "root mean squared error",
        "median absolute error",
    }
)
#: Classes of which no row was found, as many as are named.
MOST_NAMED = 3


@dataclass(frozen=True)
class Verdict:
    """What the test rows say about the model's use, first in a word and then in full."""

    kind: Literal["better", "unsure", "not better"]
    short: str
    sentence: str

    @property
    def why(self) -> str:
        """The sentence without what ``short`` says already."""
        rest = self.sentence[len(self.short) + 2 :]
        return rest[:1].upper() + rest[1:]


def verdict_of(findings: Findings) -> Verdict | None:
    """The verdict on a run; None where nothing was tested."""
    test = findings.test
    name = test.judged_by
    if name not in test.metrics or name not in test.baseline:
        return None
    value, plain = test.metrics[name], test.baseline[name]
    sign = -1.0 if name in LESS_IS_BETTER else 1.0
    low, high = test.intervals.get(name, (math.nan, math.nan))
    worst = low if sign > 0 else high
    guess = guess_of(findings)
    known = math.isfinite(low) and math.isfinite(high)
    figures = f"{name} {metric(name, value)}" + (
        f" (95 % interval {metric(name, low)} to {metric(name, high)})" if known else ""
    )
    figures += f" against {metric(name, plain)} on {rows(findings.test_rows)} held back"
    if not sign * value > sign * plain:
        kind, short, said = "not better", f"not better than {guess}", f"Not better than {guess}: {figures}."
    elif known and not sign * worst > sign * plain:
        kind, short = "unsure", f"perhaps not better than {guess}"
        said = f"Perhaps not better than {guess}: {figures}. The interval includes it: test on more rows to know."
    else:
        kind, short, said = "better", f"better than {guess}", f"Better than {guess}: {figures}."
    return Verdict(kind, short, said + lost(findings))  # type: ignore[arg-type]


def guess_of(findings: Findings) -> str:
    """The answer that looks at no column, in words."""
    if findings.test.guess:
        return findings.test.guess
    if findings.task == "regression":
        return "always answering the mean"
    counts = findings.class_counts
    return f"always answering {max(counts, key=lambda label: counts[label])!r}" if counts else "the commonest class"


def lost(findings: Findings) -> str:
    """Classes of which the model finds no row at all."""
    test = findings.test
    if test.confusion is None or len(test.labels) < 2:
        return ""
    none = [
        f"none of the {count(line.sum())} rows of {label!r}"
        for k, (label, line) in enumerate(zip(test.labels, test.confusion, strict=True))
        if line.sum() and not line[k]
    ]
    more = len(none) - MOST_NAMED
    named = [*none[:MOST_NAMED], f"none of {count(more)} more classes"] if more > 0 else none
    return f" It finds {listed(named)}." if named else ""
