"""Kernel discriminant analysis: the textbook's eigenproblem, scikit-learn's linear one, contract, laws, bad input."""

from __future__ import annotations

import inspect
import pickle
import tracemalloc

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs, make_circles
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel, sigmoid_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from maxmargin.estimators import _discriminant
from maxmargin.estimators._discriminant import KernelDiscriminantAnalysis
from maxmargin.kernels import Gaussian, Precomputed
from maxmargin.plotting import ProjectionDisplay
from tests.laws import examples


def blobs(n=60, classes=3, features=3, seed=0, spread=1.5):
    X, y = make_blobs(n, features, centers=classes, random_state=seed, cluster_std=spread)
    return StandardScaler().fit_transform(X), y


def matrices(y, weight=None):
    """L_w and L_b of the textbook; a row of weight 2 is two rows."""
    weight = np.ones(len(y)) if weight is None else weight
    within, between = np.diag(weight), -np.outer(weight, weight) / weight.sum()
    for name in np.unique(y):
        own = np.where(y == name, weight, 0.0)
        within -= np.outer(own, own) / own.sum()
        between += np.outer(own, own) / own.sum()
    return within, between


def coefficients(model, n):
    """A of W = Phi A, on all rows."""
    A = np.zeros((n, model.dual_coef_.shape[1]))
    A[model.support_] = model.dual_coef_
    return A


# -- the problem -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reg", [1e-3, 1e-1, 10.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_solution_is_that_of_the_generalised_eigenproblem(reg, weighted):
    X, y = blobs()
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(y)) if weighted else None
    K = rbf_kernel(X, gamma=1.0)
    L_w, L_b = (L / (len(y) if weight is None else weight.sum()) for L in matrices(y, weight))
    penalised = K @ L_w @ K + reg * np.trace(L_w @ K) * K
    model = KernelDiscriminantAnalysis(gamma=1.0, reg=reg).fit(X, y, sample_weight=weight)
    A = coefficients(model, len(X))
    expected = scipy.linalg.eigh(K @ L_b @ K, penalised, eigvals_only=True)[::-1]
    np.testing.assert_allclose(model.eigenvalues_, expected[:2], rtol=1e-6)
    assert abs(expected[2]) < 1e-6 * expected[0]  # there are no others
    np.testing.assert_allclose(A.T @ penalised @ A, np.eye(2), atol=1e-6)
    np.testing.assert_allclose(K @ L_b @ K @ A, penalised @ A * model.eigenvalues_, atol=1e-7 * model.eigenvalues_[0])
    np.testing.assert_allclose(model.explained_variance_ratio_, model.eigenvalues_ / model.eigenvalues_.sum())
    np.testing.assert_allclose(model.transform(X), K @ A + model.intercept_, atol=1e-8)


def test_a_kernel_that_is_not_psd_has_its_ridge_on_sizes_of_eigenvalues():
    X, y = blobs()
    K = sigmoid_kernel(X, gamma=0.7, coef0=-0.5)
    values, vectors = np.linalg.eigh(K)
    assert values[0] < -1.0
    L_w, L_b = (L / len(y) for L in matrices(y))
    sizes = vectors * np.abs(values) @ vectors.T
    basis = vectors / np.sqrt(np.abs(values))
    trace = np.trace(basis.T @ K @ L_w @ K @ basis)
    penalised = K @ L_w @ K + 1e-2 * trace * sizes
    model = KernelDiscriminantAnalysis(kernel="sigmoid", gamma=0.7, coef0=-0.5, reg=1e-2).fit(X, y)
    A = coefficients(model, len(X))
    np.testing.assert_allclose(A.T @ penalised @ A, np.eye(2), atol=1e-6)
    np.testing.assert_allclose(A.T @ K @ L_b @ K @ A, np.diag(model.eigenvalues_), rtol=1e-6, atol=1e-6)
    given = KernelDiscriminantAnalysis(kernel="precomputed", reg=1e-2).fit(K, y)
    np.testing.assert_allclose(given.transform(K), model.transform(X), atol=1e-6)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits, load_breast_cancer])
@pytest.mark.parametrize("n_landmarks", [None, 1000])
def test_linear_kernel_and_no_ridge_is_linear_discriminant_analysis(load, n_landmarks):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    X = X[:, X.std(axis=0) > 0]  # digits has columns of zeros
    theirs = LinearDiscriminantAnalysis(tol=1e-9).fit(X, y)
    ours = KernelDiscriminantAnalysis(kernel="linear", reg=1e-11, n_landmarks=n_landmarks).fit(X, y)
    Z, expected = ours.transform(X), theirs.transform(X)
    assert Z.shape == expected.shape
    for k in range(Z.shape[1]):
        assert abs(np.corrcoef(Z[:, k], expected[:, k])[0, 1]) > 1 - 1e-6
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(np.abs(Z), np.abs(expected), atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, atol=1e-6)
    assert len(ours.support_) == np.linalg.matrix_rank(X)  # no more rows than span the rest


def test_no_ridge_at_all_will_do_where_the_scatter_is_regular():
    X, y = load_breast_cancer(return_X_y=True)  # columns from 1e-3 to 1e3
    theirs = LinearDiscriminantAnalysis(tol=1e-12).fit(X, y)
    ours = KernelDiscriminantAnalysis(kernel="linear", reg=0).fit(X, y)
    assert np.corrcoef(ours.transform(X)[:, 0], theirs.transform(X)[:, 0])[0, 1] > 1 - 1e-6


def test_priors_mean_what_they_do_in_scikit_learn():
    X, y = load_iris(return_X_y=True)
    X, y, priors = X[20:], y[20:], [0.7, 0.1, 0.2]
    theirs = LinearDiscriminantAnalysis(priors=priors).fit(X, y)
    ours = KernelDiscriminantAnalysis(kernel="linear", reg=1e-11, priors=priors).fit(X, y)
    np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    with pytest.warns(UserWarning, match="sum to 2"):
        twice = KernelDiscriminantAnalysis(kernel="linear", reg=1e-11, priors=[1.4, 0.2, 0.4]).fit(X, y)
    np.testing.assert_allclose(twice.predict_proba(X), ours.predict_proba(X), atol=1e-12)
    never = KernelDiscriminantAnalysis(priors=[0.5, 0.5, 0.0]).fit(X, y)
    assert set(never.predict(X)) == {0, 1}
    assert (never.predict_proba(X)[:, 2] == 0).all()


def test_classes_that_no_line_separates():
    X, y = make_circles(200, noise=0.05, factor=0.4, random_state=0)
    model = KernelDiscriminantAnalysis().fit(X[:100], y[:100])
    assert model.score(X[100:], y[100:]) == 1.0
    assert KernelDiscriminantAnalysis(kernel="linear").fit(X, y).score(X, y) < 0.7


# -- decisions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 4])
def test_decisions_probabilities_and_predictions_agree(classes):
    X, y = blobs(classes=classes, spread=4.0)
    names = np.array(["d", "a", "c", "b"])[y]
    model = KernelDiscriminantAnalysis().fit(X, names)
    f, p = model.decision_function(X), model.predict_proba(X)
    assert f.shape == ((len(X),) if classes == 2 else (len(X), classes))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(X), atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.classes_[np.argmax(p, axis=1)])
    if classes == 2:
        np.testing.assert_allclose(f, np.log(p[:, 1] / p[:, 0]), atol=1e-7)
        assert model.means_[1, 0] > model.means_[0, 0]  # the second class is on the positive side
    # the nearest mean, corrected for the prior
    Z = model.transform(X)
    distance = ((Z[:, None] - model.means_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(
        model.predict(X), model.classes_[np.argmin(distance - 2 * np.log(model.priors_), axis=1)]
    )
    np.testing.assert_allclose(model.priors_ @ model.means_, 0.0, atol=1e-9)
    for k, name in enumerate(model.classes_):
        np.testing.assert_allclose(Z[names == name].mean(axis=0), model.means_[k], atol=1e-8)


def test_fewer_components_are_the_first_ones():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    all_of_them = KernelDiscriminantAnalysis().fit(X, y)
    some = KernelDiscriminantAnalysis(2).fit(X, y)
    np.testing.assert_allclose(some.transform(X), all_of_them.transform(X)[:, :2], atol=1e-8)
    np.testing.assert_allclose(some.explained_variance_ratio_, all_of_them.explained_variance_ratio_[:2])
    assert (np.diff(all_of_them.eigenvalues_) <= 0).all()
    np.testing.assert_array_equal(some.predict_proba(X), all_of_them.predict_proba(X))  # as in scikit-learn


# -- rows and kernels of every kind ----------------------------------------------------------------------------------


def test_kernel_of_every_kind_gives_the_same_model():
    X, y = blobs()
    K = rbf_kernel(X, gamma=2.0)
    expected = KernelDiscriminantAnalysis(gamma=2.0).fit(X, y).transform(X)
    for kernel in (Gaussian(gamma=2.0), Gaussian(), RBF(0.5), lambda A, B: rbf_kernel(A, B, gamma=2.0)):
        model = KernelDiscriminantAnalysis(kernel=kernel, gamma=2.0).fit(X, y)
        np.testing.assert_allclose(model.transform(X), expected, atol=1e-7)
    for kernel in ("precomputed", Precomputed()):
        model = KernelDiscriminantAnalysis(kernel=kernel).fit(K, y)
        np.testing.assert_allclose(model.transform(K), expected, atol=1e-7)
        assert model.support_vectors_.size == 0  # only their numbers are needed
    rounded = KernelDiscriminantAnalysis(kernel="precomputed").fit(K.astype(np.float32), y)
    np.testing.assert_allclose(rounded.transform(K), expected, atol=1e-2)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("n_landmarks", [None, 20])
def test_named_kernels_sparse_rows_and_single_precision(kernel, n_landmarks):
    X, y = blobs(features=5, spread=2.0)
    X[np.abs(X) < 0.5] = 0.0
    options = {"kernel": kernel, "gamma": 0.1, "coef0": 0.5, "n_landmarks": n_landmarks}
    model = KernelDiscriminantAnalysis(**options).fit(X, y)
    assert model.score(X, y) > 0.8
    sparse = KernelDiscriminantAnalysis(**options).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict_proba(sp.csr_array(X)), model.predict_proba(X), atol=1e-6)
    narrow = X.astype(np.float32)
    single = KernelDiscriminantAnalysis(**options).fit(narrow, y)
    wide = KernelDiscriminantAnalysis(**options).fit(narrow.astype(np.float64), y)
    if n_landmarks is None:  # landmarks are told apart by their bits
        np.testing.assert_allclose(single.transform(narrow), wide.transform(narrow), atol=1e-6)


def letters(A, B):
    """Letters that two words share."""
    return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])


@pytest.mark.parametrize("n_landmarks", [None, 4])
def test_rows_may_be_anything(n_landmarks):
    words = ["tomato", "potato", "tom", "pot", "fish", "dish", "wish", "shrimp"]
    y = ["red"] * 4 + ["sea"] * 4
    model = KernelDiscriminantAnalysis(kernel=letters, n_landmarks=n_landmarks, reg=0.1).fit(words, y)
    assert list(model.predict(["tomatoes", "fishes"])) == ["red", "sea"]
    weighted = model.fit(words, y, sample_weight=[1, 1, 1, 1, 0, 1, 1, 1])
    assert 4 not in weighted.support_
    assert list(weighted.predict(["pots", "fishes"])) == ["red", "sea"]


def test_precomputed_kernels_are_split_by_rows_and_columns():
    X, y = blobs(spread=4.0)
    for n_landmarks in (None, 30):
        model = KernelDiscriminantAnalysis(kernel="precomputed", n_landmarks=n_landmarks)
        linear = KernelDiscriminantAnalysis(kernel="linear", n_landmarks=n_landmarks)
        np.testing.assert_allclose(cross_val_score(model, X @ X.T, y), cross_val_score(linear, X, y))


# -- landmarks -------------------------------------------------------------------------------------------------------


def test_as_many_landmarks_as_rows_are_all_rows():
    X, y = blobs()
    expected = KernelDiscriminantAnalysis().fit(X, y)
    for n_landmarks in (len(X), 10 * len(X)):
        model = KernelDiscriminantAnalysis(n_landmarks=n_landmarks).fit(X, y)
        np.testing.assert_allclose(model.transform(X), expected.transform(X), atol=1e-7)


def test_landmarks_solve_the_problem_in_their_span():
    X, y = blobs(200)
    model = KernelDiscriminantAnalysis(n_landmarks=15, gamma=0.5, random_state=3).fit(X, y)
    assert len(model.support_) == 15
    rows = rbf_kernel(X, X[model.support_], gamma=0.5)
    K = rbf_kernel(X[model.support_], gamma=0.5)
    L_w, L_b = (L / len(y) for L in matrices(y))
    inside = rows.T @ L_w @ rows
    penalised = inside + 1e-3 * np.trace(np.linalg.solve(K, inside)) * K
    expected = scipy.linalg.eigh(rows.T @ L_b @ rows, penalised, eigvals_only=True)[::-1][:2]
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-6)


def test_landmarks_are_drawn_by_the_seed_from_the_rows_that_differ():
    X, y = blobs(100)
    first, again, other = (KernelDiscriminantAnalysis(n_landmarks=10, random_state=s).fit(X, y) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.support_, again.support_)
    assert set(first.support_) != set(other.support_)
    default = KernelDiscriminantAnalysis(n_landmarks=10).fit(X, y)
    np.testing.assert_array_equal(first.support_, default.support_)
    crowd = np.concatenate([np.repeat(X[:1], 5000, axis=0), X])
    model = KernelDiscriminantAnalysis(n_landmarks=10, random_state=0).fit(crowd, np.concatenate([[y[0]] * 5000, y]))
    np.testing.assert_array_equal(np.unique(crowd[model.support_], axis=0), np.unique(X[first.support_], axis=0))


@pytest.mark.parametrize("method", ["k-means++", "leverage"])
def test_landmarks_find_small_groups(method):
    rng = np.random.default_rng(0)
    X = np.concatenate([0.1 * rng.normal(size=(600, 2)), 0.1 * rng.normal(size=(6, 2)) + 5.0])
    y = np.r_[np.arange(600) % 2, np.full(6, 2)]
    chosen, drawn = (
        [KernelDiscriminantAnalysis(n_landmarks=8, gamma=1.0, landmarks=m, random_state=s).fit(X, y) for s in range(5)]
        for m in (method, "uniform")
    )
    assert all((model.support_ >= 600).any() for model in chosen)
    assert not all((model.support_ >= 600).any() for model in drawn)
    K = rbf_kernel(X, gamma=1.0)
    weight = np.where(np.arange(len(X)) % 5 == 0, 0.0, 1.0)  # rows that do not count are none
    for kernel, rows in (("rbf", X), ("precomputed", K)):
        model = KernelDiscriminantAnalysis(kernel=kernel, n_landmarks=8, gamma=1.0, landmarks=method)
        assert (weight[model.fit(rows, y, weight).support_] > 0).all()
        assert model.predict(rows[600:]).tolist() == [2] * 6


def test_kernel_values_come_in_blocks(monkeypatch):
    X, y = blobs(500)
    whole = KernelDiscriminantAnalysis(n_landmarks=30).fit(X, y)
    full = KernelDiscriminantAnalysis().fit(X, y)
    monkeypatch.setattr(_discriminant, "BLOCK_VALUES", 300)
    np.testing.assert_allclose(
        KernelDiscriminantAnalysis(n_landmarks=30).fit(X, y).transform(X), whole.transform(X), atol=1e-8
    )
    np.testing.assert_allclose(KernelDiscriminantAnalysis().fit(X, y).transform(X), full.transform(X), atol=1e-7)


def test_many_rows_take_little_memory():
    X, y = blobs(30_000)
    model = KernelDiscriminantAnalysis(n_landmarks=100, n_jobs=1)
    model.fit(X[:500], y[:500])
    tracemalloc.start()
    try:
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200e6  # the Gram matrix would take 7,200 MB, all values with the landmarks and coordinates 48 MB
    assert model.score(X, y) > 0.9


# -- laws ------------------------------------------------------------------------------------------------------------

SEEDS = st.integers(0, 10**6)
LANDMARKS = st.sampled_from(["uniform", "k-means++", "leverage"])
LAWS = examples(15)


def same(first, second, X, Z, atol=1e-6):
    """Two models, each on its rows: the same projections but for signs, and the same probabilities."""
    np.testing.assert_allclose(first.eigenvalues_, second.eigenvalues_, rtol=1e-6)
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(Z), atol=atol)
    A, B = first.transform(X), second.transform(Z)
    np.testing.assert_allclose(A @ A.T, B @ B.T, atol=atol * np.abs(A @ A.T).max())


@LAWS
@given(SEEDS, st.sampled_from(["rbf", "linear"]), st.integers(2, 4))
def test_rotations_change_nothing(seed, kernel, classes):
    X, y = blobs(40, classes, 4, seed)
    Q = scipy.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0]
    first, second = (KernelDiscriminantAnalysis(kernel=kernel, gamma=0.3).fit(rows, y) for rows in (X, X @ Q))
    same(first, second, X, X @ Q)


@LAWS
@given(SEEDS, st.sampled_from(["rbf", "linear", "sigmoid"]), st.sampled_from([None, 12, 500]), LANDMARKS)
def test_weights_are_repetitions(seed, kernel, n_landmarks, landmarks):
    X, y = blobs(40, 3, 4, seed)
    rng = np.random.default_rng(seed)
    times = rng.integers(0, 4, len(X))
    times[[np.flatnonzero(y == k)[0] for k in range(3)]] = 1
    order = rng.permutation(np.repeat(np.arange(len(X)), times))
    landmarks = "uniform" if kernel == "sigmoid" else landmarks  # the others' chances are those of a true kernel
    model = KernelDiscriminantAnalysis(kernel=kernel, n_landmarks=n_landmarks, landmarks=landmarks, random_state=seed)
    same(clone(model).fit(X, y, sample_weight=times), clone(model).fit(X[order], y[order]), X, X)


@LAWS
@given(SEEDS, st.integers(2, 5))
def test_order_of_rows_and_names_of_classes_change_nothing(seed, classes):
    X, y = blobs(50, classes, 3, seed)
    rng = np.random.default_rng(seed)
    order, names = rng.permutation(len(X)), rng.permutation(classes)
    first = KernelDiscriminantAnalysis().fit(X, y)
    second = KernelDiscriminantAnalysis().fit(X[order], names[y[order]])
    np.testing.assert_allclose(first.eigenvalues_, second.eigenvalues_, rtol=1e-6)
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(X)[:, names], atol=1e-6)
    A, B = first.transform(X), second.transform(X)
    np.testing.assert_allclose(A @ A.T, B @ B.T, atol=1e-6 * np.abs(A @ A.T).max())


@LAWS
@given(SEEDS, st.floats(1e-6, 1e6), st.sampled_from([None, 20]))
def test_a_factor_on_the_kernel_changes_nothing(seed, factor, n_landmarks):
    X, y = blobs(40, 3, 3, seed)
    first, second = (
        KernelDiscriminantAnalysis(kernel=kernel, gamma=0.3, n_landmarks=n_landmarks).fit(X, y)
        for kernel in ("rbf", factor * Gaussian(gamma=0.3))
    )
    same(first, second, X, X)


@LAWS
@given(SEEDS, st.integers(2, 6), st.integers(1, 5), st.sampled_from(["rbf", "linear"]))
def test_there_are_at_most_as_many_directions_as_classes_less_one(seed, classes, features, kernel):
    X, y = blobs(60, classes, features, seed)
    model = KernelDiscriminantAnalysis(kernel=kernel).fit(X, y)
    directions = classes - 1 if kernel == "rbf" else min(classes - 1, features)
    assert model.transform(X).shape == (60, directions)
    assert (model.eigenvalues_ >= 0).all()
    assert model.explained_variance_ratio_.sum() == pytest.approx(1.0)
    assert len(model.get_feature_names_out()) == directions


@LAWS
@given(SEEDS, st.integers(2, 5))
def test_separated_classes_have_means_apart(seed, classes):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(classes), 12)
    X = 20.0 * np.eye(classes)[y] + rng.uniform(-1.0, 1.0, size=(len(y), classes))
    model = KernelDiscriminantAnalysis(kernel="linear").fit(X, y)
    apart = np.linalg.norm(model.means_[:, None] - model.means_, axis=2) + 1e9 * np.eye(classes)
    assert apart.min() > 5.0  # in units of the scatter within
    assert model.score(X, y) == 1.0
    assert KernelDiscriminantAnalysis().fit(X, y).score(X, y) == 1.0


# -- bad input -------------------------------------------------------------------------------------------------------


def refused(match, X, y, sample_weight=None, **options):
    model = KernelDiscriminantAnalysis(**options)
    with pytest.raises(ValueError, match=match):
        model.fit(X, y, sample_weight=sample_weight)
    assert not [name for name in vars(model) if name.endswith("_")]  # nothing half-fitted


def test_errors_say_what_was_wrong_and_what_to_do():
    X, y = blobs()
    refused("n_components=3 is more than n_classes - 1 = 2", X, y, n_components=3)
    refused("numerical rank 1", X[:, :1], y, n_components=2, kernel="linear")
    refused("one class|1 class", X, np.zeros(len(X)))
    refused("1 class", X, y, sample_weight=(y == 0).astype(float))
    refused("same point.*Scale", np.ones_like(X), y)
    refused("same point", np.zeros_like(X), y, kernel="linear")
    refused("singular.*reg=0 is too small", X, y, reg=0)
    refused("not finite|infinite", 1e150 * X, y, kernel="poly", gamma=1.0)
    refused("finite", X, y, kernel=lambda A, B: np.full((len(A), len(B)), np.nan))
    refused("infinity|NaN", np.full((len(X), len(X)), np.inf), y, kernel="precomputed")
    refused("symmetric", np.triu(X @ X.T), y, kernel="precomputed")
    refused("square", X, y, kernel="precomputed")
    refused(r"priors has shape \(2,\), but there are 3", X, y, priors=[0.5, 0.5])
    refused("priors must be non-negative", X, y, priors=[0.5, -0.5, 1.0])
    refused("priors must be .*positive for two", X, y, priors=[1.0, 0.0, 0.0])
    refused("Unknown label type", X, X[:, 0])
    refused("requires y", X, None)


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "n_components": [0, 1.5, "all"],
        "reg": [-1.0, "small"],
        "n_landmarks": [0, -3, 0.5],
        "landmarks": ["kmeans", None],
        "priors": [0.5],
        "kernel": ["rbff", 3],
        "gamma": [-1.0],
        "cache_size": [0, "much"],
        "device": ["tpu"],
        "n_jobs": ["all"],
        "random_state": ["today"],
    }.items(),
)
def test_values_that_make_no_sense_are_named(name, values):
    X, y = blobs()
    for value in values:
        refused(name, X, y, **{name: value})


def test_matrices_that_do_not_fit_are_refused_with_their_size():
    X, y = blobs(400)
    refused("matrices of 400 rows take 6 MB.*cache_size=1 .*n_landmarks", X, y, cache_size=1)
    assert KernelDiscriminantAnalysis(cache_size=1, n_landmarks=100).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("n_landmarks", [None, 25])
def test_singular_and_nearly_singular_kernels(n_landmarks):
    X, y = blobs(50)
    plain = KernelDiscriminantAnalysis(kernel="linear").fit(X, y)
    for noise in (0.0, 1e-14, 1e-9):  # more columns that say the same
        wide = np.hstack([X, X + noise * np.random.default_rng(0).normal(size=X.shape)])
        model = KernelDiscriminantAnalysis(kernel="linear", n_landmarks=n_landmarks).fit(wide, y)
        np.testing.assert_allclose(model.predict_proba(wide), plain.predict_proba(X), atol=1e-5)
    for gamma in (1e-9, 1e-6, 1e4):  # values all about 1, or a unit matrix
        model = KernelDiscriminantAnalysis(gamma=gamma, n_landmarks=n_landmarks).fit(X, y)
        assert np.isfinite(model.transform(X)).all()
    twice = KernelDiscriminantAnalysis(n_landmarks=n_landmarks).fit(np.vstack([X, X]), np.concatenate([y, y]))
    assert len(twice.support_) <= len(X)  # copies span nothing new


def test_values_far_from_zero_are_told_apart():
    X, y = blobs()
    near, far = (KernelDiscriminantAnalysis(kernel="linear").fit(rows, y) for rows in (X, X + 1e4))
    np.testing.assert_allclose(far.predict_proba(X + 1e4), near.predict_proba(X), atol=1e-3)
    near, far = (KernelDiscriminantAnalysis(gamma=0.5).fit(rows, y) for rows in (X, X + 1e6))
    np.testing.assert_allclose(far.predict_proba(X + 1e6), near.predict_proba(X), atol=1e-4)


def test_classes_of_one_row():
    X, y = blobs()
    X, y = np.vstack([X, [[9.0, 9.0, 9.0]]]), np.append(y, 7)
    model = KernelDiscriminantAnalysis().fit(X, y)
    assert model.predict(X[-1:]) == 7
    points = KernelDiscriminantAnalysis().fit(X[:4], np.arange(4))  # and of nothing else
    np.testing.assert_array_equal(points.predict(X[:4]), np.arange(4))
    assert points.transform(X).shape == (len(X), 3)
    refused("singular", X[:4], np.arange(4), reg=0)


def test_classes_with_the_same_mean_are_no_error():
    X = np.array([[-1.0, 0], [1, 0], [0, -1], [0, 1]])
    model = KernelDiscriminantAnalysis(kernel="linear").fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(model.predict_proba(X), 0.5)
    assert np.isfinite(model.explained_variance_ratio_).all()


# -- contract --------------------------------------------------------------------------------------------------------

#: How to see the effect of every parameter: other parameters, and another value.
FLIPS = {
    "n_components": ({}, 1),
    "kernel": ({}, "linear"),
    "degree": ({"kernel": "poly"}, 2),
    "gamma": ({}, 0.1),
    "coef0": ({"kernel": "poly"}, 1.0),
    "reg": ({}, 0.1),
    "scale": ({"gamma": 0.1}, True),
    "n_landmarks": ({}, 10),
    "landmarks": ({"n_landmarks": 10}, "leverage"),
    "priors": ({}, [0.2, 0.3, 0.5]),
    "random_state": ({"n_landmarks": 10}, 1),
}


def test_flipped_parameter_has_an_effect():
    X, y = blobs(spread=4.0)
    for name, (base, other) in FLIPS.items():
        before, after = (KernelDiscriminantAnalysis(**{**base, **new}).fit(X, y) for new in ({}, {name: other}))
        assert not np.array_equal(before.transform(X), after.transform(X)), name
    names = set(inspect.signature(KernelDiscriminantAnalysis).parameters)
    # seen elsewhere: what is refused, what is the only value, and threads
    assert names - set(FLIPS) == {"cache_size", "device", "n_jobs"}
    two = KernelDiscriminantAnalysis(n_jobs=2).fit(X, y)
    np.testing.assert_allclose(two.transform(X), KernelDiscriminantAnalysis(n_jobs=1).fit(X, y).transform(X), atol=1e-8)


def test_copies_searches_and_pipelines():
    X, y = blobs(spread=4.0)
    model = KernelDiscriminantAnalysis(2, reg=0.01, n_landmarks=20).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.transform(X), model.transform(X))
    np.testing.assert_array_equal(clone(model).fit_transform(X, y), model.transform(X))
    search = GridSearchCV(KernelDiscriminantAnalysis(), {"reg": [1e-3, 1e-1], "gamma": [0.1, 1.0]}).fit(X, y)
    assert search.best_score_ > 0.5
    pipeline = make_pipeline(StandardScaler(), KernelDiscriminantAnalysis(), LinearSVC()).fit(X, y)
    assert pipeline.score(X, y) > 0.7
    frame = KernelDiscriminantAnalysis().set_output(transform="pandas").fit(X, y).transform(X)
    assert list(frame.columns) == ["kerneldiscriminantanalysis0", "kerneldiscriminantanalysis1"]


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_projections_are_drawn(classes):
    mpl.use("Agg")
    X, y = blobs(classes=classes)
    Z = KernelDiscriminantAnalysis().fit(X, y).transform(X)
    display = ProjectionDisplay.from_transform(Z, y)
    assert len(display.points_) == classes
    assert display.Z.shape == (len(X), classes - 1)
    plt.close(display.figure_)
