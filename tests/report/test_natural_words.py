"""What managers read: plain words, times as people write them, no holes."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from maxmargin.cli._notices import outliers
from maxmargin.report import Findings, render
from maxmargin.report._text import moment

ODD = ("is a coin", "called positive", "left away", "one more", "free of charge", "looked at once")


def test_odd_phrases_are_gone(runs: dict[str, Findings]) -> None:
    for findings in runs.values():
        page = render(findings)
        assert not [phrase for phrase in ODD if phrase in page]


def test_times_are_written_out(runs: dict[str, Findings]) -> None:
    page = render(runs["iris"])
    assert "31 January 2025, 12:00" in page
    assert not re.search(r"\d{4}-\d\d-\d\dT", page)
    assert moment("2026-11-20T00:02:24+00:00") == "20 November 2026, 00:02 UTC"
    assert moment("yesterday") == "yesterday"


def test_gaps_in_deciding_rows_are_dashes(runs: dict[str, Findings]) -> None:
    support = runs["linear"].support
    assert support is not None
    deciding = [{**row, "margin": float("nan")} for row in support.deciding]
    page = render(replace(runs["linear"], support=replace(support, deciding=deciding)))
    assert not re.search(r"\bnan\b", page.split('id="support"')[1].split("</section>")[0])


def test_labels_stand_beside_the_curves(runs: dict[str, Findings]) -> None:
    page = render(runs["breast_cancer"])
    figure = page.split('id="roc-title"')[0].rsplit("<figure", 1)[1]
    assert "the area under the curve is" in figure
    assert not re.search(r"<text[^>]*>area", page)


@pytest.mark.parametrize(("worst", "said"), [(1000.0, True), (3.0, False)])
def test_outliers_of_a_target_are_noticed(worst: float, said: bool) -> None:
    y = np.append(np.random.default_rng(0).normal(size=200), worst)
    found = outliers(y)
    assert (found is not None) == said
    if found is not None:
        assert "1 row with a target far from the others" in found.text
        assert "1000" in found.text
