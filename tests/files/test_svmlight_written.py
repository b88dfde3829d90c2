"""svmlight data that we write: our reader, scikit-learn's and svm-train read the same numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_svmlight_file

from maxmargin import SVC, io
from tests.files.tools import blobs, run, tool
from tests.laws import examples

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@examples(60)
@given(X=arrays(np.float64, (3, 4), elements=FINITE), y=arrays(np.float64, (3,), elements=FINITE))
def test_every_number_comes_back(X: Any, y: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("svm") / "rows.svm"
    io.save_svmlight(X, y, path)
    (chunk,) = io.read_chunks(path, n_features=4, dtype=np.float64)
    np.testing.assert_array_equal(chunk.X.toarray(), X)
    np.testing.assert_array_equal(chunk.y, y)
    theirs, labels = load_svmlight_file(path, n_features=4)
    np.testing.assert_array_equal(theirs.toarray(), X)
    np.testing.assert_array_equal(labels, y)


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("kind", ["dense", "csr", "csc", "float32", "lists"])
def test_kinds_of_rows_and_compressions(kind: str, ending: str, tmp_path: Path) -> None:
    X, y = blobs(3, 5000)
    rows = {"dense": X, "csr": sp.csr_matrix(X), "csc": sp.csc_array(X), "float32": X.astype(np.float32),
            "lists": X.tolist()}[kind]  # fmt: skip
    io.save_svmlight(rows, y, tmp_path / f"rows.svm{ending}")
    chunks = list(io.read_chunks(tmp_path / f"rows.svm{ending}", n_features=4, dtype=np.float64))
    expected = X.astype(np.float32).astype(np.float64) if kind == "float32" else X
    np.testing.assert_array_equal(np.vstack([chunk.X.toarray() for chunk in chunks]), expected)
    np.testing.assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), y)
    if ending:
        io.save_svmlight(rows, y, tmp_path / "plain.svm")
        assert (tmp_path / f"rows.svm{ending}").stat().st_size < (tmp_path / "plain.svm").stat().st_size


def test_the_text(tmp_path: Path) -> None:
    messy = sp.csr_array((np.array([2.0, 1.0, 0.0, 3.0]), np.array([2, 0, 1, 2]), np.array([0, 3, 3, 4])), shape=(3, 3))
    io.save_svmlight(messy, np.array([True, False, True]), tmp_path / "a.svm")
    assert (tmp_path / "a.svm").read_text() == "1 1:1 3:2\n0\n1 3:3\n"
    io.save_svmlight([[0.1, -1e300]], [2**53 + 1], tmp_path / "b.svm", zero_based=True)
    assert (tmp_path / "b.svm").read_text() == "9007199254740993 0:0.1 1:-1e+300\n"


def test_svm_train_reads_the_same(tmp_path: Path) -> None:
    X, y = blobs(2)
    io.save_svmlight(X / 3, y, tmp_path / "rows.svm")
    run(tool("svm-train"), "-q", "-g", "0.5", "-e", "1e-9", tmp_path / "rows.svm", tmp_path / "model")
    theirs, ours = io.load_libsvm(tmp_path / "model"), SVC(gamma=0.5, tol=1e-9).fit(X / 3, y)
    np.testing.assert_allclose(theirs.decision_function(X), ours.decision_function(X), atol=1e-6)


@pytest.mark.parametrize(
    ("X", "y", "complaint"),
    [
        ([[1.0], [np.nan]], [1, 2], "NaN"),
        ([[1.0], [np.inf]], [1, 2], "infinity"),
        ([[1.0], [2.0]], [1], "2 rows, but y has 1"),
        ([[1.0], [2.0]], ["a", "b"], "labels of svmlight files are numbers"),
        ([[1.0], [2.0]], [1.0, np.nan], "label is not finite"),
        ([1.0, 2.0], [1, 2], "2D"),
    ],
)
def test_bad_data_leave_no_file(X: Any, y: Any, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=complaint):
        io.save_svmlight(X, y, tmp_path / "rows.svm")
    assert list(tmp_path.iterdir()) == []
