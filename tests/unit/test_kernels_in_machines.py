"""Kernels of every kind inside a machine: filled widths, strings, lookups, and input that makes no sense."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from maxmargin import SVC
from maxmargin.kernels import ChiSquared, Function, Gaussian, Laplacian, Linear, Precomputed, Sigmoid

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] + 0.3 * RNG.normal(size=40) > 0).astype(int)
PAIRS = [a + b for a in "abcd" for b in "abcd"]


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
def test_an_estimator_fills_open_widths_with_its_gamma(gamma):
    value = {"scale": 1 / (3 * X.var()), "auto": 1 / 3}.get(gamma, gamma)
    assert SVC(kernel=Gaussian(), gamma=gamma).fit(X, Y).kernel_.gamma == pytest.approx(value)


def shared_pairs(left, right):
    """How many pairs of neighbouring letters two words share."""
    counts = [[sum(w[k : k + 2] == p for k in range(len(w) - 1)) for p in PAIRS] for w in (*left, *right)]
    return np.dot(counts[: len(left)], np.transpose(counts[len(left) :])).astype(float)


def test_a_callable_makes_a_machine_for_strings():
    words = ["abab", "baba", "abba", "bbab", "cdcd", "dcdc", "cddc", "ddcd"]
    label = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    model = SVC(kernel=shared_pairs).fit(words, label)
    other = SVC(kernel="precomputed").fit(shared_pairs(words, words), label)
    new = ["ababab", "cdc"]
    assert model.certificate_.holds
    np.testing.assert_array_equal(model.predict(new), [0, 1])
    expected = other.decision_function(shared_pairs(new, words))
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-9)


SAME = [
    ("rbf", Gaussian()),
    (gp.RBF(2.0), Gaussian(sigma=2.0)),
    (pairwise.laplacian_kernel, Laplacian(1 / 3)),
    (Function(pairwise.linear_kernel), Linear()),
    (gp.ConstantKernel(0.5) * gp.RBF(1.0), 0.5 * Gaussian(sigma=1.0)),
]


@pytest.mark.parametrize(("kernel", "ours"), SAME)
def test_every_way_to_name_a_kernel_gives_the_same_machine(kernel, ours):
    model, same = SVC(kernel=kernel).fit(X, Y), SVC(kernel=ours).fit(X, Y)
    assert model.certificate_.holds
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), atol=1e-6)


def test_a_precomputed_kernel_stands_alone():
    with pytest.raises(TypeError, match="precomputed kernel cannot be part of another one"):
        SVC(kernel=2 * Precomputed()).fit(X @ X.T, Y)


def test_a_matrix_that_cannot_be_written_to_is_enough():
    K = X @ X.T
    K.flags.writeable = False
    np.testing.assert_array_equal(Precomputed()(K), K)
    assert SVC(kernel="precomputed").fit(K, Y).score(K, Y) > 0.8
    constant = Function(lambda P, Q: np.broadcast_to(1.0, (len(P), len(Q))))
    np.testing.assert_array_equal(constant(X), np.ones((40, 40)))


def test_64_bit_indices_do_not_matter():
    sparse = sp.csr_array(np.where(RNG.random((40, 3)) < 0.1, np.abs(X), 0.0))
    wide = sparse.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for kernel in (Linear(), Gaussian(1.0), Laplacian(1.0), ChiSquared(1.0)):
        narrow = SVC(kernel=kernel).fit(sparse, Y).decision_function(sparse)
        np.testing.assert_allclose(SVC(kernel=kernel).fit(wide, Y).decision_function(wide), narrow, atol=1e-9)


def test_chi_squared_machines_refuse_negative_values():
    with pytest.raises(ValueError, match="negative"):
        SVC(kernel=ChiSquared(), certify=False).fit(X, Y)
    model = SVC(kernel=ChiSquared()).fit(np.abs(X), Y)
    with pytest.raises(ValueError, match="negative"):
        model.predict(X)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_kernel_function_that_returns_nonsense_is_refused(fit_intercept, bad):
    def kernel(P, Q):
        return np.where(P @ Q.T > 2, bad, P @ Q.T)

    with pytest.raises(ValueError, match=r"finite|NaN|inf"):
        SVC(kernel=kernel, fit_intercept=fit_intercept).fit(X, Y)


def test_an_indefinite_kernel_trains_without_a_proof():
    model = SVC(kernel=Sigmoid(1.0, -1.0)).fit(X, Y)
    assert model.certificate_.kkt <= 2e-3
    assert not model.certificate_.holds


def test_a_kernel_with_a_zero_diagonal_trains():
    """-||x - z||^2 differs from 2 x.z by terms that the intercept absorbs."""
    K, twice = -pairwise.euclidean_distances(X, squared=True), 2 * X @ X.T
    model, same = (SVC(kernel="precomputed").fit(G, Y) for G in (K, twice))
    assert model.score(K, Y) == same.score(twice, Y)
    assert model.certificate_.kkt <= 1.1e-3


@pytest.mark.parametrize("container", [list, np.array, lambda rows: np.array(rows, dtype=object)])
def test_rows_of_text_may_come_in_any_container(container):
    words = ["aa", "ab", "ba", "bb"] * 3
    labels = [word.count("a") for word in words]

    def common(P, Q):
        return np.array([[sum(p.count(c) * q.count(c) for c in "ab") for q in Q] for p in P], dtype=float)

    model = SVC(kernel=common, C=10).fit(container(words), labels)
    assert model.score(container(words), labels) == 1.0


def test_a_table_of_numbers_stays_one_under_a_callable_kernel():
    pandas = pytest.importorskip("pandas", reason="the rows are a data frame")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = SVC(kernel=pairwise.linear_kernel).fit(frame, Y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    expected = SVC(kernel="linear").fit(X, Y).decision_function(X)
    np.testing.assert_allclose(model.decision_function(frame), expected, atol=1e-6)
