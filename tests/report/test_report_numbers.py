"""The numbers behind the charts, compared with scikit-learn's and SciPy's, and the laws of scales and texts."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, brier_score_loss, confusion_matrix, roc_auc_score, roc_curve

from maxmargin.report import Findings, render
from maxmargin.report._charts import extents, margin_chart, on_edges, score_limits, tiles
from maxmargin.report._charts_test import (
    CURVE_POINTS,
    chosen_points,
    precision_recall,
    residual_chart,
    roc,
    scatter_chart,
    thinned,
)
from maxmargin.report._sections_test import _reliability, codes
from maxmargin.report._svg import Scale, coordinate, decades, middle_cut, nice_ticks
from maxmargin.report._text import escaped, fixed, foreign, listed, metric, number, plain, seconds, share, tick, width
from tests.report.page_checks import chart_problems, charts

FINITE = st.floats(-1e12, 1e12, allow_nan=False)


@given(st.lists(st.tuples(st.booleans(), st.integers(-5, 5)), min_size=2, max_size=60))
def test_curves_agree_with_scikit_learn(rows: list[tuple[bool, int]]) -> None:
    truth, scores = np.array([r[0] for r in rows]), np.array([float(r[1]) for r in rows])
    curve = roc(truth, scores)
    if truth.all() or not truth.any():
        assert curve is None
    else:
        x, y, _ = roc_curve(truth, scores, drop_intermediate=False)
        assert curve is not None
        np.testing.assert_allclose(curve.x, x)
        np.testing.assert_allclose(curve.y, y)
        assert curve.area == pytest.approx(roc_auc_score(truth, scores))
    found = precision_recall(truth, scores)
    assert (found is None) == (not truth.any())
    if found is not None:
        assert found.area == pytest.approx(average_precision_score(truth, scores))


def test_rows_without_a_score_are_left_out_of_curves() -> None:
    truth, scores = np.array([1, 0, 1, 0]) > 0, np.array([2.0, 1.0, np.nan, np.inf])
    whole, part = roc(truth, scores), roc(truth[:2], scores[:2])
    assert whole is not None
    assert part is not None
    assert (whole.x.tolist(), whole.y.tolist(), whole.area) == (part.x.tolist(), part.y.tolist(), part.area)


def test_a_thinned_curve_stays_close() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(50_000) < 0.3
    curve = roc(truth, truth + rng.normal(size=50_000))
    assert curve is not None
    points = np.array(thinned(curve))
    assert len(points) <= CURVE_POINTS + 2
    assert points[0].tolist() == [0, 0]
    assert points[-1].tolist() == [1, 1]
    assert np.abs(np.interp(curve.x, points[:, 0], points[:, 1]) - curve.y).max() < 0.01


def test_labels_are_found_whatever_their_type() -> None:
    for classes in (np.array([0, 1]), np.array([1.5, 2.0]), np.array([False, True]), np.array(["a", "b"]),
                    np.array(["a", "b"], dtype=object), np.array([1, 2], dtype=np.int8)):  # fmt: skip
        assert codes(classes[[1, 0, 1]], [str(c) for c in classes]).tolist() == [1, 0, 1]
    assert codes(np.array(["c"]), ["a", "b"]).tolist() == [-1]


def test_the_confusion_is_computed_where_it_is_not_given(runs: dict[str, Findings]) -> None:
    test = runs["digits"].test
    assert test.confusion is not None
    np.testing.assert_array_equal(confusion_matrix(test.target, test.predicted, labels=test.labels), test.confusion)
    without = replace(runs["digits"], test=replace(test, confusion=None))
    assert render(without) == render(runs["digits"])


def test_calibration_counts_every_row(runs: dict[str, Findings]) -> None:
    test = runs["breast_cancer"].test
    found = _reliability(test)
    assert found is not None
    p, happened, brier = found
    assert len(p) == len(test.target)
    assert happened.tolist() == (test.target == test.labels[1]).tolist()
    assert brier == pytest.approx(brier_score_loss(happened, p))


def test_the_worst_rows_are_always_drawn() -> None:
    truth = np.zeros(10_000)
    predicted = np.zeros(10_000)
    predicted[1234] = 5.0
    shown = chosen_points(truth, predicted)
    assert len(shown) == len(set(shown)) == 2000
    assert 1234 in shown
    assert chosen_points(truth[:5], predicted[:5]).tolist() == [0, 1, 2, 3, 4]


# -- scales ---------------------------------------------------------------------------------------------------------


@given(FINITE, st.floats(1e-9, 1e12), st.integers(2, 10))
def test_ticks_are_few_inside_and_apart(low: float, span: float, about: int) -> None:
    high = low + span
    found = nice_ticks(low, high, about)
    room = 1e-6 * max(abs(low), abs(high), span)
    assert all(low - room <= value <= high + room for value in found)
    assert len(found) <= 2.5 * about + 2
    assert found == sorted(found)


@given(st.floats(-12, 12), st.floats(0.01, 12))
def test_ticks_of_a_logarithmic_axis_are_inside(low: float, span: float) -> None:
    found = decades(10.0**low, 10.0 ** (low + span))
    assert 1 <= len(found) <= 12
    assert all(10.0**low * 0.99 <= value <= 10.0 ** (low + span) * 1.01 for value in found)


def test_scales_run_from_end_to_end() -> None:
    assert [Scale(1, 100, 0, 10, log=True)(v) for v in (1, 10, 100)] == [0, 5, 10]
    assert [Scale(0, 2, 10, 0)(v) for v in (0, 1, 2)] == [10, 5, 0]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_coordinate_that_is_no_number_is_an_error(value: float) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        coordinate(value)


def test_tiles_cover_the_frame_and_finer_cells_are_smaller() -> None:
    u, v = (axis.ravel().astype(float) for axis in np.meshgrid([0, 1, 2], [0, 1, 2]))
    boxes = np.array(tiles(u, v))
    assert np.sum((boxes[:, 1] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 2])) == pytest.approx(9.0)
    finer = np.array(tiles(np.r_[u, 0.75, 1.25], np.r_[v, 1.0, 1.0]))
    areas = (finer[:, 1] - finer[:, 0]) * (finer[:, 3] - finer[:, 2])
    assert areas[-1] < areas[0]
    assert extents([3.0]) == {3.0: (2.75, 3.25)}


def test_one_bad_cell_does_not_take_all_the_colours() -> None:
    low, high = score_limits(np.array([0.1, 0.96, 0.97, 0.98]))
    assert (low, high) == (pytest.approx(0.98 - 3 * 0.015), 0.98)
    assert score_limits(np.array([0.5, 0.6])) == (0.5, 0.6)


def test_rows_on_a_margin_are_coloured_as_free_of_cost() -> None:
    margins = np.array([1.0, 1.0 - 1e-12, 0.5, -1.0, 7.0])  # what is on a margin was settled before
    np.testing.assert_array_equal(on_edges(margins, regression=False), margins)
    for far in (1.0, 3.7, 14.3, 29.1):  # wherever the other edges come to lie
        svg = margin_chart(np.r_[np.full(5, 1.0), np.zeros(3), 0.5, -0.5, far, -far], regression=False)
        counts = {
            zone: sum(int(n) for n in re.findall(rf'class="bar zone-{zone}"[^>]*><title>[^:]*: (\d+) row', svg))
            for zone in (1, 2, 3, 4)
        }
        assert counts == ({1: 6, 2: 4, 3: 2, 4: 0} if far == 1.0 else {1: 6, 2: 4, 3: 1, 4: 1})
    spare = on_edges(np.array([0.0, 1e-12, 5.0, -2.0]), regression=True)
    assert (spare < 0).tolist() == [True, False, False, True]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.booleans())
@example([5e-324], True)
@example([1e149, -1e149], True)
@example([1e149, -1e149], False)
def test_every_row_is_in_one_bar_of_the_margins(margins: list[float], regression: bool) -> None:
    svg = margin_chart(np.array(margins), regression)
    assert sum(int(n.replace(",", "")) for n in re.findall(r"to [^:<]*: ([\d,]+) row", svg)) == len(margins)


# -- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (number(math.nan), "not known"),
        (number(None), "not known"),
        (number(-math.inf), "-∞"),
        (number(1234567), "1,234,567"),
        (number(0.12345), "0.1235"),
        (number(1234.5678), "1,235"),
        (number(3.2e-15, 2), "3.2 × 10⁻¹⁵"),
        (number(0.0), "0"),
        (share(0.99999), "99.9 %"),
        (share(1.0), "100.0 %"),
        (share(0.00001), "0.001 %"),
        (share(0.0), "0 %"),
        (share(math.nan), "not known"),
        (fixed(1.0), "1.000"),
        (fixed(math.nan), "not known"),
        (metric("accuracy", 0.5), "50.0 %"),
        (metric("R2", 0.5), "0.5000"),
        (seconds(0.0042), "4.2 ms"),
        (seconds(3.25), "3.25 s"),
        (seconds(150), "2 min 30 s"),
        (seconds(7260), "2 h 1 min"),
        (seconds(math.inf), "not known"),
        (tick(0.25), "0.25"),
        (tick(-1500.0), "-1,500"),
        (tick(1e-7), "10⁻⁷"),
        (tick(2e9), "2·10⁹"),
        (listed(["a"]), "a"),
        (listed(["a", "b", "c"]), "a, b and c"),
        (middle_cut("abcdefghij", 5), "ab…ij"),
        (plain("a" * 300, 10), "aaaaaaaaa…"),
        (escaped("<a href='x'>\x00"), "&lt;a href=&#x27;x&#x27;&gt;\ufffd"),
        (foreign("ab"), "<bdi>ab</bdi>"),
    ],
)
def test_texts(shown: str, expected: str) -> None:
    assert shown == expected


def test_wide_letters_need_more_room() -> None:
    assert width("漢字", 12) > width("ab", 12)


@given(st.text(), st.integers(1, 30))
def test_a_cut_text_is_no_longer_than_asked(text: str, letters: int) -> None:
    assert len(middle_cut(text, letters)) <= max(letters, 2)


@given(st.lists(st.tuples(*2 * [st.floats(-1e149, 1e149)]), min_size=1, max_size=20))
@example([(5e-324, 0.0)])
@example([(1.0, 1.0)])
def test_scatter_and_residuals_of_any_numbers_are_charts(rows: list[tuple[float, float]]) -> None:
    truth, predicted = np.array(rows).T
    for text in (scatter_chart(truth, predicted), residual_chart(truth, predicted)):
        assert [problem for svg in charts(text) for problem in chart_problems(svg)] == []
