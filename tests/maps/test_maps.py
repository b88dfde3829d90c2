"""Feature maps: their dot products are the kernel, or come close to it as they should."""

from __future__ import annotations

import inspect
import warnings
from math import comb

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_circles
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from maxmargin import LinearSVC, PegasosSVC
from maxmargin.exceptions import NotPSDError
from maxmargin.kernels import (
    ChiSquared,
    Cosine,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
)
from maxmargin.maps import NystroemMap, PolynomialMap, RandomFourierMap, _landmarks, choose_landmarks
from tests.laws import examples
from tests.names import name_of

METHODS = ["uniform", "k-means++", "leverage"]


def rows(n=60, d=4, seed=0, dtype=np.float64):
    """Normal rows."""
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


def dense(values):
    return values.toarray() if sp.issparse(values) else values


# -- what all maps have in common ------------------------------------------------------------------------------

MAPS = [PolynomialMap(), NystroemMap(n_components=20), RandomFourierMap()]


@pytest.mark.parametrize("mapping", MAPS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_a_rows_features_do_not_depend_on_the_rows_beside_it(mapping, dtype, container):
    X = rows(dtype=dtype)
    X[X < 0] = 0
    mapping = clone(mapping).fit(container(X))
    whole = mapping.transform(container(X))
    pieces = np.vstack([dense(mapping.transform(container(X[k : k + 7]))) for k in range(0, len(X), 7)])
    assert whole.dtype == pieces.dtype == dtype
    np.testing.assert_allclose(dense(whole), pieces, atol=1e-12 if dtype == np.float64 else 1e-5)
    np.testing.assert_allclose(pieces, dense(mapping.transform(X)), atol=1e-12 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("mapping", MAPS, ids=lambda m: type(m).__name__)
def test_features_have_names_and_a_frame_if_asked(mapping):
    frame = pd.DataFrame(rows(), columns=["a", "b", "c", "d"])
    mapping = clone(mapping).set_output(transform="pandas").fit(frame)
    out = mapping.transform(frame)
    assert list(out.columns) == list(mapping.get_feature_names_out())
    assert len(set(out.columns)) == out.shape[1]
    with pytest.raises(ValueError, match="feature names"):
        mapping.transform(frame[["b", "a", "c", "d"]])


@pytest.mark.parametrize("mapping", MAPS, ids=lambda m: type(m).__name__)
def test_parameters_are_documented_and_checked(mapping):
    text = inspect.getdoc(type(mapping)) or ""
    for name in mapping.get_params():
        assert f"\n{name} : " in text
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            clone(mapping).set_params(**{name: [None]}).fit(rows())


@pytest.mark.parametrize(
    "flipped",
    [
        PolynomialMap(degree=3),
        PolynomialMap(coef0=2.0),
        PolynomialMap(gamma="scale"),
        PolynomialMap(collapse=False),
        NystroemMap(n_components=20, kernel="poly"),
        NystroemMap(n_components=20, gamma="auto"),
        NystroemMap(n_components=20, kernel="poly", degree=2),
        NystroemMap(n_components=20, kernel="poly", coef0=2.0),
        NystroemMap(n_components=21),
        NystroemMap(n_components=20, landmarks="k-means++"),
        NystroemMap(n_components=20, landmarks="leverage"),
        NystroemMap(n_components=20, random_state=1),
        RandomFourierMap(gamma="auto"),
        RandomFourierMap(kernel="laplacian"),
        RandomFourierMap(n_components=50),
        RandomFourierMap(orthogonal=True),
        RandomFourierMap(random_state=np.random.RandomState(3)),
    ],
    ids=name_of,
)
def test_every_parameter_has_an_effect(flipped):
    X = 2 * rows()
    plain = next(m for m in [*MAPS, NystroemMap("poly", n_components=20)][::-1] if _one_step(m, flipped))
    theirs, ours = clone(plain).fit_transform(X), clone(flipped).fit_transform(X)
    assert theirs.shape != ours.shape or not np.allclose(theirs, ours)


def _one_step(plain, flipped):
    """Whether two maps differ in one parameter."""
    left, right = (repr(m.get_params()).split(", ") for m in (plain, flipped))
    return type(plain) is type(flipped) and left != right and sum(map(str.__ne__, left, right)) == 1


def test_maps_make_a_linear_machine_a_kernel_machine():
    X, y = make_circles(400, noise=0.08, factor=0.4, random_state=0)
    assert LinearSVC().fit(X, y).score(X, y) < 0.7
    for mapping in (PolynomialMap(), NystroemMap(n_components=30), RandomFourierMap(n_components=60)):
        model = make_pipeline(mapping, LinearSVC()).fit(X[:200], y[:200])
        assert model.score(X[200:], y[200:]) > 0.95
        assert model[-1].certificate_.holds


def test_maps_feed_streams():
    X, y = make_circles(600, noise=0.08, factor=0.4, random_state=0)
    mapping, machine = RandomFourierMap(n_components=60).fit(X[:100]), PegasosSVC(lam=1e-3, random_state=0)
    for _ in range(3):
        for first in range(0, 600, 100):
            part = slice(first, first + 100)
            machine.partial_fit(mapping.transform(X[part]), y[part], classes=[0, 1])
    assert machine.score(mapping.transform(X), y) > 0.95


# -- PolynomialMap -----------------------------------------------------------------------------------------------


@examples(60)
@given(
    d=st.integers(1, 4),
    degree=st.integers(0, 4),
    coef0=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    gamma=st.sampled_from([0.0, 0.3, 1.0]),
    collapse=st.booleans(),
    sparse=st.booleans(),
    dtype=st.sampled_from([np.float64, np.float32]),
    seed=st.integers(0, 1000),
)
def test_polynomial_map_and_kernel_agree(d, degree, coef0, gamma, collapse, sparse, dtype, seed):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(12, d)) * rng.integers(0, 2, size=(12, d))).astype(dtype)
    mapping = PolynomialMap(degree, coef0=coef0, gamma=gamma, collapse=collapse)
    Phi = mapping.fit_transform(sp.csr_array(X) if sparse else X)
    assert sp.issparse(Phi) == sparse
    assert Phi.dtype == dtype
    assert Phi.shape[1] == mapping.dimension(d) == len(mapping.get_feature_names_out()) == mapping.n_output_features_
    K = Polynomial(degree, coef0, gamma)(X)
    tolerance = (1e-12 if dtype == np.float64 else 1e-5) * max(1.0, np.abs(K).max())
    np.testing.assert_allclose(dense(Phi).astype(np.float64) @ dense(Phi).T, K, atol=tolerance)


@pytest.mark.parametrize(("d", "t"), [(1, 0), (3, 0), (1, 5), (4, 2), (5, 3), (2, 6)])
def test_the_dimension_is_known_before(d, t):
    assert PolynomialMap(t).dimension(d) == comb(d + t, t)
    assert PolynomialMap(t, coef0=0.0).dimension(d) == comb(d + t - 1, t)
    assert PolynomialMap(t, collapse=False).dimension(d) == sum(d**i for i in range(t + 1))
    assert PolynomialMap(t, collapse=False, coef0=0.0).dimension(d) == d**t
    assert PolynomialMap(9).dimension(10**6) > 2**64  # exact however large


def test_monomials_come_in_scikit_learns_order_and_by_its_names():
    X = rows(5, 3)
    ours, theirs = PolynomialMap(3).fit(X), PolynomialFeatures(3).fit(X)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    ratio = ours.transform(X) / theirs.transform(X)
    np.testing.assert_allclose(ratio, ratio[:1].repeat(5, axis=0))  # but for the weights
    ordered = PolynomialMap(2, collapse=False).fit(X[:, :2])
    assert ordered.get_feature_names_out(["a", "b"]).tolist() == ["1", "a", "b", "a a", "a b", "b a", "b b"]


def test_sparse_rows_of_many_columns_need_no_dense_ones():
    X = sp.random_array((30, 2000), density=5e-3, random_state=np.random.default_rng(0), format="csr")
    Phi = PolynomialMap(2).fit_transform(X)
    assert Phi.shape == (30, comb(2002, 2))
    assert Phi.has_canonical_format
    np.testing.assert_allclose((Phi @ Phi.T).toarray(), Polynomial(2, 1.0)(X), rtol=1e-12)


@pytest.mark.parametrize("collapse", [True, False])
def test_a_map_that_does_not_fit_is_refused_with_its_size(collapse):
    X = rows(1000, 50)
    mapping = PolynomialMap(2, collapse=collapse, max_bytes=2**20).fit(X)
    size = 1000 * 8 * mapping.dimension(50) / 2**20
    with pytest.raises(MemoryError, match=rf"1,000 rows would take {size:.1f} MB, 1.0 MB are allowed \(max_bytes\)"):
        mapping.transform(X)
    assert mapping.transform(X[:40]).shape == (40, mapping.dimension(50))
    with pytest.raises(MemoryError, match=r"half of the free memory.*lower the degree"):
        PolynomialMap(12).fit(X)
    with pytest.raises(MemoryError, match="MB are allowed"):
        PolynomialMap(12).fit(sp.csr_array((2, 10**6)))
    with pytest.raises(MemoryError, match="MB are allowed"):
        mapping.transform(sp.csr_array(X))


def test_polynomial_map_refuses_what_has_no_map():
    with pytest.raises(ValueError, match="overflow"):
        PolynomialMap(3).fit_transform(rows() * 1e200)
    with pytest.raises(ValueError, match="overflow"):
        PolynomialMap(3).fit_transform(sp.csr_array(rows() * 1e200))
    with pytest.raises(ValueError, match="'coef0' parameter"):
        PolynomialMap(coef0=-1.0).fit(rows())
    with pytest.raises(ValueError, match="'degree' parameter"):
        PolynomialMap(-1).dimension(3)
    with pytest.raises(ValueError, match="at least 1, got 0"):
        PolynomialMap().dimension(0)


# -- NystroemMap ---------------------------------------------------------------------------------------------------

KERNELS = [
    Gaussian(0.3),
    Linear(),
    Polynomial(2, 1.0),
    Laplacian(0.2),
    Exponential(0.3),
    Matern(2.5),
    RationalQuadratic(),
    Cosine(),
    ChiSquared(),
    0.5 * Gaussian(0.5) + Linear() ** 2,
    lambda A, B: np.minimum(dense(A)[:, None, :], dense(B)[None, :, :]).sum(axis=2),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=name_of)
@pytest.mark.parametrize("sparse", [False, True])
def test_nystroem_is_exact_on_landmarks_and_with_all_rows_everywhere(kernel, sparse):
    X = np.abs(rows(50))
    X[X < 0.5] = 0.0
    data = sp.csr_array(X) if sparse else X
    some, every = NystroemMap(kernel, n_components=12).fit(data), NystroemMap(kernel, n_components=50).fit(data)
    K = some.kernel_(X)
    tolerance = (1e-6 if isinstance(kernel, Exponential) else 1e-9) * K.max()  # a root halves the digits near 0
    Phi, chosen = some.transform(data), some.component_indices_
    assert Phi.shape == (50, len(chosen))
    assert len(chosen) <= 12
    np.testing.assert_allclose(dense(some.components_), X[chosen])
    np.testing.assert_allclose(Phi @ Phi[chosen].T, K[:, chosen], atol=tolerance)
    assert (np.square(Phi).sum(axis=1) <= K.diagonal() + tolerance).all()
    Phi = every.transform(data)
    np.testing.assert_allclose(Phi @ Phi.T, K, atol=tolerance)


@examples(30)
@given(
    n=st.integers(2, 30),
    d=st.integers(1, 4),
    count=st.integers(1, 12),
    method=st.sampled_from(METHODS),
    kernel=st.sampled_from(["rbf", "linear", "poly"]),
    seed=st.integers(0, 1000),
)
@pytest.mark.filterwarnings("ignore:n_components=")
def test_nystroem_is_exact_on_landmarks_whatever_the_rows(n, d, count, method, kernel, seed):
    X = np.random.default_rng(seed).integers(-2, 3, size=(n, d)).astype(float)  # with copies
    X[:, 0] += 2.5  # and without rows of zeros, of which a linear kernel has nothing to map
    mapping = NystroemMap(kernel, gamma=0.5, coef0=1.0, n_components=count, landmarks=method, random_state=seed)
    Phi = mapping.fit_transform(X)
    K, chosen = mapping.kernel_(X), mapping.component_indices_
    np.testing.assert_allclose(Phi @ Phi[chosen].T, K[:, chosen], atol=1e-7 * np.abs(K).max())
    assert len(np.unique(X[chosen], axis=0)) == len(chosen) <= count


def test_singular_matrices_lose_what_adds_nothing():
    X = np.vstack([rows(40, 3)] * 2)
    assert NystroemMap("linear", n_components=30).fit_transform(X).shape == (80, 3)
    assert NystroemMap("poly", degree=2, coef0=1.0, n_components=30).fit_transform(X).shape == (80, 10)
    gram = NystroemMap("precomputed", n_components=80).fit(Gaussian(1.0)(X))  # copies that only show in the values
    assert gram.factor_.shape == (40, 40)
    near = np.vstack([X, X + 1e-9])
    for dtype in (np.float64, np.float32):
        Z = near.astype(dtype)
        Phi = NystroemMap(gamma=0.1, n_components=160, landmarks="k-means++").fit(Z).transform(Z)
        np.testing.assert_allclose(Phi @ Phi.T, Gaussian(0.1)(Z), atol=1e-8 if dtype == np.float64 else 1e-4)


def test_constant_columns_and_equal_rows():
    X = np.column_stack([rows(30, 2), np.full(30, 7.0)])
    with pytest.warns(UserWarning, match=r"n_components=100, but only 30 rows count: all of them become landmarks"):
        Phi = NystroemMap().fit_transform(X)
    np.testing.assert_allclose(Phi @ Phi.T, Gaussian(1 / (3 * X.var()))(X), atol=1e-9)
    assert NystroemMap(n_components=5).fit_transform(np.ones((30, 2))).shape == (30, 1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_weights_are_repetitions_and_order_does_not_matter(method, kernel):
    X, rng = rows(80), np.random.default_rng(1)
    weight = rng.integers(0, 4, size=80)
    repeated = rng.permutation(np.repeat(X, weight, axis=0))
    maker = NystroemMap(kernel, n_components=10, landmarks=method)
    ours, theirs = clone(maker).fit(X, sample_weight=weight), clone(maker).fit(repeated)
    np.testing.assert_array_equal(ours.components_, theirs.components_)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-9)
    assert (weight[ours.component_indices_] > 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_precomputed_values_give_what_the_kernel_gives(method):
    X, new = rows(50), rows(9, seed=1)
    kernel = Gaussian(0.2)
    K = kernel(X)
    given_values = NystroemMap(Precomputed(), n_components=12, landmarks=method).fit(K)
    chosen = given_values.component_indices_
    assert len(chosen) == 12
    Phi = given_values.transform(kernel(new, X))
    expected = kernel(new, X[chosen]) @ np.linalg.inv(K[np.ix_(chosen, chosen)]) @ kernel(X[chosen], new)
    np.testing.assert_allclose(Phi @ Phi.T, expected, atol=1e-9)


def test_values_rounded_to_float32_are_still_a_kernel():
    X = rows(200, 3)
    K = Gaussian(0.01)(X)  # of rank 40 or so
    for values in (K.astype(np.float32), K.astype(np.float32).astype(np.float64)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Phi = NystroemMap("precomputed", n_components=200).fit_transform(values)
        np.testing.assert_allclose(Phi @ Phi.T, K, atol=1e-3)


def test_rows_may_be_anything_a_function_understands():
    words = ["margin", "margins", "kernel", "kernels", "map", "maps"]
    letters = lambda A, B: np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)  # noqa: E731
    mapping = NystroemMap(letters, n_components=6).fit(words)
    Phi = mapping.transform(words)
    np.testing.assert_allclose(Phi @ Phi.T, letters(words, words), atol=1e-9)
    assert mapping.transform(["vector"]).shape == (1, Phi.shape[1])


def test_many_landmarks_and_threads_give_the_same_features():
    X = rows(1200, 6)
    one, two = (NystroemMap(gamma=0.5, n_components=300, n_jobs=jobs).fit(X) for jobs in (1, 2))
    np.testing.assert_allclose(one.transform(X), two.transform(X), atol=1e-9)
    Phi = two.transform(X)
    chosen = two.component_indices_
    np.testing.assert_allclose(Phi @ Phi[chosen].T, Gaussian(0.5)(X, X[chosen]), atol=1e-9)
    narrow = NystroemMap(gamma=0.5, n_components=300).fit(X.astype(np.float32))
    Phi, chosen = narrow.transform(X.astype(np.float32)), narrow.component_indices_
    assert Phi.dtype == np.float32
    np.testing.assert_allclose(Phi @ Phi[chosen].T, Gaussian(0.5)(X, X[chosen]), atol=1e-4)


def test_what_is_no_kernel_is_said():
    X = rows(60)
    with pytest.warns(UserWarning, match=r"not positive semi-definite.* keeps the \d+ directions of 20"):
        Phi = NystroemMap("sigmoid", gamma=1.0, n_components=20).fit_transform(X)
    assert 0 < Phi.shape[1] < 20
    assert np.isfinite(Phi).all()
    with pytest.raises(NotPSDError, match="has no feature map") as caught:
        NystroemMap(lambda A, B: -(A @ B.T), n_components=20).fit(X)
    assert caught.value.witness.shape == (20,)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_kernels_that_are_not_finite_are_refused(method):
    X = rows(60) * 1e60
    with pytest.raises(ValueError, match=r"kernel values.*overflow.*scale the features"):
        NystroemMap("poly", gamma=1.0, degree=6, n_components=10, landmarks=method).fit(X)
    mapping = NystroemMap("poly", gamma=1.0, degree=6, n_components=10, landmarks=method).fit(rows(60))
    with pytest.raises(ValueError, match="kernel values overflow"):
        mapping.transform(X)


def test_other_wrong_input_of_nystroem():
    X = rows(20)
    with pytest.raises(ValueError, match="the kernel is 0 for all pairs of landmarks"):
        NystroemMap("linear", n_components=5).fit(np.zeros((10, 2)))
    with pytest.raises(ValueError, match="a square matrix, got 20 x 4"):
        NystroemMap("precomputed", n_components=5).fit(X)
    with pytest.raises(ValueError, match="must be symmetric"):
        NystroemMap("precomputed", n_components=20).fit(rows(20, 20))
    with pytest.raises(TypeError, match="pass a dense array"):
        NystroemMap("precomputed", n_components=5).fit(sp.csr_array(X @ X.T))
    with pytest.raises(ValueError, match="n_jobs=0"):
        NystroemMap(n_components=5, n_jobs=0).fit(X)


# -- landmarks -------------------------------------------------------------------------------------------------------


def test_landmarks_differ_and_unknown_methods_are_refused():
    X = np.repeat(rows(30), 3, axis=0)
    rng = np.random.default_rng(0)
    for method in METHODS:
        for count in (1, 10, 30, 200):
            chosen = choose_landmarks(Gaussian(1.0), X, count, method, rng)
            assert len(np.unique(X[chosen], axis=0)) == len(chosen) == min(count, 30)
    with pytest.raises(ValueError, match=r"landmarks must be one of .* got 'best'"):
        choose_landmarks(Gaussian(1.0), X, 3, "best", rng)


def test_uniform_landmarks_are_drawn_in_proportion_to_weights():
    X, weight, rng = rows(6), np.array([0.0, 1, 1, 1, 1, 4]), np.random.default_rng(0)
    drawn = [choose_landmarks(Gaussian(1.0), X, 1, "uniform", rng, weight)[0] for _ in range(2000)]
    np.testing.assert_allclose(np.bincount(drawn, minlength=6) / 2000, weight / 8, atol=0.04)


def test_distant_rows_are_drawn_by_kmeans_plus_plus():
    """Of 1 + 99 rows, far apart for one kernel and at the same place for another."""
    X = np.vstack([np.full((1, 2), 50.0), 0.01 * rows(99, 2)])
    seeds = [np.random.default_rng(seed) for seed in range(20)]
    assert all(0 in choose_landmarks(Gaussian(1.0), X, 2, "k-means++", rng) for rng in seeds)
    assert sum(0 in choose_landmarks(Gaussian(1.0), X, 2, "uniform", rng) for rng in seeds) < 5
    same = Gaussian(1.0).of(lambda rows: np.sign(np.asarray(rows)[:, :1]))
    assert len(choose_landmarks(same, X, 10, "k-means++", seeds[0])) == 2  # there are no more for this kernel


def test_leverage_scores_are_those_of_the_ridge(monkeypatch):
    X, chances = rows(40), []
    weight = np.random.default_rng(2).uniform(0.5, 2.0, size=40)
    draw = _landmarks.draw
    monkeypatch.setattr(_landmarks, "draw", lambda rng, p, count: chances.append(p) or draw(rng, p, count))
    kernel, count = Gaussian(0.1), 5
    order, _ = _landmarks.distinct_rows(kernel, X, None)
    choose_landmarks(kernel, X, count, "leverage", np.random.default_rng(0))
    K = kernel(X[order])
    lam = np.linalg.eigvalsh(K)[:-count].sum() / count
    np.testing.assert_allclose(chances[-1], np.diag(K @ np.linalg.inv(K + lam * np.eye(40))), rtol=1e-6)
    choose_landmarks(kernel, X, count, "leverage", np.random.default_rng(0), weight)
    assert chances[-1].shape == (40,)
    assert ((chances[-1] > 0) & (chances[-1] <= 1)).all()


def test_chosen_landmarks_do_better_than_uniform_ones_where_few_rows_matter():
    rng = np.random.default_rng(0)
    X = np.vstack([0.1 * rng.normal(size=(900, 4)), 5 + 2 * rng.normal(size=(20, 4))])
    K = Gaussian(0.3)(X)

    def error(method):
        maps = [NystroemMap(gamma=0.3, n_components=30, landmarks=method, random_state=s).fit(X) for s in range(4)]
        return np.mean([np.linalg.norm(m.transform(X) @ m.transform(X).T - K) for m in maps])

    assert error("k-means++") < 0.8 * error("uniform")
    assert error("leverage") < 0.9 * error("uniform")


# -- RandomFourierMap --------------------------------------------------------------------------------------------------


def kernel_error(X, exact, **options):
    """Root mean square error of the approximate kernel matrix."""
    Phi = RandomFourierMap(**options).fit_transform(X)
    return np.sqrt(np.mean(np.square(Phi @ Phi.T - exact)))


@examples(25)
@given(
    gamma=st.floats(0.0, 2.0),
    d=st.integers(1, 6),
    n_components=st.integers(400, 801),
    kernel=st.sampled_from(["rbf", "orthogonal", "laplacian"]),
    seed=st.integers(0, 10**6),
)
def test_fourier_features_are_within_the_statistical_error(gamma, d, n_components, kernel, seed):
    X = rows(8, d, seed)
    options = {"orthogonal": True} if kernel == "orthogonal" else {"kernel": kernel}
    mapping = RandomFourierMap(gamma, n_components=n_components, random_state=seed, **options)
    Phi = mapping.fit_transform(X)
    assert Phi.shape == (8, n_components)
    K = (Laplacian if kernel == "laplacian" else Gaussian)(gamma)(X)
    assert np.abs(Phi @ Phi.T - K).max() < 6 / np.sqrt(n_components / 2)  # each term is within [-1, 1]
    if n_components % 2 == 0:
        np.testing.assert_allclose(np.square(Phi).sum(axis=1), 1.0)


@pytest.mark.parametrize("options", [{}, {"orthogonal": True}, {"kernel": "laplacian"}], ids=name_of)
@pytest.mark.parametrize("n_components", [1, 7, 10])
def test_fourier_features_are_right_on_average(options, n_components):
    X = 0.7 * rows(5, 3)
    K = (Laplacian if options.get("kernel") else Gaussian)(0.4)(X)
    values = []
    for seed in range(500):
        Phi = RandomFourierMap(0.4, n_components=n_components, random_state=seed, **options).fit_transform(X)
        values.append(Phi @ Phi.T)
    error = np.std(values, axis=0) / np.sqrt(len(values))
    assert (np.abs(np.mean(values, axis=0) - K) <= 5 * error + 1e-12).all()


@pytest.mark.parametrize("options", [{}, {"orthogonal": True}, {"kernel": "laplacian"}], ids=name_of)
def test_the_error_falls_like_one_over_the_root(options):
    X = rows(40, 5)
    K = (Laplacian if options.get("kernel") else Gaussian)(0.1)(X)
    few, many = (
        np.mean([kernel_error(X, K, gamma=0.1, n_components=D, random_state=s, **options) for s in range(10)])
        for D in (100, 1600)
    )
    assert 3.0 < few / many < 5.3  # 4 is the root of 16


def test_orthogonal_frequencies_are_orthogonal_and_do_better():
    X = rows(40, 12)
    K = Gaussian(0.02)(X)
    W = RandomFourierMap(0.02, n_components=50, orthogonal=True).fit(X).frequencies_
    assert W.shape == (12, 25)
    for block in (W[:, :12], W[:, 12:24]):
        gram = block.T @ block
        np.testing.assert_allclose(gram - np.diag(np.diag(gram)), 0.0, atol=1e-12)
    plain, orthogonal = (
        np.mean([kernel_error(X, K, gamma=0.02, orthogonal=o, random_state=s) for s in range(10)])
        for o in (False, True)
    )
    assert orthogonal < 0.8 * plain


def test_wrong_input_of_fourier_features():
    X = rows()
    with pytest.raises(ValueError, match=r"got kernel='laplacian'; use orthogonal=False"):
        RandomFourierMap(kernel="laplacian", orthogonal=True).fit(X)
    mapping = RandomFourierMap(1e300).fit(X)
    with pytest.raises(ValueError, match="projections onto the frequencies overflow"), np.errstate(all="ignore"):
        mapping.transform(X * 1e200)


def test_float32_rows_far_from_the_origin_keep_their_digits():
    X = (rows(30, 3) + 1e4).astype(np.float32)
    Phi = RandomFourierMap(0.5, n_components=4000).fit_transform(X)
    assert Phi.dtype == np.float32
    np.testing.assert_allclose(Phi @ Phi.T, Gaussian(0.5)(X), atol=0.12)


def test_two_threads_give_the_same_waves():
    X = rows(5000, 3)
    one, two = (RandomFourierMap(n_components=300, n_jobs=jobs).fit_transform(X) for jobs in (1, 2))
    np.testing.assert_allclose(one, two, atol=1e-12)


# -- scikit-learn's parameters and attributes -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "rbf", "gamma": None},
        {"kernel": "poly", "gamma": None, "coef0": None, "degree": None},
        {"kernel": "poly", "gamma": None, "coef0": None, "degree": None, "kernel_params": {"degree": 2, "coef0": 0.5}},
        {"kernel": "laplacian", "gamma": 0.3},
        {"kernel": "cosine"},
        {"kernel": "chi2", "gamma": 0.7},
    ],
    ids=str,
)
def test_nystroems_parameters_mean_what_they_mean_in_scikit_learn(options):
    X = np.abs(np.random.default_rng(0).normal(size=(12, 3)))
    ours, theirs = (kind(n_components=12, **options).fit_transform(X) for kind in (NystroemMap, Nystroem))
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-6)


def test_nystroem_passes_kernel_params_to_a_function():
    X = np.random.default_rng(0).normal(size=(12, 3))

    def power(A, B, exponent):
        return (A @ B.T + 1.0) ** exponent

    features = NystroemMap(power, kernel_params={"exponent": 2}, n_components=12).fit_transform(X)
    np.testing.assert_allclose(features @ features.T, (X @ X.T + 1.0) ** 2, atol=1e-8)
    with pytest.raises(ValueError, match="'exponent'"):
        NystroemMap("rbf", kernel_params={"exponent": 2}).fit(X)


@pytest.mark.parametrize("n_components", [6, 7])
def test_fourier_features_are_cosines_as_in_scikit_learn(n_components):
    X = np.random.default_rng(0).normal(size=(12, 3))
    waves = RandomFourierMap(gamma=0.3, n_components=n_components).fit(X)
    D = waves.random_weights_.shape[1]
    assert waves.random_offset_.shape == (D,)
    cosines = np.sqrt(2.0 / D) * np.cos(X @ waves.random_weights_ + waves.random_offset_)
    np.testing.assert_allclose(waves.transform(X), cosines, atol=1e-12)
    assert list(waves.get_feature_names_out()) == [f"randomfouriermap{k}" for k in range(D)]
