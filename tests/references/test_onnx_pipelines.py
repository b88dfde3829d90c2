"""Pipelines as ONNX files: every step, tables of numbers and text, missing values, unknown categories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from onnx_file import decided, exported, run
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from maxmargin import (
    SVC,
    SVCCV,
    SVR,
    KernelDiscriminantAnalysis,
    LinearSVC,
    NystroemMap,
    PolynomialMap,
    RandomFourierMap,
)
from maxmargin.io import export_onnx
from maxmargin.kernels import Laplacian
from tests.laws import examples

X, y = load_wine(return_X_y=True)
TRAIN, TEST = np.arange(0, 178, 2), np.arange(1, 178, 2)

STEPS: dict[str, Any] = {
    "standard": StandardScaler(),
    "standard-no-mean": StandardScaler(with_mean=False),
    "standard-no-std": StandardScaler(with_std=False),
    "range": MinMaxScaler((-1, 1)),
    "range-clip": MinMaxScaler(clip=True),
    "largest": MaxAbsScaler(),
    "largest-clip": MaxAbsScaler(clip=True),
    "robust": RobustScaler(),
    "robust-no-centre": RobustScaler(with_centering=False),
    "l2": Normalizer(),
    "l1": Normalizer("l1"),
    "max": Normalizer("max"),
    "pca": PCA(5),
    "pca-whiten": PCA(5, whiten=True),
    "svd": TruncatedSVD(4, random_state=0),
    "variance": VarianceThreshold(0.1),
    "best": SelectKBest(k=4),
    "passthrough": "passthrough",
    "identity": FunctionTransformer(),
    "union": FeatureUnion([("a", PCA(2)), ("b", SelectKBest(k=2)), ("c", "drop")], transformer_weights={"a": 2.0}),
    "pipeline": make_pipeline(MinMaxScaler(), PCA(3)),
    "columns": ColumnTransformer([("a", StandardScaler(), [0, 2]), ("b", "passthrough", [5]), ("c", "drop", [6])]),
    "imputer": SimpleImputer(),
    "polynomial": PolynomialMap(2, gamma=0.1),
    "polynomial-ordered": PolynomialMap(2, gamma=0.1, collapse=False),
    "polynomial-3": PolynomialMap(3, coef0=0, gamma=0.1),
    "polynomial-ordered-plain": PolynomialMap(2, coef0=0, gamma=0.1, collapse=False),
    "nystroem": NystroemMap(n_components=20),
    "nystroem-laplacian": NystroemMap(kernel=Laplacian(0.1), n_components=20),
    "waves": RandomFourierMap(n_components=20),
    "waves-odd": RandomFourierMap(n_components=7, kernel="laplacian"),
    "waves-one": RandomFourierMap(n_components=1),
    "discriminants": KernelDiscriminantAnalysis(),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps(name: str, tmp_path: Path) -> None:
    for model in (make_pipeline(StandardScaler(), STEPS[name], LinearSVC()), make_pipeline(STEPS[name], SVC())):
        if name.startswith("polynomial") and isinstance(model[-1], SVC):
            continue  # thousands of features of unscaled values
        exported(model.fit(X[TRAIN], y[TRAIN]), tmp_path, X[TEST])


def test_one_column(tmp_path: Path) -> None:
    """Constants of one element, which onnxruntime would like to fuse with a product, in float32."""
    for model in (
        make_pipeline(StandardScaler(), LinearSVC()),
        make_pipeline(MinMaxScaler((0, 0.7)), SVC(kernel="poly")),
    ):
        exported(model.fit(X[TRAIN][:, :1], y[TRAIN]), tmp_path, X[TEST][:, :1])


@pytest.mark.parametrize(
    "imputer",
    [
        SimpleImputer(),
        SimpleImputer(strategy="median", add_indicator=True),
        SimpleImputer(strategy="constant", fill_value=3.0),
        SimpleImputer(missing_values=-1.0, strategy="most_frequent"),
    ],
)
def test_missing_numbers(imputer: SimpleImputer, tmp_path: Path) -> None:
    rows = X.copy()
    rows[np.random.default_rng(0).uniform(size=X.shape) < 0.1] = imputer.missing_values
    model = make_pipeline(imputer, StandardScaler(), SVC()).fit(rows[TRAIN], y[TRAIN])
    exported(model, tmp_path, rows[TEST])


def test_a_column_that_is_always_missing(tmp_path: Path) -> None:
    rows = X.copy()
    rows[:, 3] = np.nan
    exported(make_pipeline(SimpleImputer(), StandardScaler(), SVC()).fit(rows[TRAIN], y[TRAIN]), tmp_path, rows[TEST])


def test_searches_inside_and_outside(tmp_path: Path) -> None:
    outside = GridSearchCV(make_pipeline(StandardScaler(), SVC(calibration="sigmoid")), {"svc__C": [1.0, 10.0]})
    exported(outside.fit(X[TRAIN], y[TRAIN]), tmp_path, X[TEST])
    inside = make_pipeline(StandardScaler(), SVCCV(Cs=[1.0, 10.0], gammas=["scale"], scale=True))
    exported(inside.fit(X[TRAIN], y[TRAIN]), tmp_path, X[TEST])


def test_a_table_of_numbers_is_one_input(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=load_wine().feature_names)
    model = make_pipeline(StandardScaler(), SVC()).fit(frame.iloc[TRAIN], y[TRAIN])
    exported(model, tmp_path, frame.iloc[TEST], feeds=X[TEST], sample=frame.iloc[TRAIN])


def test_steps_that_hand_on_tables(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=load_wine().feature_names)
    model = make_pipeline(StandardScaler(), SelectKBest(k=5), SVC()).set_output(transform="pandas")
    exported(model.fit(frame.iloc[TRAIN], y[TRAIN]), tmp_path, frame.iloc[TEST], feeds=X[TEST])


# -- numbers and text -----------------------------------------------------------------------------------------


CITIES = ["Rome", "Oslo", "Lima", "Bern", np.nan]


def table(seed: int, n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "city": rng.choice(np.array(CITIES, dtype=object), n, p=[0.4, 0.3, 0.1, 0.1, 0.1]),
            "grade": rng.choice([1, 2, 3], n, p=[0.6, 0.3, 0.1]),
            "size": rng.choice(["S", "M", "L"], n),
            "note": rng.choice(["a", "b"], n),
            "income": np.where(rng.uniform(size=n) < 0.1, np.nan, rng.lognormal(size=n)),
        }
    )  # fmt: skip


def target(frame: pd.DataFrame) -> np.ndarray:
    return np.where((frame["age"] > 40) ^ (frame["city"] == "Rome"), "yes", "no")


def columns(frame: pd.DataFrame, names: list[str]) -> dict[str, np.ndarray]:
    """Inputs of a file: a column each, missing text as the empty string."""
    feeds = {}
    for name in names:
        values = frame[name]
        text = name in ("city", "size", "note")
        feeds[name] = (values.fillna("").to_numpy(object) if text else values.to_numpy(float))[:, None]
    return feeds


USED = ["age", "city", "grade", "size", "income"]


@pytest.mark.parametrize("drop", [None, "first", "if_binary"])
@pytest.mark.parametrize("least", [None, 0.25])
@pytest.mark.parametrize("unknown", ["ignore", "error", "infrequent_if_exist"])
def test_categories(unknown: str, least: float | None, drop: str | None, tmp_path: Path) -> None:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    encoder = OneHotEncoder(handle_unknown=unknown, min_frequency=least, drop=drop)
    parts = [
        ("num", numbers, ["age", "income"]),
        ("cat", encoder, ["city", "grade"]),
        ("o", OrdinalEncoder(), ["size"]),
    ]
    model = make_pipeline(ColumnTransformer(parts), SVC()).fit(table(0), target(table(0)))
    frame = table(1)
    found = exported(model, tmp_path, frame, feeds=columns(frame, USED))
    assert found["label"].dtype == object
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    assert [(one.name, one.type) for one in session.get_inputs()] == [
        ("age", "tensor(double)"),
        ("city", "tensor(string)"),
        ("grade", "tensor(double)"),
        ("size", "tensor(string)"),
        ("income", "tensor(double)"),
    ]


def test_unknown_categories(tmp_path: Path) -> None:
    encoders = [
        ("cat", OneHotEncoder(handle_unknown="ignore"), ["city"]),
        ("many", OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=2), ["grade"]),
        ("o", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2), ["size"]),
    ]
    model = make_pipeline(ColumnTransformer(encoders), LinearSVC()).fit(table(0), target(table(0)))
    frame = table(1)
    frame.loc[:10, "city"], frame.loc[5:15, "size"], frame.loc[10:20, "grade"] = "Paris", "XL", 9
    feeds = columns(frame, ["city", "grade", "size"])
    exported(model, tmp_path, frame, feeds=feeds)


def test_an_unknown_category_that_the_model_refuses_has_no_score(tmp_path: Path) -> None:
    encoders = [("cat", OneHotEncoder(), ["city"]), ("o", OrdinalEncoder(), ["size"])]
    model = make_pipeline(ColumnTransformer(encoders), SVC()).fit(table(0), target(table(0)))
    export_onnx(model, tmp_path / "model.onnx")
    frame = table(1)
    feeds = columns(frame, ["city", "size"])
    feeds["city"][3], feeds["size"][5] = "Paris", "XL"
    scores = run(tmp_path / "model.onnx", feeds)["scores"]
    assert np.flatnonzero(np.isnan(scores)).tolist() == [3, 5]
    with pytest.raises(ValueError, match="unknown categories"):
        model.predict(frame.assign(city="Paris"))


def test_missing_text_is_imputed(tmp_path: Path) -> None:
    for strategy in ("most_frequent", "constant"):
        imputer = SimpleImputer(strategy=strategy, fill_value="none" if strategy == "constant" else None)
        text = make_pipeline(imputer, OneHotEncoder(handle_unknown="ignore"))
        parts = [("num", StandardScaler(), ["age"]), ("text", text, ["city", "size"])]
        model = make_pipeline(ColumnTransformer(parts), SVC(calibration="isotonic")).fit(table(0), target(table(0)))
        frame = table(1)
        exported(model, tmp_path, frame, feeds=columns(frame, ["age", "city", "size"]))


def test_columns_by_type_position_and_remainder(tmp_path: Path) -> None:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    parts = [
        ("num", numbers, make_column_selector(dtype_include=float)),
        ("city", OneHotEncoder(handle_unknown="ignore"), [1]),
        ("text", OrdinalEncoder(), slice(3, 5)),
    ]
    model = make_pipeline(ColumnTransformer(parts, remainder="passthrough"), SVC()).fit(table(0), target(table(0)))
    frame = table(1)
    exported(model, tmp_path, frame, feeds=columns(frame, list(frame.columns)), sample=frame.iloc[::2])


def test_text_without_names(tmp_path: Path) -> None:
    rows = table(0)[["city", "size"]].to_numpy(object)
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LinearSVC()).fit(rows, target(table(0)))
    other = table(1)
    feeds = {"x0": columns(other, ["city"])["city"], "x1": columns(other, ["size"])["size"]}
    exported(model, tmp_path, other[["city", "size"]].to_numpy(object), feeds=feeds)


def test_numeric_categories_are_one_matrix(tmp_path: Path) -> None:
    rows = table(0)[["grade"]].to_numpy()
    model = make_pipeline(OneHotEncoder(), LinearSVC()).fit(rows, target(table(0)))
    exported(model, tmp_path, table(1)[["grade"]].to_numpy())


def test_missing_numbers_may_be_a_category(tmp_path: Path) -> None:
    rows = table(0)[["grade"]].to_numpy(float, copy=True)
    rows[::5] = np.nan
    model = make_pipeline(OneHotEncoder(), LinearSVC()).fit(rows, target(table(0)))
    exported(model, tmp_path, rows[::-1])


def test_categories_and_truth_values_of_pandas(tmp_path: Path) -> None:
    def typed(frame: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"size": frame["size"].astype("category"), "high": frame["grade"] > 1})

    model = make_pipeline(OneHotEncoder(), SVC()).fit(typed(table(0)), target(table(0)))
    frame = typed(table(1))
    feeds = {"size": frame["size"].to_numpy(object)[:, None], "high": frame["high"].to_numpy(float)[:, None]}
    exported(model, tmp_path, frame, feeds=feeds)
    exported(model, tmp_path, frame, feeds=feeds, sample=frame)


def test_columns_of_a_table_that_nobody_uses_are_no_input(tmp_path: Path) -> None:
    parts = [("num", StandardScaler(), ["age", "grade"])]
    frame = table(0)
    model = make_pipeline(ColumnTransformer(parts), SVR()).fit(frame, frame["age"] ** 2)
    exported(model, tmp_path, table(1), feeds=columns(table(1), ["age", "grade"]), sample=frame)


def test_a_column_with_the_name_of_an_output(tmp_path: Path) -> None:
    frame = table(0)[["age", "city"]].rename(columns={"age": "scores"})
    parts = [("num", StandardScaler(), ["scores"]), ("cat", OneHotEncoder(), ["city"])]
    model = make_pipeline(ColumnTransformer(parts), SVC()).fit(frame, target(table(0)))
    feeds = {"scores_input": frame[["scores"]].to_numpy(), "city": columns(table(0), ["city"])["city"]}
    exported(model, tmp_path, frame, feeds=feeds)


WORDS = st.sampled_from(["red", "green", "blue", "mauve", "Zürich 你好"])
ROW = st.tuples(st.floats(-1e3, 1e3), st.one_of(st.just(np.nan), st.floats(-1.0, 1.0)), WORDS, st.integers(0, 3))


@examples(15, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(ROW, min_size=8, max_size=30), st.lists(ROW, min_size=1, max_size=20), st.randoms(use_true_random=False)
)
def test_any_table(train: list[tuple], new: list[tuple], random: Any) -> None:
    import tempfile

    names = ["a", "b", "c", "d"]
    frame, other = pd.DataFrame(train, columns=names), pd.DataFrame(new, columns=names)
    labels = np.array([random.choice(["x", "y", "z"]) for _ in train])
    labels[:2] = "x", "y"
    parts = [
        ("num", make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), ["a", "b"]),
        ("cat", OneHotEncoder(handle_unknown="ignore"), ["c", "d"]),
    ]
    model = make_pipeline(ColumnTransformer(parts), SVC()).fit(frame, labels)
    feeds = {name: other[[name]].to_numpy(object if name == "c" else float) for name in names}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        export_onnx(model, path)
        assert_same_or_tied(model, other, run(path, feeds))


def assert_same_or_tied(model: Any, rows: Any, found: dict[str, np.ndarray]) -> None:
    """Rows of few values may all lie on a boundary."""
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Found unknown categories")
        np.testing.assert_allclose(found["scores"], model.decision_function(rows), rtol=1e-8, atol=1e-9)
        sure = decided(model, rows)
        assert found["label"][sure].tolist() == model.predict(rows)[sure].tolist()
