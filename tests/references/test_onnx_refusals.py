"""What is not exported, and that a graph which would predict something else never becomes a file."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, QuantileTransformer, StandardScaler

import maxmargin
from maxmargin import SVC, SVCCV, SVDD, SVR, LinearSVC, PolynomialMap
from maxmargin.exceptions import ExportError
from maxmargin.io import _onnx, export_onnx
from maxmargin.io._onnx import _decisions, _encoders, _graph, _kernels, _machines, _steps, _write
from maxmargin.kernels import Gaussian, Linear

X, y = load_iris(return_X_y=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that is already there."""
    file = tmp_path / "model.onnx"
    file.write_bytes(b"what was there")
    return file


def assert_refused(model: Any, path: Path, match: str, sample: Any = None, error: type = ExportError) -> Any:
    """Nothing is written, and what was there stays."""
    with pytest.raises(error, match=match) as found:
        export_onnx(model, path, sample)
    assert path.read_bytes() == b"what was there"
    assert list(path.parent.iterdir()) == [path]
    return found.value


# -- what cannot be exported ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "match"),
    [
        (lambda A, B: A @ B.T, "Function contains a Python function"),
        (RBF(), "Function contains a Python function"),
        (Gaussian(1.0).warp(lambda A: A[:, 0] + 1.0), "Warp contains a Python function"),
        (Linear() + Gaussian(1.0).of(lambda A: A[:, :2]), "Of contains a Python function"),
        (Gaussian(1.0, over=Linear().of(lambda A: A[:, :2])), "Of contains a Python function"),
    ],
)
def test_python_functions(kernel: Any, match: str, path: Path) -> None:
    assert_refused(SVC(kernel=kernel).fit(X, y), path, match)


def test_rows_that_are_no_numbers(path: Path) -> None:
    def same_letters(one: Any, other: Any) -> np.ndarray:
        return np.array([[float(len(set(a) & set(b))) for b in other] for a in one])

    model = SVC(kernel=same_letters).fit(["abc", "abd", "xyz", "xyw"], [0, 0, 1, 1])
    assert_refused(model, path, "not fitted to rows of numbers")


def test_a_ball_around_precomputed_values(path: Path) -> None:
    assert_refused(SVDD(kernel="precomputed").fit(X @ X.T), path, r"needs k\(x, x\)")


def test_steps_that_are_not_known(path: Path) -> None:
    strange = QuantileTransformer(n_quantiles=5)
    model = make_pipeline(StandardScaler(), strange, SVC()).fit(X, y)
    assert_refused(model, path, r"step 'quantiletransformer' is a QuantileTransformer.*StandardScaler, MinMaxScaler")
    parts = ColumnTransformer([("odd", make_pipeline(strange), [0, 1])])
    model = make_pipeline(parts, SVC()).fit(X, y)
    assert_refused(model, path, "step 'quantiletransformer' in part 'odd' of step 'columntransformer'")
    assert_refused(make_pipeline(FunctionTransformer(np.log1p), SVC()).fit(X, y), path, "FunctionTransformer")


def test_models_that_are_not_known(path: Path) -> None:
    assert_refused(RandomForestClassifier(n_estimators=2).fit(X, y), path, "RandomForestClassifier cannot be exported")
    assert_refused(make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=2)).fit(X, y), path, "cannot be")
    assert_refused(make_pipeline(StandardScaler(), "passthrough").fit(X, y), path, "ends without a machine")
    assert_refused("model.mm", path, "must be a fitted estimator, got str")


def test_models_that_are_not_fitted(path: Path) -> None:
    assert_refused(SVC(), path, "not fitted", error=NotFittedError)
    assert_refused(make_pipeline(StandardScaler(), SVC()), path, "not fitted", error=NotFittedError)
    assert_refused(SVCCV(), path, "not fitted", error=NotFittedError)
    assert_refused(SVCCV(Cs=[1.0], gammas=[1.0], refit=False).fit(X, y), path, "refit=False")


def test_parameters_that_contradict_each_other(path: Path) -> None:
    model = SVC(break_ties=True, decision_function_shape="ovo").fit(X, y)
    assert_refused(model, path, "break_ties must be False", error=ValueError)


def test_a_polynomial_map_with_too_many_features(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_steps, "MOST_FEATURES", 10)
    assert_refused(make_pipeline(PolynomialMap(2), LinearSVC()).fit(X, y), path, "15 features, more than the 10")


def test_a_model_too_large_for_a_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_graph, "MOST_BYTES", 100)
    assert_refused(SVC().fit(X, y), path, "more than the 2 GB")


def test_empty_text_beside_missing_text(path: Path) -> None:
    rows = np.array([["", "a", np.nan, "b"] * 5], dtype=object).T
    model = make_pipeline(OneHotEncoder(), LinearSVC()).fit(rows, [0, 1] * 10)
    assert_refused(model, path, "both the empty string and missing values")


def test_text_that_nobody_encodes(path: Path) -> None:
    parts = ColumnTransformer([("t", SimpleImputer(strategy="most_frequent"), ["a"])], remainder="passthrough")
    frame = pd.DataFrame({"a": ["1", "2"] * 10, "b": np.arange(20.0)})
    model = make_pipeline(parts, FunctionTransformer(), SVC()).fit(frame, [0, 1] * 10)
    assert_refused(model, path, "would get columns of text", sample=frame)


def test_classes_without_an_onnx_type() -> None:
    with pytest.raises(ExportError, match="too large"):
        _decisions.class_values(np.array([0, 2**63], dtype=np.uint64))
    with pytest.raises(ExportError, match="type tuple have no ONNX type"):
        _decisions.class_values(np.array([(1, 2), None], dtype=object))


def test_categories_of_two_types() -> None:
    with pytest.raises(ExportError, match="both text and int"):
        _encoders._as_tensor_values(np.array(["a", 1], dtype=object), "step 'encoder'")


def test_categories_of_no_known_type(path: Path) -> None:
    frame = pd.DataFrame({"day": pd.to_datetime(["2024-01-01", "2024-01-02"] * 10)})
    model = make_pipeline(OneHotEncoder(), LinearSVC()).fit(frame, [0, 1] * 10)
    assert_refused(model, path, "step 'onehotencoder' has categories of type")


# -- samples and paths ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sample", "match"),
    [
        (X[:0], "sample has no rows"),
        (X[:, :2], "features"),
        (np.full((2, 4), np.nan), "NaN"),
        (X[0], "1D array|2D array"),
    ],
)
def test_samples_that_make_no_sense(sample: Any, match: str, path: Path) -> None:
    assert_refused(SVC().fit(X, y), path, match, sample, error=ValueError)


def test_a_sample_with_numbers_where_text_was(path: Path) -> None:
    rows = np.array([["a", "b"] * 10], dtype=object).T
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LinearSVC()).fit(rows, [0, 1] * 10)
    assert_refused(model, path, "column 'x0' holds text, but the sample has 3", np.array([["a"], [3]], dtype=object))


def test_rows_that_the_model_cannot_predict(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_write, "rows_for", lambda steps, machine: np.full((3, 4), np.inf))
    assert_refused(SVC().fit(X, y), path, "pass sample=, some rows of your data")


def test_paths_that_cannot_be_written(tmp_path: Path) -> None:
    model = SVC().fit(X, y)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        export_onnx(model, tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist; make it first"):
        export_onnx(model, tmp_path / "nowhere" / "model.onnx")


def test_a_write_that_fails_leaves_nothing_behind(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert_refused(SVC().fit(X, y), path, "No space left", error=OSError)


def test_an_existing_file_is_replaced(path: Path) -> None:
    export_onnx(LinearSVC().fit(X, y), str(path))
    assert path.read_bytes() != b"what was there"
    assert list(path.parent.iterdir()) == [path]


def test_without_the_packages(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_onnx, "find_spec", lambda name: None)
    assert_refused(SVC().fit(X, y), path, r"onnx and onnxruntime: pip install maxmargin\[onnx\]", error=ImportError)


def test_importing_the_package_loads_no_onnx() -> None:
    where = str(Path(maxmargin.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {where!r}); import maxmargin; maxmargin.io.export_onnx; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert "maxmargin.io" in run.stdout.split()
    assert {"onnx", "onnxruntime", "sklearn"} & set(run.stdout.split()) == set()


# -- a graph that is wrong ------------------------------------------------------------------------------------


def corrupted(monkeypatch: pytest.MonkeyPatch, home: Any, name: str, change: Any) -> None:
    """Have a translation return something else: ``change(graph, tensor)``."""
    right = getattr(home, name)

    def wrong(*args: Any, **kwargs: Any) -> str:
        graph = next(arg for arg in args if isinstance(arg, _graph.Graph))
        return change(graph, right(*args, **kwargs))

    monkeypatch.setattr(home, name, wrong)


@pytest.mark.parametrize(
    ("home", "name", "change", "output"),
    [
        (_kernels.KernelSums, "tensor", lambda g, t: g.op("Add", t, 1e-7), "scores"),
        (_kernels.KernelSums, "tensor", lambda g, t: g.op("Cast", g.op("Cast", t, to=1), to=11), "scores"),
        (_machines, "decided", lambda g, t: g.op("Neg", t), "label"),
        (_machines, "chosen", lambda g, t: g.op("Where", g.op("Equal", t, np.array([2])), np.array([1]), t), "label"),
        (_machines, "calibrated", lambda g, t: g.op("Add", t, 1e-6), "probabilities"),
        (_machines, "distribution", lambda g, t: g.op("Mul", t, 1.0 + 1e-7), "probabilities"),
    ],
    ids=["shifted", "float32", "negated", "another class", "calibration", "shares"],
)
def test_a_wrong_graph_is_refused(
    home: Any, name: str, change: Any, output: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SVC(calibration="sigmoid" if output == "probabilities" else None).fit(X, y)
    corrupted(monkeypatch, home, name, change)
    error = assert_refused(model, path, f"would predict something else.*output '{output}' differs: row", X)
    assert 0 <= error.row < len(X)
    method = {"label": "predict", "scores": "decision_function", "probabilities": "predict_proba"}[output]
    assert np.allclose(error.expected, getattr(model, method)(X[[error.row]])[0])
    assert not np.array_equal(error.expected, error.received)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.row, copy.expected, copy.received) == (
        str(error),
        error.row,
        error.expected,
        error.received,
    )


def test_the_worst_row_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = SVR().fit(X, y)
    at = X[[15], 0]
    corrupted(monkeypatch, _kernels.KernelSums, "tensor", lambda g, t: g.op("Add", t, _bump(g, at)))
    error = assert_refused(model, path, "'prediction' differs: row 3 has", X[[0, 1, 2, 15, 4]])
    assert (error.row, error.expected) == (3, pytest.approx(model.predict(X[[15]])[0]))
    assert error.received == pytest.approx(error.expected + 1.0)


def _bump(graph: Any, value: Any) -> str:
    """1 for rows whose first feature has the value."""
    return graph.number(graph.op("Equal", graph.take("X", [0]), value))


def test_a_wrong_step_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.array([["a", "b", "c"] * 10], dtype=object).T
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LinearSVC()).fit(rows, [0, 1, 0] * 10)
    corrupted(monkeypatch, _encoders, "_looked_up", lambda g, t: g.take(t, [1, 0, 2]))
    assert_refused(model, path, "would predict something else")


def test_what_is_checked_is_what_is_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph with one more output is right, the one for the file is not."""
    right = _graph.Graph.model

    def wrong(self: Any, properties: dict[str, str], hidden: tuple[str, ...] = ()) -> Any:
        model = right(self, properties, hidden)
        if hidden:
            first = next(one for one in model.graph.initializer if len(one.dims) == 2)
            values = onnx.numpy_helper.to_array(first) * 1.001
            first.CopyFrom(onnx.numpy_helper.from_array(values, first.name))
        return model

    monkeypatch.setattr(_graph.Graph, "model", wrong)
    assert_refused(SVC().fit(X, y), path, "would predict something else", X)


def test_a_model_that_contradicts_itself_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = SVC().fit(X, y)
    monkeypatch.setattr(SVC, "predict", lambda self, rows: np.zeros(len(rows), dtype=int))
    assert_refused(model, path, "predict does not follow from its attributes", X)


def test_rows_on_the_boundary_are_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A score of exactly 0 is the first class; rounding may make it the second one."""
    model = LinearSVC(fit_intercept=False).fit([[-1.0], [1.0]], [0, 1])
    corrupted(monkeypatch, _kernels.LinearSums, "tensor", lambda g, t: g.op("Add", t, 1e-14))
    with pytest.warns(UserWarning, match="1 of 3 rows of the sample lie on a boundary.*row 1 first") as found:
        export_onnx(model, path, [[-1.0], [0.0], [1.0]])
    assert found[0].filename == __file__
    assert path.read_bytes() != b"what was there"
