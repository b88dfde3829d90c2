"""Every model comes back from its file as it went in: predictions to the last bit, parameters, proof, history."""

from __future__ import annotations

import inspect
import io as streams
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, SelectPercentile, VarianceThreshold, chi2, mutual_info_classif
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    LabelEncoder,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import maxmargin
from maxmargin import (
    LSSVC,
    SGDSVC,
    SVC,
    SVCCV,
    SVDD,
    SVR,
    KernelDiscriminantAnalysis,
    KernelLeastSquares,
    KernelPegasosSVC,
    KernelPerceptron,
    LinearClassifier,
    LinearRegressor,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    NystroemMap,
    OneClassSVM,
    PegasosSVC,
    Perceptron,
    PolynomialMap,
    RandomFourierMap,
    io,
    kernels,
    losses,
    penalties,
)
from maxmargin.exceptions import ModelFileError
from maxmargin.io._registry import registry

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, y = (part[::3] for part in load_iris(return_X_y=True))
TARGET = X[:, 0] + 0.3 * y
X = X[:, 1:]
GRAM = X @ X.T
NAMES = np.array(["setosa", "versicolor", "virginica"], dtype=object)[y]
TWO = y > 0

CLASSIFIERS = [
    SVC(),
    SVC(kernel="linear", multiclass="ovr", calibration="isotonic"),
    SVC(kernel="poly", calibration="venn-abers"),
    SVC(multiclass="code", code_words="random", probability=True),
    SVC(multiclass="crammer-singer", calibration="sigmoid"),
    SVC(kernel=0.5 * kernels.Gaussian(0.3) + kernels.Linear() ** 2),
    SVC(kernel=(kernels.Matern() * kernels.Cosine()).exp().polynomial([1.0, 0.5])),
    SVC(kernel=kernels.QuadraticForm(np.diag([1.0, 2.0, 3.0]))),
    SVC(random_state=np.random.RandomState(3), time_limit=100.0),
    NuSVC(nu=0.2, class_weight="balanced"),
    LinearSVC(),
    LinearSVC(multi_class="crammer_singer", scale=True),
    LinearSVC(calibration="sigmoid"),
    LinearClassifier("logistic", "l1", C=0.5),
    LinearClassifier("logistic", multiclass="softmax"),
    LinearClassifier(losses.SquaredHinge(), penalties.ElasticNet(0.25)),
    SGDSVC(max_iter=3),
    SGDSVC(validation_fraction=0.3, max_iter=3, calibration="sigmoid"),
    PegasosSVC(max_iter=3),
    Perceptron(max_iter=5, bound=True),
    KernelPerceptron(),
    LSSVC(leave_one_out=True),
    LSSVC(multiclass="ovo", calibration="isotonic"),
    SVC(approximation="nystroem", n_components=7, calibration="sigmoid"),
    SVC(kernel="linear", approximation="nystroem", n_components=7, multiclass="ovr"),
    KernelPegasosSVC(max_iter=3, budget=9, maintenance="merge", calibration="sigmoid"),
    KernelDiscriminantAnalysis(),
]
REGRESSORS = [
    SVR(),
    NuSVR(kernel="sigmoid"),
    LinearSVR(),
    LinearRegressor(losses.Pinball(0.9), penalties.PNorm(1.5)),
    KernelLeastSquares(leave_one_out=True),
    KernelLeastSquares(lam=1e-3, n_landmarks=7),
    OneClassSVM(),
    SVDD(),
    PolynomialMap(),
    NystroemMap(n_components=9),
    RandomFourierMap(),
    make_pipeline(StandardScaler(), SVR()),
    TransformedTargetRegressor(SVR(), transformer=StandardScaler()),
]
TRANSFORMERS = [
    MinMaxScaler(), MaxAbsScaler(), RobustScaler(), Normalizer(), StandardScaler(with_mean=False), PolynomialFeatures(),
    PCA(2), TruncatedSVD(2, random_state=0), SelectKBest(k=2), SelectKBest(chi2, k=1), VarianceThreshold(),
    SelectPercentile(mutual_info_classif), KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"),
    PowerTransformer(), QuantileTransformer(n_quantiles=5), OneHotEncoder(min_frequency=4, handle_unknown="ignore"),
    OneHotEncoder(drop="first", handle_unknown="ignore"), OrdinalEncoder(max_categories=4),
    FeatureUnion([("scaled", StandardScaler()), ("turned", PCA(2))]),
    PolynomialMap(), NystroemMap(n_components=9), RandomFourierMap(),
]  # fmt: skip


def name_of(model: Any) -> str:
    return type(model).__name__


def through_a_file(model: Any, folder: Path) -> Any:
    io.save(model, folder / "model.mm")
    return io.load(folder / "model.mm")


def equal(a: Any, b: Any) -> bool:
    """Whether two values are the same, arrays bit by bit."""
    if type(a) is not type(b):
        return False
    if sp.issparse(a):
        return a.shape == b.shape and (a != b).nnz == 0
    if isinstance(a, np.ma.MaskedArray):
        return equal(a.filled(), b.filled()) and equal(np.ma.getmaskarray(a), np.ma.getmaskarray(b))
    if isinstance(a, np.ndarray):
        if a.dtype == object:
            return a.shape == b.shape and all(map(equal, a.ravel(), b.ravel()))
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, np.random.RandomState):
        return equal(a.get_state(legacy=False), b.get_state(legacy=False))
    if hasattr(a, "__dict__") and not isinstance(a, type) and not inspect.isroutine(a):
        skipped = ("_stop_words_id", "scorer_", "_shifts")
        return equal(*({k: v for k, v in vars(x).items() if k not in skipped} for x in (a, b)))
    return a == b or (a != a and b != b)


def answers(model: Any, rows: Any) -> list[Any]:
    """All that a fitted model says of rows."""
    names = ("predict", "decision_function", "predict_proba", "predict_set", "transform", "score_samples")
    found = [getattr(model, name)(rows) for name in names if hasattr(model, name)]
    return [part.toarray() if sp.issparse(part) else part for part in found]


def assert_same(model: Any, copy: Any, rows: Any) -> None:
    assert equal(model, copy)
    assert equal(answers(model, rows), answers(copy, rows))
    assert equal(model.get_params(), copy.get_params())


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_of)
@pytest.mark.parametrize("kind", ["texts", "numbers", "two", "sparse", "float32"])
def test_classifiers(model: Any, kind: str, tmp_path: Path) -> None:
    labels = {"texts": NAMES, "two": TWO}.get(kind, y)
    rows = sp.csr_array(X) if kind == "sparse" else X.astype(np.float32) if kind == "float32" else X
    if kind == "sparse" and isinstance(model.get_params().get("kernel"), kernels.Kernel):
        rows = X
    fitted = clone(model).fit(rows, labels)
    copy = through_a_file(fitted, tmp_path)
    assert_same(fitted, copy, rows)
    random = getattr(fitted, "random_state", None)
    if kind == "texts" and not isinstance(random, np.random.RandomState):
        assert equal(answers(copy.fit(rows, labels), rows), answers(fitted, rows))  # it can be fitted again


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic", "venn-abers"])
@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "code"])
def test_calibrations_of_five_classes(calibration: str, multiclass: str, tmp_path: Path) -> None:
    labels = np.arange(len(X)) % 5
    fitted = SVC(calibration=calibration, multiclass=multiclass).fit(X, labels)
    assert_same(fitted, through_a_file(fitted, tmp_path), X)


@pytest.mark.parametrize("model", REGRESSORS, ids=name_of)
def test_regressors_and_maps(model: Any, tmp_path: Path) -> None:
    fitted = clone(model).fit(X, TARGET)
    copy = through_a_file(fitted, tmp_path)
    assert_same(fitted, copy, X)
    assert equal(answers(clone(copy).fit(X, TARGET), X), answers(fitted, X))


@pytest.mark.parametrize(
    "model", [SVC(calibration="sigmoid"), NuSVC(nu=0.2), KernelPerceptron(), LinearSVC()], ids=name_of
)
def test_precomputed_kernels(model: Any, tmp_path: Path) -> None:
    fitted = model.set_params(kernel="precomputed").fit(GRAM, y) if "kernel" in model.get_params() else model.fit(X, y)
    assert_same(fitted, through_a_file(fitted, tmp_path), GRAM if "kernel" in model.get_params() else X)


@pytest.mark.parametrize("search", sorted(name for name in maxmargin.__all__ if name.endswith("CV")))
def test_searches(search: str, tmp_path: Path) -> None:
    kind = getattr(maxmargin, search)
    given = {name: [0.1, 0.3] for name in ("Cs", "nus", "lams") if name in inspect.signature(kind).parameters}
    labels = NAMES if hasattr(kind()._new_machine(), "decision_function") else TARGET
    fitted = kind(**given, cv=KFold(3, shuffle=True, random_state=0), scale=True).fit(X, labels)
    copy = through_a_file(fitted, tmp_path)
    assert_same(fitted, copy, X)
    assert copy.score(X, labels) == fitted.score(X, labels)
    assert equal(copy.cv_results_, fitted.cv_results_)


def test_a_search_with_a_named_score_and_none_refitted(tmp_path: Path) -> None:
    fitted = SVCCV(Cs=[0.1, 1.0], scoring="balanced_accuracy", cv=StratifiedKFold(3), refit=False).fit(X, y)
    copy = through_a_file(fitted, tmp_path)
    assert copy.best_params_ == fitted.best_params_
    assert repr(copy.scorer_) == repr(fitted.scorer_)


@pytest.mark.parametrize("step", TRANSFORMERS, ids=name_of)
def test_pipelines(step: Any, tmp_path: Path) -> None:
    fitted = make_pipeline(clone(step), LinearSVC()).fit(X, NAMES)
    copy = through_a_file(fitted, tmp_path)
    assert equal(answers(fitted, X), answers(copy, X))
    assert equal(copy.fit(X, NAMES).decision_function(X).shape, fitted.decision_function(X).shape)


def table() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "length": rng.normal(size=60), "width": rng.normal(size=60),
        "colour": rng.choice(["red", "green", "blue"], 60), "size": rng.choice(["small", "large"], 60),
    })  # fmt: skip
    target = np.where(frame["length"] + (frame["colour"] == "red") > 0, "yes", "no")
    frame.loc[3, "length"], frame.loc[4, "colour"] = np.nan, None
    return frame, target


@pytest.mark.parametrize("remainder", ["drop", "passthrough"])
@pytest.mark.parametrize("output", ["default", "pandas"])
def test_a_table_with_names_gaps_and_categories(remainder: str, output: str, tmp_path: Path) -> None:
    frame, target = table()
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["length", "width"]),
            ("colour", make_pipeline(SimpleImputer(strategy="most_frequent"),
                                     OneHotEncoder(handle_unknown="ignore", sparse_output=False)), ["colour"]),
            ("size", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), slice(3, 4)),
        ],
        remainder=remainder,
    )  # fmt: skip
    fitted = make_pipeline(columns, SVC(calibration="sigmoid")).set_output(transform=output).fit(frame, target)
    copy = through_a_file(fitted, tmp_path)
    assert equal(answers(fitted, frame), answers(copy, frame))
    new = frame.assign(colour="violet", size="huge")
    assert equal(answers(fitted, new), answers(copy, new))
    assert list(copy.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="columns are missing"):
        copy.predict(frame[["length", "width"]])


def test_columns_chosen_by_type_and_by_an_index(tmp_path: Path) -> None:
    frame, target = table()
    frame = frame.drop(index=[3, 4])
    target = np.delete(target, [3, 4])
    numbers, others = make_column_selector(dtype_include=np.number), make_column_selector(dtype_exclude=np.number)
    columns = ColumnTransformer([("n", StandardScaler(), numbers), ("o", OneHotEncoder(), others)])
    fitted = make_pipeline(columns, SVC()).fit(frame, target)
    copy = through_a_file(fitted, tmp_path)
    assert equal(answers(fitted, frame), answers(copy, frame))
    assert equal(answers(copy.fit(frame, target), frame), answers(fitted, frame))
    columns = ColumnTransformer([("n", StandardScaler(), frame.columns[:2])])
    with pytest.raises(ModelFileError, match="make it a list"):
        io.save(make_pipeline(columns, SVC()).fit(frame, target), tmp_path / "index.mm")


@pytest.mark.parametrize("step", [TfidfVectorizer(), CountVectorizer(ngram_range=(1, 2), stop_words="english")])
def test_texts(step: Any, tmp_path: Path) -> None:
    texts = ["the red house", "a blue car", "red car", "blue house here"] * 4
    fitted = make_pipeline(clone(step), SVC(kernel="linear")).fit(texts, [0, 1, 0, 1] * 4)
    copy = through_a_file(fitted, tmp_path)
    assert equal(answers(fitted, texts), answers(copy, texts))


def test_streams_go_on_where_they_were(tmp_path: Path) -> None:
    for machine in (SGDSVC, PegasosSVC, Perceptron, KernelPerceptron, KernelPegasosSVC):
        fitted = machine(random_state=0).partial_fit(X[:25], y[:25], classes=[0, 1, 2])
        copy = through_a_file(fitted, tmp_path)
        assert equal(answers(copy.partial_fit(X[25:], y[25:]), X), answers(fitted.partial_fit(X[25:], y[25:]), X))


def test_unfitted_models_and_encoders(tmp_path: Path) -> None:
    copy = through_a_file(SVC(C=3.0, gamma=np.float32(0.5), class_weight={"a": 1, "b": 2.5}), tmp_path)
    assert copy.get_params() == SVC(C=3.0, gamma=np.float32(0.5), class_weight={"a": 1, "b": 2.5}).get_params()
    assert not hasattr(copy, "support_")
    encoder = LabelEncoder().fit(NAMES)
    assert equal(through_a_file(encoder, tmp_path).transform(NAMES), encoder.transform(NAMES))
    assert np.inf == through_a_file(SVC(C=np.inf), tmp_path).C


def test_every_public_estimator_is_known() -> None:
    homes = {name for name, home in maxmargin._HOMES.items() if home in ("estimators", "maps", "selection")}
    estimators = {name for name in homes if inspect.isclass(getattr(maxmargin, name))}
    assert {f"maxmargin.{name}" for name in estimators} <= set(registry().classes)


#: Kernels that operators make.
COMPOSED = {"Sum", "Product", "Power", "Exp", "PolynomialOf"}


def test_every_kernel_loss_and_penalty_of_data_is_known() -> None:
    with_code = {"Function", "Objects"}
    for module, base in ((kernels, kernels.Kernel), (losses, losses.Loss), (penalties, penalties.Penalty)):
        kinds = {n: kind for n, kind in vars(module).items() if inspect.isclass(kind) and issubclass(kind, base)}
        names = {n for n, kind in kinds.items() if not n.startswith("_") and kind is not base}
        known = {name.rpartition(".")[2] for name in registry().classes if name.startswith(module.__name__)}
        assert {n for n in names - with_code if not inspect.isabstract(kinds[n])} == known - COMPOSED


# -- the file ---------------------------------------------------------------------------------------------------------


def test_zipfile_json_and_numpy_are_enough_to_read_it(tmp_path: Path) -> None:
    model = SVR(kernel="rbf", gamma=0.5).fit(X, TARGET)
    io.save(model, tmp_path / "m.mm")
    with zipfile.ZipFile(tmp_path / "m.mm") as archive:
        assert json.loads(archive.read("manifest.json"))["version"] == 1
        state = json.loads(archive.read("model.json"))["state"]
        arrays = {
            name: np.load(streams.BytesIO(archive.read(value["part"])), allow_pickle=False)
            for name, value in state.items()
            if isinstance(value, dict) and value["kind"] == "array"
        }
    squares = ((X[:, None] - arrays["support_vectors_"]) ** 2).sum(axis=2)
    scores = np.exp(-state["kernel_"]["state"]["gamma"] * squares) @ arrays["dual_coef_"][0] + arrays["intercept_"]
    np.testing.assert_allclose(scores, model.predict(X), rtol=1e-10)


def test_equal_models_make_equal_files(tmp_path: Path) -> None:
    model = SVC().fit(X, y)
    io.save(model, tmp_path / "a.mm")
    io.save(io.load(tmp_path / "a.mm"), tmp_path / "b.mm")
    assert (tmp_path / "a.mm").read_bytes() == (tmp_path / "b.mm").read_bytes()


def test_the_record(tmp_path: Path) -> None:
    record = {"rows": np.arange(5), "checksum": "abc", "choices": {"C": 1.0, "tuned": True, "cells": [(1, None)]}}
    io.save(SVC(), tmp_path / "m.mm", record=record)
    assert equal(io.load_record(tmp_path / "m.mm"), record)
    io.save(SVC(), tmp_path / "n.mm")
    assert io.load_record(tmp_path / "n.mm") is None
    with pytest.raises(ModelFileError, match="must be a dict"):
        io.save(SVC(), tmp_path / "o.mm", record=[1])  # type: ignore[arg-type]  # that is the point


def test_another_scikit_learn_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    io.save(SVC(), tmp_path / "m.mm")
    monkeypatch.setattr("sklearn.__version__", "1.2.3")
    with pytest.warns(UserWarning, match=r"written with scikit-learn .* and this is 1\.2\.3"):
        io.load(tmp_path / "m.mm")


def test_the_arrays_of_a_loaded_model_can_be_written_to(tmp_path: Path) -> None:
    copy = through_a_file(SVC().fit(np.asfortranarray(X), y), tmp_path)
    assert copy.support_vectors_.flags.writeable
    assert copy.dual_coef_.flags.writeable


# -- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (SVC(kernel=lambda a, b: a @ b.T), r"model\.kernel .*is code"),
        (SVC(kernel=kernels.Linear().of(np.sin)), r"model\.kernel .*is code"),
        (SVC(kernel=kernels.Gaussian(1.0) + kernels.Function(max)), r"model\.kernel\.right .*is code"),
        (make_pipeline(FunctionTransformer(np.log1p), SVC()), r"steps\[0\]\[1\] .*is code"),
        (make_pipeline(CountVectorizer(tokenizer=str.split), SVC()), r"tokenizer .*is code"),
        (make_pipeline(CountVectorizer(input="filename"), SVC()), "reads files by name"),
        (make_pipeline(StandardScaler(), SVC(), memory="cache"), "pickles on a disk"),
        (SVCCV(scoring=lambda model, X, y: 1.0), r"model\.scoring .*is code"),
        (SVC(C=-1.0), "C"),
        (SVC(C=10**30), "64 bits"),
        (SVC, "takes an estimator"),
        ({"a": 1}, "takes an estimator"),
    ],
)
def test_code_and_strangers_are_refused_and_leave_no_file(model: Any, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=complaint):
        io.save(model, tmp_path / "m.mm")
    assert list(tmp_path.iterdir()) == []


def test_a_refused_model_leaves_the_old_file_as_it_was(tmp_path: Path) -> None:
    io.save(SVC(C=2.0), tmp_path / "m.mm")
    with pytest.raises(ModelFileError):
        io.save(SVC(kernel=lambda a, b: a @ b.T).fit(X, y), tmp_path / "m.mm")
    assert io.load(tmp_path / "m.mm").C == 2.0
    assert [path.name for path in tmp_path.iterdir()] == ["m.mm"]


def test_a_strange_attribute_is_refused(tmp_path: Path) -> None:
    model = SVC().fit(X, y)
    model.note = "mine"
    with pytest.raises(ModelFileError, match=r"model\.note is no attribute"):
        io.save(model, tmp_path / "m.mm")


def test_a_kernel_that_is_too_deep_is_refused(tmp_path: Path) -> None:
    kernel: Any = kernels.Linear()
    for _ in range(300):
        kernel = kernel + 1.0
    with pytest.raises(ModelFileError, match="nested too deeply"):
        io.save(SVC(kernel=kernel), tmp_path / "m.mm")


# -- other ways to keep a model --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [*CLASSIFIERS[:6], *CLASSIFIERS[9:]], ids=name_of)
def test_pickle_and_joblib(model: Any, tmp_path: Path) -> None:
    fitted = clone(model).fit(X, NAMES)
    joblib.dump(fitted, tmp_path / "m.joblib")
    for copy in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "m.joblib")):
        assert_same(fitted, copy, X)


@pytest.mark.parametrize(
    "model", [SVC(calibration="sigmoid"), LinearSVC(), KernelPegasosSVC(max_iter=3), SVR()], ids=name_of
)
def test_skops(model: Any, tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    fitted = make_pipeline(StandardScaler(), clone(model)).fit(X, NAMES if hasattr(model, "calibration") else TARGET)
    skops.dump(fitted, tmp_path / "m.skops")
    trusted = skops.get_untrusted_types(file=tmp_path / "m.skops")
    assert all(name.startswith("maxmargin.") for name in trusted), trusted
    copy = skops.load(tmp_path / "m.skops", trusted=trusted)
    assert equal(answers(fitted, X), answers(copy, X))
