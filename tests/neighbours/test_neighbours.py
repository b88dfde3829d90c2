"""Other libraries with our machines; each test says which it is that is not installed."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from maxmargin import SVC, SVR, LinearSVC, io
from tests.contract.estimators import NAMES, data, made

X, Y = load_iris(return_X_y=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_skops_loads_every_estimator_with_the_types_that_are_published(name):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    rows, label = data()
    model = made(name).fit(rows, label)
    file = skops.dumps(model)
    same = skops.loads(file, trusted=io.skops_trusted_types())
    assert set(skops.get_untrusted_types(data=file)) <= set(io.skops_trusted_types())
    ask = "predict" if hasattr(model, "predict") else "transform"
    np.testing.assert_array_equal(getattr(same, ask)(rows), getattr(model, ask)(rows))


@pytest.mark.parametrize("machine", [SVC(), SVR(), LinearSVC(), SVC(kernel=lambda A, B: A @ B.T)])
def test_nullable_columns_of_pandas_are_numbers(machine):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    plain = pandas.DataFrame(X, columns=list("abcd"))
    nullable, expected = plain.astype("Float64"), machine.fit(plain, Y).predict(plain)
    np.testing.assert_array_equal(machine.fit(nullable, Y).predict(nullable), expected)
    assert list(machine.feature_names_in_) == list("abcd")


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_libraries_are_rows(library):
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    columns = dict(zip("abcd", X.T, strict=True))
    frame = frames.DataFrame(columns) if library == "polars" else frames.table(columns)
    model = SVC().fit(frame, Y)
    np.testing.assert_array_equal(model.predict(frame), SVC().fit(X, Y).predict(X))


def test_frames_seen_through_narwhals_are_rows():
    narwhals = pytest.importorskip("narwhals", reason="narwhals is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = narwhals.from_native(pandas.DataFrame(X, columns=list("abcd")))
    np.testing.assert_array_equal(SVC().fit(frame, Y).predict(frame), SVC().fit(X, Y).predict(X))
