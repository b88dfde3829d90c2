"""Fitted machines become scikit-learn's and come back, with the same predictions."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn import kernel_ridge, linear_model
from sklearn.base import is_classifier
from sklearn.datasets import load_diabetes, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin import io, kernels

IRIS = load_iris(return_X_y=True)
TWO = (IRIS[0][:100], IRIS[1][:100])
NUMBERS = (load_diabetes().data[:120], load_diabetes().target[:120] / 50)


def name_of(value):
    """The machine; of its data nothing."""
    return re.sub(r" at 0x\w+", "", " ".join(repr(value).split()))[:70] if hasattr(value, "fit") else ""


def scores(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


KERNELS = ("linear", "poly", "rbf", "sigmoid", kernels.Laplacian(0.3), kernels.Gaussian(0.1) + kernels.Linear())
OURS = [
    *[(mm.SVC(kernel=kernel, C=2), data) for kernel in KERNELS for data in (IRIS, TWO)],
    (mm.SVC(multiclass="ovr"), IRIS),
    (mm.SVC(scale=True, decision_function_shape="ovo"), IRIS),
    (mm.NuSVC(nu=0.3), IRIS),
    (mm.NuSVC(nu=0.3), TWO),
    (mm.SVR(C=3), NUMBERS),
    (mm.NuSVR(scale=True), NUMBERS),
    (mm.OneClassSVM(nu=0.2, gamma=0.7), IRIS),
    (mm.LinearSVC(), IRIS),
    (mm.LinearSVC(scale=True), TWO),
    (mm.LinearSVC(multi_class="crammer_singer"), IRIS),
    (mm.LinearSVR(), NUMBERS),
    (mm.Perceptron(random_state=0), IRIS),
    (mm.PegasosSVC(lam=0.1, random_state=0), TWO),
    (mm.SGDSVC(lam=0.1, random_state=0), IRIS),
    (mm.LinearClassifier("logistic"), IRIS),
    (mm.LinearClassifier("logistic", "l1"), TWO),
    (mm.LinearClassifier("logistic", multiclass="softmax"), IRIS),
    (mm.LinearClassifier("hinge"), IRIS),
    (mm.LinearRegressor(), NUMBERS),
    (mm.LinearRegressor(penalty=None), NUMBERS),
    (mm.KernelLeastSquares(lam=0.1), NUMBERS),
    (mm.KernelLeastSquares("poly", lam=0.1, scale=True), NUMBERS),
    (mm.SVC(probability=True, random_state=0), TWO),
    (mm.LinearSVC(calibration="isotonic", random_state=0), (IRIS[0][50:, :2], IRIS[1][50:])),
    (mm.SVCCV(Cs=[1.0, 3.0], gammas=[0.1], cv=3, scale=True), IRIS),
    (make_pipeline(StandardScaler(), mm.SVC()), IRIS),
]


@pytest.mark.parametrize(("machine", "data"), OURS, ids=name_of)
def test_ours_becomes_scikit_learns(machine, data):
    X, y = data
    model = machine.fit(X[::2], y[::2])
    theirs = io.as_sklearn(model)
    assert theirs.__module__.startswith("sklearn")
    np.testing.assert_array_equal(theirs.predict(X), model.predict(X)) if is_classifier(model) else None
    if getattr(machine, "decision_function_shape", "ovr") == "ovr" and not hasattr(theirs, "calibrated_classifiers_"):
        np.testing.assert_allclose(scores(theirs, X), scores(model, X), rtol=1e-7, atol=1e-7)
    if is_classifier(model) and hasattr(model, "predict_proba"):
        np.testing.assert_allclose(theirs.predict_proba(X), model.predict_proba(X), atol=1e-9)
    assert theirs.n_features_in_ == X.shape[1]


THEIRS = [
    *[(sklearn.svm.SVC(kernel=kernel, C=2), data) for kernel in KERNELS[:4] for data in (IRIS, TWO)],
    (sklearn.svm.SVC(kernel=lambda A, B: (A @ B.T + 1) ** 2), IRIS),
    (sklearn.svm.NuSVC(nu=0.3), IRIS),
    (sklearn.svm.SVR(), NUMBERS),
    (sklearn.svm.NuSVR(C=3), NUMBERS),
    (sklearn.svm.OneClassSVM(nu=0.2), IRIS),
    (sklearn.svm.LinearSVC(), IRIS),
    (sklearn.svm.LinearSVC(), TWO),
    (sklearn.svm.LinearSVR(random_state=0), NUMBERS),
    (kernel_ridge.KernelRidge(kernel="rbf", gamma=0.1), NUMBERS),
    (kernel_ridge.KernelRidge(kernel="laplacian"), NUMBERS),
    (linear_model.Perceptron(), IRIS),
    (linear_model.SGDClassifier(random_state=0), IRIS),
    (linear_model.LogisticRegression(), IRIS),
    (linear_model.LogisticRegression(), TWO),
    (linear_model.Ridge(), NUMBERS),
    (linear_model.LinearRegression(), NUMBERS),
    (make_pipeline(StandardScaler(), sklearn.svm.SVC()), IRIS),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("machine", "data"), THEIRS, ids=name_of)
def test_scikit_learns_becomes_ours_and_comes_back(machine, data):
    X, y = data
    theirs = machine.fit(X[::2], y[::2])
    ours = io.from_sklearn(theirs)
    np.testing.assert_allclose(scores(ours, X), scores(theirs, X), rtol=1e-7, atol=1e-7)
    if is_classifier(theirs):
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    if is_classifier(theirs) and hasattr(theirs, "predict_proba"):
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    back = io.as_sklearn(ours)
    np.testing.assert_allclose(scores(back, X), scores(theirs, X), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("machine", [mm.SVC(kernel="poly"), mm.SVR(), mm.OneClassSVM(), mm.LinearSVC()])
def test_sparse_rows_stay_sparse(machine):
    X, y = sp.csr_array(IRIS[0]), IRIS[1]
    model = machine.fit(X, y)
    theirs = io.as_sklearn(model)
    np.testing.assert_allclose(scores(theirs, X), scores(model, X), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(scores(io.from_sklearn(theirs), X), scores(model, X), rtol=1e-7, atol=1e-7)


def test_a_precomputed_kernel_stays_one():
    K = IRIS[0] @ IRIS[0].T
    for machine in (mm.SVC(kernel="precomputed"), mm.KernelLeastSquares("precomputed", lam=1.0)):
        model = machine.fit(K, IRIS[1])
        theirs = io.as_sklearn(model)
        np.testing.assert_allclose(scores(theirs, K), scores(model, K), rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(scores(io.from_sklearn(theirs), K), scores(model, K), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("alpha", [0.1, 3.0])
def test_the_parameters_say_the_same_problem(alpha):
    """Refitted by scikit-learn, the twin is the same model again."""
    X, y = NUMBERS
    model = mm.LinearRegressor(C=0.5 / alpha, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(io.as_sklearn(model).fit(X, y).coef_, model.coef_, rtol=1e-3, atol=1e-4)
    X, y = TWO
    model = mm.LinearClassifier("logistic", C=alpha, tol=1e-10).fit(X, y)
    refitted = io.as_sklearn(model).set_params(tol=1e-10).fit(X, y)
    np.testing.assert_allclose(refitted.coef_, model.coef_, rtol=1e-3, atol=1e-4)


@pytest.mark.filterwarnings("ignore:The `probability` parameter was deprecated:FutureWarning")
def test_libsvms_sigmoids_come_along():
    X, y = TWO[0][:, :1], TWO[1]
    theirs = sklearn.svm.SVC(probability=True, random_state=0).fit(X, y)
    # LIBSVM couples the two by an iteration that it ends at 0.005
    np.testing.assert_allclose(io.from_sklearn(theirs).predict_proba(X), theirs.predict_proba(X), atol=5e-3)


def test_the_twin_needs_no_maxmargin():
    model = mm.SVC(C=3, scale=True).fit(*IRIS)
    code = "import pickle, sys; m = pickle.load(sys.stdin.buffer); assert 'maxmargin' not in sys.modules; print(m)"
    run = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(io.as_sklearn(model)), capture_output=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (mm.SVC(multiclass="code"), "multiclass='code'"),
        (mm.SVC(probability=True), "probabilities=False"),
        (mm.SVDD(), "no such machine"),
        (mm.LSSVC(), "no such machine"),
        (mm.LinearSVC(multiclass="ovo"), "use 'ovr'"),
        (mm.LinearClassifier("exponential"), "exponential"),
    ],
)
def test_what_scikit_learn_lacks_is_refused_in_words(machine, words):
    with pytest.raises(ValueError, match=words):
        io.as_sklearn(machine.fit(*IRIS))


def test_probabilities_can_be_left_out():
    model = mm.SVC(probability=True, random_state=0).fit(*IRIS)
    theirs = io.as_sklearn(model, probabilities=False)
    np.testing.assert_allclose(theirs.decision_function(IRIS[0]), model.decision_function(IRIS[0]), atol=1e-7)


def test_others_are_refused():
    with pytest.raises(TypeError, match="of maxmargin's"):
        io.as_sklearn(sklearn.svm.SVC().fit(*IRIS))
    with pytest.raises(TypeError, match="of scikit-learn's"):
        io.from_sklearn(mm.SVC().fit(*IRIS))
    with pytest.raises(TypeError, match="StandardScaler"):
        io.from_sklearn(StandardScaler().fit(IRIS[0]))
