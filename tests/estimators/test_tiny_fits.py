"""Tiny fits: what they leave out, and what they must not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from maxmargin import SVC, SVR, LinearSVC
from maxmargin.estimators import _machine

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)


@pytest.fixture
def looked(monkeypatch):
    """How often scikit-learn's checks of rows were asked."""
    asked = []
    monkeypatch.setattr(_machine, "validate_data", lambda *a, **k: (asked.append(1), validate_data(*a, **k))[1])
    return asked


@pytest.mark.parametrize("machine", [SVC(), SVR(), LinearSVC()], ids=str)
def test_rows_that_are_fine_as_they_are_take_one_look(machine, looked):
    model = clone(machine).fit(X, Y)
    assert not looked
    assert model.n_features_in_ == 3
    assert clone(machine).fit(X.astype(np.float32), Y).n_features_in_ == 3
    assert not looked


@pytest.mark.parametrize(
    "rows",
    [X.tolist(), X.astype(int), np.asfortranarray(X), X[:, ::2], X.astype(">f8"), X.astype(np.float16)],
    ids=["list", "integers", "columns", "strided", "big-endian", "half"],
)
def test_others_are_converted(rows, looked):
    model = SVC().fit(rows, Y)
    assert looked
    same = SVC().fit(np.ascontiguousarray(rows, dtype=np.float64), Y)
    np.testing.assert_array_equal(model.dual_coef_, same.dual_coef_)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.where(np.arange(180).reshape(60, 3) == 7, np.nan, X), "contains NaN"),
        (np.where(np.arange(180).reshape(60, 3) == 7, np.inf, X), "contains infinity"),
        (X[:, 0], "Expected 2D array"),
        (X[:, :0], "0 feature"),
        (X[:0], "0 sample"),
    ],
    ids=["nan", "infinity", "line", "no columns", "no rows"],
)
def test_rows_that_are_wrong_are_refused_in_scikit_learns_words(bad, words):
    with pytest.raises(ValueError, match=words):
        SVC().fit(bad, Y[: len(bad)])


def test_names_of_columns_are_forgotten_with_the_frame_that_had_them():
    pandas = pytest.importorskip("pandas")
    model = SVC().fit(pandas.DataFrame(X, columns=["a", "b", "c"]), Y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    model.fit(X, Y)
    assert not hasattr(model, "feature_names_in_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X)


@pytest.mark.parametrize("gap_tol", [None, 1e-11])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_no_support_vector_is_what_rounding_left(kernel, gap_tol):
    for seed in range(120):
        rng = np.random.default_rng(seed)
        n, C = int(rng.integers(8, 40)), 10.0 ** rng.uniform(-2, 2)
        rows = rng.normal(size=(n, 2))
        y = (rows[:, 0] + 0.7 * rng.normal(size=n) > 0).astype(int)
        y[:2] = 0, 1
        alpha = np.abs(SVC(C=C, kernel=kernel, gap_tol=gap_tol).fit(rows, y).dual_coef_[0])
        assert not ((alpha < 1e-15 * C) | ((alpha > (1 - 1e-15) * C) & (alpha < C))).any(), seed


def test_cheap_scores_with_large_errors_are_recomputed():
    """At a large C the scores of equal rows with both labels are large, and so are the errors of their sums."""
    rows, y = np.repeat(X[:10], 2, axis=0), np.tile([0, 1], 10)
    assert SVC(C=1.0, gamma=0.5).fit(rows, y).certificate_.method == "bounded"
    assert SVC(C=1e8, gamma=0.5).fit(rows, y).certificate_.method == "recomputed"


def test_the_same_parameters_in_another_type_are_checked_again():
    SVC(C=1, shrinking=True).fit(X, Y)
    with pytest.raises(ValueError, match="shrinking"):
        SVC(C=1, shrinking=1).fit(X, Y)
