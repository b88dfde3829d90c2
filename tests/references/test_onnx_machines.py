"""Every machine, scheme, calibration and kernel as an ONNX file, against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from onnx_file import exported, run
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import maxmargin
from maxmargin import kernels as k
from maxmargin.io import export_onnx
from maxmargin.io._onnx._graph import DOUBLE, Graph
from maxmargin.io._onnx._kernels import Cross, Diagonal, expression
from tests.laws import examples

X, y = load_iris(return_X_y=True)
NAMES = load_iris().target_names[y]
TRAIN, TEST = np.arange(0, 150, 2), np.arange(1, 150, 2)
A = np.eye(4) + 0.2

KERNELS: dict[str, Any] = {
    "linear": k.Linear(),
    "constant": k.Constant(2.0) + k.Linear(),
    "polynomial": k.Polynomial(degree=3, gamma=0.3),
    "degree-0": k.Polynomial(degree=0) + k.Linear(),
    "sigmoid": k.Sigmoid(0.01, 0.1),
    "gaussian": k.Gaussian(),
    "gaussian-sigma": k.Gaussian(sigma=2.0),
    "exponential": k.Exponential(0.5),
    "matern-0.5": k.Matern(0.5),
    "matern-1.5": k.Matern(1.5, length=2.0),
    "matern-2.5": k.Matern(2.5),
    "rational": k.RationalQuadratic(alpha=0.7),
    "laplacian": k.Laplacian(0.3),
    "chi-squared": k.ChiSquared(),
    "cosine": k.Cosine(),
    "form": k.QuadraticForm(A),
    "sum-power": 0.5 * k.Gaussian(1.0) + k.Linear() ** 2,
    "exp": (0.01 * k.Linear()).exp(),
    "polynomial-of": k.Gaussian().polynomial([1.0, 2.0, 0.5]),
    "over-form": k.Gaussian(0.5, over=k.QuadraticForm(A)),
    "over-cosine": k.Gaussian(0.5, over=k.Cosine()),
    "tree": k.Gaussian(0.1, over=k.Laplacian(0.2) + k.Matern()) * k.Laplacian(0.1) + k.ChiSquared(0.1) * 0.3,
}


def quietly(model: Any, *data: Any) -> Any:
    """Fitted, whether or not it converged."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*data)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name: str, tmp_path: Path) -> None:
    exported(maxmargin.SVC(kernel=KERNELS[name]).fit(X[TRAIN], y[TRAIN]), tmp_path, X[TEST])


@pytest.mark.parametrize("name", [name for name in KERNELS if not name.startswith(("matern", "exponential"))])
def test_kernels_with_themselves(name: str, tmp_path: Path) -> None:
    """SVDD needs k(x, x) too."""
    exported(maxmargin.SVDD(kernel=KERNELS[name]).fit(X[TRAIN]), tmp_path, X[TEST])


def parts(kernel: Any) -> list[Any]:
    """A kernel and all that it is made of."""
    inner = [value for value in vars(kernel).values() if isinstance(value, k.Kernel)]
    return [kernel, *(part for value in inner for part in parts(value))]


def test_every_kernel_class_is_covered() -> None:
    covered = {type(part).__name__ for kernel in KERNELS.values() for part in parts(kernel)}
    public = {
        name for name in k.__all__ if isinstance(getattr(k, name), type) and issubclass(getattr(k, name), k.Kernel)
    }
    assert public - covered == {"Kernel", "Function", "Objects", "Precomputed"}


def test_the_kernel_names_of_scikit_learn(tmp_path: Path) -> None:
    for name in ("linear", "poly", "rbf"):
        exported(maxmargin.SVC(kernel=name, coef0=0.5).fit(X[TRAIN], NAMES[TRAIN]), tmp_path, X[TEST])


@pytest.mark.parametrize("calibration", [None, "sigmoid", "isotonic", "venn-abers"])
@pytest.mark.parametrize("scheme", ["ovo", "ovr", "code", "crammer-singer", "weston-watkins"])
def test_schemes(scheme: str, calibration: str | None, tmp_path: Path) -> None:
    words = "exhaustive" if scheme == "code" else "one-hot"
    model = maxmargin.SVC(multiclass=scheme, calibration=calibration, code_words=words)
    exported(model.fit(X[TRAIN], NAMES[TRAIN]), tmp_path, X[TEST])


@pytest.mark.parametrize("calibration", [None, "sigmoid", "isotonic", "venn-abers"])
def test_two_classes(calibration: str | None, tmp_path: Path) -> None:
    rows, targets = load_breast_cancer(return_X_y=True)
    model = maxmargin.SVC(calibration=calibration).fit(rows[::3], targets[::3])
    found = exported(model, tmp_path, rows[1::3])
    assert found["scores"].ndim == 1


def test_one_hot_code_words_with_probabilities(tmp_path: Path) -> None:
    exported(maxmargin.SVC(multiclass="code", calibration="sigmoid").fit(X[TRAIN], y[TRAIN]), tmp_path, X[TEST])
    turned = maxmargin.SVC(multiclass="code", code_words=np.eye(3)[::-1], calibration="sigmoid")
    exported(turned.fit(X[TRAIN], y[TRAIN]), tmp_path, X[TEST])


def test_ten_classes_and_their_coupling(tmp_path: Path) -> None:
    rows, targets = load_digits(return_X_y=True)
    model = maxmargin.SVC(C=10, calibration="sigmoid").fit(rows[:600], targets[:600])
    assert exported(model, tmp_path, rows[600:])["probabilities"].shape == (1197, 10)


def test_a_score_per_pair(tmp_path: Path) -> None:
    rows, targets = load_digits(return_X_y=True)
    model = maxmargin.SVC(decision_function_shape="ovo").fit(rows[:300], targets[:300])
    assert exported(model, tmp_path, rows[300:600])["scores"].shape == (300, 45)


@pytest.mark.parametrize(
    "labels",
    [y, NAMES, NAMES.astype(object), y.astype(np.int8), y.astype(float), y == 1, np.where(y == 1, -7, 3)],
    ids=["int", "str", "object", "int8", "float", "bool", "negative"],
)
@pytest.mark.parametrize("calibration", [None, "sigmoid"])
def test_label_types(labels: Any, calibration: str | None, tmp_path: Path) -> None:
    exported(maxmargin.SVC(calibration=calibration).fit(X[TRAIN], labels[TRAIN]), tmp_path, X[TEST])


CLASSIFIERS = {
    "NuSVC": maxmargin.NuSVC(nu=0.3),
    "LSSVC": maxmargin.LSSVC(calibration="isotonic"),
    "landmarks": maxmargin.SVC(approximation="nystroem", n_components=20, calibration="sigmoid"),
    "landmarks-linear": maxmargin.SVC(kernel="linear", approximation="nystroem", multiclass="ovr"),
    "LinearSVC": maxmargin.LinearSVC(calibration="isotonic"),
    "LinearSVC-scaled": maxmargin.LinearSVC(scale=True, multiclass="ovo"),
    "LinearSVC-all-classes": maxmargin.LinearSVC(multi_class="crammer_singer"),
    "LinearClassifier": maxmargin.LinearClassifier("logistic", "l1", multiclass="code", code_words="exhaustive"),
    "logistic": maxmargin.LinearClassifier("logistic"),
    "softmax": maxmargin.LinearClassifier("logistic", multiclass="softmax", scale=True),
    "softmax-calibrated": maxmargin.LinearClassifier("logistic", multiclass="softmax", calibration="sigmoid"),
    "logistic-pairs": maxmargin.LinearClassifier("logistic", multiclass="ovo"),
    "SVC-scaled": maxmargin.SVC(scale=True, calibration="sigmoid"),
    "SVC-scaled-linear": maxmargin.SVC(scale=True, kernel="linear"),
    "landmarks-scaled": maxmargin.SVC(scale=True, approximation="nystroem", n_components=20),
    "LSSVC-scaled": maxmargin.LSSVC(scale=True),
    "PegasosSVC": maxmargin.PegasosSVC(max_iter=5, random_state=0),
    "SGDSVC": maxmargin.SGDSVC(random_state=0),
    "Perceptron": maxmargin.Perceptron(max_iter=5, random_state=0),
    "KernelPegasosSVC": maxmargin.KernelPegasosSVC(max_iter=3, random_state=0, calibration="sigmoid"),
    "KernelPerceptron": maxmargin.KernelPerceptron(max_iter=5, random_state=0, multiclass="ovo"),
    "SVCCV": maxmargin.SVCCV(Cs=[1.0, 10.0], gammas=["scale"], scale=True),
    "LinearSVCCV": maxmargin.LinearSVCCV(Cs=[1.0]),
    "GridSearchCV": GridSearchCV(maxmargin.SVC(), {"C": [1.0, 10.0]}),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name: str, tmp_path: Path) -> None:
    exported(quietly(CLASSIFIERS[name], X[TRAIN], NAMES[TRAIN]), tmp_path, X[TEST])


REGRESSORS = {
    "SVR": maxmargin.SVR(C=100),
    "NuSVR": maxmargin.NuSVR(C=100),
    "LinearSVR": maxmargin.LinearSVR(C=10),
    "LinearRegressor": maxmargin.LinearRegressor("huber", scale=True),
    "KernelLeastSquares": maxmargin.KernelLeastSquares(lam=0.1),
    "no support vectors": maxmargin.SVR(epsilon=1e4),
    "SVR-scaled": maxmargin.SVR(C=100, scale=True),
    "KernelLeastSquares-scaled": maxmargin.KernelLeastSquares(lam=0.1, scale=True),
    "SVRCV": maxmargin.SVRCV(Cs=[1.0], gammas=["scale"]),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name: str, tmp_path: Path) -> None:
    rows, targets = load_diabetes(return_X_y=True)
    exported(REGRESSORS[name].fit(rows[::4], targets[::4]), tmp_path, rows[1::4])


def test_many_targets(tmp_path: Path) -> None:
    rows, targets = load_diabetes(return_X_y=True)
    model = maxmargin.KernelLeastSquares(lam=0.1).fit(rows[::4], np.column_stack([targets, -targets])[::4])
    assert exported(model, tmp_path, rows[1::4])["prediction"].shape == (111, 2)


def test_outliers(tmp_path: Path) -> None:
    found = exported(maxmargin.OneClassSVM(nu=0.2).fit(X[TRAIN]), tmp_path, X[TEST])
    assert set(found["label"].tolist()) == {-1, 1}


@pytest.mark.parametrize(
    "model", [maxmargin.OneClassSVM(nu=0.2, scale=True), maxmargin.SVDD(kernel="poly", scale=True)]
)
def test_outliers_of_scaled_rows(model: Any, tmp_path: Path) -> None:
    exported(model.fit(X[TRAIN]), tmp_path, X[TEST])


def test_logistic_regressions_have_probabilities(tmp_path: Path) -> None:
    two = TRAIN[y[TRAIN] < 2]
    model = maxmargin.LinearClassifier("logistic").fit(X[two], y[two])
    np.testing.assert_allclose(exported(model, tmp_path, X[TEST])["probabilities"], model.predict_proba(X[TEST]))


@pytest.mark.parametrize("classes", [2, 3])
def test_discriminant_analysis(classes: int, tmp_path: Path) -> None:
    rows = TRAIN[y[TRAIN] < classes]
    model = maxmargin.KernelDiscriminantAnalysis(n_components=1, priors=None).fit(X[rows], NAMES[rows])
    found = exported(model, tmp_path, X[TEST])
    np.testing.assert_allclose(found["projection"], model.transform(X[TEST]), atol=1e-9)


def test_discriminant_analysis_of_scaled_rows(tmp_path: Path) -> None:
    exported(maxmargin.KernelDiscriminantAnalysis(scale=True).fit(X[TRAIN], y[TRAIN]), tmp_path, X[TEST])


def test_a_class_without_a_prior(tmp_path: Path) -> None:
    model = maxmargin.KernelDiscriminantAnalysis(priors=[0.5, 0.5, 0.0]).fit(X[TRAIN], y[TRAIN])
    assert set(exported(model, tmp_path, X[TEST])["label"].tolist()) == {0, 1}


def test_precomputed_kernels_take_rows_of_kernel_values(tmp_path: Path) -> None:
    gram = k.Gaussian(0.5)
    model = maxmargin.SVC(kernel="precomputed").fit(gram(X[TRAIN]), y[TRAIN])
    exported(model, tmp_path, gram(X[TEST], X[TRAIN]))


def test_sparse_and_float32_training_rows(tmp_path: Path) -> None:
    import scipy.sparse as sp

    exported(maxmargin.SVC().fit(sp.csr_array(X[TRAIN]), y[TRAIN]), tmp_path, X[TEST], sample=sp.csr_array(X[TRAIN]))
    exported(maxmargin.SVC().fit(X[TRAIN].astype(np.float32), y[TRAIN]), tmp_path, X[TEST])
    exported(maxmargin.LinearSVC().fit(X[TRAIN].astype(np.float32), y[TRAIN]), tmp_path, X[TEST])


@pytest.mark.parametrize("C", [1e-3, 1e6, np.inf])
def test_extreme_costs(C: float, tmp_path: Path) -> None:
    two = y[TRAIN] < 2
    exported(maxmargin.SVC(C=C).fit(X[TRAIN][two], y[TRAIN][two]), tmp_path, X[TEST])


def test_far_away_data_lose_no_digits(tmp_path: Path) -> None:
    exported(maxmargin.SVC().fit(X[TRAIN] + 1e5, y[TRAIN]), tmp_path, X[TEST] + 1e5)


def test_one_feature_and_one_support_vector(tmp_path: Path) -> None:
    """Constants of one element, which onnxruntime would like to fuse with a product, in float32."""
    model = maxmargin.SVC(kernel=k.Sigmoid(0.3, 0.2)).fit(X[TRAIN][:, :1], y[TRAIN])
    exported(model, tmp_path, X[TEST][:, :1])
    single = maxmargin.OneClassSVM(nu=0.5, kernel=k.Gaussian(0.3)).fit(np.zeros((1, 1)))
    export_onnx(single, tmp_path / "single.onnx")
    rows = np.linspace(0.1, 2.0, 20)[:, None]
    assert run(tmp_path / "single.onnx", rows)["label"].tolist() == single.predict(rows).tolist()


# -- kernel expressions ---------------------------------------------------------------------------------------

POSITIVE = st.floats(0.05, 2.0)
LEAVES = st.one_of(
    st.builds(k.Gaussian, POSITIVE),
    st.builds(k.Laplacian, POSITIVE),
    st.builds(k.ChiSquared, POSITIVE),
    st.builds(k.Polynomial, st.integers(0, 3), POSITIVE, POSITIVE),
    st.builds(k.RationalQuadratic, POSITIVE, POSITIVE),
    st.builds(k.Constant, POSITIVE),
    st.sampled_from([k.Linear(), k.Cosine(), k.QuadraticForm(A[:3, :3]), k.Sigmoid(0.1, -0.2)]),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda a, n: (a * 0.1) ** n, inner, st.integers(1, 3)),
        st.builds(lambda a: (a * 0.01).exp(), inner),
        st.builds(lambda a, c: (a * 0.1).polynomial(c), inner, st.lists(POSITIVE, min_size=1, max_size=3)),
        st.builds(lambda a, gamma: k.Gaussian(gamma, over=a), inner, POSITIVE),
    ),
    max_leaves=5,
)


@examples(60)
@given(TREES, st.integers(0, 1000))
def test_any_kernel_expression(kernel: Any, seed: int) -> None:
    """The graph of an expression has the values of its NumPy meaning, and so has that of k(x, x)."""
    rng = np.random.default_rng(seed)
    rows, others = rng.uniform(0, 2, size=(7, 3)), rng.uniform(0, 2, size=(5, 3))
    rows[0], others[0] = 0.0, 0.0
    rows[1] = others[1]
    assume(all(part.diag(np.vstack([rows, others])).max() < 100 for part in parts(kernel)))  # else distances cancel
    graph = Graph()
    inputs = graph.input("X", DOUBLE, 3)
    zeros = graph.reduce("Sum", graph.op("Mul", inputs, 0.0))  # a constant kernel has no rows of its own
    graph.output("values", graph.op("Add", expression(kernel, Cross(graph, inputs, others)), zeros), DOUBLE, 5)
    graph.output("diagonal", graph.op("Add", expression(kernel, Diagonal(graph, inputs)), zeros), DOUBLE, 1)
    session = onnxruntime.InferenceSession(graph.model({}).SerializeToString())
    values, diagonal = session.run(None, {"X": rows})
    size = 1.0 + np.abs(kernel(rows, others)).max()
    np.testing.assert_allclose(values, kernel(rows, others), rtol=1e-11, atol=1e-11 * size)
    np.testing.assert_allclose(diagonal[:, 0], kernel.diag(rows), rtol=1e-11, atol=1e-11 * size)


# -- the file -------------------------------------------------------------------------------------------------


def test_what_the_file_says_of_itself(tmp_path: Path) -> None:
    model = maxmargin.SVC(calibration="sigmoid").fit(X, NAMES)
    export_onnx(model, tmp_path / "model.onnx")
    file = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(file, full_check=True)
    assert (file.producer_name, file.producer_version) == ("maxmargin", maxmargin.__version__)
    assert [(one.domain, one.version) for one in file.opset_import] == [("", 19)]
    properties = {one.key: one.value for one in file.metadata_props}
    assert properties["model"] == "SVC"
    assert float(properties["relative_gap"]) == model.certificate_.relative_gap
    assert [one.name for one in file.graph.input] == ["X"]
    assert [one.name for one in file.graph.output] == ["label", "scores", "probabilities"]
    assert {one.data_type for one in file.graph.initializer} <= {onnx.TensorProto.DOUBLE, onnx.TensorProto.INT64,
                                                                 onnx.TensorProto.STRING}  # fmt: skip


def test_a_model_without_a_certificate_claims_no_gap(tmp_path: Path) -> None:
    export_onnx(maxmargin.SVC(certify=False).fit(X, y), tmp_path / "model.onnx")
    assert "relative_gap" not in {one.key for one in onnx.load(tmp_path / "model.onnx").metadata_props}


def test_a_linear_kernel_needs_no_support_vectors(tmp_path: Path) -> None:
    export_onnx(maxmargin.SVC(kernel="linear").fit(X, y), tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").stat().st_size < 4000


@pytest.mark.parametrize("model", [maxmargin.SVC(), maxmargin.LinearSVC(), maxmargin.SVDD()])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_that_the_model_refuses_have_no_score(model: Any, value: float, tmp_path: Path) -> None:
    export_onnx(model.fit(X, y), tmp_path / "model.onnx")
    rows = X[:3].copy()
    rows[1, 2] = value
    scores = run(tmp_path / "model.onnx", rows)["scores"]
    assert np.isnan(scores[1]).all()
    np.testing.assert_allclose(scores[[0, 2]], model.decision_function(X[[0, 2]]), rtol=1e-9)


def test_no_rows_and_one_row(tmp_path: Path) -> None:
    model = maxmargin.SVC(calibration="sigmoid").fit(X, y)
    found = exported(model, tmp_path, X[:1])
    assert found["probabilities"].shape == (1, 3)
    assert run(tmp_path / "model.onnx", X[:0])["label"].shape == (0,)
