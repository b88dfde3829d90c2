"""``scale=True`` of kernel machines: what the machine on rows scaled by hand does, in everything that reads a model."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from maxmargin import (
    LSSVC,
    SVC,
    SVCCV,
    SVDD,
    SVR,
    KernelDiscriminantAnalysis,
    KernelLeastSquares,
    KernelPegasosSVC,
    KernelPerceptron,
    NuSVC,
    NuSVR,
    OneClassSVM,
    certify,
    regularization_path,
)
from maxmargin.estimators import _lssvc_solve
from maxmargin.exceptions import ModelFileError
from maxmargin.inspection import margins, support_table
from maxmargin.io import load, save, save_libsvm
from maxmargin.kernels import Gaussian, Linear
from tests.laws import examples

WINE, DIABETES = load_wine(return_X_y=True), load_diabetes(return_X_y=True)
MACHINES = [
    SVC(C=5),
    SVC(kernel="linear", C=0.1),
    SVC(kernel=Gaussian(gamma=0.1) + Linear(), multiclass="ovr"),
    SVC(multiclass="crammer-singer"),
    SVC(calibration="sigmoid", random_state=0),
    SVC(calibration="isotonic", random_state=0, multiclass="code", code_words="exhaustive"),
    SVC(approximation="nystroem", n_components=30, random_state=0),
    SVC(kernel="linear", C=np.inf),
    NuSVC(nu=0.2, calibration="sigmoid", random_state=0),
    LSSVC(calibration="sigmoid", random_state=0),
    SVR(C=100),
    NuSVR(C=100, kernel="linear"),
    OneClassSVM(nu=0.2),
    SVDD(),
    SVDD(kernel="linear"),
    KernelPegasosSVC(lam=1e-2, max_iter=20, calibration="sigmoid", random_state=0),
]
WITHOUT_CERTIFICATE = [
    KernelLeastSquares(lam=0.1),
    KernelLeastSquares(lam=0.1, n_landmarks=20, random_state=0),
    KernelDiscriminantAnalysis(),
    KernelPerceptron(max_iter=5, random_state=0),
    KernelPerceptron(max_iter=5, budget=20, maintenance="remove"),
]
#: Whose vectors may lie between the rows.
MERGED = [KernelPegasosSVC(lam=1e-2, budget=15, max_iter=20), KernelPerceptron(max_iter=5, budget=15)]


def every(machines):
    return pytest.mark.parametrize("machine", machines, ids=lambda m: repr(m).replace("\n", ""))


every_machine, every_model = every(MACHINES), every(MACHINES + WITHOUT_CERTIFICATE)


def rows_of(machine):
    X, y = DIABETES if is_regressor(machine) else WINE
    return X[::2] * np.linspace(1, 50, X.shape[1]) + 7, y[::2], X[1::2] * np.linspace(1, 50, X.shape[1]) + 7


def fitted(machine, *data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(machine).set_params(**options).fit(*data)


def answers(model, X):
    """Everything it says of rows."""
    names = ("predict", "decision_function", "predict_proba", "predict_set", "score_samples", "transform")
    return {name: getattr(model, name)(X) for name in names if hasattr(model, name)}


@every_model
def test_it_is_the_machine_on_scaled_rows(machine):
    X, y, new = rows_of(machine)
    scaler = StandardScaler().fit(X)
    ours = fitted(machine, X, y, scale=True)
    center, scale = ours.scaling_
    np.testing.assert_allclose(center, scaler.mean_)
    np.testing.assert_allclose(scale, scaler.scale_)
    by_hand = fitted(machine, (X - center) / scale, y)  # to the last bit, of which the folds of a calibration are made
    expected = answers(by_hand, (new - center) / scale)
    for name, values in answers(ours, new).items():
        np.testing.assert_allclose(values, expected[name], rtol=1e-5, atol=1e-5, err_msg=name)
    np.testing.assert_array_equal(ours.support_vectors_, X[ours.support_])
    if hasattr(by_hand, "coef_"):
        np.testing.assert_allclose(ours.coef_, by_hand.coef_, rtol=1e-5, atol=1e-8)
    assert not hasattr(by_hand, "scaling_")
    if hasattr(ours, "certificate_"):
        assert ours.certificate_.relative_gap == pytest.approx(by_hand.certificate_.relative_gap, abs=1e-7)


@every(MERGED)
def test_merged_vectors_are_kept_unscaled(machine):
    X, y, new = rows_of(machine)
    ours = fitted(machine, X, y, scale=True)
    center, scale = ours.scaling_
    by_hand = fitted(machine, (X - center) / scale, y)
    assert (ours.support_ < 0).any()
    np.testing.assert_allclose((ours.support_vectors_ - center) / scale, by_hand.support_vectors_, atol=1e-12)
    expected = by_hand.decision_function((new - center) / scale)
    np.testing.assert_allclose(ours.decision_function(new), expected, rtol=1e-8, atol=1e-8)


@every([KernelPegasosSVC(lam=1e-2), KernelPerceptron(), *MERGED])
def test_a_stream_keeps_the_scaling_of_its_first_chunk(machine):
    X, y, new = rows_of(machine)
    ours, by_hand = clone(machine).set_params(scale=True), clone(machine)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    center, scale = X[:40].mean(axis=0), X[:40].std(axis=0)
    for begin in range(0, len(X), 40):
        chunk = X[begin : begin + 40], y[begin : begin + 40], WINE[1]
        ours.partial_fit(*chunk)
        by_hand.partial_fit((chunk[0] - ours.scaling_.center) / ours.scaling_.scale, *chunk[1:])
    np.testing.assert_allclose(ours.scaling_.center, center)
    np.testing.assert_allclose(ours.scaling_.scale, scale)
    expected = by_hand.decision_function((new - ours.scaling_.center) / ours.scaling_.scale)
    np.testing.assert_allclose(ours.decision_function(new), expected, rtol=1e-6, atol=1e-6)


@every_model
def test_rows_that_come_sparse_are_centred_like_dense_ones(machine):
    X, y, new = rows_of(machine)
    model = fitted(machine, X, y, scale=True)
    for name, values in answers(model, new).items():
        np.testing.assert_allclose(getattr(model, name)(sp.csr_array(new)), values, rtol=1e-9, atol=1e-9, err_msg=name)


@every_machine
def test_the_judge_knows(machine):
    X, y, _ = rows_of(machine)
    proof = "full" if not isinstance(machine, KernelPegasosSVC) else True
    model = fitted(machine, X, y, scale=True, certify=proof)
    judged = certify(model, X, y)
    assert judged.holds
    assert judged.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    with pytest.raises(ValueError, match="not among the rows"):
        certify(model, StandardScaler().fit_transform(X), y)


@every_model
def test_files_know(machine, tmp_path):
    X, y, new = rows_of(machine)
    model = fitted(machine, X, y, scale=True)
    save(model, tmp_path / "model.mm")
    again = load(tmp_path / "model.mm")
    for name, values in answers(model, new).items():
        np.testing.assert_array_equal(values, getattr(again, name)(new), err_msg=name)
    if hasattr(model, "certificate_"):
        assert certify(again, X, y).primal == certify(model, X, y).primal


def test_inspection_knows():
    X, y, _ = rows_of(SVC())
    X, y = X[y[: len(X)] < 2], y[y < 2]
    scaled = StandardScaler().fit_transform(X)
    ours, by_hand = SVC(kernel="linear", scale=True).fit(X, y), SVC(kernel="linear").fit(scaled, y)
    one, other = margins(ours, X, y), margins(by_hand, scaled, y)
    np.testing.assert_allclose(one.functional, other.functional, atol=1e-6)
    np.testing.assert_allclose(one.geometric, other.geometric, atol=1e-6)
    assert len(support_table(ours, X, y)) == len(support_table(by_hand, scaled, y))


@examples(20, derandomize=True, database=None)
@given(seed=st.integers(0, 10**6))
def test_a_weight_is_a_number_of_repetitions(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 3)) * [1, 100, 1e-3], np.arange(20) % 2
    count = rng.integers(0, 4, size=20)
    count[:2] = 1
    weighted = SVC(scale=True).fit(X, y, count.astype(float))
    repeated = SVC(scale=True).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_allclose(weighted.scaling_.scale, repeated.scaling_.scale, rtol=1e-10)
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_sparse_rows_are_not_centred(kind):
    X, y, new = rows_of(SVC())
    model, dense = SVC(scale=True).fit(kind(X), y), SVC().fit(X / X.std(axis=0), y)
    assert not model.scaling_.center.any()
    assert type(model.support_vectors_) is kind
    np.testing.assert_allclose(
        model.decision_function(kind(new)), dense.decision_function(new / X.std(axis=0)), atol=1e-4
    )


@every_model
def test_a_second_fit_forgets_the_first(machine):
    X, y, new = rows_of(machine)
    once = fitted(machine, X, y, scale=True)
    twice = fitted(machine, 3 * X - 5, y, scale=True).fit(X, y)
    np.testing.assert_array_equal(once.predict(new), twice.predict(new))
    np.testing.assert_array_equal(once.scaling_.scale, twice.scaling_.scale)


def test_many_rows_of_least_squares_are_scaled_too(monkeypatch):
    monkeypatch.setattr(_lssvc_solve, "DIRECT_ROWS", 20)
    X, y, new = rows_of(LSSVC())
    ours = LSSVC(scale=True).fit(X, y)
    center, scale = ours.scaling_
    by_hand = LSSVC().fit((X - center) / scale, y).decision_function((new - center) / scale)
    np.testing.assert_allclose(ours.decision_function(new), by_hand, atol=1e-5)


def test_a_fit_without_it_forgets():
    X, y, new = rows_of(SVC())
    model = SVC(scale=True).fit(X, y).set_params(scale=False).fit(X, y)
    assert not hasattr(model, "scaling_")
    np.testing.assert_array_equal(model.decision_function(new), SVC().fit(X, y).decision_function(new))


def test_searches_scale_inside_each_fold_as_before():
    X, y, new = rows_of(SVC())
    search = SVCCV(Cs=[1.0], gammas=["scale"], scale=True).fit(X, y)
    alone = SVC(scale=True).fit(X, y)
    np.testing.assert_allclose(search.decision_function(new), alone.decision_function(new), atol=1e-6)
    assert search.best_score_ > 0.9


def test_paths_scale():
    X, y, _ = rows_of(SVC())
    X, y = X[y < 2], y[y < 2]
    path = regularization_path(SVC(scale=True), X, y, Cs=[0.1, 1.0])
    np.testing.assert_allclose(
        path.models[1].decision_function(X), SVC(scale=True).fit(X, y).decision_function(X), atol=2e-3
    )
    exact = regularization_path(SVC(scale=True), X, y, exact=True, Cs=[0.1, 1.0])
    by_hand = regularization_path(SVC(), StandardScaler().fit_transform(X), y, exact=True, Cs=[0.1, 1.0])
    np.testing.assert_allclose(exact.Cs, by_hand.Cs, rtol=1e-6)


@pytest.mark.parametrize(
    ("model", "X"),
    [
        (SVC(kernel="precomputed", scale=True), np.eye(4)),
        (SVC(kernel=lambda a, b: np.eye(len(a), len(b)), scale=True), list("abcd")),
    ],
    ids=["precomputed", "text"],
)
def test_what_has_no_features_is_refused(model, X):
    with pytest.raises(ValueError, match="scale=True scales features"):
        model.fit(X, [0, 1, 0, 1])
    assert not hasattr(model, "support_")


def test_libsvms_files_have_no_place_for_it(tmp_path):
    X, y, _ = rows_of(SVC())
    with pytest.raises(ModelFileError, match="no place for a scaling"):
        save_libsvm(SVC(scale=True).fit(X, y), tmp_path / "model")
