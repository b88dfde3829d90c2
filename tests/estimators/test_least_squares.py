"""Kernel least squares: closed forms, leave-one-out, conjugate gradients, landmarks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge

from maxmargin import KernelLeastSquares
from maxmargin.estimators import _streamed
from maxmargin.kernels import Gaussian, Linear
from tests.laws import examples


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X[:150], np.c_[y, y**2 / 100][:150]


@pytest.mark.parametrize("solver", ["eigen", "cholesky", "cg"])
@pytest.mark.parametrize("lam", [1e-3, 0.1, 10.0])
def test_it_is_scikit_learns_kernel_ridge(diabetes, solver, lam):
    X, Y = diabetes
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    ours = KernelLeastSquares(lam=lam, gamma=3.0, solver=solver, tol=1e-12).fit(X, Y, weight)
    theirs = KernelRidge(alpha=lam, kernel="rbf", gamma=3.0).fit(X, Y, weight)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8, atol=1e-6)
    assert ours.residual_ < 1e-8


@examples(15)
@given(st.integers(0, 1000), st.sampled_from([0.0, 1e-3, 1.0]), st.sampled_from(["linear", "rbf"]))
def test_leave_one_out_is_that_of_refits(seed, lam, kernel):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 25))
    X, y, weight = rng.normal(size=(n, 3)), rng.normal(size=n), rng.uniform(0.5, 2.0, n)
    model = KernelLeastSquares(kernel, lam, gamma=1.0, leave_one_out=True, rank_tol=1e-10).fit(X, y, weight)
    for i in (0, n - 1):
        keep = np.arange(n) != i
        refit = clone(model).set_params(leave_one_out=False).fit(X[keep], y[keep], weight[keep])
        assert model.loo_residuals_[i] == pytest.approx(y[i] - refit.predict(X[[i]])[0], rel=1e-5, abs=1e-6)


@examples(15)
@given(st.integers(0, 1000))
def test_without_a_ridge_it_interpolates_where_the_matrix_has_full_rank(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    model = KernelLeastSquares(gamma=1.0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-7)
    assert model.rank_ == 20


def test_without_a_ridge_and_of_low_rank_it_is_the_smallest_of_the_best_fits():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    X = np.c_[X, X[:, 0]]  # a column twice
    model = KernelLeastSquares("linear").fit(X, y)
    np.testing.assert_allclose(model.predict(X), X @ np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-10)
    assert model.rank_ == 4


@examples(10)
@given(st.integers(0, 1000), st.sampled_from([0.0, 0.5]))
def test_a_weight_of_two_is_the_row_twice(seed, lam):
    rng = np.random.default_rng(seed)
    X, y, weight = rng.normal(size=(12, 2)), rng.normal(size=12), rng.integers(0, 3, 12)
    weight[:3] = 1
    twice = np.repeat(np.arange(12), weight)
    model = KernelLeastSquares("linear", lam).fit(X, y, weight)
    repeated = KernelLeastSquares("linear", lam).fit(X[twice], y[twice])
    np.testing.assert_allclose(model.predict(X), repeated.predict(X), atol=1e-8)


def test_landmarks_are_as_good_as_all_rows_where_they_are_many(diabetes):
    X, Y = diabetes
    whole = KernelLeastSquares(lam=0.1, gamma=1.0).fit(X, Y)
    some = KernelLeastSquares(lam=0.1, gamma=1.0, n_landmarks=140, tol=1e-12, max_iter=500).fit(X, Y)
    assert some.dual_coef_.shape == (140, 2)
    assert some.score(X, Y) == pytest.approx(whole.score(X, Y), abs=0.005)
    everything = KernelLeastSquares(lam=0.1, gamma=1.0, n_landmarks=1000).fit(X, Y)
    np.testing.assert_allclose(everything.predict(X), whole.predict(X))


@pytest.mark.parametrize("method", ["k-means++", "leverage"])
def test_chosen_landmarks_see_what_few_rows_have_to_say(method):
    rng = np.random.default_rng(0)
    X = np.concatenate([0.1 * rng.normal(size=(600, 2)), 0.1 * rng.normal(size=(6, 2)) + 5.0])
    y = np.r_[np.zeros(600), np.ones(6)]
    errors = [
        KernelLeastSquares(lam=1e-3, gamma=1.0, n_landmarks=8, landmarks=m, random_state=3).fit(X, y).predict(X) - y
        for m in (method, "uniform")
    ]
    assert np.abs(errors[0]).max() < 0.1
    assert np.abs(errors[1]).max() > 0.5
    with pytest.raises(ValueError, match="'landmarks' parameter"):
        KernelLeastSquares(lam=1e-3, n_landmarks=8, landmarks="grid").fit(X, y)


@pytest.mark.parametrize(
    "options", [{"solver": "cg"}, {"n_landmarks": 60}, {"n_landmarks": 60, "landmarks": "leverage"}]
)
def test_matrices_rows_that_are_no_numbers_and_weights_of_zero_are_streamed_too(diabetes, options, monkeypatch):
    X, Y = diabetes
    monkeypatch.setattr(_streamed, "PRECONDITION_ROWS", 40)
    weight = np.where(np.arange(len(X)) % 4 == 0, 0.0, 1.0)
    options = {"lam": 0.1, "gamma": 3.0, "tol": 1e-12, "max_iter": 1000, "random_state": 0, **options}
    K = Gaussian(gamma=3.0)(X)
    drawn_from_values = "n_landmarks" in options  # other rows: precomputed ones cannot be put into order
    expected = KernelLeastSquares("rbf", **options).fit(X, Y, weight)
    given = KernelLeastSquares("precomputed", **options).fit(K, Y, weight)
    anything = KernelLeastSquares(lambda A, B: Gaussian(gamma=3.0)(np.array(A), np.array(B)), **options)
    anything.fit([tuple(row) for row in X], Y, weight)
    for model, rows in ((given, K), (anything, [tuple(row) for row in X])):
        assert (weight[model.support_] > 0).all()
        if drawn_from_values:
            assert model.score(rows, Y) == pytest.approx(expected.score(X, Y), abs=0.05)
        else:
            np.testing.assert_allclose(model.predict(rows), expected.predict(X), rtol=1e-7)


def test_composite_kernels_and_rows_that_are_no_numbers():
    X, y = np.linspace(0, 3, 40)[:, None], np.sin(np.linspace(0, 3, 40))
    assert KernelLeastSquares(Gaussian(gamma=1.0) + Linear(), 1e-6).fit(X, y).score(X, y) > 0.999
    words = ["a", "ab", "abc", "abcd"]
    lengths = KernelLeastSquares(lambda A, B: np.array([[float(len(a) * len(b)) for b in B] for a in A]), 1e-9)
    np.testing.assert_allclose(lengths.fit(words, [1.0, 2.0, 3.0, 4.0]).predict(["abcde"]), [5.0], atol=1e-6)


def test_what_makes_no_sense_is_refused(diabetes):
    X, Y = diabetes
    with pytest.raises(ValueError, match="takes lam > 0"):
        KernelLeastSquares(solver="cg").fit(X, Y)
    with pytest.raises(ValueError, match="n_landmarks takes lam > 0"):
        KernelLeastSquares(n_landmarks=10).fit(X, Y)
    with pytest.raises(ValueError, match="leave_one_out=True is for closed forms"):
        KernelLeastSquares(lam=0.1, n_landmarks=10, leave_one_out=True).fit(X, Y)
    with pytest.raises(ValueError, match="incompatible shapes"):
        KernelLeastSquares().fit(X, Y[:10])
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=1"):
        KernelLeastSquares(lam=1e-6, n_landmarks=100, max_iter=1).fit(X, Y)
