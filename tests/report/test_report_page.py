"""The page: well-formed, self-contained, safe, and complete for every task."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from maxmargin.report import Findings, render
from maxmargin.report import _findings as values
from maxmargin.report._page import SECTIONS
from maxmargin.report._style import DARK, LIGHT, POLICY, SCRIPT, STYLE, digest
from tests.report.page_checks import chart_problems, charts, page_problems, parsed

RUNS = ("iris", "breast_cancer", "linear", "digits", "diabetes")
EVIL = "\"><script>alert(1)</script>'&amp;\u202e\x00\x1b\ud800" + "x" * 3000
#: Ids of the charts that each run must have.
CHARTS = {
    "iris": {"counts", "tuning-0", "confusion", "roc", "margins"},
    "breast_cancer": {"counts", "tuning-0", "confusion", "roc", "precision-recall", "reliability", "margins"},
    "linear": {"counts", "tuning-0", "confusion", "roc", "precision-recall", "margins"},
    "digits": {"counts", "tuning-0", "confusion", "roc", "margins"},
    "diabetes": {"tuning-0", "scatter", "residuals", "margins"},
}


def checked(findings: Findings) -> str:
    """The page, after every check that holds for all pages."""
    text = render(findings)
    assert page_problems(text) == []
    assert [problem for svg in charts(text) for problem in chart_problems(svg)] == []
    text.encode("utf-8")
    return text


def section(text: str, name: str) -> str:
    """What a person reads in a section."""
    return parsed(text).with_id(name).text


@pytest.mark.parametrize("name", RUNS)
def test_every_run_gives_a_whole_page(runs: dict[str, Findings], name: str) -> None:
    text = checked(runs[name])
    page = parsed(text)
    drawn = set(re.findall(r'<title id="([\w-]+)-title">', text))
    assert drawn == CHARTS[name]
    assert [page.with_id(anchor).tag for anchor, _, _ in SECTIONS] == ["section"] * 12
    assert [a.attributes["href"] for a in page.all("a")[:12]] == [f"#{anchor}" for anchor, _, _ in SECTIONS]
    assert len(page.all("h1")) == len(page.all("main")) == len(page.all("nav")) == len(page.all("header")) == 1
    assert page.elements[0].attributes == {"lang": "en"}
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in [
        meta.attributes for meta in page.all("meta")
    ]
    assert runs[name].code in page.with_id("code-text").text
    assert len(text) < 150_000


@pytest.mark.parametrize("name", RUNS)
def test_the_figures_of_the_run_are_on_the_page(runs: dict[str, Findings], name: str) -> None:
    findings = runs[name]
    text = checked(findings)
    assert findings.proof is not None
    assert findings.support is not None
    assert findings.proof.sentence in section(text, "certificate")
    assert "Training is finished" in section(text, "certificate")
    assert f"{findings.support.vectors:,} of {findings.support.rows:,} rows" in section(text, "support")
    for zone in findings.support.zones:
        assert zone in section(text, "margins")
    for choice in findings.choices:
        assert choice.option in section(text, "choices")
    for notice in findings.notices:
        assert notice.text in section(text, "data")
    for column in findings.columns:
        assert column.name in section(text, "data")
    for label in findings.test.labels:
        assert label in section(text, "test")
    if "accuracy" in findings.test.metrics:
        assert f"{100 * findings.test.metrics['accuracy']:.1f} %" in section(text, "summary")


def test_columns_are_folded_away_when_there_are_many(runs: dict[str, Findings]) -> None:
    assert "<details>" not in render(runs["iris"])
    assert "<details><summary>All 30 columns</summary>" in render(runs["breast_cancer"])


def test_the_policy_allows_exactly_this_script_and_this_style(runs: dict[str, Findings]) -> None:
    page = parsed(render(runs["iris"]))
    assert digest(page.all("script")[0].text) in POLICY
    assert digest(page.all("style")[0].text) in POLICY
    assert (page.all("script")[0].text, page.all("style")[0].text) == (SCRIPT, STYLE)
    assert "default-src 'none'" in POLICY
    (policy,) = [m for m in page.all("meta") if m.attributes.get("http-equiv") == "Content-Security-Policy"]
    assert policy.attributes["content"] == POLICY


def test_without_scripts_only_the_button_is_missing(runs: dict[str, Findings]) -> None:
    page = parsed(render(runs["iris"]))
    assert [button.attributes.get("hidden") for button in page.all("button")] == [""]


def spoilt(value: Any) -> Any:
    """The same value with every text replaced."""
    if isinstance(value, str):
        return EVIL
    if isinstance(value, np.ndarray) and value.dtype.kind in "UO":
        return np.array([EVIL + str(v) for v in value], dtype=object)
    if isinstance(value, list):
        return [spoilt(one) for one in value]
    if isinstance(value, dict):
        return {EVIL + str(k): spoilt(v) for k, v in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return replace(value, **{f.name: spoilt(getattr(value, f.name)) for f in fields(value)})
    return value


@pytest.mark.parametrize("name", RUNS)
def test_hostile_text_stays_text(runs: dict[str, Findings], name: str) -> None:
    findings = runs[name]
    bad = replace(spoilt(findings), task=findings.task)
    test = replace(bad.test, labels=[EVIL + label for label in findings.test.labels])
    text = checked(replace(bad, test=test))
    assert "<script>alert" not in text
    assert "\ufffd" in parsed(text).with_id("code-text").text
    assert len(text) < 1_000_000


def test_hostile_classes_keep_their_matrix(runs: dict[str, Findings]) -> None:
    names = {"setosa": "<b>", "versicolor": "שלום עולם", "virginica": "x" * 5000}
    test = runs["iris"].test
    new = replace(
        test,
        target=np.array([names[v] for v in test.target], dtype=object),
        predicted=np.array([names[v] for v in test.predicted], dtype=object),
        labels=[names[v] for v in test.labels],
        confusion=None,
    )
    text = checked(replace(runs["iris"], test=new))
    (first,) = [svg for svg in charts(text) if "confusion-title" in svg]
    (second,) = [svg for svg in charts(render(runs["iris"])) if "confusion-title" in svg]
    numbers = [re.findall(r'class="inside[^>]*>([^<]*)<', svg) for svg in (first, second)]
    assert numbers[0] == numbers[1] != []
    assert "&lt;b&gt;" in first
    assert "<bdi>שלום עולם</bdi>" in text


# -- what is missing ------------------------------------------------------------------------------------------------


def test_missing_parts_are_named(runs: dict[str, Findings]) -> None:
    bare = replace(
        runs["iris"],
        tuning=None,
        proof=None,
        support=None,
        choices=[],
        columns=[],
        notices=[],
        class_counts={},
        cross_validated=None,
        code="",
        seconds={},
        versions={},
        test_rows=0,
        test=values.Test({}, {}, {}, np.array([]), np.array([])),
    )
    text = checked(bare)
    assert charts(text) == []
    for name, words in {
        "summary": "none were held back",
        "choices": "No choices were recorded",
        "data": "the checks found nothing unusual",
        "tuning": "Nothing was tuned",
        "test": "no test rows",
        "calibration": "The model gives no probabilities",
        "margins": "no margins",
        "certificate": "no certificate",
        "support": "not asked for its support vectors",
        "code": "No code was recorded",
        "timings": "No times were recorded",
    }.items():
        assert words in section(text, name), name


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("rows", [0, 1])
def test_hardly_any_test_rows(runs: dict[str, Findings], name: str, rows: int) -> None:
    test = runs[name].test
    cut = {
        key: getattr(test, key)[:rows]
        for key in ("target", "predicted", "scores", "probabilities")
        if getattr(test, key) is not None
    }
    text = checked(replace(runs[name], test=replace(test, confusion=None, **cut), test_rows=rows))
    words = {0: "no test rows", 1: "no ROC and no precision-recall" if name in ("breast_cancer", "linear") else "1 row"}
    assert words[rows] in section(text, "test")


def test_scores_and_probabilities_may_be_missing(runs: dict[str, Findings]) -> None:
    for name in ("breast_cancer", "iris"):
        test = replace(runs[name].test, scores=None, probabilities=None)
        text = checked(replace(runs[name], test=test))
        assert "no ROC curve" in section(text, "test")
        assert "no probabilities" in section(text, "calibration")
    text = checked(replace(runs["breast_cancer"], test=replace(runs["breast_cancer"].test, scores=None)))
    assert 'id="roc-title"' in text  # probabilities rank rows too


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308])
@pytest.mark.parametrize("name", RUNS)
def test_values_that_are_no_numbers(runs: dict[str, Findings], name: str, bad: float) -> None:
    def some(array: Any) -> Any:
        if array is None or np.asarray(array).dtype.kind != "f":
            return array
        array = np.array(array, dtype=float)
        array[::3] = bad
        return array

    findings = runs[name]
    assert findings.tuning is not None
    assert findings.support is not None
    assert findings.proof is not None
    test = findings.test
    new = replace(
        findings,
        cross_validated=bad,
        tuning=replace(findings.tuning, means=some(findings.tuning.means), deviations=some(findings.tuning.deviations)),
        support=replace(findings.support, margins=some(findings.support.margins)),
        proof=replace(findings.proof, primal=bad, dual=bad, gap=bad, relative_gap=bad, kkt=bad, holds=False),
        seconds={"tune": bad, "train": 1.0},
        test=replace(
            test,
            metrics=dict.fromkeys(test.metrics, bad),
            baseline=dict.fromkeys(test.baseline, bad),
            intervals=dict.fromkeys(test.metrics, (bad, bad)),
            target=some(test.target),
            scores=some(test.scores),
            probabilities=some(test.probabilities),
        ),
    )
    text = checked(new)
    assert "nan" not in section(text, "summary")
    assert "Nothing yet" in section(text, "certificate")


def test_nothing_but_bad_values(runs: dict[str, Findings]) -> None:
    findings = runs["diabetes"]
    assert findings.tuning is not None
    assert findings.support is not None
    nothing = np.full(len(findings.test.target), np.nan)
    new = replace(
        findings,
        tuning=replace(findings.tuning, means=np.full(len(findings.tuning.means), np.nan)),
        support=replace(findings.support, margins=nothing),
        test=replace(findings.test, target=nothing),
    )
    text = checked(new)
    assert "no test rows with finite values" in section(text, "test")
    assert "no finite margins" in section(text, "margins")
    assert "No cell was finished" in section(text, "tuning")


def test_a_wide_gap_is_not_called_finished(runs: dict[str, Findings]) -> None:
    proof = runs["iris"].proof
    assert proof is not None
    text = checked(replace(runs["iris"], proof=replace(proof, relative_gap=0.25)))
    assert "Training stopped early: up to 25.0 %" in section(text, "certificate")


def test_kernels_share_their_colours_and_the_strength_has_its_name(runs: dict[str, Findings]) -> None:
    one = runs["iris"].tuning
    assert one is not None
    both = replace(
        one,
        kernels=["rbf"] * len(one.means) + ["poly"] * len(one.means),
        strengths=np.r_[one.strengths, one.strengths],
        widths=np.r_[one.widths, one.widths],
        means=np.r_[one.means, one.means - 0.1],
        deviations=np.r_[one.deviations, one.deviations],
        dropped=np.r_[one.dropped, one.dropped],
        strength="lam",
    )
    text = checked(replace(runs["iris"], tuning=both))
    first, second = (svg for svg in charts(text) if "tuning-" in svg)
    assert "Accuracy over lam and gamma, kernel poly" in second
    assert "chosen</text>" in first
    assert "chosen</text>" not in second
    assert first.count('fill-opacity="1.00"') > second.count('fill-opacity="1.00"')  # beside the colour bar's


def test_a_winner_at_the_edge_of_the_grid_is_named(runs: dict[str, Findings]) -> None:
    assert runs["iris"].tuning is not None
    tuning = replace(runs["iris"].tuning, best=int(np.argmax(runs["iris"].tuning.strengths)))
    assert "has the largest C" in section(checked(replace(runs["iris"], tuning=tuning)), "tuning")


# -- large ------------------------------------------------------------------------------------------------------------


def test_a_hundred_thousand_test_rows_make_a_small_page(runs: dict[str, Findings]) -> None:
    rng = np.random.default_rng(0)
    n = 100_000
    y = rng.normal(size=n)
    test = replace(runs["diabetes"].test, target=y, predicted=y + rng.normal(size=n))
    text = checked(replace(runs["diabetes"], test=test, test_rows=n))
    assert len(text.encode()) < 500_000
    assert "2,000 of 100,000 rows are drawn" in section(text, "test")

    label = rng.integers(0, 2, n)
    scores = label + rng.normal(size=n)
    p = 1 / (1 + np.exp(-scores))
    names = np.array(runs["breast_cancer"].test.labels)
    test = replace(
        runs["breast_cancer"].test,
        target=names[label],
        predicted=names[(scores > 0.5).astype(int)],
        confusion=None,
        scores=scores,
        probabilities=np.column_stack([1 - p, p]),
    )
    assert len(checked(replace(runs["breast_cancer"], test=test, test_rows=n)).encode()) < 500_000


def test_many_classes_columns_and_warnings_are_capped(runs: dict[str, Findings]) -> None:
    rng = np.random.default_rng(0)
    k, n = 400, 20_000
    labels = [f"class {i}" for i in range(k)]
    truth = rng.integers(0, k, n)
    answer = np.where(rng.random(n) < 0.9, truth, rng.integers(0, k, n))
    test = replace(
        runs["digits"].test,
        labels=labels,
        target=np.array(labels)[truth],
        predicted=np.array(labels)[answer],
        confusion=None,
        scores=rng.normal(size=(n, k)) + 3 * np.eye(k)[truth],
        probabilities=None,
    )
    columns = [values.Column(f"column {i}", "number", i % 7, 10, "0 to 1") for i in range(100_000)]
    columns[-1] = values.Column("the last", "left out", 0, 1, "1", "constant")
    findings = replace(
        runs["digits"],
        test=test,
        columns=columns,
        notices=[values.Notice("missing", f"column {i}") for i in range(1000)],
        class_counts={label: int(np.sum(truth == i)) for i, label in enumerate(labels)},
    )
    text = checked(findings)
    assert len(text.encode()) < 500_000
    assert "300 of 100,000 columns are shown" in text
    assert "the last" in text  # what is left out comes first
    assert "100 of 1,000 warnings are shown" in text
    assert 'id="confusion-title"' not in text
    assert "the 10 classes of the smallest areas, of 400" in text


@pytest.mark.parametrize("k", [3, 7, 12, 30])
def test_a_matrix_of_up_to_thirty_classes_shows_every_number(runs: dict[str, Findings], k: int) -> None:
    labels = [f"a long name for class {i}" for i in range(k)]
    confusion = np.arange(1, k * k + 1).reshape(k, k)
    truth = np.array(labels)
    test = replace(runs["iris"].test, labels=labels, target=truth, predicted=truth, confusion=confusion, scores=None)
    text = checked(replace(runs["iris"], test=test))
    (svg,) = [svg for svg in charts(text) if "confusion-title" in svg]
    shown = re.findall(r'class="inside[^>]*>([\d,]+)<', svg)
    assert [int(number.replace(",", "")) for number in shown] == confusion.ravel().tolist()
    assert f"{k - 1}</text>" in svg or f"{k - 1}<title>" in svg  # names that differ at their ends stay apart


# -- colours, and the checkers --------------------------------------------------------------------------------------


def luminance(colour: str) -> float:
    """WCAG's relative luminance."""
    colour = colour if len(colour) == 7 else "#" + "".join(2 * letter for letter in colour[1:])
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_stand_out(scheme: str) -> None:
    colour = dict(re.findall(r"--([\w-]+):(#\w+)", scheme))
    for text, ground in [("ink", "page"), ("muted", "page"), ("muted", "panel"), ("link", "page"), ("ink", "note")]:
        assert contrast(colour[text], colour[ground]) >= 4.5, (text, ground)
    for mark in ("c1", "c2", "c3", "c4", "c5", "heat", "wrong", "zone1", "zone4"):
        assert contrast(colour[mark], colour["page"]) >= 3, mark


def test_contrast_can_fail() -> None:
    assert contrast("#777", "#888888") < 1.5


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("<p><b></p>", "</p> closes b"),
        ("<div>", "never closed"),
        ('<a href="https://example.org">x</a>', "link to"),
        ('<a href="#nowhere">x</a>', "link to"),
        ('<p onclick="x">x</p>', "has onclick"),
        ('<img alt="x">', "there is a <img>"),
        ("<p>x</p>", "0 scripts"),
        ("<script></script><p>\x01</p>", "control character"),
        ('<script></script><p id="a"></p><p id="a"></p>', "occurs twice"),
        ("<script></script><style>a{background:url(x)}</style>", "the style has url("),
        ("<script></script><table><tr><td>1</td></tr></table>", "without <caption>"),
    ],
)
def test_the_checker_of_pages_can_fail(text: str, complaint: str) -> None:
    assert any(complaint in problem for problem in page_problems(text))


@pytest.mark.parametrize(
    ("inside", "complaint"),
    [
        ('<title>a</title><desc>b</desc><rect x="nan"/>', "nan"),
        ('<title>a</title><desc>b</desc><rect x="900"/>', "outside"),
        ('<title>a</title><desc>b</desc><polyline points="1,inf"/>', "inf"),
        ("<desc>b</desc>", "no title"),
        ("<title>a</title><desc>b</desc><g>", "no XML"),
    ],
)
def test_the_checker_of_charts_can_fail(inside: str, complaint: str) -> None:
    found = chart_problems(f'<svg role="img" viewBox="0 0 100 100">{inside}</svg>')
    assert any(complaint in problem for problem in found)
